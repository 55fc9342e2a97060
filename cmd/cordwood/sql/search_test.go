package sql

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestSearch checks that \search prints and runs the statement that the server returns for a search.
func TestSearch(t *testing.T) {
	var asked, ran []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/v1/explore/compile" {
			asked = append(asked, string(body))
			if strings.Contains(string(body), "lvel") {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"code":4002,"error":"there is no field lvel; did you mean level"}`)
				return
			}
			_, _ = io.WriteString(w, `{"sql":"SELECT * FROM app WHERE level = 'error'"}`)
			return
		}
		ran = append(ran, string(body))
		fmt.Fprintln(w, "found")
	}))
	defer s.Close()
	p, _, out, errOut := newPrompt(t, s.URL,
		`\search app level:error "disk full";x`, `\search "a b".c`, `\search app lvel:x`, `\search`, `\search a.b.c.d x`)
	if err := p.loop(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"db":"public","query":"level:error \"disk full\";x","tables":["app"]}`,
		`{"db":"a b","query":"","tables":["c"]}`,
		`{"db":"public","query":"lvel:x","tables":["app"]}`,
	}
	if got := strings.Join(asked, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("asked for\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if len(ran) != 2 || ran[0] != "SELECT * FROM app WHERE level = 'error'" {
		t.Errorf("ran %q", ran)
	}
	if strings.Count(out.String(), "found") != 2 {
		t.Errorf("output %s", out)
	}
	for _, text := range []string{
		"SELECT * FROM app WHERE level = 'error'", "did you mean level", "give the table", "more than one dot",
	} {
		if !strings.Contains(errOut.String(), text) {
			t.Errorf("the terminal does not have %q: %s", text, errOut)
		}
	}
}
