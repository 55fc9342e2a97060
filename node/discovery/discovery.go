// Package discovery finds the other nodes: which cluster this node belongs to, and the present addresses of the
// cluster's members. If there is no cluster yet, several empty nodes found exactly one.
//
// A node that belongs to a cluster never founds another. A node without a cluster asks all its seeds. If one of them
// belongs to a cluster, it joins that cluster. If all of them answer, none belongs to a cluster, and the expected
// number of them has the role meta, the node with the lowest id founds a cluster: it creates the id and asks each
// founder to promise to belong to this cluster and no other. The cluster exists only after all have promised. A
// founder stores its promise on disk before it answers. Only the node that asked for the promises decides. It gives
// up if a node refuses or does not answer, and starts again with another id; the others ask it for the outcome. So
// there is exactly one id, even if processes are killed at any time.
//
// Find returns when the node belongs to a cluster; Follow then keeps the other nodes' addresses up to date. A
// Discovery is also the service that answers other nodes, as soon as New returns. All methods are safe for concurrent
// use.
package discovery

import (
	"context"
	"log/slog"
	"net"
	"slices"
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

// State is the stored membership of the node. When a method that changes it returns nil, the change is on disk.
type State interface {
	// Cluster returns the cluster that the node belongs to, and its founders; empty if it belongs
	// to none. Founders are empty if the node joined later.
	Cluster() (id string, founders []string)
	SetCluster(id string, founders []string) error
	// Promise returns the cluster that the node promised to join if it is founded.
	Promise() (id string, founders []string)
	// SetPromise records a promise. An empty id deletes it.
	SetPromise(id string, founders []string) error
}

// Book records the addresses of nodes.
type Book interface {
	// RecordCaller records what a calling node reports about itself. host is the host from which it calls; it is empty if
	// the node has proved its identity.
	RecordCaller(host, id, addr string, roles []string)
	Seen(id, addr string, roles []string)
	Heard(nodes []*metapb.Node)
	Known() []*metapb.Node
}

// Config configures a Discovery. All fields except Resolve, Logger and Pause are required.
type Config struct {
	// NodeID, Name, Roles and Addr describe the node to others. Process differs in each run of the process. Lowest
	// and Highest are the protocol versions that the node supports.
	NodeID, Name    string
	Roles           []string
	Addr            string
	Process         uint64
	Lowest, Highest uint32

	// Seeds are HOST:PORT or dns:NAME:PORT. Without seeds the node is a cluster of its own.
	Seeds []string
	// Expect is the number of nodes that found a cluster.
	Expect int
	// ClusterID, if not empty, is the only cluster that the node may join. That cluster must exist, so the node
	// founds none.
	ClusterID string

	State  State
	Book   Book
	Dialer rpcport.Dialer
	// NewID makes an id for a cluster.
	NewID func() string
	// Waiting is called with a text that describes what the node waits for.
	Waiting func(string)
	// Resolve returns the addresses of a name. The default value asks DNS.
	Resolve func(ctx context.Context, host string) ([]string, error)
	Logger  *slog.Logger
	// Pause is the interval between two rounds of requests, and the time limit of a request. The
	// default value is 1 s.
	Pause time.Duration
}

// Discovery finds nodes. It implements metapb.DiscoveryServer.
type Discovery struct {
	metapb.UnimplementedDiscoveryServer
	cfg Config

	deciding sync.Mutex // held while State is read and changed

	mu    sync.Mutex // guards the fields below
	conns map[string]*grpc.ClientConn
	names map[string]string // by address: the name of the seed that resolved to it
	// refusals contains, by address, the errors of addresses that could not be dialed because one of the two nodes
	// could not authenticate the other. proven contains, by address, the ids with which peers have authenticated.
	refusals      map[string]error
	proven        map[string]string
	loggedRefusal map[string]string // by address: the refusal that was last logged
	said          string            // the last text for Waiting
	last          view              // the result of the last round
	looked        bool              // last is set

	// news makes Find ask the seeds at once.
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
		proven: map[string]string{}, loggedRefusal: map[string]string{}, news: make(chan struct{}, 1),
	}
}

