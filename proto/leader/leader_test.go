package leader

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
)

// world is a raft group of scripted nodes.
type world struct {
	nodes   Nodes
	group   *Group
	members []string
	// answer is what a node answers.
	answer func(ctx context.Context, node string) error
	called []string
}

func newWorld(members ...string) *world {
	w := &world{members: members}
	w.group = NewGroup(&w.nodes)
	return w
}

// search returns a search for the group's leader.
func (w *world) search() Search {
	return Search{
		Group: w.group, Nodes: &w.nodes, Order: func() []string { return w.group.Order(w.members) },
		None: errs.New(errs.ShardNotFound, "no node is known"), Repeat: true,
		MinPause: 50 * time.Millisecond, MaxPause: time.Second,
		Call: func(ctx context.Context, node string, try Try) error {
			w.called = append(w.called, node)
			bound := time.Duration(0)
			if try.Others {
				bound = w.nodes.Health(node).TryTimeout(3 * time.Second)
			}
			_, err := w.nodes.Call(ctx, node, nil, bound, func(ctx context.Context) error { return w.answer(ctx, node) })
			return err
		},
	}
}

// calls returns the nodes that were called since the last call of calls.
func (w *world) calls() string {
	out := strings.Join(w.called, " ")
	w.called = nil
	return out
}

func notLeader(named string) error {
	return errs.New(errs.ShardNotReady, "a follower").WithLeader(named)
}

// stopped returns the answer of a suspended process.
func stopped(ctx context.Context) error {
	<-ctx.Done()
	return errs.ToGRPC(ctx.Err())
}

func TestSearchFindsAndKeepsTheLeader(t *testing.T) {
	w := newWorld("n1", "n2", "n3")
	leads, names := "n3", ""
	w.answer = func(_ context.Context, node string) error {
		if node == leads {
			return nil
		}
		return notLeader(names)
	}
	run := func(want string) {
		t.Helper()
		if f := w.search().Run(t.Context()); f != nil {
			t.Fatal(f.Err)
		}
		if got := w.calls(); got != want {
			t.Errorf("called %q, want %q", got, want)
		}
	}
	run("n1 n2 n3")
	run("n3")
	leads, names = "n2", "n2"
	run("n3 n2") // because of the hint
	run("n2")
	leads, names = "n9", "n9"
	run("n2 n9") // the replica is newer than the caller's metadata
	run("n9")
}

// TestHintsThatGoRoundEnd checks that nodes which report each other as leader are called once in
// each round.
func TestHintsThatGoRoundEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("n1", "n2", "n3")
		w.answer = func(_ context.Context, node string) error {
			return notLeader(map[string]string{"n1": "n2", "n2": "n1", "n3": "n3"}[node])
		}
		s := w.search()
		s.Continue = func(round int, _ *Failure) bool { return round < 2 }
		f := s.Run(t.Context())
		if f == nil || errs.ReasonOf(f.Err) != errs.NotLeader || f.Tries != 6 || f.Unknown || f.OutOfTime {
			t.Fatalf("%+v", f)
		}
		for _, node := range w.members {
			if n := strings.Count(strings.Join(w.called, " "), node); n != 2 {
				t.Errorf("%s was called %d times in two rounds: %v", node, n, w.called)
			}
		}
	})
}

// TestStoppedLeader checks that a suspended leader costs the first search one timed-out call at the end of each
// round, but later searches no time, although followers still report it.
func TestStoppedLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("n1", "n2", "n3")
		w.group.Found("n1")
		elected := time.Now().Add(1500 * time.Millisecond)
		w.answer = func(ctx context.Context, node string) error {
			switch {
			case node == "n1":
				return stopped(ctx)
			case time.Now().Before(elected):
				return notLeader("n1")
			case node == "n2":
				return nil
			}
			return notLeader("n2")
		}
		began := time.Now()
		if f := w.search().Run(t.Context()); f != nil {
			t.Fatal(f.Err)
		}
		if got := w.calls(); !strings.HasPrefix(got, "n1 n2 n3 n2 n3") || strings.Count(got, "n1") > 2 {
			t.Errorf("called %s, want the stopped node last from the second round on", got)
		}
		if late := time.Since(elected); late > minTry+scoutEvery*5/4 {
			t.Errorf("the new leader was found %v after its election, %v after the start", late, time.Since(began))
		}
		for range 3 {
			if f := w.search().Run(t.Context()); f != nil || w.calls() != "n2" {
				t.Errorf("a later search: %+v, %v", f, w.called)
			}
		}
	})
}

