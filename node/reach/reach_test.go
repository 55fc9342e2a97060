package reach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cordwood/proto/metapb"
)

// world is a set of nodes that probe each other. cut contains pairs of nodes: the first cannot open a connection to
// the second, nor call it, but answers still arrive.
type world struct {
	mu       sync.Mutex
	monitors map[string]*Monitor
	nodes    []Node
	cut      map[[2]string]bool
	dead     map[string]bool
	old      map[string]bool // nodes that do not support this service
	slow     map[string]bool // nodes that receive calls but do not answer in time
	handed   map[string]int
	avoided  map[string][]string
}

// newWorld returns a world with one node for each word. Nodes whose names start with r are routers.
func newWorld(words string) *world {
	w := &world{
		monitors: map[string]*Monitor{}, cut: map[[2]string]bool{}, dead: map[string]bool{}, old: map[string]bool{},
		slow:   map[string]bool{},
		handed: map[string]int{}, avoided: map[string][]string{},
	}
	for _, id := range strings.Fields(words) {
		w.nodes = append(w.nodes, Node{id, strings.HasPrefix(id, "r")})
	}
	for _, n := range w.nodes {
		w.monitors[n.ID] = New(Config{
			Nodes: func() []Node {
				return slices.DeleteFunc(slices.Clone(w.nodes), func(o Node) bool { return o.ID == n.ID })
			},
			Ask: func(ctx context.Context, id string) (*metapb.ReachResponse, error) {
				return w.ask(ctx, n.ID, id)
			},
			Try: func(ctx context.Context, id string) error { return w.try(ctx, n.ID, id) },
			StepDown: func(_ context.Context, avoid []string) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.handed[n.ID]++
				w.avoided[n.ID] = slices.Sorted(slices.Values(avoid))
			},
		})
	}
	return w
}

func (w *world) is(set func() bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return set()
}

func (w *world) ask(ctx context.Context, from, to string) (*metapb.ReachResponse, error) {
	switch {
	case w.is(func() bool { return w.cut[[2]string{from, to}] || w.dead[to] }):
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	case w.is(func() bool { return w.old[to] }):
		return nil, status.Error(codes.Unimplemented, "unknown service")
	}
	return w.monitors[to].Reach(ctx, &metapb.ReachRequest{NodeId: from})
}

func (w *world) try(ctx context.Context, from, to string) error {
	if w.is(func() bool { return w.cut[[2]string{from, to}] || w.dead[to] }) {
		<-ctx.Done()
		return fmt.Errorf("dial %s: i/o timeout", to)
	}
	if _, err := w.monitors[to].Echo(ctx, &metapb.EchoRequest{NodeId: from}); err != nil {
		return err
	}
	if w.is(func() bool { return w.slow[to] }) {
		<-ctx.Done()
		return errors.New("no answer")
	}
	return nil
}

// run makes all nodes probe each other for some time.
func (w *world) run(t *testing.T, d time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var wg sync.WaitGroup
	for id, m := range w.monitors {
		if !w.dead[id] {
			wg.Go(func() { _ = m.Run(ctx) })
		}
	}
	wg.Wait()
}

// deaf blocks all connections to a node. Answers to its own requests still arrive.
func (w *world) deaf(id string) {
	for _, n := range w.nodes {
		w.cut[[2]string{n.ID, id}] = true
	}
}

// mute blocks all connections from a node.
func (w *world) mute(id string) {
	for _, n := range w.nodes {
		w.cut[[2]string{id, n.ID}] = true
	}
}

