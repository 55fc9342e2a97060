package cluster

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/router/httpapi/clusterapi"
)

// clusterServer answers /v1/cluster. The operation is running at the first request, and has the state
// `ended` afterwards.
func clusterServer(t *testing.T, status *clusterapi.Status, ended clusterapi.Operation) (url string, asked *[]string) {
	asked = &[]string{}
	polls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked = append(*asked, r.Method+" "+r.URL.Path+" "+string(body))
		var answer any = status
		switch {
		case r.Method == http.MethodPost:
			answer = clusterapi.Answer{
				Operation: &clusterapi.Operation{ID: 7, Kind: "shard-move", Subject: "shard 3", State: "running"},
			}
		case strings.HasPrefix(r.URL.Path, "/v1/cluster/operations/"):
			op := ended
			if polls++; polls == 1 {
				eta := 12.0
				op = clusterapi.Operation{
					ID: 7, State: "running", Step: "copy", Reason: "node n4 is copying segments", DoneBytes: 1 << 20,
					TotalBytes: 4 << 20, ETASeconds: &eta,
				}
			}
			answer = clusterapi.Answer{Operation: &op}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// testRoot returns the program with the commands of this package and table move.
func testRoot() *cobra.Command {
	root := &cobra.Command{Use: "cordwood", SilenceUsage: true, SilenceErrors: true}
	root.SetFlagErrorFunc(cli.FlagFault)
	db := "public"
	table := &cobra.Command{Use: "table"}
	table.AddCommand(NewTableMoveCommand(&db))
	for _, cmd := range []*cobra.Command{NewCommand(), NewNodeCommand(), NewRebalanceCommand(), NewShardCommand(), table} {
		cli.AddClientFlags(cmd)
		root.AddCommand(cmd)
	}
	cli.SetErrors(root)
	return root
}

// runCluster runs the program, and returns what it printed and its exit status.
func runCluster(args ...string) (out, errOut string, status int) {
	var stdout, stderr bytes.Buffer
	root := testRoot()
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	if err == nil {
		return stdout.String(), stderr.String(), cli.ExitOK
	}
	if cli.IsSilent(err) {
		return stdout.String(), stderr.String(), cli.ExitStatus(err)
	}
	return stdout.String(), stderr.String() + cli.Describe(cmd, err), cli.ExitStatus(err)
}

func TestClusterCommands(t *testing.T) {
	since := time.Date(2026, 11, 23, 4, 5, 6, 0, time.UTC)
	broken := &clusterapi.Status{
		ClusterID: "c1", Health: "broken", FailureTolerance: -1, LimitedBy: "shard 2",
		Problems: []clusterapi.Problem{
			{Severity: "critical", Text: "shard 2 is unavailable", Advice: "start node n2 again"},
		},
		Nodes:  []clusterapi.Node{{Name: "n2", State: "down", SilentSeconds: 75, Roles: []string{"shard"}}},
		Shards: []clusterapi.Shard{{ID: 2, State: "no leader", Replicas: []string{"n2"}, Want: 1}},
		RowsAside: []clusterapi.RowsAside{
			{
				Table: "public.t", Shard: 2, Node: "n2", Rows: 12, Bytes: 3 << 10, Reason: "index out of range\nstack",
				Since: &since, Advice: "drop it",
			},
		},
	}
	done := clusterapi.Operation{ID: 7, State: "done", Reason: "shard 3 went from node n1 to node n4"}
	failed := clusterapi.Operation{ID: 7, State: "failed", Reason: "node n4 went away"}
	for _, c := range []struct {
		args   string
		ended  clusterapi.Operation
		status int
		wants  []string
		asks   string
	}{
		{
			"cluster status", done, 1,
			[]string{
				"cluster c1: broken", "critical: shard 2 is unavailable\n    → start node n2 again", "down 1m15s",
				"public.t  2      n2    12    3.0 KiB  2026-11-23 04:05:06  index out of range …\n", "no operation is running",
			},
			"GET /v1/cluster ",
		},
		{
			"cluster status --output json", done, 1,
			[]string{`"limited_by": "shard 2"`, `"since": "2026-11-23T04:05:06Z"`},
			"GET /v1/cluster ",
		},
		{"shard list", done, 0, []string{"2      no leader  -       n2"}, "GET /v1/cluster "},
		{"node list", done, 0, []string{"n2    down 1m15s  shard  -     -     0         -      -"}, "GET /v1/cluster "},
		{
			"shard move 3 --from n1 --to n4", done, 0,
			[]string{"operation 7: shard-move shard 3", "--wait"},
			`POST /v1/cluster/operations {"kind":"shard-move","shard":3,"from":"n1","to":"n4"}`,
		},
		{
			"shard move 3 --from n1 --to n4 --wait", done, 0,
			[]string{
				"operation 7, copy: node n4 is copying segments (1.0 MiB of 4.0 MiB, about 12s left)", "done: shard 3 went",
			},
			"GET /v1/cluster/operations/7 ",
		},
		{
			"shard replicas 3 3 --wait", failed, 1,
			[]string{"operation 7 is failed: node n4 went away"},
			"GET /v1/cluster/operations/7 ",
		},
		{
			"node drain n3 --for-restart", done, 0, nil,
			`POST /v1/cluster/operations {"kind":"node-drain","node":"n3","for_restart":true}`,
		},
		{
			"table move app --to 4,5", done, 0, nil,
			`POST /v1/cluster/operations {"kind":"table-move","table":"public.app","to_shards":[4,5]}`,
		},
		{
			"table move app --to 4 --with-rows", done, 0, nil,
			`POST /v1/cluster/operations {"kind":"table-move","table":"public.app","to_shards":[4],"with_rows":true}`,
		},
		{
			"table move shop.app --to 4", done, 0, nil,
			`POST /v1/cluster/operations {"kind":"table-move","table":"shop.app","to_shards":[4]}`,
		},
		{"cluster pause rebalance", done, 0, nil, `POST /v1/cluster/operations {"kind":"rebalance-pause"}`},
		{"cluster pause shard", done, 2, []string{`"shard" cannot be paused: only rebalance can`}, ""},
		{"shard move three --from a --to b", done, 2, []string{`"three" is not a shard`}, ""},
		{"shard move 3 --from a", done, 2, []string{"--to NODE are needed"}, ""},
		{"shard add --count 0", done, 2, []string{"--count 0: want at least 1"}, ""},
		{"table move app", done, 2, []string{"--to SHARD is needed"}, ""},
		{"table move app --to a,b", done, 2, []string{`--to: "a" is not a shard: shards are numbered from 1`}, ""},
		{
			"node decommission n3 --yes --force", done, 0, nil,
			`POST /v1/cluster/operations {"kind":"node-decommission","node":"n3","force":true}`,
		},
		{"node decommission n3", done, 2, []string{"say --yes"}, ""},
	} {
		t.Run(c.args, func(t *testing.T) {
			url, asked := clusterServer(t, broken, c.ended)
			out, errOut, status := runCluster(append(strings.Fields(c.args), "--server", url)...)
			if status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			for _, want := range c.wants {
				if !strings.Contains(out+errOut, want) {
					t.Errorf("no %q in\n%s%s", want, out, errOut)
				}
			}
			if all := strings.Join(*asked, "\n"); c.asks == "" && all != "" || !strings.Contains(all, c.asks) {
				t.Errorf("the server was asked\n%s\nwant %s", all, c.asks)
			}
		})
	}
}

// TestStatusOfUnreadyServer checks that the error of a server that is not ready is shown without a
// retry.
func TestStatusOfUnreadyServer(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"code":4006,"error":"not ready: waiting for all seeds to answer"}`)
	}))
	defer s.Close()
	for _, args := range []string{"cluster status", "node list", "shard list"} {
		asked = 0
		_, errOut, status := runCluster(append(strings.Fields(args), "--server", s.URL)...)
		if status != cli.ExitFailed || asked != 1 || !strings.Contains(errOut, "waiting for all seeds to answer") {
			t.Errorf("%s: asked %d times, status %d: %s", args, asked, status, errOut)
		}
	}
}

// TestShardDropWantsItsNumber checks that the command shows what would be lost, and changes nothing
// until the user enters the number of the shard.
func TestShardDropWantsItsNumber(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, string(body))
		answer := clusterapi.Answer{Confirm: "3", Message: "The rows of shard 3 are given up for good: all rows of public.a"}
		if strings.Contains(string(body), `"confirm":"3"`) {
			answer = clusterapi.Answer{Operation: &clusterapi.Operation{ID: 7, Kind: "shard-drop", Subject: "shard 3"}}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer s.Close()
	for _, c := range []struct {
		args, want string
		asks       int
		status     int
	}{
		{"shard drop 3", "use --confirm 3", 1, cli.ExitUsage},
		{"shard drop 3 --confirm 4", `"4" is not the number of shard 3: nothing was changed`, 1, cli.ExitFailed},
		{"shard drop 3 --confirm 3", "operation 7: shard-drop shard 3", 2, cli.ExitOK},
	} {
		asked = nil
		out, errOut, status := runCluster(append(strings.Fields(c.args), "--server", s.URL)...)
		if status != c.status || len(asked) != c.asks || !strings.Contains(out+errOut, c.want) ||
			!strings.Contains(errOut, "all rows of public.a") {
			t.Errorf("%s: status %d, asked %q\n%s%s", c.args, status, asked, out, errOut)
		}
	}
}

// TestStatusVerdicts checks that the first lines state the verdict, and that the command fails only
// for a broken cluster.
func TestStatusVerdicts(t *testing.T) {
	nodes := []clusterapi.Node{{Name: "n1", State: "up"}, {Name: "n2", State: "unknown", SilentSeconds: 0.4}}
	for _, c := range []struct {
		status clusterapi.Status
		want   string
		exit   int
	}{
		{clusterapi.Status{Health: "ok", FailureTolerance: 1}, "c1: ok\nany 1 node may fail\n", cli.ExitOK},
		{clusterapi.Status{Health: "starting"}, "c1: starting\nthe first shards are being created", cli.ExitOK},
		{
			clusterapi.Status{Health: "unknown", FailureTolerance: 1, UnknownNodes: []string{"n2"}},
			"c1: unknown\nany 1 node may fail, according to the known nodes; no report from n2 for 400ms, since", cli.ExitOK,
		},
		{
			clusterapi.Status{Health: "unknown", LimitedBy: "shard 4", UnknownNodes: []string{"n2"}},
			"c1: unknown\nno node may fail, according to the known nodes: shard 4 would stop; no report", cli.ExitOK,
		},
		{
			clusterapi.Status{Health: "degraded", LimitedBy: "shard 4"},
			"c1: degraded\nno node may fail: shard 4 would stop\n", cli.ExitOK,
		},
		{
			clusterapi.Status{Health: "broken", FailureTolerance: -1, LimitedBy: "shard 4"},
			"c1: broken\ntoo many nodes have failed: shard 4 does not work\n", cli.ExitFailed,
		},
	} {
		c.status.ClusterID, c.status.Nodes = "c1", nodes
		url, _ := clusterServer(t, &c.status, clusterapi.Operation{})
		out, errOut, exit := runCluster("cluster", "status", "--server", url)
		if exit != c.exit || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit status %d, want %d\n%s%s\nwant %q", c.status.Health, exit, c.exit, out, errOut, c.want)
		}
	}
}

// TestStatusOfObjectStorage shows object storage in one line, and nothing about it if there is none.
func TestStatusOfObjectStorage(t *testing.T) {
	for want, o := range map[string]*clusterapi.ObjectStorage{
		"":                                      nil,
		"\nobject storage s3://logs/prod: ok; ": {Locations: []string{"s3://logs/prod"}, State: "ok"},
	} {
		url, _ := clusterServer(t, &clusterapi.Status{Health: "ok", ObjectStorage: o}, clusterapi.Operation{})
		out, _, exit := runCluster("cluster", "status", "--server", url)
		if exit != cli.ExitOK || !strings.Contains(out, want) || o == nil && strings.Contains(out, "object storage") {
			t.Errorf("exit status %d, want %q:\n%s", exit, want, out)
		}
	}
}

// TestNodeVersions checks that both tables show the versions of the nodes during an upgrade.
func TestNodeVersions(t *testing.T) {
	status := &clusterapi.Status{
		Health: "ok",
		Nodes: []clusterapi.Node{
			{Name: "n1", State: "up", Version: "v1.4.2", RPCAddr: "10.0.0.1:4001"}, {Name: "n2", State: "up"},
		},
	}
	url, _ := clusterServer(t, status, clusterapi.Operation{})
	for _, args := range [][]string{{"cluster", "status"}, {"node", "list"}} {
		out, errOut, _ := runCluster(append(args, "--server", url)...)
		if !strings.Contains(out, "VERSION") || !strings.Contains(out, "v1.4.2") {
			t.Errorf("%v:\n%s%s", args, out, errOut)
		}
	}
}

// TestShardsWithoutLeader checks that a retiring shard, which needs no leader, is not counted.
func TestShardsWithoutLeader(t *testing.T) {
	out := &bytes.Buffer{}
	status := &clusterapi.Status{Health: "degraded", Shards: []clusterapi.Shard{
		{ID: 1, State: "no leader"}, {ID: 2, State: "retiring"}, {ID: 3, State: "ok", Leader: "n1"},
	}}
	if err := printStatus(out, status, cli.Palette(false)); err != nil {
		t.Fatal(err)
	}
	if want := "3 shards, 1 without a leader"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, out.String())
	}
}
