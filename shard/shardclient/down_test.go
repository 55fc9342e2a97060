package shardclient

import (
	"context"
	"slices"
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

// leaderless is the connection to a node whose replica knows no leader.
type leaderless struct{ grpc.ClientConnInterface }

func (leaderless) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errs.ToGRPC(errs.New(errs.ShardNotReady, "query: shard 7 is not ready to read: it has no leader"))
}

// TestNoMajority checks that a read waits for the election of a leader only if more than half of the nodes may take
// part in it, and that the error lists the nodes in the same order each time, without repeating the shard.
func TestNoMajority(t *testing.T) {
	for down, most := range map[int]time.Duration{1: 11 * time.Second, 2: 4 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			nodes := []string{"n3", "n2", "n1"}
			c := New(Config{
				Replicas: func(uint32) []string { return nodes }, Nodes: func() []string { return nodes },
				Dial: func(node string) (grpc.ClientConnInterface, error) {
					if slices.Contains(nodes[:down], node) {
						return refusing{}, nil
					}
					return leaderless{}, nil
				},
				ReadWait: 8 * time.Second,
			})
			began := time.Now()
			_, err := c.Scan(t.Context(), nil, &shardpb.ScanRequest{ShardId: 7})
			took := time.Since(began)
			if errs.CodeOf(err) != errs.ShardUnreachable && errs.CodeOf(err) != errs.ShardNotReady || took > most ||
				down == 1 && took < 8*time.Second {
				t.Errorf("%d of 3 nodes are down: after %v: %v", down, took, err)
			}
			want := "node n1: it has no leader; node n2: it has no leader; node n3: dial tcp 10.0.0.1:4001: connect: " +
				"connection refused"
			if down == 1 && err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}
