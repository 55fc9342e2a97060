package worker

import (
	"context"
	"fmt"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/query"
)

// TestExhausted runs a query that uses up the memory of its process. The next query must be
// answered by another process, and queries that run on the old one must continue.
func TestExhausted(t *testing.T) {
	w := openWorker(t)
	ctx, cancel := context.WithCancel(deadline(t))
	running := begin(ctx, t, w, "wait")
	pid := currentPID(w)
	_, err := ask(deadline(t), w, "exhaust")
	wantError(t, err, errs.RuntimeResourcesExhausted)
	if errs.From(err).Status() != 503 {
		t.Errorf("status %d", errs.From(err).Status())
	}
	if got := mustAsk(t, w, "SELECT 41 + 1"); got[0] != "42" {
		t.Errorf("after it: %v", got)
	}
	if currentPID(w) == pid {
		t.Error("the process is the same")
	}
	select {
	case err := <-running:
		t.Errorf("the other query ended with %v", err)
	default:
	}
	if dead(pid) {
		t.Error("the process of the other query has ended")
	}
	cancel()
	wantError(t, await(t, running, "the other query"), errs.Cancelled)
	eventually(t, "the end of the process", func() bool { return dead(pid) })
	eventually(t, "the count", func() bool { return restarts(t, w, reasonMemory) == 1 })
}

// TestExhaustedDrain checks that the queries of an exhausted process are ended after a while, with
// an error that contains the reason.
func TestExhaustedDrain(t *testing.T) {
	w := openWorker(t, func(c *Config) { c.Drain = 100 * time.Millisecond })
	running := begin(deadline(t), t, w, "wait")
	_, err := ask(deadline(t), w, "exhaust")
	wantError(t, err, errs.RuntimeResourcesExhausted)
	err = await(t, running, "the other query")
	wantError(t, err, errs.External, "other queries had used up its memory", "send the query again")
	if e := errs.From(err); e.Status() != 503 || e.RetryAfter == 0 {
		t.Errorf("not to be retried: %+v", e)
	}
	mustAsk(t, w, "SELECT 1")
	if w.suspects.count.Load() != 0 {
		t.Error("a statement is suspected because of it")
	}
}

// TestHealthy checks that a process is kept after a query reached only the engine's own memory
// limit.
func TestHealthy(t *testing.T) {
	w := openWorker(t)
	mustAsk(t, w, "SELECT 1")
	pid := currentPID(w)
	for range 3 {
		_, err := ask(deadline(t), w, "SELECT len(list(i)) FROM range(100000000) r(i)")
		wantError(t, err, errs.RuntimeResourcesExhausted, "needs more memory")
		if e := errs.From(err); e.Status() != 503 || e.RetryAfter == 0 {
			t.Errorf("not to be retried: %+v", e)
		}
		mustAsk(t, w, "SELECT 1")
	}
	if currentPID(w) != pid {
		t.Error("the process was replaced")
	}
}

