package split

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"cordwood/shard/query/engine/sql"
)

// Statement is what is split.
type Statement struct {
	// Root is its syntax tree, and SQL the text that positions in the tree are of.
	Root sql.Node
	SQL  string
	// Database and Table name its only table; Columns are the table's columns.
	Database, Table string
	Columns         []string
	// Names are the names of the columns of its answer.
	Names []string
	// Limit bounds the rows of the answer, whatever the statement says; 0: it does not.
	Limit uint64
	// Now is what now() returns.
	Now time.Time
	// Sets returns the grouping sets of the statement: the tree leaves empty ones out.
	Sets func() ([]any, error)
}

// Partials is the name of the table that Final reads: what Worker returns on all nodes, in any order.
const Partials = "__partials"

// Plan is a statement that was taken apart.
type Plan struct {
	// Kind says how, for people: aggregate, pairs, top, limit, distinct or rows.
	Kind string
	// Worker is run over the rows of each node. Its columns are the partials.
	Worker string
	// Final is run over Partials; empty: the answer is what Worker returns, one node after the other.
	Final string
	// divided are the columns of the partials of which averages are made.
	divided []string
}

// Divides reports whether an average is made of a column of the partials for which f is true.
func (p *Plan) Divides(f func(column string) bool) bool { return slices.ContainsFunc(p.divided, f) }

// Hauled is the error for a statement that cannot be taken apart: its rows are fetched instead.
type Hauled struct{ Reason string }

func (h *Hauled) Error() string { return "not split: " + h.Reason }

func haul(format string, args ...any) error { return &Hauled{Reason: fmt.Sprintf(format, args...)} }

// Split takes a statement apart. Its error is a *Hauled.
func Split(st *Statement) (*Plan, error) {
	b, err := newBlock(st)
	if err != nil {
		return nil, err
	}
	if b.aggregates() {
		return b.splitAggregates()
	}
	return b.splitRows()
}

// block is a SELECT over one table.
type block struct {
	*Statement
	columns map[string]string // as they are called, by their names in lower case
	aliases map[string]sql.Node
	alias   string // of the table
	from    string // the table, as text

	items  []sql.Node
	where  sql.Node
	groups []sql.Node
	sets   []any // of numbers of groups; nil: one of all
	all    bool  // GROUP BY ALL
	having sql.Node

	distinct      bool
	orders        []order
	limit, offset uint64
	limited       bool
}

// order is an expression of ORDER BY, and what stands behind it.
type order struct {
	by   sql.Node
	item int // the position of the item that it is, from 1; 0: it is none
	how  string
}

// known are the keys of a SELECT that are understood.
var known = []string{
	"select_list", "from_table", "where_clause", "group_expressions", "group_sets", "aggregate_handling", "having", "modifiers",
}

func newBlock(st *Statement) (*block, error) {
	n := st.Root
	if sql.Text(n, "type") != "SELECT_NODE" {
		return nil, haul("it is no plain SELECT")
	}
	if !sql.OnlyKeys(n, known...) {
		return nil, haul("it has a WITH, QUALIFY, or SAMPLE")
	}
	from, _ := n["from_table"].(sql.Node)
	if sql.Text(from, "type") != "BASE_TABLE" || !sql.OnlyKeys(from, "schema_name", "table_name", "catalog_name", "alias") {
		return nil, haul("it does not read one table alone")
	}
	b := &block{Statement: st, columns: map[string]string{}, aliases: map[string]sql.Node{}, alias: sql.Text(from, "alias")}
	b.from = sql.QuoteName(st.Database) + "." + sql.QuoteName(st.Table)
	if b.alias == "" {
		b.alias = st.Table
	}
	for _, c := range st.Columns {
		if _, twice := b.columns[sql.LowerASCII(c)]; twice {
			return nil, haul("the table has columns whose names differ only in case")
		}
		b.columns[sql.LowerASCII(c)] = c
	}
	return b, b.read(n)
}

