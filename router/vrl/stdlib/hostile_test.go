package stdlib_test

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/router/vrl"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/stdlib"
	"cordwood/router/vrl/syntax"
	"cordwood/router/vrl/value"
	"cordwood/router/vrl/vrltest"
)

// These tests call every function of the library with large arguments that are designed to be slow to process.
// The calls come from the examples in the functions' descriptions, so a new function is tested as soon as it has
// an example.
//
// The steps and bytes that a call takes from the budget must be proportional to its time and memory, whatever the
// arguments are. Then the budget limits every program. Times are thread times, because the machine may be busy.

const (
	// Most steps take about 7 ns. Quadratic work takes a thousand times as long, so this limit leaves room for
	// slow machines.
	timePerStep = 4 * time.Microsecond
	// Time and memory that are not charged.
	freeTime  = 160 * time.Millisecond
	freeBytes = 32 << 20
	// bytesPerByte is how many bytes may be allocated for each charged byte, because growing buffers are
	// allocated several times.
	bytesPerByte = 6
)

// hostileCall is a program with one call, whose argument .h gets hostile values.
type hostileCall struct {
	source string
	kind   kind.Kind
	text   string // the argument in the example, if it is a string
}

// hostileCalls creates calls from the examples of a function. In each call one argument is .h. Options that no
// example uses are added one at a time.
func hostileCalls(t *testing.T, f *fn.Function) (calls []hostileCall) {
	t.Helper()
	seen := map[string]bool{}
	for _, e := range f.Examples {
		nodes, list := syntax.Parse(e.Source)
		if len(list) > 0 {
			t.Fatalf("%s: %v", e.Source, list)
		}
		walk(nodes, func(n *syntax.Call) {
			if n.Name != f.Name {
				return
			}
			closure := ""
			if n.Closure != nil {
				closure = e.Source[n.Closure.Span.Start:n.Closure.Span.End]
				if !strings.HasPrefix(strings.TrimSpace(closure), "->") {
					closure = " -> " + closure
				}
			}
			args := make([]string, len(n.Args))
			given := map[int]bool{}
			for i, a := range n.Args {
				span := a.Value.Span()
				p := paramOf(f, i, a.Name)
				args[i] = f.Params[p].Name + ": " + e.Source[span.Start:span.End]
				given[p] = true
			}
			add := func(c hostileCall, args []string) {
				c.source = fmt.Sprintf("x = %s!(%s)%s", f.Name, strings.Join(args, ", "), closure)
				if key := c.source + c.text; !seen[key] {
					seen[key] = true
					calls = append(calls, c)
				}
			}
			for i, a := range n.Args {
				p := &f.Params[paramOf(f, i, a.Name)]
				if p.Constant {
					continue
				}
				c := hostileCall{kind: p.Kind}
				if l, ok := a.Value.(*syntax.Literal); ok && l.Value.IsString() {
					c.text = l.Value.Str()
				}
				with := slices.Clone(args)
				with[i] = p.Name + ": .h"
				if f.Closure != nil && i == 0 {
					// The argument of a call with a closure must be known to be a container.
					for _, assert := range []string{"array!(.h)", "object!(.h)"} {
						with[i] = p.Name + ": " + assert
						add(c, slices.Clone(with))
					}
					continue
				}
				add(c, with)
				if i > 0 {
					continue
				}
				for j := range f.Params {
					for _, option := range options(&f.Params[j], given[j]) {
						add(c, append(slices.Clone(with), f.Params[j].Name+": "+option))
					}
				}
			}
		})
	}
	return calls
}

// options returns values for a parameter that an example leaves out.
func options(p *fn.Param, given bool) (list []string) {
	switch {
	case given || !p.Optional:
	case len(p.Enum) > 0:
		for _, e := range p.Enum {
			list = append(list, fmt.Sprintf("%q", e.Value))
		}
	case p.Kind.Is(kind.BooleanBit):
		list = append(list, fmt.Sprint(!p.Default.Bool()))
	case p.Kind.Is(kind.IntegerBit):
		list = append(list, "9223372036854775807")
	}
	return list
}

func paramOf(f *fn.Function, position int, name string) int {
	if name != "" {
		position = slices.IndexFunc(f.Params, func(p fn.Param) bool { return p.Name == name })
	}
	return position
}

