package node

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
)

// forward answers the calls of operators by asking the nodes of the cluster that can: the leaders
// of the metadata group and of the shards. Errors come back as they were given, except a refusal
// that names another leader, which is asked next.
type forward struct {
	// members lists the nodes that may be members of the metadata group, replicas the nodes that hold a shard.
	members  func() []string
	replicas func(shard uint32) []string
	dial     func(nodeID string) (grpc.ClientConnInterface, error)
}

// forwardRounds is how often all nodes that might lead are asked, and forwardPause the pause in between.
const (
	forwardRounds = 20
	forwardPause  = 250 * time.Millisecond
)

// leader calls f with the connection to one node after another, until one does not answer
// that another leads.
func (f *forward) leader(
	ctx context.Context, what string, nodes func() []string, call func(node string, conn grpc.ClientConnInterface) error,
) error {
	last := error(errs.New(errs.ShardUnreachable, "%s: no node is known that has it", what))
	for range forwardRounds {
		asked := map[string]bool{}
		queue := slices.Clone(nodes()) // it belongs to the caller, perhaps to the metadata
		for len(queue) > 0 {
			node := queue[0]
			queue = queue[1:]
			if asked[node] {
				continue
			}
			asked[node] = true
			conn, err := f.dial(node)
			if err == nil {
				if err = call(node, conn); err == nil {
					return nil
				}
				err = errs.FromGRPC(err)
			}
			last = err
			e := errs.From(err)
			if e.Reason != errs.NotLeader && e.Code != errs.ShardUnreachable || ctx.Err() != nil {
				return errs.ToGRPC(err)
			}
			if e.Leader != "" {
				queue = slices.Insert(queue, 0, e.Leader)
			}
		}
		select {
		case <-ctx.Done():
			return errs.ToGRPC(last)
		case <-time.After(forwardPause):
		}
	}
	return errs.ToGRPC(last)
}

// pipe forwards what it receives until the end. first reports whether nothing was sent before an
// error.
func pipe[M any](recv func() (M, error), send func(M) error) (first bool, err error) {
	for first = true; ; first = false {
		m, err := recv()
		if errors.Is(err, io.EOF) {
			return first, nil
		}
		if err != nil {
			return first, err
		}
		if err := send(m); err != nil {
			return false, err
		}
	}
}

// streamed returns what leader's call returns of a stream: an error that another node may cure
// only counts if nothing was sent.
func streamed(failed *error, first bool, err error) error {
	if err == nil || first {
		return err
	}
	*failed = err
	return nil
}

