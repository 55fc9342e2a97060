package rewrite

import (
	"fmt"
	"strings"

	"cordwood/router/query/pgcatalog"
	"cordwood/router/query/statement"
)

func currentSchemas(r *rewriter, args []string) (string, bool) {
	var names []string
	if len(args) == 1 && strings.EqualFold(args[0], "true") {
		names = append(names, quote(pgcatalog.Database))
	}
	for _, s := range r.s.Path {
		names = append(names, quote(s))
	}
	return "CAST([" + strings.Join(names, ", ") + "] AS VARCHAR[])", true
}

func currentSetting(r *rewriter, args []string) (string, bool) {
	if len(args) == 0 {
		return "", false
	}
	if name, ok := literalOf(args[0]); ok {
		v, known := r.s.Setting(strings.ToLower(name))
		switch {
		case known:
			return quote(v), true
		case len(args) > 1 && strings.EqualFold(args[1], "true"):
			return nullText, true
		}
		r.err = &Error{
			State: "42704", Text: fmt.Sprintf("unrecognized configuration parameter %q", name), At: -1, name: name,
		}
		return "NULL", true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "CASE lower(%s)", args[0])
	for _, s := range r.s.Settings() {
		fmt.Fprintf(&b, " WHEN %s THEN %s", quote(strings.ToLower(s[0])), quote(s[1]))
	}
	return b.String() + " END", true
}

// elementNumbers rewrites generate_series(array_lower(list, 1), array_upper(list, 1)) in a select list, where it
// returns a row for each element. Its arguments are rewritten already.
func elementNumbers(r *rewriter, args []string) (string, bool) {
	if r.inFrom() {
		return "generate_series(" + strings.Join(seriesOfTimes(args), ", ") + ")", true
	}
	if len(args) != 2 {
		return "", false
	}
	if lower := strings.TrimSpace(args[0]); lower != "1" && !strings.HasPrefix(lower, "CASE WHEN len(") {
		return "", false
	}
	list, found := strings.CutPrefix(strings.TrimSpace(args[1]), "nullif(len(")
	list, found2 := strings.CutSuffix(list, "), 0)")
	return "generate_subscripts(" + list + ", 1)", found && found2
}

// subscriptNumbers rewrites generate_subscripts(list, 1) in a select list. Vectors of the catalog are counted from 0.
func subscriptNumbers(_ *rewriter, args []string) (string, bool) {
	if len(args) != 2 || !isVector(args[0]) {
		return "", false
	}
	return "(generate_subscripts(" + strings.Join(args, ", ") + ") - 1)", true
}

// isVector reports whether an expression is a vector of the catalog.
func isVector(arg string) bool {
	return vectors[strings.ToLower(strings.TrimSpace(arg[strings.LastIndex(arg, ".")+1:]))]
}

// indexProperty answers for the indexes of primary keys, whose columns all ascend.
func indexProperty(_ *rewriter, args []string) (string, bool) {
	if len(args) != 3 {
		return "", false
	}
	name := "lower(" + args[2] + ")"
	return "CASE WHEN " + name + " IN ('asc', 'nulls_last', 'orderable', 'search_array', 'search_nulls', 'returnable') " +
		"THEN TRUE WHEN " + name + " IN ('desc', 'nulls_first', 'distance_orderable') THEN FALSE END", true
}

// indexMethodProperty answers for btree, the method of all indexes.
func indexMethodProperty(_ *rewriter, args []string) (string, bool) {
	if len(args) != 2 {
		return "", false
	}
	return "CASE WHEN lower(" + args[1] + ") IN ('can_order', 'can_unique', 'can_multi_col', 'can_exclude', " +
		"'can_include') THEN (" + args[0] + ") = 403 END", true
}

// transactionAge rewrites age of a transaction: all rows of the catalog were written by the one before. The engine has
// age of a time.
func transactionAge(_ *rewriter, args []string) (string, bool) {
	if len(args) != 1 {
		return "", false
	}
	arg := strings.ToLower(strings.TrimSpace(args[0]))
	for _, name := range []string{"xmin", "transactionid", "frozenxid", "::varchar", "backend_xid", "txid_current()"} {
		if strings.HasSuffix(arg, name) {
			return "CASE WHEN (" + args[0] + ") IS NOT NULL THEN 1 END", true
		}
	}
	return "", false
}

