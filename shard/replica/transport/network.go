package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlogger"
)

// class is the purpose of a connection.
type class uint8

// The classes are part of the format.
const (
	control class = 1 // votes, heartbeats, transfer of leadership
	entries class = 2
	bulk    class = 3 // one snapshot
)

// Config configures a Network. ClusterID, NodeID and Dial are required.
type Config struct {
	// ClusterID is the same on all nodes of a cluster; connections of other clusters are refused.
	ClusterID string
	// NodeID is this node's id, which is also its address in raft configurations.
	NodeID string
	// Dial opens a connection to the raft port of a node at its present address. It is called for
	// every attempt, so addresses are never cached.
	Dial func(ctx context.Context, nodeID string) (net.Conn, error)
	// Logger receives messages about lost connections and refused peers. The default value discards
	// them.
	Logger *slog.Logger

	// Timeout is the time limit of a dial with its handshake, of a vote, and of a heartbeat.
	// Default: 2 s.
	Timeout time.Duration
	// AppendTimeout is the time limit of one append of entries, including the fsync on the other
	// side. Default: 15 s.
	AppendTimeout time.Duration
	// Coalesce is how long a heartbeat may wait for other heartbeats to the same node, so that they
	// share a write. It must be short compared to the heartbeat interval, which is a tenth of the
	// heartbeat timeout, because a read that needs confirmation waits for it. Default: 12 ms.
	Coalesce time.Duration
	// Prompt is the group whose heartbeats are sent without delay, because it sends a heartbeat
	// before it answers a read, to find out whether it still leads. Default: meta.
	Prompt string
	// GroupWindow and PeerWindow limit the bytes of unanswered entries, for one group and for all
	// groups to one node. A single append of any size is always allowed. Defaults: 8 MiB and 64
	// MiB.
	GroupWindow, PeerWindow int64
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 2*time.Second)
	c.AppendTimeout = cmp.Or(c.AppendTimeout, 15*time.Second)
	c.Coalesce = cmp.Or(c.Coalesce, 12*time.Millisecond)
	c.Prompt = cmp.Or(c.Prompt, "meta")
	c.GroupWindow = cmp.Or(c.GroupWindow, 8<<20)
	c.PeerWindow = cmp.Or(c.PeerWindow, 64<<20)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate reports all faults of c at once.
func (c Config) Validate() error {
	var faults []error
	if c.ClusterID == "" || len(c.ClusterID) > maxName {
		faults = append(faults, fmt.Errorf("ClusterID %q: want 1 to %d bytes", c.ClusterID, maxName))
	}
	if c.NodeID == "" || len(c.NodeID) > maxName {
		faults = append(faults, fmt.Errorf("NodeID %q: want 1 to %d bytes", c.NodeID, maxName))
	}
	if c.Dial == nil {
		faults = append(faults, errors.New("function Dial is nil"))
	}
	if c.Timeout < 0 || c.AppendTimeout < 0 || c.Coalesce < 0 || c.GroupWindow < 0 || c.PeerWindow < 0 {
		faults = append(faults, errors.New("a timeout or window is negative"))
	}
	return errors.Join(faults...)
}

// Network is a node's end of the raft traffic of all its groups.
type Network struct {
	cfg Config
	ctx context.Context // ends with Close
	end context.CancelFunc

	mu     sync.Mutex // guards the fields below
	groups map[string]*Transport
	peers  map[string]*peer
	conns  map[net.Conn]struct{} // accepted ones
	closed bool

	serving sync.WaitGroup
	lost    *raftlogger.Peers
}

var errClosed = errors.New("raft network: closed")

// New returns a network without connections. They are opened when needed.
func New(cfg Config) (*Network, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("raft network: config: %w", err)
	}
	n := &Network{
		cfg: cfg.withDefaults(), groups: map[string]*Transport{}, peers: map[string]*peer{}, conns: map[net.Conn]struct{}{},
		lost: raftlogger.NewPeers(),
	}
	n.ctx, n.end = context.WithCancel(context.Background())
	return n, nil
}

// Group returns the transport of the group's member on this node. A group has only one open
// transport at a time.
func (n *Network) Group(name string) (*Transport, error) {
	if name == "" || len(name) > maxName {
		return nil, fmt.Errorf("raft network: group %q: want a name of 1 to %d bytes", name, maxName)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, errClosed
	}
	if n.groups[name] != nil {
		return nil, fmt.Errorf("raft network: group %s is open on this node already", name)
	}
	t := newTransport(n, name)
	n.groups[name] = t
	return t, nil
}

// group returns the transport of a group, or nil.
func (n *Network) group(name string) *Transport {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.groups[name]
}

func (n *Network) forget(t *Transport) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.groups[t.name] == t {
		delete(n.groups, t.name)
	}
}

// peer returns the streams to a node.
func (n *Network) peer(id raft.ServerID) (*peer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, errClosed
	}
	p := n.peers[string(id)]
	if p == nil {
		p = newPeer(n, string(id))
		n.peers[string(id)] = p
	}
	return p, nil
}

// Serve serves a connection that another node opened, until it breaks or the network is closed. It
// closes conn. node is the id that the other side has proved to have, or empty if connections do
// not prove an id.
func (n *Network) Serve(conn net.Conn, node string) {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		conn.Close()
		return
	}
	n.conns[conn] = struct{}{}
	n.serving.Add(1)
	n.mu.Unlock()
	defer func() {
		conn.Close()
		n.mu.Lock()
		delete(n.conns, conn)
		n.mu.Unlock()
		n.serving.Done()
	}()
	h, err := n.accept(conn, node)
	if err != nil {
		n.cfg.Logger.Warn("raft network: refused a connection", "from", conn.RemoteAddr().String(), "error", err)
		return
	}
	if h.class == bulk {
		err = n.serveSnapshot(conn)
	} else {
		err = n.serveStream(conn)
	}
	if err != nil && n.ctx.Err() == nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		n.cfg.Logger.Info("raft network: lost a connection", "node", h.from, "error", err)
	}
}

// Close ends all connections and waits for every goroutine. Calls in flight fail.
func (n *Network) Close() error {
	n.mu.Lock()
	n.closed = true
	n.end()
	for c := range n.conns {
		c.Close()
	}
	peers := n.peers
	n.peers = map[string]*peer{}
	n.mu.Unlock()
	for _, p := range peers {
		p.close()
	}
	n.serving.Wait()
	return nil
}
