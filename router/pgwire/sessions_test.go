package pgwire

import (
	"context"
	"testing"

	"cordwood/router/access/token"
)

// TestSessionsAreDescribed checks the descriptions of sessions while a statement runs, in a transaction, and
// after the end.
func TestSessionsAreDescribed(t *testing.T) {
	f := start(t)
	c := f.connect(t, "application_name=report")
	idle := func(want string) {
		t.Helper()
		waitFor(t, func() bool {
			s := f.Sessions()
			return len(s) == 1 && s[0].State == want && s[0].QueryId == ""
		})
	}
	idle("idle")
	if s := f.Sessions()[0]; s.Pid != c.PID() || s.Principal != "ann" || s.ApplicationName != "report" ||
		s.Database != "public" || s.Address != "127.0.0.1" || s.SinceUnixNano == 0 || s.QueryUnixNano != 0 {
		t.Errorf("an idle session: %v", s)
	}
	done := make(chan error, 1)
	go func() {
		_, _, err := exec(t, c, "BEGIN; SELECT wait")
		done <- err
	}()
	<-f.service.waiting
	s := f.Sessions()[0]
	f.service.mu.Lock()
	id := f.service.requests[0].QueryID
	f.service.mu.Unlock()
	if s.State != "active" || id == "" || s.QueryId != id || s.Query != "SELECT wait" || s.QueryUnixNano == 0 {
		t.Errorf("with a statement: %v", s)
	}
	f.Cancel(c.PID(), f.byPID[c.PID()].key)
	if err := <-done; state(err) != "57014" {
		t.Errorf("canceled: %v", err)
	}
	idle("idle in transaction (aborted)")
	if _, _, err := exec(t, c, "ROLLBACK; BEGIN; SET application_name = 'other'"); err != nil {
		t.Fatal(err)
	}
	idle("idle in transaction")
	if _, _, err := exec(t, c, "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	idle("idle in transaction") // the query has ended
	if s := f.Sessions()[0]; s.ApplicationName != "other" {
		t.Errorf("after SET: %v", s)
	}
	text, id := token.New()
	if _, _, err := exec(t, c, "SET application_name = 'grafana "+text+"'"); err != nil {
		t.Fatal(err)
	}
	if s := f.Sessions()[0]; s.ApplicationName != "grafana "+token.Name(id)+"_…" {
		t.Errorf("with the secret of a token: %v", s)
	}
	_ = c.Close(t.Context())
	waitFor(t, func() bool { return len(f.Sessions()) == 0 })
}

// TestCancelElsewhere checks that a request with the process id of another node is passed on, and is counted as wrong
// if that node does not accept it.
func TestCancelElsewhere(t *testing.T) {
	asked := make(chan [2]uint32, 1)
	good := false
	f := start(t, func(cfg *Config) {
		cfg.CancelElsewhere = func(ctx context.Context, pid, key uint32) bool {
			if _, limited := ctx.Deadline(); !limited {
				t.Error("there is no time limit")
			}
			asked <- [2]uint32{pid, key}
			return good
		}
	})
	c := f.connect(t, "")
	for _, good = range []bool{true, false} {
		if !MayServe("node-1", c.PID()) || MayServe("node-1", c.PID()^1<<30) {
			t.Error("the process id does not tell its node")
		}
		if f.cancelAnywhere(c.PID()^1<<30, 7) != good {
			t.Errorf("the answer is not %v", good)
		}
		if got := <-asked; got != [2]uint32{c.PID() ^ 1<<30, 7} {
			t.Errorf("asked for %v", got)
		}
	}
	if !f.cancelAnywhere(c.PID(), f.byPID[c.PID()].key) {
		t.Error("the own connection is not found")
	}
}
