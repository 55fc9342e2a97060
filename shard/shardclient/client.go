// Package shardclient reaches the shards of a cluster: it sends writes to a shard's leader,
// asks nodes for rows, and streams query results. Package leader finds the leader and says
// what may be sent again; here are the calls, their bounds, and the queue of each shard.
//
// It knows nothing of schemas or of placement: which replicas a shard has, and how a
// node is reached, are given to it in Config. It never changes a batch, so every retry
// of a write carries the same batch ids and the shard's replicated state drops what it
// has already appended.
//
// A Client has no goroutines of its own and nothing to close; the connections belong to
// Config.Dial. All methods may be called concurrently.
package shardclient

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"cordwood/proto/leader"
)

// MaxMessageBytes is the largest gRPC message that a Client sends or takes. Servers
// of the shard service must accept as much.
const MaxMessageBytes = 64 << 20

// Config says whom a Client talks to and how patient it is.
type Config struct {
	// Replicas lists the ids of the nodes that hold a shard; empty if the shard is not known.
	Replicas func(shard uint32) []string
	// Dial returns the connection to a node. It is called for every request, so it
	// must keep its connections, and it must not block on the network.
	Dial func(nodeID string) (grpc.ClientConnInterface, error)
	// DialTail is Dial for tails, whose readers may pause: its connections hold little that is not
	// read. The default value is Dial.
	DialTail func(nodeID string) (grpc.ClientConnInterface, error)
	// Nodes lists the ids of all nodes that hold shards.
	Nodes func() []string

	// DialAnew returns a connection to a node that shares nothing with the connections of Dial, and a
	// function that closes it. A node that could not be reached twice during a write is asked over
	// such a one: what a pool keeps may be dead. The default value has Dial be asked again.
	DialAnew func(nodeID string) (conn grpc.ClientConnInterface, closeConn func(), err error)

	// MaxTries bounds the tries of one write. The default value is 0: its deadline does.
	MaxTries int
	// MinBackoff and MaxBackoff bound the pause between two rounds over the replicas;
	// it doubles each time and is spread by a quarter either way. The default values
	// are 50 ms and 1 s.
	MinBackoff, MaxBackoff time.Duration
	// WriteTimeout bounds a write whose context has no deadline. The default value is 10 s.
	WriteTimeout time.Duration
	// TryTimeout bounds one try of a write on a shard of several replicas, so that one
	// stalled node does not use up the whole deadline; a node that is fast usually gets
	// less, but 1 s. The default value is 3 s.
	TryTimeout time.Duration
	// QueueBytes bounds the bytes on their way to one shard; a shard that is busy gets
	// less. As many bytes may wait besides. The default value is 64 MiB.
	QueueBytes int64
	// QueueWait bounds the time that a write waits for room in that queue, and the time
	// for which it tries again while the shard is busy; then it is refused with reason
	// Busy. The default value is 2 s.
	QueueWait time.Duration

	// ReadWait is for how long a read looks for a node that answers. The default value is 8 s, long
	// enough for a lost leader to be replaced.
	ReadWait time.Duration

	// Retrying is called when a try has failed and is repeated, with the number of tries. It must not block. By default
	// nothing is called.
	Retrying func(shard uint32, tries int, err error)
	// Logger takes retries at debug level. The default value discards them.
	Logger *slog.Logger
	// Registerer takes the metrics. The default value is none.
	Registerer prometheus.Registerer
}

func (c Config) withDefaults() Config {
	c.MinBackoff = cmp.Or(c.MinBackoff, 50*time.Millisecond)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 10*time.Second)
	c.TryTimeout = cmp.Or(c.TryTimeout, 3*time.Second)
	c.QueueBytes = cmp.Or(c.QueueBytes, 64<<20)
	c.ReadWait = cmp.Or(c.ReadWait, 8*time.Second)
	c.QueueWait = cmp.Or(c.QueueWait, 2*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Client sends to shards. See the package comment.
type Client struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics

	// mu guards shards; it is never held across a call.
	mu     sync.Mutex
	shards map[uint32]*target

	nodes leader.Nodes
}

// New returns a Client. It panics if Replicas, Dial or Nodes is not set, or if the
// metrics are registered already: both are bugs of the caller.
func New(cfg Config) *Client {
	if cfg.Replicas == nil || cfg.Dial == nil || cfg.Nodes == nil {
		panic("shardclient: Config.Replicas, Dial and Nodes must be set")
	}
	if cfg.DialTail == nil {
		cfg.DialTail = cfg.Dial
	}
	cfg = cfg.withDefaults()
	c := &Client{cfg: cfg, log: cfg.Logger, shards: map[uint32]*target{}}
	c.metrics = newMetrics(cfg.Registerer, c)
	return c
}

// target is what a Client remembers of one shard.
type target struct {
	queue *window
	group *leader.Group
}

// load returns how many bytes are on their way to all shards, or wait.
func (c *Client) load() int64 {
	c.mu.Lock()
	targets := slices.Collect(maps.Values(c.shards))
	c.mu.Unlock()
	var n int64
	for _, t := range targets {
		n += t.queue.load()
	}
	return n
}

func (c *Client) target(shard uint32) *target {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.shards[shard]
	if t == nil {
		t = &target{queue: newWindow(c.cfg.QueueBytes, c.cfg.QueueWait), group: leader.NewGroup(&c.nodes)}
		c.shards[shard] = t
	}
	return t
}

// order lists the shard's replicas, the presumed leader first, and last the replicas that did not
// answer lately. A leader that the metadata does not list yet is among them.
func (c *Client) order(shard uint32) []string {
	return c.target(shard).group.Order(c.cfg.Replicas(shard))
}

// Pressed reports whether a shard is so busy that a write to it would most likely be
// refused, and when to try again.
func (c *Client) Pressed(shard uint32) (retryAfter time.Duration, yes bool) {
	return c.target(shard).queue.pressed()
}

// Load returns how many bytes are on their way to a shard, or wait to be.
func (c *Client) Load(shard uint32) int64 { return c.target(shard).queue.load() }

// Ailing reports whether no replica of a shard has answered as its leader for a while, so that
// rows that may go to another shard should. Every few seconds it is false for one caller,
// which finds out.
func (c *Client) Ailing(shard uint32) bool { return c.target(shard).group.Ailing() }
