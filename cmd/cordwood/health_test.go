package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHealth(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ready" {
			asked++
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"code":4009,"error":"not ready: waiting for others"}`)
		}
	}))
	defer s.Close()
	for _, c := range []struct {
		args []string
		want string // of the error
	}{{[]string{"health"}, ""}, {[]string{"health", "--ready"}, "waiting for others"}} {
		var out strings.Builder
		root := newRootCommand()
		root.SetArgs(append(c.args, "--server", s.URL))
		root.SetOut(&out)
		err := root.Execute()
		if c.want == "" && (err != nil || out.String() != "ok\n") ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %q, %v", c.args, out.String(), err)
		}
	}
	if asked != 1 {
		t.Errorf("a node that is not ready was asked %d times", asked)
	}
}
