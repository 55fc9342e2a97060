package registry

import (
	"slices"
	"time"

	"google.golang.org/grpc"
)

// This file handles nodes that the metadata do not list. Without a cluster secret, any program that
// reaches the port between nodes can claim to be a node at some address, so the number of such
// nodes is limited. A real node asks its seeds periodically, and is listed soon.
const (
	// maxCallers is the maximum number of recorded nodes that are known only from calls, either their own or of others.
	// maxCallersOfHost is the maximum number from calls of one host.
	maxCallers       = 1024
	maxCallersOfHost = 64
	// unlistedFor is the time for which an unlisted node is kept after it was last heard from.
	unlistedFor = 15 * time.Minute
	// maxRemoved is the maximum number of removed nodes that are kept.
	maxRemoved = 1024
	// callerSaves is the minimum interval between two writes of the file for nodes known from calls.
	callerSaves = time.Second
)

// byOthers is recorded as the host of nodes that other nodes reported. If there is no room for
// them, they are not recorded.
const byOthers = "others"

// RecordCaller records that a node called from a host and reported an address. host is empty if the caller has proved
// its identity.
func (r *Registry) RecordCaller(host, id, addr string, roles []string) {
	if id == "" || id == r.cfg.NodeID {
		return
	}
	if host == "" {
		r.Seen(id, addr, roles)
		return
	}
	r.mu.Lock()
	e, gone := r.callerEntry(host, id)
	e.absence = absence{} // it may be up again
	changed := r.put(e, addr)
	if e.node == nil && len(roles) > 0 && !slices.Equal(e.roles, roles) {
		e.roles, changed = slices.Clone(roles), true
	}
	now := r.cfg.Now()
	changed = changed && e.callerHost == "" && now.Sub(r.saved) >= callerSaves
	if changed {
		r.saved = now
	}
	r.mu.Unlock()
	_ = closeAll(gone) // these connections belong to no node of the cluster
	if changed {
		r.save()
	}
}

// callerEntry returns the entry of a node that a host reports. If there are too many, it removes the oldest one of the
// host, or of the host with the most. The caller holds mu, and closes the returned connections. The entry may be nil
// for byOthers.
func (r *Registry) callerEntry(host, id string) (*entry, []*grpc.ClientConn) {
	now := r.cfg.Now()
	if e := r.nodes[id]; e != nil {
		e.heard = now
		return e, nil
	}
	var gone []*grpc.ClientConn
	switch full := r.callers >= maxCallers; {
	case host == byOthers && full:
		return nil, nil
	case host != byOthers && r.callersBy[host] >= maxCallersOfHost:
		gone = r.dropOldest(host)
	case full:
		most := host
		for h, n := range r.callersBy {
			if n > r.callersBy[most] {
				most = h
			}
		}
		gone = r.dropOldest(most)
	}
	e := r.entry(id)
	e.callerHost, e.heard = host, now
	r.callersBy[host]++
	r.callers++
	return e, gone
}

// dropOldest removes the oldest node that a host reported. The caller holds mu.
func (r *Registry) dropOldest(host string) []*grpc.ClientConn {
	oldest := ""
	for id, e := range r.nodes {
		if e.callerHost == host && (oldest == "" || e.heard.Before(r.nodes[oldest].heard)) {
			oldest = id
		}
	}
	return r.drop(oldest)
}

// drop removes a node. The caller holds mu, and closes the returned connections.
func (r *Registry) drop(id string) []*grpc.ClientConn {
	e := r.nodes[id]
	if e == nil {
		return nil
	}
	r.confirm(e)
	delete(r.nodes, id)
	return e.conns[:]
}

// confirm records that a node is known not only from calls. The caller holds mu.
func (r *Registry) confirm(e *entry) {
	if e.callerHost == "" {
		return
	}
	r.callers--
	if r.callersBy[e.callerHost]--; r.callersBy[e.callerHost] == 0 {
		delete(r.callersBy, e.callerHost)
	}
	e.callerHost = ""
}

// noteRemoved records that a node was removed from the cluster. The caller holds mu.
func (r *Registry) noteRemoved(id string) {
	if len(r.removed) >= maxRemoved {
		for other := range r.removed {
			delete(r.removed, other) // any of them: the only cost is a failed call
			break
		}
	}
	r.removed[id] = true
}
