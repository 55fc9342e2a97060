package rewrite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/schema"
	"cordwood/router/query/pgcatalog"
	"cordwood/router/query/statement"
)

// expand returns the text that replaces a call of a function. args are rewritten already. ok is false if the call
// stays.
type expand func(r *rewriter, args []string) (text string, ok bool)

// text always returns the same replacement.
func text(s string) expand { return func(*rewriter, []string) (string, bool) { return s, true } }

// with replaces %1, %2 … in a template by the arguments. needed is the minimum number of arguments.
func with(template string, needed int) expand {
	return func(_ *rewriter, args []string) (string, bool) {
		if len(args) < needed {
			return "", false
		}
		out := template
		for i := len(args); i > 0; i-- {
			out = strings.ReplaceAll(out, "%"+strconv.Itoa(i), "("+args[i-1]+")")
		}
		return out, true
	}
}

// renamed replaces a call by a call of another function.
func renamed(name string) expand {
	return func(_ *rewriter, args []string) (string, bool) {
		return name + "(" + strings.Join(args, ", ") + ")", true
	}
}

// dimensions counts the dimensions of a list by its type.
const dimensions = `CASE WHEN len(%1) > 0 THEN CAST(length(regexp_extract(typeof(%1), '(\[\])+$')) // 2 AS INTEGER) END`

// allBytes returns the size of all tables.
var allBytes = text("(SELECT coalesce(CAST(sum(cordwood_d.bytes) AS BIGINT), 0) FROM pg_catalog.cordwood_sizes AS " +
	"cordwood_d)")

const (
	nullText   = "CAST(NULL AS VARCHAR)"
	quoteIdent = `CASE WHEN regexp_full_match(%1, '[a-z_][a-z0-9_]*') THEN %1 ELSE '"' || replace(%1, '"', '""') || ` +
		`'"' END`
	quoteLiteral  = `('''' || replace(%1::VARCHAR, '''', '''''') || '''')`
	quoteNullable = "coalesce(" + quoteLiteral + ", 'NULL')"
)

// functions has PostgreSQL's functions that the engine lacks.
var functions map[string]expand

