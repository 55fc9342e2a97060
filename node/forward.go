package node

import (
	"cmp"
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

// forward passes operators' calls to the nodes that can answer them: the leaders of the metadata group and of the
// shards. If a node refuses a call and reports another leader, forward calls that leader. It returns all other errors
// unchanged.
type forward struct {
	// members lists the nodes that may be members of the metadata group. replicas lists the nodes that hold a shard.
	members  func() []string
	replicas func(shard uint32) []string
	dial     func(nodeID string) (grpc.ClientConnInterface, error)
}

// forwardRounds is the number of rounds over all nodes that might lead. forwardPause is the pause between rounds.
const (
	forwardRounds = 20
	forwardPause  = 250 * time.Millisecond
)

// leader calls f with the connections to the nodes, one after another, until an answer does not refer to another
// leader.
func (f *forward) leader(
	ctx context.Context, what string, nodes func() []string, call func(node string, conn grpc.ClientConnInterface) error,
) error {
	last := error(errs.New(errs.ShardUnreachable, "%s: no node is known to have it", what))
	for range forwardRounds {
		asked := map[string]bool{}
		queue := slices.Clone(nodes()) // the slice belongs to the caller, perhaps to the metadata
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

// pipe forwards messages until the stream ends. first reports whether the error came before any message was sent.
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

// streamed returns the result of leader's call for a stream. An error that another node may not have counts only if
// nothing was sent.
func streamed(failed *error, first bool, err error) error {
	if err == nil || first {
		return err
	}
	*failed = err
	return nil
}

// forwardMeta serves the metadata group to operators.
type forwardMeta struct {
	metapb.UnimplementedMetaServer
	*forward
}

const metadataGroup = "the metadata group"

// Propose calls the leader.
func (f *forwardMeta) Propose(
	ctx context.Context, req *metapb.ProposeRequest,
) (resp *metapb.ProposeResponse, err error) {
	err = f.leader(ctx, metadataGroup, f.members, func(_ string, conn grpc.ClientConnInterface) (err error) {
		resp, err = metapb.NewMetaClient(conn).Propose(ctx, req)
		return err
	})
	return resp, err
}

// Watch calls the leader, since no other state is newer. Any member would answer, even one that lags, so the member
// first checks that it still has the support of a majority.
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
					"acknowledged before the request; try again", metadataGroup, m.Index, now.Index)
			}
			return out.Send(m)
		})
		return streamed(&failed, first, err)
	})
	return cmp.Or(err, failed)
}

// ReadPipelines calls the leader, for the same reason as Watch.
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
	return cmp.Or(err, failed)
}

// ReadSaved calls the leader, the only member that answers.
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
	return cmp.Or(err, failed)
}

// forwardShards serves the cluster's shards to operators. It gives pins new numbers, since two nodes may use the same
// number.
type forwardShards struct {
	shardpb.UnimplementedShardServiceServer
	*forward

	mu   sync.Mutex // guards the fields below
	pins map[uint64]pinned
	last uint64
}

// pinned is the node and the number of a pin on that node.
type pinned struct {
	node string
	id   uint64
}

// Write calls the shard's leader.
func (f *forwardShards) Write(ctx context.Context, req *shardpb.WriteRequest) (resp *shardpb.WriteResponse, err error) {
	err = f.leader(ctx, "shard "+strconv.FormatUint(uint64(req.ShardId), 10), f.holders(req.ShardId),
		func(_ string, conn grpc.ClientConnInterface) (err error) {
			resp, err = shardpb.NewShardServiceClient(conn).Write(ctx, req)
			return err
		})
	return resp, err
}

// Pin calls the shard's leader.
func (f *forwardShards) Pin(req *shardpb.PinRequest, out grpc.ServerStreamingServer[shardpb.PinResponse]) error {
	var failed error
	err := f.leader(out.Context(), "shard "+strconv.FormatUint(uint64(req.ShardId), 10), f.holders(req.ShardId),
		func(node string, conn grpc.ClientConnInterface) error {
			client := shardpb.NewShardServiceClient(conn)
			// Other members would answer, too, but without the rows that they have not applied yet.
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
	return cmp.Or(err, failed)
}

func (f *forwardShards) number(p pinned) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	f.pins[f.last] = p
	return f.last
}

// ReadSegment calls the node that holds the pin.
func (f *forwardShards) ReadSegment(
	req *shardpb.ReadSegmentRequest, out grpc.ServerStreamingServer[shardpb.ReadSegmentResponse],
) error {
	f.mu.Lock()
	p, ok := f.pins[req.PinId]
	f.mu.Unlock()
	if !ok {
		return errs.ToGRPC(errs.New(errs.InvalidArguments, "shard %d: pin %d is no longer held", req.ShardId, req.PinId))
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
