package logql

import (
	"strings"
	"testing"

	"cordwood/proto/errs"
)

// queries are valid queries, each with the text that String returns for it; empty means the same text.
var queries = []struct{ in, out string }{
	{`{app="web"}`, ""},
	{"{ app = `we\"b` , b=~\"x|y\",}", `{app="we\"b", b=~"x|y"}`},
	{`{}`, ""},
	{`{a="b"} |= "x" or "y" != "z" |~ "(?i)err" !~ "a.b" |> "<_> a <_>" !> "b"`, ""},
	{`{a="b"} | json | logfmt | drop __error__, __error_details__`, ""},
	{`{a="b"} | json x="a.b[0]", y | y="1"`, `{a="b"} | json x="a.b[0]", y="y" | y="1"`},
	{`{a="b"} | logfmt --strict --keep-empty a, b="c"`, `{a="b"} | logfmt --strict --keep-empty a="a", b="c"`},
	{"{a=\"b\"} | regexp `(?P<m>\\w+) .*`", `{a="b"} | regexp "(?P<m>\\w+) .*"`},
	{`{a="b"} | pattern "<ip> - <_> [<at>]" | unpack | decolorize`, ""},
	{`{a="b"} | x="y" and n > 5 or (d >= 1h30m , s != 10KB)`, `{a="b"} | x="y" and n > 5 or d >= 1h30m and s != 10KB`},
	{`{a="b"} | x="y" and (n > -5.5 or d == 250ms)`, `{a="b"} | x="y" and (n > -5.5 or d = 250ms)`},
	{`{a="b"} | line_format "{{.x}} {{ .y | ToUpper | trunc 5 }}" | label_format a=b, c="{{.d}}"`, ""},
	{`{a="b"} | keep a, b=~"x.*"`, ""},
	{`{a="b"} | json != "x" | logfmt !~ "y" or "z" | unpack != "x"`, ""},
	{`{a="b"} | (json!="x" or c="d") | json="x"`, ""},
	{"{a=\"b\"} # the rest is a comment | \n |= \"x\"", `{a="b"} |= "x"`},
	{`rate({a="b"}[5m])`, `rate({a="b"} [5m])`},
	{`count_over_time({a="b"}[90s] | json)`, `count_over_time({a="b"} | json [1m30s])`},
	{`sum by (level, detected_level) (count_over_time({a="b"} | drop __error__ [1s]))`, ""},
	{`sum(rate({a="b"}[1m])) by (x)`, `sum by (x) (rate({a="b"} [1m]))`},
	{`sum without () (rate(({a="b"} |= "x" [1m] offset 5m)))`, `sum without () (rate({a="b"} |= "x" [1m] offset 5m))`},
	{`count_over_time(({a="b"} |= "x")[5m])`, `count_over_time({a="b"} |= "x" [5m])`},
	{`sum(sum_over_time((({a="b"} | unwrap x)[5m] offset 1m)))`, `sum(sum_over_time({a="b"} | unwrap x [5m] offset 1m))`},
	{
		"{a=\"b\"} | label_format c=`{{ contains \"d\" __line__  }}` |> \"\"",
		`{a="b"} | label_format c="{{ contains \"d\" __line__  }}" |> ""`,
	},
	{
		`{a="b"} | x="true" OR y="z" AND n>1 | JSON | LINE_FORMAT "x"`,
		`{a="b"} | x="true" or y="z" and n > 1 | json | line_format "x"`,
	},
	{`{a="b"} | x="y" z="1" or or="2"`, `{a="b"} | x="y" and z="1" or or="2"`},
	{`({a="b"} |= "x")`, `{a="b"} |= "x"`},
	{
		`SUM BY (x) (Rate({a="b"} | logfmt | UNWRAP Bytes(y) [1m] OFFSET 1h)) > BOOL 1 AND ON (x) vector(1)`,
		`sum by (x) (rate({a="b"} | logfmt | unwrap bytes(y) [1m] offset 1h)) > bool 1 and on (x) vector(1)`,
	},
	{`count_over_time({Json="b"} | json | Sum="c" [1m])`, ""},
	{`avg_over_time({a="b"} | unwrap duration(x) | __error__="" [10s]) by ()`, ""},
	{`quantile_over_time(0.99, {a="b"} | json | unwrap bytes(size) [5m]) by (app)`, ""},
	{`topk(5, sum by (x) (rate({a="b"}[1m])))`, `topk(5, sum by (x) (rate({a="b"} [1m])))`},
	{`vector(1)+vector(1)`, `vector(1) + vector(1)`},
	{`1 + 2 * 3 - 4 ^ 5 ^ 6`, `1 + 2 * 3 - 4 ^ 5 ^ 6`},
	{`(1 + 2) * (3 - (4 - 5))`, `(1 + 2) * (3 - (4 - 5))`},
	{`vector(1) > bool 2 and on (a) vector(2)`, ""},
	{
		`rate({a="b"}[1m]) / ignoring (x) group_left (y, z) vector(2)`,
		`rate({a="b"} [1m]) / ignoring (x) group_left (y, z) vector(2)`,
	},
	{`sort_desc(sum by (a) (rate({a="b"}[1m])))`, `sort_desc(sum by (a) (rate({a="b"} [1m])))`},
	{
		`label_replace(rate({a="b"}[1m]), "x", "$1", "y", "(.*)a")`,
		`label_replace(rate({a="b"} [1m]), "x", "$1", "y", "(.*)a")`,
	},
	{`absent_over_time({a="b"}[1m])`, `absent_over_time({a="b"} [1m])`},
}

