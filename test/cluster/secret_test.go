package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/emptypb"

	"cordwood/node/rpcport"
	"cordwood/node/secret"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
)

// awaitLog waits until the log of a node contains all of the texts.
func awaitLog(t *testing.T, n *Node, texts ...string) {
	t.Helper()
	Eventually(t, Generous(30*time.Second), func() error {
		for _, text := range texts {
			if !strings.Contains(n.Log(), text) {
				return fmt.Errorf("the log of %s does not say %q", n.Dir, text)
			}
		}
		return nil
	})
}

// TestUnauthenticatedPeer checks that a process which reaches the internal port of a server is a
// node of its cluster only if it has the secret.
func TestUnauthenticatedPeer(t *testing.T) {
	t.Parallel()
	n := New(t, "--shards", "1")
	n.Start()
	file := filepath.Join(n.Dir, secret.FileName)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the secret of a cluster that was just founded: %v, %v", info, err)
	}
	awaitLog(t, n, "created the cluster's secret", file)
	if err := n.Ingest("t", []byte(`{"i":0}`)); err != nil {
		t.Fatal(err)
	}

	other := filepath.Join(t.TempDir(), "secret")
	if err := secret.Make(other); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args           []string
		outsider, node string // what their logs say
	}{
		"without a secret": {nil, "a seed refused this node", "it uses no TLS"},
		"with another secret": {
			[]string{"--cluster-secret-file", other}, "the secret of the cluster differs", "the secret of the cluster differs",
		},
	} {
		outsider := New(t, append([]string{"--roles", "router", "--node-name", name, "--seeds", n.RPC}, c.args...)...)
		outsider.Launch()
		awaitLog(t, outsider, c.outsider, "--cluster-secret-file")
		awaitLog(t, n, "refused a connection to the port between nodes", c.node, "--cluster-secret-file")
		if _, err := outsider.Query("SELECT count(*) FROM t"); err == nil {
			t.Errorf("%s: a node without the secret reads rows", name)
		}
		outsider.Kill()
	}
	if strings.Contains(n.Log(), "node joined") && strings.Count(n.Log(), "node joined") != 1 {
		t.Errorf("a node without the secret joined:\n%s", n.Log())
	}

	friend := New(t, "--roles", "router", "--node-name", "friend", "--seeds", n.RPC, "--cluster-secret-file", file)
	friend.Start()
	if err := wantRows(friend, "t", 1); err != nil {
		t.Error(err)
	}
	id, err := friend.Identity()
	if err != nil {
		t.Fatal(err)
	}
	awaitLog(t, n, "node joined", "name=friend", "node="+id.NodeID, "addr="+friend.RPC)
	// The secret stays.
	n.Stop()
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n.Start()
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("after a restart the secret is another one, %v", err)
	}
	if err := wantRows(friend, "t", 1); err != nil {
		t.Error(err)
	}
}

