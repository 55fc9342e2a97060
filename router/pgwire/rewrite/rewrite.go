package rewrite

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"cordwood/proto/schema"
	"cordwood/router/query/pgcatalog"
	"cordwood/router/query/statement"
)

// Session has the properties of the session that a statement can depend on.
type Session struct {
	// Catalog is the database that the client connected to: PostgreSQL's catalog. Path has the schemas in which names
	// without a schema are searched, in this order.
	Catalog string
	Path    []string
	User    string
	Version string
	PID     uint32
	// Setting returns a parameter of the session. Settings returns all of them by name.
	Setting  func(name string) (string, bool)
	Settings func() [][2]string
	// HasTable reports whether the first schema of the path contains a table.
	HasTable func(name string) bool
	// Relation returns the OID of a table. An empty schema means the search path.
	Relation func(schema, name string) (int64, bool)
	// Seen returns the OID of a table on which the user has any privilege, and HasColumn whether it has a column.
	Seen      func(schema, name string) (int64, bool)
	HasColumn func(oid int64, name string) bool
	// Role returns the OID of a user or role that the user may know.
	Role func(name string) (int64, bool)
	// Named returns the OIDs of all relations with a name, in all schemas.
	Named func(name string) []int64
	// SchemaOID returns the OID of a schema, or 0 if it does not exist.
	SchemaOID func(name string) int64
	// Operands has the engine's types of operands that are cast to numeric, by the places of the casts.
	Operands map[int]string
	// Probe is the place of a cast to numeric whose operand's type is to be found, or 0: Rewrite writes a call that the
	// engine refuses with the type (see ProbedType).
	Probe int
}

// Result is a rewritten statement.
type Result struct {
	Text string
	// Sets are the settings that calls of set_config change.
	Sets []Set
	// Casts are the places of the casts to numeric for which the types of the operands are not known.
	Casts []int

	places []place
}

// Set is a setting and its new value.
type Set struct {
	Name, Value string
	Local       bool
}

// place maps the offset of a token in the new text to its offset in the client's text.
type place struct{ at, origin int }

// Origin converts an offset in the new text to an offset in the client's text.
func (r *Result) Origin(at int) int {
	i := sort.Search(len(r.places), func(i int) bool { return r.places[i].at > at })
	if i == 0 {
		return at
	}
	return r.places[i-1].origin
}

// tok is a token with the spaces and comments before it.
type tok struct {
	kind      statement.TokenKind
	pre, text string
	val       string
	at        int
	// match is the distance to the other bracket of a pair: positive for an opening bracket, negative for a closing
	// one, and 0 for other tokens and unmatched brackets.
	match int
	// where describes the position after a token that was written.
	where
}

func (t tok) word(kw string) bool {
	return t.kind == statement.TokenWord && strings.EqualFold(t.val, kw)
}
func (t tok) sym(s string) bool { return t.kind == statement.TokenSymbol && t.val == s }
func (t tok) isName() bool      { return t.kind == statement.TokenWord || t.kind == statement.TokenName }

// rewriter rewrites one statement.
type rewriter struct {
	s    *Session
	sets []Set
	err  error
	// casts are the places of the casts to numeric whose operands have no known types.
	casts []int
	// regs are the casts of expressions to reg types, by the texts that were written for them. regNames are the names of
	// the objects for which OIDs were written.
	regs     map[string]regCast
	regNames map[string]string
	// documents are the texts that rules have written for JSON documents.
	documents map[string]bool
	// converting is true at the beginning of the argument of a function that converts it to JSON.
	converting bool
	// arguing is set while arguments of a function are rewritten.
	arguing bool
	// tableoid is true if the statement contains the name tableoid.
	tableoid bool
	// fromless is true if the statement reads no table.
	fromless bool
	// depth is the nesting depth of rules, and bytes the number of bytes that rules have written.
	depth, bytes int
	// steps counts the tokens that were read to find restrictions.
	steps int
	out   []tok
	in    []tok
	i     int
}

// The limits of rewriting: the nesting depth of rules, the bytes that rules write, and the length of the result. A rule
// may write its operand more than once, so nested calls would grow exponentially.
const (
	maxDepth   = 200
	maxWritten = 4 << 20
	maxResult  = 1 << 20
)

// maxNesting is the maximum depth of brackets in a statement, and maxCasts the maximum number of casts of one operand.
const (
	maxNesting = 1000
	maxCasts   = 200
)

