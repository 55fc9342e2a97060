package registry

import (
	"slices"
	"time"

	"google.golang.org/grpc"
)

// This file is about nodes that the metadata does not list. Without a secret of the cluster
// any program that reaches the port between nodes can claim to be a node at some address, so
// what is noted of such nodes is bounded. A node that is one asks its seeds again and again,
// and is listed soon.
const (
	// maxTold is how many nodes are noted that are only known from calls, their own or others', and
	// maxToldBy how many of them from calls of one host.
	maxTold   = 1024
	maxToldBy = 64
	// unlistedFor is how long a node is remembered that is not heard of and not listed.
	unlistedFor = 15 * time.Minute
	// maxRemoved is how many removed nodes are remembered.
	maxRemoved = 1024
	// toldSaves is the pause between two writes of the file for nodes known from calls.
	toldSaves = time.Second
)

// byOthers is noted as the host of nodes that other nodes named; if there is no room left for
// them, they are not noted.
const byOthers = "others"

// Told notes that a node called from a host, and says that it is reached at an address. Host
// is empty if the caller has proved to be the node.
func (r *Registry) Told(host, id, addr string, roles []string) {
	if id == "" || id == r.cfg.NodeID {
		return
	}
	if host == "" {
		r.Seen(id, addr, roles)
		return
	}
	r.mu.Lock()
	e, gone := r.toldEntry(host, id)
	e.absence = absence{} // it may be there
	changed := r.put(e, addr)
	if e.node == nil && len(roles) > 0 && !slices.Equal(e.roles, roles) {
		e.roles, changed = slices.Clone(roles), true
	}
	now := r.cfg.Now()
	changed = changed && e.told == "" && now.Sub(r.saved) >= toldSaves
	if changed {
		r.saved = now
	}
	r.mu.Unlock()
	_ = closeAll(gone) // they are of no node of the cluster
	if changed {
		r.save()
	}
}

// toldEntry returns the entry of a node that a host names. If there are too many, another one is
// removed: the oldest of the host, or of the host that named the most. The caller holds mu, and
// closes the connections that are returned. The entry may be nil for byOthers.
func (r *Registry) toldEntry(host, id string) (*entry, []*grpc.ClientConn) {
	now := r.cfg.Now()
	if e := r.nodes[id]; e != nil {
		e.heard = now
		return e, nil
	}
	var gone []*grpc.ClientConn
	switch full := r.told >= maxTold; {
	case host == byOthers && full:
		return nil, nil
	case host != byOthers && r.toldBy[host] >= maxToldBy:
		gone = r.dropOldest(host)
	case full:
		most := host
		for h, n := range r.toldBy {
			if n > r.toldBy[most] {
				most = h
			}
		}
		gone = r.dropOldest(most)
	}
	e := r.entry(id)
	e.told, e.heard = host, now
	r.toldBy[host]++
	r.told++
	return e, gone
}

// dropOldest forgets the node that a host named longest ago; the caller holds mu.
func (r *Registry) dropOldest(host string) []*grpc.ClientConn {
	oldest := ""
	for id, e := range r.nodes {
		if e.told == host && (oldest == "" || e.heard.Before(r.nodes[oldest].heard)) {
			oldest = id
		}
	}
	return r.drop(oldest)
}

// drop forgets a node; the caller holds mu, and closes what is returned.
func (r *Registry) drop(id string) []*grpc.ClientConn {
	e := r.nodes[id]
	if e == nil {
		return nil
	}
	r.confirm(e)
	delete(r.nodes, id)
	return e.conns[:]
}

// confirm notes that a node is known from more than calls; the caller holds mu.
func (r *Registry) confirm(e *entry) {
	if e.told == "" {
		return
	}
	r.told--
	if r.toldBy[e.told]--; r.toldBy[e.told] == 0 {
		delete(r.toldBy, e.told)
	}
	e.told = ""
}

// noteRemoved notes that a node was removed from the cluster; the caller holds mu.
func (r *Registry) noteRemoved(id string) {
	if len(r.removed) >= maxRemoved {
		for other := range r.removed {
			delete(r.removed, other) // any: one that is forgotten is only called in vain
			break
		}
	}
	r.removed[id] = true
}
