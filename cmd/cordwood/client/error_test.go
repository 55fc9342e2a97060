package client

import "testing"

// TestErrorWithExcerpt checks that the code is on the line below an excerpt of a program, or at the end of a message of
// one line.
func TestErrorWithExcerpt(t *testing.T) {
	for msg, want := range map[string]string{
		"no table t": "no table t (server answered 400, code 1004)",
		"not valid\n  │\n1 │ .a =\n  │    ^ unexpected end\n": "not valid\n  │\n1 │ .a =\n  │    ^ unexpected end\n" +
			"(server answered 400, code 1004)",
	} {
		if got := (&Error{Status: 400, Code: 1004, Msg: msg}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
