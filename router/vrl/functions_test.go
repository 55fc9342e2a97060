package vrl_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cordwood/router/vrl"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/value"
)

// TestFunctionsOnAnything calls every function with random arguments of the right and of wrong kinds. No call may
// panic or exceed the budget by much.
func TestFunctionsOnAnything(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	for _, f := range vrl.Functions() {
		if f.Needs != 0 {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			compiled := 0
			for range 60 {
				if callAnything(t, r, f) {
					compiled++
				}
			}
			if compiled == 0 {
				t.Logf("no call of %s compiles", f.Name)
			}
		})
	}
}

func callAnything(t *testing.T, r *rand.Rand, f *fn.Function) bool {
	t.Helper()
	o := value.MakeFields(len(f.Params))
	var args []string
	for i, p := range f.Params {
		if p.Optional && r.IntN(2) == 0 {
			continue
		}
		arg := fmt.Sprintf(".a%d", i)
		o.Set(arg[1:], anything(r, p.Kind))
		switch {
		case len(p.Enum) > 0 && r.IntN(8) > 0:
			arg = fmt.Sprintf("%q", p.Enum[r.IntN(len(p.Enum))].Value)
		case p.Constant || p.Kind.Is(kind.RegexBit) || r.IntN(3) == 0:
			arg = constant(r, p.Kind)
		case f.Closure != nil && i == 0:
			arg = []string{`{"a": .a0, "b": [1]}`, `[.a0, "x", null]`}[r.IntN(2)]
		}
		args = append(args, p.Name+": "+arg)
	}
	source := f.Name + "!(" + strings.Join(args, ", ") + ")"
	if f.Closure != nil {
		names := []string{"x", "y"}[:len(f.Closure.Params)]
		body := []string{names[len(names)-1], "true", `"k"`}[r.IntN(3)]
		source += fmt.Sprintf(" -> |%s| { [%s]; %s }", strings.Join(names, ", "), strings.Join(names, ", "), body)
	}
	start := time.Now()
	p, _, err := vrl.Compile(source, vrl.Options{Budget: fn.Budget{Steps: 50_000, Bytes: 4 << 20}})
	if err != nil {
		if strings.Contains(err.Error(), "internal error") {
			t.Fatalf("a panic while compiling %s", source)
		}
		return false
	}
	event := o.Value()
	before := string(value.AppendJSON(nil, event))
	v, err := p.Run(&event, nil)
	if err != nil && strings.Contains(err.Error(), "internal error") {
		t.Fatalf("a panic: %s on %s", source, before)
	}
	if err == nil {
		if n := len(value.AppendJSON(nil, v)); n > 64<<20 {
			t.Fatalf("%s creates %d bytes from %s", source, n, before)
		}
		// The result has the kind that the compiler inferred.
		if value.Size(v, 2000) < 2000 && !p.Result().Includes(kind.Of(v)) {
			t.Errorf("%s on %s: %s is not of kind %s", source, before, v, p.Result())
		}
	}
	after := string(value.AppendJSON(nil, event))
	if after != before && !f.Effect {
		t.Errorf("%s changes the event from %s to %s", source, before, after)
	}
	// Changing the result must not change the event that it came from.
	if value.Size(v, 500) < 500 {
		scribble(&v, v, nil)
		if got := string(value.AppendJSON(nil, event)); got != after {
			t.Errorf("%s on %s: the result is a part of the event that is not marked as shared", source, before)
		}
	}
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("%s took %s on %s", source, d, before)
	}
	return true
}

// scribble overwrites every container in a value.
func scribble(root *value.Value, v value.Value, path value.Path) {
	if o := v.Object(); o != nil {
		for i := range o.Len() {
			scribble(root, o.PeekAt(i), append(path[:len(path):len(path)], value.Name(o.Key(i))))
		}
		_ = value.Insert(root, append(path[:len(path):len(path)], value.Name("scribbled")), value.NewBool(true))
	}
	if a := v.Array(); a != nil {
		for i := range a.Len() {
			scribble(root, a.PeekAt(i), append(path[:len(path):len(path)], value.Index(i)))
		}
		_ = value.Insert(root, append(path[:len(path):len(path)], value.Index(a.Len())), value.NewBool(true))
	}
}

