package vrl_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cordwood/router/vrl"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/value"
)

// FuzzGrammar runs random programs of the grammar, with loops over large values, within the budget of a record.
// Each must end before a deadline that is far above the intended time of the steps.
func FuzzGrammar(f *testing.F) {
	for seed := range uint64(48) {
		f.Add(seed, uint16(1000))
	}
	f.Add(uint64(7), uint16(20_000))
	f.Fuzz(func(t *testing.T, seed uint64, size uint16) {
		g := &loops{generator: generator{Rand: rand.New(rand.NewPCG(seed, 2))}}
		source := g.source()
		p, _, err := vrl.Compile(source, vrl.Options{})
		if err != nil {
			return
		}
		event := large(int(size))
		meta := value.NewObject(value.MakeFields(0))
		var m fn.Meter
		looks := 0
		m.Start(func() error { looks++; return nil }, 0)
		_ = m.Begin(vrl.DefaultBudget)
		start := time.Now()
		_, err = p.RunMetered(&m, &event, &meta)
		if err != nil && strings.Contains(err.Error(), "internal error") {
			t.Fatalf("a function panicked: %s", source)
		}
		spent := vrl.DefaultBudget.Steps - m.Record.Steps
		if spent > 500_000 && looks == 0 {
			t.Errorf("the meter did not check the request in %d steps: %s", spent, source)
		}
		if d := time.Since(start); d > 30*time.Second {
			t.Fatalf("took %s for %d steps: %s", d, spent, source)
		}
	})
}

// large returns an event with a text, an array and an object of n elements.
func large(n int) value.Value {
	list := make([]value.Value, n)
	fields := value.MakeFields(n)
	for i := range list {
		list[i] = value.NewString(fmt.Sprint("e", i%97))
		fields.Add(fmt.Sprintf("k%06d", i), value.NewInt(int64(i)))
	}
	return value.ObjectOf(
		value.Field{Key: "s", Value: value.NewString(strings.Repeat("a b,c=d\n", n))},
		value.Field{Key: "l", Value: value.NewArray(list)}, value.Field{Key: "o", Value: fields.Value()},
	)
}

// loops generates programs that process large values repeatedly.
type loops struct {
	generator
	nested int
}

func (g *loops) source() string {
	var b strings.Builder
	for range 1 + g.IntN(4) {
		b.WriteString(g.line() + "\n")
	}
	return b.String() + "."
}

func (g *loops) line() string {
	if g.nested < 3 && g.IntN(2) == 0 {
		g.nested++
		body := g.line() + "\n" + g.line()
		g.nested--
		return fmt.Sprintf(g.pick(
			"for_each(array!(.l)) -> |_, v| {\n%s\n}", "for_each(object!(.o)) -> |k, v| {\n%s\n}",
			"x = map_values(object!(.o)) -> |v| {\n%s\nv }", "x = filter(array!(.l)) -> |_, v| {\n%s\ntrue }",
			"x = replace_with(string!(.s), r'[a-z]') -> |m| {\n%s\n\"x\" }",
		), body)
	}
	return g.pick(
		".c = .o\n.c.new = 1", "del(.o.new)", ".o.new = 2", ". |= {\"n\": .o}", "y = object!(.o) | {\"a\": 1}",
		"y = .o == .o", "y = .s == upcase(string!(.s))",
		"y = split(string!(.s), \",\")", "y = join!(.l, \"-\")", "y = unique(array!(.l))", "y = flatten(array!(.l))",
		"y = push(array!(.l), 1)", "y = merge(object!(.o), object!(.o))",
		"y = replace(string!(.s), r'a*b|a', \"x\")", "y = match(string!(.s), r'(a|aa)*c')",
		"y = parse_regex_all!(string!(.s), r'(?P<x>\\w+)')", "y = contains(string!(.s), \"zz\")",
		"y = strip_ansi_escape_codes(string!(.s))", "y = truncate(string!(.s), 9)", "y, err = parse_key_value(string!(.s))",
		"y, err = parse_csv(string!(.s))", "y, err = to_int(.s)",
		"y = encode_json(.)", "y = sieve(string!(.s), r'[a-c]')", "y = {\"a\": .l, \"b\": [.o]}", ".l[0] = .l",
		".p[60000] = 1", "y = \"x\"\ny = y + string!(.s)", "y, err = parse_url(string!(.s))",
		"y = keys(object!(.o))", "y = length(array!(.l))", "y = sha3(string!(.s))", "y = includes(array!(.l), \"zz\")",
		"y = set!(value: .o, path: [\"q\"], data: 1)", "y = tally!(.l)",
	)
}
