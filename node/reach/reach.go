// Package reach finds out whether other nodes can reach this one.
//
// A node whose port admits no connection, but whose own connections work, looks well to raft: its
// heartbeats go out, and the answers come back on the connections that it opened itself. So
// it leads on, and no router reaches what it leads. Only the others know, and their answer has to
// come back the same way: each second a Monitor asks some of them, over this node's own
// connections, to reach it at the port where they look for it. If most of the nodes that answer
// cannot, and they reach each other, then it is this node's port that is shut, and what it leads
// is to be handed on.
//
// Nothing follows from one bad round, nor from what a node says that reaches few others: that
// one may be cut off itself. A node that stood still while it waited for answers drops them.
// One that hears the others try is slow rather than shut off, and has more patience.
//
// A Monitor is made with New and works while Run does; it also is the service that the others
// ask. All methods may be called concurrently.
package reach

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cordwood/proto/metapb"
)

// Node is another node of the cluster.
type Node struct {
	ID string
	// Router means that clients come to it: it has to reach the leader.
	Router bool
}

// Config is what a Monitor works with. Nodes, Ask, Try and HandOn are required.
type Config struct {
	// Nodes lists the other nodes.
	Nodes func() []Node
	// Ask asks a node whether it reaches this one.
	Ask func(ctx context.Context, id string) (*metapb.ReachResponse, error)
	// Try tries to reach a node; the error says why that does not work. ErrUnknown: nothing
	// can be said.
	Try func(ctx context.Context, id string) error
	// HandOn is called once after each round in which others cannot reach this node, and not
	// again before it has returned: what is led here is to be led elsewhere, but not by the nodes in
	// avoid, which no node reaches either.
	HandOn func(ctx context.Context, avoid []string)
	// Alone, if not nil, is called with true when no other node has answered for some rounds,
	// and with false when one does again.
	Alone func(alone bool)
	// Logger takes a line when others cannot reach this node, when none answers it, and when
	// that is over. The default value discards them.
	Logger *slog.Logger

	// Every is the time from one round to the next. The default value is 1 s.
	Every time.Duration
	// Patience is how long an answer may take. The default value is 1500 ms; the
	// node that is asked uses 1 s.
	Patience time.Duration
}

// maxAsked is how many nodes are asked in a round: all in most clusters, in others a random
// choice, different each time.
const maxAsked = 8

// What rounds count for until others are said not to reach this node: two bad ones in a row,
// or five if it hears them try.
const (
	pointsDeaf  = 5
	pointsSlow  = 2
	pointsShut  = 10
	lateAnswers = 500 * time.Millisecond // beyond Patience: this process stood still
)

// silentRounds is how often in a row a node has not answered until it is named as silent, and
// how many rounds without an answer of anybody make this node alone.
const silentRounds = 5

// Fault is a node that answers this one and cannot reach it, or, Silent, one that does not
// answer.
type Fault struct {
	Node, Reason string
	Silent       bool
}

// Monitor watches whether others reach this node. See the package comment.
type Monitor struct {
	metapb.UnimplementedPeerServer
	cfg Config

	trying chan struct{} // bounds the nodes that are tried at a time

	mu sync.Mutex // guards the fields below
	// asked and answered are the nodes of the last round.
	asked, answered map[string]bool
	heard           map[string]time.Time // when a node last tried to reach this one
	faults          map[string]*fault
	silent          map[string]*fault // did not answer, whether they can reach this node or not
	points          int
	lonely          int // rounds in a row in which no node answered
	shut            bool
	avoid           []string
}

// fault is what a node said, and in how many rounds in a row.
type fault struct {
	reason string
	rounds int
	at     time.Time
}

// New returns a Monitor that asks no node until Run. It panics if a required part of the
// configuration is missing.
func New(cfg Config) *Monitor {
	if cfg.Nodes == nil || cfg.Ask == nil || cfg.Try == nil || cfg.HandOn == nil {
		panic("reach: Config.Nodes, Ask, Try and HandOn must be set")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Every == 0 {
		cfg.Every = time.Second
	}
	if cfg.Patience == 0 {
		cfg.Patience = 1500 * time.Millisecond
	}
	return &Monitor{
		cfg: cfg, trying: make(chan struct{}, 64), heard: map[string]time.Time{}, faults: map[string]*fault{},
		silent: map[string]*fault{},
	}
}

// Run asks until ctx ends, and then returns nil.
func (m *Monitor) Run(ctx context.Context) error {
	var handing sync.WaitGroup
	defer handing.Wait()
	defer m.note(nil, nil) // a node that stops says nothing of others
	free := make(chan struct{}, 1)
	free <- struct{}{}
	for {
		begin := time.Now()
		m.round(ctx)
		if avoid, shut := m.state(); shut {
			select {
			case <-free:
				handing.Go(func() {
					m.cfg.HandOn(ctx, avoid)
					free <- struct{}{}
				})
			default: // still at it
			}
		}
		t := time.NewTimer(max(m.cfg.Every-time.Since(begin), m.cfg.Every/10))
		select {
		case <-ctx.Done():
			t.Stop()
			return nil
		case <-t.C:
		}
	}
}

// answer is what a node said; nil resp: it has no opinion, or did not answer.
type answer struct {
	node     Node
	answered bool
	resp     *metapb.ReachResponse
}

// round asks some nodes, and draws its conclusions.
func (m *Monitor) round(ctx context.Context) {
	nodes := slices.Clone(m.cfg.Nodes())
	rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	answers := make([]answer, min(len(nodes), maxAsked))
	begin := time.Now()
	call, cancel := context.WithTimeout(ctx, m.cfg.Patience)
	defer cancel()
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			a := answer{node: nodes[i]}
			resp, err := m.cfg.Ask(call, a.node.ID)
			switch code := status.Code(err); {
			case err == nil:
				a.answered, a.resp = true, resp
			case code == codes.Unimplemented, code == codes.ResourceExhausted: // an older program, or a busy one
				a.answered = true
			}
			answers[i] = a
		})
	}
	wg.Wait()
	if ctx.Err() != nil || time.Since(begin) > m.cfg.Patience+lateAnswers {
		return
	}
	asked, answered := map[string]bool{}, map[string]bool{}
	for _, a := range answers {
		asked[a.node.ID] = true
		if a.answered {
			answered[a.node.ID] = true
		}
	}
	m.note(asked, answered)
	m.judge(begin, nodes, answers)
	m.count(len(asked), len(answered))
}

