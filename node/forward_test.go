package node

import (
	"context"
	"net"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// fakeMember is a member of the metadata group with the state after a given command.
type fakeMember struct {
	metapb.UnimplementedMetaServer
	leader string // empty if this member leads
	index  uint64 // the index of its state
	read   uint64 // the acknowledged index that it returns
}

func (m *fakeMember) ReadIndex(context.Context, *metapb.ReadIndexRequest) (*metapb.ReadIndexResponse, error) {
	if m.leader != "" {
		e := errs.New(errs.ShardNotReady, "it does not lead").WithReason(errs.NotLeader)
		e.Leader = m.leader
		return nil, errs.ToGRPC(e)
	}
	return &metapb.ReadIndexResponse{Index: m.read, Term: 1}, nil
}

func (m *fakeMember) Watch(_ *metapb.WatchRequest, out grpc.ServerStreamingServer[metapb.WatchResponse]) error {
	return out.Send(&metapb.WatchResponse{Index: m.index, Reset_: true})
}

func (m *fakeMember) ReadPipelines(
	_ *metapb.ReadPipelinesRequest, out grpc.ServerStreamingServer[metapb.ReadPipelinesResponse],
) error {
	if m.leader != "" {
		return errs.ToGRPC(errs.New(errs.Internal, "a member that lags was called"))
	}
	return nil
}

// serveMember serves a member and returns a connection to it.
func serveMember(t *testing.T, m metapb.MetaServer) grpc.ClientConnInterface {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	metapb.RegisterMetaServer(srv, m)
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(srv.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestForwardedState checks that operators, such as backups, read the leader's state with everything that was
// acknowledged. The member on this node, which is called first, lags.
func TestForwardedState(t *testing.T) {
	behind, leader := &fakeMember{leader: "b", index: 3}, &fakeMember{index: 9, read: 9}
	conns := map[string]grpc.ClientConnInterface{"a": serveMember(t, behind), "b": serveMember(t, leader)}
	forwarded := metapb.NewMetaClient(serveMember(t, &forwardMeta{forward: &forward{
		members: func() []string { return []string{"a", "b"} },
		dial:    func(node string) (grpc.ClientConnInterface, error) { return conns[node], nil },
	}}))
	state := func() (*metapb.WatchResponse, error) {
		stream, err := forwarded.Watch(t.Context(), &metapb.WatchRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return stream.Recv()
	}
	if got, err := state(); err != nil || got.Index != 9 {
		t.Errorf("the state is %v, %v, want the leader's", got, err)
	}
	stream, err := forwarded.ReadPipelines(t.Context(), &metapb.ReadPipelinesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); errs.CodeOf(errs.FromGRPC(err)) == errs.Internal {
		t.Error(err)
	}
	leader.read = 10 // its state is behind the index that it returns
	if got, err := state(); err == nil {
		t.Errorf("a state without acknowledged commands was returned: %v", got)
	}
}

// TestForwardKeepsTheList checks that the reported leader is called next, and that the shared list of nodes is not
// changed.
func TestForwardKeepsTheList(t *testing.T) {
	nodes := []string{"a", "b", "c"}
	var asked []string
	f := &forward{dial: func(string) (grpc.ClientConnInterface, error) { return nil, nil }}
	err := f.leader(t.Context(), "a test", func() []string {
		return nodes
	}, func(node string, _ grpc.ClientConnInterface) error {
		asked = append(asked, node)
		if node == "c" {
			return nil
		}
		e := errs.New(errs.ShardUnreachable, "it does not lead").WithReason(errs.NotLeader)
		e.Leader = "c"
		return errs.ToGRPC(e)
	})
	if err != nil || !slices.Equal(asked, []string{"a", "c"}) {
		t.Errorf("asked %q: %v", asked, err)
	}
	if !slices.Equal(nodes, []string{"a", "b", "c"}) {
		t.Errorf("the list was changed to %q", nodes)
	}
}