// either returns the one of two errors that is set; a status of gRPC must not be joined with another.
func either(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// forwardMeta is the metadata group for operators.
type forwardMeta struct {
	metapb.UnimplementedMetaServer
	*forward
}

const metadataGroup = "the metadata group"

// Propose asks the leader.
func (f *forwardMeta) Propose(
	ctx context.Context, req *metapb.ProposeRequest,
) (resp *metapb.ProposeResponse, err error) {
	err = f.leader(ctx, metadataGroup, f.members, func(_ string, conn grpc.ClientConnInterface) (err error) {
		resp, err = metapb.NewMetaClient(conn).Propose(ctx, req)
		return err
	})
	return resp, err
}

// Watch asks the leader: no other state is newer. Any member would answer, also one that lags, so
// the member first asks whether a majority still follows it.
func (f *forwardMeta) Watch(req *metapb.WatchRequest, out grpc.ServerStreamingServer[metapb.WatchResponse]) error {
	var failed error
	err := f.leader(out.Context(), metadataGroup, f.members, func(_ string, conn grpc.ClientConnInterface) error {
		client := metapb.NewMetaClient(conn)
		now, err := client.ReadIndex(out.Context(), &metapb.ReadIndexRequest{})
		if err != nil {
			return err
		}
		in, err := client.Watch(out.Context(), req)
		if err != nil {
			return err
		}
		first, err := pipe(in.Recv, func(m *metapb.WatchResponse) error {
			if m.Index < now.Index {
				return errs.New(errs.Internal, "the state of %s is that of command %d, and command %d was "+
					"acknowledged before it was asked for; try again", metadataGroup, m.Index, now.Index)
			}
			return out.Send(m)
		})
		return streamed(&failed, first, err)
	})
	return either(err, failed)
}

// ReadPipelines asks the leader, for the same reason.
func (f *forwardMeta) ReadPipelines(
	req *metapb.ReadPipelinesRequest, out grpc.ServerStreamingServer[metapb.ReadPipelinesResponse],
) error {
	var failed error
	err := f.leader(out.Context(), metadataGroup, f.members, func(_ string, conn grpc.ClientConnInterface) error {
		client := metapb.NewMetaClient(conn)
		if _, err := client.ReadIndex(out.Context(), &metapb.ReadIndexRequest{}); err != nil {
			return err
		}
		in, err := client.ReadPipelines(out.Context(), req)
		if err != nil {
			return err
		}
		first, err := pipe(in.Recv, out.Send)
		return streamed(&failed, first, err)
	})
	return either(err, failed)
}

// ReadSaved asks the leader, which alone answers.
func (f *forwardMeta) ReadSaved(
	req *metapb.ReadSavedRequest, out grpc.ServerStreamingServer[metapb.ReadSavedResponse],
) error {
	var failed error
	err := f.leader(out.Context(), metadataGroup, f.members, func(_ string, conn grpc.ClientConnInterface) error {
		in, err := metapb.NewMetaClient(conn).ReadSaved(out.Context(), req)
		if err != nil {
			return err
		}
		first, err := pipe(in.Recv, out.Send)
		return streamed(&failed, first, err)
	})
	return either(err, failed)
}

// forwardShards is the shards of the cluster for operators. Pins get numbers of their own,
// since two nodes may have the same.
type forwardShards struct {
	shardpb.UnimplementedShardServiceServer
	*forward

	mu   sync.Mutex // guards the fields below
	pins map[uint64]pinned
	last uint64
}

// pinned is where a pin is.
type pinned struct {
	node string
	id   uint64
}

// Write asks the shard's leader.
func (f *forwardShards) Write(ctx context.Context, req *shardpb.WriteRequest) (resp *shardpb.WriteResponse, err error) {
	err = f.leader(ctx, "shard "+strconv.FormatUint(uint64(req.ShardId), 10), f.holders(req.ShardId),
		func(_ string, conn grpc.ClientConnInterface) (err error) {
			resp, err = shardpb.NewShardServiceClient(conn).Write(ctx, req)
			return err
		})
	return resp, err
}

// Pin asks the shard's leader.
func (f *forwardShards) Pin(req *shardpb.PinRequest, out grpc.ServerStreamingServer[shardpb.PinResponse]) error {
	var failed error
	err := f.leader(out.Context(), "shard "+strconv.FormatUint(uint64(req.ShardId), 10), f.holders(req.ShardId),
		func(node string, conn grpc.ClientConnInterface) error {
			client := shardpb.NewShardServiceClient(conn)
			// Others would answer too, without what they have not applied yet.
			if _, err := client.ReadBarrier(out.Context(), &shardpb.ReadBarrierRequest{ShardId: req.ShardId}); err != nil {
				return err
			}
			in, err := client.Pin(out.Context(), req)
			if err != nil {
				return err
			}
			number := uint64(0)
			defer func() {
				f.mu.Lock()
				delete(f.pins, number)
				f.mu.Unlock()
			}()
			first, err := pipe(in.Recv, func(m *shardpb.PinResponse) error {
				if m.PinId != 0 {
					if number == 0 {
						number = f.number(pinned{node, m.PinId})
					}
					m.PinId = number
				}
				return out.Send(m)
			})
			return streamed(&failed, first, err)
		})
	return either(err, failed)
}

func (f *forwardShards) number(p pinned) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	f.pins[f.last] = p
	return f.last
}

// ReadSegment asks the node that holds the pin.
func (f *forwardShards) ReadSegment(
	req *shardpb.ReadSegmentRequest, out grpc.ServerStreamingServer[shardpb.ReadSegmentResponse],
) error {
	f.mu.Lock()
	p, ok := f.pins[req.PinId]
	f.mu.Unlock()
	if !ok {
		return errs.ToGRPC(errs.New(errs.InvalidArguments, "shard %d: pin %d is not held any more", req.ShardId, req.PinId))
	}
	conn, err := f.dial(p.node)
	if err != nil {
		return errs.ToGRPC(err)
	}
	req.PinId = p.id
	in, err := shardpb.NewShardServiceClient(conn).ReadSegment(out.Context(), req)
	if err != nil {
		return err
	}
	_, err = pipe(in.Recv, out.Send)
	return err
}

func (f *forward) holders(shard uint32) func() []string {
	return func() []string { return f.replicas(shard) }
}
