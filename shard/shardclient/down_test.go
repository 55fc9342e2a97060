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

// refusing is the connection to a node that is not running.
type refusing struct{ grpc.ClientConnInterface }

func (refusing) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: node n1: `+
		`dial tcp 10.0.0.1:4001: connect: connection refused"`)
}

// TestAllNodesAreDown checks that a query fails within seconds if no node of a shard accepts a
// connection. The error lists each node, and the query does not wait for an election.
func TestAllNodesAreDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{
			Replicas: func(uint32) []string { return []string{"n1", "n2"} }, Nodes: func() []string {
				return []string{"n1", "n2"}
			},
			Dial: func(string) (grpc.ClientConnInterface, error) { return refusing{}, nil },
		})
		began := time.Now()
		_, err := c.Query(t.Context(), &shardpb.QueryRequest{Tables: []*shardpb.QueryTable{{ShardId: 1}}})
		if r := errs.ReasonOf(err); r != "" {
			t.Errorf("reason %s of a read, which has no outcome", r)
		}
		if took := time.Since(began); errs.From(err).Code != errs.ShardUnreachable ||
			took > downWait+c.cfg.MaxBackoff+c.cfg.MaxBackoff/4 {
			t.Errorf("after %v: %v", took, err)
		}
		for _, node := range []string{"node n1: ", "node n2: "} {
			if want := node + "dial tcp 10.0.0.1:4001: connect: connection refused"; !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in %v", want, err)
			}
		}
	})
}
