package params

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"cordwood/proto/errs"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		raw  string
		want []pair
	}{
		{"", nil},
		{"&&&", nil},
		{"a=1&b=2", []pair{{"a", "1"}, {"b", "2"}}},
		{"a", []pair{{"a", ""}}},
		{"=x", []pair{{"", "x"}}},
		{"a=b=c", []pair{{"a", "b=c"}}},
		{"a+b=c+d", []pair{{"a b", "c d"}}},
		{"a=%41%7a%2B", []pair{{"a", "Az+"}}},
		{"a=%", []pair{{"a", "%"}}},
		{"a=%4", []pair{{"a", "%4"}}},
		{"a=%%41", []pair{{"a", "%A"}}},
		{"a=%G1%1G", []pair{{"a", "%G1%1G"}}},
		{"a=1;b=2&c=3", []pair{{"a", "1;b=2"}, {"c", "3"}}},
		{
			"custom_time_index=ts;datestr;%Y-%m-%d %H:%M:%S%:z",
			[]pair{{"custom_time_index", "ts;datestr;%Y-%m-%d %H:%M:%S%:z"}},
		},
		{"t=x;datestr;%25Y-%25m-%25d%25T%25.9f%25%23z", []pair{{"t", "x;datestr;%Y-%m-%d%T%.9f%#z"}}},
		{"t=%.9f%%23z", []pair{{"t", "%.9f%#z"}}},
		{"t=%3f%6f", []pair{{"t", "?o"}}},
		{"t=%9f", []pair{{"t", "\uFFFD"}}},
		{"t=%e5%b9%b4", []pair{{"t", "年"}}},
	} {
		got, err := Parse(tt.raw)
		if err != nil {
			t.Errorf("%s: %v", tt.raw, err)
		}
		if diff := cmp.Diff(tt.want, got.pairs, cmp.AllowUnexported(pair{})); diff != "" {
			t.Errorf("%s: %s", tt.raw, diff)
		}
	}
	if _, err := Parse(strings.Repeat("a&", MaxPairs)); err != nil {
		t.Error(err)
	}
	if _, err := Parse(strings.Repeat("a&", MaxPairs+1)); errs.CodeOf(err) != errs.InvalidArguments {
		t.Errorf("got %v", err)
	}
}

func TestAccessors(t *testing.T) {
	v, err := Parse("db=public&yes=true&no=false&one=1&empty=&upper=TRUE&twice=true&twice=true&unknown=1&unknown=2")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		want bool
		err  string
	}{
		{"yes", true, ""},
		{"no", false, ""},
		{"absent", true, ""},
		{"one", false, `parameter one is "1": it must be true or false`},
		{"empty", false, `parameter empty is "": it must be true or false`},
		{"upper", false, `parameter upper is "TRUE": it must be true or false`},
		{"twice", false, "parameter twice is given 2 times: give it once"},
	} {
		got, err := v.Bool(tt.name, true)
		if got != tt.want || fmt.Sprint(err) != tt.err && (err != nil || tt.err != "") {
			t.Errorf("%s: %v, %v", tt.name, got, err)
		}
		if err != nil && (errs.CodeOf(err) != errs.InvalidArguments || errs.From(err).Status() != 400) {
			t.Errorf("%s: code %d", tt.name, errs.CodeOf(err))
		}
	}
	if s, err := v.String("db"); s != "public" || err != nil {
		t.Errorf("db: %q, %v", s, err)
	}
	if s, err := v.String("absent"); s != "" || err != nil {
		t.Errorf("absent: %q, %v", s, err)
	}
	if _, err := v.String("twice"); err == nil {
		t.Error("twice was accepted")
	}
	if v.Get("twice") != "true" || v.Once("db", "yes") != nil || v.Once("db", "twice") == nil {
		t.Error("Get or Once")
	}
	long, _ := Parse("b=" + strings.Repeat("é", 1000))
	if _, err := long.Bool("b", false); err == nil || len(err.Error()) > 200 || !utf8.ValidString(err.Error()) {
		t.Errorf("got %v", err)
	}
}