func init() { // not in the declaration: some functions refer to others
	functions = map[string]expand{
		"current_database": func(r *rewriter, _ []string) (string, bool) { return quote(r.s.Catalog), true },
		"current_catalog":  func(r *rewriter, _ []string) (string, bool) { return quote(r.s.Catalog), true },
		"current_schema":   func(r *rewriter, _ []string) (string, bool) { return quote(first(r.s.Path)), true },
		"current_schemas":  currentSchemas,
		"version":          func(r *rewriter, _ []string) (string, bool) { return quote(r.version()), true },
		"pg_backend_pid":   func(r *rewriter, _ []string) (string, bool) { return itoa(int64(r.s.PID)), true },
		"current_setting":  currentSetting,
		"set_config":       setConfig,
		"to_regclass":      toReg("regclass"),
		"to_regtype":       toReg("regtype"),
		"to_regproc":       toReg("regproc"),
		"to_regnamespace":  toReg("regnamespace"),
		"format_type":      formatTypeCall,
		"pg_get_userbyid":  userByID,
		"quote_ident":      with(quoteIdent, 1),
		"quote_literal":    with(quoteLiteral, 1),
		"quote_nullable":   with(quoteNullable, 1),
		"parse_ident":      with(`string_split(replace(%1, '"', ''), '.')`, 1),
		"array_upper":      with("nullif(len(%1), 0)", 1),
		"array_lower":      with("CASE WHEN len(%1) > 0 THEN 1 END", 1),
		"array_ndims":      with(dimensions, 1),
		"cardinality":      with(cardinality, 1),
		"array_length":     arrayLength,
		"array_to_string":  arrayToString,
		"pg_get_expr":      with("CAST(%1 AS VARCHAR)", 1),
		"pg_get_indexdef":  indexDefinition,
		"pg_get_constraintdef": with("(SELECT any_value(cordwood_d.definition) FROM pg_catalog.cordwood_definitions "+
			"AS cordwood_d "+
			"WHERE cordwood_d.oid = %1)", 1),
		"obj_description": with("(SELECT any_value(cordwood_d.description) FROM pg_catalog.pg_description AS cordwood_d "+
			"WHERE cordwood_d.objoid = %1 AND cordwood_d.objsubid = 0)", 1),
		"pg_encoding_to_char":                with("CASE %1 WHEN 6 THEN 'UTF8' ELSE '' END", 1),
		"pg_char_to_encoding":                text("6"),
		"pg_table_is_visible":                visible,
		"pg_tablespace_location":             text("''"),
		"pg_database_size":                   allBytes,
		"pg_tablespace_size":                 allBytes,
		"pg_get_function_result":             text("'text'"),
		"pg_get_function_arguments":          text("''"),
		"pg_get_function_identity_arguments": text("''"),
		"pg_is_in_recovery":                  text("FALSE"),
		"pg_relation_is_publishable":         text("FALSE"),
		"pg_is_other_temp_schema":            text("FALSE"),
		"row_security_active":                text("FALSE"),
		"pg_my_temp_schema":                  text("CAST(0 AS BIGINT)"),
		"txid_current":                       text("CAST(1 AS BIGINT)"),
		"pg_current_xact_id":                 text("CAST(1 AS BIGINT)"),
		"pg_advisory_unlock_all":             text("''"), // there are no locks that could be released
		"pg_postmaster_start_time":           text("now()"),
		"pg_conf_load_time":                  text("now()"),
		"clock_timestamp":                    text("now()"),
		"statement_timestamp":                text("now()"),
		"transaction_timestamp":              text("now()"),
		"date_bin":                           dateBin,
		"json_agg":                           renamed("list"),
		"jsonb_agg":                          renamed("list"),
		"json_build_object":                  buildObject,
		"jsonb_build_object":                 buildObject,
		"json_build_array":                   renamed("json_array"),
		"jsonb_build_array":                  renamed("json_array"),
		"json_object_agg":                    renamed("json_group_object"),
		"jsonb_object_agg":                   renamed("json_group_object"),
		"json_typeof":                        with(jsonTypeOf, 1),
		"jsonb_typeof":                       with(jsonTypeOf, 1),
		"jsonb_pretty":                       renamed("json_pretty"),
		"to_jsonb":                           renamed("to_json"),
		"btrim":                              renamed("trim"),
		"every":                              renamed("bool_and"),
		"array_remove":                       with(arrayRemove, 2),
		"width_bucket":                       bucketOf,
		"pg_size_pretty":                     sizePretty,
		"regexp_match":                       withPattern(regexpMatch),
		"regexp_like":                        withPattern(renamed("regexp_matches")),
		"regexp_count":                       withPattern(with("CAST(len(regexp_extract_all(%1, %2)) AS INTEGER)", 2)),
		"regexp_substr":                      withPattern(matched),
		"substring":                          substringCall,
		"encode":                             encodeCall,
		"decode":                             decodeCall,
		"generate_series":                    elementNumbers,
		"generate_subscripts":                subscriptNumbers,
		"pg_index_column_has_property":       indexProperty,
		"time_bucket":                        timeBucket,
		"to_char":                            toChar,
		"to_number":                          toNumber,
		"to_timestamp":                       toTimestamp,
		"round":                              round,
		"to_date":                            toDate,
		"pg_typeof":                          typeOf,
		"current_timestamp":                  currentTime,
		"localtimestamp":                     currentTime,
		"justify_hours":                      justifyHours,
		"justify_days":                       justifyDays,
		"justify_interval":                   justifyInterval,
		"make_interval":                      makeInterval,
		"format":                             formatCall,
		"initcap":                            with(initcap, 1),
		"to_hex":                             with("lower(to_hex(%1))", 1),
		"div":                                with("(%1 // %2)", 2),
		"lpad":                               padded("lpad"),
		"rpad":                               padded("rpad"),
		"array_replace":                      with(arrayReplace, 3),
		"trim_array":                         with("(%1)[1:len(%1) - %2]", 2),
		"string_to_array":                    stringToArray,
		"date_trunc":                         dateTrunc,
		"date_part":                          datePart,
		"extract":                            extract,
		"overlay":                            overlay,
		"repeat":                             repeated,
		"octet_length":                       with("CAST(length(hex(%1)) // 2 AS INTEGER)", 1),
		"length":                             lengthCall,
		"get_byte":                           with("CAST(('0x' || hex(%1)[(%2) * 2 + 1:(%2) * 2 + 2]) AS INTEGER)", 2),
		"convert_from":                       converted("decode"),
		"convert_to":                         converted("encode"),
		"string_to_table":                    stringToTable,
		"array_positions":                    with(arrayPositions, 2),
		"array_dims":                         with(arrayDimensions, 1),
		"array_fill":                         arrayFill,
		"json_array_length":                  with("CAST(json_array_length(CAST(%1 AS JSON)) AS INTEGER)", 1),
		"jsonb_array_length":                 with("CAST(json_array_length(CAST(%1 AS JSON)) AS INTEGER)", 1),
		"json_extract_path":                  pathCall(false),
		"json_extract_path_text":             pathCall(true),
		"jsonb_extract_path":                 pathCall(false),
		"jsonb_extract_path_text":            pathCall(true),
		"jsonb_set":                          jsonSet,
		"num_nulls":                          countNulls("IS NULL"),
		"num_nonnulls":                       countNulls("IS NOT NULL"),
	}
	for name, f := range documentRows {
		if len(f.columns) == 1 {
			functions[name] = unnested(f)
		}
	}
	functions["regexp_matches"], functions["regexp_replace"] = regexpMatches, replacedPattern
	functions["sha256"] = digest("sha256")
	functions["substr"] = func(_ *rewriter, args []string) (string, bool) { return shortSubstring(args) }
	for name := range strings.FieldsSeq(`regexp_split_to_array regexp_split_to_table
		regexp_extract regexp_extract_all regexp_full_match`) {
		functions[name] = withPattern(renamed(name))
	}
	for name := range strings.FieldsSeq(`pg_type_is_visible pg_function_is_visible pg_operator_is_visible
		pg_opclass_is_visible pg_opfamily_is_visible pg_collation_is_visible pg_conversion_is_visible
		pg_ts_config_is_visible pg_ts_dict_is_visible pg_ts_parser_is_visible
		pg_ts_template_is_visible pg_statistics_obj_is_visible`) {
		functions[name] = with("(%1 IS NOT NULL)", 1)
	}
	for name := range strings.FieldsSeq(`_pg_char_max_length _pg_char_octet_length _pg_numeric_precision
		_pg_numeric_precision_radix _pg_numeric_scale _pg_datetime_precision`) { // of domains, of which there are none
		functions[name] = text("CAST(NULL AS INTEGER)")
	}
	functions["nameconcatoid"] = with("(%1 || '_' || %2)", 2)
	for name, f := range privilegeFunctions {
		functions[name] = f.expand
	}
	for name := range strings.FieldsSeq(`pg_get_viewdef pg_get_functiondef pg_get_function_sqlbody pg_get_triggerdef
		pg_get_ruledef pg_get_partkeydef pg_get_statisticsobjdef pg_get_statisticsobjdef_columns
		pg_get_statisticsobjdef_expressions pg_get_serial_sequence col_description shobj_description inet_client_addr
		inet_server_addr pg_get_partition_constraintdef pg_relation_filepath
		pg_describe_object`) {
		functions[name] = text(nullText)
	}
	for name := range sizeFunctions {
		functions[name] = with("coalesce((SELECT any_value(cordwood_d.bytes) FROM pg_catalog.cordwood_sizes AS cordwood_d "+
			"WHERE cordwood_d.oid = %1), 0)", 1)
	}
	for _, name := range []string{"inet_client_port", "inet_server_port"} {
		functions[name] = text("CAST(NULL AS INTEGER)")
	}
}