// tooComplex returns the error for a statement beyond these limits.
func tooComplex() *Error {
	return &Error{State: "54001", Text: "the statement is too complex: the engine's form of it is too long", At: -1}
}

// Error is an error about a name that does not exist, or a statement that is too complex.
type Error struct {
	State, Text string
	// At is the byte offset of the literal with the name in the statement, or -1.
	At   int
	name string
}

// locate sets the place of the error.
func (e *Error) locate(toks []tok) {
	for _, t := range toks {
		if t.kind == statement.TokenText && t.val == e.name {
			e.At = t.at
			return
		}
	}
}

func (e *Error) Error() string { return e.Text }

// Rewrite translates a statement to the engine's SQL.
func Rewrite(text string, s *Session) (Result, error) {
	if sql := replacementOf(text); sql != "" {
		text = sql
	}
	toks := nameRows(tokens(text))
	if at := tooDeep(toks); at >= 0 {
		return Result{Text: text}, &Error{
			State: "54001", Text: fmt.Sprintf("stack depth limit exceeded: brackets may be nested %d deep", maxNesting), At: at,
		}
	}
	r := &rewriter{s: s}
	r.tableoid = slices.ContainsFunc(toks, func(t tok) bool { return t.word("tableoid") })
	r.fromless = !slices.ContainsFunc(toks, func(t tok) bool { return t.word("FROM") })
	var out []tok
	switch {
	case len(toks) > 0 && toks[0].kind == statement.TokenWord && defining[strings.ToUpper(toks[0].val)]:
		return Result{Text: text}, nil
	case len(toks) > 0 && toks[0].word("INSERT"):
		out = r.insert(toks)
	default:
		out = r.all(nameColumns(withoutLocks(toks)))
	}
	if r.err != nil {
		if e := (*Error)(nil); errors.As(r.err, &e) && e.name != "" {
			e.locate(toks)
		}
		return Result{Text: text}, r.err
	}
	res := Result{Sets: r.sets, Casts: r.casts}
	var b strings.Builder
	for _, t := range out {
		b.WriteString(t.pre)
		res.places = append(res.places, place{b.Len(), t.at})
		b.WriteString(t.text)
	}
	res.Text = b.String()
	if len(res.Text) > max(maxResult, len(text)) {
		return Result{Text: text}, tooComplex()
	}
	return res, nil
}

func tokens(text string) []tok {
	list := statement.Tokens(text)
	out := make([]tok, 0, len(list))
	end := 0
	for _, t := range list {
		if t.Kind == statement.TokenComment {
			continue // it becomes part of the space before the next token
		}
		out = append(out, tok{kind: t.Kind, pre: text[end:t.From], text: text[t.From:t.To], val: t.Value, at: t.From})
		end = t.To
	}
	matchBrackets(out)
	return out
}

// matchBrackets sets match in each bracket of a pair.
func matchBrackets(toks []tok) {
	var open []int
	for i := range toks {
		switch t := &toks[i]; {
		case t.opens():
			open = append(open, i)
		case t.closes() && len(open) > 0:
			from := open[len(open)-1]
			open = open[:len(open)-1]
			toks[from].match, t.match = i-from, from-i
		}
	}
}

// tooDeep returns the place of the first bracket that is nested too deep, or -1.
func tooDeep(toks []tok) int {
	depth := 0
	for _, t := range toks {
		switch {
		case t.opens():
			if depth++; depth > maxNesting {
				return t.at
			}
		case t.closes():
			depth = max(depth-1, 0)
		}
	}
	return -1
}

// withoutLocks removes FOR UPDATE and FOR SHARE, with what belongs to them, outside of brackets. LIMIT may follow them.
func withoutLocks(toks []tok) []tok {
	var out []tok
	kept := 0
	for i := 0; i < len(toks); i++ {
		if toks[i].match > 0 {
			i += toks[i].match
		}
		if n := lockLen(toks[i:]); n > 0 {
			out = append(out, toks[kept:i]...)
			kept, i = i+n, i+n-1
		}
	}
	if kept == 0 {
		return toks
	}
	return append(out, toks[kept:]...)
}

