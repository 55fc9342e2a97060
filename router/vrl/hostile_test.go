package vrl_test

import (
	"strings"
	"testing"

	"cordwood/router/vrl"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/value"
)

// TestPayForOperators checks that operators on large values are charged to the budget. Without the charge, each of
// these programs would run for minutes or take gigabytes.
func TestPayForOperators(t *testing.T) {
	fields := value.MakeFields(100_000)
	list := make([]value.Value, 100_000)
	for i := range list {
		list[i] = value.NewInt(int64(i))
		fields.Add(string(rune('a'+i%26))+strings.Repeat("x", i/26%7)+value.NewInt(int64(i)).String(), value.NewInt(1))
	}
	fields.Sort()
	for name, source := range map[string]string{
		"copies of a shared object": `for_each(array!(.l)) -> |_, _| { x = .o; x.new = 1 }`,
		"copies of a shared array":  `for_each(array!(.l)) -> |_, _| { x = .l; x[0] = 1 }`,
		"fields that come and go":   `for_each(array!(.l)) -> |_, _| { .o.a = 1; del(.o.a) }`,
		"merges of objects":         `for_each(array!(.l)) -> |_, _| { x = object!(.o) | {"a": 1} }`,
		"merges in place":           `for_each(array!(.l)) -> |_, _| { x = {}; x |= object!(.o) }`,
		"comparisons of texts": `s = string!(.s); u = s + ""; for_each(array!(.l)) -> |_, _| { for_each(array!(.l)) ` +
			`-> |_, _| { x = u == s } }`,
		"comparisons of containers": `for_each(array!(.l)) -> |_, _| { x = .o == .o }`,
		"texts that are looked at": `for_each(array!(.l)) -> |_, _| { for_each(array!(.l)) -> |_, ` +
			`_| { x = contains(string!(.s), "zz") } }`,
		"texts of errors": `a = []; for_each(array!(.l)) -> |_, _| { x, err = to_int(.s); a = push(a, err) }`,
		"literals that are kept": `a = []; for_each(array!(.l)) -> |_, _| { for_each(array!(.l)) -> |_, v| { a = [a, ` +
			`v, {"a": v, "b": [v]}] } }`,
		"arrays that are filled up": strings.Repeat(".p = []\n.p[65536] = 1\n.q = [.q, .p]\n", 2000),
		"patterns that grow": `a = []; for_each(array!(.l)) -> |i, _| { p, err = to_regex("(a{1000}){9" + ` +
			`to_string(i) + "}"); a = push(a, p) }`,
		"matches far apart":          `x = replace(string!(.s), r'a*b|a', "")`,
		"matches of a large pattern": `for_each(array!(.l)) -> |_, _| { x = match(string!(.s), r'(?:a?){200}c') }`,
	} {
		t.Run(name, func(t *testing.T) {
			p, _, err := vrl.Compile(source+"\n.", vrl.Options{})
			if err != nil {
				t.Fatal(err)
			}
			event := value.ObjectOf(
				value.Field{Key: "l", Value: value.NewArray(append([]value.Value(nil), list...))},
				value.Field{Key: "o", Value: value.NewObject(fields).Detach()},
				value.Field{Key: "s", Value: value.NewString(strings.Repeat("a", 100_000))},
			)
			var m fn.Meter
			m.Start(nil, 0)
			_ = m.Begin(vrl.DefaultBudget)
			if _, err := p.RunMetered(&m, &event, nil); err == nil ||
				!strings.Contains(err.Error(), "budget of") && !strings.Contains(err.Error(), "too slow") {
				t.Errorf("error %.200v, want that the budget is used up; %d steps and %d bytes are left", err, m.Record.Steps,
					m.Record.Bytes)
			}
		})
	}
}

// TestErrorTextsAreBounded checks that an error quotes only the beginning of a long value.
func TestErrorTextsAreBounded(t *testing.T) {
	long := value.NewString(strings.Repeat("é", 1<<20))
	for _, source := range []string{
		`to_int!(.a)`, `to_bool!(.a)`, `parse_timestamp!(.a, "%F")`, `ip_aton!(.a)`, `parse_int!(.a)`,
		`x = .a; x = .a + true ?? to_float!(.a)`, `parse_json!(.a)`,
	} {
		p, _, err := vrl.Compile(source, vrl.Options{})
		if err != nil {
			continue
		}
		event := value.ObjectOf(value.Field{Key: "a", Value: long})
		if _, err := p.Run(&event, nil); err == nil || len(err.Error()) > 5000 {
			t.Errorf("%s: an error of %d bytes", source, len(err.Error()))
		}
	}
}