func TestParse(t *testing.T) {
	for _, tt := range queries {
		want := tt.out
		if want == "" {
			want = tt.in
		}
		e, err := Parse(tt.in)
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if got := e.String(); got != want {
			t.Errorf("%s\nis written as %s\nwant          %s", tt.in, got, want)
		}
		again, err := Parse(want)
		if err != nil || again.String() != want {
			t.Errorf("%s: parsed again: %v, %v", want, again, err)
		}
	}
}

func TestErrors(t *testing.T) {
	for in, want := range map[string]string{
		``:                             "parse error at line 1, col 1: syntax error: unexpected the end of the query",
		`{a="b"`:                       `line 1, col 7: syntax error: unexpected the end of the query, expecting "," or "}"`,
		`{a="b"} |= `:                  "col 12: syntax error: unexpected the end of the query",
		`{a="b"} | foo`:                `unexpected "foo": it is not a stage`,
		"{a=\"b\"}\n  | json x=\"a[\"": "line 2, col 12: syntax error: cannot parse expression",
		`{a=~"("}`:                     "error parsing regexp: missing closing )",
		`{a="b"} |~ "(?=x)"`:           "error parsing regexp: invalid or unsupported Perl syntax",
		`{a="b"} | regexp "x(y)"`:      "at least one named group",
		`{a="b"} | pattern "<a><b>"`:   "found consecutive capture",
		`{a="b"} | pattern "abc"`:      "at least one capture",
		`{a="b"} | pattern "<a> <a>"`:  "duplicate capture",
		`{a="b"} | unwrap x`:           "it is only allowed in an aggregation over a range",
		`sum_over_time({a="b"}[5m])`:   "invalid aggregation sum_over_time without unwrap",
		`count_over_time({a="b"} | unwrap x [5m])`: "invalid aggregation count_over_time with unwrap",
		`rate({a="b"})`:              "expecting a range",
		`rate(({a="b"})`:             "expecting a range",
		`rate(({a="b"}))[5m])`:       "expecting a range",
		`rate(({a="b"}[5m])`:         "unexpected the end",
		`rate({a="b"}[0s])`:          "a range must be longer than 0",
		`rate({a="b"}[5x])`:          "expecting a duration",
		`nope({a="b"}[5m])`:          "there is no such function",
		`1 and 2`:                    "it needs series on both sides",
		`sum(1)`:                     "needs series, not a number",
		`topk(0, vector(1))`:         "invalid parameter topk(0",
		`vector(1) + bool vector(1)`: "unexpected bool",
		`label_replace(vector(1), "1a", "", "", "")`: "invalid destination label",
		`{a="b"} "x"`:                "expecting an operator, or the end of the query",
		`{a="b}`:                     "the string is not terminated",
		`{a="b"} |= "x\x00"`:         "line 1, col 12: syntax error: unexpected \"x\\x00\": the string has a character 0",
		`{a="b"} | x > "y"`:          "write a number without quotes",
		`{a="b"} |= error`:           `expecting a string in quotes, such as "error"`,
		`{a=b}`:                      `expecting a string in quotes, such as "b"`,
		`a="b"`:                      "write a selector in braces",
		`{a="b"}[5m]`:                "a range is only allowed in an aggregation",
		`{a="b"} | json [5m]`:        "a range is only allowed in an aggregation",
		`rate({a="b"}[$__interval])`: "Grafana replaces variables such as $__auto",
		`rate({a="b"} | json [$x])`:  "write the value, such as 5m",
	} {
		_, err := Parse(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", in, err, want)
		} else if code := errs.CodeOf(err); code != errs.InvalidSyntax {
			t.Errorf("%s: code %d", in, code)
		}
	}
}

