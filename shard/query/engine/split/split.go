package split

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cordwood/shard/query/engine/sql"
)

// Statement is the statement to split.
type Statement struct {
	// Root is its syntax tree. Positions in the tree refer to SQL.
	Root sql.Node
	SQL  string
	// Database and Table are the names of its only table; Columns are the table's columns.
	Database, Table string
	Columns         []string
	// Time is the name of the time index, which is never null.
	Time string
	// Names are the names of the columns of its answer.
	Names []string
	// Limit is the maximum number of rows of the answer, besides the statement's own LIMIT; 0 means
	// no limit.
	Limit uint64
	// Now is the value of now().
	Now time.Time
	// Values are the values of its subqueries in expressions, by SubqueryKey.
	Values map[string]Values
	// Sets returns the grouping sets of the statement. They are needed because the tree omits empty
	// sets.
	Sets func() ([]any, error)
	// Union, if not empty, is the text for the UNION ALL in the statement's FROM, which is split as if it were the table.
	Union string
}

// Partials is the name of the table that Final reads: the rows that Worker returns on all nodes, in
// any order.
const Partials = "__partials"

// Plan is a split statement.
type Plan struct {
	// Kind is the way of splitting that EXPLAIN shows: aggregate, pairs, project, top, limit,
	// distinct or rows.
	Kind string
	// Worker runs over the rows of each node. Its columns are the partial results.
	Worker string
	// Final runs over Partials. If it is empty, the answers of Worker, one node after the other,
	// are the answer.
	Final string
	// Best, if not nil, is a smaller Worker whose answers may be sufficient.
	Best *Best
	// Combine, if not nil, describes how to combine groups to the answer without Final.
	Combine *Combine
	// Counts means that Worker returns only the number of rows.
	Counts bool
	// Newest, if not nil, describes how to select the answer from sorted rows without Final.
	Newest *Newest
	// Hashed, if not nil, describes how to compute the answer from hashes.
	Hashed *Hashed
	// UsesNow means that the statements contain the Moment of Now, UsesDay that they contain its
	// day.
	UsesNow, UsesDay bool
	// Draws means that Final calls functions such as random(), so its answer must not be reused.
	Draws bool
	// divided are the columns of the partial results from which averages are computed.
	divided []string
}

// Newest describes a statement for the first rows by the time index alone.
type Newest struct {
	// By is the column of the partial results with the time index. The last Hidden columns of the
	// partial results are not part of the answer.
	By     string
	Hidden int
	// The answer is the Limit rows after the first Offset rows.
	Limit, Offset uint64
	Descending    bool
	// Before and After are the text around a time. Together they are the statement for the rows of
	// a node that come no later than this time in the answer's order.
	Before, After string
}

// Best describes a statement for the groups with the largest counts.
type Best struct {
	// Worker returns only the Rows groups of a node with the largest counts, in descending order.
	Worker string
	Rows   uint64
	// The first Groups columns of the partial results are the groups. Count is the column with the
	// counts.
	Groups int
	Count  string
	// First is the number of groups that the answer needs: LIMIT plus OFFSET.
	First uint64
}

// Divides reports whether an average is computed from a column of the partial results for which f
// returns true.
func (p *Plan) Divides(f func(column string) bool) bool { return slices.ContainsFunc(p.divided, f) }

// NotSplit is the error for a statement that cannot be split. The router fetches the rows instead.
type NotSplit struct {
	// Reason is a text for users. Cause is one of a few words, for metrics.
	Reason string
	Cause  Cause
}

func (h *NotSplit) Error() string { return "not split: " + h.Reason }

// Cause is the reason why a statement cannot be split, as one word.
type Cause string

// The causes are values of a metric's label. query.SplitCauses describes them all.
const (
	causeJoin      Cause = "join"
	causeForm      Cause = "form"
	causeSubquery  Cause = "subquery"
	causeWindow    Cause = "window"
	causeVolatile  Cause = "volatile"
	causeFunction  Cause = "function"
	causeAggregate Cause = "aggregate"
	causeSort      Cause = "sort"
	causeNames     Cause = "names"
	causeType      Cause = "type"
	causeRefused   Cause = "refused"
)

func notSplit(cause Cause, format string, args ...any) error {
	return &NotSplit{Reason: fmt.Sprintf(format, args...), Cause: cause}
}