func setConfig(r *rewriter, args []string) (string, bool) {
	if len(args) != 3 {
		return "", false
	}
	name, ok := literalOf(args[0])
	val, ok2 := literalOf(args[1])
	if list := statement.Tokens(args[1]); ok && len(list) > 0 && (list[0].Value == "$" || isMarker(list[0].Value)) {
		return "CAST(" + args[1] + " AS VARCHAR)", true // the statement is only described: nothing is set
	}
	if !ok || !ok2 {
		return "", false
	}
	r.sets = append(r.sets, Set{name, val, strings.EqualFold(args[2], "true")})
	return quote(val), true
}

// toReg looks up a name. If no object has the name, it returns null.
func toReg(typ string) expand {
	return func(r *rewriter, args []string) (string, bool) {
		if len(args) != 1 {
			return "", false
		}
		name, ok := literalOf(args[0])
		if !ok {
			return regOID(typ, args[0]), true
		}
		if oid, found := r.lookUp(typ, name); found {
			return "CAST(" + itoa(oid) + " AS BIGINT)", true
		}
		return "CAST(NULL AS BIGINT)", true
	}
}

// regOID returns SQL for the OID of an object whose name is an expression.
func regOID(typ, operand string) string {
	table, column := "pg_class", "relname"
	switch typ {
	case "regtype":
		table, column = "pg_type", "typname"
	case "regnamespace":
		table, column = "pg_namespace", "nspname"
	case "regproc":
		table, column = "pg_proc", "proname"
	case "regrole":
		table, column = "pg_roles", "rolname"
	}
	return "(SELECT any_value(cordwood_t.oid) FROM pg_catalog." + table + " AS cordwood_t WHERE cordwood_t." + column +
		" = CAST(" + operand + " AS VARCHAR))"
}

func formatTypeCall(_ *rewriter, args []string) (string, bool) {
	if len(args) != 2 {
		return "", false
	}
	return formatType(args[0], args[1]), true
}

// formatType returns SQL for the name of the type whose OID is an expression.
func formatType(oid, mod string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CASE CAST((%s) AS BIGINT)", oid)
	for _, t := range pgcatalog.Types {
		spoken := quote(t.Spoken)
		if t.Name == "numeric" && !strings.EqualFold(mod, "NULL") {
			spoken = fmt.Sprintf("CASE WHEN (%[1]s) > 4 THEN 'numeric(' || CAST(((%[1]s) - 4) // 65536 AS VARCHAR) || ',' || "+
				"CAST(((%[1]s) - 4) %% 65536 AS VARCHAR) || ')' ELSE 'numeric' END", mod)
		}
		fmt.Fprintf(&b, " WHEN %d THEN %s", t.OID, spoken)
		if t.Array != 0 {
			fmt.Fprintf(&b, " WHEN %d THEN %s", t.Array, quote(t.Spoken+"[]"))
		}
	}
	fmt.Fprintf(&b, " ELSE CASE WHEN (%s) IS NOT NULL THEN '???' END END", oid)
	return b.String()
}

func userByID(r *rewriter, args []string) (string, bool) {
	if len(args) != 1 {
		return "", false
	}
	return fmt.Sprintf("CASE (%s) WHEN %d THEN %s WHEN %d THEN %s ELSE 'unknown' END", args[0], pgcatalog.OwnerOID,
		quote(pgcatalog.Owner), pgcatalog.UserOID(r.s.User), quote(r.s.User)), true
}

func indexDefinition(_ *rewriter, args []string) (string, bool) {
	if len(args) == 0 {
		return "", false
	}
	whole := fmt.Sprintf("(SELECT any_value(cordwood_d.definition) FROM pg_catalog.cordwood_definitions AS cordwood_d "+
		"WHERE cordwood_d.oid = (%s))", args[0])
	if len(args) == 1 || args[1] == "0" {
		return whole, true
	}
	return fmt.Sprintf("CASE WHEN (%s) = 0 THEN %s ELSE (SELECT any_value(cordwood_a.attname) FROM "+
		"pg_catalog.pg_attribute "+
		"AS cordwood_a WHERE cordwood_a.attrelid = (%s) AND cordwood_a.attnum = (%s)) END", args[1], whole, args[0],
		args[1]), true
}

// visible returns true for tables of the search path and of the catalog, which are found without a schema.
func visible(r *rewriter, args []string) (string, bool) {
	if len(args) != 1 {
		return "", false
	}
	oids := []string{"11"}
	for _, name := range r.s.Path {
		oids = append(oids, itoa(r.s.SchemaOID(name)))
	}
	return fmt.Sprintf("((%s) IN (SELECT cordwood_c.oid FROM pg_catalog.pg_class AS cordwood_c WHERE "+
		"cordwood_c.relnamespace IN (%s)))", args[0], strings.Join(oids, ", ")), true
}