// read takes the parts of the SELECT over.
func (b *block) read(n sql.Node) (err error) {
	list, _ := n["select_list"].([]any)
	for _, v := range list {
		item, _ := v.(sql.Node)
		if item, err = b.own(item); err != nil {
			return err
		}
		b.items = append(b.items, item)
		if alias := sql.LowerASCII(sql.Text(item, "alias")); alias != "" {
			if _, twice := b.aliases[alias]; twice {
				return haul("two items have one alias")
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

// own returns a copy of an expression with columns as the table calls them, the moment of the request in the place
// of now(), and operators that the walker of statements rewrites by their text as calls.
func (b *block) own(n sql.Node) (sql.Node, error) {
	n, _ = clone(n).(sql.Node)
	alias := sql.Text(n, "alias")
	n, err := expression(n, b.ownNode)
	if err != nil {
		return nil, err
	}
	if alias != "" {
		n["alias"] = alias
	}
	return n, nil
}

func (b *block) ownNode(n sql.Node) (sql.Node, error) {
	switch sql.Text(n, "class") {
	case "COLUMN_REF":
		return b.ownColumn(n)
	case "FUNCTION":
		return b.ownFunction(n)
	case "OPERATOR":
		at, known := sql.Position(n)
		if known && strings.HasPrefix(b.SQL[at:], "!~") && sql.Text(n, "type") == "OPERATOR_NOT" {
			args := sql.Args(n)
			if len(args) == 1 {
				if inner, ok := args[0].(sql.Node); ok && sql.Text(inner, "function_name") == "regexp_full_match" {
					search, err := b.search(inner, "")
					if err != nil {
						return nil, err
					}
					return sql.Node{"class": "OPERATOR", "type": "OPERATOR_NOT", "children": []any{search}}, nil
				}
			}
			return nil, haul("the operator !~ of an expression")
		}
	case "SUBQUERY":
		return nil, haul("it has a query inside of an expression")
	case "WINDOW":
		return nil, haul("it has window functions")
	}
	return nil, nil
}

// ownColumn returns the column by its own name, without that of the table.
func (b *block) ownColumn(n sql.Node) (sql.Node, error) {
	path, _ := n["column_names"].([]any)
	var names []string
	for _, v := range path {
		s, _ := v.(string)
		names = append(names, s)
	}
	switch {
	case len(names) == 2 && strings.EqualFold(names[0], b.alias):
		names = names[1:]
	case len(names) == 3 && strings.EqualFold(names[0], b.Database) && strings.EqualFold(names[1], b.Table):
		names = names[2:]
	}
	if len(names) != 1 {
		return nil, haul("the name %s", strings.Join(names, "."))
	}
	if own, ok := b.columns[sql.LowerASCII(names[0])]; ok {
		return columnOf(own), nil
	}
	if moment := b.moment(names[0]); moment != nil && b.aliases[sql.LowerASCII(names[0])] == nil {
		return moment, nil
	}
	return columnOf(names[0]), nil
}

// volatile are the functions whose value differs from call to call.
var volatile = map[string]bool{
	"random": true, "uuid": true, "gen_random_uuid": true, "uuidv4": true, "uuidv7": true, "get_current_time": true,
	"current_localtime": true, "current_localtimestamp": true, "nextval": true, "error": true, "sleep_ms": true, "age": true, "ago": true,
}

// moment returns the literal for the present moment or day, nil for other names.
func (b *block) moment(name string) sql.Node {
	switch sql.LowerASCII(name) {
	case "now", "get_current_timestamp", "transaction_timestamp", "current_timestamp":
		return rawOf("CAST(" + sql.QuoteText(b.Now.UTC().Format("2006-01-02 15:04:05.999999")) + " AS TIMESTAMP)")
	case "current_date", "today":
		return rawOf("CAST(" + sql.QuoteText(b.Now.UTC().Format("2006-01-02")) + " AS DATE)")
	}
	return nil
}

func (b *block) ownFunction(n sql.Node) (sql.Node, error) {
	name := sql.LowerASCII(sql.Text(n, "function_name"))
	if volatile[name] {
		return nil, haul("the function %s", name)
	}
	if len(sql.Args(n)) == 0 {
		if moment := b.moment(name); moment != nil {
			return moment, nil
		}
	}
	switch at, known := sql.Position(n); {
	case name == "~*" || name == "!~*":
		search, err := b.search(n, "i")
		if err != nil || name == "~*" {
			return search, err
		}
		return sql.Node{"class": "OPERATOR", "type": "OPERATOR_NOT", "children": []any{search}}, nil
	case name == "regexp_full_match" && known && strings.HasPrefix(b.SQL[at:], "~"):
		return b.search(n, "")
	}
	return nil, nil
}

// search returns the operator ~ as a call: the pattern is looked for anywhere in the text.
func (b *block) search(n sql.Node, flags string) (sql.Node, error) {
	args := sql.Args(n)
	if len(args) != 2 {
		return nil, haul("a search by a regular expression")
	}
	pattern, _ := args[1].(sql.Node)
	given, isText := sql.TextLiteral(pattern)
	if !isText {
		return nil, haul("a search by a regular expression that is no literal")
	}
	first, _ := args[0].(sql.Node)
	subject, err := expression(first, b.ownNode)
	if err != nil {
		return nil, err
	}
	literal, _ := clone(pattern).(sql.Node)
	value, _ := literal["value"].(sql.Node)
	value["value"] = "(?s:.*)(?" + flags + ":" + given + ")(?s:.*)"
	return sql.Node{"class": "FUNCTION", "type": "FUNCTION", "function_name": "regexp_full_match", "children": []any{subject, literal}}, nil
}

// maxResolved bounds how often aliases are put in.
const maxResolved = 200

// resolve puts expressions in the place of their aliases. A column of that name takes precedence.
func (b *block) resolve(n sql.Node) (sql.Node, error) {
	alias := sql.Text(n, "alias")
	count := 0
	var put func(n sql.Node) (sql.Node, error)
	put = func(n sql.Node) (sql.Node, error) {
		name, ok := bareColumn(n)
		if !ok {
			return nil, nil
		}
		if _, ok := b.columns[sql.LowerASCII(name)]; ok {
			return n, nil
		}
		of := b.aliases[sql.LowerASCII(name)]
		if count++; of == nil || count > maxResolved {
			return nil, haul("the name %s", name)
		}
		out, err := expression(of, put)
		if err != nil {
			return nil, err
		}
		if _, same := out["alias"]; same {
			out, _ = clone(out).(sql.Node)
			delete(out, "alias")
		}
		return out, nil
	}
	out, err := expression(n, put)
	if err != nil {
		return nil, err
	}
	if alias != "" {
		out["alias"] = alias
	}
	return out, nil
}

// bareColumn returns the name of a column that is a whole expression.
func bareColumn(n sql.Node) (string, bool) {
	list, _ := n["column_names"].([]any)
	if sql.Text(n, "class") != "COLUMN_REF" || len(list) != 1 {
		return "", false
	}
	name, ok := list[0].(string)
	return name, ok
}

// clashes reports whether a name is a column of the table and the alias of something else.
func (b *block) clashes(name string) bool {
	column, isColumn := b.columns[sql.LowerASCII(name)]
	item := b.aliases[sql.LowerASCII(name)]
	if !isColumn || item == nil {
		return false
	}
	own, bare := bareColumn(item)
	return !bare || own != column
}

// readGroups takes over GROUP BY.
func (b *block) readGroups(n sql.Node) error {
	switch sql.Text(n, "aggregate_handling") {
	case "", "STANDARD_HANDLING":
	case "FORCE_AGGREGATES":
		b.all = true
		for _, item := range b.items {
			if !hasAggregate(item) {
				b.groups = append(b.groups, item)
			}
		}
		return nil
	default:
		return haul("its way of grouping")
	}
	list, _ := n["group_expressions"].([]any)
	for _, v := range list {
		g, _ := v.(sql.Node)
		if sql.Text(g, "class") == "CONSTANT" {
			i, ok := sql.Integer(g)
			if !ok || i < 1 || i > int64(len(b.items)) {
				return haul("GROUP BY a literal")
			}
			b.groups = append(b.groups, b.items[i-1])
			continue
		}
		if name, bare := bareColumn(g); bare && b.clashes(name) {
			return haul("the name %s is a column and an alias", name)
		}
		g, err := b.clause(g)
		if err != nil {
			return err
		}
		b.groups = append(b.groups, g)
	}
	if !groupingSets.MatchString(b.SQL) {
		return nil
	}
	sets, err := b.Sets()
	if err != nil {
		return haul("its grouping sets: %s", err)
	}
	if len(sets) > 1 || len(sets) == 1 && !wholeSet(sets[0], len(b.groups)) {
		b.sets = sets
	}
	return nil
}

// groupingSets matches statements that may have grouping sets other than that of all expressions.
var groupingSets = regexp.MustCompile(`(?i)\b(?:rollup|cube|grouping)\b|(?:\bby|,)\s*\(\s*\)`)

// wholeSet reports whether a set of groups is that of all.
func wholeSet(v any, groups int) bool {
	set, _ := v.([]any)
	return len(set) == groups
}

// modifier takes over DISTINCT, ORDER BY and LIMIT.
func (b *block) modifier(m sql.Node) error {
	switch kind := sql.Text(m, "type"); kind {
	case "DISTINCT_MODIFIER":
		if !sql.OnlyKeys(m) {
			return haul("DISTINCT ON")
		}
		b.distinct = true
	case "ORDER_MODIFIER":
		list, _ := m["orders"].([]any)
		for _, v := range list {
			o, _ := v.(sql.Node)
			if err := b.order(o); err != nil {
				return err
			}
		}
	case "LIMIT_MODIFIER":
		limit, ok := sql.RowCount(m["limit"])
		offset, ok2 := sql.RowCount(m["offset"])
		if !ok || !ok2 || limit > maxRows || offset > maxRows {
			return haul("a LIMIT or OFFSET that is no literal number")
		}
		b.limit, b.offset, b.limited = limit, offset, m["limit"] != nil
		if !b.limited && m["offset"] == nil {
			return haul("a LIMIT of nothing")
		}
	default:
		return haul("%s", strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(kind, "_MODIFIER"), "_", " ")))
	}
	return nil
}

// maxRows bounds LIMIT and OFFSET of statements that are split.
const maxRows = 10_000_000

// order takes over an expression of ORDER BY.
func (b *block) order(o sql.Node) error {
	how := ""
	switch sql.Text(o, "type") {
	case "", "ORDER_DEFAULT":
	case "ASCENDING":
		how = " ASC"
	case "DESCENDING":
		how = " DESC"
	default:
		return haul("its ORDER BY")
	}
	switch sql.Text(o, "null_order") {
	case "", "ORDER_DEFAULT":
	case "NULLS FIRST":
		how += " NULLS FIRST"
	case "NULLS LAST":
		how += " NULLS LAST"
	default:
		return haul("its ORDER BY")
	}
	by, _ := o["expression"].(sql.Node)
	if sql.Text(by, "class") == "STAR" && sql.OnlyKeys(by, "columns") && !b.star() { // ORDER BY ALL
		for i, item := range b.items {
			b.orders = append(b.orders, order{by: item, item: i + 1, how: how})
		}
		return nil
	}
	if sql.Text(by, "class") == "CONSTANT" {
		i, ok := sql.Integer(by)
		if !ok || i < 1 || i > int64(len(b.items)) || b.star() {
			return haul("ORDER BY a literal")
		}
		b.orders = append(b.orders, order{by: b.items[i-1], item: int(i), how: how})
		return nil
	}
	if name, bare := bareColumn(by); bare {
		if b.clashes(name) {
			return haul("the name %s is a column and an alias", name)
		}
	}
	by, err := b.clause(by)
	if err != nil {
		return err
	}
	ord := order{by: by, how: how}
	for i, item := range b.items {
		if key(item) == key(by) && !b.star() {
			ord.item = i + 1
			break
		}
	}
	b.orders = append(b.orders, ord)
	return nil
}

// star reports whether an item stands for several columns.
func (b *block) star() bool {
	for _, item := range b.items {
		if sql.HasClass(item, "STAR") {
			return true
		}
	}
	return false
}

// tail returns LIMIT and OFFSET of the last step as text.
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
		out += " WHERE " + where
	}
	return out, nil
}