// count finds out whether this node is alone.
func (m *Monitor) count(asked, answered int) {
	m.mu.Lock()
	before := m.lonely >= silentRounds
	if asked > 0 && answered == 0 {
		m.lonely++
	} else {
		m.lonely = 0
	}
	alone := m.lonely >= silentRounds
	m.mu.Unlock()
	if alone == before {
		return
	}
	if alone {
		m.cfg.Logger.Warn("no other node answers this one: look at its network")
	} else {
		m.cfg.Logger.Info("other nodes answer this one again")
	}
	if m.cfg.Alone != nil {
		m.cfg.Alone(alone)
	}
}

func (m *Monitor) note(asked, answered map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked, m.answered = asked, answered
}

// judge draws the conclusions of a round. nodes are all the others.
func (m *Monitor) judge(began time.Time, nodes []Node, answers []answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all, routers tally
	slow := false
	m.avoid = nil
	for _, a := range answers {
		m.hear(a)
		if a.resp == nil {
			continue
		}
		if a.resp.Unreachable {
			m.avoid = append(m.avoid, a.node.ID)
		}
		cannot := !a.resp.Reached
		if cannot && !a.resp.Connected {
			continue
		}
		all.add(cannot)
		if a.node.Router {
			routers.add(cannot)
		}
		if !cannot {
			delete(m.faults, a.node.ID)
			continue
		}
		slow = slow || !m.heard[a.node.ID].Before(began)
		f := m.faults[a.node.ID]
		if f == nil {
			f = &fault{}
			m.faults[a.node.ID] = f
		}
		f.reason, f.at = a.resp.Reason, time.Now()
		f.rounds++
	}
	m.forget(nodes)
	m.score(all, routers, slow)
}

// score adds points for a round, and takes this node as one that others cannot reach once it has enough. slow
// reports whether a node that cannot reach it was heard of during the round.
func (m *Monitor) score(all, routers tally, slow bool) {
	switch {
	case all.votes == 0: // nothing was learned
	case !all.most() && !routers.most():
		m.points = 0
		if m.shut {
			m.shut = false
			m.cfg.Logger.Info("other nodes can reach this one again")
		}
	case slow:
		m.points += pointsSlow
	default:
		m.points += pointsDeaf
	}
	if m.points >= pointsShut && !m.shut {
		m.shut = true
		m.cfg.Logger.Warn("other nodes cannot reach this one at its port, although it reaches them: what it leads is "+
			"handed on; let connections to that port in, and see that --advertise-addr is where others find it",
			"error", fmt.Sprintf("%d of %d that were asked: %s", all.cannot, all.votes, strings.Join(m.reasonsLocked(), "; ")))
	}
}

// hear notes whether a node answered.
func (m *Monitor) hear(a answer) {
	if a.answered {
		delete(m.silent, a.node.ID)
		return
	}
	f := m.silent[a.node.ID]
	if f == nil {
		f = &fault{}
		m.silent[a.node.ID] = f
	}
	f.at = time.Now()
	f.rounds++
}

// tally counts the nodes that reach this node and the ones that cannot.
type tally struct{ votes, cannot int }

func (t *tally) add(cannot bool) {
	t.votes++
	if cannot {
		t.cannot++
	}
}

// most reports whether most cannot.
func (t *tally) most() bool { return 2*t.cannot > t.votes }

// forget drops what was said by nodes that are gone, or long ago: not all are asked each time.
func (m *Monitor) forget(nodes []Node) {
	known := map[string]bool{}
	for _, n := range nodes {
		known[n.ID] = true
	}
	for _, faults := range []map[string]*fault{m.faults, m.silent} {
		for id, f := range faults {
			if !known[id] || time.Since(f.at) > 30*m.cfg.Every {
				delete(faults, id)
			}
		}
	}
	for id := range m.heard {
		if !known[id] {
			delete(m.heard, id)
		}
	}
}

func (m *Monitor) state() (avoid []string, shut bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.avoid), m.shut
}

// Unreachable reports whether this node should lead nothing, because too many nodes cannot reach it.
func (m *Monitor) Unreachable() bool {
	_, shut := m.state()
	return shut
}

// maxFaults is how many nodes Faults names.
const maxFaults = 16

// Faults lists nodes that said, twice in a row, that they cannot reach this one, and silent nodes,
// by id.
func (m *Monitor) Faults() []Fault {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Fault
	for id, f := range m.faults {
		if f.rounds > 1 {
			out = append(out, Fault{Node: id, Reason: f.reason})
		}
	}
	for id, f := range m.silent {
		if m.faults[id] == nil && f.rounds >= silentRounds {
			out = append(out, Fault{Node: id, Silent: true})
		}
	}
	slices.SortFunc(out, func(a, b Fault) int {
		if a.Node < b.Node {
			return -1
		}
		return 1
	})
	return out[:min(len(out), maxFaults)]
}

func (m *Monitor) reasonsLocked() []string {
	var out []string
	for id, f := range m.faults {
		out = append(out, "node "+id+": "+f.reason)
	}
	slices.Sort(out)
	return out
}
