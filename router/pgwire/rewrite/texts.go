package rewrite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"cordwood/router/query/statement"
)

const (
	// initcap changes the first letter of each word.
	initcap = `array_to_string(list_transform(regexp_extract_all(%1, '[\pL\pN]+|[^\pL\pN]+'), lambda cordwood_w: ` +
		`upper(cordwood_w[1]) || lower(cordwood_w[2:])), '')`
	jsonTypeOf = "CASE json_type(%1) WHEN 'OBJECT' THEN 'object' WHEN 'ARRAY' THEN 'array' WHEN 'VARCHAR' THEN 'string' " +
		"WHEN 'BOOLEAN' THEN 'boolean' WHEN 'NULL' THEN 'null' WHEN 'BIGINT' THEN 'number' WHEN 'UBIGINT' THEN 'number' " +
		"WHEN 'DOUBLE' THEN 'number' END"
	arrayReplace = "list_transform(%1, lambda cordwood_x: CASE WHEN cordwood_x IS NOT DISTINCT FROM %2 THEN %3 ELSE " +
		"cordwood_x END)"
	arrayRemove = "list_filter(%1, lambda cordwood_x: cordwood_x IS DISTINCT FROM %2)"
	// widthBucket has two directions, because the upper bound may be the smaller one.
	widthBucket = "CASE WHEN %2 < %3 THEN CASE WHEN %1 < %2 THEN 0 WHEN %1 >= %3 THEN %4 + 1 " +
		"ELSE CAST(floor((%1 - %2) * %4 / (%3 - %2)) AS INTEGER) + 1 END " +
		"WHEN %2 > %3 THEN CASE WHEN %1 > %2 THEN 0 WHEN %1 <= %3 THEN %4 + 1 " +
		"ELSE CAST(floor((%2 - %1) * %4 / (%2 - %3)) AS INTEGER) + 1 END END"
)

// sizePretty rewrites pg_size_pretty. PostgreSQL changes to the next unit at 10 of the smallest and 20 of the others,
// and rounds halves up.
func sizePretty(_ *rewriter, args []string) (string, bool) {
	if len(args) != 1 {
		return "", false
	}
	size := "abs(CAST((" + args[0] + ") AS HUGEINT))"
	var b strings.Builder
	fmt.Fprintf(&b, "CASE WHEN (%s) < 0 THEN '-' ELSE '' END || CASE WHEN %[2]s < 10240 THEN %[2]s || ' bytes'",
		args[0], size)
	half := int64(512) // half of the unit
	for _, unit := range []string{"kB", "MB", "GB", "TB"} {
		fmt.Fprintf(&b, " WHEN %[1]s // %[2]d < 20479 THEN (%[1]s // %[2]d + 1) // 2 || ' %[3]s'", size, half, unit)
		half *= 1024
	}
	fmt.Fprintf(&b, " ELSE (%s // %d + 1) // 2 || ' PB' END", size, half)
	return b.String(), true
}

// arrayToString rewrites array_to_string with a text for nulls, which the engine's function leaves out.
func arrayToString(_ *rewriter, args []string) (string, bool) {
	if len(args) != 3 {
		return "", false
	}
	return "array_to_string(list_transform(" + args[0] + ", lambda cordwood_v: coalesce(CAST(cordwood_v AS VARCHAR), " +
		args[2] + ")), " + args[1] + ")", true
}

// maxGroups is the maximum number of groups in the pattern of regexp_match. The engine extracts no groups beyond it.
const maxGroups = 9

