package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"cordwood/router/vrl/jsonscan"
)

// generator generates records in which the same keys occur again and again: in one object, with another spelling,
// as objects and as scalars.
type generator struct{ *rand.Rand }

var generatorKeys = []string{
	`"a"`, `"b"`, `"c"`, `"a"`, `"b"`, `"a.b"`, `"b.c"`, `"\u0061"`, `"a\u002eb"`, `""`, `"é"`, `"q\"q"`,
	`"svc_timestamp"`,
	`"at"`, `"svc_ttl"`, `"svc_table_ttl"`, `"svc_table_suffix"`, `"message"`, `"a_key_of_more_than_16_bytes"`,
	`"a_key_of_more_than_16_characters"`,
}

var generatorScalars = []string{
	`1`, `-7`, `0`, `1.5`, `1e3`, `9223372036854775808`, `9007199254740993`, `-9007199254740992`, `"x"`, `""`, `"1"`,
	`"esc\n\u00e9"`, `true`, `false`, `null`, `null`,
	`[]`, `[1,"x",{"b":1,"a":[2.50]}]`, `"2h"`, `"_s"`, `"a string that is longer than eight bytes"`,
}

func (g generator) space(b []byte) []byte {
	if g.IntN(12) == 0 {
		b = append(b, " \t\r"[g.IntN(3)])
	}
	return b
}

func (g generator) object(b []byte, depth int) []byte {
	b = append(g.space(b), '{')
	for i := range g.IntN(6) {
		if i > 0 {
			b = append(b, ',')
		}
		k := g.IntN(len(generatorKeys))
		if g.IntN(2) == 0 {
			k = g.IntN(3)
		}
		b = g.space(append(g.space(b), generatorKeys[k]...))
		b = g.space(append(b, ':'))
		if depth < 5 && g.IntN(3) == 0 {
			b = g.object(b, depth+1)
		} else {
			// Few kinds of values, so that most records have no conflict.
			v := g.IntN(len(generatorScalars))
			if g.IntN(4) != 0 {
				v = 0
			}
			b = append(b, generatorScalars[v]...)
		}
		b = g.space(b)
	}
	return append(b, '}')
}

func (g generator) lines() []string {
	var lines []string
	for range 1 + g.IntN(8) {
		line := g.object(nil, 0)
		if g.IntN(40) == 0 {
			line[g.IntN(len(line))] ^= 1 << g.IntN(5)
		}
		if utf8.Valid(line) {
			lines = append(lines, string(line))
		}
	}
	return lines
}

// settings are the requests for which the paths are compared.
var settings = []changes{
	nil,
	{skipErrors},
	{skipErrors, levels(2)},
	{skipErrors, levels(1), maxColumnsOf(4)},
	{skipErrors, timeIndex("at;epoch;ms")},
	{ignoreErrors, skipErrors, timeIndex("a.b;epoch;s")},
	{
		skipErrors,
		having("svc_timestamp TimestampMillisecond ti, a Float64, b Json, a.b Int8, c Int64 not null, q String default 'd'"),
	},
	{
		skipErrors, having("svc_timestamp TimestampNanosecond ti, a.b Json, message String tag"),
		hints(map[string]string{"auto_create_table": "false"}),
	},
	{skipErrors, having("other TimestampNanosecond ti")},
}