// walk calls f for every call in the nodes.
func walk(nodes []syntax.Node, f func(*syntax.Call)) {
	for _, n := range nodes {
		switch n := n.(type) {
		case *syntax.Array:
			walk(n.Items, f)
		case *syntax.Object:
			walk(n.Values, f)
		case *syntax.Query:
			if n.Base != nil {
				walk([]syntax.Node{n.Base}, f)
			}
		case *syntax.Group:
			walk([]syntax.Node{n.Inner}, f)
		case *syntax.Block:
			walk(n.Body, f)
		case *syntax.If:
			walk(n.Cond, f)
			walk(n.Then.Body, f)
			if n.Else != nil {
				walk([]syntax.Node{n.Else}, f)
			}
		case *syntax.Binary:
			walk([]syntax.Node{n.Left, n.Right}, f)
		case *syntax.Not:
			walk([]syntax.Node{n.X}, f)
		case *syntax.Assign:
			walk([]syntax.Node{n.Value}, f)
		case *syntax.Call:
			f(n)
			for _, a := range n.Args {
				walk([]syntax.Node{a.Value}, f)
			}
			if n.Closure != nil {
				walk(n.Closure.Body.Body, f)
			}
		}
	}
}

// units are the texts that hostile texts repeat.
var units = []string{
	"a", "a ", "a=", "a=b ", "a&", "&", "=", ",", "\"", "\"a,\"a,", "\"a\" ", "'", "'a' ", "@", ":", "/", "%", "%25", "(",
	"[", "{", "{\"a\":",
	"[1,", "<", "<a>", "<a b='c' ", "<!--", "&amp;", "&#", "\\", "\\\"", "\\u0041", "\x1b[", "\x1b[0m", ".", "../", "-",
	"_", "aB", "A", "0", "9", "1.",
	"\n", "\r\n", "\t", " ", "\x00", "\xff", "é", "\u0301", "\U0001F468\u200d", "|", ";", "#", "*", "?", "~", "a.", "1:",
	"- ", "a: ", "a:\n ",
	"&a [*a, ", "xn--", "=?UTF-8?Q?", "12:34:56 ", "1s", "10.0.0.1 ", "::", "+", "MIIB", "ZZ", "a\n", "\"\"", "a,", "))",
	"{{", "%{a}", "$", "^", "|a", "=>",
}

