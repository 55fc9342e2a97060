package vrl_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/router/vrl"
	"cordwood/router/vrl/compile"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

func compiled(t *testing.T, source string, o vrl.Options) *vrl.Program {
	t.Helper()
	p, _, err := vrl.Compile(source, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestReadOnly(t *testing.T) {
	var list []compile.ReadOnly
	for path, recursive := range map[string]bool{".a.b": false, ".r": true, "%m": false} {
		r, err := vrl.ParseReadOnly(path, recursive)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	for source, refused := range map[string]bool{
		".a.b = 1": true, ".a = {}": true, ". = {}": true, ".a.c = 1": false, ".a.b.c = 1": false,
		".r = 1": true, ".r.x[0] = 1": true, "del(.a.b)": true, "del(.r.x)": true, "del(.q)": false,
		"%m = 1": true, "%n = 1": false, ". |= {}": true, "x, .r = to_int(.z)": true,
	} {
		_, _, err := vrl.Compile(source, vrl.Options{ReadOnly: list})
		if got := err != nil && strings.Contains(err.Error(), "error[E315]"); got != refused {
			t.Errorf("%s: got %v", source, err)
		}
	}
	if _, err := vrl.ParseReadOnly("a + b", false); err == nil {
		t.Error("an expression is not a path")
	}
}

func TestGrants(t *testing.T) {
	const source = `get_env_var!("PATH")`
	p := compiled(t, source, vrl.Options{})
	e := value.NewObject(value.MakeFields(0))
	if _, err := p.Run(&e, nil); err == nil || !strings.Contains(err.Error(), "switched off") {
		t.Errorf("got %v", err)
	}
	p = compiled(t, source, vrl.Options{Grants: fn.Environment})
	if _, err := p.Run(&e, nil); err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	for source, want := range map[string]vrl.Reason{
		`abort "x"`: vrl.Aborted, `to_int!("q")`: vrl.Failed, `"abcdefgh" * 100000000`: vrl.Exhausted,
	} {
		e := value.NewObject(value.MakeFields(0))
		_, err := compiled(t, source, vrl.Options{}).Run(&e, nil)
		var x *vrl.Error
		if !errors.As(err, &x) || x.Reason != want {
			t.Errorf("%s: got %v", source, err)
		}
	}
	_, _, err := vrl.Compile("x = to_int(.a)\nnil", vrl.Options{})
	var d *vrl.Diagnostics
	if !errors.As(err, &d) || len(d.List) != 2 {
		t.Fatalf("got %v", err)
	}
	const want = "error[E103]: unhandled fallible assignment (line 1, column 5: this expression can fail when the " +
		"program runs); " +
		"error[E701]: call to undefined variable (line 2, column 1: undefined variable)"
	if d.Error() != want {
		t.Errorf("got  %s\nwant %s", d.Error(), want)
	}
}

func TestEventAfterFailure(t *testing.T) {
	e, err := value.ParseJSON(`{"a":"q","b":1}`, value.JSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = compiled(t, ".b = 2\n.c = to_int!(.a)\n.d = 3", vrl.Options{}).Run(&e, nil); err == nil {
		t.Fatal("no error")
	}
	if got := string(value.AppendJSON(nil, e)); got != `{"a":"q","b":2}` {
		t.Errorf("got %s", got)
	}
}

func TestRecordWarnings(t *testing.T) {
	for source, want := range map[string]string{
		".a = 1\n.":                       "",
		".a = 1":                          "which is not a record",
		"if .a == 1 { return null }\n.":   "",
		`if .a == 1 { . } else { "x" }`:   "this may be string or object",
		"if .a == 1 { .b = {} }":          "",
		"for_each([1]) -> |_i, _v| { 1 }": "every record is dropped",
		".a":                              "",
		"[{\"a\": 1}]":                    "",
	} {
		_, warnings, err := vrl.Compile(source, vrl.Options{Record: true})
		if err != nil {
			t.Fatal(err)
		}
		var text string
		for _, w := range warnings {
			text += w.Labels[0].Text
		}
		if want == "" && text != "" || !strings.Contains(text, want) {
			t.Errorf("%s: got %q, want %q", source, text, want)
		}
	}
}

func TestResultKind(t *testing.T) {
	for source, want := range map[string]string{
		".":                              "object",
		"return 1":                       "integer",
		"if .a == 1 { return \"x\" }; 1": "string or integer",
		". = [1]; .":                     "[integer]",
		"abort":                          "never",
	} {
		if got := compiled(t, source, vrl.Options{}).Result().String(); got != want {
			t.Errorf("%s: got %s, want %s", source, got, want)
		}
	}
	if !compiled(t, `.x = {"r": r'a'}; .`, vrl.Options{}).Result().Mentions(kind.RegexBit) ||
		kind.Any.Mentions(kind.RegexBit) {
		t.Error("Mentions")
	}
}

// Goroutines share programs and the constants in them.
func TestConcurrentRuns(t *testing.T) {
	p := compiled(t, `x = {"list": [1, 2], "o": {"k": "v"}}
		x.list = push(x.list, .n)
		.x = x
		.x.o.k = upcase(to_string!(.s))
		map_values(x) -> |v| { v }`, vrl.Options{})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				o := value.MakeFields(2)
				o.Set("n", value.NewInt(int64(g*1000+i)))
				o.Set("s", value.NewString("abc"))
				e := o.Value()
				v, err := p.Run(&e, nil)
				if err != nil {
					t.Error(err)
					return
				}
				list, _ := v.Get(value.Path{value.Name("list")})
				if n := list.Array().At(2).Int(); n != int64(g*1000+i) || list.Len() != 3 {
					t.Errorf("got %s", v)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestZoneAndClock(t *testing.T) {
	zone, err := vrl.ParseZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	p := compiled(t, `[now(), parse_timestamp!("2024-01-01 00:00:00", "%F %T")]`, vrl.Options{
		Zone: zone,
		Now:  func() time.Time { return now },
	})
	e := value.NewObject(value.MakeFields(0))
	v, err := p.Run(&e, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(value.AppendJSON(nil, v)); got != `["2024-05-06T07:08:09Z","2023-12-31T23:00:00Z"]` {
		t.Errorf("got %s", got)
	}
	if _, err := vrl.ParseZone("Mars/Olympus"); err == nil {
		t.Error("no error for an unknown zone")
	}
}

func TestSession(t *testing.T) {
	s := vrl.NewSession(vrl.Options{}, value.NewObject(value.MakeFields(0)))
	for _, c := range []struct{ source, want string }{
		{"x = [1]", "[1]"},
		{".a = x", "[1]"},
		{"x[0] = 5; x", "[5]"},
		{".a[0] + x[0]", "6"},
		{"x = \"s\"", `"s"`},
		{"upcase(x)", `"S"`},
	} {
		v, _, err := s.Eval(c.source)
		if err != nil {
			t.Fatalf("%s: %v", c.source, err)
		}
		if got := string(value.AppendJSON(nil, v)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.source, got, c.want)
		}
	}
	if got := string(value.AppendJSON(nil, s.Event())); got != `{"a":[1]}` {
		t.Errorf("the event is %s", got)
	}
}

// The patterns of a program are limited together, whichever code compiles them.
func TestPatternsAreBounded(t *testing.T) {
	big := strings.Repeat(`\w`, 1000)
	for name, one := range map[string]string{
		"literals":    ". = match(\"a\", r'" + big + "')\n",
		"parse_grok":  ". = parse_grok!(\"a\", s'" + big + "')\n",
		"parse_groks": ". = parse_groks!(\"a\", [s'" + big + "'])\n",
		"datadog":     ". = match_datadog_query({}, s'" + strings.Repeat("a", 1<<15) + "')\n",
	} {
		if _, _, err := vrl.Compile(one, vrl.Options{}); err != nil {
			t.Errorf("%s: one: %v", name, err)
		}
		_, _, err := vrl.Compile(strings.Repeat(one, 6), vrl.Options{})
		if err == nil || strings.Count(err.Error(),
			"the patterns of this program take more than 32 MiB of memory together") == 0 {
			t.Errorf("%s: six: %v", name, err)
		}
	}
}