// regexpMatch rewrites regexp_match with a literal pattern: its result is a list of the pattern's groups, or of the
// whole match.
func regexpMatch(_ *rewriter, args []string) (string, bool) {
	if len(args) < 2 || len(args) > 3 {
		return "", false
	}
	pattern, ok := literalOf(args[1])
	if !ok {
		return "", false
	}
	re, err := regexp.Compile(pattern)
	if err != nil || re.NumSubexp() > maxGroups {
		return "", false
	}
	flags := ""
	if len(args) == 3 {
		if text, ok := literalOf(args[2]); !ok || text != "i" {
			return "", false
		}
		flags = ", 'i'"
	}
	first, last := 1, re.NumSubexp()
	if last == 0 {
		first = 0
	}
	var groups []string
	for n := first; n <= last; n++ {
		groups = append(groups, fmt.Sprintf("regexp_extract(%s, %s, %d%s)", args[0], args[1], n, flags))
	}
	return fmt.Sprintf("CASE WHEN regexp_matches(%s, %s%s) THEN [%s] END", args[0], args[1], flags,
		strings.Join(groups, ", ")), true
}

// encodeCall rewrites encode(bytes, 'hex' or 'base64').
func encodeCall(_ *rewriter, args []string) (string, bool) {
	if len(args) != 2 {
		return "", false
	}
	switch form, _ := literalOf(args[1]); strings.ToLower(form) {
	case "hex":
		return "lower(hex(" + args[0] + "))", true
	case "base64":
		return "to_base64(" + args[0] + ")", true
	case "escape":
		return escapedBytes(args[0]), true
	}
	return "", false
}

// escapedBytes rewrites encode(bytes, 'escape'): zeros and bytes beyond ASCII are octal numbers.
func escapedBytes(bytes string) string {
	return "array_to_string(list_transform(regexp_extract_all(hex(" + bytes + "), '..'), lambda cordwood_h: " +
		"list_transform([CAST('0x' || cordwood_h AS INTEGER)], lambda cordwood_b: CASE WHEN cordwood_b = 92 THEN " +
		`'\\' WHEN cordwood_b BETWEEN 1 AND 127 THEN chr(cordwood_b) ELSE '\' || cordwood_b // 64 || ` +
		"cordwood_b // 8 % 8 || cordwood_b % 8 END)[1]), '')"
}

// decodeCall rewrites decode(text, 'hex' or 'base64').
func decodeCall(_ *rewriter, args []string) (string, bool) {
	if len(args) != 2 {
		return "", false
	}
	switch form, _ := literalOf(args[1]); strings.ToLower(form) {
	case "hex":
		return "from_hex(" + args[0] + ")", true
	case "base64":
		return "from_base64(" + args[0] + ")", true
	}
	return "", false
}

// padded rewrites lpad and rpad without the text to fill with, which is a space, and with a parameter for the length.
func padded(name string) expand {
	return func(_ *rewriter, args []string) (string, bool) {
		if len(args) < 2 || len(args) > 3 {
			return "", false
		}
		if isOpen(args[1]) {
			args = slices.Clone(args)
			args[1] = "CAST(CAST(" + args[1] + " AS INTEGER) AS VARCHAR)"
			return "concat(" + strings.Join(args, ", ") + ")", true
		}
		if args = plainNumbers(args); len(args) == 2 {
			args = append(args, "' '")
		}
		return name + "(" + strings.Join(args, ", ") + ")", true
	}
}

// repeated rewrites repeat with a parameter for the number.
func repeated(_ *rewriter, args []string) (string, bool) {
	if len(args) != 2 {
		return "", false
	}
	if isOpen(args[1]) {
		return "concat(" + args[0] + ", CAST(" + args[1] + " AS INTEGER))", true
	}
	if text, ok := literalOf(args[0]); ok && len(text) <= 100 && !isWhole(strings.TrimSpace(args[1])) {
		// The engine takes only numbers that it can check before it runs, so a part of many repetitions is taken.
		return fmt.Sprintf("CASE WHEN (%[1]s) > 100 THEN CAST(error('repeat: a number that is no literal is at most 100') "+
			"AS VARCHAR) WHEN (%[1]s) IS NOT NULL THEN left(repeat(%[2]s, 100), CAST(greatest(%[1]s, 0) * %[3]d AS BIGINT)) END",
			args[1], args[0], utf8.RuneCountInString(text)), true
	}
	return "repeat(" + strings.Join(plainNumbers(args), ", ") + ")", true
}