// TestPathsAgree compares the fast path with the exact one over generated records.
func TestPathsAgree(t *testing.T) {
	for seed := range uint64(4000) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		_, _ = both(t, settings[int(seed)%len(settings)], g.lines())
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// FuzzIdentity compares the paths over records from the fuzzer.
func FuzzIdentity(f *testing.F) {
	for seed := range uint64(40) {
		g := generator{rand.New(rand.NewPCG(seed, 2))}
		f.Add([]byte(strings.Join(g.lines(), "\n")), uint8(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte, mode uint8) {
		if utf8.Valid(body) {
			_, _ = both(t, settings[int(mode)%len(settings)], strings.Split(string(body), "\n"))
		}
	})
}

// TestAgainstModel compares results with those of a plain model over maps.
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(3000) {
		g := generator{rand.New(rand.NewPCG(seed, 3))}
		var lines []string
		for _, line := range g.lines() {
			// The model knows no variables and accepts only valid records.
			if json.Valid([]byte(line)) && !strings.Contains(line, "svc_t") {
				lines = append(lines, line)
			}
		}
		m := model{levels: 1 + int(seed%4), types: map[string]string{}}
		got, err := run(request(skipErrors, levels(m.levels)), lines)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i, line := range lines {
			m.add(i, line)
		}
		got, _, _ = strings.Cut(got, "skipped")
		if diff := cmp.Diff(m.dump(), got); diff != "" {
			t.Fatalf("seed %d: %q\n%s", seed, lines, diff)
		}
	}
}

// model is svc_identity written as simply as possible.
type model struct {
	levels  int
	columns []string
	types   map[string]string
	rows    []map[string]string
}

func (m *model) add(index int, line string) {
	dec := json.NewDecoder(strings.NewReader(line))
	dec.UseNumber()
	var record map[string]any
	if err := dec.Decode(&record); err != nil {
		panic(err)
	}
	row := map[string]string{"": fmt.Sprintf("now+%d", index)}
	types := map[string]string{}
	var names []string
	collide := false
	m.flatten("", record, 1, func(name, typ, text string) {
		collide = collide || slices.Contains(names, name)
		names = append(names, name)
		row[name], types[name] = text, typ
	})
	for name, typ := range types {
		have := m.types[name]
		unsigned := have == "Int64" && typ == "UInt64" && !m.negative(name) ||
			have == "UInt64" && typ == "Int64" && !strings.HasPrefix(row[name], "-")
		fraction := have == "Int64" && typ == "Float64" &&
			!slices.ContainsFunc(m.rows, func(r map[string]string) bool { return wide(r[name]) }) ||
			have == "Float64" && typ == "Int64" && !wide(row[name])
		if collide || name == "" || have != "" && have != typ && !unsigned && !fraction {
			return
		}
	}
	for _, name := range names {
		if types[name] == "UInt64" {
			if m.types[name] != "" {
				m.types[name] = "UInt64"
			}
		}
		if have := m.types[name]; have != "" && have != types[name] && (have == "Float64" || types[name] == "Float64") {
			m.types[name] = "Float64"
			for _, r := range append(m.rows, row) {
				if text := r[name]; text != "" {
					r[name] = modelText(json.Number(text))
				}
			}
		}
		if m.types[name] == "" {
			m.types[name] = types[name]
			m.columns = append(m.columns, name)
		}
	}
	m.rows = append(m.rows, row)
}

// wide reports whether a text is an integer that a float cannot represent exactly.
func wide(text string) bool {
	i, err := strconv.ParseInt(text, 10, 64)
	return err == nil && (i > 1<<53 || i < -1<<53)
}

func (m *model) negative(name string) bool {
	return slices.ContainsFunc(m.rows, func(row map[string]string) bool { return strings.HasPrefix(row[name], "-") })
}

func (m *model) flatten(prefix string, object map[string]any, depth int, emit func(name, typ, text string)) {
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		name := prefix + k
		switch v := object[k].(type) {
		case nil:
		case map[string]any:
			if depth < m.levels {
				m.flatten(name+".", v, depth+1, emit)
			} else {
				emit(name, "String", strconv.Quote(modelText(v)))
			}
		case []any:
			emit(name, "String", strconv.Quote(modelText(v)))
		case string:
			emit(name, "String", strconv.Quote(v))
		case bool:
			emit(name, "Boolean", map[bool]string{false: "0", true: "1"}[v])
		case json.Number:
			if i, err := v.Int64(); err == nil {
				emit(name, "Int64", strconv.FormatInt(i, 10))
			} else if _, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
				emit(name, "UInt64", v.String())
			} else {
				emit(name, "Float64", modelText(v))
			}
		}
	}
}

// modelText returns v as compact JSON. encoding/json sorts the keys of maps.
func modelText(v any) string {
	switch v := v.(type) {
	case json.Number:
		f, _ := v.Float64()
		return string(jsonscan.AppendFloat(nil, f))
	case []any:
		for i := range v {
			if n, ok := v[i].(json.Number); ok && strings.ContainsAny(n.String(), ".eE") {
				v[i] = json.RawMessage(modelText(n))
			} else if l, ok := v[i].([]any); ok {
				v[i] = json.RawMessage(modelText(l))
			} else if m, ok := v[i].(map[string]any); ok {
				v[i] = json.RawMessage(modelText(m))
			}
		}
	case map[string]any:
		for k := range v {
			list := []any{v[k]}
			modelText(list)
			v[k] = list[0]
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (m *model) dump() string {
	if len(m.rows) == 0 {
		return ""
	}
	var s strings.Builder
	s.WriteString("t\n  svc_timestamp TimestampNanosecond TIMESTAMP:")
	for _, row := range m.rows {
		s.WriteString(" " + row[""])
	}
	for _, name := range m.columns {
		s.WriteString("\n  " + name + " " + m.types[name] + ":")
		for _, row := range m.rows {
			text, ok := row[name]
			if !ok {
				text = "-"
			}
			s.WriteString(" " + text)
		}
	}
	return s.String() + "\n"
}
