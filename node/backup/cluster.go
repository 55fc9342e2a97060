package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"cordwood/meta/metaclient"
	"cordwood/proto/backuppb"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/shardclient"
)

// ClusterConfig configures Connect.
type ClusterConfig struct {
	// Dial returns the connection to a node, or to any node if nodeID is empty. It is called for every request, so it
	// must reuse its connections, and it must not block.
	Dial func(nodeID string) (grpc.ClientConnInterface, error)
	// Logger receives messages for operators. If it is nil, they are discarded.
	Logger *slog.Logger
}

// Cluster is a running cluster that is reached over the network. Connect returns one, Close ends its use. All methods
// are safe for concurrent use.
type Cluster struct {
	cfg    ClusterConfig
	conn   grpc.ClientConnInterface
	meta   *metaclient.Client
	shards *shardclient.Client
	stop   context.CancelFunc
	done   sync.WaitGroup
	// retrying, unless it is nil, is called with the reason when a write is retried.
	retrying atomic.Pointer[func(shard uint32, tries int, err error)]
}

// onRetry sets the function that is called with the reason when a write is retried, until stop is called.
func (c *Cluster) onRetry(f func(shard uint32, tries int, err error)) (stop func()) {
	c.retrying.Store(&f)
	return func() { c.retrying.Store(nil) }
}

// maxStateMessage is the maximum size of a message of the metadata.
const maxStateMessage = 64 << 20

// Connect connects to a cluster and waits until its metadata are available.
func Connect(ctx context.Context, cfg ClusterConfig) (*Cluster, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	conn, err := cfg.Dial("")
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		cfg: cfg, conn: conn,
		meta: metaclient.New(metaclient.Config{Conn: conn, Logger: cfg.Logger, ProposeTimeout: 30 * time.Second}),
	}
	c.shards = shardclient.New(shardclient.Config{
		Replicas: c.replicas, Dial: cfg.Dial, Nodes: c.nodes, Logger: cfg.Logger,
		// A restore can wait: a busy shard delays only the restore itself.
		MaxTries: 60, MaxBackoff: 5 * time.Second, WriteTimeout: 5 * time.Minute, QueueWait: time.Minute,
		Retrying: func(shard uint32, tries int, err error) {
			if f := c.retrying.Load(); f != nil {
				(*f)(shard, tries, err)
			}
		},
	})
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	c.done.Go(func() { _ = c.meta.Run(run) })
	if err := c.meta.WaitReady(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("read the metadata of the cluster: %w", err)
	}
	return c, nil
}

// Close ends the use of the cluster. It does not close connections: they belong to Dial.
func (c *Cluster) Close() {
	c.stop()
	c.done.Wait()
}

// ClusterID returns the id of the cluster.
func (c *Cluster) ClusterID() string { return c.meta.ClusterID() }

// Shards lists the shards of the cluster by id.
func (c *Cluster) Shards() []*metapb.Shard { return c.meta.Shards() }

func (c *Cluster) replicas(shard uint32) []string {
	for _, s := range c.meta.Shards() {
		if s.Id == shard {
			return s.Replicas
		}
	}
	return nil
}

func (c *Cluster) nodes() []string {
	var ids []string
	for _, n := range c.meta.Nodes() {
		ids = append(ids, n.Id)
	}
	return ids
}

// Metadata calls f with the databases, the tables, the pipelines and the saved objects of the
// cluster, each sorted by name.
func (c *Cluster) Metadata(ctx context.Context, f func(*backuppb.Record) error) error {
	state, err := c.state(ctx)
	if err != nil {
		return err
	}
	for _, d := range sortedBy(state.Databases, func(d *schemapb.Database) string { return d.Name }) {
		if err := f(&backuppb.Record{Of: &backuppb.Record_Database{Database: d}}); err != nil {
			return err
		}
	}
	slices.SortFunc(state.Tables, func(a, b *schemapb.Table) int {
		return cmp.Or(cmp.Compare(a.Database, b.Database), cmp.Compare(a.Name, b.Name))
	})
	for _, t := range state.Tables {
		if err := f(&backuppb.Record{Of: &backuppb.Record_Table{Table: t}}); err != nil {
			return err
		}
	}
	err = c.meta.EachPipelineText(ctx, func(p *metapb.PipelineVersion, source []byte) error {
		return f(&backuppb.Record{Of: &backuppb.Record_Pipeline{Pipeline: &backuppb.Pipeline{Version: p, Source: source}}})
	})
	if err != nil || c.meta.ClusterVersion() < metapb.ProtocolSaved {
		return err
	}
	saved, err := c.meta.ReadSaved(ctx, &metapb.ReadSavedRequest{})
	if err != nil {
		return err
	}
	for _, s := range saved {
		err := f(&backuppb.Record{Of: &backuppb.Record_Saved{Saved: &backuppb.Saved{Saved: s.Saved, Value: s.Value}}})
		if err != nil {
			return err
		}
	}
	return nil
}

