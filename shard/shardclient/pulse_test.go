package shardclient

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
)

// stopped is a process that answers nothing while it is set.
type stopped struct {
	metapb.UnimplementedPeerServer
	still atomic.Bool
	asked atomic.Int64
}

func (s *stopped) Echo(ctx context.Context, _ *metapb.EchoRequest) (*metapb.EchoResponse, error) {
	s.asked.Add(1)
	if s.still.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &metapb.EchoResponse{}, nil
}

// rowsOf returns a query handler that sends rows.
func rowsOf(text string) func(*shardpb.QueryRequest, grpc.ServerStreamingServer[shardpb.QueryChunk]) error {
	return func(_ *shardpb.QueryRequest, stream grpc.ServerStreamingServer[shardpb.QueryChunk]) error {
		return stream.Send(&shardpb.QueryChunk{ArrowIpc: []byte(text)})
	}
}

// TestReadLeavesAStoppedProcess stops a node that has accepted a query, before it sends rows. The
// next node must be asked long before the connection times out.
func TestReadLeavesAStoppedProcess(t *testing.T) {
	p := &stopped{}
	p.still.Store(true)
	first := &scripted{peer: p, query: func(_ *shardpb.QueryRequest,
		stream grpc.ServerStreamingServer[shardpb.QueryChunk],
	) error {
		if err := stream.SendHeader(metadata.MD{}); err != nil {
			return err
		}
		<-stream.Context().Done()
		return stream.Context().Err()
	}}
	c := newCluster(t, first, &scripted{query: rowsOf("rows")})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := c.client(t).Query(ctx, &shardpb.QueryRequest{Tables: []*shardpb.QueryTable{{ShardId: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); string(got) != "rows" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if p.asked.Load() == 0 {
		t.Error("the node was abandoned without a liveness check")
	}
}

// TestReadFailsWithAStoppedProcess stops a node while it sends rows.
func TestReadFailsWithAStoppedProcess(t *testing.T) {
	p := &stopped{}
	first := &scripted{peer: p, query: func(_ *shardpb.QueryRequest,
		stream grpc.ServerStreamingServer[shardpb.QueryChunk],
	) error {
		if err := stream.Send(&shardpb.QueryChunk{ArrowIpc: []byte("some")}); err != nil {
			return err
		}
		p.still.Store(true)
		<-stream.Context().Done()
		return stream.Context().Err()
	}}
	c := newCluster(t, first, &scripted{query: rowsOf("rows")})
	r, err := c.client(t).Query(t.Context(), &shardpb.QueryRequest{Tables: []*shardpb.QueryTable{{ShardId: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if string(got) != "some" || errs.CodeOf(err) != errs.ShardUnreachable {
		t.Errorf("got %q, %v, want some rows and that the node is unreachable", got, err)
	}
}

// TestSlowReadsAreWaitedFor checks that a query may take as long as it needs on a node that is
// alive, even if the node runs an older version without the liveness check.
func TestSlowReadsAreWaitedFor(t *testing.T) {
	for name, peer := range map[string]metapb.PeerServer{"this program": &stopped{}, "an older one": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slow := &scripted{peer: peer, query: func(_ *shardpb.QueryRequest,
				stream grpc.ServerStreamingServer[shardpb.QueryChunk],
			) error {
				if err := stream.SendHeader(metadata.MD{}); err != nil {
					return err
				}
				for _, text := range []string{"a", "b"} {
					select {
					case <-stream.Context().Done():
						return stream.Context().Err()
					case <-time.After(3500 * time.Millisecond): // longer than a node may be silent
					}
					if err := stream.Send(&shardpb.QueryChunk{ArrowIpc: []byte(text)}); err != nil {
						return err
					}
				}
				return nil
			}}
			c := newCluster(t, slow, &scripted{query: rowsOf("rows of another node")})
			r, err := c.client(t).Query(t.Context(), &shardpb.QueryRequest{Tables: []*shardpb.QueryTable{{ShardId: 1}}})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if got, err := io.ReadAll(r); string(got) != "ab" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
			if p, ok := peer.(*stopped); ok && p.asked.Load() == 0 {
				t.Error("there was no liveness check")
			}
		})
	}
}
