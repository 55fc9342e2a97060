// Package registry contains the addresses of the nodes of a cluster, by id, and the connections to them.
//
// It learns addresses from the metadata (Learn), from nodes that answered or called (Seen, RecordCaller), and from the
// file that it keeps for the next start. Every dial looks the address up again, the newest information first, and the
// other side must prove that it is the intended node. So a node may change its address at any time, and another node
// may take over its old address.
//
// Life cycle: New, Close. All methods are safe for concurrent use.
package registry

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"cordwood/node/rpcport"
	"cordwood/proto/metapb"
)

// Config configures a Registry. NodeID, Local and Member are required.
type Config struct {
	// NodeID is this node. Calls to it go through Local, and tails through LocalTail.
	NodeID           string
	Local, LocalTail grpc.ClientConnInterface
	// Member returns the description of this node for greetings. The node must belong to a cluster before the first
	// dial.
	Member func() rpcport.Member
	Dialer rpcport.Dialer
	// File keeps the addresses for the next start. If it is empty, they are not kept.
	File string
	// Options are the options of connections for calls. TailOptions are the options of connections for tails.
	Options, TailOptions []grpc.DialOption
	Logger               *slog.Logger
	// Now is the clock. The default value is time.Now.
	Now func() time.Time
	// DialTimeout is the time limit of one attempt to connect to one address. The default value is 1 s.
	DialTimeout time.Duration
}

// Registry contains the addresses of the other nodes.
type Registry struct {
	cfg Config

	saving sync.Mutex // held while the file is written

	mu        sync.Mutex // guards the fields below
	nodes     map[string]*entry
	callersBy map[string]int // by host, the number of nodes that are known only from its calls
	callers   int            // the sum of callersBy
	saved     time.Time      // when the file was last written for a node known from calls
	// removed contains nodes that the metadata no longer list. They, or others, may still report them.
	removed map[string]bool
	closed  bool
}

// entry is the information about a node.
type entry struct {
	node *metapb.Node // from the metadata; nil if they do not list the node
	// addrs are the possible addresses of the node, newest first.
	addrs      []string
	roles      []string
	conns      [2]*grpc.ClientConn // one connection for calls, one for tails
	plain      bool                // the last call used no TLS
	callerHost string              // the host if the node is known only from calls of that host, otherwise empty
	heard      time.Time           // when it was last heard from, if the metadata do not list it
	absence
}

// maxAddrs is the maximum number of addresses of a node that are remembered.
const maxAddrs = 4

// The kinds of connections.
const (
	forCalls = iota
	forTails
)