// lockLen returns how many tokens the locking clause has that toks begin with, and 0 if they begin with something else.
func lockLen(toks []tok) int {
	n := 0
	for _, kind := range lockKinds {
		if startsWith(toks, kind) {
			n = len(kind)
		}
	}
	if n == 0 {
		return 0
	}
	if startsWith(toks[n:], []string{"OF"}) {
		n += 2
		for n+1 < len(toks) && (toks[n].sym(",") || toks[n].sym(".")) {
			n += 2
		}
	}
	switch n = min(n, len(toks)); {
	case startsWith(toks[n:], []string{"NOWAIT"}):
		n++
	case startsWith(toks[n:], []string{"SKIP", "LOCKED"}):
		n += 2
	}
	return n
}

// lockKinds are the beginnings of locking clauses.
var lockKinds = [][]string{{"FOR", "UPDATE"}, {"FOR", "SHARE"}, {"FOR", "NO", "KEY", "UPDATE"}, {"FOR", "KEY", "SHARE"}}

// startsWith reports whether toks begin with these key words.
func startsWith(toks []tok, words []string) bool {
	if len(toks) < len(words) {
		return false
	}
	for i, w := range words {
		if !toks[i].word(w) {
			return false
		}
	}
	return true
}

// all rewrites tokens of a statement.
func (r *rewriter) all(in []tok) []tok {
	if r.depth++; r.depth > maxDepth {
		r.err = tooComplex()
	}
	savedIn, savedI, savedOut := r.in, r.i, r.out
	r.in, r.i, r.out = in, 0, nil
	for r.i < len(r.in) && r.err == nil {
		if !r.rule() {
			r.push(r.in[r.i])
			r.i++
		}
	}
	out := r.out
	r.in, r.i, r.out = savedIn, savedI, savedOut
	r.depth--
	return out
}

// at returns the token n places ahead.
func (r *rewriter) at(n int) tok {
	if r.i+n < len(r.in) && r.i+n >= 0 {
		return r.in[r.i+n]
	}
	return tok{kind: statement.TokenComment}
}

// last returns the last token of the output.
func (r *rewriter) last() tok {
	if len(r.out) == 0 {
		return tok{kind: statement.TokenComment}
	}
	return r.out[len(r.out)-1]
}

// raw writes a text in place of tokens, of which t is the first.
func (r *rewriter) raw(t tok, text string) {
	if r.err != nil {
		return
	}
	if r.bytes += len(text); r.bytes > maxWritten {
		r.err = tooComplex()
	}
	r.push(tok{kind: written, pre: t.pre, text: text, val: text, at: t.at})
}

// rule applies the first rule that matches the next tokens.
func (r *rewriter) rule() bool {
	t := r.at(0)
	switch {
	case t.sym("::"):
		return r.cast()
	case t.kind == statement.TokenText:
		return r.pattern() || r.literal() || r.comparedBytes()
	case t.sym("("):
		return r.bareRow()
	case t.sym("$") && r.afterMatch():
		return r.patternParameter()
	case t.sym("#"), t.sym("?"), t.sym("@"), t.sym("|"), t.sym("-"), t.sym("<"), t.sym("="), t.sym("!"):
		return r.document()
	case t.kind == statement.TokenNumber:
		return r.number()
	case t.sym("[") && vectors[strings.ToLower(r.last().val)]:
		return r.subscript()
	case t.kind == statement.TokenWord && !r.last().sym("."):
		return r.words()
	case t.kind == statement.TokenName && !r.last().sym("."):
		return r.quotedName()
	case t.kind == statement.TokenWord:
		return r.functionColumn()
	}
	return false
}

// quotedName applies the rules for table names to quoted names.
func (r *rewriter) quotedName() bool {
	t := r.at(0)
	schemaOf := r.at(1).sym(".") && r.at(2).isName()
	switch {
	case t.val == pgcatalog.Database && schemaOf:
		return r.qualified()
	case t.val == schema.InformationDatabase && schemaOf:
		return r.information()
	case strings.HasPrefix(t.val, "pg_"):
		return r.relation(0)
	}
	return false
}

// functionColumn rewrites p.oid = t.typreceive: columns that refer to functions contain the names of the functions.
func (r *rewriter) functionColumn() bool {
	t := r.at(0)
	if !t.word("oid") || !r.at(1).sym("=") || !r.at(2).isName() || !r.at(3).sym(".") || !r.at(4).isName() ||
		!functionColumns[strings.ToLower(r.at(4).val)] {
		return false
	}
	r.raw(t, "proname")
	r.i++
	return true
}

// functionColumns are the columns of the catalog that refer to functions of types.
var functionColumns = map[string]bool{
	"typinput": true, "typoutput": true, "typreceive": true, "typsend": true, "typmodin": true, "typmodout": true,
	"typanalyze": true,
}

