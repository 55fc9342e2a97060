package node

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cordwood/node/config"
	"cordwood/node/reach"
	"cordwood/proto/metapb"
)

// openReach opens the check of whether other nodes can reach this one.
func (n *node) openReach() {
	h := &reachability{membership: n.membership, groups: map[string]*transferState{}}
	n.reach = reach.New(reach.Config{
		Nodes: h.otherNodes, Ask: h.askReach, Try: h.tryNode, Logger: n.log,
		StepDown: h.stepDown,
		Alone:    n.setAlone,
	})
	metapb.RegisterPeerServer(n.rpc.server, n.reach)
	n.sessions = &sessions{members: n.membership}
	metapb.RegisterSessionsServer(n.rpc.server, n.sessions)
	n.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cordwood_node_unreachable", Help: "1 while most of the nodes that this node can reach report " +
			"that they cannot reach its port; the node then transfers its leaderships.",
	}, func() float64 {
		if n.reach.Unreachable() {
			return 1
		}
		return 0
	}))
}

// otherNodes lists the other nodes of the cluster.
func (n *reachability) otherNodes() (out []reach.Node) {
	for _, m := range n.meta.Nodes() {
		if m.Id != n.data.nodeID {
			out = append(out, reach.Node{ID: m.Id, Router: slices.Contains(m.Roles, config.RoleRouter)})
		}
	}
	return out
}

// askReach asks another node whether it can reach this one.
func (n *reachability) askReach(ctx context.Context, id string) (*metapb.ReachResponse, error) {
	conn, err := n.nodes.Dial(id)
	if err != nil {
		return nil, err
	}
	return metapb.NewPeerClient(conn).Reach(ctx, &metapb.ReachRequest{NodeId: n.data.nodeID})
}

// echoFirst is the time that a node may take to answer over the existing connection, which may be dead. After that, a
// new connection is tried, too.
const echoFirst = 250 * time.Millisecond

// tryNode tries to reach another node.
func (n *reachability) tryNode(ctx context.Context, id string) error {
	conn, err := n.nodes.Dial(id)
	if err != nil || len(n.nodes.Addrs(id)) == 0 {
		return reach.ErrUnknown
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	echo, knock := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := metapb.NewPeerClient(conn).Echo(ctx, &metapb.EchoRequest{NodeId: n.data.nodeID})
		switch status.Code(err) {
		case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		default:
			err = nil // any answer means that the node was reached
		}
		echo <- err
	}()
	late := time.NewTimer(echoFirst)
	defer late.Stop()
	select {
	case err := <-echo:
		if err == nil {
			return nil
		}
		echo = nil
	case <-late.C:
	}
	go func() { knock <- n.nodes.Knock(ctx, id) }()
	for {
		select {
		case err := <-echo:
			if err == nil {
				return nil
			}
			echo = nil
		case err := <-knock:
			if err != nil && ctx.Err() != nil && len(n.nodes.Addrs(id)) > 0 {
				err = fmt.Errorf("%s: no answer in time: %w", n.nodes.Addrs(id)[0], err)
			}
			return err
		}
	}
}

// These are the delays before this node transfers the same group again. If it becomes leader again, the other members
// may not be able to lead.
const (
	transferPause    = 5 * time.Second
	maxTransferPause = time.Minute
	transferTime     = 5 * time.Second // the time limit of one transfer
)

// reachability checks whether others can reach this node, and transfers its leaderships if they cannot. It records the
// result for each group.
type reachability struct {
	*membership
	mu     sync.Mutex // guards groups
	groups map[string]*transferState
}

type transferState struct {
	times int
	again time.Time
	fault string
}

// due reports whether a group may be transferred now.
func (n *reachability) due(group string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	g := n.groups[group]
	if g != nil && time.Since(g.again) > maxTransferPause {
		g.times = 0
	}
	return g == nil || time.Now().After(g.again)
}

// tried records the result of a transfer. news reports whether it differs from the last result.
func (n *reachability) tried(group string, err error) (news bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	g := n.groups[group]
	if g == nil {
		g = &transferState{}
		n.groups[group] = g
	}
	if err != nil {
		news, g.fault = g.fault == "", err.Error()
		return news // the result is the same: the next round checks again
	}
	g.fault = ""
	g.again = time.Now().Add(min(transferPause<<min(g.times, 8), maxTransferPause))
	g.times++
	return true
}

// stepDown transfers this node's leaderships of groups in which the other members are a majority without it.
func (n *reachability) stepDown(ctx context.Context, avoid []string) {
	ctx, cancel := context.WithTimeout(ctx, transferTime)
	defer cancel()
	var wg sync.WaitGroup
	transferGroup := func(group string, leads bool, transfer func(context.Context, ...string) error) {
		if !leads || !n.due(group) {
			return
		}
		wg.Go(func() {
			err := transfer(ctx, avoid...)
			switch news := n.tried(group, err); {
			case err == nil:
				n.log.Warn("transferred leadership, since others cannot reach this node", "group", group)
			case news:
				n.log.Warn("others cannot reach this node, and the leadership transfer failed; it is retried",
					"group", group, "error", err)
			}
		})
	}
	if n.host != nil {
		for _, s := range n.host.All() {
			transferGroup(fmt.Sprintf("shard-%d", s.ID()), s.Leads(), s.StepDownUnreachable)
		}
	}
	if n.member != nil {
		transferGroup("meta", n.member.Leads(), n.member.StepDownUnreachable)
	}
	wg.Wait()
}
