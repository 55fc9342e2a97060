package translate

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cordwood/router/loki/logql"
)

// maxPaths is the maximum number of JSON paths that are tried for a label name.
const maxPaths = 8

// JSONString writes a text as a JSON string.
func JSONString(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // encoding a string cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

// member returns a step of a JSON path in the engine's syntax.
func member(name string) string { return "." + JSONString(name) }

// JSONPaths returns the JSON paths that a label name may stand for: a_b is a member a_b, a member b of a, or a member
// a.b.
func JSONPaths(name string) [][]string {
	words := strings.Split(name, "_")
	if len(words) == 1 || strings.HasPrefix(name, "_") {
		return [][]string{{name}}
	}
	// Each underscore may be an underscore, a step of the path or a dot.
	out := [][]string{{words[0]}}
	for i, w := range words[1:] {
		left := len(words) - 2 - i
		var more [][]string
		for _, path := range out {
			last := len(path) - 1
			for _, join := range []string{"_", "", "."} {
				if join != "_" && (w == "" || path[last] == "") {
					continue
				}
				longer := slices.Clone(path)
				if join == "" {
					longer = append(longer, w)
				} else {
					longer[last] += join + w
				}
				more = append(more, longer)
			}
		}
		if out = more; len(out) > maxPaths && left > 0 {
			out = out[:maxPaths]
		}
	}
	slices.SortStableFunc(out, func(a, b []string) int { return len(a) - len(b) })
	if len(out) > maxPaths {
		nested := strings.Split(name, "_")
		out = append(out[:maxPaths-1:maxPaths-1], nested)
	}
	return out
}

func pathOf(steps []string) string {
	var b strings.Builder
	b.WriteByte('$')
	for _, s := range steps {
		b.WriteString(member(s))
	}
	return b.String()
}

// isObject returns the SQL condition that a text is a JSON object.
func isObject(line string) string {
	return "(CASE WHEN json_valid(" + line + ") THEN json_type(" + line + ") = 'OBJECT' ELSE FALSE END)"
}

// scalar returns SQL for the first of the paths with a value that is not an object or an array.
func (q *Query) scalar(line string, paths [][]string) string {
	var parts []string
	for _, p := range paths {
		path := quote(pathOf(p))
		typ := "json_type(" + line + ", " + path + ")"
		parts = append(parts, "CASE "+q.spelled(typ, line, path, p[len(p)-1])+"WHEN "+typ+
			" NOT IN ('OBJECT', 'ARRAY') THEN json_extract_string("+line+", "+path+") END")
	}
	text := parts[0]
	if len(parts) > 1 {
		text = "coalesce(" + strings.Join(parts, ", ") + ")"
	}
	return "coalesce(CASE WHEN json_valid(" + line + ") THEN " + text + " END, '')"
}

// spelled returns the branch of a CASE for a number with a point or an exponent at a path of a line; typ is SQL for the
// type of the value. The engine prints such numbers anew, and labels have the digits of the line. So the number is
// searched for: it is the first one after the name of the member that has the value. For a label that becomes a number,
// the digits make no difference.
func (q *Query) spelled(typ, line, path, name string) string {
	if q.numeric {
		return ""
	}
	value := "json_extract_string(" + line + ", " + path + ")"
	before := `"` + regexp.QuoteMeta(strings.TrimPrefix(JSONString(name), `"`)) + `\s*:`
	if name == "" { // an element of an array
		before = `[\[,]`
	}
	return "WHEN " + typ + " = 'DOUBLE' THEN coalesce(list_filter(regexp_extract_all(" + line + ", " +
		quote(before+`\s*(-?[0-9][0-9.eE+-]*)`) + ", 1), x -> try_cast(x AS DOUBLE) = try_cast(" + value +
		" AS DOUBLE))[1], " + value + ") "
}

func (q *Query) json(list []logql.Extract) {
	line := q.line
	if len(list) == 0 {
		q.parses = true
		q.addParser(func(label string) string { return q.bounded(q.scalar(line, JSONPaths(label))) })
		q.fail("NOT "+isObject(line), JSONError)
		return
	}
	paths, names := map[string]string{}, map[string]string{}
	for _, e := range list {
		steps, _ := logql.ParsePath(e.From) // the parser has checked it
		var b strings.Builder
		b.WriteByte('$')
		for _, s := range steps {
			if s.Element {
				b.WriteString("[" + strconv.Itoa(s.Index) + "]")
			} else {
				b.WriteString(member(s.Name))
			}
			names[e.Name] = s.Name
		}
		paths[e.Name] = b.String()
	}
	q.addParser(func(label string) string {
		path, ok := paths[label]
		if !ok {
			return ""
		}
		path = quote(path)
		return "coalesce(CASE " + q.spelled("json_valid("+line+") AND json_type("+line+", "+path+")", line, path,
			names[label]) + "WHEN json_valid(" + line + ") THEN json_extract_string(" + line + ", " + path + ") END, '')"
	})
	q.fail("NOT json_valid("+line+")", JSONError)
}

// LogfmtLine matches lines that are valid logfmt.
const LogfmtLine = `\s*(?:[^\s="]+(?:=(?:"(?:[^"\\]|\\.)*"|[^\s"=]*))?(?:\s+|$))*`

func (q *Query) logfmt(s *logql.Logfmt) {
	line := q.line
	keys := map[string]string{}
	for _, e := range s.List {
		keys[e.Name] = e.From
	}
	q.addParser(func(label string) string {
		names := spellings(label)
		if len(s.List) > 0 {
			key, ok := keys[label]
			if !ok {
				return ""
			}
			names = []string{key}
		}
		var parts []string
		for _, name := range names {
			parts = append(parts, "nullif("+logfmtValue(line, name)+", '')")
		}
		return q.bounded("coalesce(" + strings.Join(append(parts, "''"), ", ") + ")")
	})
	q.parses = q.parses || len(s.List) == 0
	if s.Strict {
		q.fail("NOT regexp_full_match("+line+", "+quote(LogfmtLine)+", 's')", LogfmtError)
	}
}

// outside matches the start of a logfmt line up to a key, but not up to a key inside a quoted value.
const outside = `(?s)^(?:[^"]|"(?:[^"\\]|\\.)*")*?(?:^|\s)`

// logfmtValue returns SQL for the value of a key in a logfmt line: the first non-empty unquoted value, or else the
// first quoted one.
func logfmtValue(line, key string) string {
	head := outside + regexp.QuoteMeta(key) + "="
	plain := "regexp_extract(" + line + ", " + quote(head+`([^"\s]+)`) + ", 1)"
	quoted := "regexp_extract(" + line + ", " + quote(head+`"((?:[^"\\]|\\.)*)"`) + ", 1)"
	for _, e := range [][2]string{
		{`'\\'`, "chr(1)"}, {`'\"'`, `'"'`}, {`'\n'`, "chr(10)"}, {`'\t'`, "chr(9)"}, {"chr(1)", `'\'`},
	} {
		quoted = "replace(" + quoted + ", " + e[0] + ", " + e[1] + ")"
	}
	return "coalesce(nullif(" + plain + ", ''), " + quoted + ")"
}

func (q *Query) regexp(s *logql.Regexp) {
	line, names := q.line, s.Re.SubexpNames()
	q.addParser(func(label string) string {
		n := slices.Index(names, label)
		if n < 1 {
			return ""
		}
		return "coalesce(" + group(line, s.Re.String(), n) + ", '')"
	})
}

// maxGroup is the highest group number that the engine accepts.
const maxGroup = 9

// group returns SQL for the text of a group of a regular expression.
func group(line, expression string, n int) string {
	if n <= maxGroup {
		return "regexp_extract(" + line + ", " + quote(expression) + ", " + strconv.Itoa(n) + ")"
	}
	names := make([]string, n)
	for i := range names {
		names[i] = "g" + strconv.Itoa(i+1)
	}
	return "struct_extract(regexp_extract(" + line + ", " + quote(expression) + ", [" + quoteAll(names) + "]), " +
		quote(names[n-1]) + ")"
}

// patternExpression returns a regular expression for the pattern of a parser. Its only group is the capture called
// name. If the literal after a capture is missing, the capture takes the rest of the line.
func patternExpression(parts []logql.PatternPart, name string) string {
	var b strings.Builder
	b.WriteString("(?s)^")
	if parts[0].Name == "" {
		b.WriteString(regexp.QuoteMeta(parts[0].Literal))
		parts = parts[1:]
	}
	capture := func(p logql.PatternPart, expression string) {
		if p.Name == name {
			expression = "(" + expression + ")"
		}
		b.WriteString(expression)
	}
	open := 0
	for i := 0; i < len(parts); i += 2 {
		if i+1 >= len(parts) {
			capture(parts[i], ".*")
			b.WriteString("$")
			break
		}
		capture(parts[i], ".*?")
		b.WriteString("(?:" + regexp.QuoteMeta(parts[i+1].Literal))
		open++
		if i+2 >= len(parts) {
			b.WriteString(".*$")
		}
	}
	b.WriteString(strings.Repeat("|$)", open))
	return b.String()
}

func (q *Query) pattern(s *logql.Pattern) {
	line := q.line
	q.addParser(func(label string) string {
		has := func(p logql.PatternPart) bool { return p.Name == label }
		if label == "_" || !slices.ContainsFunc(s.Parts, has) {
			return ""
		}
		return "coalesce(regexp_extract(" + line + ", " + quote(patternExpression(s.Parts, label)) + ", 1), '')"
	})
}

func (q *Query) unpack() {
	line := q.line
	q.parses = true
	isText := func(name string) string {
		return "json_type(" + line + ", " + quote("$"+member(name)) + ") = 'VARCHAR'"
	}
	// unpack sets only members that are strings, and only if one of them is the packed line.
	text := func(name string) string {
		packed := isText("_entry")
		if name != "_entry" {
			packed += " AND " + isText(name)
		}
		return "coalesce(CASE WHEN json_valid(" + line + ") THEN CASE WHEN " + packed + " THEN json_extract_string(" +
			line + ", " + quote("$"+member(name)) + ") END END, '')"
	}
	q.addParser(func(label string) string {
		if label == "_entry" {
			return ""
		}
		return q.bounded(text(label))
	})
	q.fail("NOT "+isObject(line), JSONError)
	q.setLine("coalesce(nullif(" + text("_entry") + ", ''), " + line + ")")
}