// state returns the present metadata from their leader. The local copy may lag, and has only the parts that routers
// need.
func (c *Cluster) state(ctx context.Context) (*metapb.WatchResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := metapb.NewMetaClient(c.conn).Watch(ctx, &metapb.WatchRequest{},
		grpc.MaxCallRecvMsgSize(maxStateMessage))
	if err != nil {
		return nil, errs.FromGRPC(err)
	}
	all := &metapb.WatchResponse{}
	for {
		resp, err := stream.Recv()
		if err != nil {
			return nil, errs.FromGRPC(err)
		}
		all.Databases = append(all.Databases, resp.Databases...)
		all.Tables = append(all.Tables, resp.Tables...)
		if !resp.Partial {
			return all, nil
		}
	}
}

// pinWait is the maximum time that pinning a shard may take.
const pinWait = time.Minute

// Pin pins a shard on the node that leads it.
func (c *Cluster) Pin(ctx context.Context, shard uint32) (Pin, error) {
	give := time.Now().Add(pinWait)
	for pause := 200 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		last := error(errs.New(errs.ShardNotFound, "no node is known to hold it"))
		for _, node := range c.replicas(shard) {
			p, err := c.pinAt(ctx, node, shard)
			if err == nil {
				return p, nil
			}
			last = fmt.Errorf("node %s: %w", node, err)
			if s := errs.From(err).Status(); s < 500 || ctx.Err() != nil {
				return nil, last
			}
		}
		if time.Now().Add(pause).After(give) {
			return nil, last
		}
		select {
		case <-ctx.Done():
			return nil, last
		case <-time.After(pause):
		}
	}
}

func (c *Cluster) pinAt(ctx context.Context, node string, shard uint32) (_ Pin, err error) {
	conn, err := c.cfg.Dial(node)
	if err != nil {
		return nil, errs.Wrap(errs.ShardUnreachable, err, "connect")
	}
	client := shardpb.NewShardServiceClient(conn)
	// The pin lives longer than the call that creates it.
	pctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	req := &shardpb.PinRequest{ShardId: shard, Objects: true}
	stream, err := client.Pin(pctx, req, grpc.MaxCallRecvMsgSize(maxStateMessage))
	if err != nil {
		return nil, errs.FromGRPC(err)
	}
	p := &pin{shard: shard, client: client, cancel: cancel, lost: make(chan struct{})}
	for {
		resp, err := stream.Recv()
		if err != nil {
			return nil, errs.FromGRPC(err)
		}
		p.id, p.index = resp.PinId, resp.Index
		p.segments = append(p.segments, resp.Segments...)
		p.expired = append(p.expired, resp.Expired...)
		p.merging = append(p.merging, resp.Merging...)
		if resp.Complete {
			break
		}
	}
	p.watch.Go(func() {
		defer close(p.lost)
		for {
			if _, err := stream.Recv(); err != nil {
				return
			}
		}
	})
	return p, nil
}

// pin is a shard that is pinned over the network.
type pin struct {
	shard     uint32
	client    shardpb.ShardServiceClient
	id, index uint64
	segments  []*shardpb.PinnedSegment
	expired   []*shardpb.ExpiredRows
	merging   []*shardpb.TableMerging
	cancel    context.CancelFunc
	lost      chan struct{}
	watch     sync.WaitGroup
}

func (p *pin) Index() uint64                      { return p.index }
func (p *pin) Segments() []*shardpb.PinnedSegment { return p.segments }
func (p *pin) Expired() []*shardpb.ExpiredRows    { return p.expired }
func (p *pin) Merging() []*shardpb.TableMerging   { return p.merging }
func (p *pin) Lost() <-chan struct{}              { return p.lost }

func (p *pin) Close() {
	p.cancel()
	p.watch.Wait()
}

func (p *pin) Read(ctx context.Context, segment uint64, offset int64) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := p.client.ReadSegment(ctx, &shardpb.ReadSegmentRequest{
		ShardId: p.shard, PinId: p.id, SegmentId: segment, Offset: offset,
	})
	if err != nil {
		cancel()
		return nil, errs.FromGRPC(err)
	}
	return &segmentStream{stream: stream, cancel: cancel}, nil
}

// segmentStream reads the file of a segment while it is received.
type segmentStream struct {
	stream grpc.ServerStreamingClient[shardpb.ReadSegmentResponse]
	cancel context.CancelFunc
	data   []byte
}

func (s *segmentStream) Read(p []byte) (int, error) {
	for len(s.data) == 0 {
		resp, err := s.stream.Recv()
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		if err != nil {
			e := errs.FromGRPC(err)
			if errs.CodeOf(e) == errs.InvalidArguments {
				return 0, final{errPinLost}
			}
			return 0, e
		}
		if resp.Damaged != "" {
			return 0, final{&damage{resp.Damaged}}
		}
		s.data = resp.Data
	}
	n := copy(p, s.data)
	s.data = s.data[n:]
	return n, nil
}

func (s *segmentStream) Close() error {
	s.cancel()
	return nil
}