// New returns a registry with the content of File, if it exists.
func New(cfg Config) *Registry {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.DialTimeout == 0 {
		cfg.DialTimeout = time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	r := &Registry{cfg: cfg, nodes: map[string]*entry{}, callersBy: map[string]int{}, removed: map[string]bool{}}
	r.load()
	return r
}

// entry returns the entry of a node. The caller holds mu.
func (r *Registry) entry(id string) *entry {
	e := r.nodes[id]
	if e == nil {
		e = &entry{}
		r.nodes[id] = e
	}
	return e
}

// put adds an address as the newest, and reports whether it is new. The caller holds mu.
func (r *Registry) put(e *entry, addr string) bool {
	if addr == "" || len(e.addrs) > 0 && e.addrs[0] == addr {
		return false
	}
	e.addrs = slices.DeleteFunc(e.addrs, func(a string) bool { return a == addr })
	e.addrs = slices.Insert(e.addrs, 0, addr)
	if len(e.addrs) > maxAddrs {
		last := e.addrs[maxAddrs:]
		e.addrs = e.addrs[:maxAddrs]
		if e.node != nil && slices.Contains(last, e.node.RpcAddr) { // callers must not remove the address in the metadata
			e.addrs[maxAddrs-1] = e.node.RpcAddr
		}
	}
	return true
}

// add adds an address as the oldest. The caller holds mu.
func (r *Registry) add(e *entry, addr string) bool {
	if addr == "" || len(e.addrs) >= maxAddrs || slices.Contains(e.addrs, addr) {
		return false
	}
	e.addrs = append(e.addrs, addr)
	return true
}

// Learn adds the nodes of the metadata. An address counts as new only if it changed in the metadata: other
// observations since then are newer.
func (r *Registry) Learn(nodes []*metapb.Node) {
	r.mu.Lock()
	changed := false
	listed := map[string]bool{}
	for _, n := range nodes {
		listed[n.Id] = true
		changed = r.learn(n) || changed
	}
	gone, dropped := r.dropUnlisted(listed)
	r.mu.Unlock()
	_ = closeAll(gone) // no call is lost
	if changed || dropped {
		r.save()
	}
}

// learn adds a node of the metadata, and reports whether this changed an entry. The caller holds mu.
func (r *Registry) learn(n *metapb.Node) (changed bool) {
	delete(r.removed, n.Id)
	e := r.entry(n.Id)
	switch {
	case e.node == nil && len(e.addrs) > 0: // the address may be from before the node moved
		changed = r.add(e, n.RpcAddr)
	case e.node == nil || e.node.RpcAddr != n.RpcAddr:
		changed = r.put(e, n.RpcAddr)
		e.absence = absence{}
	}
	if !slices.Equal(e.roles, n.Roles) {
		e.roles, changed = n.Roles, true
	}
	r.confirm(e)
	changed = changed || e.node == nil
	e.node = n
	return changed
}

// dropUnlisted drops the nodes that were removed from the cluster, and those that never were in the metadata and sent
// nothing for a while. It returns their connections, which the caller closes without mu, and whether there were any
// such nodes. The caller holds mu.
func (r *Registry) dropUnlisted(listed map[string]bool) (gone []*grpc.ClientConn, changed bool) {
	for id, e := range r.nodes {
		removed := e.node != nil && !listed[id] // removed from the cluster
		if removed {
			r.noteRemoved(id)
		}
		if removed || e.node == nil && r.cfg.Now().Sub(e.heard) > unlistedFor {
			gone = append(gone, r.drop(id)...)
			changed = true
		}
	}
	return gone, changed
}

// Seen records that a node was just reached at an address.
func (r *Registry) Seen(id, addr string, roles []string) {
	if id == "" || id == r.cfg.NodeID {
		return
	}
	r.mu.Lock()
	e := r.entry(id)
	r.confirm(e)
	e.heard = r.cfg.Now()
	e.absence = absence{} // it is up
	changed := r.put(e, addr)
	if e.node == nil && len(roles) > 0 && !slices.Equal(e.roles, roles) {
		e.roles, changed = roles, true
	}
	r.mu.Unlock()
	if changed {
		r.cfg.Logger.Debug("found a node", "node", id, "addr", addr)
		r.save()
	}
}

// Heard records addresses of nodes that another node has reported. It ranks below all other information.
func (r *Registry) Heard(nodes []*metapb.Node) {
	r.mu.Lock()
	changed := false
	for _, n := range nodes {
		if n.RpcAddr == "" || n.Id == r.cfg.NodeID || rpcport.CheckNode(n.Id, n.RpcAddr, n.Roles) != nil {
			continue
		}
		e, _ := r.callerEntry(byOthers, n.Id)
		if e == nil {
			continue
		}
		if len(e.roles) == 0 {
			e.roles = n.Roles
		}
		changed = r.add(e, n.RpcAddr) && e.callerHost == "" || changed
	}
	r.mu.Unlock()
	if changed {
		r.save()
	}
}

// Known lists the nodes that have an address, by id, with their newest address.
func (r *Registry) Known() []*metapb.Node { return r.known(func(string, *entry) bool { return true }) }

func (r *Registry) known(which func(string, *entry) bool) []*metapb.Node {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*metapb.Node
	for id, e := range r.nodes {
		if len(e.addrs) > 0 && which(id, e) {
			out = append(out, &metapb.Node{Id: id, RpcAddr: e.addrs[0], Roles: e.roles, Mark: e.node.GetMark()})
		}
	}
	slices.SortFunc(out, func(a, b *metapb.Node) int { return strings.Compare(a.Id, b.Id) })
	return out
}

// WithRole lists the other nodes with a role, by id, except those that were removed from the cluster.
func (r *Registry) WithRole(role string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for id, e := range r.nodes {
		if id != r.cfg.NodeID && !r.removed[id] && slices.Contains(e.roles, role) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// Addrs lists the possible addresses of a node, the newest first.
func (r *Registry) Addrs(id string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.nodes[id]
	if e == nil {
		return nil
	}
	return slices.Clone(e.addrs)
}