// SeveralTables returns the error for a statement that does not read one table once.
func SeveralTables() error {
	return notSplit(causeJoin, "it reads several tables, or one of them several times, and joins their rows; "+
		"a condition on the columns of one table leaves fewer of its rows, and a subquery with GROUP BY in place of a table "+
		"sends groups only")
}

// TooManyQueries returns the error for a statement in which more than most queries read tables.
func TooManyQueries(most int) error {
	return notSplit(causeJoin, "more than %d of its queries read tables; read fewer tables in one statement", most)
}

// SimilarNames returns the error for a table with two columns whose names differ only in case, because
// DuckDB considers such names equal.
func SimilarNames() error {
	return notSplit(causeNames, "the table has columns whose names differ only in case; rename one of them")
}

// Types returns the error for values that nodes cannot send, or whose types would change.
func Types(reason string) error { return notSplit(causeType, "%s", reason) }

// Refused returns the error for a generated statement that DuckDB does not accept.
func Refused(what string, err error) error {
	reason, _, _ := strings.Cut(err.Error(), "\n") // DuckDB lists the functions of the same name below
	reason = strings.TrimSuffix(reason, " You might need to add explicit type casts.")
	if strings.Contains(reason, "'sum(T") || strings.Contains(reason, "'sum(D") {
		reason += "; average epoch_ns(x) in place of times x"
	}
	return notSplit(causeRefused, "%s is refused: %s", what, reason)
}

// Split splits a statement. Its error is a *NotSplit.
func Split(st *Statement) (*Plan, error) {
	b, err := nestedBlock(st, st.Root, nil)
	if err != nil {
		return nil, err
	}
	p, err := b.split()
	if err != nil {
		return nil, err
	}
	p.UsesNow, p.UsesDay = b.usesNow, b.usesDay
	return p, nil
}

// split splits the block.
func (b *block) split() (*Plan, error) {
	switch {
	case b.draws:
		return b.splitDrawn()
	case b.over != nil:
		return b.splitOuter()
	case b.aggregates():
		return b.splitAggregates()
	}
	return b.splitRows()
}

// block is a SELECT over one table.
type block struct {
	*Statement
	columns map[string]string // the columns' names, by their names in lower case
	aliases map[string]sql.Node
	alias   string // alias of the table
	from    string // the table, as text
	over    *block // the query in FROM, if that is not a table
	// renamed are the names that the query around the block gives to its first columns.
	renamed []any

	items []sql.Node
	// itemKeys are the positions of the items, from 1, by their keys. It is nil until it is needed.
	itemKeys map[string]int
	where    sql.Node
	groups   []sql.Node
	sets     []any // lists of numbers of groups; nil means one set of all groups
	all      bool  // GROUP BY ALL
	having   sql.Node

	distinct      bool
	orders        []order
	limit, offset uint64
	limited       bool

	usesNow, usesDay bool
	// draws means that it calls functions of drawn.
	draws bool
	// repeats means that it calls functions of repeating.
	repeats bool
}

// order is an expression of ORDER BY with its direction.
type order struct {
	by   sql.Node
	item int // the position, from 1, of the item that has this expression; 0 if no item has it
	how  string
}

// known are the keys of a SELECT node that this package understands.
var known = []string{
	"select_list", "from_table", "where_clause", "group_expressions", "group_sets", "aggregate_handling",
	"having", "modifiers",
}

// nestedBlock returns the block of a query whose FROM may be another query.
func nestedBlock(st *Statement, n sql.Node, with *withQuery) (*block, error) {
	with, err := with.with(n)
	if err != nil {
		return nil, err
	}
	from, _ := n["from_table"].(sql.Node)
	inner, err := with.inner(from)
	if err != nil {
		return nil, err
	}
	if inner == nil {
		of := *st
		of.Root = n
		return newBlock(&of)
	}
	if sql.Text(n, "type") != "SELECT_NODE" || !sql.OnlyKeys(n, append([]string{"cte_map"}, known...)...) {
		return nil, notSplit(causeForm, "the query around its subquery is not a plain SELECT")
	}
	if st.Union != "" && sql.Text(inner.node, "type") == "SET_OPERATION_NODE" {
		return overUnion(st, n, inner)
	}
	if groupingSets.MatchString(st.SQL) { // the tree does not show which query they belong to
		return nil, notSplit(causeForm, "grouping sets of a query over a subquery")
	}
	in, err := nestedBlock(st, inner.node, inner.sees)
	if err != nil {
		return nil, err
	}
	in.renamed = inner.columns
	of := *st
	of.Root = n
	b := &block{Statement: &of, columns: map[string]string{}, aliases: map[string]sql.Node{}}
	if err := b.derive(in, inner.alias); err != nil {
		return nil, err
	}
	if err := b.read(n); err != nil {
		return nil, err
	}
	if in.simple() {
		return b, b.flatten()
	}
	return b, nil
}

