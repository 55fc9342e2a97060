package metaclient

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// TestNobodyLeads checks that a call fails after it has asked every member once if there has been
// no leader for longer than an election takes, and that it succeeds as soon as a member leads.
func TestNobodyLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMembers(Config{
			Members: func() []string { return []string{"n1", "n2", "n3"} }, TryTimeout: 2 * time.Second,
			Dial: func(string) (grpc.ClientConnInterface, error) { return nil, nil },
		})
		leads := false
		call := func() (time.Duration, error) {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			err := m.ask(ctx, "make a table", true, func(context.Context, metapb.MetaClient) error {
				if leads {
					return nil
				}
				return errs.New(errs.ShardNotReady, "it does not lead").WithLeader("")
			})
			return time.Since(began), err
		}
		if took, err := call(); err == nil || took < lostAfter {
			t.Errorf("the first call gave up after %v, during an election: %v", took, err)
		}
		took, err := call()
		if e := errs.From(err); took > time.Second || e.Code != errs.ShardNotReady || e.RetryAfter == 0 ||
			!strings.Contains(err.Error(), "has had no leader for") {
			t.Errorf("a call while nobody leads took %v: %v", took, err)
		}
		leads = true
		if took, err := call(); err != nil || took > time.Second {
			t.Errorf("a call after somebody leads took %v: %v", took, err)
		}
		leads = false
		if took, _ := call(); took < lostAfter {
			t.Errorf("a call gave up after %v, when the leader had been lost a moment ago", took)
		}
	})
}

// TestAloneAndSilent checks the error of a call that the only member does not answer: it must state that the log may
// wait for disk space, and that the call may have been executed.
func TestAloneAndSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMembers(Config{
			Members: func() []string { return []string{"n1"} }, TryTimeout: 2 * time.Second,
			Dial: func(string) (grpc.ClientConnInterface, error) { return nil, nil },
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := m.ask(ctx, "drop a table", true, func(ctx context.Context, _ metapb.MetaClient) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if e := errs.From(err); e.Status() != 503 || e.RetryAfter == 0 || e.Reason != errs.OutcomeUnknown ||
			!strings.Contains(err.Error(), "disk") {
			t.Errorf("the call says %v (%+v)", err, e)
		}
	})
}
