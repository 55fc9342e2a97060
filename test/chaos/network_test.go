package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// network gives each node a separate network namespace, joined by a bridge. This process is on the bridge, too, so it
// reaches all nodes, even isolated ones.
type network struct {
	t     *testing.T
	nodes []*cluster.Node
}

// address returns the address of the i-th node. name returns its namespace.
func (n *network) address(i int) string { return fmt.Sprintf("10.213.77.%d", i+1) }

func (n *network) name(i int) string { return fmt.Sprintf("cordwood-chaos-%d", i+1) }

// ip runs ip(8).
func (n *network) ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// newNetwork creates namespaces for the nodes of a cluster. It skips the test if that is not
// possible.
func newNetwork(t *testing.T, c *cluster.Cluster) *network {
	t.Helper()
	if !long() {
		t.Skip("network namespaces are for the long form: CORDWOOD_CHAOS=1")
	}
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skipf("network namespaces need ip: %v", err)
	}
	alone(t)
	n := &network{t: t, nodes: c.Nodes}
	const bridge = "cwchaos"
	clean := func() {
		c.Kill()
		for i := range n.nodes {
			_ = n.ip("netns", "del", n.name(i)) // it may not exist
		}
		_ = n.ip("link", "del", bridge)
	}
	clean() // left by a run that was killed
	t.Cleanup(clean)
	steps := [][]string{
		{"link", "add", bridge, "type", "bridge"},
		{"addr", "add", "10.213.77.254/24", "dev", bridge},
		{"link", "set", bridge, "up"},
	}
	for i := range c.Nodes {
		ns, outer := n.name(i), fmt.Sprintf("cwchaos-%d", i+1)
		steps = append(steps,
			[]string{"netns", "add", ns},
			[]string{"link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", ns},
			[]string{"link", "set", outer, "master", bridge, "up"},
			[]string{"-n", ns, "addr", "add", n.address(i) + "/24", "dev", "eth0"},
			[]string{"-n", ns, "link", "set", "eth0", "up"},
			[]string{"-n", ns, "link", "set", "lo", "up"},
		)
	}
	for _, step := range steps {
		if err := n.ip(step...); err != nil {
			t.Skipf("no network namespaces here: %v", err)
		}
	}
	for i, node := range c.Nodes {
		node.Within(n.address(i), "ip", "netns", "exec", n.name(i))
	}
	c.Seed()
	return n
}

// alone waits until no other run on this machine has networks with the same addresses, because its
// clients would talk to these nodes.
func alone(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "cordwood-chaos-network.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() }) // closing the file unlocks it
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatalf("lock %s: %v", f.Name(), err)
	}
}

// wide adds to each namespace a second network, wan0, which the nodes use for their connections to each other. All
// its packets go through a Switch. The i-th node is its port i.
func (n *network) wide(c *cluster.Cluster) *Switch {
	n.t.Helper()
	var names []string
	var addresses [][4]byte
	for i, node := range n.nodes {
		a := [4]byte{10, 214, 77, byte(i + 1)}
		address := fmt.Sprintf("%d.%d.%d.%d", a[0], a[1], a[2], a[3])
		for _, step := range [][]string{
			{"-n", n.name(i), "tuntap", "add", "dev", "wan0", "mode", "tun"},
			{"-n", n.name(i), "addr", "add", address + "/24", "dev", "wan0"},
			{"-n", n.name(i), "link", "set", "wan0", "mtu", fmt.Sprint(switchMTU), "up"},
		} {
			if err := n.ip(step...); err != nil {
				n.t.Skipf("no TUN devices here: %v", err)
			}
		}
		node.Between(address)
		names, addresses = append(names, n.name(i)), append(addresses, a)
	}
	c.Seed()
	s, err := NewSwitch("wan0", names, addresses)
	if err != nil {
		n.t.Skipf("no TUN devices here: %v", err)
	}
	n.t.Cleanup(s.Close)
	return s
}

// cut drops packets from one node to another. heal reverts cut.
func (n *network) cut(from, to int)  { n.route("add", from, to) }
func (n *network) heal(from, to int) { n.route("del", from, to) }

func (n *network) route(what string, from, to int) {
	n.t.Helper()
	if err := n.ip("-n", n.name(from), "route", what, "blackhole", n.address(to)+"/32"); err != nil {
		n.t.Fatal(err)
	}
}

// pairs calls f for both directions of each pair.
func pairs(f func(from, to int), list ...[2]int) {
	for _, p := range list {
		f(p[0], p[1])
		f(p[1], p[0])
	}
}

// TestCutOff cuts the network between nodes in several ways: the leader is isolated, the leader
// receives nothing, no node receives anything from the leader, two nodes reach each other only
// through the third, and a connection comes and goes.
func TestCutOff(t *testing.T) {
	c := cluster.NewCluster(t, cluster.Spec{All: 3})
	n := newNetwork(t, c)
	c.Start()
	opt := mixed
	opt.Routers = c.Routers
	l := Start(opt)
	l.Warm(t)
	leader := func() (at int, others [2]int) {
		x := shardLeader(t, c, 1)
		k := 0
		for i, node := range c.Nodes {
			if node == x {
				at = i
			} else {
				others[k] = i
				k++
			}
		}
		return at, others
	}
	for round := range rounds(1, 3) {
		for _, way := range []string{"alone", "deaf", "mute", "bridge", "flapping"} {
			a, o := leader()
			list := [][2]int{{a, o[0]}, {a, o[1]}}
			l.Fault("%s: %s", c.Nodes[a].Name, way)
			begin := time.Now()
			switch way {
			case "alone":
				pairs(n.cut, list...)
				n.minority(l, c.Nodes[a])
				pairs(n.heal, list...)
			case "deaf":
				n.cut(o[0], a)
				n.cut(o[1], a)
				l.AwaitAcked(t, 500)
				n.heal(o[0], a)
				n.heal(o[1], a)
			case "mute":
				n.cut(a, o[0])
				n.cut(a, o[1])
				l.AwaitAcked(t, 500)
				n.heal(a, o[0])
				n.heal(a, o[1])
			case "bridge":
				pairs(n.cut, list[0])
				l.AwaitAcked(t, 500)
				<-time.After(3 * time.Second)
				pairs(n.heal, list[0])
			case "flapping":
				for range 15 {
					pairs(n.cut, list[0])
					<-time.After(200 * time.Millisecond)
					pairs(n.heal, list[0])
					<-time.After(200 * time.Millisecond)
				}
			}
			l.AwaitAcked(t, 500)
			t.Logf("round %d, %s: %s", round, way, time.Since(begin).Round(time.Millisecond))
		}
	}
	c.AwaitReady(time.Minute)
	end(t, c, l, 3)
	l.Report(t, 0, 0)
}

// minority waits until an isolated node reports that it cannot accept rows, and until the others accept them.
func (n *network) minority(l *Load, alone *cluster.Node) {
	n.t.Helper()
	begin := time.Now()
	a, err := alone.Do("POST", "/v1/ingest?pipeline_name=svc_identity&table=minority", strings.NewReader(`{"a":1}`),
		"Content-Type", "application/x-ndjson", "x-svc-timeout", "5s")
	if err != nil || a.Status == 200 {
		n.t.Errorf("%s, which is isolated, answers %v %v, want an error", alone.Name, a, err)
	}
	if took := time.Since(begin); took > 7*time.Second {
		n.t.Errorf("%s, which is isolated, took %s to report that it cannot accept rows", alone.Name, took)
	}
	l.AwaitAcked(n.t, 500)
}
