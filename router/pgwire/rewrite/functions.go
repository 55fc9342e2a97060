package rewrite

import (
	"fmt"
	"strconv"
	"strings"

	"cordwood/proto/schema"
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
	quoteIdent = `CASE WHEN regexp_full_match(%1, '[a-z_][a-z0-9_]*') AND NOT regexp_full_match(%1, '` + quotedWords +
		`') THEN %1 ELSE '"' || replace(%1, '"', '""') || '"' END`
	// quotedWords are PostgreSQL's keywords that are names only in quotes.
	quotedWords = `all|analyse|analyze|and|any|array|as|asc|asymmetric|authorization|between|bigint|binary|bit|boolean|` +
		`both|case|cast|char|character|check|coalesce|collate|collation|column|concurrently|constraint|create|` +
		`cross|current_catalog|current_date|current_role|current_schema|current_time|current_timestamp|current_user|` +
		`dec|decimal|default|deferrable|desc|distinct|do|else|end|except|exists|extract|false|fetch|float|for|foreign|` +
		`freeze|from|full|grant|greatest|group|grouping|having|ilike|in|initially|inner|inout|int|integer|` +
		`intersect|interval|into|is|isnull|join|lateral|leading|least|left|like|limit|localtime|localtimestamp|` +
		`national|natural|nchar|none|normalize|not|notnull|null|nullif|numeric|offset|on|only|or|order|out|outer|` +
		`overlaps|overlay|placing|position|precision|primary|real|references|returning|right|row|select|` +
		`session_user|setof|similar|smallint|some|substring|symmetric|table|tablesample|then|time|timestamp|to|` +
		`trailing|treat|trim|true|union|unique|user|using|values|varchar|variadic|verbose|when|where|window|with|` +
		`xmlattributes|xmlconcat|xmlelement|xmlexists|xmlforest|xmlnamespaces|xmlparse|xmlpi|xmlroot|xmlserialize|` +
		`xmltable`
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
		"to_regrole":       toReg("regrole"),
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
		"age":                                transactionAge,
		"pg_stat_get_numscans":               text("CAST(0 AS BIGINT)"),
		"pg_last_xact_replay_timestamp":      text("CAST(NULL AS TIMESTAMP)"),
		"pg_indexam_has_property":            indexMethodProperty,
		"user":                               func(r *rewriter, _ []string) (string, bool) { return quote(r.s.User), true },
		"host":                               with("split_part(%1, '/', 1)", 1),
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
		"json_build_array":                   buildArray,
		"jsonb_build_array":                  buildArray,
		"json_object_agg":                    renamed("json_group_object"),
		"jsonb_object_agg":                   renamed("json_group_object"),
		"json_typeof":                        with(jsonTypeOf, 1),
		"jsonb_typeof":                       with(jsonTypeOf, 1),
		"jsonb_pretty":                       renamed("json_pretty"),
		"to_jsonb":                           jsonOf("to_json"),
		"to_json":                            jsonOf("to_json"),
		"row_to_json":                        jsonOf("row_to_json"),
		"concat":                             concatCall("concat"),
		"concat_ws":                          concatCall("concat_ws"),
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
		"timezone":                           timezone,
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
		"convert_from":                       fromBytes,
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
		"jsonb_insert":                       jsonInsert,
		"jsonb_exists":                       existsCall("list_contains"),
		"jsonb_exists_any":                   existsCall("list_has_any"),
		"jsonb_exists_all":                   existsCall("list_has_all"),
		"json_strip_nulls":                   stripNulls,
		"jsonb_strip_nulls":                  stripNulls,
		"regexp_instr":                       withPattern(placeOfMatch),
		"pg_sleep":                           sleep,
		"pg_cancel_backend":                  signal("pg_cancel_backend", false),
		"pg_terminate_backend":               signal("pg_terminate_backend", true),
		"pg_blocking_pids":                   text("CAST([] AS INTEGER[])"),
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
		inet_server_addr pg_current_wal_lsn pg_last_wal_receive_lsn pg_last_wal_replay_lsn
		pg_get_partition_constraintdef pg_relation_filepath pg_describe_object`) {
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