// TestGivesBack checks that a process uses little memory after large queries were stopped.
func TestGivesBack(t *testing.T) {
	w := openWorker(t)
	mustAsk(t, w, "SELECT 1")
	size := func() int64 {
		n, err := dataSize(fmt.Sprintf("/proc/%d/status", currentPID(w)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := size()
	for range 3 {
		_, err := ask(deadline(t), w, "SELECT len(list_sort(list(i))) FROM range(100000000) r(i)")
		wantError(t, err, errs.RuntimeResourcesExhausted)
	}
	// The difference allows for the stacks of threads that started since, and for memory that Go
	// keeps.
	if after := size(); after > before+(128<<20) {
		t.Errorf("%d MiB before, %d MiB after", before>>20, after>>20)
	}
}

// TestAnalyzeElsewhere checks that a statement is analysed by another process if the first one
// lacks memory.
func TestAnalyzeElsewhere(t *testing.T) {
	w := openWorker(t)
	_, err := w.Analyze(deadline(t), "exhaust", "public")
	wantError(t, err, errs.RuntimeResourcesExhausted) // by the second process as well
	eventually(t, "the counts", func() bool { return restarts(t, w, reasonMemory) == 2 })
	if _, err := w.Analyze(deadline(t), "SELECT 1", "public"); err != nil {
		t.Error(err)
	}
}

// TestRefused checks that a statement that has ended a process twice is refused for a while.
func TestRefused(t *testing.T) {
	w := openWorker(t)
	now := time.Now()
	w.suspects.now = func() time.Time { return now }
	for range refuseAt {
		_, err := ask(deadline(t), w, "segfault")
		wantError(t, err, errs.External, "send the query again")
	}
	mustAsk(t, w, "SELECT 1")
	pid := currentPID(w)
	_, err := ask(deadline(t), w, "segfault")
	wantError(t, err, errs.Unsupported, "refused for 5m0s", "2 times")
	_, err = w.Analyze(deadline(t), "segfault", "public")
	wantError(t, err, errs.Unsupported, "refused")
	if mustAsk(t, w, "SELECT 1"); currentPID(w) != pid {
		t.Error("the process was replaced")
	}
	now = now.Add(refuseFor)
	_, err = ask(deadline(t), w, "segfault")
	wantError(t, err, errs.External)
	_, err = ask(deadline(t), w, "segfault")
	wantError(t, err, errs.Unsupported, "3 times")
}

// TestStopped checks that a statement which does not stop is refused after two of its deadlines, but not if somebody
// ended it: KILL counts against nobody, and a cancellation counts against the user only.
func TestStopped(t *testing.T) {
	w := openWorker(t, func(c *Config) { c.MaxKills = 3 })
	for range refuseAt + 2 {
		killed := false
		ctx, cancel := context.WithCancel(query.WithKilled(as(t, ann), func() bool { return killed }))
		running := begin(ctx, t, w, "hang 1")
		killed = true
		cancel()
		wantError(t, await(t, running, "the killed query"), errs.Cancelled)
	}
	if apart, guilty := w.userEnds.watched(ann); !apart || guilty {
		t.Errorf("after KILL: apart %v, guilty %v", apart, guilty)
	}
	for range refuseAt {
		ctx, cancel := context.WithCancel(as(t, bob))
		running := begin(ctx, t, w, "hang 2")
		cancel()
		wantError(t, await(t, running, "the cancelled query"), errs.Cancelled)
	}
	if _, guilty := w.userEnds.watched(bob); !guilty || w.suspects.count.Load() != 0 {
		t.Errorf("after cancellations: guilty %v, %d statements", guilty, w.suspects.count.Load())
	}
	for range refuseAt {
		ctx, cancel := context.WithCancelCause(as(t, mallory))
		running := begin(ctx, t, w, "hang 3")
		cancel(context.DeadlineExceeded)
		wantError(t, await(t, running, "the query at its deadline"), errs.QueryTimeout)
	}
	_, err := ask(as(t, mallory), w, "hang 3")
	wantError(t, err, errs.Unsupported, "refused for 5m0s")
}

// TestNotRefused checks that a statement that only ran at the same time as another one is forgotten as soon as
// it is answered.
func TestNotRefused(t *testing.T) {
	w := openWorker(t)
	other := begin(deadline(t), t, w, "wait")
	_, err := ask(deadline(t), w, "segfault")
	wantError(t, err, errs.External)
	wantError(t, await(t, other, "the other query"), errs.External)
	if n := w.suspects.count.Load(); n != 2 {
		t.Errorf("%d statements are remembered, want both", n)
	}
	for range refuseAt {
		w.suspects.blame("SELECT 1", "public")
		if err := w.suspects.check("SELECT 1", "other"); err != nil {
			t.Error(err)
		}
	}
	wantError(t, w.suspects.check("SELECT 1", "public"), errs.Unsupported)
	w.suspects.clear("SELECT 1", "public")
	w.suspects.blame("SELECT 1", "public")
	mustAsk(t, w, "SELECT 1")
	w.suspects.blame("SELECT 1", "public")
	mustAsk(t, w, "SELECT 1")
	s := newSuspects()
	for i := range 3 * maxSuspects {
		s.blame(fmt.Sprint(i), "public")
	}
	if n := s.count.Load(); n != maxSuspects || s.known.Len() != maxSuspects {
		t.Errorf("%d statements are remembered", n)
	}
}
