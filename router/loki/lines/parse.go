package lines

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/router/loki/logql"
	"cordwood/router/loki/translate"
)

var colours = lazyregexp.New(`\x1b\[[0-9;]*m`)

// Field is a value in a line that is a JSON object.
type Field struct {
	// Name is the path, joined by underscores, as a label.
	Name string
	Path []string
	Text string
}

// The limits of a line: the number of its fields, and the depth of its objects. The path and the name of a field both
// grow with its depth.
const (
	maxFields = 1000
	maxDepth  = 64
)

// JSONFields returns the strings, numbers and booleans in a line that is a JSON object and in its nested objects. If
// several fields have the same name, the one nearest to the root wins. Objects nested deeper than maxDepth are left
// out. ok is false if the line is not a JSON object.
func JSONFields(line string) (fields []Field, ok bool) {
	trimmed := strings.TrimLeft(line, " \t\r\n")
	if !strings.HasPrefix(trimmed, "{") || !json.Valid([]byte(line)) {
		return nil, false
	}
	w := &walk{text: trimmed}
	w.object(nil)
	return w.fields, true
}

// parseJSON finds labels in a line that is JSON. It reads the line once for each path that the stage names.
func parseJSON(ctx context.Context, s *logql.JSON, e *Entry) error {
	if len(s.List) == 0 {
		fields, ok := JSONFields(e.Line)
		if !ok {
			e.fail(translate.JSONError)
			return nil
		}
		for _, f := range fields {
			e.found(f.Name, f.Text)
		}
		return nil
	}
	if !json.Valid([]byte(e.Line)) {
		e.fail(translate.JSONError)
		return nil
	}
	line := []byte(e.Line)
	for _, x := range s.List {
		if err := ctx.Err(); err != nil {
			return err
		}
		steps, _ := logql.ParsePath(x.From) // the parser has checked it
		e.found(x.Name, at(line, steps))
	}
	return nil
}

// at returns the text of the value at a path of a valid JSON text, or an empty string if there is none.
func at(text []byte, steps []logql.PathStep) string {
	for _, step := range steps {
		if step.Element {
			var list []json.RawMessage
			if json.Unmarshal(text, &list) != nil || step.Index >= len(list) {
				return ""
			}
			text = list[step.Index]
			continue
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) != nil {
			return ""
		}
		member, ok := members[step.Name]
		if !ok {
			return ""
		}
		text = member
	}
	text = bytes.TrimSpace(text)
	switch text[0] {
	case '"':
		var s string
		_ = json.Unmarshal(text, &s) // it is valid
		return s
	case '{', '[':
		var b bytes.Buffer
		_ = json.Compact(&b, text) // it is valid
		return b.String()
	case 'n':
		return ""
	}
	return string(text)
}

// Pair is a key of a logfmt line with its value.
type Pair struct{ Key, Value string }

// LogfmtPairs returns the pairs of a logfmt line. If a key occurs several times, its first non-empty unquoted value
// wins, or else its first quoted value.
func LogfmtPairs(line string) []Pair {
	var out []Pair
	at, bare := map[string]int{}, map[string]bool{}
	for i := 0; i < len(line); {
		if i == 0 || space(line[i-1]) {
			key, value, quoted, n := pairAt(line[i:])
			if n > 0 {
				k, seen := at[key]
				switch {
				case !seen && len(out) < maxFields:
					at[key] = len(out)
					out = append(out, Pair{key, value})
					bare[key] = !quoted && value != ""
				case seen && !bare[key] && !quoted && value != "":
					out[k].Value, bare[key] = value, true
				case seen && !bare[key] && quoted && out[k].Value == "":
					out[k].Value = value
				}
				i += n
				continue
			}
		}
		if line[i] != '"' {
			i++
			continue
		}
		n := quotedLength(line[i:])
		if n == 0 {
			return out // the rest is an unterminated string
		}
		i += n
	}
	return out
}

// pairAt reads a pair at the start of s and returns its length, or 0 if there is no pair.
func pairAt(s string) (key, value string, quoted bool, n int) {
	k := 0
	for k < len(s) && !space(s[k]) && s[k] != '=' && s[k] != '"' {
		k++
	}
	if k == 0 || k >= len(s) || s[k] != '=' {
		return "", "", false, 0
	}
	rest := s[k+1:]
	if n := quotedLength(rest); n > 0 {
		return s[:k], escapes.Replace(rest[1 : n-1]), true, k + 1 + n
	}
	v := 0
	for v < len(rest) && !space(rest[v]) && rest[v] != '"' {
		v++
	}
	return s[:k], rest[:v], false, k + 1 + v
}

// quotedLength returns the length of a quoted string at the start of s, or 0 if there is none.
func quotedLength(s string) int {
	if s == "" || s[0] != '"' {
		return 0
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// escapes replaces the escape sequences of quoted strings.
var escapes = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n", `\t`, "\t")

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

var logfmtLine = lazyregexp.New("^(?s:" + translate.LogfmtLine + ")$")

func parseLogfmt(s *logql.Logfmt, e *Entry) {
	if s.Strict && !logfmtLine.MatchString(e.Line) {
		e.fail(translate.LogfmtError)
	}
	pairs := LogfmtPairs(e.Line)
	if len(s.List) == 0 {
		seen := map[string]bool{}
		for _, p := range pairs {
			if name := translate.LabelName(p.Key); !seen[name] {
				seen[name] = true
				e.found(name, p.Value)
			}
		}
		return
	}
	for _, x := range s.List {
		for _, p := range pairs {
			if p.Key == x.From {
				e.found(x.Name, p.Value)
			}
		}
	}
}

func parseRegexp(s *logql.Regexp, e *Entry) {
	m := s.Re.FindStringSubmatch(e.Line)
	if m == nil {
		return
	}
	for i, name := range s.Re.SubexpNames() {
		if name != "" {
			e.found(name, m[i])
		}
	}
}

// unpack makes labels of the string members of a JSON object. The member _entry becomes the line.
func unpack(e *Entry) {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(e.Line), &members) != nil || members == nil {
		e.fail(translate.JSONError)
		return
	}
	line := ""
	if raw := members["_entry"]; len(raw) == 0 || raw[0] != '"' {
		return // nothing was packed
	}
	for name, raw := range members {
		var s string
		if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
			continue
		}
		if name == "_entry" {
			line = s
		} else {
			e.found(translate.LabelName(name), s)
		}
	}
	if line != "" {
		e.Line = line
	}
}