// isFrom returns an error if a call claims to come from another node than the caller's certificate proves.
func isFrom(ctx context.Context, node string) error {
	p, ok := grpcpeer.FromContext(ctx)
	if !ok {
		return nil // the call did not come over a network
	}
	if proven := rpcport.NodeOf(p.Addr); proven != "" && node != "" && proven != node {
		return errs.ToGRPC(errs.New(errs.PermissionDenied,
			"the call claims to be from node %s, but its certificate is for node %s", node, proven))
	}
	return nil
}

// callerHost returns the host of the caller. It is empty if the caller has proved its identity, or is in this
// process.
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

// Hello returns the identity of this node, and records the caller.
func (d *Discovery) Hello(ctx context.Context, req *metapb.HelloRequest) (*metapb.HelloResponse, error) {
	if err := isFrom(ctx, req.NodeId); err != nil {
		return nil, err
	}
	if req.NodeId != "" || req.AdvertiseAddr != "" {
		if err := rpcport.CheckNode(req.NodeId, req.AdvertiseAddr, req.Roles); err != nil {
			return nil, errs.ToGRPC(errs.Wrap(errs.InvalidArguments, err, "the caller's description of itself is not valid "+
				"for a node"))
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
		d.cfg.Book.RecordCaller(callerHost(ctx), req.NodeId, req.AdvertiseAddr, req.Roles)
	}
	return &metapb.HelloResponse{
		ClusterId: cluster, NodeId: d.cfg.NodeID, Name: d.cfg.Name, Roles: d.cfg.Roles, AdvertiseAddr: d.cfg.Addr,
		PromisedClusterId: promise, Founders: founders, Expect: uint32(d.cfg.Expect),
		MinProtocol: d.cfg.Lowest, MaxProtocol: d.cfg.Highest, Nodes: d.cfg.Book.Known(), Process: d.cfg.Process,
	}, nil
}

// askSoon makes Find ask the seeds at once.
func (d *Discovery) askSoon() {
	select {
	case d.news <- struct{}{}:
	default:
	}
}

// isNews reports whether a calling node did not answer in the last round.
func (d *Discovery) isNews(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, known := d.last.by(id)
	return id != "" && !known
}

// Found makes this node promise to belong to a new cluster.
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
		return refuse("the request is for another node")
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
	d.askSoon() // the outcome is known in a moment
	return &metapb.FoundResponse{}, nil
}

// coordinator returns the founder that decides whether to found the cluster.
func coordinator(founders []string) string {
	if len(founders) == 0 {
		return ""
	}
	return slices.Min(founders)
}

// Twin reports whether another process at an address claims to be this node.
func (d *Discovery) Twin(ctx context.Context, addr string) bool {
	a, err := d.helloFrom(ctx, addr, false)
	return err == nil && a.NodeId == d.cfg.NodeID && a.Process != d.cfg.Process
}

// Self asks the nodes of a cluster at some addresses for their records of this node. It leaves out nodes that do not
// answer before ctx ends.
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

// wait reports what the node waits for. It logs the text if it has changed.
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

// refused logs that a seed and this node could not authenticate each other. It does not log the same refusal again.
func (d *Discovery) refused(addr string, err error) {
	d.mu.Lock()
	news := d.loggedRefusal[addr] != err.Error()
	d.loggedRefusal[addr] = err.Error()
	d.mu.Unlock()
	if news {
		d.cfg.Logger.Warn("a seed refused this node", "addr", addr, "error", err)
	}
}

// note records the addresses of the nodes that answered, if they belong to this cluster.
func (d *Discovery) note(v view, cluster string) {
	for _, p := range v.peers {
		if p.ClusterId == cluster || p.ClusterId == "" {
			d.cfg.Book.Seen(p.NodeId, p.AdvertiseAddr, p.Roles)
		}
	}
	// An address that this node has reached itself takes precedence over addresses that others
	// report.
	for _, p := range v.peers {
		if p.ClusterId == cluster && cluster != "" {
			d.cfg.Book.Heard(p.Nodes)
		}
	}
}

// Follow asks the seeds periodically until ctx ends, so that each side knows the other's address.
func (d *Discovery) Follow(ctx context.Context) error {
	cluster, _ := d.cfg.State.Cluster()
	warned := ""
	for {
		v := d.look(ctx, d.cfg.Pause)
		d.note(v, cluster)
		text := d.foreignNodes(v, cluster)
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
