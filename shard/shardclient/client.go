// Package shardclient sends requests to the shards of a cluster: it sends writes to a shard's
// leader, asks nodes for rows, and streams query results. Package leader finds the leader and
// decides what may be sent again; this package contains the calls, their limits, and the queue of
// each shard.
//
// It knows nothing of schemas or of placement: Config returns the replicas of a shard and the
// connection to a node. It never changes a batch, so every retry of a write carries the same batch
// ids, and the shard's replicated state drops the batches that it has already appended.
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

// MaxMessageBytes is the maximum size of a gRPC message that a Client sends or receives. Servers of
// the shard service must accept this size.
const MaxMessageBytes = 64 << 20

// Config configures a Client.
type Config struct {
	// Replicas returns the ids of the nodes that hold a shard. It returns none if the shard is not
	// known.
	Replicas func(shard uint32) []string
	// Dial returns the connection to a node. It is called for every request, so it must cache its
	// connections, and it must not block on the network.
	Dial func(nodeID string) (grpc.ClientConnInterface, error)
	// DialTail is like Dial, for tails, whose readers may pause: its connections buffer
	// little. The default value is Dial.
	DialTail func(nodeID string) (grpc.ClientConnInterface, error)
	// Nodes returns the ids of all nodes that hold shards.
	Nodes func() []string

	// DialFresh returns a connection to a node that shares nothing with the connections of Dial, and
	// a function that closes it. It is used for a node that could not be reached twice during a
	// write, because cached connections may be dead. The default value calls Dial again.
	DialFresh func(nodeID string) (conn grpc.ClientConnInterface, closeConn func(), err error)

	// MaxTries is the maximum number of tries of one write. With the default value, 0, only its
	// deadline limits them.
	MaxTries int
	// MinBackoff and MaxBackoff are the minimum and maximum pause between two rounds over the
	// replicas. It doubles each time and is randomised by up to a quarter. The default values are
	// 50 ms and 1 s.
	MinBackoff, MaxBackoff time.Duration
	// WriteTimeout is the time limit of a write whose context has no deadline. The default value is
	// 10 s.
	WriteTimeout time.Duration
	// TryTimeout is the time limit of one try of a write on a shard with several replicas, so that
	// one stalled node does not use up the whole deadline. A node that is usually fast gets less,
	// but at least 1 s. The default value is 3 s.
	TryTimeout time.Duration
	// QueueBytes limits the bytes in flight to one shard; a busy shard gets less. As many bytes may
	// wait in addition. The default value is 64 MiB.
	QueueBytes int64
	// QueueWait limits how long a write waits for room in that queue, and how long it is repeated
	// while the shard is busy. Then it is refused with reason Busy. The default value is 2 s.
	QueueWait time.Duration

	// ReadWait is how long a read searches for a node that answers. The default value is 8 s, long
	// enough for a lost leader to be replaced.
	ReadWait time.Duration

	// Retrying is called when a try has failed and will be repeated, with the number of tries. It
	// must not block. By default nothing is called.
	Retrying func(shard uint32, tries int, err error)
	// Logger logs retries at debug level. The default value discards them.
	Logger *slog.Logger
	// Registerer registers the metrics. By default they are not registered.
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

// New returns a Client. It panics if Replicas, Dial or Nodes is not set, or if the metrics are
// registered already: both are bugs in the caller.
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

// target is the state that a Client keeps for one shard.
type target struct {
	queue *window
	group *leader.Group
}

// load returns how many bytes are in flight to all shards or waiting.
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

// order returns the shard's replicas: the presumed leader first, and replicas that did not answer
// recently last. The leader is included even if the metadata does not list it yet.
func (c *Client) order(shard uint32) []string {
	return c.target(shard).group.Order(c.cfg.Replicas(shard))
}

// Leader returns the node that is believed to lead a shard, or "".
func (c *Client) Leader(shard uint32) string { return c.target(shard).group.Leader() }

// Reported records the leader of a shard that a replica or another node reported.
func (c *Client) Reported(shard uint32, leader string) { c.target(shard).group.Reported(leader) }

// Pressed reports whether a shard is so busy that it would probably refuse a write of a database,
// and after what time to try again.
func (c *Client) Pressed(shard uint32, database string) (retryAfter time.Duration, yes bool) {
	return c.target(shard).queue.pressed(database)
}

// Load returns how many bytes are in flight to a shard or waiting.
func (c *Client) Load(shard uint32) int64 { return c.target(shard).queue.load() }

// Ailing reports whether no replica of a shard has answered as its leader for a while. Rows should
// then go to another shard if they can. Every few seconds it returns false for one caller, whose
// write then tests the shard.
func (c *Client) Ailing(shard uint32) bool { return c.target(shard).group.Ailing() }
