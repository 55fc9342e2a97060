package vrl_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cordwood/router/vrl"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/value"
)

// small is a budget that limits a run to a short time.
var small = fn.Budget{Steps: 20_000, Bytes: 1 << 20}

// FuzzProgram passes any text to the compiler and runs it if it compiles.
func FuzzProgram(f *testing.F) {
	for _, s := range []string{
		`.a = upcase!(.b) ?? "x"`, "if .a == 1 { .b = 2 } else { del(.c) }\n.", `x, err = to_int(.a); "{{ err }}"`,
		`map_values(.) -> |v| { v }`, `{ "a": [1, 2.5, t'2020-01-01T00:00:00Z', r'a+'] }`, `. |= {"x": s'raw'}`,
		"\"\\u{e9}\\\n  \" + 'x", `.a[-3].b = .c[0]."d e"`, `abort "x" + .y`, `return 1`, `((((1))))`, `!!!true`,
		`1 +`, `{`, `->`,
	} {
		f.Add(s, `{"a":1,"b":"x","c":[1,{"d e":null}]}`)
	}
	f.Fuzz(func(t *testing.T, source, event string) { tryProgram(t, source, event) })
}

// tryProgram compiles and runs a program. It must not panic or take long.
func tryProgram(t *testing.T, source, event string) (compiled bool) {
	t.Helper()
	start := time.Now()
	p, _, err := vrl.Compile(source, vrl.Options{Budget: small})
	if err != nil {
		var d *vrl.Diagnostics
		if !errors.As(err, &d) || d.Render("") == "" || strings.Contains(d.Error(), "internal error") {
			t.Fatalf("Compile returned %v", err)
		}
		return false
	}
	v, err := value.ParseJSON(event, value.JSONOptions{})
	if err != nil {
		v = value.NewObject(value.MakeFields(0))
	}
	// An event that is shared must not change, and must give the same results.
	frozen, before := v.Detach().Freeze(), v.String()
	held := frozen
	result, err := p.Run(&v, nil)
	if err != nil && strings.Contains(err.Error(), "internal error") {
		t.Fatalf("a function panicked: %s", source)
	}
	again, errAgain := p.Run(&held, nil)
	if frozen.String() != before {
		t.Fatalf("%s\nchanges a shared event from %s to %s", source, before, frozen)
	}
	for _, name := range []string{"now", "random_", "uuid_"} {
		if strings.Contains(source, name) {
			return true
		}
	}
	if (err == nil) != (errAgain == nil) || !value.Same(result, again) || !value.Same(v, held) {
		t.Fatalf("%s on %s\nowned:  %s, %s, %v\nshared: %s, %s, %v", source, before, result, v, err, again, held, errAgain)
	}
	// Far above the promised limit, because the machine may be busy.
	if d := time.Since(start); d > 5*time.Second {
		t.Fatalf("took %s: %s", d, source)
	}
	return true
}

// TestRandomPrograms runs random programs from a grammar, most of which compile.
func TestRandomPrograms(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	compiled := 0
	for range 3000 {
		g.vars = g.vars[:0]
		if tryProgram(t, g.program(), g.event(3)) {
			compiled++
		}
	}
	if compiled < 300 {
		t.Errorf("only %d of 3000 programs compile", compiled)
	}
}

// generator generates random programs and events.
type generator struct {
	*rand.Rand
	vars  []string
	depth int
}

func (g *generator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *generator) program() string {
	var b strings.Builder
	for range 1 + g.IntN(6) {
		b.WriteString(g.statement())
		b.WriteByte('\n')
	}
	return b.String() + g.pick(".", "", g.expr())
}

func (g *generator) path() string {
	p := g.pick(".a", ".b", ".c", ".a.b", ".c[0]", ".c[-1].d", `."x y"`, ".", "%m")
	if len(g.vars) > 0 && g.IntN(3) == 0 {
		p = g.pick(g.vars...) + g.pick("", ".a", "[0]")
	}
	return p
}

func (g *generator) statement() string {
	if g.depth >= 4 {
		return g.path() + " = " + g.expr()
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.IntN(8) {
	case 0:
		return fmt.Sprintf("if %s { %s } else { %s }", g.truth(), g.statement(), g.expr())
	case 1:
		return fmt.Sprintf("del(%s)", g.path())
	case 2:
		v := g.pick("v", "w", "x")
		s := fmt.Sprintf("%s = %s", v, g.expr())
		g.vars = append(g.vars, v)
		return s
	case 3:
		return fmt.Sprintf("%s, err = %s", g.path(), g.fallible())
	case 4:
		return fmt.Sprintf("%s = map_values(%s) -> |v| { %s }", g.path(),
			g.pick("{\"k\": .a, \"l\": 1}", "[.a, .b]"), g.expr())
	case 5:
		return ". |= " + g.pick(`{"q": 1}`, `{"a": {"b": .c}}`)
	default:
		return fmt.Sprintf("%s = %s", g.path(), g.expr())
	}
}

func (g *generator) truth() string {
	return g.pick("exists("+g.path()+")", g.expr()+" == "+g.expr(), "is_null("+g.path()+")", "!(true && "+g.path()+
		" == 1)", `contains("abc", "b")`)
}

func (g *generator) fallible() string {
	return g.pick("to_int(", "upcase(", "parse_json(", "length(") + g.path() + ")"
}

func (g *generator) expr() string {
	if g.depth >= 4 {
		return g.pick("1", `"s"`, "null", "2.5", "true")
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.IntN(9) {
	case 0:
		return g.path()
	case 1:
		return fmt.Sprintf("[%s, %s]", g.expr(), g.expr())
	case 2:
		return fmt.Sprintf(`{"k": %s, "a": %s}`, g.expr(), g.expr())
	case 3:
		return fmt.Sprintf("(%s ?? %s)", g.fallible(), g.expr())
	case 4:
		return fmt.Sprintf("(%s %s %s ?? %s)", g.path(), g.pick("+", "-", "*", "/", "<", "&&"), g.path(), g.expr())
	case 5:
		return fmt.Sprintf("if %s { %s } else { %s }", g.truth(), g.expr(), g.expr())
	case 6:
		return fmt.Sprintf("(%s || %s)", g.path(), g.expr())
	}
	return g.pick("1", "-7", `"text"`, "null", "2.5", "true", "t'2020-01-01T00:00:00Z'", `upcase("x")`)
}

func (g *generator) event(depth int) string {
	if depth == 0 {
		return g.pick("1", `"5"`, "null", "2.5", "false", `"text"`)
	}
	return fmt.Sprintf(`{"a":%s,"b":%s,"c":[%s,%s],"x y":1}`, g.event(depth-1), g.event(0), g.event(depth-1), g.event(0))
}
