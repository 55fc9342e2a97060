package shardclient

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
)

// silent is the connection to a node whose process is suspended.
type silent struct{ grpc.ClientConnInterface }

func (silent) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption,
) (grpc.ClientStream, error) {
	<-ctx.Done()
	return nil, status.FromContextError(ctx.Err()).Err()
}

func (silent) Invoke(ctx context.Context, _ string, _, _ any, _ ...grpc.CallOption) error {
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err()
}

// TestOnlyNodeIsSilent checks that a read of a shard whose only node is suspended fails after 8 s, or before the time
// of the request is up, and that the error names the node.
func TestOnlyNodeIsSilent(t *testing.T) {
	for limit, most := range map[time.Duration]time.Duration{
		time.Hour: 8 * time.Second, 12 * time.Second: 8 * time.Second, 3 * time.Second: 2 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := New(Config{
				Replicas: func(uint32) []string { return []string{"n1"} }, Nodes: func() []string { return []string{"n1"} },
				Dial: func(string) (grpc.ClientConnInterface, error) { return silent{}, nil },
			})
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			began := time.Now()
			_, err := c.Query(ctx, &shardpb.QueryRequest{Tables: []*shardpb.QueryTable{{ShardId: 7}}})
			if took := time.Since(began); took > most {
				t.Errorf("with %v: after %v, want %v", limit, took, most)
			}
			if errs.CodeOf(err) != errs.ShardUnreachable ||
				!strings.Contains(err.Error(), "node n1: the node did not answer in time") {
				t.Errorf("with %v: %v", limit, err)
			}
		})
	}
}

// mute is the connection to a node that was dialed a moment ago.
type mute struct{ grpc.ClientConnInterface }

func (mute) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: node n1: `+
		`10.0.0.1:4001 accepted a connection, but did not answer within 1s (a moment ago; it is retried)"`)
}

// TestNodeIsNamedOnce checks that an error does not repeat the name of the node.
func TestNodeIsNamedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{
			Replicas: func(uint32) []string { return []string{"n1"} }, Nodes: func() []string { return []string{"n1"} },
			Dial: func(string) (grpc.ClientConnInterface, error) { return mute{}, nil },
		})
		_, err := c.Scan(t.Context(), nil, &shardpb.ScanRequest{ShardId: 7})
		const want = "node n1: 10.0.0.1:4001 accepted a connection, but did not answer within 1s"
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	})
}