var texts = []string{
	"", " ", "a", "A b_c-D", "ß İ é 漢字", "\xff\xfe\x80", "12", "-7.5e3", "true", "null", "a=1 b=\"x y\"",
	`{"a":[1,{"b":null}]}`,
	"2021-02-03T04:05:06Z", "03/Feb/2021:04:05:06 +0100", "10.0.0.1", "::ffff:1.2.3.4", "10.0.0.0/8",
	"http://u:p@h.example:81/p?q=1#f",
	"<34>1 2021-02-03T04:05:06Z h app 1 ID [x@1 k=\"v\"] text", "YWJj", "x,\"y\"\"z\",", "1h30m", "5MiB",
	"%Y-%m-%d", "+00:00",
	"\x1b[31mred\x1b[0m", "<a b='1'><c/>t</a>", "%{WORD:x}", "(a+)+$", "[", "..", "/a//b/../c", "\x1f\x8b\x08",
	"(((((((", "-", "\x00",
	"9223372036854775808", "xn--bcher-kva", "Feb  3 04:05:06 host app[1]: hi", "I0203 04:05:06.7 1 f.go:1] m",
	"key: value\n- 1",
}

// anything returns a value that usually has the kind.
func anything(r *rand.Rand, k kind.Kind) value.Value {
	for range 20 {
		v := random(r, 3)
		if k.Includes(kind.Of(v)) || r.IntN(15) == 0 {
			return v
		}
	}
	return random(r, 1)
}

func random(r *rand.Rand, depth int) value.Value {
	switch n := r.IntN(12); {
	case n < 4:
		s := texts[r.IntN(len(texts))]
		if r.IntN(20) == 0 {
			s = strings.Repeat(s, 300)
		}
		return value.NewString(s)
	case n < 6:
		return value.NewInt([]int64{0, 1, -1, 7, 255, 65536, math.MaxInt64, math.MinInt64, 1600000000}[r.IntN(9)])
	case n == 6:
		return value.NewFloat([]float64{
			0, math.Copysign(0, -1), 1.5, -2.5, 1e300, 1e-300, math.Inf(1), math.Inf(-1),
		}[r.IntN(8)])
	case n == 7:
		return []value.Value{{}, value.NewBool(true), value.NewBool(false)}[r.IntN(3)]
	case n == 8:
		return value.NewUnix([]int64{
			0, -1, 1600000000, math.MaxInt64 / 2, math.MinInt64 / 2, -62135596800, 253402300799,
		}[r.IntN(7)], uint32(r.IntN(1e9)))
	case n == 9 && depth > 0:
		o := value.MakeFields(2)
		for range r.IntN(4) {
			o.Set([]string{"a", "b", "key", "value", "a.b", "type", ""}[r.IntN(7)], random(r, depth-1))
		}
		return o.Value()
	case depth > 0:
		list := make([]value.Value, r.IntN(4))
		for i := range list {
			list[i] = random(r, depth-1)
		}
		return value.NewArray(list)
	}
	re, _ := pattern.Compile([]string{`a+`, `(?P<x>\w+) (?P<y>.)?`, `^$`, `\d|`}[r.IntN(4)])
	return value.NewRegex(re)
}

// constant returns the source text of a value of the kind.
func constant(r *rand.Rand, k kind.Kind) string {
	v := anything(r, k)
	if k.Is(kind.RegexBit) {
		return []string{`r'a+'`, `r'(?P<x>\w+) (?P<y>.)?'`, `r''`, `r'\d|'`}[r.IntN(4)]
	}
	return literal(v)
}

// literal returns the source text of a value.
func literal(v value.Value) string {
	switch v.Kind() {
	case value.String:
		var b strings.Builder
		for _, c := range v.Text() {
			fmt.Fprintf(&b, `\u{%x}`, c)
		}
		return `"` + b.String() + `"`
	case value.Float:
		if math.IsInf(v.Float(), 0) || math.Abs(v.Float()) > 1e15 || math.Abs(v.Float()) < 1e-4 {
			return "1.0"
		}
		return fmt.Sprintf("%.2f", v.Float())
	case value.Timestamp:
		return "t'2021-02-03T04:05:06Z'"
	case value.Array:
		var parts []string
		for _, x := range v.Array().Peek() {
			parts = append(parts, literal(x))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case value.Object:
		var parts []string
		for _, x := range v.Object().Peek() {
			parts = append(parts, fmt.Sprintf("%q: %s", x.Key, literal(x.Value)))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return v.String()
}
