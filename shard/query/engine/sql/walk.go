package sql

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cordwood/proto/errs"
	"cordwood/shard/query"
)

// walker checks a syntax tree and collects what it refers to. Whatever kind of node
// it does not know, it refuses.
type walker struct {
	st       *Statement
	database string
	// growth is the product of the sizes that the statement asks for.
	growth int64
	// weight is how many tables have been read so far if every CTE is put in wherever
	// it is named, as the engine may do.
	weight int
	// joins is the same for joins.
	joins int
	// filters is how many aggregates have a FILTER, windows how many functions have a window, cases
	// how many branches all CASE have.
	filters, windows, windowTerms, cases int
	// byName is how many UNION BY NAME are around the node at hand.
	byName int
	// stars is the product of the numbers of stars in the lists of columns of the queries
	// around the node at hand, maxStars the largest one met.
	stars, maxStars int
	// These are how many of each are around the node at hand.
	queries, expressions, subqueries, lambdas, likes int
	// nested are the lists and structs around the node at hand, deepest the most of them in
	// its query, levels the sum of these over the queries that have been left.
	nested, deepest, levels int
	// notAt is the position of the NOT whose operand is at hand, else -1.
	notAt int
}

// Statements beyond these bounds take the engine's planner too much stack, or too
// long: it cannot be interrupted, and some of its steps double with each level.
const (
	MaxTables          = 50     // tables read, with CTEs put in wherever they are named
	maxJoins           = 64     // joins, of tables and of queries, counted like tables
	maxFilters         = 256    // aggregates with a FILTER; each is compared with the others
	MaxSelected        = 8192   // expressions in the list of a SELECT; the engine compares their names with one another
	MaxByName          = 1000   // the same in a UNION BY NAME, which does it again for each
	MaxListed          = 1000   // expressions, literals not counted, of an AND, OR, IN, ORDER BY and so on
	MaxArguments       = 10_000 // arguments of a function, elements of a list
	MaxCases           = 2000   // WHEN of all CASE together
	MaxWindows         = 256    // window functions; one sort for each
	maxWindowTerms     = 2000   // of all their PARTITION BY and ORDER BY
	MaxQueryDepth      = 50     // queries in one another
	MaxExpressionDepth = 250    // expressions in one another
	MaxSubqueryDepth   = 10     // queries that are expressions, in one another
	MaxLambdaDepth     = 10     // lambda functions in one another
	MaxLikeDepth       = 3      // LIKE and its kind in one another; see likeSQL
	maxGroupingSets    = 64     // of a GROUP BY
	maxStars           = 64     // how often * may repeat the columns of an inner query
	maxNested          = 32     // lists and structs in one another, and in types
	maxNestedSum       = 64     // the same, added up over the queries of the statement
	maxParts           = 36     // parts of a name, a.b.c: the engine calls itself for each
	maxName            = 1024   // bytes of a name; the engine compares wrong ones with all it knows
)

var errTooDeep = errs.New(errs.Unsupported,
	"the statement is nested too deeply; there may be %d queries, %d expressions, %d queries as expressions, and %d lambda functions in one another",
	MaxQueryDepth, MaxExpressionDepth, MaxSubqueryDepth, MaxLambdaDepth)

var errTypeTooDeep = errs.New(errs.Unsupported,
	"the statement nests lists and structs too deeply; there may be %d in one another, %d over all its queries", maxNested, maxNestedSum)

// Node is an object of the tree.
type Node = map[string]any

// scope holds the names of the CTEs that are visible at a place, in lower case.
type scope struct {
	name string
	// weight is how many tables the CTE reads, joins how many joins it has, stars how often it may
	// repeat their columns.
	weight, joins, stars int
	outer                *scope
}

// find returns the innermost CTE of that name, or nil.
func (s *scope) find(name string) *scope {
	for s != nil && s.name != name {
		s = s.outer
	}
	return s
}