// stringToArray rewrites string_to_array with a text for nulls. In PostgreSQL, an empty text has no elements, and NULL
// separates all characters.
func stringToArray(_ *rewriter, args []string) (string, bool) {
	if len(args) < 2 || len(args) > 3 {
		return "", false
	}
	separator := args[1]
	if strings.EqualFold(strings.TrimSpace(separator), "NULL") {
		separator = "''"
	}
	list := "string_to_array(" + args[0] + ", " + separator + ")"
	if text, ok := literalOf(args[0]); !ok || text == "" {
		list = "CASE WHEN (" + args[0] + ") = '' THEN CAST([] AS VARCHAR[]) ELSE " + list + " END"
	}
	if len(args) == 2 {
		return list, true
	}
	return "list_transform(" + list + ", lambda cordwood_x: nullif(cordwood_x, " + args[2] + "))", true
}

// countNulls rewrites num_nulls and num_nonnulls.
func countNulls(condition string) expand {
	return func(_ *rewriter, args []string) (string, bool) {
		terms := make([]string, len(args))
		for i, arg := range args {
			terms[i] = "CAST((" + arg + ") " + condition + " AS INTEGER)"
		}
		return "(" + strings.Join(terms, " + ") + ")", len(args) > 0
	}
}

// toDate rewrites to_date with a literal pattern.
func toDate(r *rewriter, args []string) (string, bool) {
	moment, ok := toTimestamp(r, args)
	return "CAST(" + moment + " AS DATE)", ok
}

// typeNames maps the engine's names of types to PostgreSQL's, if they differ.
var typeNames = [][2]string{
	{"VARCHAR", "text"},
	{"TINYINT", "smallint"},
	{"UTINYINT", "smallint"},
	{"USMALLINT", "integer"},
	{"UINTEGER", "bigint"},
	{"UBIGINT", "numeric"},
	{"HUGEINT", "numeric"},
	{"UHUGEINT", "numeric"},
	{"BIGNUM", "numeric"},
	{"DECIMAL", "numeric"},
	{"FLOAT", "real"},
	{"DOUBLE", "double precision"},
	{"BLOB", "bytea"},
	{"TIMESTAMP", "timestamp with time zone"},
	{"TIMESTAMP_S", "timestamp with time zone"},
	{"TIMESTAMP_MS", "timestamp with time zone"},
	{"TIMESTAMP_NS", "timestamp with time zone"},
	{"TIME", "time without time zone"},
	{"TIME_NS", "time without time zone"},
	{"STRUCT", "json"},
	{"MAP", "json"},
	{"UNION", "json"},
	{"ENUM", "text"},
	{"BIT", "text"},
	{`"NULL"`, "unknown"},
}

// typeOf rewrites pg_typeof to the name of the type with which a value is sent to clients.
func typeOf(r *rewriter, args []string) (string, bool) {
	if len(args) != 1 {
		return "", false
	}
	if source := r.sourceArguments(); len(source) == 1 && local(source[0], true, 0) {
		return "'timestamp without time zone'", true
	}
	if list := statement.Tokens(args[0]); len(list) == 1 && list[0].Kind == statement.TokenText {
		return "'unknown'", true
	}
	name := "typeof(" + args[0] + ")"
	base := `regexp_replace(` + name + `, '\(.*\)|(\[[0-9]*\])+$', '', 'g')`
	var b strings.Builder
	b.WriteString("(CASE " + base)
	for _, t := range typeNames {
		fmt.Fprintf(&b, " WHEN %s THEN %s", quote(t[0]), quote(t[1]))
	}
	return b.String() + " ELSE lower(" + base + ") END || CASE WHEN " + name + " LIKE '%]' THEN '[]' ELSE '' END)", true
}
