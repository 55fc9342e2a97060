package discovery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/metapb"
)

// state is a State in memory. It lives longer than the process of its node.
type state struct {
	mu                sync.Mutex
	cluster, promise  string
	founders, partner []string
	broken            error
}

func (s *state) Cluster() (string, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cluster, s.founders
}

func (s *state) Promise() (string, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.promise, s.partner
}

func (s *state) SetCluster(id string, founders []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster != "" && s.cluster != id {
		return fmt.Errorf("it belongs to %s already", s.cluster)
	}
	s.cluster, s.founders, s.promise, s.partner = id, founders, "", nil
	return s.broken
}

func (s *state) SetPromise(id string, founders []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.promise, s.partner = id, founders
	return s.broken
}

type book struct{}

func (book) RecordCaller(_, _, _ string, _ []string) {}
func (book) Seen(string, string, []string)           {}
func (book) Heard([]*metapb.Node)                    {}
func (book) Known() []*metapb.Node                   { return nil }

// world is a set of nodes whose processes start and stop.
type world struct {
	t     *testing.T
	mu    sync.Mutex
	ids   int
	nodes []*node
}

type node struct {
	w     *world
	id    string
	addr  string
	state *state
	conf  func(*Config)

	stop   func() // nil while there is no process
	done   chan error
	mu     sync.Mutex
	waited string
}

func newWorld(t *testing.T, n int, conf func(*Config)) *world {
	w := &world{t: t}
	// Use a separate host for each node. A port of 127.0.0.1 may be assigned to a client of another test while a
	// killed node does not listen on it.
	host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(250), rand.IntN(250), 1+rand.IntN(250))
	for i := range n {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		w.nodes = append(w.nodes, &node{
			w: w, id: fmt.Sprintf("n%d", i+1), addr: l.Addr().String(), state: &state{}, conf: conf,
		})
		l.Close()
	}
	t.Cleanup(func() {
		for _, n := range w.nodes {
			n.kill()
		}
	})
	return w
}

func (w *world) seeds() (out []string) {
	for _, n := range w.nodes {
		out = append(out, n.addr)
	}
	return out
}

func (w *world) newID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	return fmt.Sprintf("cluster-%d", w.ids)
}

// start runs a process of the node.
func (n *node) start() {
	n.w.t.Helper()
	l, err := net.Listen("tcp", n.addr)
	if err != nil {
		n.w.t.Fatal(err)
	}
	cfg := Config{
		NodeID: n.id, Name: n.id, Roles: []string{RoleMeta}, Addr: n.addr, Process: rand.Uint64(), Lowest: 1, Highest: 2,
		Seeds: n.w.seeds(), Expect: len(n.w.nodes), State: n.state, Book: book{}, NewID: n.w.newID,
		Pause: 20 * time.Millisecond,
		Waiting: func(text string) {
			n.mu.Lock()
			n.waited = text
			n.mu.Unlock()
		},
	}
	if n.conf != nil {
		n.conf(&cfg)
	}
	d := New(cfg)
	s := grpc.NewServer()
	metapb.RegisterDiscoveryServer(s, d)
	go func() { _ = s.Serve(l) }()
	ctx, cancel := context.WithCancel(context.Background())
	done, ended := make(chan error, 1), make(chan struct{})
	n.done = done
	go func() {
		done <- d.Find(ctx)
		close(ended)
	}()
	n.stop = func() {
		cancel()
		s.Stop()
		<-ended // a dead process must not write
		if err := d.Close(); err != nil {
			n.w.t.Error(err)
		}
	}
}

func (n *node) kill() {
	if n.stop != nil {
		n.stop()
		n.stop = nil
	}
}

// found waits for Find to return.
func (n *node) found() error {
	select {
	case err := <-n.done:
		return err
	case <-time.After(20 * time.Second):
		n.mu.Lock()
		defer n.mu.Unlock()
		return errors.New("still waiting for " + n.waited)
	}
}

// waits waits until the node reports that it waits for something.
func (n *node) waits(what string) {
	n.w.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; {
		n.mu.Lock()
		text := n.waited
		n.mu.Unlock()
		if strings.Contains(text, what) {
			return
		}
		if time.Now().After(end) {
			n.w.t.Fatalf("node %s waits for %q, want %q", n.id, text, what)
		}
		<-time.After(time.Millisecond)
	}
}

