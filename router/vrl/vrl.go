// Package vrl implements VRL, a language for changing log records. Compile checks and compiles a program, and
// Program.Run runs it on one record.
//
// The language is independent: this package and the packages below it import nothing else of the project. In
// Options, the host decides what a program can access besides its record. By default that is nothing, and its
// time and memory are limited.
//
// A Program is immutable and may be run by any number of goroutines. The values of a run belong to one goroutine;
// package value has the rules.
package vrl

import (
	"log/slog"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"cordwood/router/vrl/compile"
	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/stdlib"
	"cordwood/router/vrl/syntax"
	"cordwood/router/vrl/value"
)

// Options are the settings for compiling a program. The zero value grants no permissions, and records are objects
// with any fields.
type Options struct {
	// Event and Meta are the kinds of the records and of their metadata. By default they are objects with any
	// fields.
	Event, Meta kind.Kind
	// ReadOnly lists the paths that the program must not change.
	ReadOnly []compile.ReadOnly
	// Record means that the program's value replaces the record, as in a pipeline. Then a program that ends with
	// another value gets a warning.
	Record bool
	// Zone is the zone of times without an offset. The default value is UTC.
	Zone *time.Location
	// Grants are the permissions of the program. By default it has none.
	Grants fn.Grant
	// Logger receives the messages of the function log. By default they are discarded.
	Logger *slog.Logger
	// Now is the clock. The default value is time.Now.
	Now func() time.Time
	// Budget limits each run. The default value is DefaultBudget.
	Budget fn.Budget
	// Functions are the functions that the program may call. The default value is stdlib.All.
	Functions []*fn.Function
}

// DefaultBudget is far more than programs for log records need.
var DefaultBudget = fn.Budget{Steps: 2_000_000, Bytes: 64 << 20}

// A Program is a compiled program.
type Program struct {
	code   *compile.Code
	host   *fn.Host
	budget fn.Budget
	frames sync.Pool
	source string
	places sync.Map // line and column of calls that failed, by *fn.Site
}

// Diagnostics is the error for a source that does not compile. It has all findings.
type Diagnostics struct {
	Source string
	List   []*diag.Diagnostic
}

// Error returns the headlines of all findings with their positions, on one line.
func (d *Diagnostics) Error() string {
	texts := make([]string, len(d.List))
	for i, x := range d.List {
		texts[i] = x.String()
		if len(x.Labels) > 0 {
			line, column := diag.Position(d.Source, x.Labels[0].Span.Start)
			texts[i] += " (line " + itoa(line) + ", column " + itoa(column) + ": " + x.Labels[0].Text + ")"
		}
	}
	return strings.Join(texts, "; ")
}

// A Finding is a finding formatted for display.
type Finding struct {
	// Line and Column are the start of the faulty part of the program, and EndLine and EndColumn the position after
	// its last character, from 1; 0 if it is unknown.
	Line, Column, EndLine, EndColumn int
	// Headline is one line. Excerpt has the faulty lines, an explanation and hints on several lines, or is empty.
	Headline, Excerpt string
}

// maxExcerpt limits an excerpt in bytes, because lines of programs may be long.
const maxExcerpt = 4 << 10

// Findings returns up to n findings, the first ones.
func (d *Diagnostics) Findings(n int) []Finding {
	var out []Finding
	for _, x := range d.List[:min(n, len(d.List))] {
		f := Finding{Headline: x.String()}
		if len(x.Labels) > 0 {
			f.Line, f.Column = diag.Position(d.Source, x.Labels[0].Span.Start)
			f.EndLine, f.EndColumn = diag.Position(d.Source, x.Labels[0].Span.End)
		}
		text := diag.Render("program", d.Source, []*diag.Diagnostic{x})
		if _, rest, _ := strings.Cut(text, "\n"); len(rest) <= maxExcerpt {
			f.Excerpt = strings.TrimRight(rest, "\n")
		} else if len(x.Labels) > 0 { // without the line itself
			f.Headline += " (line " + itoa(f.Line) + ", column " + itoa(f.Column) + " of the program: " + x.Labels[0].Text + ")"
		}
		out = append(out, f)
	}
	return out
}

