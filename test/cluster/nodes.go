package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cordwood/node/rpcport"
	"cordwood/node/secret"
)

// Spec describes a Cluster.
type Spec struct {
	// All is the number of nodes with every role. Meta, Shard and Router are the numbers of nodes with only that
	// role.
	All, Meta, Shard, Router int
	// Replication is the number of replicas of a shard; 0 means 3 if there are enough nodes,
	// otherwise 1.
	Replication int
	// Shards is the number of shards; 0 means 2.
	Shards int
	// Expect is the number of founders; 0 means 3 if enough nodes have the role meta, otherwise 1.
	Expect int
	// Args are additional flags of all nodes.
	Args []string
}

// Cluster is several nodes that will form one cluster.
type Cluster struct {
	// Nodes are all nodes: first those with every role, then those with the role meta, shard, and router.
	Nodes []*Node
	// Metas, Shards and Routers are the nodes with that role.
	Metas, Shards, Routers []*Node

	t    testing.TB
	spec Spec
	dir  string
}

// NewCluster prepares the nodes of a cluster, and starts none. With -short it skips the test,
// because tests with several processes wait for elections and timeouts.
func NewCluster(t testing.TB, spec Spec) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("clusters of several processes are not for -short")
	}
	three := func(set *int, nodes int) {
		if *set == 0 {
			*set = 1
			if nodes >= 3 {
				*set = 3
			}
		}
	}
	three(&spec.Replication, spec.All+spec.Shard)
	three(&spec.Expect, spec.All+spec.Meta)
	if spec.Shards == 0 {
		spec.Shards = 2
	}
	c := &Cluster{t: t, spec: spec, dir: t.TempDir()}
	for _, kind := range []struct {
		roles string
		count int
	}{{"router,meta,shard", spec.All}, {"meta", spec.Meta}, {"shard", spec.Shard}, {"router", spec.Router}} {
		for range kind.count {
			c.add(kind.roles)
		}
	}
	c.Seed()
	return c
}

// add prepares one more node. The caller must call Seed after it.
func (c *Cluster) add(roles string) *Node {
	name := fmt.Sprintf("n%d", len(c.Nodes)+1)
	admin := freeAddr(c.t)
	n := NewAt(c.t, filepath.Join(c.dir, name), append([]string{
		"--node-name", name, "--admin-addr", admin, "--roles", roles, "--shards", fmt.Sprint(c.spec.Shards),
		"--replication", fmt.Sprint(c.spec.Replication),
		"--meta-bootstrap-expect", fmt.Sprint(c.spec.Expect),
	}, c.spec.Args...)...)
	n.Name, n.Admin, n.cluster = name, "http://"+admin, c
	c.Nodes = append(c.Nodes, n)
	for role, list := range map[string]*[]*Node{"meta": &c.Metas, "shard": &c.Shards, "router": &c.Routers} {
		if strings.Contains(roles, role) {
			*list = append(*list, n)
		}
	}
	return n
}

// Add prepares one more node with the given roles, and with the nodes of the role meta as seeds.
func (c *Cluster) Add(roles string) *Node {
	n := c.add(roles)
	n.set("--seeds", c.seeds())
	return n
}

func (c *Cluster) seeds() string {
	var seeds []string
	for _, n := range c.Metas {
		if n.between != "" {
			seeds = append(seeds, n.between)
		} else {
			seeds = append(seeds, n.RPC)
		}
	}
	return strings.Join(seeds, ",")
}

// Seed gives all nodes the present addresses of the nodes with the role meta.
func (c *Cluster) Seed() {
	for _, n := range c.Nodes {
		n.set("--seeds", c.seeds())
	}
}

// Move gives a stopped node another address for other nodes. They get it from the node itself, or from Seed.
func (n *Node) Move() {
	n.RPC = freeAddr(n.t)
	n.set("--rpc-addr", n.RPC)
}

// Use makes the node run another program after its next start.
func (n *Node) Use(bin string) { n.bin = bin }

// By makes a command run the program after its next start. The command must replace itself by that program.
func (n *Node) By(command ...string) { n.wrap = command }

// Keep gives a node that was not started another data folder.
func (n *Node) Keep(dir string) {
	n.Dir = dir
	n.set("--data-dir", dir)
}

// Within makes a node of a Cluster listen on another host of this machine, at ports that are free there. A command
// runs it, such as one that enters a network namespace. The caller must call Seed after it. Other machines could
// reach the node, so the cluster has a secret.
func (n *Node) Within(host string, command ...string) {
	n.cluster.Secret()
	n.HTTP, n.RPC, n.Admin, n.wrap = "http://"+host+":4000", host+":4001", "http://"+host+":4002", command
	n.set("--http-addr", host+":4000")
	n.set("--rpc-addr", host+":4001")
	n.set("--admin-addr", host+":4002")
}

