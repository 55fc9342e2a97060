package cluster

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cordwood/cmd/cordwood/cli"
	"cordwood/router/httpapi/clusterapi"
)

// TestRebalanceJoins checks that the command follows a rebalance that the cluster started itself, as
// after 'node undrain': the server would refuse a second one.
func TestRebalanceJoins(t *testing.T) {
	rebalance := clusterapi.Operation{ID: 16, Kind: "rebalance", Subject: "cluster", State: "running", By: "cluster"}
	ended := rebalance
	ended.State, ended.Reason = "done", "moved 2 replicas or tables"
	other := clusterapi.Operation{ID: 17, Kind: "rebalance", Subject: "cluster", State: "running", By: "ann"}
	var running []clusterapi.Operation
	begun := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = clusterapi.Answer{Operation: &ended}
		switch {
		case r.Method == http.MethodPost:
			begun++
			answer = clusterapi.Answer{Operation: &other}
		case strings.HasSuffix(r.URL.Path, "/plan"):
			answer = clusterapi.Plan{Even: "they are even"}
		case strings.HasSuffix(r.URL.Path, "/operations"):
			answer = map[string]any{"operations": running}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer s.Close()
	move := clusterapi.Operation{ID: 15, Kind: "shard-move", State: "running"}
	last := clusterapi.Operation{ID: 14, Kind: "rebalance", State: "done"}
	for _, c := range []struct {
		args    string
		running []clusterapi.Operation
		want    string
		begun   int
	}{
		{"rebalance --yes --wait", []clusterapi.Operation{move, rebalance, last}, "done: moved 2 replicas or tables\n", 0},
		{"rebalance --yes", []clusterapi.Operation{rebalance}, "operation 16: rebalance cluster\n", 0},
		{"rebalance", []clusterapi.Operation{rebalance}, "operation 16 rebalances already, started by cluster\n", 0},
		{"rebalance --plan", []clusterapi.Operation{rebalance}, "no replica needs to be moved: they are even\n", 0},
		{"rebalance --yes", []clusterapi.Operation{move, last}, "operation 17: rebalance cluster\n", 1},
	} {
		running, begun = c.running, 0
		out, errOut, status := runCluster(append(strings.Fields(c.args), "--server", s.URL)...)
		if status != cli.ExitOK || begun != c.begun || !strings.Contains(out+errOut, c.want) {
			t.Errorf("%s: status %d, started %d, want %d\n%s%s\nwant %q", c.args, status, begun, c.begun, out, errOut, c.want)
		}
	}
}

// TestRebalanceOfNothing checks that no confirmation is needed if the plan is empty.
func TestRebalanceOfNothing(t *testing.T) {
	plan := clusterapi.Plan{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = map[string]any{"operations": []clusterapi.Operation{}}
		switch {
		case r.Method == http.MethodPost:
			t.Error("a rebalance that nobody confirmed was started")
		case strings.HasSuffix(r.URL.Path, "/plan"):
			answer = plan
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer s.Close()
	for _, c := range []struct {
		plan   clusterapi.Plan
		want   string
		status int
	}{
		{clusterapi.Plan{Even: "they are even"}, "there is nothing to do", cli.ExitOK},
		{clusterapi.Plan{Blocked: []string{"no room"}}, "say --yes", cli.ExitUsage},
		{clusterapi.Plan{Moves: []clusterapi.Move{{Shard: 1, From: "a", To: "b"}}}, "say --yes", cli.ExitUsage},
	} {
		plan = c.plan
		out, errOut, status := runCluster("rebalance", "--server", s.URL)
		if status != c.status || !strings.Contains(out+errOut, c.want) {
			t.Errorf("%+v: status %d, want %d and %q in\n%s%s", c.plan, status, c.status, c.want, out, errOut)
		}
	}
}
