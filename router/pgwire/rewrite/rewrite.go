package rewrite

import (
	"slices"
	"sort"
	"strings"

	"cordwood/proto/schema"
	"cordwood/router/query/pgcatalog"
	"cordwood/router/query/statement"
)

// Session is what a statement may ask of the session.
type Session struct {
	// Catalog is the database that the client connected to, in PostgreSQL's sense; Path the schemas of names without
	// one, the first counts.
	Catalog string
	Path    []string
	User    string
	Version string
	PID     uint32
	// Setting returns a parameter of the session, and Settings all of them by name.
	Setting  func(name string) (string, bool)
	Settings func() [][2]string
	// HasTable reports whether the first schema of the path has a table.
	HasTable func(name string) bool
	// Relation returns the OID of a table; an empty schema means the path.
	Relation func(schema, name string) (int64, bool)
	// SchemaOID returns the OID of a schema; 0: there is none.
	SchemaOID func(name string) int64
}

// Result is a statement that was rewritten.
type Result struct {
	Text string
	// Sets are the settings that calls of set_config set.
	Sets []Set

	places []place
}

// Set is a setting that a statement sets.
type Set struct {
	Name, Value string
	Local       bool
}

// place says where a token of the new text begins in the client's.
type place struct{ at, origin int }

// Origin returns the offset in the client's text of an offset in the new one.
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
	// match is how far ahead its bracket closes, or, negative, how far back it opens; 0: it is none, or has no other.
	match int
	// where says where the next token stands, of a token that was written.
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
	// tableoid says that the statement names it.
	tableoid bool
	// depth counts the rules within which rules are applied, and made the bytes that rules have written.
	depth, made int
	out         []tok
	in          []tok
	i           int
}

// The bounds of rules: how deep they are nested, how much they write, and how long their statement becomes. The text of
// a rule has its operand more than once, so that what is nested would grow without end.
const (
	maxDepth  = 200
	maxMade   = 4 << 20
	maxResult = 1 << 20
)

// tooComplex is the error beyond these bounds.
func tooComplex() *Error {
	return &Error{"54001", "the statement is too complex: it becomes too long in the words of the engine"}
}

// Error is something that a statement names and that there is not.
type Error struct{ State, Text string }

func (e *Error) Error() string { return e.Text }

// Rewrite returns a statement in the words of the engine.
func Rewrite(text string, s *Session) (Result, error) {
	if sql := recorded(text); sql != "" {
		text = sql
	}
	toks := tokens(text)
	r := &rewriter{s: s}
	r.tableoid = slices.ContainsFunc(toks, func(t tok) bool { return t.word("tableoid") })
	var out []tok
	switch {
	case len(toks) > 0 && toks[0].kind == statement.TokenWord && defining[strings.ToUpper(toks[0].val)]:
		return Result{Text: text}, nil
	case len(toks) > 0 && toks[0].word("INSERT"):
		out = r.values(toks)
	default:
		out = r.all(withoutLocks(toks))
	}
	if r.err != nil {
		return Result{Text: text}, r.err
	}
	res := Result{Sets: r.sets}
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
			continue // it becomes part of what stands before the next token
		}
		out = append(out, tok{kind: t.Kind, pre: text[end:t.From], text: text[t.From:t.To], val: t.Value, at: t.From})
		end = t.To
	}
	matchBrackets(out)
	return out
}

// matchBrackets finds the other one of each bracket.
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

// withoutLocks leaves FOR UPDATE and FOR SHARE at the end out.
func withoutLocks(toks []tok) []tok {
	for i := len(toks) - 2; i >= 0 && i > len(toks)-8; i-- {
		if toks[i].word("FOR") && (toks[i+1].word("UPDATE") || toks[i+1].word("SHARE") || toks[i+1].word("NO") ||
			toks[i+1].word("KEY")) {
			return toks[:i]
		}
	}
	return toks
}

// all rewrites tokens, which may be a part of the statement.
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