// hostileTexts returns texts of about size bytes. Some start with the example.
func hostileTexts(example string, size int) (texts []func() string) {
	fill := func(head, unit string) {
		if unit != "" {
			texts = append(texts, func() string { return head + strings.Repeat(unit, max(1, (size-len(head))/len(unit))) })
		}
	}
	for _, u := range units {
		fill("", u)
	}
	fill("", example)
	fill("", example+" ")
	fill("", example+"\n")
	fill(example, "a")
	seen := map[byte]bool{}
	for i := 0; i < len(example) && len(seen) < 10; i++ {
		if c := example[i]; !isWord(c) && !seen[c] {
			seen[c] = true
			head := example[:i+1]
			fill(head, string(c))
			fill(head, "a")
			fill(head, "a"+string(c))
			fill(head, "@")
			fill(head, "1")
		}
	}
	return texts
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// hostileValues returns values of a kind: texts and containers of about size bytes, and numbers.
func hostileValues(k kind.Kind, example string, size int) (list []func() value.Value) {
	if k.Has(kind.StringBit) {
		for _, s := range hostileTexts(example, size) {
			list = append(list, func() value.Value { return value.NewString(s()) })
		}
	}
	add := func(values ...value.Value) {
		for _, v := range values {
			list = append(list, func() value.Value { return v })
		}
	}
	if k.Has(kind.IntegerBit) {
		for _, i := range []int64{math.MaxInt64, math.MinInt64, -1, 1 << 32, 1 << 20} {
			add(value.NewInt(i))
		}
	}
	if k.Has(kind.FloatBit) {
		add(value.NewFloat(math.MaxFloat64), value.NewFloat(5e-324), value.NewFloat(-math.MaxFloat64))
	}
	if k.Has(kind.ArrayBit) {
		add(hostileArrays(size)...)
	}
	if k.Has(kind.ObjectBit) {
		add(hostileObjects(size)...)
	}
	add(deepValues()...)
	return list
}

// made caches the result of f for each size.
func made(f func(int) []value.Value) func(int) []value.Value {
	sizes := map[int][]value.Value{}
	return func(size int) []value.Value {
		if sizes[size] == nil {
			sizes[size] = f(size)
			for _, v := range sizes[size] {
				v.Freeze()
			}
		}
		return sizes[size]
	}
}

var (
	hostileArrays  = made(makeArrays)
	hostileObjects = made(makeObjects)
)

func makeArrays(size int) (list []value.Value) {
	array := func(n int, f func(i int) value.Value) {
		a := make([]value.Value, n)
		for i := range a {
			a[i] = f(i)
		}
		list = append(list, value.NewArray(a))
	}
	array(size/8, func(i int) value.Value { return value.NewInt(int64(i)) })
	array(size/8, func(i int) value.Value { return value.NewInt(int64(-i % 7)) })
	array(size/8, func(int) value.Value { return value.Value{} })
	array(size/8, func(i int) value.Value { return value.NewString(fmt.Sprint("k", i)) })
	array(size/8, func(int) value.Value { return value.NewString("a") })
	array(1000, func(i int) value.Value { return value.NewString(strings.Repeat("a", size/1000) + fmt.Sprint(i)) })
	array(size/64, func(i int) value.Value {
		return value.NewArray([]value.Value{value.NewString(fmt.Sprint("k", i)), value.NewInt(int64(i))})
	})
	array(1000, func(int) value.Value {
		inner := make([]value.Value, size/8000)
		for i := range inner {
			inner[i] = value.NewInt(int64(i))
		}
		return value.NewArray(inner)
	})
	array(size/64, func(i int) value.Value {
		return value.ObjectOf(value.Field{Key: "key", Value: value.NewString(fmt.Sprint(i))},
			value.Field{Key: "value", Value: value.NewInt(1)})
	})
	return list
}

func makeObjects(size int) (list []value.Value) {
	object := func(n int, f func(i int) value.Value) {
		o := value.MakeFields(n)
		for i := range n {
			o.Add(fmt.Sprintf("%08d", i), f(i))
		}
		list = append(list, o.Value())
	}
	object(size/16, func(i int) value.Value { return value.NewInt(int64(i)) })
	object(size/16, func(int) value.Value { return value.Value{} })
	object(1000, func(int) value.Value { return value.NewString(strings.Repeat("a ", size/2000)) })
	object(size/64, func(int) value.Value {
		return value.ObjectOf(value.Field{Key: "a", Value: value.NewInt(1)}, value.Field{
			Key:   "b",
			Value: value.ObjectOf(value.Field{Key: "c", Value: value.NewString("d")}),
		})
	})
	object(size/64, func(int) value.Value {
		return value.NewArray([]value.Value{value.NewString("a b"), value.NewInt(1)})
	})
	o := value.MakeFields(1000)
	for i := range 1000 { // long keys
		o.Add(strings.Repeat("k.", size/2000)+fmt.Sprintf("%04d", i), value.NewInt(1))
	}
	return append(list, o.Value())
}

// deepValues returns values with the deepest nesting that a host allows.
func deepValues() []value.Value {
	a, o := value.NewInt(1), value.NewInt(1)
	for range 120 {
		a = value.NewArray([]value.Value{a})
		o = value.ObjectOf(value.Field{Key: "a", Value: o})
	}
	return []value.Value{a, o}
}

// cost is the time and memory of a call, and the steps and bytes that it was charged.
type cost struct {
	time         time.Duration
	allocated    int
	steps, bytes int
}

// excess describes how the cost exceeds the charge. free is the share of the uncharged time and memory to allow.
func (c cost) excess(free float64) string {
	if most := time.Duration(free*float64(freeTime)) + time.Duration(c.steps)*timePerStep; c.time > most {
		return fmt.Sprintf("takes %v for %d steps (%d bytes), at most %v is allowed", c.time, c.steps, c.bytes, most)
	}
	if most := int(free*freeBytes) + bytesPerByte*c.bytes; c.allocated > most {
		return fmt.Sprintf("allocates %d bytes, having reserved %d (%d steps), at most %d is allowed", c.allocated, c.bytes,
			c.steps, most)
	}
	return ""
}

// measure runs a program on the event {"h": v} with the budget of a long record.
func measure(t *testing.T, p *vrl.Program, v value.Value) cost {
	t.Helper()
	budget := fn.Budget{Steps: 1 << 30, Bytes: vrl.DefaultBudget.Bytes}
	var m fn.Meter
	m.Start(nil, 0)
	_ = m.Begin(budget)
	event := value.ObjectOf(value.Field{Key: "h", Value: v})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	watch := vrltest.StartWatch(t)
	_, err := p.RunMetered(&m, &event, nil)
	c := cost{time: watch.Took(t)}
	runtime.ReadMemStats(&after)
	if err != nil && strings.Contains(err.Error(), "internal error") {
		t.Fatal(err)
	}
	c.allocated = int(after.TotalAlloc - before.TotalAlloc)
	if err != nil && strings.Contains(err.Error(), "budget of bytes") {
		m.Record.Bytes = 0 // a call that would exceed the budget ended the run
	}
	c.steps, c.bytes = budget.Steps-m.Record.Steps, budget.Bytes-m.Record.Bytes
	return c
}

// TestFunctionsPayForTheirWork calls every function with hostile arguments of 1 MB and 2 MB. It fails for a
// function without any call that compiles.
//
// All arguments are tried with 64 KB first. Those that take more than a sixteenth of the allowed cost there, and
// some others, are tried with the full sizes.
func TestFunctionsPayForTheirWork(t *testing.T) {
	const screen = 64 << 10
	sizes := []int{1 << 20, 2 << 20}
	if testing.Short() || raceEnabled {
		sizes = nil
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	for _, f := range stdlib.All() {
		if f.Needs != 0 {
			continue // not permitted in a server
		}
		t.Run(f.Name, func(t *testing.T) {
			compiled, faults := 0, 0
			for _, c := range hostileCalls(t, f) {
				p, _, err := vrl.Compile(c.source, vrl.Options{})
				if err != nil {
					continue
				}
				compiled++
				begin := time.Now()
				for i, small := range hostileValues(c.kind, c.text, screen) {
					if time.Since(begin) > time.Second/5 && i%17 != 0 {
						continue // of the slow functions, some are enough
					}
					text := excess(t, p, small(), 1./16)
					if text == "" && (i >= 1 || compiled > 1) {
						continue
					}
					for _, size := range sizes {
						v := hostileValues(c.kind, c.text, size)[i]()
						if text = excess(t, p, v, 1); text != "" {
							t.Errorf("%s on %s of %d bytes: %s", c.source, shown(v), size, text)
							if faults++; faults > 4 {
								t.FailNow()
							}
							break
						}
					}
				}
			}
			if compiled == 0 && dynamic(f) {
				t.Errorf("no call of %s compiles: give it an example whose arguments may be replaced by .h", f.Name)
			}
		})
	}
}

// excess measures a program up to three times, because the garbage collector may run on our thread.
func excess(t *testing.T, p *vrl.Program, v value.Value, free float64) (text string) {
	t.Helper()
	for range 3 {
		if text = measure(t, p, v).excess(free); text == "" {
			break
		}
	}
	return text
}

// dynamic reports whether a function has an argument that may come from a record.
func dynamic(f *fn.Function) bool {
	return slices.ContainsFunc(f.Params, func(p fn.Param) bool { return !p.Constant && !p.Target })
}

func shown(v value.Value) string {
	if v.IsString() {
		return fmt.Sprintf("%.60q…", v.Str())
	}
	return fmt.Sprintf("an %s of %d, as %.60s…", v.Kind(), v.Len(), value.AppendJSON(nil, v))
}

// TestNodesOfYAMLArePaidFor parses a list of half a million short scalars. The parser allocates about 250 bytes
// for each before the function gets any.
func TestNodesOfYAMLArePaidFor(t *testing.T) {
	p, _, err := vrl.Compile("x = parse_yaml!(string!(.h))", vrl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := "[" + strings.Repeat("a,", 1<<19-2) + "a]"
	for _, v := range []string{text, text[:len(text)-1]} { // complete, and without its end
		if s := excess(t, p, value.NewString(v), 1); s != "" {
			t.Errorf("parse_yaml of %d bytes: %s", len(v), s)
		}
	}
}
