package node

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
)

// service answers writes by calling do.
type service struct {
	shardpb.UnimplementedShardServiceServer
	do func(context.Context, *shardpb.WriteRequest) (*shardpb.WriteResponse, error)
}

func (s service) Write(ctx context.Context, req *shardpb.WriteRequest) (*shardpb.WriteResponse, error) {
	return s.do(ctx, req)
}

func TestLocalConn(t *testing.T) {
	type key struct{}
	parent := context.WithValue(context.Background(), key{}, 1)
	bodies := &column.Bodies{}
	refusal := errs.New(errs.ShardBusy, "full").WithReason(errs.Busy).WithRetryAfter(3 * time.Second)
	tests := []struct {
		name  string
		do    func(context.Context, *shardpb.WriteRequest) (*shardpb.WriteResponse, error)
		check func(*shardpb.WriteResponse, error) bool
	}{
		{"answer", func(_ context.Context, req *shardpb.WriteRequest) (*shardpb.WriteResponse, error) {
			return &shardpb.WriteResponse{Index: uint64(len(req.Batches[0])), NeedTables: []uint64{7}}, nil
		}, func(r *shardpb.WriteResponse, err error) bool {
			return err == nil && r.Index == 3 && r.NeedTables[0] == 7
		}},
		{"typed error", func(context.Context, *shardpb.WriteRequest) (*shardpb.WriteResponse, error) {
			return nil, errs.ToGRPC(refusal)
		}, func(_ *shardpb.WriteResponse, err error) bool {
			e := errs.From(errs.FromGRPC(err))
			return e.Reason == errs.Busy && e.Code == errs.ShardBusy && e.RetryAfter == 3*time.Second
		}},
		{"plain error", func(context.Context, *shardpb.WriteRequest) (*shardpb.WriteResponse, error) {
			return nil, errors.New("oops")
		}, func(_ *shardpb.WriteResponse, err error) bool { return status.Code(err) == codes.Unknown }},
		{"deadline", func(ctx context.Context, _ *shardpb.WriteRequest) (*shardpb.WriteResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, func(_ *shardpb.WriteResponse, err error) bool { return status.Code(err) == codes.DeadlineExceeded }},
		{"no values", func(ctx context.Context, _ *shardpb.WriteRequest) (*shardpb.WriteResponse, error) {
			if ctx.Value(key{}) != nil {
				return nil, errors.New("the service received the caller's values")
			}
			return &shardpb.WriteResponse{}, nil
		}, func(_ *shardpb.WriteResponse, err error) bool { return err == nil }},
		{"bodies of batches", func(ctx context.Context, _ *shardpb.WriteRequest) (*shardpb.WriteResponse, error) {
			if column.BodiesOf(ctx) != bodies {
				return nil, errors.New("the service did not receive the bodies of the batches")
			}
			return &shardpb.WriteResponse{}, nil
		}, func(_ *shardpb.WriteResponse, err error) bool { return err == nil }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(column.WithBodies(parent, bodies), 20*time.Millisecond)
			defer cancel()
			resp, err := shardpb.NewShardServiceClient(&localConn{shards: service{do: test.do}}).
				Write(ctx, &shardpb.WriteRequest{Batches: [][]byte{[]byte("abc")}})
			if !test.check(resp, err) {
				t.Errorf("got %v, %v", resp, err)
			}
		})
	}
}

func TestLocalConnCloses(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	conn := &localConn{shards: service{do: func(context.Context, *shardpb.WriteRequest) (*shardpb.WriteResponse, error) {
		close(entered)
		<-leave
		return &shardpb.WriteResponse{Index: 9}, nil
	}}}
	client := shardpb.NewShardServiceClient(conn)
	answer := make(chan error, 1)
	go func() {
		_, err := client.Write(context.Background(), &shardpb.WriteRequest{})
		answer <- err
	}()
	<-entered
	closed := make(chan struct{})
	go func() {
		conn.close(context.Background())
		close(closed)
	}()
	for status.Code(callErr(client)) != codes.Unavailable { // until close has started
		runtime.Gosched()
	}
	select {
	case <-closed:
		t.Error("close did not wait for the running call")
	default:
	}
	close(leave)
	if err := <-answer; err != nil {
		t.Errorf("the running call failed: %v", err)
	}
	<-closed
	impatient, cancel := context.WithCancel(context.Background())
	cancel()
	conn.close(impatient)
}

func callErr(c shardpb.ShardServiceClient) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := c.Write(ctx, &shardpb.WriteRequest{})
	return err
}
