package value

import (
	"math"
	"strings"
	"testing"
	"time"
	"unsafe"
)

func mustParse(t *testing.T, s string) Value {
	t.Helper()
	v, err := ParseJSON(s, JSONOptions{})
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

func json(v Value) string { return string(AppendJSON(nil, v)) }

func TestSize(t *testing.T) {
	if n := unsafe.Sizeof(Value{}); n > 24 {
		t.Errorf("a Value has %d bytes", n)
	}
}

func TestJSONRoundTrip(t *testing.T) {
	for in, want := range map[string]string{
		`null`:                                  `null`,
		` [ 1 , -2 , 1.0 , 1e3 , 1.5e300 ]`:     `[1,-2,1.0,1000.0,1.5e300]`,
		`{"b":1,"a":{"d":[],"c":{}},"b":2}`:     `{"a":{"c":{},"d":[]},"b":2}`,
		`"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`: `"a\"\\/\b\f\n\r\té😀"`,
		`9223372036854775807`:                   `9223372036854775807`,
		`-9223372036854775808`:                  `-9223372036854775808`,
		`9223372036854775808`:                   `9.223372036854776e18`,
		`-0`:                                    `-0.0`,
		`0.00001`:                               `0.00001`,
		`0.000001`:                              `1e-6`,
		`1e15`:                                  `1000000000000000.0`,
		`1e16`:                                  `1e16`,
		"\"\xe2\x82\"":                          `"` + "\ufffd" + `"`,
		"\"\xff\xfe\"":                          `"` + "\ufffd\ufffd" + `"`,
		`"\u0001"`:                              `"\u0001"`,
	} {
		if got := json(mustParse(t, in)); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// The order of keys that is cached for one object must not affect another.
func TestJSONKeyOrders(t *testing.T) {
	for range 3 {
		for in, want := range map[string]string{
			`{"c":1,"a":2,"b":3}`:       `{"a":2,"b":3,"c":1}`,
			`{"a":1,"c":2,"b":3}`:       `{"a":1,"b":3,"c":2}`,
			`{"c":1,"a":2,"a":3}`:       `{"a":3,"c":1}`,
			`{"b":{"d":1,"c":2},"a":3}`: `{"a":3,"b":{"c":2,"d":1}}`,
		} {
			if got := json(mustParse(t, in)); got != want {
				t.Errorf("%s: got %s, want %s", in, got, want)
			}
		}
	}
}

func TestJSONErrors(t *testing.T) {
	for _, in := range []string{
		``, `{`, `[1`, `[1,]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `01`, `1.`, `1e`, `-`, `"a`, `"\x"`,
		`"\ud800"`, "\"\n\"",
		`tru`, `nul`, `1 2`, `1e999`, strings.Repeat("[", 200), `"\u12"`, `{"a":1 "b":2}`,
	} {
		if v, err := ParseJSON(in, JSONOptions{}); err == nil {
			t.Errorf("%s: got %s, want an error", in, v)
		}
	}
	_, err := ParseJSON("{\n  x", JSONOptions{})
	if err == nil || err.Error() != "key must be a string at line 2 column 3" {
		t.Errorf("got %v", err)
	}
}

func TestJSONDepth(t *testing.T) {
	v, err := ParseJSON(`{"a":{"b":{"c":1}},"d":[[2]]}`, JSONOptions{MaxDepth: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := json(v), `{"a":{"b":"{\"c\":1}"},"d":["[2]"]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestStringsAreNotCopied(t *testing.T) {
	src := `{"key":"value"}`
	v := mustParse(t, src)
	x, _ := v.Object().Get("key")
	if unsafe.StringData(x.Str()) != unsafe.StringData(src[8:]) {
		t.Error("the string is a copy")
	}
	if unsafe.StringData(v.Detach().Object().PeekAt(0).Str()) == unsafe.StringData(src[8:]) {
		t.Error("the detached string is not a copy")
	}
}

func TestSharing(t *testing.T) {
	root := mustParse(t, `{"a":{"x":{"n":1}},"b":2}`)
	inner, _ := root.Get(Path{Name("a")})
	if err := Insert(&root, Path{Name("a"), Name("x"), Name("n")}, NewInt(5)); err != nil {
		t.Fatal(err)
	}
	if got := json(inner); got != `{"x":{"n":1}}` {
		t.Errorf("the extracted part changed to %s", got)
	}
	if got := json(root); got != `{"a":{"x":{"n":5}},"b":2}` {
		t.Errorf("root is %s", got)
	}
	// After the copy, the containers on the path are owned, so there are no further copies.
	before := root.Object()
	if err := Insert(&root, Path{Name("a"), Name("x"), Name("n")}, NewInt(6)); err != nil || root.Object() != before {
		t.Error("an owned object was copied")
	}
	frozen := mustParse(t, `[[1],{"k":[2]}]`).Freeze()
	c := frozen
	if _, ok := Remove(&c, Path{Index(1), Name("k"), Index(0)}, true); !ok || json(c) != `[[1]]` ||
		json(frozen) != `[[1],{"k":[2]}]` {
		t.Errorf("removed: %s, frozen: %s", c, frozen)
	}
}

func TestPaths(t *testing.T) {
	cases := []struct {
		in   string
		path Path
		want string // after inserting true
	}{
		{`{}`, Path{Name("a"), Index(1), Name("b")}, `{"a":[null,{"b":true}]}`},
		{`[1,2,3]`, Path{Index(-5)}, `[true,null,1,2,3]`},
		{`[1,2,3]`, Path{Index(-1)}, `[1,2,true]`},
		{`[]`, Path{Index(-1)}, `[true]`},
		{`1`, Path{Name("a")}, `{"a":true}`},
		{`{"a":[1]}`, Path{Name("a"), Name("b")}, `{"a":{"b":true}}`},
		{`{"b":1}`, nil, `true`},
	}
	for _, c := range cases {
		v := mustParse(t, c.in)
		if err := Insert(&v, c.path, NewBool(true)); err != nil {
			t.Fatal(err)
		}
		if got := json(v); got != c.want {
			t.Errorf("%s at %s: got %s, want %s", c.in, c.path, got, c.want)
		}
		x, ok := v.Get(Path{})
		if !ok || !Same(x, v) {
			t.Error("the empty path is not the value itself")
		}
	}
	v := mustParse(t, `[]`)
	if err := Insert(&v, Path{Index(MaxIndex + 1)}, NewInt(1)); err == nil {
		t.Error("a huge index was accepted")
	}
	if got, want := (Path{Name("a"), Name("b c"), Index(-1), Name("@d")}).String(), `a."b c"[-1].@d`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestManyFields(t *testing.T) {
	o := MakeFields(0)
	for i := range 200 {
		o.Set(string(rune('a'+i%26))+strings.Repeat("x", i/26), NewInt(int64(i)))
	}
	for i := 1; i < o.Len(); i++ {
		if o.Key(i-1) >= o.Key(i) {
			t.Fatalf("%s before %s", o.Key(i-1), o.Key(i))
		}
	}
	for i := range o.Len() {
		if v, ok := o.Get(o.Key(i)); !ok || v.Int() != o.PeekAt(i).Int() {
			t.Fatalf("%s is not found", o.Key(i))
		}
		if v, at, ok := o.PeekHint(o.Key(i), i/2); !ok || at != i || v.Int() != o.PeekAt(i).Int() {
			t.Fatalf("%s is not found by a hint", o.Key(i))
		}
	}
	for o.Len() > 0 {
		if _, ok := o.Delete(o.Key(o.Len() / 2)); !ok {
			t.Fatal("not deleted")
		}
	}
}

func TestEqualAndCompare(t *testing.T) {
	if !Equal(NewInt(1), NewFloat(1)) || Same(NewInt(1), NewFloat(1)) {
		t.Error("1 and 1.0 must be equal and not the same")
	}
	if Equal(mustParse(t, `[1]`), mustParse(t, `[1.0]`)) {
		t.Error("inside containers 1 and 1.0 must differ")
	}
	early, late := NewUnix(1, 5), NewUnix(1, 6)
	for _, c := range []struct {
		a, b Value
		want int
		ok   bool
	}{
		{NewInt(1), NewInt(2), -1, true},
		{NewInt(2), NewFloat(1.5), 1, true},
		{NewString("a"), NewString("b"), -1, true},
		{late, early, 1, true},
		{NewString("a"), NewInt(1), 0, false},
		{Value{}, Value{}, 0, false},
	} {
		if got, ok := Compare(c.a, c.b); got != c.want || ok != c.ok {
			t.Errorf("%s, %s: got %d, %t", c.a, c.b, got, ok)
		}
	}
}

func TestTimestamps(t *testing.T) {
	for _, c := range []struct {
		t    time.Time
		want string
	}{
		{time.Unix(0, 0), `"1970-01-01T00:00:00Z"`},
		{time.Unix(0, 5_000_000), `"1970-01-01T00:00:00.005Z"`},
		{time.Unix(-1, 1000), `"1969-12-31T23:59:59.000001Z"`},
		{time.Unix(1, 1), `"1970-01-01T00:00:01.000000001Z"`},
		{time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), `"9999-12-31T00:00:00Z"`},
	} {
		v := NewTimestamp(c.t)
		if got := json(v); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		if ns, ok := v.UnixNano(); ok && !Same(NewUnixNano(ns), v) {
			t.Errorf("%s is not restored from %d ns", v, ns)
		}
	}
	if _, ok := NewTimestamp(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)).UnixNano(); ok {
		t.Error("the year 9999 does not fit nanoseconds")
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		v                Value
		display, jsonFmt string
	}{
		{NewFloat(1), `1`, `1.0`},
		{NewFloat(1e21), `1000000000000000000000`, `1e21`},
		{NewFloat(math.Inf(-1)), `-inf`, `null`},
		{NewString("a\"\n\xff"), "\"a\\\"\\n\ufffd\"", "\"a\\\"\\n\ufffd\""},
		{NewFloat(math.NaN()), `null`, `null`},
		{mustParse(t, `{"b":[1,true],"a":null}`), `{ "a": null, "b": [1, true] }`, `{"a":null,"b":[1,true]}`},
		{NewUnix(0, 0), `t'1970-01-01T00:00:00Z'`, `"1970-01-01T00:00:00Z"`},
	} {
		if got := c.v.String(); got != c.display {
			t.Errorf("display: got %s, want %s", got, c.display)
		}
		if got := json(c.v); got != c.jsonFmt {
			t.Errorf("JSON: got %s, want %s", got, c.jsonFmt)
		}
	}
	if got, want := Lossy("a\xf0\x9f\x98b\xc0\x80"), "a\ufffdb\ufffd\ufffd"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	pretty := string(AppendPrettyJSON(nil, mustParse(t, `{"a":[1,{}],"b":{"c":2}}`)))
	if want := "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": {\n    \"c\": 2\n  }\n}"; pretty != want {
		t.Errorf("got %s", pretty)
	}
}

func TestSizeOfValues(t *testing.T) {
	v := mustParse(t, `{"a":[1,2],"b":{"c":3}}`)
	if n := Size(v, 100); n != 6 {
		t.Errorf("got %d, want 6", n)
	}
	for range 100 {
		v = ArrayOf(v.Share(), v)
	}
	if n := Size(v, 5000); n != 5000 {
		t.Errorf("got %d, want the limit", n)
	}
}

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"x\u00e9",null,true]}`, `[[[`, `"\ud83d\ude00"`, `-0`, "\"\xff\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseJSON(s, JSONOptions{})
		if err != nil {
			return
		}
		once := json(v)
		again, err := ParseJSON(once, JSONOptions{})
		if err != nil {
			t.Fatalf("%s is written as %s: %v", s, once, err)
		}
		if twice := json(again); twice != once {
			t.Fatalf("%s, then %s", once, twice)
		}
	})
}

func TestExtremeIndices(t *testing.T) {
	for _, i := range []int{math.MinInt, math.MaxInt, -1 << 40, 1 << 40} {
		v := mustParse(t, `{"a":[1]}`)
		p := Path{Name("a"), Index(i)}
		if _, ok := v.Get(p); ok {
			t.Errorf("%d: found", i)
		}
		if err := Insert(&v, p, Value{}); err == nil {
			t.Errorf("%d: written", i)
		}
		if _, ok := Remove(&v, p, true); ok {
			t.Errorf("%d: removed", i)
		}
		if got := json(v); got != `{"a":[1]}` {
			t.Errorf("%d: got %s", i, got)
		}
	}
}