// TestUnknownOutcomes checks that a call which may have had its effect is repeated only if that is
// harmless. Its outcome stays unknown until a node that must know has settled it.
func TestUnknownOutcomes(t *testing.T) {
	lost := errs.New(errs.StorageUnavailable, "the leader was lost").WithReason(errs.OutcomeUnknown)
	bad := errs.New(errs.InvalidArguments, "bad").WithReason(errs.BadBatch)
	stale := errs.New(errs.RequestOutdated, "stale").WithReason(errs.SchemaStale)
	tests := []struct {
		name    string
		answers []error
		once    bool // Repeat is not set
		tries   int
		unknown bool
		err     error
	}{
		{"repeated", []error{lost, nil}, false, 2, false, nil},
		{"not repeated", []error{lost, nil}, true, 1, true, lost},
		{"nothing was sent", []error{notLeader(""), nil}, true, 2, false, nil},
		{"refused later", []error{lost, bad}, false, 2, true, bad},
		{"settled later", []error{lost, stale}, false, 2, false, stale},
		{"lost after it was settled", []error{lost, stale}, false, 2, false, stale},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld("n1")
				answers := slices.Clone(tt.answers)
				w.answer = func(context.Context, string) error {
					err := answers[0]
					answers = answers[1:]
					return err
				}
				s := w.search()
				s.Repeat = !tt.once
				s.Judge = func(err error) Verdict {
					v := Judge(err)
					v.Settled = errs.ReasonOf(err) == errs.SchemaStale
					return v
				}
				f := s.Run(t.Context())
				if len(w.called) != tt.tries {
					t.Errorf("%d calls, want %d", len(w.called), tt.tries)
				}
				if tt.err == nil {
					if f != nil {
						t.Errorf("%+v", f)
					}
					return
				}
				if f == nil || !errors.Is(f.Err, tt.err) || f.Unknown != tt.unknown {
					t.Errorf("%+v, want %v, unknown %v", f, tt.err, tt.unknown)
				}
			})
		})
	}
}

// TestBusyLeader checks that a busy leader is called again after the time that it requests, that no
// other node is called, and that this ends after BusyFor.
func TestBusyLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("n1", "n2")
		w.answer = func(context.Context, string) error {
			return errs.New(errs.ShardBusy, "full").WithReason(errs.Busy).WithRetryAfter(300 * time.Millisecond)
		}
		s := w.search()
		s.BusyFor = time.Second
		began := time.Now()
		f := s.Run(t.Context())
		if f == nil || errs.ReasonOf(f.Err) != errs.Busy || f.OutOfTime {
			t.Fatalf("%+v", f)
		}
		if took := time.Since(began); took < time.Second || took > 2*time.Second {
			t.Errorf("gave up after %v", took)
		}
		if calls := w.calls(); strings.Contains(calls, "n2") || strings.Count(calls, "n1") > 5 {
			t.Errorf("called %s", calls)
		}
		if w.group.Leaderless() != 0 {
			t.Error("a busy leader counts as no leader")
		}
	})
}

// TestSearchesShareTheLook checks that one of the waiting searches looks again soon, whatever their
// pauses are, and that the others continue when it has found the leader.
func TestSearchesShareTheLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("n1")
		elected := time.Now().Add(10 * time.Second)
		calls := make(chan struct{}, 1000)
		const searches = 20
		failures := make(chan *Failure, searches)
		for range searches {
			go func() {
				s := w.search()
				s.MinPause, s.MaxPause = time.Minute, time.Minute
				s.Call = func(context.Context, string, Try) error {
					calls <- struct{}{}
					if time.Now().Before(elected) {
						return notLeader("")
					}
					return nil
				}
				failures <- s.Run(t.Context())
			}()
		}
		for range searches {
			if f := <-failures; f != nil {
				t.Error(f.Err)
			}
		}
		if late := time.Since(elected); late > scoutEvery*5/4 {
			t.Errorf("the leader was found %v after its election", late)
		}
		if got := len(calls); got > 2*searches+70 {
			t.Errorf("%d calls while no node led, want one in about %v", got, scoutEvery)
		}
	})
}