// TestUnsupported checks that the error for an unsupported part of LogQL contains its name and position.
func TestUnsupported(t *testing.T) {
	for in, want := range map[string]string{
		`{a="b"} |= ip("10.0.0.0/8")`:                    "line 1, col 12: not supported: ip(…)",
		`{a="b"} | addr = ip("10.0.0.1")`:                "line 1, col 18: not supported: ip(…)",
		`{a="b"} | distinct x`:                           "line 1, col 11: not supported: distinct",
		`rate_counter({a="b"} | unwrap x [1m])`:          "not supported: rate_counter",
		`count_values("x", vector(1))`:                   "not supported: count_values",
		`rate({a="b"}[5m:1m])`:                           "not supported: subqueries",
		`max_over_time(rate({a="b"}[5m])[1h:1m])`:        "line 1, col 15: not supported: subqueries, such as max_over_time",
		`max_over_time(sum(rate({a="b"}[5m]))[1h:])`:     "not supported: subqueries",
		`sum(rate({a="b"}[5m]))[1h:1m]`:                  "line 1, col 23: not supported: subqueries",
		`rate({a="b"}[5m] @ 1)`:                          "line 1, col 18: not supported: the modifier @",
		`rate({a="b"} @ start() [5m])`:                   "not supported: the modifier @",
		`rate({a="b"}[5m] offset 1m @ 1)`:                "not supported: the modifier @",
		`rate({a="b"}[5m]) @ end()`:                      "line 1, col 19: not supported: the modifier @",
		`sum(rate({a="b"}[5m])) @ 1 + 1`:                 "not supported: the modifier @",
		`variants(rate({a="b"}[5m]))`:                    "not supported: variants",
		`{a="b"} | line_format "{{if .x}}y{{end}}"`:      "not supported: the template action {{if .x}}",
		`{a="b"} | line_format "{{.x | substr 1 2}}"`:    "not supported: the template action",
		`{a="b"} | line_format "{{.x | printf \"%d\"}}"`: "not supported: the template action",
		`{a="b"} | label_format x="{{- .y}}"`:            "which trims spaces",
	} {
		_, err := Parse(in)
		if err == nil || !strings.Contains(err.Error(), want) || errs.CodeOf(err) != errs.Unsupported {
			t.Errorf("%s: %v (code %d), want %s", in, err, errs.CodeOf(err), want)
		}
	}
}

func TestLimits(t *testing.T) {
	deep := strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100)
	for name, in := range map[string]string{
		"bytes":      `{a="` + strings.Repeat("x", maxBytes) + `"}`,
		"depth":      deep,
		"conditions": `{a="b"} | ` + strings.Repeat("(", 100) + "x=`1`",
		"stages":     `{a="b"}` + strings.Repeat(` |= "x"`, 101),
		"matchers":   `{` + strings.Repeat(`a="b",`, 101) + `}`,
		"operators":  "1" + strings.Repeat("+1", 101),
		"range":      "rate(" + strings.Repeat("(", 200000) + `{a="b"}[5m])`,
	} {
		if _, err := Parse(in); errs.CodeOf(err) != errs.InvalidArguments {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse("1" + strings.Repeat("+1", 99)); err != nil {
		t.Error(err)
	}
}

func TestPattern(t *testing.T) {
	for _, tt := range []struct {
		pattern, line string
		want          string
	}{
		{"<ip> - <user> end", "1.2.3.4 - bob end", "ip=1.2.3.4 user=bob"},
		{"[<a>] <b>", "x [1] 2", ""},
		{"[<a>] <b>", "[1] 2 3", "a=1 b=2 3"},
		{"<a> x <b> y <c>", "1 x 2 3", "a=1 b=2 3"},
		{"<_> <a>", "1 2", "_=1 a=2"},
	} {
		parts, err := patternParts(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		values, found := (&Pattern{Parts: parts}).Match(tt.line)
		var got []string
		for i := range values {
			if found[i] {
				got = append(got, parts[i].Name+"="+values[i])
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s on %s: %q, want %q", tt.pattern, tt.line, s, tt.want)
		}
	}
}

// FuzzParse checks that String writes a parsed query as text that parses to the same query.
func FuzzParse(f *testing.F) {
	for _, q := range queries {
		f.Add(q.in)
	}
	f.Add(`{a="b"} | line_format "{{ printf \"%s\" .x }}"`)
	f.Add(`sum(1e400 * inf) or nan`)
	f.Fuzz(func(t *testing.T, in string) {
		e, err := Parse(in)
		if err != nil {
			return
		}
		out := e.String()
		again, err := Parse(out)
		if err != nil {
			t.Fatalf("%q is written as %q: %v", in, out, err)
		}
		if s := again.String(); s != out {
			t.Fatalf("%q is written as %q, and that as %q", in, out, s)
		}
	})
}
