package sql

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
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
	// sql is the whole statement.
	sql string
	// lists are the lists in the order of the text.
	lists []longList
}

// longList is what a mark replaces: the whole statement from from to to. The mark is at at in the shortened one.
type longList struct {
	mark         string
	from, to, at int
}

// Shorten shortens lists of texts or of integers. It returns nil if the statement has none that is long.
func Shorten(sql string) *Shortened {
	if len(sql) < 2*shortenFrom {
		return nil
	}
	s := &Shortened{sql: sql}
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
		b.WriteString(sql[copied:from])
		s.lists = append(s.lists, longList{mark: mark, from: from, to: to, at: b.Len()})
		b.WriteString(mark)
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
	for _, l := range s.lists {
		marks += strings.Count(text, bare(l.mark))
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
		if k := slices.IndexFunc(s.lists, func(l longList) bool { return l.mark == text[i:end] }); k >= 0 {
			b.WriteString(s.sql[s.lists[k].from:s.lists[k].to])
			marks--
		} else {
			b.WriteString(text[i:end])
		}
		i = end
	}
	return b.String(), marks == 0
}

// expand makes the syntax tree of the whole statement of the tree of the shortened one. It reports false if it cannot.
// Making the nodes of literals takes a fraction of the time that parsing them takes.
func (s *Shortened) expand(tree *syntaxTree) bool {
	e := expansion{Shortened: s}
	tree.Statements, _ = e.node(tree.Statements).([]any)
	return !tree.Error && e.found == len(s.lists) && !e.failed
}

type expansion struct {
	*Shortened
	found  int
	failed bool
}

func (e *expansion) node(tree any) any {
	switch v := tree.(type) {
	case []any:
		out := v[:0:0]
		for _, child := range v {
			if l := e.listAt(child); l != nil {
				out = append(out, e.literals(l, child)...)
			} else {
				out = append(out, e.node(child))
			}
		}
		return out
	case Node:
		if at, ok := Position(v); ok {
			v["query_location"] = decimal(int64(e.position(at)))
		}
		for key, child := range v {
			v[key] = e.node(child)
		}
	}
	return tree
}

// listAt returns the list whose mark is the node, or nil.
func (e *expansion) listAt(node any) *longList {
	n, _ := node.(Node)
	at, ok := Position(n)
	if !ok || Text(n, "class") != "CONSTANT" {
		return nil
	}
	for i := range e.lists {
		if e.lists[i].at == at {
			return &e.lists[i]
		}
	}
	return nil
}

// position returns where the text at a position of the shortened statement is in the whole one.
func (e *expansion) position(at int) int {
	for i := len(e.lists) - 1; i >= 0; i-- {
		if l := &e.lists[i]; at > l.at {
			return at - l.at - len(l.mark) + l.to
		}
	}
	return at
}

// literals returns the nodes of a list, which are like that of its mark.
func (e *expansion) literals(l *longList, mark any) (out []any) {
	e.found++
	of, _ := mark.(Node)
	value, _ := of["value"].(Node)
	kind, _ := value["type"].(Node)
	big := maps.Clone(kind)
	if big != nil {
		big["id"] = "BIGINT"
	}
	for i := l.from; i < l.to; {
		k, end := literal(e.sql, i)
		v := maps.Clone(value)
		if k == '\'' {
			v["value"] = strings.ReplaceAll(e.sql[i+1:end-1], "''", "'")
		} else {
			whole, err := strconv.ParseInt(e.sql[i:end], 10, 64)
			if v["value"] = decimal(whole); whole > math.MaxInt32 || whole < math.MinInt32 {
				v["type"] = big
			}
			e.failed = e.failed || err != nil || whole == math.MinInt32 // DuckDB reads it as a BIGINT with a sign
		}
		n := maps.Clone(of)
		n["query_location"], n["value"] = decimal(int64(i)), v
		out = append(out, n)
		i = SkipSpace(e.sql, SkipSpace(e.sql, end)+1) // after the comma
	}
	return out
}

func decimal(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }
