package simulation

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"cordwood/meta/metaclient"
	"cordwood/node/coordinator"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/router/write"
	"cordwood/shard/shardclient"
)

// router is one stateless router: its copy of the metadata, its clients, its write path, and the calls of operators.
type router struct {
	id     string
	world  *World
	meta   *metaclient.Client
	client *shardclient.Client
	writer *write.Writer
	admin  *coordinator.Admin
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu    sync.Mutex
	conns map[string]*grpc.ClientConn
}

func (w *World) newRouter(i int) (*router, error) {
	r := &router{id: fmt.Sprint("r", i+1), world: w, conns: map[string]*grpc.ClientConn{}}
	log := w.opt.Logger.With("router", r.id)
	members := func() []string {
		ids := w.cluster.metaNodes()
		return slices.Concat(ids[i:], ids[:i])
	}
	r.meta = metaclient.New(metaclient.Config{Members: members, Dial: r.dial, Logger: log})
	r.client = shardclient.New(shardclient.Config{Replicas: r.replicas, Nodes: w.nodeIDs, Logger: log, Dial: r.dial})
	r.admin = coordinator.NewAdmin(r.meta)
	var shards write.Shards = r.client
	if w.opt.Mutant == SkipFence {
		shards = hasty{r.client}
	}
	var err error
	if r.writer, err = write.New(write.Config{
		Meta: r.meta, Shards: shards, ClusterVersion: r.meta.ClusterVersion, Logger: log,
	}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.done.Go(func() { _ = r.meta.Run(ctx) }) // always returns nil
	return r, nil
}

// replicas lists the nodes that hold a shard, according to the router's copy.
func (r *router) replicas(id uint32) []string { return replicasOf(r.meta, id) }

// replicasOf lists the nodes that hold a shard, according to a copy of the metadata.
func replicasOf(c *metaclient.Client, id uint32) []string {
	for _, s := range c.Shards() {
		if s.Id == id {
			return slices.Clone(s.Replicas)
		}
	}
	return nil
}

// table returns the present state of a table, or nil.
func (r *router) table(ctx context.Context, name string) (*schema.Table, error) {
	if r.world.opt.Mutant != StaleCopy {
		if err := r.meta.Fresh(ctx); err != nil {
			return nil, err
		}
	}
	t, _ := r.meta.Table(schema.DefaultDatabase, name)
	return t, nil
}

// hasty implements the mutant SkipFence.
type hasty struct{ *shardclient.Client }

// Write gives up soon, and then reports that no row was stored.
func (h hasty) Write(
	ctx context.Context, shard uint32, batches [][]byte, tables func([]uint64) []*schemapb.Table,
) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	index, err := h.Client.Write(ctx, shard, batches, tables)
	if errs.ReasonOf(err) == errs.OutcomeUnknown {
		err = errs.New(errs.RequestOutdated, "hasty").WithReason(errs.WrongEpoch)
	}
	return index, err
}

func (r *router) dial(node string) (grpc.ClientConnInterface, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.conns[node]; c != nil {
		return c, nil
	}
	c, err := dial(node, func(ctx context.Context, to, port string) (net.Conn, error) {
		return r.world.net.Dial(ctx, r.id, to, port)
	})
	if err == nil {
		r.conns[node] = c
	}
	return c, err
}

func (r *router) close() {
	r.cancel()
	r.done.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
}