func (w *walker) statement(v any) error {
	stmt, _ := v.(Node)
	root, _ := stmt["node"].(Node)
	if root == nil {
		return errs.New(errs.Unsupported, "this kind of statement is not supported: only SELECT, and EXPLAIN of it, can be run here")
	}
	if _, ok := stmt["named_param_map"]; ok {
		return errs.New(errs.Unsupported, "parameters ($1, ?) are not supported; write the values into the statement")
	}
	if modifiers, ok := root["modifiers"].([]any); ok {
		for _, m := range modifiers {
			if m, ok := m.(Node); ok && strings.HasPrefix(Text(m, "type"), "LIMIT") {
				w.st.Limited = true
			}
		}
	}
	if err := w.walk(root, nil); err != nil {
		return err
	}
	slices.SortFunc(w.st.Tables, func(a, b TableRef) int { return a.at - b.at })
	for _, ref := range w.st.Tables {
		if !slices.Contains(w.st.Names, ref.Name) {
			w.st.Names = append(w.st.Names, ref.Name)
		}
	}
	return nil
}

// walk visits v, which may be any value of the tree.
func (w *walker) walk(v any, s *scope) error {
	switch v := v.(type) {
	case []any:
		if err := boundTerms(v); err != nil {
			return err
		}
		for _, child := range v {
			if err := w.walk(child, s); err != nil {
				return err
			}
		}
	case string:
		return w.name(v)
	case Node:
		if id, ok := v["id"].(string); ok {
			if err := w.typeOf(id, v); err != nil {
				return err
			}
		}
		if class, ok := v["class"].(string); ok {
			return w.expression(class, v, s)
		}
		if kind, ok := v["type"].(string); ok {
			return w.structure(kind, v, s)
		}
		return w.children(v, s)
	}
	return nil
}

// boundTerms bounds the expressions of a list that are no literals: the engine compares those of an AND or OR
// with each other, and makes a column of each of an ORDER BY.
func boundTerms(list []any) error {
	if len(list) <= MaxListed {
		return nil
	}
	terms := 0
	for _, v := range list {
		if n, ok := v.(Node); ok && Text(n, "class") != "CONSTANT" {
			terms++
		}
	}
	if terms > MaxListed {
		return errs.New(errs.Unsupported, "%d expressions in one list, or joined by AND or OR; %d are allowed, and more only of literals: compare with many values by IN (…)", terms, MaxListed)
	}
	return nil
}

