package worker

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/query"
)

const (
	mallory = "user mallory"
	ann     = "user ann"
	bob     = "user bob"
)

// as returns a context for a user. Its deadline is longer than any test.
func as(t testing.TB, share string) context.Context { return query.WithShare(deadline(t), share) }

// attack sends a statement whose deadline passes when its first bytes arrive. It returns the outcome.
func attack(t testing.TB, w *Worker, share, sql string) error {
	t.Helper()
	return end(t, w, share, sql, context.DeadlineExceeded)
}

// leave sends a statement and disconnects when its first bytes arrive. It returns the outcome.
func leave(t testing.TB, w *Worker, share, sql string) error {
	t.Helper()
	return end(t, w, share, sql, context.Canceled)
}

// end sends a statement, and ends its context with a cause when its first bytes arrive, if it is one that hangs.
func end(t testing.TB, w *Worker, share, sql string, cause error) error {
	t.Helper()
	ctx, cancel := context.WithCancelCause(as(t, share))
	defer cancel(nil)
	return w.Query(ctx, &query.Request{SQL: sql, Database: "public"}, func([]byte) error {
		if strings.HasPrefix(sql, "hang") {
			cancel(cause)
		}
		return nil
	})
}

// lockedBuffer collects a log while others read it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestAttacker lets a user send one statement after another that does not stop. A long query of
// another user, which ran before, must be answered. Its process is replaced once for all of them,
// and in the end the user is refused.
func TestAttacker(t *testing.T) {
	var log lockedBuffer
	w := openWorker(t, func(c *Config) {
		c.Drain, c.MaxKills = 20*time.Second, 4
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	now := time.Now()
	w.userEnds.now = func() time.Time { return now }
	long := begin(as(t, ann), t, w, "last 4s")
	first := currentPID(w)
	var stopped sync.WaitGroup
	stopped.Go(func() { // returns when its process is killed
		wantError(t, attack(t, w, mallory, "hang 0"), errs.QueryTimeout)
	})
	eventually(t, "another process", func() bool { now := currentPID(w); return now != first && now != 0 })
	if _, err := ask(as(t, ann), w, "SELECT 1"); err != nil {
		t.Error(err)
	}
	pid := currentPID(w)
	for i := range 4 {
		wantError(t, attack(t, w, mallory, fmt.Sprint("hang ", i+1)), errs.QueryTimeout)
		if _, err := ask(as(t, bob), w, "SELECT 1"); err != nil {
			t.Errorf("during attack %d: %v", i+1, err)
		}
		if n := len(w.processes()); n > 4 {
			t.Errorf("%d processes", n)
		}
	}
	if currentPID(w) != pid {
		t.Error("the process of all others was replaced again")
	}
	for _, err := range []error{attack(t, w, mallory, "SELECT 1"), analyze(t, w, mallory, "SELECT 2")} {
		wantError(t, err, errs.RateLimited, "4 query processes", "user mallory", "refused for 5m0s",
			"write them in another way")
		if e := errs.From(err); e.Status() != 429 || e.RetryAfter != 5*time.Minute {
			t.Errorf("status %d, retry after %s", e.Status(), e.RetryAfter)
		}
	}
	if n := counted(t, w.metrics.refusals, refusedUser); n != 2 {
		t.Errorf("%v refusals are counted", n)
	}
	if text := log.String(); strings.Count(text, `user="user mallory"`) != 2*5 ||
		!strings.Contains(text, `statement="hang 3"`) || !strings.Contains(text, "its queries are refused for a while") ||
		strings.Contains(text, "user ann") {
		t.Errorf("the log: %s", text)
	}
	if err := await(t, long, "the long query"); err != nil {
		t.Errorf("the long query: %v", err)
	}
	stopped.Wait()

	now = now.Add(5 * time.Minute)
	if _, err := ask(as(t, mallory), w, "SELECT 1"); err != nil {
		t.Errorf("when the time is over: %v", err)
	}
	wantError(t, attack(t, w, mallory, "hang 9"), errs.QueryTimeout)
	wantError(t, attack(t, w, mallory, "hang 10"), errs.RateLimited)
	now = now.Add(11 * time.Minute)
	if apart, guilty := w.userEnds.watched(mallory); apart || guilty {
		t.Error("it is not forgotten")
	}
}

// analyze requests the analysis of a statement.
func analyze(t testing.TB, w *Worker, share, sql string) error {
	_, err := w.Analyze(as(t, share), sql, "public")
	return err
}

// TestLeft lets a client leave statements that do not stop. Its user runs apart, and is refused only for moments,
// however often this happens.
func TestLeft(t *testing.T) {
	w := openWorker(t, func(c *Config) { c.MaxKills = 2 })
	now := time.Now()
	w.userEnds.now = func() time.Time { return now }
	for i := range 4 {
		wantError(t, leave(t, w, ann, "hang 1"), errs.Cancelled)
		if i == 0 {
			continue
		}
		err := leave(t, w, ann, "SELECT 1")
		wantError(t, err, errs.RateLimited, "did not stop", "user ann", "try again in 5s")
		if e := errs.From(err); e.RetryAfter != leftPause {
			t.Errorf("retry after %s", e.RetryAfter)
		}
		now = now.Add(leftPause)
	}
	if _, err := ask(as(t, ann), w, "SELECT 1"); err != nil {
		t.Error(err)
	}
	if apart, guilty := w.userEnds.watched(ann); !apart || !guilty || w.suspects.count.Load() != 0 {
		t.Errorf("apart %v, guilty %v, %d statements", apart, guilty, w.suspects.count.Load())
	}
}

// TestStarved checks that a statement may take longer to stop while its process gets no CPU time, and that its end
// counts against nobody.
func TestStarved(t *testing.T) {
	w := openWorker(t, func(c *Config) { c.MaxKills, c.Grace = 1, 500*time.Millisecond })
	w.usedBy = func(*process) (time.Duration, bool) { return time.Second, true }
	ctx, cancel := context.WithCancel(as(t, ann))
	slow := begin(ctx, t, w, "thaw 1s")
	pid := currentPID(w)
	cancel()
	wantError(t, await(t, slow, "the slow query"), errs.Cancelled)
	if currentPID(w) != pid {
		t.Error("the process was replaced although the query stopped")
	}
	for range refuseAt {
		wantError(t, attack(t, w, ann, "hang 1"), errs.QueryTimeout)
	}
	if got := restarts(t, w, reasonStuck); got != refuseAt {
		t.Errorf("%v restarts counted", got)
	}
	if apart, guilty := w.userEnds.watched(ann); !apart || guilty || w.suspects.count.Load() != 0 {
		t.Errorf("apart %v, guilty %v, %d statements", apart, guilty, w.suspects.count.Load())
	}
	if _, err := ask(as(t, ann), w, "SELECT 1"); err != nil {
		t.Error(err)
	}
}

// TestUnknownCause ends processes while queries of other users run. These users must never be
// blamed. The real cause is found when the queries run in separate processes.
func TestUnknownCause(t *testing.T) {
	w := openWorker(t, func(c *Config) { c.MaxKills = 2 })
	others := begin(as(t, ann), t, w, "wait")
	wantError(t, attack(t, w, mallory, "segfault 0"), errs.External)
	wantError(t, await(t, others, "the other query"), errs.External)
	for _, who := range []string{ann, mallory} {
		if apart, guilty := w.userEnds.watched(who); !apart || guilty {
			t.Errorf("%s: apart %v, guilty %v", who, apart, guilty)
		}
	}
	for i := range 2 {
		ctx, cancel := context.WithCancel(as(t, ann))
		others := begin(ctx, t, w, "wait")
		wantError(t, attack(t, w, mallory, fmt.Sprint("segfault ", i+1)), errs.External)
		cancel()
		wantError(t, await(t, others, "the other query"), errs.Cancelled)
	}
	wantError(t, attack(t, w, mallory, "segfault 3"), errs.RateLimited)
	if _, err := ask(as(t, ann), w, "SELECT 1"); err != nil {
		t.Error(err)
	}
	// The user is not known, so no user can be refused.
	for range 4 {
		wantError(t, attack(t, w, "", fmt.Sprint("segfault ", time.Now())), errs.External)
	}
	mustAsk(t, w, "SELECT 1")
}

// TestAlone checks that a user stays in the main process while no other user uses it, and is still
// refused after too many ends.
func TestAlone(t *testing.T) {
	w := openWorker(t, func(c *Config) { c.MaxKills = 2 })
	for i := range 2 {
		wantError(t, attack(t, w, mallory, fmt.Sprint("hang ", i)), errs.QueryTimeout)
		w.mu.Lock()
		for i := range w.apart {
			if w.apart[i].owner != "" {
				t.Error("a separate process was started")
			}
		}
		w.mu.Unlock()
	}
	wantError(t, attack(t, w, mallory, "SELECT 1"), errs.RateLimited)
}

// TestNoRoomApart runs queries of more watched users than there are separate processes.
func TestNoRoomApart(t *testing.T) {
	w := openWorker(t, func(c *Config) { c.MaxWait = 50 * time.Millisecond })
	if _, err := ask(as(t, ann), w, "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(deadline(t))
	defer cancel()
	var taken []chan error
	for i := range maxApart {
		share := fmt.Sprint("user ", i)
		w.userEnds.recordEnd(share, true)
		taken = append(taken, begin(query.WithShare(ctx, share), t, w, "wait"))
	}
	for _, guilty := range []bool{true, false} {
		share := fmt.Sprint("user guilty ", guilty)
		w.userEnds.recordEnd(share, guilty)
		_, err := ask(as(t, share), w, "SELECT 1")
		if !guilty {
			if err != nil {
				t.Errorf("who may be innocent: %v", err)
			}
			continue
		}
		wantError(t, err, errs.ShardBusy, "run in a separate process", "no separate process became free")
		if e := errs.From(err); e.Status() != 503 || e.RetryAfter == 0 {
			t.Errorf("not to be retried: %+v", e)
		}
		// The owner of a lane does not share it.
		if _, err := ask(as(t, "user 0"), w, "SELECT 1"); err != nil {
			t.Error(err)
		}
	}
	w.cfg.MaxWait = 20 * time.Second
	waits := make(chan error, 1)
	go func() {
		_, err := ask(as(t, "user guilty true"), w, "SELECT 1")
		waits <- err
	}()
	cancel()
	for _, c := range taken {
		wantError(t, await(t, c, "a query apart"), errs.Cancelled)
	}
	if err := await(t, waits, "the query that waits for room"); err != nil {
		t.Error(err)
	}
}

// TestFewDrain checks the limit on the number of processes that drain.
func TestFewDrain(t *testing.T) {
	w := openWorker(t, func(c *Config) { c.Drain = time.Hour })
	ctx, cancel := context.WithCancel(deadline(t))
	defer cancel()
	var others []chan error
	var attacks sync.WaitGroup
	for i := range maxDraining + 1 {
		others = append(others, begin(query.WithShare(ctx, ann), t, w, "wait"))
		pid := currentPID(w)
		attacks.Go(func() { _ = attack(t, w, fmt.Sprint("user ", i), fmt.Sprint("hang ", i)) })
		eventually(t, "another process", func() bool { now := currentPID(w); return now != pid && now != 0 })
	}
	wantError(t, await(t, others[0], "the query of the first process"), errs.External, "could not be stopped")
	for _, c := range others[1:] {
		select {
		case err := <-c:
			t.Errorf("a query of a later process ended with %v", err)
		default:
		}
	}
	if _, err := ask(as(t, ann), w, "SELECT 1"); err != nil {
		t.Error(err)
	}
	cancel()
	for _, c := range others[1:] {
		wantError(t, await(t, c, "another query"), errs.Cancelled)
	}
	attacks.Wait()
}

// TestStuckAnalysis checks that an analysis that does not stop is answered at the end of the grace
// period, and that its slot is returned, however long the process lives.
func TestStuckAnalysis(t *testing.T) {
	w := openWorker(t, func(c *Config) { c.Drain, c.Concurrency, c.PerUser = time.Hour, 1, 1 })
	ctx, cancel := context.WithCancel(as(t, ann))
	others := begin(ctx, t, w, "wait")
	pid := currentPID(w)
	short, stop := context.WithTimeout(as(t, mallory), 50*time.Millisecond)
	defer stop()
	_, err := w.Analyze(short, "hang", "public")
	wantError(t, err, errs.QueryTimeout)
	if dead(pid) {
		t.Error("the process has ended")
	}
	if err := analyze(t, w, ann, "SELECT 1"); err != nil {
		t.Error(err)
	}
	cancel()
	wantError(t, await(t, others, "the other query"), errs.Cancelled)
	eventually(t, "the end of the process", func() bool { return dead(pid) })
}

// TestShares lets a user take all slots that it may take, and checks that another user still gets
// one.
func TestShares(t *testing.T) {
	w := openWorker(t, func(c *Config) { c.Concurrency, c.Waiting = 4, 4 })
	ctx, cancel := context.WithCancel(query.WithShare(deadline(t), mallory))
	defer cancel()
	var running []chan error
	for range 3 {
		running = append(running, begin(ctx, t, w, "wait"))
	}
	waits := make(chan error, 4)
	for i := range 4 {
		go func() {
			_, err := ask(ctx, w, "SELECT 1")
			waits <- err
		}()
		eventually(t, "a query that waits", func() bool { return waitingNow(w) == i+1 })
	}
	if _, err := ask(as(t, ann), w, "SELECT 1"); err != nil {
		t.Errorf("another user: %v", err)
	}
	cancel()
	for _, c := range running {
		wantError(t, await(t, c, "a query that ran"), errs.Cancelled)
	}
	for range 4 {
		_ = await(t, waits, "a query that waited") // cancelled, or answered before that
	}
}

// TestUserEndsBounded checks that the number of remembered users is limited, and that none is
// remembered twice.
func TestUserEndsBounded(t *testing.T) {
	w := openWorker(t)
	for i := range 3 * maxUserRecords {
		w.userEnds.recordEnd(fmt.Sprint("user ", i), true)
		w.userEnds.recordEnd(fmt.Sprint("user ", i), true)
	}
	if n := w.userEnds.byShare.Len(); n != maxUserRecords {
		t.Errorf("%d users are remembered", n)
	}
}