// TestUnprotectedAddress checks that a node which other machines could reach does not start without
// a way to authenticate nodes, unless a flag allows that.
func TestUnprotectedAddress(t *testing.T) {
	t.Parallel()
	_, port, err := net.SplitHostPort(freeAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--seeds", "127.0.0.1:" + port, "--advertise-addr", "127.0.0.1:" + port}
	n := New(t, args...)
	n.set("--rpc-addr", "0.0.0.0:"+port)
	if err := n.TryStart(30 * time.Second); err == nil || !strings.Contains(n.Log(), "--cluster-secret-file") ||
		!strings.Contains(n.Log(), "--rpc-tls-cert") {
		t.Errorf("it starts: %v\n%s", err, n.Log())
	}
	if _, err := os.Stat(n.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it left a data folder: %v", err)
	}
	n = New(t, append(args, "--rpc-insecure", "--shards", "1")...)
	n.set("--rpc-addr", "0.0.0.0:"+port)
	n.Start()
	awaitLog(t, n, "--rpc-insecure: anyone who can reach this address")
	if text := problems(t, n); !strings.Contains(text, "anyone who can reach the port between nodes of") {
		t.Errorf("the state of the cluster has the problems %s", text)
	}
}

// problems returns the problems of the cluster's state.
func problems(t *testing.T, n *Node) string {
	t.Helper()
	a, err := n.Do("GET", "/v1/cluster", nil)
	if err != nil || a.Status != 200 {
		t.Fatal(a, err)
	}
	var s struct{ Problems json.RawMessage }
	if err := json.Unmarshal(a.Body, &s); err != nil {
		t.Fatal(err)
	}
	return string(s.Problems)
}

// TestSecretOfRunningCluster gives a running cluster without a secret one, and then another one,
// while rows are written. No write may fail.
func TestSecretOfRunningCluster(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{All: 3})
	c.Start()
	if text := problems(t, c.Nodes[0]); !strings.Contains(text, "every account of the machine of n") {
		t.Errorf("without a secret the state of the cluster has the problems %s", text)
	}
	var writing sync.WaitGroup
	stop, written := make(chan struct{}), 0
	defer func() { // also if the test fails
		select {
		case <-stop:
		default:
			close(stop)
		}
		writing.Wait()
	}()
	writing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := ingestAnywhere(c, "t", written); err != nil {
				t.Error(err)
				return
			}
			written++
		}
	})
	roll := func(what string, change func(n *Node)) {
		t.Helper()
		for _, n := range c.Nodes {
			n.Stop()
			change(n)
			n.Start()
			Eventually(t, Generous(time.Minute), func() error { return notReady(c) })
		}
		t.Log(what)
	}
	file := c.Secret()
	roll("with the secret and without", func(n *Node) { n.args = append(n.args, "--rpc-insecure") })
	Eventually(t, Generous(30*time.Second), func() error {
		if text := problems(t, c.Nodes[0]); !strings.Contains(text, "remove --rpc-insecure: all nodes have the secret") {
			return fmt.Errorf("while both are allowed the problems are %s", text)
		}
		return nil
	})
	roll("with the secret alone", func(n *Node) { n.args = n.args[:len(n.args)-1] })
	Eventually(t, Generous(30*time.Second), func() error {
		if text := problems(t, c.Nodes[0]); strings.Contains(text, "rpc-insecure") ||
			strings.Contains(text, "every account") {
			return fmt.Errorf("with the secret the problems are %s", text)
		}
		return nil
	})

	// Change the secret: the nodes must accept it, use it, and forget the old one, without a
	// restart.
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := secret.Make(file + ".new"); err != nil {
		t.Fatal(err)
	}
	next, err := os.ReadFile(file + ".new")
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{string(old) + string(next), string(next) + string(old), string(next)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, n := range c.Nodes {
			Eventually(t, Generous(30*time.Second), func() error {
				if strings.Count(n.Log(), "read a changed secret of the cluster") <= i {
					return fmt.Errorf("%s has not read the secret again", n.Name)
				}
				return nil
			})
		}
	}
	Eventually(t, Generous(time.Minute), func() error { return notReady(c) })
	c.Nodes[2].Stop()
	c.Nodes[2].Start()
	close(stop)
	writing.Wait()
	for _, n := range c.Nodes {
		if err := wantRows(n, "t", written); err != nil {
			t.Error(err)
		}
	}
	if written < 10 {
		t.Errorf("only %d rows were written meanwhile", written)
	}
}

// ingestAnywhere writes row i through the first running node, as a load balancer would.
func ingestAnywhere(c *Cluster, table string, i int) (err error) {
	for deadline := time.Now().Add(Generous(30 * time.Second)); time.Now().Before(deadline); {
		for _, n := range c.Nodes {
			a, rerr := n.Do("POST", "/v1/ingest?pipeline_name=svc_identity&table="+table,
				strings.NewReader(fmt.Sprintf(`{"i":%d}`, i)),
				"Content-Type", "application/x-ndjson", "Idempotency-Key", fmt.Sprint(table, i))
			if rerr == nil && a.Status == 200 {
				return nil
			}
			if err = rerr; err == nil {
				err = fmt.Errorf("row %d: %d %s", i, a.Status, a.Body)
			}
		}
	}
	return err
}

// notReady describes the problems of a cluster's replicas; nil if there are none.
func notReady(c *Cluster) error {
	for _, n := range c.Nodes {
		a, err := n.Do("GET", "/v1/cluster", nil)
		if err != nil {
			return err
		}
		var s struct {
			FailureTolerance int `json:"failure_tolerance"`
		}
		if err := json.Unmarshal(a.Body, &s); err != nil {
			return err
		}
		if a.Status != 200 || s.FailureTolerance < 1 {
			return fmt.Errorf("%s: %d, the cluster tolerates %d failures", n.Name, a.Status, s.FailureTolerance)
		}
	}
	return nil
}

