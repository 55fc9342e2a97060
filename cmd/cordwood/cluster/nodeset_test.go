package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"cordwood/router/httpapi/clusterapi"
)

// nodeSet is a server of /v1/cluster that records the requested changes.
type nodeSet struct {
	status  clusterapi.Status
	refuse  string // id of a node that cannot be decommissioned
	outcome string // of operations; empty means done
	asked   []string
}

func (s *nodeSet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	switch path := strings.TrimPrefix(r.URL.Path, "/v1/cluster"); {
	case r.Method == http.MethodGet && path == "":
		answer(s.status)
	case r.Method == http.MethodGet:
		outcome := s.outcome
		if outcome == "" {
			outcome = "done"
		}
		answer(clusterapi.Answer{Operation: &clusterapi.Operation{State: outcome, Reason: "the reason"}})
	case r.Method == http.MethodDelete:
		s.asked = append(s.asked, "cancel "+path)
		answer(clusterapi.Answer{Message: "cancelled"})
	default:
		var req clusterapi.Request
		_ = json.NewDecoder(r.Body).Decode(&req)
		s.asked = append(s.asked, req.Kind+" "+req.Node)
		switch {
		case req.Node == s.refuse:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"code":1004,"error":"2 more nodes are needed"}`)
		case req.Kind == "node-decommission":
			answer(clusterapi.Answer{
				Operation: &clusterapi.Operation{ID: uint64(len(s.asked)), Kind: req.Kind, State: "running"},
			})
		default:
			answer(clusterapi.Answer{Message: "so be it"})
		}
	}
}

// run runs 'cordwood node …' against s.
func (s *nodeSet) run(t *testing.T, args ...string) (stdout, errText string) {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	var out, errOut strings.Builder
	root := testRoot()
	root.SetArgs(append([]string{"node", "--server", server.URL}, args...))
	root.SetOut(&out)
	root.SetErr(&errOut)
	if err := root.Execute(); err != nil {
		errText = err.Error()
	}
	return out.String(), errText
}

func setNode(name, state string, replicas int, meta string) clusterapi.Node {
	return clusterapi.Node{
		ID: "id-" + name, Name: name, State: state, Replicas: replicas, Meta: meta, Roles: []string{"shard"},
	}
}

func TestNodeScaleDecommissionsTheLast(t *testing.T) {
	s := &nodeSet{status: clusterapi.Status{Nodes: []clusterapi.Node{
		setNode("db-shard-0", "up", 2, ""), setNode("db-shard-1", "down", 2, ""), setNode("db-shard-2", "drained", 0, ""),
		setNode("db-shard-3", "up", 2, ""), setNode("db-shard-10", "up", 0, ""), setNode("db-shard-11", "drained", 0, ""),
		setNode("db-shard-12", "down", 0, ""), setNode("db-shard-13", "down", 1, ""),
		setNode("db-shard-14", "draining", 1, ""),
		setNode("db-shard-x", "up", 1, ""), setNode("db-shard-04", "up", 1, ""), setNode("db-meta-7", "up", 0, "voter"),
		setNode("other-shard-5", "up", 1, ""),
	}, Operations: []clusterapi.Operation{
		{ID: 77, Kind: "node-decommission", State: "running", Subject: "node db-shard-14"},
	}}}
	out, fault := s.run(t, "scale", "db-shard", "--to", "3")
	if fault != "" {
		t.Fatal(fault)
	}
	want := []string{
		"node-decommission id-db-shard-13", "node-decommission id-db-shard-10", "node-decommission id-db-shard-3",
		"node-undrain id-db-shard-2",
	}
	if !slices.Equal(s.asked, want) {
		t.Errorf("asked for %q, want %q", s.asked, want)
	}
	for _, w := range []string{
		"operation 77: node-decommission db-shard-14", "node db-shard-11 is empty",
		"node db-shard-12 is empty", "db-shard may have 3 nodes",
	} {
		if !strings.Contains(out, w) {
			t.Errorf("no %q in\n%s", w, out)
		}
	}
}

func TestNodeScaleUpTakesBackWhatWasEmptied(t *testing.T) {
	s := &nodeSet{status: clusterapi.Status{Nodes: []clusterapi.Node{
		setNode("s-0", "up", 2, ""), setNode("s-1", "down", 0, ""), setNode("s-2", "down", 0, ""),
		setNode("s-3", "drained", 0, ""),
	}, Operations: []clusterapi.Operation{{ID: 5, Kind: "node-decommission", State: "running", Subject: "node s-2"}}}}
	if _, fault := s.run(t, "scale", "s", "--to", "5"); fault != "" {
		t.Fatal(fault)
	}
	if want := []string{"node-undrain id-s-3", "node-undrain id-s-1"}; !slices.Equal(s.asked, want) {
		t.Errorf("asked for %q, want %q", s.asked, want)
	}
}

func TestNodeScaleRefusedUndoesTheRest(t *testing.T) {
	s := &nodeSet{refuse: "id-s-1", status: clusterapi.Status{Nodes: []clusterapi.Node{
		setNode("s-0", "up", 2, ""), setNode("s-1", "up", 2, ""), setNode("s-2", "up", 2, ""),
	}}}
	_, fault := s.run(t, "scale", "s", "--to", "1")
	if !strings.Contains(fault, "decommission node s-1") || !strings.Contains(fault, "2 more nodes are needed") {
		t.Errorf("the error is %q", fault)
	}
	if want := []string{
		"node-decommission id-s-2", "node-decommission id-s-1", "cancel /operations/1",
	}; !slices.Equal(s.asked, want) {
		t.Errorf("asked for %q, want %q", s.asked, want)
	}
}

func TestNodeScaleCountsAllThatLeave(t *testing.T) {
	s := &nodeSet{status: clusterapi.Status{Nodes: []clusterapi.Node{
		setNode("s-0", "up", 1, ""), setNode("s-1", "up", 1, ""), setNode("s-2", "up", 1, ""), setNode("s-3", "up", 0, ""),
	}, Shards: []clusterapi.Shard{{ID: 1, Want: 3}}}}
	if _, fault := s.run(t, "scale", "s", "--to", "2"); !strings.Contains(fault,
		"shard 1 wants 3 replicas, and 2 nodes would be left") || !strings.Contains(fault, "'cordwood shard replicas 1 1'") ||
		len(s.asked) > 0 {
		t.Errorf("the error is %q, and it asked for %q", fault, s.asked)
	}
	if _, fault := s.run(t, "scale", "s", "--to", "1"); !strings.Contains(fault,
		"shard 1 wants 3 replicas, and 1 node would be left") {
		t.Errorf("the error is %q", fault)
	}
	if _, fault := s.run(t, "scale", "s", "--to", "3"); fault != "" {
		t.Error(fault)
	}
}

func TestNodeScaleOfAnUnknownRow(t *testing.T) {
	s := &nodeSet{
		status: clusterapi.Status{Nodes: []clusterapi.Node{setNode("db-shard-0", "up", 2, ""), setNode("solo", "up", 2, "")}},
	}
	for _, row := range []string{"db-shrad", "solo", "db-shard-0"} {
		out, fault := s.run(t, "scale", row, "--to", "1")
		if !strings.Contains(fault, "there is no node "+row+"-0") ||
			!strings.Contains(fault, "there are db-shard-0, solo") || out != "" {
			t.Errorf("%s: printed %q, %s", row, out, fault)
		}
	}
}

func TestNodeScaleFailsWithItsOperations(t *testing.T) {
	s := &nodeSet{
		outcome: "failed",
		status:  clusterapi.Status{Nodes: []clusterapi.Node{setNode("s-0", "up", 2, ""), setNode("s-1", "up", 2, "")}},
	}
	if out, fault := s.run(t, "scale", "s", "--to", "1"); !strings.Contains(fault, "failed: the reason") ||
		strings.Contains(out, "may have") {
		t.Errorf("the error is %q after\n%s", fault, out)
	}
	if _, fault := s.run(t, "scale", "s"); !strings.Contains(fault, "--to is needed") {
		t.Errorf("without --to the error is %q", fault)
	}
}

func TestNodeForgetRouters(t *testing.T) {
	node := func(name, state string, silent float64, roles ...string) clusterapi.Node {
		return clusterapi.Node{ID: "id-" + name, Name: name, State: state, SilentSeconds: silent, Roles: roles}
	}
	s := &nodeSet{status: clusterapi.Status{Nodes: []clusterapi.Node{
		node("gone", "down", 901, "router"), node("late", "down", 899, "router"), node("here", "up", 0, "router"),
		node("rows", "down", 5000, "router", "shard"), node("lost", "down", 5000, "meta"),
	}}}
	out, fault := s.run(t, "forget-routers")
	if fault != "" || out != "1 router forgotten\n" {
		t.Errorf("got %q, %q", out, fault)
	}
	if want := []string{"node-remove id-gone"}; !slices.Equal(s.asked, want) {
		t.Errorf("asked for %q, want %q", s.asked, want)
	}
	s.refuse = "id-gone"
	if _, fault := s.run(t, "forget-routers"); !strings.Contains(fault, "remove node gone") {
		t.Errorf("the error is %q", fault)
	}
}
