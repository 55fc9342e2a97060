package rewrite

import (
	"slices"
	"strings"

	"cordwood/proto/schema"
	"cordwood/router/query/pgcatalog"
	"cordwood/router/query/statement"
)

func first(list []string) string {
	if len(list) == 0 {
		return schema.DefaultDatabase
	}
	return list[0]
}

func (r *rewriter) version() string {
	return "PostgreSQL 15.0 (cordwood " + r.s.Version + ") on x86_64-pc-linux-gnu"
}

// bareWord returns the replacement of a function name without parentheses.
func (r *rewriter) bareWord(t tok) (string, bool) {
	if r.at(1).sym(".") || r.last().word("AS") {
		return "", false
	}
	name := strings.ToLower(t.val)
	if text := r.sessionName(name); text != "" {
		if !r.inFrom() {
			return text, true
		}
		text = "(SELECT " + text + " AS " + name + ")"
		if !r.aliased(1) {
			text += " AS " + name
		}
		return text, true
	}
	if name == "user" {
		// Logs have columns of this name, and their users write it without quotes.
		return quote(r.s.User), t.kind == statement.TokenWord && !r.userColumn()
	}
	return "", false
}

// sessionName returns the value of a keyword that is a name of the session, or an empty string.
func (r *rewriter) sessionName(word string) string {
	switch word {
	case "current_user", "session_user", "current_role":
		return quote(r.s.User)
	case "current_catalog":
		return quote(r.s.Catalog)
	case "current_schema":
		return quote(first(r.s.Path))
	}
	return ""
}

// findUserColumn reports whether the statement reads a table with a column called user, or gives this name to a column
// itself. Then the word is that column, and otherwise the user, as in PostgreSQL.
func (r *rewriter) findUserColumn(toks []tok) bool {
	defined := definedNames(toks)
	var open []int
	for i, t := range toks {
		if t.match > 0 {
			open = append(open, i)
		} else if t.match < 0 && len(open) > 0 {
			open = open[:len(open)-1]
		}
		if i > 0 && t.isName() && strings.EqualFold(t.val, "user") && (toks[i-1].word("AS") || toks[i-1].closes()) {
			return true
		}
		if !t.isName() || i == 0 || toks[i-1].sym(".") {
			continue
		}
		schemaName, name := "", t.val
		if i+2 < len(toks) && toks[i+1].sym(".") && toks[i+2].isName() {
			schemaName, name = t.val, toks[i+2].val
		}
		oid, known := r.s.Relation(schemaName, name)
		if known && r.s.HasColumn(oid, "user") {
			return true
		}
		if n := len(open); n > 0 && open[n-1] > 0 && partsOf[strings.ToLower(toks[open[n-1]-1].val)] {
			continue // FROM is no clause in extract(day FROM ts)
		}
		if !known && (toks[i-1].word("FROM") || toks[i-1].word("JOIN")) && pgcatalog.Find(name) == nil &&
			!defined[strings.ToLower(name)] {
			return true // its columns are not known
		}
	}
	return false
}

// partsOf are the functions whose arguments may stand around FROM.
var partsOf = map[string]bool{"extract": true, "substring": true, "trim": true, "overlay": true, "position": true}

// definedNames returns the names, in lower case, that WITH defines. Their columns are those of other tables.
func definedNames(toks []tok) map[string]bool {
	names := map[string]bool{}
	for i := 1; i+2 < len(toks); i++ {
		if toks[i].isName() && toks[i+1].word("AS") &&
			(toks[i-1].word("WITH") || toks[i-1].word("RECURSIVE") || toks[i-1].sym(",")) {
			names[strings.ToLower(toks[i].val)] = true
		}
	}
	return names
}

// call rewrites a call whose name is n tokens ahead.
func (r *rewriter) call(n int) bool {
	name := strings.ToLower(r.at(n).val)
	switch {
	case r.inFrom() && !r.last().sym("(") && !r.last().sym(",") && r.rowFunction(n, name):
		return true
	case r.last().sym(",") && r.inTables() && r.rowFunction(n, name):
		return true
	}
	f := functions[name]
	inList := r.inSelectList()
	end := r.closingBracket(n + 1)
	if name == "row" && end > 0 && r.isValue(end) {
		return r.row(n+1, end)
	}
	if name == "sum" && end > n+2 && r.intervalSum(n, end) {
		return true
	}
	if f == nil || end < 0 {
		return false
	}
	outer := r.converting
	r.converting = jsonFunctions[name]
	args := r.arguments(n+2, end)
	r.converting = outer
	if r.err != nil {
		return true // otherwise the enclosing call would grow
	}
	if oidFunctions[name] && len(args) > 0 {
		args[0] = r.oidArgument(args[0])
	}
	if sizeFunctions[name] && len(args) > 0 {
		if text, ok := literalOf(args[0]); ok {
			args[0] = r.regLiteral("regclass", text)
		}
	}
	if jsonLists[name] && len(args) > 0 && end > n+2 {
		args[0] = r.jsonArgument(args[0], firstArgument(r.in[r.i+n+2:r.i+end]))
	}
	if jsonLists[name] {
		out, size := r.jsonList(args, end)
		r.raw(r.at(0), out)
		r.i += size
		return true
	}
	if objectLists[name] {
		if out, size, ok := r.objectAggregate(args, end); ok {
			r.raw(r.at(0), out)
			r.i += size
			return true
		}
	}
	out, ok := f(r, args)
	if r.err != nil {
		return true
	}
	if !ok && name == "generate_series" && inList {
		out, ok = rowsOf(args), true
	}
	if !ok {
		return false
	}
	r.raw(r.at(0), out)
	r.i += end + 1
	return true
}

// inSelectList reports whether an expression of a select list starts here.
func (r *rewriter) inSelectList() bool {
	w := r.here()
	return r.last().word("SELECT") || r.last().word("DISTINCT") || r.last().sym(",") && w.list
}

// rowsOf returns generate_series as rows: the engine's function returns a list.
func rowsOf(args []string) string {
	if slices.ContainsFunc(args, isOpen) {
		list := make([]string, len(args))
		for i, arg := range args {
			list[i] = "CAST(" + arg + " AS BIGINT)"
		}
		return "unnest([" + strings.Join(list, ", ") + "])"
	}
	return "unnest(generate_series(" + strings.Join(plainNumbers(seriesOfTimes(args)), ", ") + "))"
}

// arguments returns the rewritten arguments between two positions.
func (r *rewriter) arguments(from, end int) (args []string) {
	outer := r.arguing
	r.arguing = true
	defer func() { r.arguing = outer }()
	begin := from
	add := func(to int) {
		if to > begin {
			list := r.all(r.in[r.i+begin : r.i+to])
			args = append(args, joined(list))
		}
	}
	for n := from; n < end; n++ {
		switch t := r.at(n); {
		case t.match > 0:
			n += t.match
		case t.sym(","):
			add(n)
			begin = n + 1
		}
	}
	add(end)
	return args
}

// literalOf returns the value of a text literal.
func literalOf(arg string) (string, bool) {
	list := statement.Tokens(arg)
	if len(list) > 0 && isMarker(list[0].Value) {
		return "", false
	}
	if len(list) == 1 && list[0].Kind == statement.TokenText {
		return list[0].Value, true
	}
	if len(list) == 3 && list[0].Kind == statement.TokenText && list[1].Value == "::" {
		return list[0].Value, true
	}
	return "", false
}
