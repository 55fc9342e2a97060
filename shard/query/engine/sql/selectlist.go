package sql

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/proto/lazyregexp"
)

// DuckDB names a column without an alias after the text of its expression. It gets the rewritten
// text, in which tables are files of the server, times are converted to UTC, and paths and patterns
// are changed. If an expression was rewritten, its column is named as the client wrote it. The same
// applies if DuckDB's printer shows a form that hardly anybody writes, such as main.list_value(1, 2)
// for [1, 2].

// internalCall matches a call of an internal function, which a client cannot write.
var internalCall = lazyregexp.New(`\b(?:read_parquet|cordwood_[a-z_]+)\(`)

// printed matches forms of DuckDB's printer that differ from what clients write: functions with the schema main or in
// quotes, operators of LIKE, literals such as INTERVAL '1 hour' and true as casts of texts, and units of intervals.
var printed = lazyregexp.New(`\bmain\.["a-z]|"[a-z_]+"\(| !?~~|CAST\('|\(CAST\(trunc\(`)

// maxGivenName limits the length of a column name that comes from an expression, in bytes.
const maxGivenName = 200

// OwnNames replaces column names that show how the statement was rewritten by the client's text.
func (r *Rewritten) OwnNames(names []string) {
	if r.st.Explain != "" {
		return
	}
	items := r.st.itemsOf(len(names))
	for i, name := range names {
		internal := internalCall.MatchString(name)
		switch item := items[i]; {
		case item != nil && (internal || item.named() && (r.editedWithin(item.textSpan) || printed.MatchString(name))):
			names[i] = r.st.clientText(item.textSpan)
		case internal:
			names[i] = fmt.Sprintf("column_%d", i+1)
		}
	}
}

// OwnNames replaces names of columns in zoned, which is st with times converted to UTC, by the text
// of st.
func (st *Statement) OwnNames(names []string, zoned *Statement) {
	if st.Explain != "" {
		return
	}
	was, now := st.itemsOf(len(names)), zoned.itemsOf(len(names))
	for i := range names {
		if was[i] != nil && now[i] != nil && was[i].named() &&
			st.SQL[was[i].from:was[i].to] != zoned.SQL[now[i].from:now[i].to] {
			names[i] = st.clientText(was[i].textSpan)
		}
	}
}

func (r *Rewritten) editedWithin(span textSpan) bool {
	return slices.ContainsFunc(r.Edits, func(e Edit) bool { return !e.Restored && e.From >= span.from && e.To <= span.to })
}

// listItem is an expression in the list of a SELECT.
type listItem struct {
	textSpan
	node Node
}

// named reports whether the column is named after the text of the expression.
func (i *listItem) named() bool {
	return i.node != nil && Text(i.node, "alias") == "" && Text(i.node, "class") != "COLUMN_REF"
}

// itemsOf returns the expression of each column of the answer from the outermost SELECT list. An
// entry is nil if it is not known, as for a star.
func (st *Statement) itemsOf(columns int) []*listItem {
	out := make([]*listItem, columns)
	spans := selectItems(st.SQL)
	star := -1
	for i := range spans {
		if i < len(st.list) && st.itemClass(i) == "STAR" {
			if star >= 0 {
				return out
			}
			star = i
		}
	}
	if star < 0 && len(spans) != columns || len(spans) > columns+1 {
		return out
	}
	for i, span := range spans {
		item := &listItem{textSpan: span}
		if len(st.list) == len(spans) {
			item.node, _ = st.list[i].(Node)
		}
		switch {
		case star < 0 || i < star:
			out[i] = item
		case i > star:
			out[columns-len(spans)+i] = item
		}
	}
	return out
}

func (st *Statement) itemClass(i int) string {
	n, _ := st.list[i].(Node)
	return Text(n, "class")
}

// clientText returns what the client wrote in a span of the SQL, on one line and shortened.
func (st *Statement) clientText(span textSpan) string {
	text := st.client[st.clientPosition(span.from):st.clientPosition(span.to)]
	if text = strings.Join(strings.Fields(text), " "); len(text) > maxGivenName {
		text = strings.ToValidUTF8(text[:maxGivenName], "") + "…"
	}
	return text
}

// outermostList returns the list of the outermost SELECT of a tree. If there are several, it
// returns the first.
func outermostList(n Node) []any {
	for range MaxExpressionDepth {
		switch Text(n, "type") {
		case "SELECT_NODE":
			list, _ := n["select_list"].([]any)
			return list
		case "SET_OPERATION_NODE":
			n, _ = n["left"].(Node)
		case "CTE_NODE":
			n, _ = n["child"].(Node)
		default:
			return nil
		}
	}
	return nil
}

// textSpan is a part of a text.
type textSpan struct{ from, to int }

// selectEnds are the words that end a SELECT list.
var selectEnds = map[string]bool{
	"from": true, "where": true, "group": true, "having": true, "window": true, "qualify": true, "using": true,
	"order": true,
	"limit": true, "offset": true, "union": true, "except": true, "intersect": true,
}

// selectItems returns the positions of the expressions in the outermost SELECT list. If there are
// several SELECTs, it takes the first.
func selectItems(sql string) (items []textSpan) {
	depth, list := 0, selectList{from: -1}
	for i := 0; i < len(sql); {
		if end := skipQuoted(sql, i); end > i {
			if sql[i] != '-' && sql[i] != '/' { // no comment
				list.before = ""
			}
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
			items = append(items, textSpan{list.from, i})
			list.from = i + 1
		case IsNameByte(c):
			w, end := Word(sql, i)
			if end <= i {
				break
			}
			if list.word(strings.ToLower(w), end, depth) {
				return append(items, textSpan{list.from, i})
			}
			i = end
			continue
		}
		if c > ' ' {
			list.before = ""
		}
		i++
	}
	if list.from >= 0 {
		items = append(items, textSpan{list.from, len(sql)})
	}
	return items
}

// selectList is the state while a SELECT list is read.
type selectList struct {
	from   int    // where the current expression begins; -1 before the list
	before string // the previous word, if only blanks and comments follow it
}

// word handles a word that ends at end. It returns true if the list ends before the word.
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