// checkOneCluster checks that all nodes belong to the same cluster, and returns its id.
func (w *world) checkOneCluster() string {
	w.t.Helper()
	first, founders := w.nodes[0].state.Cluster()
	for _, n := range w.nodes {
		if id, f := n.state.Cluster(); id != first || id == "" || !slices.Equal(f, founders) {
			w.t.Fatalf("node %s belongs to cluster %q of %v, node %s to %q of %v", n.id, id, f, w.nodes[0].id, first, founders)
		}
	}
	return first
}

// TestOneCluster founds clusters of three in all orders.
func TestOneCluster(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		w := newWorld(t, 3, nil)
		for i, at := range order {
			w.nodes[at].start()
			if i < 2 {
				w.nodes[at].waits("all seeds to answer")
			}
		}
		for _, n := range w.nodes {
			if err := n.found(); err != nil {
				t.Fatal(err)
			}
		}
		w.checkOneCluster()
		if _, founders := w.nodes[0].state.Cluster(); !slices.Equal(founders, []string{"n1", "n2", "n3"}) {
			t.Errorf("founders %v", founders)
		}
	}
}

// TestKilledFounders kills nodes at random moments while they found a cluster, and starts them again. Exactly one
// cluster must result.
func TestKilledFounders(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // random choices of a test
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		w := newWorld(t, 3, nil)
		for _, n := range w.nodes {
			n.start()
		}
		for range 6 {
			n := w.nodes[random.IntN(3)]
			<-time.After(time.Duration(random.IntN(40)) * time.Millisecond)
			n.kill()
			n.start()
		}
		for _, n := range w.nodes {
			if err := n.found(); err != nil {
				t.Fatal(err)
			}
		}
		w.checkOneCluster()
		for _, n := range w.nodes {
			n.kill()
		}
	}
}

// TestJoin checks that a node joins a cluster although another seed does not answer.
func TestJoin(t *testing.T) {
	w := newWorld(t, 3, nil)
	w.nodes[0].state.cluster = "c"
	w.nodes[0].start()
	w.nodes[1].start() // n3 is never started
	if err := w.nodes[1].found(); err != nil {
		t.Fatal(err)
	}
	if id, founders := w.nodes[1].state.Cluster(); id != "c" || founders != nil {
		t.Errorf("joined %q of %v", id, founders)
	}
}

// TestPromise checks that a node keeps a promise until the deciding node has given up the new cluster.
func TestPromise(t *testing.T) {
	w := newWorld(t, 3, nil)
	for _, n := range w.nodes[1:] {
		n.state.promise, n.state.partner = "x", []string{"n1", "n2", "n3"}
		n.start()
	}
	w.nodes[1].waits("node n1 to found cluster x; it does not answer")
	w.nodes[0].start() // n1 does not know x, so x was not founded
	for _, n := range w.nodes {
		if err := n.found(); err != nil {
			t.Fatal(err)
		}
	}
	if id := w.checkOneCluster(); id == "x" {
		t.Error("the cluster that was given up was founded")
	}
}

// TestPromiseOutlivesDecider checks that a node joins the founded cluster through another founder if
// the deciding node is gone.
func TestPromiseOutlivesDecider(t *testing.T) {
	w := newWorld(t, 3, nil)
	founders := []string{"n1", "n2", "n3"}
	w.nodes[1].state.cluster, w.nodes[1].state.founders = "x", founders
	w.nodes[2].state.promise, w.nodes[2].state.partner = "x", founders
	w.nodes[1].start()
	w.nodes[2].start()
	if err := w.nodes[2].found(); err != nil {
		t.Fatal(err)
	}
	if id, f := w.nodes[2].state.Cluster(); id != "x" || !slices.Equal(f, founders) {
		t.Errorf("belongs to %q of %v", id, f)
	}
}

// TestRefused checks the errors for settings that contradict the seeds.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		conf        func(*Config)
		first, mine string // the cluster ids of the seed and of the node
		broken      error
		want        string
	}{
		"a foreign folder":         {nil, "c", "d", nil, "belongs to cluster d"},
		"another --cluster-id":     {func(c *Config) { c.ClusterID = "e" }, "c", "", nil, "--cluster-id is e"},
		"not the folder's cluster": {func(c *Config) { c.ClusterID = "e" }, "c", "c", nil, "--cluster-id is e"},
		"all folders empty":        {func(c *Config) { c.ClusterID = "e" }, "", "", nil, "its metadata is lost"},
		"an older program":         {func(c *Config) { c.Lowest = 3; c.Highest = 3 }, "c", "", nil, "upgrade the older one"},
		"the disk fails":           {nil, "c", "", errors.New("no space"), "no space"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2, nil)
			w.nodes[0].state.cluster = c.first
			w.nodes[1].conf = c.conf
			w.nodes[1].state.cluster, w.nodes[1].state.broken = c.mine, c.broken
			w.nodes[0].start()
			w.nodes[1].start()
			if err := w.nodes[1].found(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want an error with %q", err, c.want)
			}
		})
	}
}

