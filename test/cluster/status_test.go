package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cordwood/router/httpapi/clusterapi"
)

// watch requests the state of the cluster from nodes continuously, and records each verdict that
// differs from the previous one.
type watch struct {
	mu    sync.Mutex // guards the fields below
	node  *Node
	phase string
	seen  []verdict
	last  string
	faces []string
}

type verdict struct {
	phase  string
	status clusterapi.Status
}

func (w *watch) at(node *Node, phase string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.node, w.phase = node, phase
}

func (w *watch) look() {
	w.mu.Lock()
	node, phase := w.node, w.phase
	w.mu.Unlock()
	a, err := node.Do(http.MethodGet, "/v1/cluster", nil)
	if err != nil || a.Status != http.StatusOK {
		return
	}
	var s clusterapi.Status
	if json.Unmarshal(a.Body, &s) != nil {
		return
	}
	face := fmt.Sprint(phase, " ", s.Health, " ", s.FailureTolerance, " operations ", len(s.Operations))
	for _, n := range s.Nodes {
		face += " " + n.Name + "=" + n.State
	}
	for _, sh := range s.Shards {
		face += fmt.Sprintf(" %d=%s", sh.ID, sh.State)
	}
	for _, p := range s.Problems {
		if !strings.HasPrefix(p.Text, "disks are") {
			face += "\n\t" + p.Severity + ": " + p.Text
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if face != w.last && w.phase == phase {
		w.last, w.seen, w.faces = face, append(w.seen, verdict{phase, s}), append(w.faces, face)
	}
}

// until waits for a verdict in the present phase.
func (w *watch) until(t *testing.T, what string, ok func(clusterapi.Status) bool) {
	t.Helper()
	Eventually(t, 40*time.Second, func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if n := len(w.seen); n > 0 && w.seen[n-1].phase == w.phase && ok(w.seen[n-1].status) {
			return nil
		}
		return fmt.Errorf("waiting for %s", what)
	})
}

// health returns the verdict without problems of disks, which all nodes share with other programs.
func health(s clusterapi.Status) string {
	if s.Health == "degraded" && !slices.ContainsFunc(s.Problems, func(p clusterapi.Problem) bool {
		return p.Severity == "warning" && !strings.HasPrefix(p.Text, "disks are")
	}) {
		return "ok"
	}
	return s.Health
}

// missing returns the nodes that have not reported.
func missing(s clusterapi.Status) (names []string) {
	for _, n := range s.Nodes {
		if n.State == "stopped" || n.State == "down" || n.State == "silent" {
			names = append(names, n.Name)
		}
	}
	return names
}

func isOK(s clusterapi.Status) bool {
	return health(s) == "ok" && !slices.ContainsFunc(s.Shards, func(sh clusterapi.Shard) bool { return sh.State != "ok" })
}

// TestStatusThroughChanges requests the verdict continuously while a node is added, killed, drained and stopped.
// Nothing fails permanently, so the state must never be broken, and a stopped node must count as missing.
func TestStatusThroughChanges(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{All: 3})
	c.Start()
	w := &watch{node: c.Nodes[0], phase: "founded"}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(30 * time.Millisecond):
				w.look()
			}
		}
	}()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(strings.Join(w.faces, "\n"))
		}
	})
	w.until(t, "the cluster to be ok", isOK)

	w.at(c.Nodes[0], "added")
	added := c.Add("router,meta,shard")
	added.Start()
	w.until(t, "the new node to have shards", func(s clusterapi.Status) bool {
		return len(s.Shards) > 2 && isOK(s) && len(s.Operations) == 0
	})

	w.at(c.Nodes[0], "killed")
	c.Nodes[2].Kill()
	w.until(t, "the killed node to be reported as missing", func(s clusterapi.Status) bool {
		return health(s) == "degraded" && s.FailureTolerance == 0
	})
	w.at(c.Nodes[0], "started again")
	c.Nodes[2].Start()
	w.until(t, "the cluster to be ok", isOK)

	w.at(c.Nodes[0], "stopping")
	c.Nodes[1].signal(syscall.SIGTERM)
	w.until(t, "the node to be reported as missing", func(s clusterapi.Status) bool {
		return health(s) == "degraded" && s.FailureTolerance == 0
	})
	c.Nodes[1].awaitStop()
	w.at(c.Nodes[0], "started again after a stop")
	c.Nodes[1].Start()
	w.until(t, "the cluster to be ok", isOK)

	w.at(c.Nodes[0], "drained")
	if out, err := exec.Command(Binary(t), "node", "drain", added.Name, "--wait", "--server", c.Nodes[0].HTTP).
		CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.until(t, "the cluster to be ok", isOK)
	close(stop)
	<-done

	gone := map[string]string{
		"killed": c.Nodes[2].Name, "started again": c.Nodes[2].Name, "stopping": c.Nodes[1].Name,
		"started again after a stop": c.Nodes[1].Name,
	}
	for i, v := range w.seen {
		s := v.status
		away := missing(s)
		if slices.ContainsFunc(away, func(name string) bool { return name != gone[v.phase] }) {
			continue // a running node has not reported for seconds: the machine is overloaded
		}
		if s.Health == "broken" || s.FailureTolerance < 0 {
			t.Errorf("nothing that existed has failed, and the verdict is:\n%s", w.faces[i])
		}
		if v.phase == "added" && health(s) != "ok" && len(away) == 0 {
			t.Errorf("a node was added, and the verdict is:\n%s", w.faces[i])
		}
		if len(away) > 0 && (health(s) != "degraded" || s.FailureTolerance != 0) {
			t.Errorf("a node is missing, and the verdict is:\n%s", w.faces[i])
		}
	}
}
