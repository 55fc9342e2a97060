package rewrite

import (
	"strings"

	"cordwood/router/pgwire/value"
)

// timePatterns maps PostgreSQL's patterns for times, the longest first, to strftime's.
var timePatterns = [][2]string{
	{"HH24", "%H"},
	{"HH12", "%I"},
	{"YYYY", "%Y"},
	{"MONTH", "%B"},
	{"Month", "%B"},
	{"month", "%B"},
	{"MON", "%b"},
	{"Mon", "%b"},
	{"mon", "%b"},
	{"DAY", "%A"},
	{"Day", "%A"},
	{"day", "%A"},
	{"DDD", "%j"},
	{"MM", "%m"},
	{"DD", "%d"},
	{"DY", "%a"},
	{"Dy", "%a"},
	{"MI", "%M"},
	{"SS", "%S"},
	{"MS", "%g"},
	{"US", "%f"},
	{"YY", "%y"},
	{"HH", "%I"},
	{"AM", "%p"},
	{"PM", "%p"},
	{"TZ", "UTC"},
	{"OF", "+00"},
	{"IW", "%V"},
	{"IYYY", "%G"},
	{"yyyy", "%Y"},
	{"hh24", "%H"},
	{"mm", "%m"},
	{"dd", "%d"},
	{"mi", "%M"},
	{"ss", "%S"},
	{"ms", "%g"},
	{"us", "%f"},
}

// strftimePattern converts one of PostgreSQL's patterns to a pattern of strftime.
func strftimePattern(pattern string) string {
	var b strings.Builder
next:
	for i := 0; i < len(pattern); {
		if pattern[i] == '"' {
			if end := strings.IndexByte(pattern[i+1:], '"'); end >= 0 {
				b.WriteString(strings.ReplaceAll(pattern[i+1:i+1+end], "%", "%%"))
				i += end + 2
				continue
			}
		}
		if strings.HasPrefix(pattern[i:], "FM") {
			i += 2
			continue
		}
		for _, p := range timePatterns {
			if strings.HasPrefix(pattern[i:], p[0]) {
				b.WriteString(p[1])
				i += len(p[0])
				continue next
			}
		}
		if pattern[i] == '%' {
			b.WriteByte('%')
		}
		b.WriteByte(pattern[i])
		i++
	}
	return b.String()
}

// toTimestamp rewrites to_timestamp with a literal pattern. If the text is a literal, too, the result is a literal, so
// that it can exclude segments.
func toTimestamp(_ *rewriter, args []string) (string, bool) {
	if len(args) != 2 {
		return "", false
	}
	if text, ok := literalOf(args[0]); ok {
		if moment, err := value.MomentLiteral(text); err == nil {
			return moment, true
		}
	}
	pattern, ok := literalOf(args[1])
	if !ok {
		return "", false
	}
	return "strptime(" + args[0] + ", " + quote(strftimePattern(pattern)) + ")", true
}
