package parse

import (
	"time"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/grok"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

const grokFailed = "unable to parse input with grok pattern"

var parseGrok = &fn.Function{
	Name:  "parse_grok",
	Group: fn.Parse,
	Doc: "Searches the text with a grok pattern. A grok pattern is a regular expression in which " +
		"`%{NAME:field}` means a pattern of the built-in library, and stores the matching text in a field. " +
		"Fields that do not match are left out. The library has the same names as the library of Logstash.",
	Params: []fn.Param{
		fn.ValueParam("The text."),
		{Name: "pattern", Doc: "The pattern.", Kind: kind.String, Constant: true},
	},
	Returns:  kind.ObjectAll(kind.String),
	Fallible: true,
	Errors:   []string{"the pattern does not match", "a pattern with look-around takes more than 50 ms"},
	Examples: []fn.Example{
		{
			Title: "a line",
			Source: `parse_grok!("2024-10-02T23:22:12Z info ready", "%{TIMESTAMP_ISO8601:at} %{LOGLEVEL:level} ` +
				`%{GREEDYDATA:text}")`,
			Result: `{"at":"2024-10-02T23:22:12Z","level":"info","text":"ready"}`,
		},
		{Title: "no match", Source: `parse_grok!("ready", "%{INT:n}")`, Fails: grokFailed},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		source, ok := c.Const(1)
		if !ok {
			return fn.Impl{}, c.NotConstant(1)
		}
		var p *grok.Pattern
		err := c.Host.CompilePattern(func() (size int, err error) {
			if p, err = grok.Compile(source.Str()); err == nil {
				size = p.Size()
			}
			return size, err
		})
		if err != nil {
			return fn.Impl{}, c.Invalid(112, 1, "invalid grok pattern: %v", err)
		}
		return fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) { return runGrok(f, p, v.Text()) }}, nil
	},
}

// slowStep is the time on the backtracking engine that costs one step. Two aborted matches exhaust a budget.
const slowStep = 60 * time.Nanosecond

// matchGrok calls Pattern.Match and takes the cost from the budget: by the length of the text, or by the time on the
// backtracking engine.
func matchGrok(f *fn.Frame, p *grok.Pattern, dst []grok.Capture, s string) ([]grok.Capture, bool, error) {
	if !f.Spend(p.Cost(len(s))) {
		return dst, false, nil
	}
	if !p.Backtracks() {
		return p.Match(dst, s)
	}
	start := time.Now()
	list, ok, err := p.Match(dst, s)
	if !f.Spend(int(min(time.Since(start), grok.MaxTime) / slowStep)) {
		return dst, false, nil
	}
	return list, ok, err
}

// runGrok returns the fields of the first match. If several fields have the same name, the last field that matched is
// returned.
func runGrok(f *fn.Frame, p *grok.Pattern, s string) (value.Value, bool) {
	var room [16]grok.Capture
	list, ok, err := matchGrok(f, p, room[:0], s)
	if f.Stopped() == fn.Exhausted {
		return value.Value{}, false
	}
	if err != nil {
		return f.FailErr(grokFailed+": ", err)
	}
	if !ok {
		return f.Fail(grokFailed)
	}
	b := newFields(len(list))
	for _, c := range list {
		b.str(p.Fields()[c.Index], c.Text)
	}
	return b.value(), true
}
