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

// TestUnauthorized checks that the advice depends on what was sent.
func TestUnauthorized(t *testing.T) {
	for want, e := range map[string]Error{
		"no user or token was sent (server answered 401, code 7003); give --user NAME:PASSWORD or --token TOKEN, or set " +
			"CORDWOOD_USER or CORDWOOD_TOKEN": {Code: 7003, Msg: "Not found http or grpc authorization header"},
		"wrong (server answered 401, code 7002); check the user and password, or the token, that were given by a flag or " +
			"by CORDWOOD_USER or CORDWOOD_TOKEN": {Code: 7002, Msg: "wrong", credentials: true},
		"wrong (server answered 401, code 7002)": {Code: 7002, Msg: "wrong", Path: bootstrapPath},
	} {
		e.Status = 401
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
