package rewrite

import (
	"slices"
	"strings"

	"cordwood/proto/schema"
	"cordwood/router/query/pgcatalog"
	"cordwood/router/query/statement"
)

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
	switch name {
	case "pg_settings":
	case "pg_stat_ssl":
		return r.ownTLS(), true
	case "pg_prepared_statements":
		if r.s.Prepared != nil {
			return r.ownStatements(), true
		}
		return "", false
	default:
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
	if n == 0 && r.foldTable() {
		return true
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
		text = tableText(table, r.hidden, r.restriction(n, table))
	}
	if strings.HasPrefix(text, "(") && !r.aliased(n+1) {
		text += " AS " + name
	}
	r.raw(first, text)
	r.i += n + 1
	return true
}

// foldTable writes the name of a table in lower case, as PostgreSQL does without quotes, if there is no table with the
// case that the client wrote. The name may stand behind its schema.
func (r *rewriter) foldTable() bool {
	n, schemaName := 0, ""
	if r.at(1).sym(".") && r.at(2).isName() {
		n, schemaName = 2, r.at(0).val
	}
	t := r.at(n)
	lower := strings.ToLower(t.val)
	if t.kind != statement.TokenWord || t.val == lower || r.at(n+1).sym(".") || r.at(n+1).sym("(") || !r.inFrom() {
		return false
	}
	if _, found := r.s.Relation(schemaName, t.val); found {
		return false
	}
	if _, found := r.s.Relation(schemaName, lower); !found {
		return false
	}
	for k := range n {
		r.push(r.at(k))
	}
	t.text, t.val = lower, lower
	r.push(t)
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
func tableText(t *pgcatalog.Table, hidden map[string]bool, condition string) string {
	name := pgcatalog.Database + "." + t.Name
	if !t.Lists() && len(hidden) == 0 && condition == "" {
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
	if hidden["tableoid"] {
		columns = append(columns, "CAST("+itoa(t.OID)+" AS BIGINT) AS tableoid")
	}
	if hidden["xmin"] && !slices.ContainsFunc(t.Columns, func(c pgcatalog.Column) bool { return c.Name == "xmin" }) {
		columns = append(columns, "CAST(1 AS BIGINT) AS xmin")
	}
	return "(SELECT " + strings.Join(columns, ", ") + " FROM " + name + condition + ")"
}