// newBlock returns the block of a query over the table.
func newBlock(st *Statement) (*block, error) {
	n := st.Root
	if sql.Text(n, "type") != "SELECT_NODE" {
		return nil, notSplit(causeForm, "it is not a plain SELECT")
	}
	if !sql.OnlyKeys(n, known...) {
		return nil, notSplit(causeForm, "it has QUALIFY, SAMPLE, or a WITH that is not a plain query; "+
			"group or limit the rows in a subquery, and use these clauses around it")
	}
	from, _ := n["from_table"].(sql.Node)
	if sql.Text(from, "type") != "BASE_TABLE" ||
		!sql.OnlyKeys(from, "schema_name", "table_name", "catalog_name", "alias") {
		return nil, notSplit(causeForm, "it reads a sample, VALUES or a table function beside its table; to compare "+
			"with a list of values, write x IN (…)")
	}
	b := &block{
		Statement: st,
		columns:   map[string]string{},
		aliases:   map[string]sql.Node{},
		alias:     sql.Text(from, "alias"),
	}
	b.from = sql.QuoteName(st.Database) + "." + sql.QuoteName(st.Table)
	if b.alias == "" {
		b.alias = st.Table
	}
	if err := b.addColumns(); err != nil {
		return nil, err
	}
	return b, b.read(n)
}

// addColumns makes the columns of the table known by their names.
func (b *block) addColumns() error {
	for _, c := range b.Columns {
		if _, twice := b.columns[sql.LowerASCII(c)]; twice {
			return SimilarNames()
		}
		b.columns[sql.LowerASCII(c)] = c
	}
	return nil
}

// read reads the parts of the SELECT.
func (b *block) read(n sql.Node) (err error) {
	list, _ := n["select_list"].([]any)
	if list, err = b.expandStars(list); err != nil {
		return err
	}
	for _, v := range list {
		item, _ := v.(sql.Node)
		if item, err = b.own(item); err != nil {
			return err
		}
		b.items = append(b.items, item)
		if alias := sql.LowerASCII(sql.Text(item, "alias")); alias != "" {
			if _, twice := b.aliases[alias]; twice {
				return notSplit(causeNames, "two columns of its SELECT list have one alias; give them different names")
			}
			b.aliases[alias] = item
		}
	}
	for i := range b.items {
		if b.items[i], err = b.resolve(b.items[i]); err != nil {
			return err
		}
	}
	if b.where, err = b.clause(n["where_clause"]); err != nil {
		return err
	}
	if b.having, err = b.clause(n["having"]); err != nil {
		return err
	}
	if err := b.readGroups(n); err != nil {
		return err
	}
	modifiers, _ := n["modifiers"].([]any)
	for _, v := range modifiers {
		m, _ := v.(sql.Node)
		if err := b.modifier(m); err != nil {
			return err
		}
	}
	return nil
}

// clause returns a condition.
func (b *block) clause(v any) (sql.Node, error) {
	n, ok := v.(sql.Node)
	if !ok {
		return nil, nil
	}
	n, err := b.own(n)
	if err != nil {
		return nil, err
	}
	return b.resolve(n)
}

// star reports whether an item represents several columns.
func (b *block) star() bool {
	for _, item := range b.items {
		if sql.HasClass(item, "STAR") {
			return true
		}
	}
	return false
}

// tail returns LIMIT and OFFSET of the final statement as text.
func (b *block) tail() string {
	var s strings.Builder
	if b.limited {
		fmt.Fprintf(&s, " LIMIT %d", b.limit)
	}
	if b.offset > 0 {
		fmt.Fprintf(&s, " OFFSET %d", b.offset)
	}
	return s.String()
}

// source returns FROM and WHERE of the statement for nodes, as text.
func (b *block) source() (string, error) {
	out := " FROM " + b.from
	if b.where != nil {
		where, err := text(b.where)
		if err != nil {
			return "", err
		}
		out += " WHERE (" + where + ")"
	}
	return out, nil
}
