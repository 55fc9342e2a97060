package rewrite

import (
	"strconv"
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/proto/schema"
	"cordwood/router/pgwire/value"
	"cordwood/router/query/pgcatalog"
	"cordwood/router/query/statement"
)

// regLiteral returns the OID of the object that a literal of a reg type names.
func (r *rewriter) regLiteral(typ, text string) string {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return "CAST(" + itoa(n) + " AS BIGINT)"
	}
	oid, found := r.lookUp(typ, text)
	if !found && r.err == nil {
		states := map[string]string{"regclass": "42P01", "regproc": "42883", "regprocedure": "42883"}
		state := states[typ]
		if state == "" {
			state = "42704"
		}
		what := map[string]string{"42P01": "relation", "42883": "function", "42704": "type"}[state]
		switch typ {
		case "regrole":
			what = "role"
		case "regnamespace":
			state, what = "3F000", "schema"
		}
		r.err = &Error{State: state, Text: what + ` "` + text + `" does not exist`, At: -1, name: text}
	}
	number := "CAST(" + itoa(oid) + " AS BIGINT)"
	if r.regNames == nil {
		r.regNames = map[string]string{}
	}
	r.regNames[number] = r.shownName(typ, text, oid)
	return number
}

// isShown reports whether an expression between the end of the output and the next token is a column of the result, so
// that clients see the name of an object and not its OID.
func (r *rewriter) isShown() bool {
	next := r.at(0)
	return r.depth == 1 && r.here().up < 0 && r.inSelectList() && (next.kind == statement.TokenComment || next.sym(",") ||
		next.sym(";") || next.word("AS") || next.word("FROM"))
}

// shownName returns the name of an object as PostgreSQL shows it: with the schema only if it is not found without.
func (r *rewriter) shownName(typ, text string, oid int64) string {
	schemaName, name := splitName(text)
	switch typ {
	case "regtype":
		for _, t := range pgcatalog.Types {
			switch oid {
			case t.OID:
				return t.Spoken
			case t.Array:
				return t.Spoken + "[]"
			}
		}
	case "regclass":
		if same, found := r.lookUp(typ, quoteName(name)); !found || same != oid {
			return quoteName(schemaName) + "." + quoteName(name)
		}
	}
	return quoteName(name)
}

var simpleName = lazyregexp.New(`^[a-z_][a-z0-9_]*$`)

// quoteName returns a name in quotes, if it needs them.
func quoteName(name string) string {
	if simpleName.MatchString(name) {
		return name
	}
	return schema.QuoteIdent(name)
}

// lookUp returns the OID of a name.
func (r *rewriter) lookUp(typ, text string) (int64, bool) {
	schemaName, name := splitName(text)
	switch typ {
	case "regclass":
		if schemaName == pgcatalog.Database || schemaName == "" {
			if t := pgcatalog.Find(name); t != nil {
				return t.OID, true
			}
		}
		return r.s.Relation(schemaName, name)
	case "regtype":
		oid := pgcatalog.TypeByName(strings.ToLower(name))
		if oid == 0 && pgcatalog.Find(name) != nil {
			oid = pgcatalog.Find(name).OID // the row type of the table
		}
		return oid, oid != 0
	case "regnamespace":
		oid := r.s.SchemaOID(name)
		return oid, oid != 0
	case "regrole":
		return r.s.Role(name)
	}
	name, _, _ = strings.Cut(name, "(")
	oid := pgcatalog.FunctionOID(strings.ToLower(name))
	return oid, oid != 0
}

// splitName splits a name into the schema, which may be missing, and the name.
func splitName(text string) (schemaName, name string) {
	var parts []string
	var part strings.Builder
	inside := false
	for _, c := range text {
		switch {
		case c == '"':
			inside = !inside
		case (c == ' ' || c == '\t' || c == '\n') && !inside: // around the point
		case c == '.' && !inside:
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteRune(c)
		}
	}
	name = part.String()
	if len(parts) > 0 {
		schemaName = parts[len(parts)-1]
	}
	return schemaName, name
}

// regText returns SQL for the name of the object with an OID, which is not a type. Numbers that are not OIDs stay
// numbers.
func regText(typ, operand string) string {
	table, column := "pg_class", "relname"
	switch typ {
	case "regnamespace":
		table, column = "pg_namespace", "nspname"
	case "regproc", "regprocedure":
		table, column = "pg_proc", "proname"
	case "regrole":
		table, column = "pg_roles", "rolname"
	}
	return "coalesce((SELECT any_value(cordwood_t." + column + ") FROM pg_catalog." + table + " AS cordwood_t WHERE " +
		"cordwood_t.oid = TRY_CAST(" + operand + " AS BIGINT)), CAST(" + operand + " AS VARCHAR))"
}

// regList writes the cast of a list of names or OIDs to a list of a reg type, which is a list of names.
func (r *rewriter) regList(operand []tok, t castType) {
	first := operand[0]
	if t.name != "regtype" {
		r.refuse("casts to "+t.name+"[] are not supported; look the names up in the catalog", 0)
		return
	}
	if !isText(operand) {
		r.raw(first, "list_transform(CAST("+joined(operand)+" AS BIGINT[]), lambda cordwood_v: "+
			formatType("cordwood_v", "NULL")+")")
		return
	}
	names, ok := value.Texts(first.val)
	if !ok {
		r.checked(first, "", &value.Error{State: "22P02", Text: "malformed array literal: " + strconv.Quote(first.val)})
		return
	}
	for i, name := range names {
		number := r.regLiteral(t.name, name)
		if names[i] = quote(r.regNames[number]); r.err != nil {
			return
		}
	}
	r.raw(first, "CAST(["+strings.Join(names, ", ")+"] AS VARCHAR[])")
}
