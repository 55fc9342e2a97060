package pgwire

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cordwood/proto/metapb"
)

// TestEndSessions checks that a statement, and a session, is ended by another session of the user, and not by one of
// another user who may not operate the server.
func TestEndSessions(t *testing.T) {
	f := start(t, withUsers(t, "ann=secret,bob:ro=secret"))
	own := f.connect(t, "user=ann password=secret")
	victim := f.connect(t, "user=ann password=secret")
	other := f.connect(t, "user=bob password=secret")
	call := func(name string) string { return fmt.Sprintf("SELECT %s(%d)", name, victim.PID()) }
	for _, tt := range []struct{ call, state string }{
		{call("pg_cancel_backend"), "57014"},
		{call("pg_terminate_backend"), "57014"},
	} {
		done := make(chan error, 1)
		go func() {
			_, _, err := exec(t, victim, "SELECT pg_sleep(3600)")
			done <- err
		}()
		waitFor(t, func() bool {
			return slices.ContainsFunc(f.Sessions(), func(s *metapb.ClientSession) bool {
				return s.Pid == victim.PID() && s.QueryId != "" && strings.Contains(s.Query, "pg_sleep")
			})
		})
		if _, _, err := exec(t, other, tt.call); state(err) != "42501" ||
			!strings.Contains(err.Error(), "is not yours") {
			t.Errorf("%s of another user: %v", tt.call, err)
		}
		if _, _, err := exec(t, own, tt.call); err != nil {
			t.Errorf("%s: %v", tt.call, err)
		}
		if err := <-done; state(err) != tt.state {
			t.Errorf("the statement ended with %v", err)
		}
		f.service.mu.Lock()
		text := f.service.requests[len(f.service.requests)-1].Texts[0]
		f.service.mu.Unlock()
		if text != tt.call {
			t.Errorf("the last request is %q", text)
		}
	}
	waitFor(t, func() bool { return len(f.Sessions()) == 2 })
	for _, tt := range []struct{ sql, state string }{
		{fmt.Sprintf("SELECT pg_cancel_backend(%d)", own.PID()), "57014"},
		{"SELECT pg_terminate_backend(pid) FROM logs", "0A000"},
		{"SELECT pg_sleep(1) FROM logs", "0A000"},
		{"SET statement_timeout = '1ms'; SELECT pg_sleep(3600)", "57014"},
		{"SET statement_timeout = 0; SELECT pg_cancel_backend(1)", ""},
		{"EXPLAIN SELECT pg_sleep(3600)", ""},
		{fmt.Sprintf("SELECT pg_terminate_backend(%d)", other.PID()), ""},
		{fmt.Sprintf("SELECT pg_terminate_backend(%d)", own.PID()), "57P01"},
	} {
		if _, _, err := exec(t, own, tt.sql); state(err) != tt.state {
			t.Errorf("%s: %v", tt.sql, err)
		}
	}
	waitFor(t, func() bool { return len(f.Sessions()) == 0 })
}