func quote(s string) string { return schema.QuoteLiteral(s) }

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
	switch strings.ToLower(t.val) {
	case "current_user", "session_user", "current_role":
		return quote(r.s.User), true
	case "user":
		// Logs have columns of this name, and their users write it without quotes.
		return quote(r.s.User), t.kind == statement.TokenWord && r.fromless
	case "current_catalog":
		return quote(r.s.Catalog), true
	case "current_schema":
		return quote(first(r.s.Path)), true
	}
	return "", false
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
	if jsonLists[name] {
		out, size := r.jsonList(args, end)
		r.raw(r.at(0), out)
		r.i += size
		return true
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

// timeBucket accepts widths in seconds, as Grafana writes them.
func timeBucket(_ *rewriter, args []string) (string, bool) {
	if len(args) < 2 {
		return "", false
	}
	width, ok := literalOf(args[0])
	seconds, err := strconv.ParseFloat(strings.TrimSuffix(width, "s"), 64)
	if !ok || err != nil || !strings.HasSuffix(width, "s") || seconds <= 0 || seconds > 1e9 {
		return "", false
	}
	unit, n := "seconds", int64(seconds)
	if seconds != float64(n) {
		unit, n = "milliseconds", int64(seconds*1000)
	}
	return fmt.Sprintf("time_bucket(INTERVAL '%d %s', %s)", n, unit, strings.Join(args[1:], ", ")), true
}
