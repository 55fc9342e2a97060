package registry

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"cordwood/node/rpcport"
	"cordwood/proto/metapb"
)

func newRegistry(t *testing.T, file string) *Registry {
	t.Helper()
	r := New(Config{
		NodeID: "me", File: file,
		Member: func() rpcport.Member {
			return rpcport.Member{ClusterID: "c", NodeID: "me", Lowest: 1, Highest: 1}
		},
	})
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// TestOrder checks the order in which the addresses of a node are tried.
func TestOrder(t *testing.T) {
	r := newRegistry(t, "")
	want := func(what string, addrs ...string) {
		t.Helper()
		if got := r.Addrs("a"); !slices.Equal(got, addrs) {
			t.Errorf("%s: %v, want %v", what, got, addrs)
		}
	}
	learn := func(addr string) {
		r.Learn([]*metapb.Node{{Id: "a", RpcAddr: addr, Roles: []string{"meta"}}})
	}
	r.Heard([]*metapb.Node{{Id: "a", RpcAddr: "heard:1"}, {Id: "me", RpcAddr: "me:1"}})
	want("heard", "heard:1")
	r.Seen("a", "seen:1", []string{"meta"})
	want("seen", "seen:1", "heard:1")
	learn("old:1")
	want("the first address in the metadata may be old", "seen:1", "heard:1", "old:1")
	learn("old:1")
	want("the same again", "seen:1", "heard:1", "old:1")
	learn("new:1")
	want("the metadata have changed", "new:1", "seen:1", "heard:1", "old:1")
	r.Seen("a", "seen:2", nil)
	want("bounded", "seen:2", "new:1", "seen:1", "heard:1")
	if got := r.WithRole("meta"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("with the role meta: %v", got)
	}
	r.Learn(nil)
	want("removed from the cluster")
	if _, err := r.Dial("a"); err == nil {
		t.Error("a removed node can be dialed")
	}
}

// TestRemoved checks that removed nodes that are reported again are not members of the metadata group
// until the metadata list them.
func TestRemoved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "PEERS")
	r := newRegistry(t, file)
	node := func(id string) *metapb.Node {
		return &metapb.Node{Id: id, RpcAddr: id + ":1", Roles: []string{"meta"}}
	}
	r.Learn([]*metapb.Node{node("a"), node("b"), node("c"), node("d")})
	r.Learn([]*metapb.Node{node("a")})
	r.Heard([]*metapb.Node{node("b")})
	r.RecordCaller("10.0.0.1", "c", "c:1", []string{"meta"})
	r.Seen("d", "d:1", []string{"meta"})
	if got := r.WithRole("meta"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("members after the removal: %v", got)
	}
	if got := r.Addrs("d"); !slices.Equal(got, []string{"d:1"}) {
		t.Errorf("the removed node cannot be called: %v", got)
	}
	if got := newRegistry(t, file).WithRole("meta"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("members after a restart: %v", got)
	}
	r.Learn([]*metapb.Node{node("a"), node("b")})
	if got := r.WithRole("meta"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("members after the return: %v", got)
	}
	for i := range 2 * maxRemoved {
		r.Learn([]*metapb.Node{node(strconv.Itoa(i))})
	}
	if len(r.removed) > maxRemoved {
		t.Errorf("%d removed nodes are remembered", len(r.removed))
	}
}

// TestKept checks that the addresses of an earlier process are used, and that a file of addresses that cannot be read
// is ignored.
func TestKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "PEERS")
	r := newRegistry(t, file)
	r.Seen("a", "seen:1", []string{"meta", "shard"})
	r = newRegistry(t, file)
	if got := r.Addrs("a"); !slices.Equal(got, []string{"seen:1"}) || !slices.Equal(r.WithRole("shard"), []string{"a"}) {
		t.Errorf("after a restart: %v, %v", got, r.WithRole("shard"))
	}
	for _, text := range []string{"", "{", `{"version":99,"nodes":[{"id":"a","addr":"x:1"}]}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := newRegistry(t, file); len(r.Known()) > 0 {
			t.Errorf("the file %q gives %v", text, r.Known())
		}
	}
}

// node starts a process that answers calls as the node with the given id.
func node(t *testing.T, id, addr string) (string, func()) {
	t.Helper()
	p, err := rpcport.Listen(rpcport.Config{Addr: addr})
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	metapb.RegisterDiscoveryServer(s, answer{id: id})
	go func() { _ = s.Serve(p.Calls()) }()
	p.Join(rpcport.Member{ClusterID: "c", NodeID: id, Lowest: 1, Highest: 1}, func(c net.Conn, _ string) { c.Close() })
	stop := func() {
		s.Stop()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	return p.Addr().String(), stop
}

type answer struct {
	metapb.UnimplementedDiscoveryServer
	id string
}

func (a answer) Hello(context.Context, *metapb.HelloRequest) (*metapb.HelloResponse, error) {
	return &metapb.HelloResponse{NodeId: a.id}, nil
}

// TestDialFollows checks that a node is reached at its new address when another node has its old one.
func TestDialFollows(t *testing.T) {
	r := newRegistry(t, "")
	first, stop := node(t, "a", "127.0.0.1:0")
	r.Seen("a", first, nil)
	conn, err := r.Dial("a")
	if err != nil {
		t.Fatal(err)
	}
	ask := func() (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		resp, err := metapb.NewDiscoveryClient(conn).Hello(ctx, &metapb.HelloRequest{}, grpc.WaitForReady(true))
		return resp.GetNodeId(), err
	}
	until := func(what string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); ; {
			id, err := ask()
			if err == nil {
				if id != "a" {
					t.Fatalf("%s: node %s answers", what, id)
				}
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	until("at first")
	stop()
	_, stop = node(t, "b", first)
	defer stop()
	if id, err := ask(); err == nil {
		t.Fatalf("node %s answers at the old address", id)
	}
	if _, err := r.DialRaft(t.Context(), "nobody"); err == nil || !strings.Contains(err.Error(), "no address") {
		t.Errorf("an unknown node: %v", err)
	}
	second, stop2 := node(t, "a", "127.0.0.1:0")
	defer stop2()
	r.Learn([]*metapb.Node{{Id: "a", RpcAddr: second}})
	until("at the new address")
	raft, err := r.DialRaft(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	raft.Close()
}

func TestAddressesOfStoppedNode(t *testing.T) {
	file := filepath.Join(t.TempDir(), "PEERS")
	if got := Kept(file); len(got) != 0 {
		t.Errorf("without a file: %v", got)
	}
	for text, want := range map[string]string{
		`{"version":1,"nodes":[{"id":"n","addr":"10.0.0.1:4001"}]}`: "10.0.0.1:4001",
		`{"version":2,"nodes":[{"id":"n","addr":"10.0.0.1:4001"}]}`: "", // a newer format may have another meaning
		`{`: "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Kept(file)["n"]; got != want {
			t.Errorf("%s: n is at %q, want %q", text, got, want)
		}
	}
}
