// Package reach determines whether other nodes can reach this one.
//
// A node whose port accepts no connections, but whose own connections work, looks healthy to raft: it sends
// heartbeats, and the answers return on the connections that it opened itself. So it keeps its leaderships, although
// no router can reach the shards that it leads. Only the other nodes can notice that. Each second a Monitor asks some
// of them, over this node's own connections, to connect to this node's port at the address that they have for it. If
// most of the nodes that answer cannot, although they reach each other, this node's port is blocked, and its
// leaderships should be transferred.
//
// One bad round has no effect. The answer of a node that reaches few other nodes has no effect either, because that
// node may be isolated. A node that was suspended while it waited for answers drops them. A node that receives some
// of the connection attempts is probably slow rather than blocked, and waits for more rounds.
//
// New returns a Monitor, which works while Run does. It is also the service that other nodes ask. All methods are
// safe for concurrent use.
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
	// Router means that the node has the role router, so it has to reach the leaders.
	Router bool
}

// Config configures a Monitor. Nodes, Ask, Try and StepDown are required.
type Config struct {
	// Nodes lists the other nodes.
	Nodes func() []Node
	// Ask asks a node whether it can reach this one.
	Ask func(ctx context.Context, id string) (*metapb.ReachResponse, error)
	// Try tries to reach a node. The error is the reason of a failure. ErrUnknown means that the result is unknown.
	Try func(ctx context.Context, id string) error
	// StepDown is called after each round in which others cannot reach this node, unless an earlier call is still
	// running. It should transfer this node's leaderships, but not to the nodes in avoid, which no node reaches
	// either.
	StepDown func(ctx context.Context, avoid []string)
	// Alone, if not nil, is called with true when no other node has answered for some rounds, and with false when one
	// answers again.
	Alone func(alone bool)
	// Logger logs when others cannot reach this node, when no node answers, and when that ends. If it is nil, nothing
	// is logged.
	Logger *slog.Logger

	// Every is the interval between rounds. The default value is 1 s.
	Every time.Duration
	// Patience is the time limit for an answer. The default value is 1500 ms. The node that is asked uses 1 s.
	Patience time.Duration
}

// maxAsked is the maximum number of nodes that are asked in a round. In larger clusters they are a new random choice
// in each round.
const maxAsked = 8

// These are the scores of rounds, and the limit at which others count as unable to reach this node: two consecutive
// bad rounds, or five if this node receives their connection attempts.
const (
	pointsDeaf  = 5
	pointsSlow  = 2
	pointsShut  = 10
	lateAnswers = 500 * time.Millisecond // the delay beyond Patience after which this process must have been suspended
)

// silentRounds is the number of consecutive rounds without an answer after which a node is reported as silent. If no
// node has answered for as many rounds, this node counts as alone.
const silentRounds = 5

// Fault is a node that answers this one but cannot reach it or, if Silent is set, a node that does not answer.
type Fault struct {
	Node, Reason string
	Silent       bool
}

// Monitor watches whether others reach this node. See the package comment.
type Monitor struct {
	metapb.UnimplementedPeerServer
	cfg Config

	trying chan struct{} // limits the number of nodes that are tried at a time

	mu sync.Mutex // guards the fields below
	// asked and answered are the nodes of the last round.
	asked, answered map[string]bool
	heard           map[string]time.Time // when a node last tried to reach this one
	faults          map[string]*fault
	silent          map[string]*fault // nodes that did not answer, whether or not they can reach this node
	points          int
	unanswered      int // consecutive rounds in which no node answered
	shut            bool
	avoid           []string
}

// fault is the reason for a fault, and the number of consecutive rounds with it.
type fault struct {
	reason string
	rounds int
	at     time.Time
}

// New returns a Monitor that asks no node until Run. It panics if a required part of the
// configuration is missing.
func New(cfg Config) *Monitor {
	if cfg.Nodes == nil || cfg.Ask == nil || cfg.Try == nil || cfg.StepDown == nil {
		panic("reach: Config.Nodes, Ask, Try and StepDown must be set")
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
	defer m.note(nil, nil) // a stopping node reports no faults of others
	free := make(chan struct{}, 1)
	free <- struct{}{}
	for {
		begin := time.Now()
		m.round(ctx)
		if avoid, shut := m.state(); shut {
			select {
			case <-free:
				handing.Go(func() {
					m.cfg.StepDown(ctx, avoid)
					free <- struct{}{}
				})
			default: // the last call is still running
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

// answer is the answer of a node. resp is nil if the node has no result or did not answer.
type answer struct {
	node     Node
	answered bool
	resp     *metapb.ReachResponse
}

// round asks some nodes and evaluates the answers.
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
			case code == codes.Unimplemented, code == codes.ResourceExhausted: // an older program, or a busy node
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

// count determines whether this node is alone.
func (m *Monitor) count(asked, answered int) {
	m.mu.Lock()
	before := m.unanswered >= silentRounds
	if asked > 0 && answered == 0 {
		m.unanswered++
	} else {
		m.unanswered = 0
	}
	alone := m.unanswered >= silentRounds
	m.mu.Unlock()
	if alone == before {
		return
	}
	if alone {
		m.cfg.Logger.Warn("no other node answers this one: check its network")
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

// judge evaluates the answers of a round. nodes lists all other nodes.
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

// score adds points for a round. At the limit, others count as unable to reach this node. slow means that a node that
// cannot reach this one was heard from during the round.
func (m *Monitor) score(all, routers tally, slow bool) {
	switch {
	case all.votes == 0: // no information
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
		m.cfg.Logger.Warn("other nodes cannot reach this one at its port, although it reaches them: its leaderships are "+
			"transferred; allow connections to that port, and check that --advertise-addr is reachable from other nodes",
			"error", fmt.Sprintf("%d of %d that were asked: %s", all.cannot, all.votes, strings.Join(m.reasonsLocked(), "; ")))
	}
}

// hear records whether a node answered.
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

// tally counts the nodes that can reach this node, and those that cannot.
type tally struct{ votes, cannot int }

func (t *tally) add(cannot bool) {
	t.votes++
	if cannot {
		t.cannot++
	}
}

// most reports whether a majority of the nodes cannot reach this node.
func (t *tally) most() bool { return 2*t.cannot > t.votes }

// forget drops answers of removed nodes, and old answers: not all nodes are asked in each round.
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

// Unreachable reports whether this node should lead no group, because too many nodes cannot reach it.
func (m *Monitor) Unreachable() bool {
	_, shut := m.state()
	return shut
}

// maxFaults is the maximum number of nodes in Faults.
const maxFaults = 16

// Faults lists, by id, nodes that reported twice in a row that they cannot reach this one, and
// silent nodes.
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