// afterFunctionColumn reports whether the next token is compared with a column that refers to a function. PostgreSQL
// compares its OID; the column has the name of the function here, and "-" for none.
func (r *rewriter) afterFunctionColumn() bool {
	n := len(r.out)
	for n > 0 && (r.out[n-1].sym("=") || r.out[n-1].sym("!") || r.out[n-1].sym("<") || r.out[n-1].sym(">")) {
		n--
	}
	return n > 0 && n < len(r.out) && functionColumns[strings.ToLower(r.out[n-1].val)]
}

// vectors are columns whose elements are counted from 0 in PostgreSQL.
var vectors = map[string]bool{"indkey": true, "indclass": true, "indcollation": true, "indoption": true}

// subscript adds 1 to a subscript that is counted from 0.
func (r *rewriter) subscript() bool {
	end := r.closingBracket(0)
	if end < 2 {
		return false
	}
	inner := r.all(r.in[r.i+1 : r.i+end])
	r.raw(r.at(0), "[("+joined(inner)+") + 1]")
	r.i += end + 1
	return true
}

// words applies the rules for tokens that start with a word.
func (r *rewriter) words() bool {
	t := r.at(0)
	if r.last().word("AS") && !r.at(1).sym("(") && folded(t) != t.text {
		t.text = folded(t) // an alias
		r.push(t)
		r.i++
		return true
	}
	switch strings.ToUpper(t.val) {
	case "COLLATE":
		return r.collate()
	case "OPERATOR":
		return r.operator()
	case "DESC":
		return r.descending()
	case "TIES":
		if r.ties() {
			return true
		}
	case "FETCH", "OFFSET":
		if r.rowsOnly() {
			return true
		}
	case "ANY", "ALL", "SOME":
		return r.quantified()
	case "CAST":
		return r.castCall()
	case "PG_CATALOG":
		if r.at(1).sym(".") && r.at(2).isName() {
			return r.qualified()
		}
	case "INFORMATION_SCHEMA":
		if r.at(1).sym(".") && r.at(2).isName() {
			return r.information()
		}
	case "TIMESTAMPTZ", "TIMESTAMP", "TIMESTAMP_NS":
		return r.typedMoment()
	case "DATE", "TIME", "TIMETZ", "INTERVAL", "BOOLEAN", "BOOL":
		if r.typedTime() {
			return true
		}
	case "BYTEA":
		if r.typedBytes() {
			return true
		}
	case "OVERLAPS":
		if r.overlaps() {
			return true
		}
	case "VALUES":
		if r.valueList() {
			return true
		}
	case "NUMERIC", "DECIMAL", "DEC":
		if r.typedNumber() {
			return true
		}
	}
	if r.at(1).sym("(") {
		return r.call(0)
	}
	if text, ok := r.bareWord(t); ok {
		r.raw(t, text)
		r.i++
		return true
	}
	return r.relation(0)
}

// qualified removes pg_catalog before functions, and looks up tables after it.
func (r *rewriter) qualified() bool {
	if r.at(3).sym("(") {
		if r.call(2) {
			return true
		}
		next := r.at(2)
		next.pre = r.at(0).pre
		r.push(next)
		r.i += 3
		return true
	}
	return r.relation(2)
}

// sessionTable returns the replacement of a table with properties of the session, such as pg_settings.
func (r *rewriter) sessionTable(name string) (string, bool) {
	if name != "pg_settings" {
		return "", false
	}
	rows := make([]string, 0, 64)
	for _, s := range r.s.Settings() {
		rows = append(rows, "("+schema.QuoteLiteral(s[0])+", "+schema.QuoteLiteral(s[1])+")")
	}
	return "(SELECT name, setting, NULL::VARCHAR AS unit, 'Cordwood' AS category, '' AS short_desc, " +
		"NULL::VARCHAR AS extra_desc, 'user' AS context, 'string' AS vartype, 'default' AS source, " +
		"NULL::VARCHAR AS min_val, NULL::VARCHAR AS max_val, NULL::VARCHAR[] AS enumvals, setting AS boot_val, " +
		"setting AS reset_val, NULL::VARCHAR AS sourcefile, NULL::INTEGER AS sourceline, false AS pending_restart " +
		"FROM (VALUES " + strings.Join(rows, ", ") + ") AS s(name, setting))", true
}