// at returns the token that is so far ahead.
func (r *rewriter) at(n int) tok {
	if r.i+n < len(r.in) && r.i+n >= 0 {
		return r.in[r.i+n]
	}
	return tok{kind: statement.TokenComment}
}

// last returns the last token that was written.
func (r *rewriter) last() tok {
	if len(r.out) == 0 {
		return tok{kind: statement.TokenComment}
	}
	return r.out[len(r.out)-1]
}

// raw writes a text in the place of tokens, the first of which is t.
func (r *rewriter) raw(t tok, text string) {
	if r.err != nil {
		return
	}
	if r.made += len(text); r.made > maxMade {
		r.err = tooComplex()
	}
	r.push(tok{kind: made, pre: t.pre, text: text, val: text, at: t.at})
}

// rule applies the first rule that fits here.
func (r *rewriter) rule() bool {
	t := r.at(0)
	switch {
	case t.sym("::"):
		return r.cast()
	case t.kind == statement.TokenText:
		return r.literal()
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

// quotedName applies the rules for names of tables to names in quotes.
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

// functionColumn rewrites p.oid = t.typreceive: columns that name functions hold their names.
func (r *rewriter) functionColumn() bool {
	t := r.at(0)
	if !t.word("oid") || !r.at(1).sym("=") || !r.at(2).isName() || !r.at(3).sym(".") || !r.at(4).isName() {
		return false
	}
	switch strings.ToLower(r.at(4).val) {
	case "typinput", "typoutput", "typreceive", "typsend", "typmodin", "typmodout", "typanalyze":
		r.raw(t, "proname")
		r.i++
		return true
	}
	return false
}

// vectors are columns whose elements PostgreSQL counts from 0.
var vectors = map[string]bool{"indkey": true, "indclass": true, "indcollation": true, "indoption": true}

// subscript rewrites the number of an element that is counted from 0.
func (r *rewriter) subscript() bool {
	end := r.closing(0)
	if end < 2 {
		return false
	}
	inner := r.all(r.in[r.i+1 : r.i+end])
	r.raw(r.at(0), "[("+joined(inner)+") + 1]")
	r.i += end + 1
	return true
}

// words applies the rules that begin with a word.
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

// qualified removes pg_catalog before functions, and looks up the tables that follow it.
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

// pg_settings and others are made of the session.
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

// relation writes the name of a table of the catalog, whose name is n tokens ahead.
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
		text = tableText(table, r.tableoid)
	}
	if strings.HasPrefix(text, "(") && !r.aliased(n+1) {
		text += " AS " + name
	}
	r.raw(first, text)
	r.i += n + 1
	return true
}

// inFrom reports whether a table may stand here.
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
	return last.word("FROM") || last.word("JOIN") || last.word("TABLE") || last.word("ONLY")
}

// afterTable are the words that follow a table and are no alias.
var afterTable = map[string]bool{
	"WHERE": true, "JOIN": true, "LEFT": true, "RIGHT": true, "INNER": true, "OUTER": true, "FULL": true, "CROSS": true,
	"ON": true, "ORDER": true, "GROUP": true, "LIMIT": true, "UNION": true, "HAVING": true, "USING": true, "NATURAL": true,
	"EXCEPT": true, "INTERSECT": true, "OFFSET": true, "FETCH": true, "FOR": true, "WINDOW": true, "TABLESAMPLE": true,
}

// aliased reports whether an alias stands n tokens ahead.
func (r *rewriter) aliased(n int) bool {
	t := r.at(n)
	return t.word("AS") || t.kind == statement.TokenName ||
		t.kind == statement.TokenWord && !afterTable[strings.ToUpper(t.val)]
}

// tableText returns what a table of the catalog is written as. Lists are stored as texts.
func tableText(t *pgcatalog.Table, tableoid bool) string {
	name := pgcatalog.Database + "." + t.Name
	if !t.Lists() && !tableoid {
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
	return "(SELECT " + strings.Join(columns, ", ") + " FROM " + name + ")"
}

// collate leaves the collations out that are the only ones.
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

// operator writes OPERATOR(pg_catalog.~) as ~.
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
