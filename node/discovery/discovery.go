// Package discovery is how a node finds the others: which cluster it belongs to, where
// the members of that are now, and, when there is no cluster yet, how several empty nodes
// make exactly one.
//
// A node that belongs to a cluster never founds another. One that does not asks all its
// seeds. If one of them belongs to a cluster, it joins that. If all of them answer, none
// does, and there are as many with the role meta as expected, the one with the lowest id
// founds a cluster: it makes the id, has each founder promise to belong to it and to no
// other, and only when all have promised the cluster exists. The promise is on disk before
// it is given. Only the node that asked for the promises decides. It gives up if a node refuses or
// does not answer, and begins anew with another id; the others ask it for the outcome. So it makes
// no difference where which process is killed: one id comes out.
//
// Find returns when the node belongs to a cluster; Follow then keeps looking where the
// others are. A Discovery is also the service that answers the others, from New on. All
// methods may be called concurrently.
package discovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	grpcpeer "google.golang.org/grpc/peer"

	"cordwood/node/rpcport"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// RoleMeta is the role of nodes that may be founders.
const RoleMeta = "meta"

// State is what a node belongs to. What a method that sets it was given is on disk when
// it returns nil.
type State interface {
	// Cluster is the cluster that the node belongs to, and its founders; empty: it belongs to none.
	// Founders are empty if the node joined later.
	Cluster() (id string, founders []string)
	SetCluster(id string, founders []string) error
	// Promise is the cluster that the node promised to join if it is founded.
	Promise() (id string, founders []string)
	// SetPromise with an empty id takes the promise back.
	SetPromise(id string, founders []string) error
}

// Book is where the addresses of nodes are noted.
type Book interface {
	// Told notes what a node that called says of itself. Host is where the call came from; empty:
	// from the node itself, which has proved its identity.
	Told(host, id, addr string, roles []string)
	Seen(id, addr string, roles []string)
	Heard(nodes []*metapb.Node)
	Known() []*metapb.Node
}

// Config is what a Discovery works with. All but Resolve, Logger and Pause are required.
type Config struct {
	// NodeID, Name, Roles and Addr are what the node says of itself; Process differs for
	// each life of it. Lowest and Highest are the protocol versions that it speaks.
	NodeID, Name    string
	Roles           []string
	Addr            string
	Process         uint64
	Lowest, Highest uint32

	// Seeds are HOST:PORT or dns:NAME:PORT; none: the node is a cluster of its own.
	Seeds []string
	// Expect is how many nodes found a cluster.
	Expect int
	// ClusterID, if not empty, is the only cluster that the node may belong to, and which
	// exists: it founds none.
	ClusterID string

	State  State
	Book   Book
	Dialer rpcport.Dialer
	// NewID makes an id for a cluster.
	NewID func() string
	// Waiting is called with a text that says what the node waits for.
	Waiting func(string)
	// Resolve returns the addresses of a name. The default value asks DNS.
	Resolve func(ctx context.Context, host string) ([]string, error)
	Logger  *slog.Logger
	// Pause is between two rounds of questions, and a question takes so long at most. The
	// default value is 1 s.
	Pause time.Duration
}

// Discovery finds nodes. It implements metapb.DiscoveryServer.
type Discovery struct {
	metapb.UnimplementedDiscoveryServer
	cfg Config

	deciding sync.Mutex // held while State is looked at and changed

	mu    sync.Mutex // guards the fields below
	conns map[string]*grpc.ClientConn
	names map[string]string // by address: of the seed that it was found by
	// refusals are the addresses that could not be dialed since one of the two nodes did not
	// prove itself, and proven the ids that others have proved to have; both by address.
	refusals map[string]error
	proven   map[string]string
	toldOf   map[string]string // by address: the refusal that was last told
	said     string            // what was last told to wait for
	last     view              // what was seen last
	looked   bool              // last was seen

	// news has Find ask the seeds at once.
	news chan struct{}
}

