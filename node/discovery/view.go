package discovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"cordwood/node/rpcport"
	"cordwood/proto/metapb"
)

// peer is a node that answered, with its address.
type peer struct {
	*metapb.HelloResponse
	addr string
}

// view is the result of one round of requests.
type view struct {
	peers  []peer   // other nodes, without duplicates
	silent []string // seeds that do not answer, with the reason
}

func (v *view) by(id string) (peer, bool) {
	for _, p := range v.peers {
		if p.NodeId == id {
			return p, true
		}
	}
	return peer{}, false
}

// name returns a node for display: its name and address, or its id if it does not answer.
func (v *view) name(id string) string {
	p, ok := v.by(id)
	switch {
	case !ok:
		return id
	case p.Name == "":
		return fmt.Sprintf("%s (%s)", id, p.addr)
	}
	return fmt.Sprintf("%s (%s)", p.Name, p.addr)
}

// called returns nodes for display. This node may be one of them.
func (d *Discovery) called(v view, ids []string) string {
	var out []string
	for _, id := range ids {
		if id == d.cfg.NodeID && d.cfg.Name != "" {
			out = append(out, d.cfg.Name)
		} else {
			out = append(out, v.name(id))
		}
	}
	return strings.Join(out, ", ")
}

// look asks all seeds for their identity, and waits at most patience for their answers.
func (d *Discovery) look(ctx context.Context, patience time.Duration) view {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	addrs, faults := d.resolve(ctx)
	v := view{silent: faults}
	answers, failed := make([]*metapb.HelloResponse, len(addrs)), make([]error, len(addrs))
	var wg sync.WaitGroup
	for i, addr := range addrs {
		wg.Go(func() { answers[i], failed[i] = d.hello(ctx, addr) })
	}
	wg.Wait()
	for i, addr := range addrs {
		unproven := (*rpcport.Unproven)(nil)
		switch a := answers[i]; {
		case errors.As(failed[i], &unproven):
			d.refused(addr, unproven)
			v.silent = append(v.silent, fmt.Sprintf("%s (refused this node: %v)", addr, unproven))
		case failed[i] != nil:
			v.silent = append(v.silent, fmt.Sprintf("%s (%v)", addr, failed[i]))
		case a.NodeId == d.cfg.NodeID && a.Process == d.cfg.Process, a.NodeId == "":
		default:
			if _, twice := v.by(a.NodeId); !twice {
				v.peers = append(v.peers, peer{a, addr})
			}
		}
	}
	slices.SortFunc(v.peers, func(a, b peer) int { return strings.Compare(a.NodeId, b.NodeId) })
	d.forgetConns(addrs)
	d.mu.Lock()
	d.last, d.looked = v, true
	d.mu.Unlock()
	return v
}

// Silent lists the seeds that did not answer in the last round, with the reason.
func (d *Discovery) Silent() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last.silent
}

// WithRole lists this node and the seeds that have a role; ok is false if not all seeds answered in
// the last round.
func (d *Discovery) WithRole(role string) (ids []string, ok bool) {
	cluster, _ := d.cfg.State.Cluster()
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.cfg.Roles, role) {
		ids = append(ids, d.cfg.NodeID)
	}
	for _, p := range d.last.peers {
		if slices.Contains(p.Roles, role) && (p.ClusterId == "" || p.ClusterId == cluster) {
			ids = append(ids, p.NodeId)
		}
	}
	return ids, d.looked && len(d.last.silent) == 0
}

// foreignNodes lists the nodes that belong to another cluster.
func (d *Discovery) foreignNodes(v view, cluster string) string {
	var out []string
	for _, p := range v.peers {
		if p.ClusterId != "" && p.ClusterId != cluster {
			out = append(out, fmt.Sprintf("%s belongs to cluster %s", p.addr, p.ClusterId))
		}
	}
	return strings.Join(out, ", ")
}