// Render returns the findings as text for people, with excerpts of the source. name is the name of the source's
// file and may be empty.
func (d *Diagnostics) Render(name string) string { return diag.Render(name, d.Source, d.List) }

var library = sync.OnceValue(func() map[string]*fn.Function { return index(stdlib.All()) })

func index(list []*fn.Function) map[string]*fn.Function {
	m := make(map[string]*fn.Function, len(list))
	for _, f := range list {
		m[f.Name] = f
	}
	return m
}

// Function returns a function of the library.
func Function(name string) (*fn.Function, bool) {
	f, ok := library()[name]
	return f, ok
}

// Functions returns all functions of the library, sorted by name.
func Functions() []*fn.Function {
	list := stdlib.All()
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// Compile compiles a program. Warnings are findings that do not prevent its use. The error is a *Diagnostics with
// all findings.
func Compile(source string, o Options) (p *Program, warnings []*diag.Diagnostic, err error) {
	return compileWith(source, o, nil)
}

func compileWith(source string, o Options,
	vars []compile.Variable,
) (p *Program, warnings []*diag.Diagnostic, err error) {
	host := &fn.Host{Zone: o.Zone, Grants: o.Grants, Logger: o.Logger, Now: o.Now}
	if host.Zone == nil {
		host.Zone = time.UTC
	}
	if host.Logger == nil {
		host.Logger = slog.New(slog.DiscardHandler)
	}
	if host.Now == nil {
		host.Now = time.Now
	}
	if o.Event.IsNever() {
		o.Event = kind.Object
	}
	if o.Meta.IsNever() {
		o.Meta = kind.Object
	}
	if o.Budget == (fn.Budget{}) {
		o.Budget = DefaultBudget
	}
	functions := library()
	if o.Functions != nil {
		functions = index(o.Functions)
	}
	defer func() {
		if r := recover(); r != nil {
			host.Logger.Error("vrl: compiling a program panicked", "panic", r)
			d := diag.New(610, "internal error: a function of the library failed unexpectedly", diag.Span{End: len(source)}, "")
			p, warnings, err = nil, nil, &Diagnostics{source, []*diag.Diagnostic{d}}
		}
	}()
	nodes, list := syntax.Parse(source)
	if len(list) > 0 {
		return nil, nil, &Diagnostics{source, list}
	}
	code, list := compile.Compile(nodes, compile.Config{
		Functions: functions, Host: host, Event: o.Event, Meta: o.Meta, ReadOnly: o.ReadOnly, Variables: vars,
	})
	if code == nil {
		return nil, nil, &Diagnostics{source, list}
	}
	if o.Record {
		list = append(list, recordWarning(code.Result, nodes)...)
	}
	p = &Program{code: code, host: host, budget: o.Budget, source: source}
	p.frames.New = func() any {
		return &fn.Frame{Slots: make([]value.Value, code.Slots), Places: make([]value.Cache, code.Places), Host: host}
	}
	return p, list, nil
}

// recordWarning returns a warning for a program whose value cannot be, or is often not, a record.
func recordWarning(result kind.Kind, nodes []syntax.Node) []*diag.Diagnostic {
	var text string
	switch {
	case result.Is(kind.NullBit):
		text = "this is always null, so every record is dropped"
	case !result.Has(kind.ObjectBit | kind.ArrayBit):
		text = "this is " + result.String() + ", which is not a record"
	case !result.Within(kind.ObjectBit|kind.ArrayBit|kind.NullBit) && !result.IsAny() && !result.OrUndefined().IsAny():
		text = "this may be " + result.String() + ", and only an object or an array of objects is a record"
	default:
		return nil
	}
	span := diag.Span{}
	if len(nodes) > 0 {
		span = nodes[len(nodes)-1].Span()
	}
	d := diag.New(900, "the program's value is not the record", span, text)
	d.Severity = diag.Warning
	return []*diag.Diagnostic{d.Note("the value of the last expression replaces the record: end the program with .")}
}

// PatternBytes estimates the memory of the program's patterns, in bytes.
func (p *Program) PatternBytes() int { return p.host.PatternBytes() }

// Result returns the kind of the program's value.
func (p *Program) Result() kind.Kind { return p.code.Result }

// Reason is why a run ended before the end of its program.
type Reason uint8

// The reasons.
const (
	// Failed: a call with ! failed.
	Failed Reason = iota
	// Aborted: the program called abort.
	Aborted
	// Exhausted: the run used up its budget.
	Exhausted
)

// Error is the reason why a run ended before the end of its program.
type Error struct {
	Reason Reason
	Text   string
	// Line is the line of the call that failed, from 1; 0 if no call failed.
	Line int
}

func (e *Error) Error() string { return e.Text }

// place formats the position of a call. It is computed once for each call, because millions of records may fail
// and programs may be long.
func (p *Program) place(s *fn.Site) string {
	if text, ok := p.places.Load(s); ok {
		return text.(string)
	}
	line, column := diag.Position(p.source, s.Start)
	text := "line " + itoa(line) + ", column " + itoa(column)
	p.places.Store(s, text)
	return text
}

// line returns the line of a call, or 0 if s is nil. It is computed once, like place.
func (p *Program) line(s *fn.Site) int {
	if s == nil {
		return 0
	}
	line, _, _ := strings.Cut(strings.TrimPrefix(p.place(s), "line "), ",")
	n, _ := strconv.Atoi(line)
	return n
}

// maxValues limits the number of values in an event after a run.
const maxValues = 4 << 20

// Run runs the program on a record and its metadata, which may be nil, and returns the program's value. Both are
// changed in place. After an error they are as the run left them.
//
// The value may contain containers of the record. Strings in it and in the record may be parts of the previous
// strings or of the program. The error is an *Error.
func (p *Program) Run(event, meta *value.Value) (value.Value, error) {
	return p.RunMetered(nil, event, meta)
}

// RunMetered is Run for a record of a request whose work m limits: the run uses the budget of m for the record
// instead of Options.Budget. If m ends the run, the Error has the reason Exhausted, and m.Err says why. If m is
// nil, RunMetered is the same as Run.
func (p *Program) RunMetered(m *fn.Meter, event, meta *value.Value) (value.Value, error) {
	f := p.frames.Get().(*fn.Frame)
	v, err := p.run(f, m, event, meta)
	f.Release()
	p.frames.Put(f)
	return v, err
}

func (p *Program) run(f *fn.Frame, m *fn.Meter, event, meta *value.Value) (v value.Value, err error) {
	if meta == nil {
		none := value.NewObject(value.MakeFields(0))
		meta = &none
	}
	f.Reset(event, meta, p.budget)
	if m != nil {
		f.Meter(m)
	}
	defer func() {
		f.Settle()
		if r := recover(); r != nil {
			// A bug in a function of the library must not crash the server.
			p.host.Logger.Error("vrl: a program panicked", "panic", r)
			v, err = value.Value{}, &Error{Reason: Failed, Text: "internal error: a function of the library failed unexpectedly"}
		}
	}()
	v, ok := p.code.Run(f)
	if f.Stopped() == fn.Returned {
		v, ok = f.Result(), true
	}
	// The host must be able to traverse the value in reasonable time.
	if value.Size(*event, maxValues) == maxValues || ok && !v.Is(*event) && value.Size(v, maxValues) == maxValues {
		*event = value.NewObject(value.MakeFields(0))
		return value.Value{}, &Error{Reason: Exhausted, Text: "the program creates a value that is too large"}
	}
	if !ok {
		switch f.Stopped() {
		case fn.Aborted:
			return value.Value{}, &Error{Reason: Aborted, Text: f.Text()}
		case fn.Exhausted:
			return value.Value{}, &Error{Exhausted, f.TextFor(p.place), p.line(f.Failing())}
		default:
			return value.Value{}, &Error{Failed, f.TextFor(p.place), p.line(f.Failing())}
		}
	}
	return v, nil
}
