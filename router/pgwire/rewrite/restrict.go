package rewrite

import (
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/router/query/pgcatalog"
	"cordwood/router/query/statement"
)

// The rows of the catalog are computed for each statement. Clients mostly ask about one table, so the conditions of a
// query on OIDs and names of tables are also written into the subqueries that replace the tables of the catalog. Such
// a condition may only leave out rows that the query would discard anyway.

// restricted are the columns of the catalog that contain OIDs of tables, and whose conditions are written into the
// subqueries, by table.
var restricted = map[string][]string{
	"pg_class": {"oid"}, "pg_attribute": {"attrelid"}, "pg_index": {"indrelid", "indexrelid"},
	"pg_constraint": {"conrelid"}, "pg_attrdef": {"adrelid"}, "pg_description": {"objoid"},
}

// The limits for finding restrictions: tokens that are read for all tables of a statement, tables of a SELECT, pairs of
// equal columns, and values of a column. Beyond them, rows are not restricted.
const (
	maxRestrictSteps = 200_000
	maxTables        = 50
	maxEqual         = 200
	maxRestrictions  = 100
)

// ref is a column of a table in FROM.
type ref struct{ alias, column string }

// fromItem is a table in FROM. table is nil if it is not one of the catalog.
type fromItem struct {
	alias string
	table *pgcatalog.Table
}

// block has what the conditions of a SELECT say about the columns of its tables.
type block struct {
	items []fromItem
	known map[ref][]int64
	// equal are pairs of columns of which the second is equal to the first in all rows that matter.
	equal [][2]ref
}

// restriction returns a condition for the rows of a table of the catalog whose name is n tokens ahead, or an empty
// string.
func (r *rewriter) restriction(n int, t *pgcatalog.Table) string {
	columns := restricted[t.Name]
	if columns == nil {
		return ""
	}
	at := r.i + n
	from, to, ok := r.enclosing(at)
	if !ok {
		return ""
	}
	alias := t.Name
	if i := at + 1; i < to {
		if r.in[i].word("AS") {
			i++
		}
		if i < to && r.in[i].isName() && !afterTable[strings.ToUpper(r.in[i].val)] {
			alias = strings.ToLower(r.in[i].val)
		}
	}
	b := r.blockOf(r.in[from:to])
	if b == nil {
		return ""
	}
	for _, c := range columns {
		if values := b.known[ref{alias, c}]; values != nil {
			list := make([]string, len(values))
			for i, v := range values {
				list[i] = strconv.FormatInt(v, 10)
			}
			return " WHERE " + c + " IN (" + strings.Join(append(list, "-1"), ", ") + ")"
		}
	}
	return ""
}

// step counts a token that is read to find restrictions.
func (r *rewriter) step() bool {
	r.steps++
	return r.steps <= maxRestrictSteps
}

// enclosing returns the tokens of the SELECT that contains a token in its FROM.
func (r *rewriter) enclosing(at int) (from, to int, ok bool) {
	for from = at; ; from-- {
		if from < 0 || !r.step() {
			return 0, 0, false
		}
		t := r.in[from]
		if t.match < 0 && from+t.match >= 0 {
			from += t.match
			continue
		}
		if t.opens() {
			return 0, 0, false // FROM ((a JOIN b) …)
		}
		if t.word("SELECT") {
			break
		}
	}
	for to = at; to < len(r.in); to++ {
		if !r.step() {
			return 0, 0, false
		}
		t := r.in[to]
		if t.match > 0 && to+t.match < len(r.in) {
			to += t.match
			continue
		}
		if t.closes() || t.word("UNION") || t.word("EXCEPT") || t.word("INTERSECT") {
			break
		}
	}
	return from, to, true
}

