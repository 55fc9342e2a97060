package shardclient

import (
	"context"
	"io"
	"testing"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
)

// Tail plays the script of a tail: its answers and its end.
func (s *scripted) Tail(req *shardpb.TailRequest, stream grpc.ServerStreamingServer[shardpb.TailChunk]) error {
	return s.tail(req, stream)
}

func TestTail(t *testing.T) {
	follower := &scripted{tail: func(*shardpb.TailRequest, grpc.ServerStreamingServer[shardpb.TailChunk]) error {
		return errs.ToGRPC(errs.New(errs.ShardNotReady, "not here").WithReason(errs.NotLeader))
	}}
	leader := &scripted{tail: func(_ *shardpb.TailRequest, stream grpc.ServerStreamingServer[shardpb.TailChunk]) error {
		for _, c := range []*shardpb.TailChunk{
			{ArrowIpc: []byte("stor")},
			{ArrowIpc: []byte("ed")},
			{End: true},
			{ArrowIpc: []byte("skipped, ")},
			{ArrowIpc: []byte("all of it"), End: true},
			{End: true},
			{ArrowIpc: []byte("last"), End: true},
		} {
			if err := stream.Send(c); err != nil {
				return err
			}
		}
		return errs.ToGRPC(errs.New(errs.RateLimited, "too slow"))
	}}
	client := newCluster(t, follower, leader).client(t)
	r, err := client.Tail(context.Background(), &shardpb.TailRequest{ShardId: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, want := range []string{"stored", "-", "", "last"} {
		if i > 0 {
			if err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if want == "-" {
			continue
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != want {
			t.Errorf("answer %d is %q, %v, want %q", i, got, err, want)
		}
	}
	for range 2 {
		if err := r.Next(); errs.CodeOf(err) != errs.RateLimited {
			t.Errorf("the end is %v, want that of the shard", err)
		}
	}
}

func TestTailRefused(t *testing.T) {
	node := &scripted{tail: func(*shardpb.TailRequest, grpc.ServerStreamingServer[shardpb.TailChunk]) error {
		return errs.ToGRPC(errs.New(errs.ColumnNotFound, "no column x"))
	}}
	_, err := newCluster(t, node).client(t).Tail(context.Background(), &shardpb.TailRequest{ShardId: 1})
	if errs.CodeOf(err) != errs.ColumnNotFound {
		t.Errorf("error is %v, want that of the shard at once", err)
	}
}