// TestSearchKeepsItsTime checks that a search ends before a pause in which its context would end.
func TestSearchKeepsItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("n1")
		w.answer = func(context.Context, string) error { return notLeader("") }
		s := w.search()
		s.MinPause = time.Second
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		if f := s.Run(ctx); f == nil || !f.OutOfTime || f.Tries != 1 || time.Since(began) != 0 {
			t.Errorf("%+v after %v", f, time.Since(began))
		}

		s = w.search()
		s.MaxTries = 3
		if f := s.Run(t.Context()); f == nil || f.OutOfTime || f.Tries != 3 {
			t.Errorf("%+v", f)
		}

		w.members = nil
		w.group = NewGroup(&w.nodes)
		s = w.search()
		s.MaxTries = 2
		if f := s.Run(t.Context()); f == nil || errs.CodeOf(f.Err) != errs.ShardNotFound || f.Known != 0 {
			t.Errorf("%+v", f)
		}
	})
}

// TestPauses checks that pauses double up to their maximum.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("n1")
		var at []time.Time
		w.answer = func(context.Context, string) error {
			at = append(at, time.Now())
			return notLeader("")
		}
		s := w.search()
		s.Group, s.MaxTries = nil, 8
		s.Run(t.Context())
		for i, want := 1, 50*time.Millisecond; i < len(at); i, want = i+1, min(2*want, time.Second) {
			if got := at[i].Sub(at[i-1]); got < want*3/4 || got > want*5/4+1 {
				t.Errorf("pause %d is %v, want about %v", i, got, want)
			}
		}
	})
}

// TestAiling checks that a group without a leader is avoided, and that one caller tests it after each ailingFor.
func TestAiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGroup(new(Nodes))
		g.leaderless()
		if g.Ailing() {
			t.Error("the group counts as ailing at once, although an election takes as long")
		}
		time.Sleep(ailingAfter + time.Millisecond)
		if !g.Ailing() || g.Leaderless() != ailingAfter+time.Millisecond {
			t.Errorf("not ailing after %v", g.Leaderless())
		}
		time.Sleep(ailingFor)
		if g.Ailing() {
			t.Error("no caller is sent to test the group")
		}
		time.Sleep(time.Millisecond)
		if !g.Ailing() {
			t.Error("every caller is sent to test the group")
		}
		g.Found("n1")
		if g.Ailing() || g.Leaderless() != 0 {
			t.Error("ailing, with a leader")
		}
	})
}

// TestHealth checks that a node which does not answer is called last, for longer each time, and
// that one caller tests it.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nodes Nodes
		g := NewGroup(&nodes)
		h := nodes.Health("n1")
		var waits []time.Duration
		for range 6 {
			h.Silent()
			waits = append(waits, time.Until(h.until))
		}
		if waits[0] != avoidFirst || waits[1] != 2*avoidFirst || waits[5] != avoidMost {
			t.Errorf("avoided for %v", waits)
		}
		order := func() string { return strings.Join(g.Order([]string{"n1", "n2"}), " ") }
		if got := order(); got != "n2 n1" {
			t.Errorf("order %s", got)
		}
		if !h.Down(time.Now()) {
			t.Error("a silent node is not down")
		}
		time.Sleep(avoidMost)
		if first, second := order(), order(); first != "n1 n2" || second != "n2 n1" {
			t.Errorf("after its time: %s, then %s; one caller should test the node", first, second)
		}
		h.spoke()
		if order() != "n1 n2" || h.Down(time.Now()) {
			t.Error("a node that answered is avoided")
		}
		list := []string{"a", "b", "c"}
		nodes.Health("a").Silent()
		if nodes.DownLast(list); strings.Join(list, " ") != "b c a" {
			t.Errorf("%v", list)
		}
	})
}

func TestTryTimeoutFollowsTheNode(t *testing.T) {
	h := &Health{}
	if got := h.TryTimeout(3 * time.Second); got != time.Second {
		t.Errorf("of an unknown node %s", got)
	}
	for range 100 {
		h.answered(200 * time.Millisecond)
	}
	if got := h.TryTimeout(3 * time.Second); got < 1500*time.Millisecond || got > 1700*time.Millisecond {
		t.Errorf("of a node that takes 200 ms %s", got)
	}
	if got := h.TryTimeout(50 * time.Millisecond); got != 50*time.Millisecond {
		t.Errorf("more than allowed: %s", got)
	}
}

// peerConn is the connection to a node that answers the liveness call with answer.
type peerConn struct {
	grpc.ClientConnInterface
	answer func(ctx context.Context) error
	asked  atomic.Int64
}