// New returns a Discovery.
func New(cfg Config) *Discovery {
	if cfg.Resolve == nil {
		cfg.Resolve = net.DefaultResolver.LookupHost
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Pause == 0 {
		cfg.Pause = time.Second
	}
	return &Discovery{
		cfg: cfg, conns: map[string]*grpc.ClientConn{}, names: map[string]string{}, refusals: map[string]error{},
		proven: map[string]string{}, toldOf: map[string]string{}, news: make(chan struct{}, 1),
	}
}

// isFrom refuses a call that says that it is from another node than has proved to call.
func isFrom(ctx context.Context, node string) error {
	p, ok := grpcpeer.FromContext(ctx)
	if !ok {
		return nil // it came from no network
	}
	if proven := rpcport.NodeOf(p.Addr); proven != "" && node != "" && proven != node {
		return errs.ToGRPC(errs.New(errs.PermissionDenied,
			"the call says that it is from node %s, and its certificate is for node %s", node, proven))
	}
	return nil
}

// callerHost returns the host that a call came from; empty if the caller has proved which node it is,
// or it came from no network.
func callerHost(ctx context.Context) string {
	p, ok := grpcpeer.FromContext(ctx)
	if !ok || rpcport.NodeOf(p.Addr) != "" {
		return ""
	}
	host, _, err := net.SplitHostPort(p.Addr.String())
	if err != nil {
		return p.Addr.String()
	}
	return host
}

// Hello returns the identity of this node, and notes the caller.
func (d *Discovery) Hello(ctx context.Context, req *metapb.HelloRequest) (*metapb.HelloResponse, error) {
	if err := isFrom(ctx, req.NodeId); err != nil {
		return nil, err
	}
	if req.NodeId != "" || req.AdvertiseAddr != "" {
		if err := rpcport.CheckNode(req.NodeId, req.AdvertiseAddr, req.Roles); err != nil {
			return nil, errs.ToGRPC(errs.Wrap(errs.InvalidArguments, err, "what the caller says of itself is not of a node"))
		}
	}
	d.deciding.Lock()
	cluster, founders := d.cfg.State.Cluster()
	promise, promised := d.cfg.State.Promise()
	d.deciding.Unlock()
	if cluster == "" {
		founders = promised
	}
	if cluster == "" && (req.ClusterId != "" || d.isNews(req.NodeId)) {
		d.askSoon()
	}
	if req.ClusterId == cluster || req.ClusterId == "" {
		d.cfg.Book.Told(callerHost(ctx), req.NodeId, req.AdvertiseAddr, req.Roles)
	}
	return &metapb.HelloResponse{
		ClusterId: cluster, NodeId: d.cfg.NodeID, Name: d.cfg.Name, Roles: d.cfg.Roles, AdvertiseAddr: d.cfg.Addr,
		PromisedClusterId: promise, Founders: founders, Expect: uint32(d.cfg.Expect),
		MinProtocol: d.cfg.Lowest, MaxProtocol: d.cfg.Highest, Nodes: d.cfg.Book.Known(), Process: d.cfg.Process,
	}, nil
}

// askSoon has Find ask the seeds at once.
func (d *Discovery) askSoon() {
	select {
	case d.news <- struct{}{}:
	default:
	}
}

// isNews reports whether a node that calls was not there when the seeds were last asked.
func (d *Discovery) isNews(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, known := d.last.by(id)
	return id != "" && !known
}

// Found has this node promise to belong to a new cluster.
func (d *Discovery) Found(ctx context.Context, req *metapb.FoundRequest) (*metapb.FoundResponse, error) {
	if err := isFrom(ctx, req.NodeId); err != nil {
		return nil, err
	}
	refuse := func(format string, args ...any) (*metapb.FoundResponse, error) {
		return nil, errs.ToGRPC(errs.New(errs.IllegalState, "node %s does not found cluster %s: "+format,
			append([]any{d.cfg.NodeID, req.ClusterId}, args...)...))
	}
	d.deciding.Lock()
	defer d.deciding.Unlock()
	cluster, _ := d.cfg.State.Cluster()
	promise, promised := d.cfg.State.Promise()
	switch {
	case req.ClusterId == "" || !slices.Contains(req.Founders, d.cfg.NodeID) || req.NodeId != coordinator(req.Founders):
		return refuse("the request is not meant for it")
	case cluster == req.ClusterId:
		return &metapb.FoundResponse{}, nil
	case cluster != "":
		return refuse("it belongs to cluster %s", cluster)
	case d.cfg.ClusterID != "":
		return refuse("it is to belong to cluster %s (--cluster-id)", d.cfg.ClusterID)
	case promise == req.ClusterId && slices.Equal(promised, req.Founders):
		return &metapb.FoundResponse{}, nil
	case promise != "":
		return refuse("it has promised to found cluster %s", promise)
	}
	if err := d.cfg.State.SetPromise(req.ClusterId, req.Founders); err != nil {
		return nil, errs.ToGRPC(errs.Wrap(errs.StorageUnavailable, err, "promise to found cluster %s", req.ClusterId))
	}
	d.askSoon() // what comes of it is known in a moment
	return &metapb.FoundResponse{}, nil
}

// coordinator returns the founder that decides whether to found the cluster.
func coordinator(founders []string) string {
	if len(founders) == 0 {
		return ""
	}
	return slices.Min(founders)
}

// peer is a node that answered, and where.
type peer struct {
	*metapb.HelloResponse
	addr string
}

// view is the result of one round of questions.
type view struct {
	peers  []peer   // others, each once
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

// name returns a node for people: its name with the address, or its id if it does not answer.
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

// called names nodes for people; this one may be among them.
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

// look asks all seeds for their identity, and waits for answers for the time of patience.
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

// Silent lists the seeds that did not answer when they were last asked, with the reason.
func (d *Discovery) Silent() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last.silent
}

// WithRole lists this node and those among the seeds, as far as they have a role; ok is false if
// not all seeds answered when they were last asked.
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

// Twin reports whether another process at an address says that it is this node.
func (d *Discovery) Twin(ctx context.Context, addr string) bool {
	a, err := d.helloFrom(ctx, addr, false)
	return err == nil && a.NodeId == d.cfg.NodeID && a.Process != d.cfg.Process
}

// Self asks the nodes of a cluster at some addresses what they know of this node. A node that does
// not answer before ctx ends is left out.
func (d *Discovery) Self(ctx context.Context, cluster string, addrs []string) (known []*metapb.Node) {
	var mu sync.Mutex // guards known
	var wg sync.WaitGroup
	for _, addr := range addrs {
		wg.Go(func() {
			a, err := d.helloFrom(ctx, addr, false)
			if err != nil || a.ClusterId != cluster || a.NodeId == d.cfg.NodeID {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for _, m := range a.Nodes {
				if m.Id == d.cfg.NodeID {
					known = append(known, m)
				}
			}
		})
	}
	wg.Wait()
	return known
}

// wait reports what the node waits for, in the log when that changes.
func (d *Discovery) wait(text string) {
	d.mu.Lock()
	news := d.said != text
	d.said = text
	d.mu.Unlock()
	d.cfg.Waiting(text)
	if news {
		d.cfg.Logger.Info("waiting", "for", text)
	}
}

// refused logs that a seed refused this node, or this node the seed, if that is new.
func (d *Discovery) refused(addr string, err error) {
	d.mu.Lock()
	news := d.toldOf[addr] != err.Error()
	d.toldOf[addr] = err.Error()
	d.mu.Unlock()
	if news {
		d.cfg.Logger.Warn("a seed refused this node", "addr", addr, "error", err)
	}
}

// note remembers the addresses of the nodes that answered, if they belong to this cluster.
func (d *Discovery) note(v view, cluster string) {
	for _, p := range v.peers {
		if p.ClusterId == cluster || p.ClusterId == "" {
			d.cfg.Book.Seen(p.NodeId, p.AdvertiseAddr, p.Roles)
		}
	}
	// Addresses that this node has seen itself count more than addresses that others report.
	for _, p := range v.peers {
		if p.ClusterId == cluster && cluster != "" {
			d.cfg.Book.Heard(p.Nodes)
		}
	}
}

// Follow asks the seeds again and again, until ctx ends, so that each side knows the other's
// address.
func (d *Discovery) Follow(ctx context.Context) error {
	cluster, _ := d.cfg.State.Cluster()
	warned := ""
	for {
		v := d.look(ctx, d.cfg.Pause)
		d.note(v, cluster)
		text := d.strangers(v, cluster)
		if text != "" && text != warned {
			d.cfg.Logger.Warn("a seed belongs to another cluster: correct --seeds", "seeds", text, "cluster", cluster)
		}
		warned = text
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(d.cfg.Pause):
		}
	}
}

// strangers lists the nodes that belong to another cluster.
func (d *Discovery) strangers(v view, cluster string) string {
	var out []string
	for _, p := range v.peers {
		if p.ClusterId != "" && p.ClusterId != cluster {
			out = append(out, fmt.Sprintf("%s belongs to cluster %s", p.addr, p.ClusterId))
		}
	}
	return strings.Join(out, ", ")
}