func (w *world) shut() (out []string) {
	for id, m := range w.monitors {
		if m.Unreachable() {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

func TestWhoIsUnreachable(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes string
		set   func(w *world)
		want  string // the nodes that should lead nothing
		from  string // node:the nodes that cannot reach it
		avoid string // node:the nodes to which it does not transfer
	}{
		{"all nodes reach each other", "a b c", func(*world) {}, "", "", ""},
		{"alone", "a", func(*world) {}, "", "", ""},
		{"a port that no node can reach", "a b c", func(w *world) { w.deaf("a") }, "a", "a:b c", "a:"},
		{"two of five", "a b c d e", func(w *world) { w.deaf("a"); w.deaf("b") }, "a b", "a:c d e", "a:"},
		{"one of ten, of which eight are asked", "a b c d e f g h i j", func(w *world) { w.deaf("a") }, "a", "", "a:"},
		{"one node cannot reach it", "a b c d", func(w *world) { w.cut[[2]string{"b", "a"}] = true }, "", "a:b", ""},
		{"half of the nodes cannot reach it", "a b c d e", func(w *world) {
			w.cut[[2]string{"b", "a"}], w.cut[[2]string{"c", "a"}] = true, true
		}, "", "a:b c", ""},
		{"a node that reaches no other has no opinion", "a b c", func(w *world) {
			w.mute("b")
			w.dead["c"] = true
		}, "", "", ""},
		{"two of three reach no other node", "a b c d", func(w *world) { w.mute("b"); w.mute("c") }, "", "", ""},
		{"all but one are down", "a b c", func(w *world) { w.deaf("a"); w.dead["c"] = true }, "", "", ""},
		{"one of the others is down", "a b c d", func(w *world) { w.deaf("a"); w.dead["d"] = true }, "", "", ""},
		{"one of four others is down", "a b c d e", func(w *world) { w.deaf("a"); w.dead["e"] = true }, "a", "a:b c d", "a:"},
		{"the only router cannot reach it", "a b c d r1", func(w *world) {
			w.cut[[2]string{"r1", "a"}] = true
		}, "a", "a:r1", "a:"},
		{"nor two", "a b c d r1", func(w *world) {
			w.cut[[2]string{"r1", "a"}], w.cut[[2]string{"r1", "b"}] = true, true
		}, "a b", "a:r1", "a:b"},
		{"one of two routers cannot reach it", "a b c d r1 r2", func(w *world) {
			w.cut[[2]string{"r1", "a"}] = true
		}, "", "a:r1", ""},
		{"a router that reaches no other node", "a b c d r1", func(w *world) { w.mute("r1") }, "", "", ""},
		{"older programs have no opinion", "a b c d", func(w *world) {
			w.deaf("a")
			w.old["b"], w.old["c"] = true, true
		}, "a", "a:d", "a:"},
		{"isolated in both directions", "a b c", func(w *world) { w.deaf("a"); w.mute("a") }, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(c.nodes)
				c.set(w)
				w.run(t, 6*time.Second)
				if got := strings.Join(w.shut(), " "); got != c.want {
					t.Errorf("unreachable are %q, want %q", got, c.want)
				}
				for id, m := range w.monitors {
					var from []string
					for _, f := range m.Faults() {
						if !strings.Contains(f.Reason, "i/o timeout") {
							t.Errorf("%s: the reason is %q", id, f.Reason)
						}
						from = append(from, f.Node)
					}
					if node, want, _ := strings.Cut(c.from, ":"); node == id && strings.Join(from, " ") != want {
						t.Errorf("%s cannot be reached from %v, want %s", id, from, want)
					} else if c.want == "" && c.from == "" && len(from) > 0 {
						t.Errorf("%s cannot be reached from %v, want from none", id, from)
					}
					if handed := w.handed[id] > 0; handed != m.Unreachable() {
						t.Errorf("%s: leaderships transferred: %v, unreachable: %v", id, handed, m.Unreachable())
					}
					if node, want, _ := strings.Cut(c.avoid, ":"); node == id && strings.Join(w.avoided[id], " ") != want {
						t.Errorf("%s avoids %v, want %q", id, w.avoided[id], want)
					}
				}
			})
		})
	}
}

// TestTimes checks that a blocked port is noticed within 3.5 s, an open port within 2.5 s, and a slow node only after
// several more seconds.
func TestTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a b c")
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		for _, m := range w.monitors {
			wg.Go(func() { _ = m.Run(ctx) })
		}
		until := func(what string, shut bool, limit time.Duration) time.Duration {
			t.Helper()
			begin := time.Now()
			for w.monitors["a"].Unreachable() != shut {
				if time.Since(begin) > limit {
					t.Fatalf("%s: unreachable is still %v after %s", what, !shut, limit)
				}
				time.Sleep(10 * time.Millisecond)
			}
			return time.Since(begin)
		}
		set := func(f func()) {
			w.mu.Lock()
			defer w.mu.Unlock()
			f()
		}
		time.Sleep(3300 * time.Millisecond)
		set(func() { w.deaf("a") })
		until("a blocked port", true, 3500*time.Millisecond)
		set(func() { clear(w.cut) })
		until("an open port", false, 2500*time.Millisecond)
		set(func() { w.slow["a"] = true })
		if took := until("a slow node", true, 10*time.Second); took < 4*time.Second {
			t.Errorf("a node that receives the connection attempts counts as unreachable after only %s", took)
		}
		set(func() { clear(w.slow) })
		until("a node that is fast again", false, 2500*time.Millisecond)
		if len(w.monitors["a"].Faults()) > 0 {
			t.Errorf("faults are left: %v", w.monitors["a"].Faults())
		}
	})
}