// TestNothingWithoutProof calls every method of every service of a node, and its raft, as a peer
// without a proof, with another secret, or with the proof of another node. Every call must be
// refused.
func TestNothingWithoutProof(t *testing.T) {
	t.Parallel()
	n := New(t, "--shards", "1")
	n.Start()
	id, err := n.Identity()
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(t.TempDir(), "foreign")
	if err := secret.Make(foreign); err != nil {
		t.Fatal(err)
	}
	source, err := secret.Open(secret.Config{File: foreign, Node: "outsider"})
	if err != nil {
		t.Fatal(err)
	}
	member, err := n.Dialer("outsider")
	if err != nil {
		t.Fatal(err)
	}
	me := rpcport.Member{
		ClusterID: id.ClusterID, NodeID: "outsider", Lowest: metapb.MinProtocol, Highest: metapb.MaxProtocol,
	}
	twin := me
	twin.NodeID = "somebody-else"
	greet := func(m rpcport.Member) func(context.Context, net.Conn) error {
		return func(ctx context.Context, conn net.Conn) error { return rpcport.Greet(ctx, conn, m, id.NodeID) }
	}
	callers := map[string]struct {
		dialer rpcport.Dialer
		greet  func(context.Context, net.Conn) error // nil means the greeting of Discovery
		ok     bool
	}{
		"no proof":                           {rpcport.Dialer{}, greet(me), false},
		"no proof, without a greeting":       {rpcport.Dialer{}, nil, false},
		"another secret":                     {rpcport.Dialer{Credentials: source}, greet(me), false},
		"another secret, without a greeting": {rpcport.Dialer{Credentials: source}, nil, false},
		"another node":                       {member, greet(twin), false},
		"a node":                             {member, greet(me), true}, // a valid peer: others must not
	}
	methods := methodsOf(t)
	for name, c := range callers {
		conn, err := grpc.NewClient("passthrough:///"+n.RPC, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
				conn, err := c.dialer.Dial(ctx, rpcport.Target{Addr: addr}, "h2")
				if err == nil && c.greet != nil {
					err = c.greet(ctx, conn)
				}
				return conn, err
			}))
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range methods {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
			if err == nil {
				_ = stream.SendMsg(&emptypb.Empty{}) // RecvMsg returns the result
				_ = stream.CloseSend()
				err = stream.RecvMsg(&emptypb.Empty{})
			}
			cancel()
			code := status.Code(err)
			refused := code == codes.Unauthenticated || code == codes.Unavailable &&
				!strings.Contains(err.Error(), "is not open on this node")
			if refused == c.ok {
				t.Errorf("%s: %s answers %v", name, method, err)
			}
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if c.greet == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		from := "outsider"
		if strings.Contains(name, "another node") {
			from = twin.NodeID
		}
		if answer := callRaft(ctx, c.dialer, n.RPC, id.ClusterID, from, id.NodeID); (answer == "") != c.ok {
			t.Errorf("%s: raft answers %q", name, answer)
		}
		cancel()
	}
}

// methodsOf lists all methods for calls between nodes in the packages of this program.
func methodsOf(t *testing.T) (out []string) {
	t.Helper()
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			if !strings.HasPrefix(string(s.FullName()), "cordwood.") {
				continue
			}
			for j := range s.Methods().Len() {
				out = append(out, fmt.Sprintf("/%s/%s", s.FullName(), s.Methods().Get(j).Name()))
			}
		}
		return true
	})
	for _, want := range []string{
		metapb.Discovery_Hello_FullMethodName, metapb.Meta_Propose_FullMethodName,
		shardpb.ShardService_Write_FullMethodName, metapb.Peer_Echo_FullMethodName,
	} {
		found := false
		for _, m := range out {
			found = found || m == want
		}
		if !found {
			t.Fatalf("%s is not among the methods %v", want, out)
		}
	}
	return out
}

// callRaft sends a greeting to the raft port of a node. It returns the reason of a refusal, or "".
func callRaft(ctx context.Context, d rpcport.Dialer, addr, cluster, from, to string) string {
	conn, err := d.Dial(ctx, rpcport.Target{Addr: addr})
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	hello := []byte("CWRT\x01\x00\x01\x00\x01")
	for _, name := range []string{cluster, from, to} {
		hello = append(append(hello, byte(len(name))), name...)
	}
	if _, err := conn.Write(hello); err != nil {
		return err.Error()
	}
	head := make([]byte, 8)
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err.Error()
	}
	if _, err := io.ReadFull(conn, head); err != nil {
		return err.Error()
	}
	if head[4] == 0 {
		reason, _ := io.ReadAll(conn)
		return "refused: " + string(reason)
	}
	return ""
}
