package write

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// TestEqualDemandsShareACommand checks that a table that appears in many concurrent requests costs one command, and
// each other table costs one more.
func TestEqualDemandsShareACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := newFakeMeta(), &fakeShards{}
		m.hold = make(chan struct{})
		w := newWriter(t, m, s)
		const requests, tables = 1000, 3
		failed := make(chan error, requests)
		for i := range requests {
			go func() {
				_, err := w.Write(t.Context(), output(rows(fmt.Sprint("t", i%tables), 1, field("a", schema.Int64))))
				failed <- err
			}()
		}
		synctest.Wait() // returns when every request waits for a command
		close(m.hold)
		for range requests {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		if m.ensured != tables {
			t.Errorf("%d commands for %d tables", m.ensured, tables)
		}
		if s.rows() != requests {
			t.Errorf("%d rows", s.rows())
		}
	})
}

// TestCommandOutlivesItsFirstRequest cancels the request that started a command. The other requests that wait for the
// command must succeed.
func TestCommandOutlivesItsFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := newFakeMeta(), &fakeShards{}
		m.hold = make(chan struct{})
		w := newWriter(t, m, s)
		write := func(ctx context.Context) <-chan error {
			failed := make(chan error, 1)
			go func() {
				_, err := w.Write(ctx, output(rows("t", 1, field("a", schema.Int64))))
				failed <- err
			}()
			synctest.Wait()
			return failed
		}
		ctx, cancel := context.WithCancel(t.Context())
		first, second := write(ctx), write(t.Context())
		cancel()
		if err := <-first; errs.CodeOf(err) != errs.Cancelled {
			t.Errorf("the first request: %v", err)
		}
		close(m.hold)
		if err := <-second; err != nil || m.ensured != 1 {
			t.Errorf("the second request: %v, after %d commands", err, m.ensured)
		}
	})
}

// TestOnlyRefusedDemandFails checks that a refused demand does not affect demands that arrived at the same time.
func TestOnlyRefusedDemandFails(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	w := newWriter(t, m, s)
	var wg sync.WaitGroup
	failed := make([]error, 20)
	for i := range failed {
		wg.Go(func() {
			r := rows(fmt.Sprint("t", i), 1, field("a", schema.Int64))
			r.NoCreate = i%5 == 0
			_, failed[i] = w.Write(t.Context(), output(r))
		})
	}
	wg.Wait()
	for i, err := range failed {
		if (err != nil) != (i%5 == 0) {
			t.Errorf("request %d: %v", i, err)
		}
	}
}

// TestQuotaRefusalsAreRemembered: clients that send again and again to a table beyond a quota cost the metadata group
// one command until the metadata change.
func TestQuotaRefusalsAreRemembered(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	m.full = true
	w := newWriter(t, m, s)
	for i := range 5 {
		name := fmt.Sprint("none", i/2) // other names are refused as well
		_, err := w.Write(t.Context(), output(rows(name, 1, field("a", schema.Int64))))
		e := errs.From(err)
		if err == nil || e.Status() != 429 || e.RetryAfter != time.Minute || e.Quota == nil || e.Quota.Limit != 3 ||
			!strings.Contains(e.Msg, name) {
			t.Fatal(err)
		}
	}
	if m.ensured != 1 {
		t.Errorf("%d commands for what is refused", m.ensured)
	}
}

// TestRefusalsAreRemembered checks that a refusal is remembered until the metadata changes.
func TestRefusalsAreRemembered(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	w := newWriter(t, m, s)
	try := func() error {
		r := rows("none", 1, field("a", schema.Int64))
		r.NoCreate = true
		_, err := w.Write(t.Context(), output(r))
		return err
	}
	for range 5 {
		if err := try(); errs.CodeOf(err) != errs.InvalidArguments {
			t.Fatal(err)
		}
	}
	if m.ensured != 1 {
		t.Errorf("%d commands for what is refused", m.ensured)
	}
	if _, err := w.Write(t.Context(), output(rows("none", 1, field("a", schema.Int64)))); err != nil {
		t.Fatal(err)
	}
	if err := try(); err != nil {
		t.Errorf("after somebody made the table: %v", err)
	}
}