func TestPipelineParams(t *testing.T) {
	for header, want := range map[string]PipelineParams{
		"":                      {MaxNestedLevels: 10},
		"max_nested_levels=3":   {MaxNestedLevels: 3},
		"max_nested_levels=128": {MaxNestedLevels: 128},
		"max_nested_levels=3&&x&skip_error": {
			MaxNestedLevels: 3,
			Warnings: []string{
				`header x-svc-pipeline-params: "skip_error" is not a name=value`,
				`header x-svc-pipeline-params: "x" is not a name=value`,
			},
		},
		"skip_error=true":                          {MaxNestedLevels: 10, SkipError: true, HasSkipError: true},
		"skip_error=YES&flatten_json_object=false": {MaxNestedLevels: 10, SkipError: true, HasSkipError: true},
		"skip_error=true&skip_error=false": {
			MaxNestedLevels: 10,
			HasSkipError:    true,
			Warnings: []string{
				`header x-svc-pipeline-params: "skip_error" is given more than once; the last value was used`,
			},
		},
		"max_nested_levels=4&max_nested_levels=5": {
			MaxNestedLevels: 5,
			Warnings: []string{
				`header x-svc-pipeline-params: "max_nested_levels" is given more than once; the last value was used`,
			},
		},
		"skip_error=":                        {MaxNestedLevels: 10, HasSkipError: true},
		"skip_error=a=b&max_nested_levels=2": {MaxNestedLevels: 2, HasSkipError: true},
		"skip_errors=On&max_nested_levels=21": {
			MaxNestedLevels: 21,
			Warnings:        []string{`header x-svc-pipeline-params: "skip_errors" is not known; did you mean "skip_error"?`},
		},
	} {
		if diff := cmp.Diff(want, ParsePipelineParams(header)); diff != "" {
			t.Errorf("%s: %s", header, diff)
		}
	}
	for _, text := range []string{"0", "-1", " 3", "x", "", "-99999999999999999999"} {
		want := PipelineParams{
			MaxNestedLevels: 10,
			Warnings: []string{
				fmt.Sprintf("header x-svc-pipeline-params: max_nested_levels=%q is not a positive integer; 10 was used", text),
			},
		}
		if diff := cmp.Diff(want, ParsePipelineParams("max_nested_levels="+text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	for _, text := range []string{"129", "1000000000", "99999999999999999999"} {
		if diff := cmp.Diff(PipelineParams{MaxNestedLevels: 128},
			ParsePipelineParams("max_nested_levels="+text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestHints(t *testing.T) {
	header := func(kv ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(kv); i += 2 {
			h.Add(kv[i], kv[i+1])
		}
		return h
	}
	for _, tt := range []struct {
		h        http.Header
		want     map[string]string
		warnings []string
	}{
		{header(), nil, nil},
		{
			header("x-svc-hints", "message_column=note"), nil,
			[]string{`header x-svc-hints: "message_column" is not known`},
		},
		{header("x-svc-hints", "ttl=7d, append_mode = true"), map[string]string{"ttl": "7d", "append_mode": "true"}, nil},
		{
			header("x-svc-hints", "ttl=7d", "x-svc-hints", "comment=a=b"),
			map[string]string{"ttl": "7d", "comment": "a=b"},
			nil,
		},
		{header("x-svc-hints", "ttl=7d", "x-svc-hint-skip_wal", "true"), map[string]string{"ttl": "7d"}, nil},
		{
			header("x-svc-hints", "nonsense,=,,"), nil,
			[]string{`header x-svc-hints: "=" is not a name=value`, `header x-svc-hints: "nonsense" is not a name=value`},
		},
		{header("x-svc-hints", "  ", "x-svc-hint-ttl", " 1h "), map[string]string{"ttl": "1h"}, nil},
		{
			header("X-Svc-Hint-Append_mode", "false", "x-svc-hint-others", "1"),
			map[string]string{"append_mode": "false"},
			[]string{`header x-svc-hint-…: "others" is not known`},
		},
		{
			header("x-svc-hint-read_preference", "leader"), nil,
			[]string{`header x-svc-hint-…: "read_preference" has no effect`},
		},
		{
			header("x-svc-hints", "tll=1d, table_ttl=2d, svc_skip_wal=true"),
			map[string]string{"ttl": "2d", "skip_wal": "true"},
			[]string{`header x-svc-hints: "tll" is not known; did you mean "ttl"?`},
		},
		{
			header("x-svc-hints", "ttl=7d,ttl=1s"),
			map[string]string{"ttl": "1s"},
			[]string{`header x-svc-hints: "ttl" is given more than once; the last value was used`},
		},
		{
			header("x-svc-hints", "ttl=7d", "x-svc-hints", "table_ttl=1s"),
			map[string]string{"ttl": "1s"},
			[]string{`header x-svc-hints: "ttl" is given more than once; the last value was used`},
		},
		{
			header("x-svc-hint-ttl", "7d", "x-svc-hint-ttl", "1s"),
			map[string]string{"ttl": "7d"},
			[]string{`header x-svc-hint-…: "ttl" is given more than once; the first value was used`},
		},
		{
			header("x-svc-hints", "apend_mode=true"), nil,
			[]string{`header x-svc-hints: "apend_mode" is not known; did you mean "append_mode"?`},
		},
	} {
		hints, warnings := ParseHints(tt.h)
		if diff := cmp.Diff(tt.want, hints) + cmp.Diff(tt.warnings, warnings); diff != "" {
			t.Errorf("%v: %s", tt.h, diff)
		}
	}
	hints, warnings := ParseHints(header("x-svc-hints", strings.Repeat("a=1,", 10)+manyHints(1000)+"ttl=1d"))
	if last := len(warnings) - 1; len(hints) != 1 || last != maxIgnored ||
		!strings.HasSuffix(warnings[last], "more parts have no effect") {
		t.Errorf("hints %v, warnings %q", hints, warnings)
	}
}

func manyHints(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d=v,", i)
	}
	return b.String()
}

func TestHeader(t *testing.T) {
	h := http.Header{}
	h.Set("x-svc-pipeline-name", "  ")
	h.Set("x-svc-log-pipeline-name", " old ")
	if got := Header(h, "X-Svc-Pipeline-Name", "X-Svc-Log-Pipeline-Name"); got != "old" {
		t.Errorf("got %q", got)
	}
	if got := Header(h, "X-Svc-Db-Name"); got != "" {
		t.Errorf("got %q", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "a=1&b=2", "t=ts;datestr;%Y-%m-%d %H:%M:%S%:z", "%25%2", "a=%9f&&==+%+", "a%3Db=c%26d",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		v, err := Parse(raw)
		if err != nil {
			return
		}
		for _, p := range v.pairs {
			if !utf8.ValidString(p.name) || !utf8.ValidString(p.value) {
				t.Fatalf("%q gives %q", raw, p)
			}
		}
		// The package parses everything that the standard library accepts, with the same result.
		std, err := url.ParseQuery(raw)
		if err != nil || strings.Contains(raw, ";") {
			return
		}
		for name, values := range std {
			if got := v.Get(strings.ToValidUTF8(name, "\uFFFD")); utf8.ValidString(name) &&
				got != strings.ToValidUTF8(values[0], "\uFFFD") {
				t.Fatalf("%q: %q is %q, want %q", raw, name, got, values[0])
			}
		}
	})
}

func FuzzPipelineParams(f *testing.F) {
	f.Add("max_nested_levels=3&skip_error=1")
	f.Fuzz(func(t *testing.T, header string) {
		p := ParsePipelineParams(header)
		if p.MaxNestedLevels < 1 || p.MaxNestedLevels > MostNestedLevels || len(p.Warnings) > maxIgnored+1 {
			t.Fatalf("%q: %+v", header, p)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	const raw = "db=public&table=access&pipeline_name=svc_identity&custom_time_index=ts;datestr;%Y-%m-%d+%H:%M:%S%:z"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(raw); err != nil {
			b.Fatal(err)
		}
	}
}

// TestHintsOfZeroTTL checks that a ttl that removes no rows causes a warning, in either kind of header.
func TestHintsOfZeroTTL(t *testing.T) {
	for value, warned := range map[string]bool{"0": true, "0s": true, "forever": false, "7d": false, "soon": false} {
		for name, header := range map[string]string{"X-Svc-Hints": "ttl=" + value, "X-Svc-Hint-Ttl": value} {
			hints, warnings := ParseHints(http.Header{name: {header}})
			told := len(warnings) == 1 && strings.Contains(warnings[0], "ttl is "+value+": ")
			if hints["ttl"] != value || told != warned || !warned && len(warnings) > 0 {
				t.Errorf("%s: %s: %v, warnings %q", name, header, hints, warnings)
			}
		}
	}
}
