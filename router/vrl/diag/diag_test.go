package diag

import (
	"slices"
	"testing"
)

func TestRender(t *testing.T) {
	const source = "é = 1\n\tx = foo(a, b)\n"
	d := New(110, "invalid argument type", Span{16, 17}, "this is a").
		With(Span{8, 9}, "for this").With(Span{19, 20}, "and this").
		Note("first\nof two lines").Note("second")
	const want = `error[E110]: invalid argument type
  ┌─ p.vrl:2:10
  │
2 │  x = foo(a, b)
  │  -       ^  - and this
  │          this is a
  │  for this
  │
  = first
    of two lines
  = second
`
	if got := Render("p.vrl", source, []*Diagnostic{d}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Positions at the end of a text, in the middle of lines, and spanning several lines.
func TestRenderAnywhere(t *testing.T) {
	const source = "a\nbc\n\nd"
	for start := 0; start <= len(source); start++ {
		for end := start; end <= len(source); end++ {
			d := New(1, "m", Span{start, end}, "label").With(Span{end, len(source)}, "other")
			if Render("", source, []*Diagnostic{d}) == "" {
				t.Fatal("nothing rendered")
			}
		}
	}
	if got := Render("", "", []*Diagnostic{New(1, "m", Span{}, "")}); got == "" {
		t.Error("nothing rendered")
	}
}

func TestPosition(t *testing.T) {
	for at, want := range map[int][2]int{0: {1, 1}, 2: {1, 2}, 4: {2, 1}, 99: {2, 2}} {
		if line, column := Position("éa\nb", at); line != want[0] || column != want[1] {
			t.Errorf("%d: got %d:%d, want %d:%d", at, line, column, want[0], want[1])
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"parse_json", "parse_xml", "upcase", "del"}
	for in, want := range map[string]string{
		"parse_jsn": "parse_json", "upcas": "upcase", "de": "del", "completely_else": "", "x": "",
	} {
		if got, _ := Nearest(in, slices.Values(names)); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}