// TestWaits checks the messages about what a node waits for.
func TestWaits(t *testing.T) {
	for name, c := range map[string]struct {
		conf func(*Config) // changes the second node's configuration
		want string
	}{
		"too few":              {func(c *Config) { c.Roles = []string{"shard"} }, "1 are up"},
		"different settings":   {func(c *Config) { c.Expect = 1 }, "the same --meta-bootstrap-expect"},
		"a name without nodes": {nil, "all seeds to answer"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2, nil)
			if c.conf == nil {
				w.nodes[0].conf = func(c *Config) {
					c.Seeds = append(c.Seeds, "dns:nodes.example:4001")
					c.Resolve = func(context.Context, string) ([]string, error) { return nil, errors.New("no such host") }
				}
			}
			w.nodes[1].conf = c.conf
			w.nodes[0].start()
			w.nodes[1].start()
			w.nodes[0].waits(c.want)
		})
	}
}

// TestNames checks that a name is looked up again until it has the addresses of all nodes.
func TestNames(t *testing.T) {
	var mu sync.Mutex
	var names []string
	w := newWorld(t, 2, nil)
	for _, n := range w.nodes {
		n.conf = func(c *Config) {
			c.Seeds = nil
			for _, m := range w.nodes {
				_, port, _ := net.SplitHostPort(m.addr)
				c.Seeds = append(c.Seeds, "dns:all.example:"+port)
			}
			c.Resolve = func(context.Context, string) ([]string, error) {
				mu.Lock()
				defer mu.Unlock()
				return slices.Clone(names), nil
			}
		}
		n.start()
	}
	w.nodes[0].waits("the name has no address")
	mu.Lock()
	host, _, _ := net.SplitHostPort(w.nodes[0].addr)
	names = []string{host}
	mu.Unlock()
	for _, n := range w.nodes {
		if err := n.found(); err != nil {
			t.Fatal(err)
		}
	}
	w.checkOneCluster()
}

func TestCheckSeed(t *testing.T) {
	for seed, ok := range map[string]bool{
		"a:1": true, "127.0.0.1:4001": true, "dns:nodes.svc:4001": true, "[::1]:4001": true,
		"": false, "a": false, ":4001": false, "a:": false, "dns:nodes": false,
	} {
		if err := CheckSeed(seed); (err == nil) != ok {
			t.Errorf("%q: %v", seed, err)
		}
	}
}

// TestNewsOfOthers checks that a waiting node asks its seeds at once when it gives a promise, or when an unknown node
// or a node of a cluster calls it. Other calls of waiting nodes must not cause requests.
func TestNewsOfOthers(t *testing.T) {
	d := New(Config{NodeID: "n2", State: &state{}, Book: book{}})
	d.last = view{peers: []peer{{&metapb.HelloResponse{NodeId: "n1"}, "there"}}}
	news := func() bool {
		select {
		case <-d.news:
			return true
		default:
			return false
		}
	}
	for _, c := range []struct {
		what string
		req  *metapb.HelloRequest
		want bool
	}{
		{"a known node", &metapb.HelloRequest{NodeId: "n1", AdvertiseAddr: "127.0.0.1:1"}, false},
		{"a new node", &metapb.HelloRequest{NodeId: "n3", AdvertiseAddr: "127.0.0.1:2"}, true},
		{"a node that only tries the port", &metapb.HelloRequest{}, false},
		{"a known node that belongs to a cluster", &metapb.HelloRequest{
			NodeId: "n1", AdvertiseAddr: "127.0.0.1:1", ClusterId: "c",
		}, true},
	} {
		if _, err := d.Hello(t.Context(), c.req); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if got := news(); got != c.want {
			t.Errorf("%s: news %v, want %v", c.what, got, c.want)
		}
	}
	if _, err := d.Found(t.Context(), &metapb.FoundRequest{
		ClusterId: "c", NodeId: "n1", Founders: []string{"n1", "n2"},
	}); err != nil || !news() {
		t.Errorf("promise: %v, or it did not make Find ask the seeds", err)
	}
}
