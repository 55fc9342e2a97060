package lines

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cordwood/router/loki/logql"
	"cordwood/router/loki/translate"
)

func pipeline(t *testing.T, query string) *Pipeline {
	t.Helper()
	log, err := logql.ParseLog(query)
	if err != nil {
		t.Fatal(err)
	}
	return New(log)
}

// TestTemplatesAreBounded checks that no template makes a text larger than maxText.
func TestTemplatesAreBounded(t *testing.T) {
	longer := "| Replace `a` `" + strings.Repeat("a", 200) + "` "
	for _, stage := range []string{
		"line_format \"{{.app " + strings.Repeat(longer, 3) + "}}\"",
		"line_format \"" + strings.Repeat("{{__line__}}", 5) + "\"",
		"label_format x=\"{{.app " + strings.Repeat(longer, 3) + "}}\"",
	} {
		line := strings.Repeat("b", 1<<20)
		e := &Entry{Line: line, Labels: map[string]string{"app": "aaaa"}}
		if kept, err := pipeline(t, "{app=\"x\"} | "+stage).Run(t.Context(), e); !kept || err != nil {
			t.Errorf("%s: the entry is filtered out: %v", stage[:30], err)
		}
		if e.Line != line || e.Get("x") != "" || e.Get(translate.ErrorLabel) != translate.TemplateError {
			t.Errorf("%s: a line of %d bytes, label of %d, error %q", stage[:30], len(e.Line), len(e.Get("x")),
				e.Get(translate.ErrorLabel))
		}
	}
	e := &Entry{Line: "b", Labels: map[string]string{"app": "aaaa"}}
	if _, err := pipeline(t, "{app=\"x\"} | line_format \"{{.app "+longer+"}}\"").Run(t.Context(), e); len(e.Line) != 800 {
		t.Errorf("a line of %d bytes, want 800: %v", len(e.Line), err)
	}
}

// TestDeepLinesAreBounded checks that the memory of a line does not grow with the square of its depth.
func TestDeepLinesAreBounded(t *testing.T) {
	const depth = 9000
	line := strings.Repeat(`{"a":1,"b":`, depth) + "1" + strings.Repeat("}", depth)
	fields, ok := JSONFields(line + " ")
	size := 0
	for _, f := range fields {
		size += len(f.Name) + 16*len(f.Path)
	}
	if !ok || len(fields) != maxDepth || size > 1<<17 {
		t.Errorf("%v, %d fields of %d bytes", ok, len(fields), size)
	}
	fields, _ = JSONFields(`{"a":{"b":{"c":[{"d":1}],"e":2}},"f":"g"}`)
	if len(fields) != 2 || fields[0].Name != "a_b_e" || fields[1].Name != "f" {
		t.Errorf("%v", fields)
	}
}

// ending is a context that is done after some calls of Err.
type ending struct {
	context.Context
	left int
}

func (c *ending) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestRunEndsWithItsContext checks that neither many stages nor many paths of a stage go on when the context is done.
func TestRunEndsWithItsContext(t *testing.T) {
	for _, query := range []string{
		`{app="x"}` + strings.Repeat(" | logfmt", 50),
		`{app="x"} | json a="a"` + strings.Repeat(`, a="a"`, 50),
	} {
		p := pipeline(t, query)
		if kept, err := p.Run(&ending{t.Context(), 52}, &Entry{Line: `{"a":1}`}); !kept || err != nil {
			t.Errorf("%.30s: %v, %v", query, kept, err)
		}
		if kept, err := p.Run(&ending{t.Context(), 10}, &Entry{Line: `{"a":1}`}); kept || !errors.Is(err, context.Canceled) {
			t.Errorf("%.30s: %v, %v although the context is done", query, kept, err)
		}
	}
}
