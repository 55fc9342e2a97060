// Package vrltest runs tables of small programs for the tests of the language and its library.
package vrltest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"cordwood/router/vrl"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/value"
)

// A Case is a program and its expected result: exactly one of Want, CompileError and
// RunError is set, or WantEvent.
type Case struct {
	// Name describes what the case shows; empty means that the source is the name.
	Name   string
	Source string
	// Event and Meta are the inputs as JSON; empty means empty objects.
	Event, Meta string
	// Zone is the run's time zone; empty means UTC.
	Zone string
	// Want is the expected value as JSON, and WantEvent the expected event after the run.
	Want, WantEvent string
	// CompileError is a part of the expected report, such as "E103", and RunError a part of the run's error.
	CompileError, RunError string
	// Warning is a part of a warning, such as "E900".
	Warning string
	// Grants are the permissions of the program.
	Grants fn.Grant
	// Now is the time of the run; zero means the current time.
	Now time.Time
}

// Run runs each case as a subtest.
func Run(t *testing.T, cases []Case) {
	t.Helper()
	for _, c := range cases {
		name := c.Name
		if name == "" {
			name = c.Source
		}
		t.Run(name, func(t *testing.T) { c.run(t) })
	}
}

func (c *Case) run(t *testing.T) {
	t.Helper()
	p, warnings, err := vrl.Compile(c.Source, c.options(t))
	if err != nil {
		var d *vrl.Diagnostics
		if !errors.As(err, &d) {
			t.Fatalf("Compile returned a %T", err)
		}
		if text := d.Render(""); c.CompileError == "" || !strings.Contains(text, c.CompileError) {
			t.Fatalf("%s\ndoes not compile:\n%s", c.Source, text)
		}
		return
	}
	if c.CompileError != "" {
		t.Fatalf("%s\ncompiles; want an error with %q", c.Source, c.CompileError)
	}
	var texts []string
	for _, w := range warnings {
		texts = append(texts, w.String())
	}
	if all := strings.Join(texts, "\n"); !strings.Contains(all, c.Warning) {
		t.Errorf("warnings %q; want one with %q", all, c.Warning)
	}
	event, meta := parse(t, c.Event), parse(t, c.Meta)
	v, err := p.Run(&event, &meta)
	if err != nil {
		if c.RunError == "" || !strings.Contains(err.Error(), c.RunError) {
			t.Fatalf("%s\nfails: %v; want %q", c.Source, err, c.RunError)
		}
		return
	}
	if c.RunError != "" {
		t.Fatalf("%s\nresults in %s; want a failure with %q", c.Source, v, c.RunError)
	}
	if c.Want != "" {
		same(t, "result", v, c.Want)
	}
	if c.WantEvent != "" {
		same(t, "event", event, c.WantEvent)
	}
}

func (c *Case) options(t *testing.T) vrl.Options {
	t.Helper()
	o := vrl.Options{Grants: c.Grants}
	if c.Zone != "" {
		z, err := vrl.ParseZone(c.Zone)
		if err != nil {
			t.Fatal(err)
		}
		o.Zone = z
	}
	if !c.Now.IsZero() {
		o.Now = func() time.Time { return c.Now }
	}
	return o
}

func parse(t *testing.T, text string) value.Value {
	t.Helper()
	if text == "" {
		text = "{}"
	}
	v, err := value.ParseJSON(text, value.JSONOptions{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// same compares a value with JSON text, ignoring the order of keys.
func same(t *testing.T, what string, got value.Value, want string) {
	t.Helper()
	w := string(value.AppendJSON(nil, parse(t, want)))
	if g := string(value.AppendJSON(nil, got)); g != w {
		t.Errorf("%s\n got %s\nwant %s", what, g, w)
	}
}

// Text runs a program whose event has the string v in the field .v, and returns its result, which is a string.
func Text(t testing.TB, source, v string, budget fn.Budget) (string, error) {
	t.Helper()
	p, _, err := vrl.Compile(source, vrl.Options{Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	event := value.ObjectOf(value.Field{Key: "v", Value: value.NewString(v)})
	meta := value.ObjectOf()
	out, err := p.Run(&event, &meta)
	return out.Str(), err
}
