package rewrite

import (
	"strconv"
	"strings"

	"cordwood/proto/schema"
)

// In JSON, PostgreSQL writes times as 2026-01-05T10:00:00+00:00, and bytes as \x61. So the times of a value, a row or a
// list are converted before they become JSON.

// jsonArgument returns an argument of a function that converts it to JSON, with the texts of times and bytes. source
// are its tokens.
func (r *rewriter) jsonArgument(arg string, source []tok) string {
	for i, t := range source {
		if t.match > 0 || i == 0 {
			continue
		}
		if t.word("ORDER") {
			source = source[:i]
			break
		}
	}
	val, order := splitOrder(arg)
	if len(source) == 0 || !r.mayBe(source, typeTime, typeBytes) {
		return arg
	}
	if source[0].word("DISTINCT") {
		return arg
	}
	typ, probe := r.typeAt(source[0].at, val)
	if probe != "" {
		return probe
	}
	if isMomentType(typ) && local(source, true, 0) {
		return "replace(CAST(" + val + " AS VARCHAR), ' ', 'T')" + order
	}
	if text := jsonTimes(val, typ, 0); text != val {
		return text + order
	}
	return arg
}

// maxJSONDepth is the maximum depth of rows and lists whose times are converted.
const maxJSONDepth = 8

// jsonTimes returns an expression of a type of the engine with texts in place of times and bytes.
func jsonTimes(x, typ string, depth int) string {
	v := "cordwood_j" + strconv.Itoa(depth)
	if depth > maxJSONDepth || !strings.Contains(typ, "TIMESTAMP") && !strings.Contains(typ, "BLOB") {
		return x
	}
	if elem, ok := strings.CutSuffix(typ, "[]"); ok {
		return "list_transform(" + x + ", lambda " + v + ": " + jsonTimes(v, elem, depth+1) + ")"
	}
	if fields, ok := strings.CutPrefix(typ, "STRUCT("); ok {
		var list []string
		for _, f := range structFields(strings.TrimSuffix(fields, ")")) {
			name := schema.QuoteIdent(f[0])
			list = append(list, name+" := "+jsonTimes(v+"."+name, f[1], depth+1))
		}
		return "list_transform([" + x + "], lambda " + v + ": CASE WHEN " + v + " IS NOT NULL THEN struct_pack(" +
			strings.Join(list, ", ") + ") END)[1]"
	}
	switch {
	case typ == "TIMESTAMP WITH TIME ZONE":
		return "(replace(CAST(" + x + " AS VARCHAR), ' ', 'T') || ':00')"
	case isMomentType(typ):
		return "(replace(CAST(" + x + " AS VARCHAR), ' ', 'T') || '+00:00')"
	case typ == "BLOB":
		return `('\x' || lower(hex(` + x + `)))`
	}
	return x
}

// structFields returns the names and types in the engine's name of a type STRUCT(name type, "other name" type).
func structFields(text string) (fields [][2]string) {
	for text != "" {
		name, rest := "", ""
		if strings.HasPrefix(text, `"`) {
			end := 1
			for end < len(text) && (text[end] != '"' || end+1 < len(text) && text[end+1] == '"') {
				if text[end] == '"' {
					end++
				}
				end++
			}
			if end >= len(text) {
				return fields
			}
			name, rest = strings.ReplaceAll(text[1:end], `""`, `"`), text[end+1:]
		} else {
			name, rest, _ = strings.Cut(text, " ")
		}
		rest = strings.TrimLeft(rest, " ")
		depth, inside, end := 0, false, 0
		for ; end < len(rest) && (rest[end] != ',' || depth > 0 || inside); end++ {
			switch rest[end] {
			case '"':
				inside = !inside
			case '(':
				depth++
			case ')':
				depth--
			}
		}
		fields = append(fields, [2]string{name, rest[:end]})
		text = strings.TrimLeft(strings.TrimPrefix(rest[end:], ","), " ")
	}
	return fields
}

// jsonOf rewrites to_json, to_jsonb and row_to_json.
func jsonOf(name string) expand {
	return func(r *rewriter, args []string) (string, bool) {
		source := r.sourceArguments()
		if len(args) != 1 || len(source) != 1 {
			return name + "(" + strings.Join(args, ", ") + ")", len(args) > 0
		}
		return name + "(" + r.jsonArgument(args[0], source[0]) + ")", true
	}
}