// children visits all values of n, except those under the keys in skip.
func (w *walker) children(n Node, s *scope, skip ...string) error {
	for key, v := range n {
		switch v.(type) {
		case Node, []any, string:
			if slices.Contains(skip, key) {
				continue
			}
			if err := w.walk(v, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// name bounds a name.
func (w *walker) name(s string) error {
	if len(s) > maxName {
		return errs.New(errs.InvalidArguments, "the name %s has %d bytes; %d are allowed", excerpt(s), len(s), maxName)
	}
	return nil
}

// typeOf checks a type that the statement names.
func (w *walker) typeOf(id string, n Node) error {
	if info, ok := n["type_info"].(Node); ok && id == "UNBOUND" {
		id = Text(info, "name")
	}
	switch id = strings.ToUpper(id); id {
	case "VARIANT":
		// One is made of JSON level by level, and the stack has an end.
		return errs.New(errs.Unsupported, "the type VARIANT is not supported; keep the value as JSON, and take it apart with ->, ->> and json_extract")
	case "AGGREGATE_STATE", "POINTER":
		return errs.New(errs.Unsupported, "the type %s is not supported", id)
	}
	return nil
}

// nesting are the functions whose value is of a type one level deeper than that of an argument.
var nesting = map[string]bool{
	"list_value": true, "list_pack": true, "array_value": true, "row": true, "struct_pack": true, "map": true, "union_value": true,
	"list": true, "array_agg": true, "histogram": true, "histogram_exact": true, "map_from_entries": true, "struct_insert": true,
}

// likes are the functions whose macros name an operand more than once, so that each level multiplies
// what the engine plans.
var likes = map[string]bool{"~~": true, "!~~": true, "~~*": true, "!~~*": true}

// nest counts a list or struct around what follows.
func (w *walker) nest() error {
	w.nested++
	w.deepest = max(w.deepest, w.nested)
	if w.nested > maxNested {
		return errTypeTooDeep
	}
	return nil
}

// excerpt is the beginning of a text of the client, for an error.
func excerpt(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// structure visits a query, a table reference or a modifier.
func (w *walker) structure(kind string, n Node, s *scope) error {
	switch kind {
	case "SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE":
		return w.query(n, s)
	case "RECURSIVE_CTE_NODE":
		return w.recursion(n, s)
	case "BASE_TABLE":
		return w.table(n, s)
	case "TABLE_FUNCTION":
		return w.tableFunction(n, s)
	case "SHOW_REF":
		// DESCRIBE and SUMMARIZE of a query or table; not SHOW TABLES and the like.
		if n["query"] == nil {
			return errs.New(errs.Unsupported, "SHOW cannot be part of a SELECT; read information_schema instead")
		}
		return w.children(n, s)
	case "JOIN":
		if err := w.join(1); err != nil {
			return err
		}
		return w.children(n, s)
	case "EXPRESSION_LIST":
		rows, _ := n["values"].([]any)
		for _, v := range rows {
			row, _ := v.([]any)
			if err := w.boundSelected(len(row)); err != nil {
				return err
			}
		}
		return w.children(n, s)
	case "EMPTY", "EMPTY_FROM", "SUBQUERY", "PIVOT",
		"LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "ORDER_MODIFIER", "DISTINCT_MODIFIER",
		"ORDER_DEFAULT", "ASCENDING", "DESCENDING":
		return w.children(n, s)
	}
	if strings.HasSuffix(kind, "_TYPE_INFO") {
		return w.children(n, s)
	}
	return errs.New(errs.Unsupported, "%s is not supported in a SELECT", kind)
}

// query visits a query whose CTEs each see those before them.
func (w *walker) query(n Node, s *scope) error {
	if w.queries++; w.queries > MaxQueryDepth {
		return errTooDeep
	}
	nested, deepest := w.nested, w.deepest
	w.nested, w.deepest = 0, 0
	defer func() {
		w.queries--
		w.levels += w.deepest
		w.nested, w.deepest = nested, deepest
	}()
	if ctes, ok := n["cte_map"].(Node); ok {
		list, _ := ctes["map"].([]any)
		for _, v := range list {
			cte, _ := v.(Node)
			weight, joins, stars, most := w.weight, w.joins, w.stars, w.maxStars
			w.weight, w.joins, w.stars, w.maxStars = 0, 0, 1, 1
			if err := w.walk(cte["value"], s); err != nil {
				return err
			}
			s = &scope{name: strings.ToLower(Text(cte, "key")), weight: w.weight, joins: w.joins, stars: w.maxStars, outer: s}
			w.weight, w.joins, w.stars, w.maxStars = weight, joins, stars, most
		}
	}
	selected, _ := n["select_list"].([]any)
	if err := w.boundSelected(len(selected)); err != nil {
		return err
	}
	if Text(n, "setop_type") == "UNION_BY_NAME" {
		w.byName++
		defer func() { w.byName-- }()
	}
	if err := aliases(n); err != nil {
		return err
	}
	before := w.stars
	if err := w.repeat(countStars(n["select_list"])); err != nil {
		return err
	}
	defer func() { w.stars = before }()
	if sets, ok := n["group_sets"].([]any); ok && len(sets) > maxGroupingSets {
		return errs.New(errs.Unsupported, "GROUP BY makes %d grouping sets; %d are allowed", len(sets), maxGroupingSets)
	}
	for _, v := range selected {
		if err := w.walk(v, s); err != nil {
			return err
		}
	}
	if err := w.children(n, s, "cte_map", "group_sets", "select_list"); err != nil {
		return err
	}
	if w.levels+w.deepest > maxNestedSum {
		return errTypeTooDeep
	}
	return nil
}

// boundSelected bounds the columns of a SELECT or VALUES.
func (w *walker) boundSelected(columns int) error {
	most := MaxSelected
	if w.byName > 0 {
		most = MaxByName
	}
	if columns > most {
		return errs.New(errs.Unsupported, "a SELECT of %d expressions; %d are allowed, and %d in a UNION BY NAME", columns, MaxSelected, MaxByName)
	}
	return nil
}

// recursion visits the two parts of a recursive CTE; only the second sees the CTE.
func (w *walker) recursion(n Node, s *scope) error {
	if err := w.children(n, s, "right"); err != nil {
		return err
	}
	return w.walk(n["right"], &scope{name: strings.ToLower(Text(n, "cte_name")), outer: s})
}

// table notes a reference to a table, unless it is one to a CTE.
func (w *walker) table(n Node, s *scope) error {
	catalog, database, name := Text(n, "catalog_name"), Text(n, "schema_name"), Text(n, "table_name")
	if n["at_clause"] != nil {
		return errs.New(errs.Unsupported, "AT (VERSION or TIMESTAMP) is not supported: a table has only its present state")
	}
	parts := 1
	switch {
	case catalog != "" && !strings.EqualFold(catalog, catalogName):
		return errs.New(errs.Unsupported, "table %s.%s.%s: names have the form table or database.table", catalog, database, name)
	case catalog != "":
		parts = 3
	case database != "":
		parts = 2
	case s.find(strings.ToLower(name)) != nil:
		return w.cte(n, s, s.find(strings.ToLower(name)))
	default:
		database = w.database
	}
	at, ok := Position(n)
	if !ok {
		return errs.New(errs.Unexpected, "table %s.%s: the parser reports no position", database, name)
	}
	ref := TableRef{Name: query.TableName{Database: database, Name: name}, at: at, parts: parts, aliased: Text(n, "alias") != "", Given: Text(n, "alias")}
	if err := w.read(1); err != nil {
		return err
	}
	w.st.Tables = append(w.st.Tables, ref)
	return w.children(n, s)
}

// cte counts what a reference to a CTE stands for.
func (w *walker) cte(n Node, s, cte *scope) error {
	before := w.stars
	defer func() { w.stars = before }()
	if err := w.repeat(cte.stars); err != nil {
		return err
	}
	if err := w.read(cte.weight); err != nil {
		return err
	}
	if err := w.join(cte.joins); err != nil {
		return err
	}
	return w.children(n, s)
}

// repeat notes that the columns of what lies below are taken so many times.
func (w *walker) repeat(times int) error {
	w.stars = max(w.stars, 1) * max(times, 1)
	w.maxStars = max(w.maxStars, w.stars)
	if w.stars > maxStars {
		return errs.New(errs.Unsupported, "the statement repeats the columns of a query by * more than %d times", maxStars)
	}
	return nil
}

// countStars returns the number of stars in a list of columns, COLUMNS(…) included.
func countStars(v any) int {
	list, _ := v.([]any)
	stars := 0
	for _, column := range list {
		if n, ok := column.(Node); ok && Text(n, "class") == "STAR" {
			stars++
		}
	}
	return stars
}

// read counts tables that are read.
func (w *walker) read(tables int) error {
	for range w.likes {
		tables *= 3
	}
	if w.weight += tables; w.weight > MaxTables {
		return errs.New(errs.Unsupported, "the statement reads more than %d tables, counting those of a CTE wherever it is named", MaxTables)
	}
	return nil
}

// join counts joins, those of CTEs wherever they are named.
func (w *walker) join(joins int) error {
	if w.joins += joins; w.joins > maxJoins {
		return errs.New(errs.Unsupported, "the statement has more than %d joins, counting those of a CTE wherever it is named", maxJoins)
	}
	return nil
}

// catalogName may stand in front of a database's name.
const catalogName = "cordwood"

func (w *walker) tableFunction(n Node, s *scope) error {
	f, _ := n["function"].(Node)
	name := strings.ToLower(Text(f, "function_name"))
	if Text(f, "class") != "FUNCTION" || !allowedTableFunctions[name] {
		return errs.New(errs.Unsupported, "the table function %s is not allowed in queries", excerpt(name))
	}
	if name == "unnest" {
		if err := w.unnest(name, Args(f)); err != nil {
			return err
		}
	}
	if err := w.children(f, s); err != nil {
		return err
	}
	return w.children(n, s, "function")
}

// expression visits an expression.
func (w *walker) expression(class string, n Node, s *scope) error {
	if w.expressions++; w.expressions > MaxExpressionDepth {
		return errTooDeep
	}
	defer func() { w.expressions-- }()
	around := w.notAt
	defer func() { w.notAt = around }()
	if class != "FUNCTION" {
		w.notAt = -1
	}
	if at, ok := Position(n); ok && Text(n, "type") == "OPERATOR_NOT" {
		w.notAt = at
	}
	if Text(n, "alias") != "" {
		w.st.aliased = append(w.st.aliased, n)
	}
	switch class {
	case "CONSTANT":
		return nil
	case "COLUMN_REF":
		if path, ok := n["column_names"].([]any); ok && len(path) > maxParts {
			return errs.New(errs.Unsupported, "a name of %d parts; %d are allowed", len(path), maxParts)
		}
		w.column(n)
		return w.walk(n["column_names"], s)
	case "CASE":
		checks, _ := n["case_checks"].([]any)
		if w.cases += len(checks); w.cases > MaxCases {
			return errs.New(errs.Unsupported, "the statement has more than %d WHEN in its CASE; join with VALUES instead", MaxCases)
		}
	case "FUNCTION", "WINDOW":
		if class == "WINDOW" {
			if w.windows++; w.windows > MaxWindows {
				return errs.New(errs.Unsupported, "the statement has more than %d window functions", MaxWindows)
			}
			partitions, _ := n["partitions"].([]any)
			orders, _ := n["orders"].([]any)
			if w.windowTerms += len(partitions) + len(orders); w.windowTerms > maxWindowTerms {
				return errs.New(errs.Unsupported, "the window functions of the statement have more than %d expressions in PARTITION BY and ORDER BY", maxWindowTerms)
			}
		}
		if n := len(Args(n)); n > MaxArguments {
			return errs.New(errs.Unsupported, "a function or list of %d arguments; %d are allowed", n, MaxArguments)
		}
		if n["filter"] != nil {
			if w.filters++; w.filters > maxFilters {
				return errs.New(errs.Unsupported, "the statement has more than %d aggregates with a FILTER", maxFilters)
			}
		}
		if err := w.call(n); err != nil {
			return err
		}
		w.moments(true, Args(n)...)
		if name := strings.ToLower(Text(n, "function_name")); name == "->>" || strings.HasPrefix(name, "json_") {
			w.jsonPaths(Args(n))
		}
		if likes[strings.ToLower(Text(n, "function_name"))] {
			if w.likes++; w.likes > MaxLikeDepth {
				return errs.New(errs.Unsupported, "the operands of LIKE, ILIKE and GLOB have more than %d of these in one another", MaxLikeDepth)
			}
			defer func() { w.likes-- }()
		}
		if nesting[strings.ToLower(Text(n, "function_name"))] {
			if err := w.nest(); err != nil {
				return err
			}
			defer func() { w.nested-- }()
		}
	case "SUBQUERY":
		if w.subqueries++; w.subqueries > MaxSubqueryDepth {
			return errTooDeep
		}
		defer func() { w.subqueries-- }()
	case "LAMBDA":
		w.jsonPaths([]any{n["lhs"], n["expr"]}) // an arrow, perhaps
		if w.lambdas++; w.lambdas > MaxLambdaDepth {
			return errTooDeep
		}
		defer func() { w.lambdas-- }()
	case "OPERATOR":
		if kind := Text(n, "type"); kind == "COMPARE_IN" || kind == "COMPARE_NOT_IN" {
			w.integers(n, Args(n)...)
			w.moments(false, Args(n)...)
		}
	case "COMPARISON":
		w.integers(n, n["left"], n["right"])
		w.moments(false, n["left"], n["right"])
	case "BETWEEN":
		w.integers(n, n["input"], n["lower"], n["upper"])
		w.moments(false, n["input"], n["lower"], n["upper"])
	case "CAST":
		w.castMoment(n)
	case "CONJUNCTION", "STAR", "LAMBDA_REF", "COLLATE", "POSITIONAL_REFERENCE", "TYPE":
	default:
		return errs.New(errs.Unsupported, "%s is not supported in an expression", class)
	}
	return w.children(n, s)
}

// jsonPaths takes the dot out of paths such as $.[1], which the engine does not know, in the arguments of a
// function of JSON behind the first.
func (w *walker) jsonPaths(args []any) {
	for i, v := range args {
		n, _ := v.(Node)
		path, isText := TextLiteral(n)
		from, ok := Position(n)
		if i == 0 || !isText || !ok || !strings.HasPrefix(path, "$") || !strings.Contains(path, ".[") {
			continue
		}
		var b strings.Builder
		for k := 0; k < len(path); {
			end := k + 1
			if path[k] == '"' {
				end = max(skipQuoted(path, k), end)
			}
			if !strings.HasPrefix(path[k:], ".[") || path[k-1] == '.' {
				b.WriteString(path[k:end])
			}
			k = end
		}
		w.st.texts = append(w.st.texts, Edit{From: from, To: SkipLiteral(w.st.SQL, from), Text: QuoteText(b.String())})
	}
}

// column notes a reference to a column.
func (w *walker) column(n Node) {
	list, _ := n["column_names"].([]any)
	at, ok := Position(n)
	if len(list) == 0 || !ok {
		return
	}
	ref := columnRef{at: at}
	for _, p := range list {
		p, _ := p.(string)
		ref.Path = append(ref.Path, p)
	}
	w.st.Columns = append(w.st.Columns, ref)
}

// Text returns the text under key, or "".
func Text(n Node, key string) string {
	s, _ := n[key].(string)
	return s
}

// Position returns where in the text the node begins.
func Position(n Node) (int, bool) {
	number, ok := n["query_location"].(json.Number)
	if !ok {
		return 0, false
	}
	at, err := number.Int64()
	return int(at), err == nil && at >= 0
}

// EachNode calls f with the nodes of a tree, and with those below a node if f returns true for it.
func EachNode(tree any, f func(n Node) bool) {
	switch v := tree.(type) {
	case []any:
		for _, child := range v {
			EachNode(child, f)
		}
	case Node:
		if f(v) {
			for _, child := range v {
				EachNode(child, f)
			}
		}
	}
}

// IsWhole tells whether n is a literal of an integer type, with a sign or without.
func IsWhole(n Node) bool {
	if list := Args(n); Text(n, "function_name") == "-" && len(list) == 1 {
		n, _ = list[0].(Node)
	}
	value, _ := n["value"].(Node)
	kind, _ := value["type"].(Node)
	switch Text(kind, "id") {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT":
		return true
	}
	return false
}

// Args returns the arguments of a call.
func Args(n Node) []any {
	list, _ := n["children"].([]any)
	return list
}

// TextLiteral returns the text that n is a literal of. The tree leaves empty ones out.
func TextLiteral(n Node) (string, bool) {
	value, _ := n["value"].(Node)
	kind, _ := value["type"].(Node)
	null, _ := value["is_null"].(bool)
	return Text(value, "value"), Text(n, "class") == "CONSTANT" && Text(kind, "id") == "VARCHAR" && !null
}

// Integer returns the value of an integer literal, with a sign or without.
func Integer(v any) (int64, bool) {
	n, _ := v.(Node)
	if Text(n, "class") == "FUNCTION" && Text(n, "function_name") == "-" {
		args, _ := n["children"].([]any)
		if len(args) != 1 {
			return 0, false
		}
		i, ok := Integer(args[0])
		return -i, ok
	}
	if Text(n, "class") != "CONSTANT" {
		return 0, false
	}
	value, _ := n["value"].(Node)
	number, ok := value["value"].(json.Number)
	if !ok {
		return 0, false
	}
	i, err := strconv.ParseInt(number.String(), 10, 64)
	return i, err == nil
}

// HasClass reports whether an expression of a class is in v.
func HasClass(v any, class string) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(child any) bool { return HasClass(child, class) })
	case Node:
		if Text(v, "class") == class {
			return true
		}
		for _, child := range v {
			if HasClass(child, class) {
				return true
			}
		}
	}
	return false
}

// RowCount returns a literal number of rows; 0 if there is none.
func RowCount(v any) (uint64, bool) {
	if v == nil {
		return 0, true
	}
	n, _ := v.(Node)
	i, ok := Integer(v)
	return uint64(i), ok && i >= 0 && IsWhole(n)
}

// OnlyKeys tells whether n has no other keys than those, so that nothing is overlooked
// that changes its meaning.
func OnlyKeys(n Node, keys ...string) bool {
	for k := range n {
		known := k == "type" || k == "class" || k == "query_location"
		for _, key := range keys {
			known = known || k == key
		}
		if !known {
			return false
		}
	}
	return true
}
