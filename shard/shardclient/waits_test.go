package shardclient

import (
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"cordwood/proto/shardpb"
	"cordwood/proto/turns"
)

// TestWaitsAfterKeepalive has a node say that a query waits for object storage after its keepalive message. The query
// lends its slot, and has its rows later. If it must not wait, it ends.
func TestWaitsAfterKeepalive(t *testing.T) {
	refused := errors.New("too many wait")
	for _, may := range []error{nil, refused} {
		lent := make(chan struct{})
		c := newCluster(t, &scripted{query: func(req *shardpb.QueryRequest,
			stream grpc.ServerStreamingServer[shardpb.QueryChunk],
		) error {
			if err := stream.SendHeader(metadata.MD{}); err != nil {
				return err
			}
			if err := stream.Send(&shardpb.QueryChunk{Waits: true}); err != nil {
				return err
			}
			select {
			case <-lent:
			case <-stream.Context().Done():
				return stream.Context().Err()
			}
			return stream.Send(&shardpb.QueryChunk{ArrowIpc: []byte("rows")})
		}})
		times := 0
		ctx := turns.WithWaits(t.Context(), func() error {
			if times++; times == 1 {
				close(lent)
			}
			return may
		})
		r, err := c.client(t).Query(ctx, &shardpb.QueryRequest{Tables: []*shardpb.QueryTable{{ShardId: 1}}})
		if times == 0 || !errors.Is(err, may) {
			t.Fatalf("lent %d times, %v; want %v", times, err, may)
		}
		if may != nil {
			continue
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != "rows" || times != 1 {
			t.Errorf("%q, %v, lent %d times", got, err, times)
		}
		r.Close()
	}
}
