package sql

import (
	"fmt"
	"regexp"
	"strings"
)

// The engine names a column without an alias after the text of its expression. It sees the rewritten
// text, in which tables are files of the server. If the expression has a query in it, the name would
// show these files, and change with each flush.

// internalCall matches a call that a client cannot write.
var internalCall = regexp.MustCompile(`\b(?:read_parquet|cordwood_[a-z_]+)\(`)

// maxGivenName bounds the name that an expression gives a column, in bytes.
const maxGivenName = 200

// OwnNames puts the client's text in the place of names that show how a statement was rewritten.
func OwnNames(names []string, sql string) {
	var items []string
	for i, name := range names {
		if !internalCall.MatchString(name) {
			continue
		}
		if items == nil {
			items = selectItems(sql)
		}
		if len(items) != len(names) {
			names[i] = fmt.Sprintf("column_%d", i+1) // a star stands for several columns
			continue
		}
		if name = strings.Join(strings.Fields(items[i]), " "); len(name) > maxGivenName {
			name = strings.ToValidUTF8(name[:maxGivenName], "") + "…"
		}
		names[i] = name
	}
}

// selectEnds are the words that end the list of a SELECT.
var selectEnds = map[string]bool{
	"from": true, "where": true, "group": true, "having": true, "window": true, "qualify": true, "using": true,
	"order": true,
	"limit": true, "offset": true, "union": true, "except": true, "intersect": true,
}

// selectItems returns the texts of the expressions in the list of the outermost SELECT, the first one
// if there are several.
func selectItems(sql string) (items []string) {
	depth, list := 0, selectList{from: -1}
	for i := 0; i < len(sql); {
		if end := skipQuoted(sql, i); end > i {
			i = end
			continue
		}
		c := sql[i]
		switch {
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case depth == 0 && c == ',' && list.from >= 0:
			items = append(items, sql[list.from:i])
			list.from = i + 1
		case IsNameByte(c):
			w, end := Word(sql, i)
			if end <= i {
				break
			}
			if list.word(strings.ToLower(w), end, depth) {
				return append(items, sql[list.from:i])
			}
			i = end
			continue
		}
		i++
	}
	if list.from >= 0 {
		items = append(items, sql[list.from:])
	}
	return items
}

// selectList is where the list of a SELECT is read.
type selectList struct {
	from   int    // where the expression at hand begins; -1: before the list
	before string // the word before
}

// word takes in a word that ends at end. It returns true if the list ends before the word.
func (l *selectList) word(w string, end, depth int) (ends bool) {
	before := l.before
	l.before = w
	switch {
	case depth != 0:
	case l.from < 0 && w == "select", l.from >= 0 && (w == "distinct" || w == "all") && before == "select":
		l.from = end
	case l.from >= 0:
		return selectEnds[w] && (w != "from" || before != "distinct")
	}
	return false
}
