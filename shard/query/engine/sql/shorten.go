package sql

import (
	"strconv"
	"strings"
)

// shortenFrom is the number of literals from which a list is shortened.
const shortenFrom = 256

// Shortened is a statement in which a mark replaces all literals but the first of each long list behind IN. How a
// statement is split and which columns its answer has do not depend on these literals, but the time to parse and print
// them is most of the time that this takes.
type Shortened struct {
	// SQL is the statement with marks.
	SQL string
	// lists are the literals that each mark replaces.
	lists map[string]string
}

// Shorten shortens lists of texts or of integers. It returns nil if the statement has none that is long.
func Shorten(sql string) *Shortened {
	if len(sql) < 2*shortenFrom {
		return nil
	}
	s := &Shortened{lists: map[string]string{}}
	var b strings.Builder
	next, copied := 0, 0
	for i := 0; i < len(sql); {
		if end := skipQuoted(sql, i); end > i {
			i = end
			continue
		}
		w, end := Word(sql, i)
		if w == "" {
			i++
			continue
		}
		i = end
		if w != "in" {
			continue
		}
		from, to, n := literals(sql, SkipSpace(sql, end))
		if n < shortenFrom {
			continue
		}
		mark := ""
		for mark == "" || strings.Contains(sql, bare(mark)) {
			next++
			if mark = strconv.Itoa(2_147_000_000 - next); sql[from] == '\'' {
				mark = QuoteText("cordwood:list:" + strconv.Itoa(next))
			}
		}
		s.lists[mark] = sql[from:to]
		b.WriteString(sql[copied:from] + mark)
		i, copied = to, to
	}
	if len(s.lists) == 0 {
		return nil
	}
	s.SQL = b.String() + sql[copied:]
	return s
}

func bare(mark string) string { return strings.Trim(mark, "'") }

// literals reads a list in parentheses at i. It returns where the second literal begins and where the last one ends,
// and the number of all. The number is 0 if there is anything but literals of one kind.
func literals(sql string, i int) (from, to, n int) {
	if i >= len(sql) || sql[i] != '(' {
		return 0, 0, 0
	}
	kind := byte(0)
	for {
		begin := SkipSpace(sql, i+1)
		k, end := literal(sql, begin)
		if k == 0 || kind != 0 && k != kind {
			return 0, 0, 0
		}
		if kind, n = k, n+1; n == 2 {
			from = begin
		}
		to = end
		if i = SkipSpace(sql, end); i >= len(sql) {
			return 0, 0, 0
		}
		switch sql[i] {
		case ')':
			return from, to, n
		case ',':
		default:
			return 0, 0, 0
		}
	}
}

// literal returns the kind of the literal at i, a quote for a text and a digit for an integer of at most 64 bits, and
// where it ends. Other literals have the kind 0.
func literal(sql string, i int) (kind byte, end int) {
	if i >= len(sql) {
		return 0, i
	}
	if sql[i] == '\'' {
		return '\'', skipQuoted(sql, i)
	}
	from := i
	if sql[i] == '-' {
		from++
	}
	w, end := Word(sql, from)
	if w == "" || len(w) > 18 || strings.Trim(w, "0123456789") != "" {
		return 0, i
	}
	return '0', end
}

// Restore puts the literals in place of the marks in a text that was made of the statement. It reports false if a mark
// is anywhere else than as a literal.
func (s *Shortened) Restore(text string) (string, bool) {
	marks := 0
	for mark := range s.lists {
		marks += strings.Count(text, bare(mark))
	}
	if marks == 0 {
		return text, true
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		end := skipQuoted(text, i)
		if end == i {
			_, end = Word(text, i)
		}
		end = max(end, i+1)
		if list, ok := s.lists[text[i:end]]; ok {
			b.WriteString(list)
			marks--
		} else {
			b.WriteString(text[i:end])
		}
		i = end
	}
	return b.String(), marks == 0
}