// Between makes other nodes use another address of the host of a node that Within has moved. The caller must call
// Seed after it.
func (n *Node) Between(host string) {
	n.between = host + ":4001"
	n.set("--rpc-addr", "0.0.0.0:4001")
	n.set("--advertise-addr", n.between)
}

// Secret gives all nodes the secret of the cluster, from their next start, and returns the file with the secret.
func (c *Cluster) Secret() string {
	c.t.Helper()
	file := filepath.Join(c.dir, secret.FileName)
	if _, err := os.Stat(file); err != nil {
		if err := secret.Make(file); err != nil {
			c.t.Fatal(err)
		}
		c.spec.Args = append(slices.Clone(c.spec.Args), secretFlag, file)
	}
	for _, n := range c.Nodes {
		n.set(secretFlag, file)
	}
	return file
}

const secretFlag = "--cluster-secret-file"

// Dialer opens connections to the node as another node with the given id.
func (n *Node) Dialer(id string) (rpcport.Dialer, error) {
	file := filepath.Join(n.Dir, secret.FileName)
	if i := slices.Index(n.args, secretFlag); i >= 0 {
		file = n.args[i+1]
	} else if _, err := os.Stat(file); err != nil {
		return rpcport.Dialer{}, nil
	}
	source, err := secret.Open(secret.Config{File: file, Node: id})
	return rpcport.Dialer{Credentials: source}, err
}

// set changes a flag, or adds it.
func (n *Node) set(flag, value string) {
	if i := slices.Index(n.args, flag); i >= 0 {
		n.args[i+1] = value
		return
	}
	n.args = append(n.args, flag, value)
}

// Start starts all nodes at once and waits until they are ready.
func (c *Cluster) Start() {
	c.t.Helper()
	for _, n := range c.Nodes {
		n.Launch()
	}
	c.AwaitReady(time.Minute)
}

// AwaitReady waits until all running nodes are ready.
func (c *Cluster) AwaitReady(limit time.Duration) {
	c.t.Helper()
	failures := make([]error, len(c.Nodes))
	var wg sync.WaitGroup
	for i, n := range c.Nodes {
		if n.Running() {
			wg.Go(func() { failures[i] = n.AwaitReady(Generous(limit)) })
		}
	}
	wg.Wait()
	for _, err := range failures {
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// Stop stops all running nodes at once, and waits for them.
func (c *Cluster) Stop() {
	c.t.Helper()
	var running []*Node
	for _, n := range c.Nodes {
		if n.Running() {
			n.signal(syscall.SIGTERM)
			running = append(running, n)
		}
	}
	for _, n := range running {
		n.awaitStop()
	}
}

// Kill ends all nodes with SIGKILL.
func (c *Cluster) Kill() {
	var wg sync.WaitGroup
	for _, n := range c.Nodes {
		wg.Go(n.Kill)
	}
	wg.Wait()
}

// Identity is the content of a node's file IDENTITY.
type Identity struct {
	NodeID    string `json:"node_id"`
	ClusterID string `json:"cluster_id"`
	Shards    []uint32
	Founders  []string
}

// Identity reads the node's file IDENTITY.
func (n *Node) Identity() (id Identity, err error) {
	data, err := os.ReadFile(filepath.Join(n.Dir, "IDENTITY"))
	if err != nil {
		return id, err
	}
	return id, json.Unmarshal(data, &id)
}

// ClusterID returns the id of the cluster to which all nodes belong. The test fails if there are
// several.
func (c *Cluster) ClusterID() string {
	c.t.Helper()
	first := ""
	for _, n := range c.Nodes {
		id, err := n.Identity()
		if err != nil {
			c.t.Fatal(err)
		}
		if first == "" {
			first = id.ClusterID
		}
		if id.ClusterID != first || first == "" {
			c.t.Fatalf("node %s belongs to cluster %q, another one to %q", n.Name, id.ClusterID, first)
		}
	}
	return first
}

// Generous returns how long to wait for an action that takes at most d on an idle machine: three times as long, but
// at most two minutes. If the action must happen, the limit matters only if it fails.
func Generous(d time.Duration) time.Duration { return max(d, min(3*d, 2*time.Minute)) }

// Eventually waits until check returns nil, and fails the test with its last error if that takes
// longer than Generous(limit).
func Eventually(t testing.TB, limit time.Duration, check func() error) {
	t.Helper()
	limit = Generous(limit)
	for deadline := time.Now().Add(limit); ; {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still after %s: %v", limit, err)
		}
		<-time.After(20 * time.Millisecond)
	}
}
