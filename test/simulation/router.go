package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/router/write"
	"cordwood/shard/shardclient"
)

// Metadata stands for the metadata group: which tables there are, and which shards take
// their writes. Its copies lag behind.
type Metadata struct {
	mu       sync.Mutex
	rng      *rand.Rand
	tables   map[uint64]*schemapb.Table
	copies   []*metadataCopy
	sessions atomic.Uint64
}

func newMetadata(rng *rand.Rand) *Metadata {
	return &Metadata{rng: rng, tables: map[uint64]*schemapb.Table{}}
}

// put stores a table and tells the copies of it, each after a while of its own.
func (m *Metadata) put(t *schemapb.Table) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tables[t.Id] = t
	for _, c := range m.copies {
		lag := time.Duration(m.rng.Int64N(int64(3 * time.Second)))
		time.AfterFunc(lag, func() { c.take(t) })
	}
}

// table returns a table as it is.
func (m *Metadata) table(id uint64) *schemapb.Table {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tables[id]
}

// copy returns a new copy, which knows everything of now.
func (m *Metadata) copy() *metadataCopy {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &metadataCopy{of: m, changed: make(chan struct{}), tables: map[uint64]*schema.Table{}}
	for id, t := range m.tables {
		c.tables[id] = schema.FromProto(t)
	}
	m.copies = append(m.copies, c)
	return c
}

// metadataCopy is what one router knows.
type metadataCopy struct {
	of      *Metadata
	mu      sync.Mutex
	tables  map[uint64]*schema.Table
	changed chan struct{}
}

var _ write.Meta = (*metadataCopy)(nil)

func (c *metadataCopy) take(p *schemapb.Table) {
	t := schema.FromProto(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if have := c.tables[t.ID]; have != nil && have.Version >= t.Version {
		return
	}
	c.tables[t.ID] = t
	close(c.changed)
	c.changed = make(chan struct{})
}

// Propose refuses everything: the tables are there from the beginning.
func (c *metadataCopy) Propose(_ context.Context, cmd *metapb.Command) (*metapb.Result, error) {
	return nil, errs.New(errs.Unsupported, "the simulation proposes nothing, not %T", cmd.Op)
}

// Table returns the table of that name.
func (c *metadataCopy) Table(database, name string) (*schema.Table, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tables {
		if t.Database == database && t.Name == name {
			return t, true
		}
	}
	return nil, false
}

// TableByID returns the table of that id.
func (c *metadataCopy) TableByID(id uint64) (*schema.Table, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.tables[id]
	return t, ok
}

// Changed is closed at the next change.
func (c *metadataCopy) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// router is the write path of one stateless router.
type router struct {
	id     string
	client *shardclient.Client
	writer *write.Writer

	mu    sync.Mutex
	conns map[string]*grpc.ClientConn
}

func (w *World) newRouter(i int) (*router, error) {
	r := &router{id: fmt.Sprint("r", i+1), conns: map[string]*grpc.ClientConn{}}
	r.client = shardclient.New(shardclient.Config{
		Replicas: w.replicas, Nodes: w.nodeIDs, Logger: w.opt.Logger,
		Dial: func(node string) (grpc.ClientConnInterface, error) { return r.dial(w, node) },
	})
	var shards write.Shards = r.client
	if w.opt.Mutant == SkipFence {
		shards = hasty{r.client}
	}
	var err error
	r.writer, err = write.New(write.Config{Meta: w.metadata.copy(), Shards: shards, Session: w.metadata.sessions.Add(1), Logger: w.opt.Logger.With("router", r.id)})
	return r, err
}

// hasty is the mutant SkipFence.
type hasty struct{ *shardclient.Client }

// Write gives up soon, and says then that nothing was stored.
func (h hasty) Write(ctx context.Context, shard uint32, batches [][]byte, tables func([]uint64) []*schemapb.Table) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	index, err := h.Client.Write(ctx, shard, batches, tables)
	if errs.ReasonOf(err) == errs.OutcomeUnknown {
		err = errs.New(errs.RequestOutdated, "hasty").WithReason(errs.WrongEpoch)
	}
	return index, err
}

func (r *router) dial(w *World, node string) (grpc.ClientConnInterface, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.conns[node]; c != nil {
		return c, nil
	}
	c, err := dial(node, func(ctx context.Context, to, port string) (net.Conn, error) { return w.net.Dial(ctx, r.id, to, port) })
	if err == nil {
		r.conns[node] = c
	}
	return c, err
}

func (r *router) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
}

// moveTable has another shard take a table's writes, and after a while has the shards
// of before close their log to them, as an operation of the cluster does.
func (w *World) moveTable() {
	if len(w.groups) < 2 {
		return
	}
	t := proto.CloneOf(w.metadata.table(w.tables[w.rng.IntN(len(w.tables))]))
	last := t.Placement[len(t.Placement)-1]
	to := last.ShardId%uint32(len(w.groups)) + 1
	next := &schemapb.Placement{Epoch: last.Epoch + 1, ShardId: to, SinceUnixNano: time.Now().UnixNano()}
	if w.rng.IntN(3) == 0 {
		next.MoreShards = []uint32{last.ShardId}
	}
	t.Version++
	t.Placement = append(t.Placement, next)
	w.event("table %d: epoch %d, shard %d and %v", t.Id, next.Epoch, to, next.MoreShards)
	w.metadata.put(t)
	if w.rng.IntN(2) == 0 {
		return // the coordinator died
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := w.routers[0].client.DefineTables(ctx, last.ShardId, []*schemapb.Table{t})
	w.event("table %d: shard %d is told: %v", t.Id, last.ShardId, err)
}
