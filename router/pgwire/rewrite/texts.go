package rewrite

import (
	"fmt"
	"regexp"
	"strings"
)

const (
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
	}
	return "", false
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