// TestSuspended checks that the answers of a round are dropped if this process was suspended during the round.
func TestSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stall := time.Duration(0)
		m := New(Config{
			Nodes: func() []Node { return []Node{{ID: "b"}, {ID: "c"}} },
			Ask: func(context.Context, string) (*metapb.ReachResponse, error) {
				time.Sleep(stall)
				return &metapb.ReachResponse{Connected: true, Reason: "no answer"}, nil
			},
			Try: func(context.Context, string) error { return nil }, StepDown: func(context.Context, []string) {},
		})
		for range 5 {
			stall = 3 * time.Second
			m.round(t.Context())
		}
		if m.Unreachable() || len(m.Faults()) > 0 {
			t.Error("answers that arrived after a suspension count")
		}
		stall = 0
		m.round(t.Context())
		if m.Unreachable() {
			t.Error("one bad round is enough")
		}
		m.round(t.Context())
		if !m.Unreachable() {
			t.Error("two bad rounds are not enough")
		}
	})
}

// TestBounds checks that probes of unknown nodes, and frequent probes, use few resources.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		m := New(Config{
			Nodes: func() []Node { return nil },
			Ask:   func(context.Context, string) (*metapb.ReachResponse, error) { return nil, errors.New("nobody") },
			Try: func(_ context.Context, id string) error {
				if id == "x" {
					return ErrUnknown
				}
				<-hold
				return errors.New(strings.Repeat("ä", 300))
			},
			StepDown: func(context.Context, []string) {},
		})
		if _, err := m.Reach(t.Context(), &metapb.ReachRequest{NodeId: "x"}); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("a node that is not known: %v, want no result", err)
		}
		var wg sync.WaitGroup
		for range cap(m.trying) {
			wg.Go(func() {
				resp, err := m.Reach(t.Context(), &metapb.ReachRequest{NodeId: "a"})
				if err != nil || resp.Reached || resp.Connected || len(resp.Reason) > maxReason+3 {
					t.Errorf("got %v, %v", resp, err)
				}
			})
		}
		synctest.Wait()
		if _, err := m.Reach(t.Context(), &metapb.ReachRequest{NodeId: "a"}); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("one more than may be tried at a time: %v", err)
		}
		close(hold)
		wg.Wait()
		for i := range 100 {
			_, _ = m.Echo(t.Context(), &metapb.EchoRequest{NodeId: fmt.Sprint(i)})
		}
		if len(m.heard) > 0 {
			t.Errorf("%d nodes that were never asked are remembered", len(m.heard))
		}
	})
}

// TestAlone checks that a node without answers for some rounds reports that it is alone, until one
// answers.
func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("r1 b c")
		reported := map[string][]bool{}
		for id, m := range w.monitors {
			m.cfg.Alone = func(alone bool) {
				w.mu.Lock()
				defer w.mu.Unlock()
				reported[id] = append(reported[id], alone)
			}
		}
		w.mute("r1")
		w.run(t, 4*time.Second)
		if len(reported) > 0 {
			t.Errorf("after a few rounds: %v", reported)
		}
		w.run(t, 10*time.Second)
		delete(w.cut, [2]string{"r1", "b"})
		w.run(t, 3*time.Second)
		if len(reported) != 1 || !slices.Equal(reported["r1"], []bool{true, false}) {
			t.Errorf("reported: %v", reported)
		}
	})
}

// TestSilent checks that two nodes that do not reach each other report each other, transfer no leadership, and
// withdraw the report when they reach each other again.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld("a b c")
		w.cut[[2]string{"a", "b"}], w.cut[[2]string{"b", "a"}] = true, true
		w.run(t, 30*time.Second)
		for id, want := range map[string][]Fault{
			"a": {{Node: "b", Silent: true}}, "b": {{Node: "a", Silent: true}}, "c": nil,
		} {
			if got := w.monitors[id].Faults(); !slices.Equal(got, want) {
				t.Errorf("%s reports %v, want %v", id, got, want)
			}
			if w.handed[id] > 0 || w.monitors[id].Unreachable() {
				t.Errorf("%s transfers its leaderships", id)
			}
		}
		clear(w.cut)
		w.run(t, 3*time.Second)
		if got := w.monitors["a"].Faults(); len(got) > 0 {
			t.Errorf("a reports %v, which answers again", got)
		}
	})
}