// conditions reads conditions that are joined by AND.
func (r *rewriter) conditions(b *block, toks []tok, only string) {
	for len(toks) > 2 && toks[0].sym("(") && toks[0].match == len(toks)-1 {
		toks = toks[1 : len(toks)-1]
	}
	var parts [][]tok
	from := 0
	for i := 0; i <= len(toks); i++ {
		if i == len(toks) || toks[i].word("AND") {
			parts = append(parts, toks[from:i])
			from = i + 1
			continue
		}
		t := toks[i]
		switch {
		case !r.step():
			return
		case t.match > 0 && i+t.match < len(toks):
			i += t.match
		case t.word("OR"), t.word("BETWEEN"), t.word("CASE"):
			return
		}
	}
	for _, p := range parts {
		if len(parts) > 1 && len(p) > 2 && p[0].sym("(") && p[0].match == len(p)-1 {
			r.conditions(b, p, only)
			continue
		}
		r.condition(b, p, only)
	}
}

// condition reads a condition.
func (r *rewriter) condition(b *block, toks []tok, only string) {
	column, n, ok := b.ref(toks)
	if !ok {
		if values, used, found := oidsOf(toks); found && used < len(toks) && toks[used].sym("=") {
			if column, n, ok = b.ref(toks[used+1:]); ok && used+1+n == len(toks) {
				b.restrict(column, values, only)
			}
		}
		return
	}
	rest := toks[n:]
	if b.isName(column) {
		if names := namesIn(rest); names != nil {
			var oids []int64
			for _, name := range names {
				oids = append(oids, r.s.Named(name)...)
			}
			b.restrict(ref{column.alias, "oid"}, oids, only)
		}
		return
	}
	if len(rest) < 2 {
		return
	}
	if rest[0].sym("=") {
		if values, used, found := oidsOf(rest[1:]); found && used == len(rest)-1 {
			b.restrict(column, values, only)
		} else if other, used, found := b.ref(rest[1:]); found && used == len(rest)-1 {
			b.equate(column, other, only)
		}
		return
	}
	if rest[0].word("IN") && rest[1].sym("(") && rest[1].match == len(rest)-2 {
		if values, found := oidList(rest[2 : len(rest)-1]); found {
			b.restrict(column, values, only)
		}
	}
}

// isName reports whether a column has the names of tables.
func (b *block) isName(c ref) bool {
	return c.column == "relname" && slices.ContainsFunc(b.items, func(i fromItem) bool {
		return i.alias == c.alias && i.table != nil && i.table.Name == "pg_class"
	})
}

// ref reads a column, and returns the number of its tokens.
func (b *block) ref(toks []tok) (c ref, used int, ok bool) {
	if len(toks) == 0 || !toks[0].isName() {
		return c, 0, false
	}
	if len(toks) > 2 && toks[1].sym(".") && toks[2].isName() {
		if len(toks) > 4 && toks[3].sym(".") { // pg_catalog.pg_class.oid
			if !toks[0].word(pgcatalog.Database) || !toks[4].isName() {
				return c, 0, false
			}
			toks, used = toks[2:], 2
		}
		c = ref{strings.ToLower(toks[0].val), strings.ToLower(toks[2].val)}
		times := 0
		for _, i := range b.items {
			if i.alias == c.alias {
				times++
			}
		}
		return c, used + 3, times == 1
	}
	c.column = strings.ToLower(toks[0].val)
	for _, i := range b.items {
		if i.table == nil {
			return c, 0, false // it may be a column of this table
		}
		if slices.ContainsFunc(i.table.Columns, func(col pgcatalog.Column) bool { return col.Name == c.column }) {
			if c.alias != "" {
				return c, 0, false
			}
			c.alias = i.alias
		}
	}
	return c, 1, c.alias != ""
}

// restrict notes the values of a column.
func (b *block) restrict(c ref, values []int64, only string) {
	if only != "" && only != c.alias || len(values) > maxRestrictions {
		return
	}
	if old, twice := b.known[c]; !twice || len(values) < len(old) {
		b.known[c] = slices.Clip(append(make([]int64, 0, len(values)+1), values...))
	}
}

// equate notes that two columns are equal.
func (b *block) equate(x, y ref, only string) {
	if len(b.equal) >= maxEqual {
		return
	}
	if only == "" || only == y.alias {
		b.equal = append(b.equal, [2]ref{x, y})
	}
	if only == "" || only == x.alias {
		b.equal = append(b.equal, [2]ref{y, x})
	}
}