// relation replaces a table of the catalog whose name is n tokens ahead.
func (r *rewriter) relation(n int) bool {
	first, t := r.at(0), r.at(n)
	name := strings.ToLower(t.val)
	text, session := "", false
	table := pgcatalog.Find(name)
	if n > 0 || strings.HasPrefix(name, "pg_") {
		text, session = r.sessionTable(name)
	}
	if table == nil && !session || n == 0 && (!strings.HasPrefix(name, "pg_") || !r.inFrom() || r.s.HasTable(t.val)) {
		return false
	}
	after := r.at(n + 1)
	if after.sym(".") || after.sym("(") {
		if n == 0 {
			return false
		}
		t.pre = first.pre // a column: pg_catalog.pg_class.oid
		r.push(t)
		r.i += n + 1
		return true
	}
	if !session {
		text = tableText(table, r.tableoid, r.restriction(n, table))
	}
	if strings.HasPrefix(text, "(") && !r.aliased(n+1) {
		text += " AS " + name
	}
	r.raw(first, text)
	r.i += n + 1
	return true
}

// inFrom reports whether a table name may occur here.
func (r *rewriter) inFrom() bool {
	last := r.last()
	if last.word("FROM") && r.withinCall() {
		return false // as in trim(both from x)
	}
	switch {
	case last.sym(","):
		return r.inTables()
	case last.sym("("):
		i := len(r.out) - 1
		for i > 0 && r.out[i].sym("(") {
			i--
		}
		return r.out[i].word("FROM") || r.out[i].word("JOIN") || r.out[i].sym(",")
	}
	return last.word("FROM") || last.word("JOIN") || last.word("TABLE") || last.word("ONLY") || last.word("LATERAL")
}

// afterTable are the words that may follow a table and are not an alias.
var afterTable = map[string]bool{
	"WHERE": true, "JOIN": true, "LEFT": true, "RIGHT": true, "INNER": true, "OUTER": true, "FULL": true, "CROSS": true,
	"ON": true, "ORDER": true, "GROUP": true, "LIMIT": true, "UNION": true, "HAVING": true, "USING": true, "NATURAL": true,
	"EXCEPT": true, "INTERSECT": true, "OFFSET": true, "FETCH": true, "FOR": true, "WINDOW": true, "TABLESAMPLE": true,
	"WITH": true,
}

// aliased reports whether an alias is n tokens ahead.
func (r *rewriter) aliased(n int) bool {
	t := r.at(n)
	return t.word("AS") || t.kind == statement.TokenName ||
		t.kind == statement.TokenWord && !afterTable[strings.ToUpper(t.val)]
}

// tableText returns the query that replaces a table of the catalog. It casts texts to lists, because lists are stored
// as texts. condition begins with WHERE or is empty.
func tableText(t *pgcatalog.Table, tableoid bool, condition string) string {
	name := pgcatalog.Database + "." + t.Name
	if !t.Lists() && !tableoid && condition == "" {
		return name
	}
	var columns []string
	for _, c := range t.Columns {
		text := `"` + c.Name + `"`
		if elem := c.Type.Element(); elem != "" {
			text = "CAST(" + text + " AS " + elem + "[]) AS " + text
		}
		columns = append(columns, text)
	}
	if tableoid {
		columns = append(columns, "CAST("+itoa(t.OID)+" AS BIGINT) AS tableoid")
	}
	return "(SELECT " + strings.Join(columns, ", ") + " FROM " + name + condition + ")"
}

// collate removes the names of collations that sort as the engine does anyway.
func (r *rewriter) collate() bool {
	n := 1
	if r.at(1).word("pg_catalog") && r.at(2).sym(".") {
		n = 3
	}
	switch t := r.at(n); strings.ToLower(t.val) {
	case "default", "c", "posix", "ucs_basic":
		r.i += n + 1
		return true
	}
	return false
}

// operator rewrites OPERATOR(pg_catalog.~) as ~.
func (r *rewriter) operator() bool {
	if !r.at(1).sym("(") || !r.at(2).word("pg_catalog") || !r.at(3).sym(".") {
		return false
	}
	n := 4
	text := ""
	for ; r.at(n).kind == statement.TokenSymbol && !r.at(n).sym(")"); n++ {
		text += r.at(n).text
	}
	if !r.at(n).sym(")") || text == "" {
		return false
	}
	r.raw(r.at(0), text)
	r.i += n + 1
	return true
}