func (c *peerConn) Invoke(ctx context.Context, _ string, _, _ any, _ ...grpc.CallOption) error {
	c.asked.Add(1)
	return c.answer(ctx)
}

// TestSilenceIsShared checks that calls to a node that is silent do not wait for it one after the other: a call that
// begins later ends at the same time, one that begins after that has a second, and nothing is left of calls that ended.
func TestSilenceIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nodes Nodes
		conn := &peerConn{answer: stopped}
		began := time.Now()
		watch := func(ctx context.Context, after time.Duration) (ended time.Duration) {
			time.Sleep(after - time.Since(began))
			cancel, err := nodes.Watch(ctx, "n1", conn, 0, func(ctx context.Context, p *Pulse) error {
				return p.Receive(func() error { <-ctx.Done(); return ctx.Err() })
			})
			if err == nil {
				cancel()
				t.Error("a silent node answered")
			}
			return time.Since(began)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		time.AfterFunc(4*time.Second, cancel)
		watch(cancelled, 0)
		began = time.Now().Add(time.Minute)
		later := make(chan time.Duration, 2)
		for _, after := range []time.Duration{0, 6 * time.Second} {
			go func() { later <- watch(t.Context(), after) }()
		}
		for range 2 {
			if ended := <-later; ended != aloneWait {
				t.Errorf("a call ended after %v, want %v", ended, aloneWait)
			}
		}
		if ended := watch(t.Context(), 9*time.Second); ended != 9*time.Second+minAlone {
			t.Errorf("a call to a node that is known to be down ended after %v", ended)
		}
	})
}

// TestWatch checks that a call may take as long as it needs while its node is alive.
func TestWatch(t *testing.T) {
	tests := []struct {
		name   string
		lives  bool          // whether the node answers that it is alive
		others bool          // whether there is another node to call
		sign   bool          // whether the call gets a first message
		down   bool          // whether the node did not answer recently
		left   time.Duration // until the deadline of the caller; 0 means that there is none
		took   time.Duration
		err    error
	}{
		{"slow, and lives", true, true, true, false, 0, time.Minute, nil},
		{"did not answer in time", true, true, false, false, 0, 2 * time.Second, errSilent},
		{"stopped while it was waited for", false, true, true, false, 0, pulseAfter + pulseWait, errSilent},
		{"alone, slow, and lives", true, false, false, false, 0, time.Minute, nil},
		{"alone, slow, and lives, with a deadline", true, false, false, false, 2 * time.Minute, time.Minute, nil},
		{"alone", false, false, false, false, 0, aloneWait, errSilent},
		{"alone, after a sign", false, false, true, false, 0, aloneWait, errSilent},
		{"alone, with a late deadline", false, false, false, false, time.Minute, aloneWait, errSilent},
		{"alone, with an early deadline", false, false, false, false, 6 * time.Second, 4 * time.Second, errSilent},
		{"alone, with hardly any time", false, false, false, false, 1200 * time.Millisecond, minAlone, errSilent},
		{"alone, and known to be down", false, false, false, true, 0, minAlone, errSilent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var nodes Nodes
				conn := &peerConn{answer: func(ctx context.Context) error {
					if tt.lives {
						return nil
					}
					return stopped(ctx)
				}}
				patience := time.Duration(0)
				if tt.others {
					patience = 2 * time.Second
				}
				ctx := t.Context()
				if tt.left > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.left)
					defer cancel()
				}
				if tt.down {
					nodes.Health("n1").Silent()
				}
				began := time.Now()
				cancel, err := nodes.Watch(ctx, "n1", conn, patience, func(ctx context.Context, p *Pulse) error {
					if tt.sign {
						p.Alive()
					}
					return p.Receive(func() error {
						select {
						case <-time.After(time.Minute):
							return nil
						case <-ctx.Done():
							return ctx.Err()
						}
					})
				})
				if took := time.Since(began); !errors.Is(err, tt.err) || took != tt.took {
					t.Fatalf("%v after %v, want %v after %v", err, took, tt.err, tt.took)
				}
				if down := nodes.Health("n1").Down(time.Now()); down != (tt.err != nil) {
					t.Errorf("the node is down: %v", down)
				}
				if err == nil {
					cancel()
				}
				if tt.lives && tt.err == nil && conn.asked.Load() < 20 {
					t.Errorf("the node was asked %d times in a minute", conn.asked.Load())
				}
			})
		})
	}
}