// spread gives columns the values of the columns that are equal to them.
func (b *block) spread() {
	for changed := true; changed; {
		changed = false
		for _, e := range b.equal {
			values, ok := b.known[e[0]]
			if _, has := b.known[e[1]]; ok && !has {
				b.known[e[1]] = values
				changed = true
			}
		}
	}
}

// oidsOf reads an OID, and returns the number of its tokens. A text of digits is one, too.
func oidsOf(toks []tok) (values []int64, used int, ok bool) {
	if len(toks) == 0 || toks[0].kind != statement.TokenNumber && toks[0].kind != statement.TokenText {
		return nil, 0, false
	}
	n, err := strconv.ParseInt(toks[0].val, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != toks[0].val {
		return nil, 0, false
	}
	used = 1
	for used+1 < len(toks) && toks[used].sym("::") {
		used++
		if used+2 < len(toks) && toks[used].word(pgcatalog.Database) && toks[used+1].sym(".") {
			used += 2
		}
		switch strings.ToLower(toks[used].val) {
		case "oid", "regclass", "bigint", "int8", "integer", "int", "int4":
			used++
		default:
			return nil, 0, false
		}
	}
	return []int64{n}, used, true
}

// oidList reads OIDs that are separated by commas.
func oidList(toks []tok) (values []int64, ok bool) {
	for len(toks) > 0 {
		one, used, ok := oidsOf(toks)
		if !ok || used < len(toks) && !toks[used].sym(",") || used == len(toks)-1 {
			return nil, false
		}
		values = append(values, one...)
		toks = toks[min(used+1, len(toks)):]
	}
	return values, values != nil
}

// namesIn reads the rest of a condition on the name of a table: = 'x', LIKE 'x', IN ('x', 'y') or ~ '^(x)$'. It
// returns nil for other conditions.
func namesIn(toks []tok) []string {
	if n := len(toks); n > 5 && toks[n-4].word("COLLATE") {
		toks = toks[:n-4]
	}
	if len(toks) > 3 && toks[0].word("IN") && toks[1].sym("(") && toks[1].match == len(toks)-2 {
		return textList(toks[2 : len(toks)-1])
	}
	if len(toks) > 6 && toks[0].word("OPERATOR") && toks[1].sym("(") && toks[1].match == 4 {
		toks = append([]tok{toks[4]}, toks[6:]...)
	}
	if n := len(toks); n == 4 && toks[2].sym("::") && textType[strings.ToLower(toks[3].val)] {
		toks = toks[:2]
	}
	if len(toks) != 2 || toks[1].kind != statement.TokenText {
		return nil
	}
	text := toks[1].val
	switch {
	case toks[0].sym("="):
		return []string{text}
	case toks[0].word("LIKE"):
		if bare := escaped.ReplaceAllString(text, ""); strings.ContainsAny(bare, `%_\`) {
			return nil
		}
		return []string{escaped.ReplaceAllString(text, "$1")}
	case toks[0].sym("~"):
		if m := exactly.FindStringSubmatch(text); m != nil {
			return []string{m[1]}
		}
	}
	return nil
}

// exactly matches regular expressions for one name, as psql sends them. escaped matches a character after a backslash.
var (
	exactly = lazyregexp.New(`^\^\(([A-Za-z0-9_]+)\)\$$`)
	escaped = lazyregexp.New(`\\(.)`)
)

// textType are the types of texts to which drivers cast names.
var textType = map[string]bool{"text": true, "varchar": true, "name": true}

// textList reads texts that are separated by commas; nil: there are other values.
func textList(toks []tok) (names []string) {
	for i, t := range toks {
		switch {
		case i%2 == 1 && t.sym(",") && i+1 < len(toks):
		case i%2 == 0 && t.kind == statement.TokenText:
			names = append(names, t.val)
		default:
			return nil
		}
	}
	return names
}
