package meta

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// describeNodes prints how long each node has been silent, and which are down.
func describeNodes(list []*metapb.NodeStatus) string {
	var out []string
	for _, n := range list {
		s := fmt.Sprintf("%s %s", n.Node.Id, time.Duration(n.SilentNanos))
		if n.Report == nil {
			s += " no report"
		}
		if n.Down {
			s += " down"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestSilentNodesAreDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reports{downAfter: 10 * time.Second, now: time.Now}
		nodes := []*metapb.Node{{Id: "a"}, {Id: "b"}, {Id: "c"}}
		report := func(id string) { r.add(7, &metapb.ReportRequest{NodeId: id}) }
		want := func(what, want string) {
			t.Helper()
			list, _ := r.status(7, nodes)
			if got := describeNodes(list); got != want {
				t.Errorf("%s:\n got  %s\n want %s", what, got, want)
			}
		}
		// pass simulates time in which only some nodes report, once a second.
		pass := func(seconds int, ids ...string) {
			for range seconds {
				time.Sleep(time.Second)
				for _, id := range ids {
					report(id)
				}
			}
		}
		report("a")
		report("b")
		want("at first", "a 0s, b 0s, c 0s no report")
		pass(9, "a")
		want("nearly down", "a 0s, b 9s, c 9s no report")
		pass(1, "a")
		want("down", "a 0s, b 10s down, c 10s no report down")
		report("c")
		want("c is back", "a 0s, b 10s down, c 0s")
		// The leader was suspended, so the silence of other nodes is no evidence that they are down.
		time.Sleep(time.Minute)
		want("after a stop", "a 0s, b 0s, c 0s")
		pass(10, "a")
		want("a node that stays silent is down", "a 0s, b 10s down, c 10s down")
		// A new term starts without reports.
		list, leading := r.status(8, nodes)
		if got := describeNodes(list); got != "a 0s no report, b 0s no report, c 0s no report" || leading != 0 {
			t.Errorf("in a new term: %s, leading for %s", got, leading)
		}
		pass(3, "a")
		nodes = nodes[:1]
		want("removed nodes are forgotten", "a 0s")
		if len(r.nodes) != 1 {
			t.Errorf("%d reports are kept of one node", len(r.nodes))
		}
	})
}

func TestReportsAreChecked(t *testing.T) {
	m := mustOpen(t, Config{})
	propose(t, m, "bootstrap c1 shards=1")
	propose(t, m, "node n1")
	for _, tt := range []struct {
		name string
		req  *metapb.ReportRequest
		want string
	}{
		{"good", &metapb.ReportRequest{NodeId: "n1"}, ""},
		{"of nobody", &metapb.ReportRequest{}, "node id is empty"},
		{"of an unknown node", &metapb.ReportRequest{NodeId: "n2"}, "it is not known to the cluster"},
		{"too many replicas", &metapb.ReportRequest{
			NodeId: "n1", Replicas: make([]*metapb.ReplicaReport, maxReplicaReports+1),
		}, "4097 replicas"},
		{"too many tables", &metapb.ReportRequest{
			NodeId: "n1", Replicas: []*metapb.ReplicaReport{{Tables: make([]*metapb.TableIngest, maxTableIngests+1)}},
		}, "257 tables"},
		{"too many tables with rows aside", &metapb.ReportRequest{
			NodeId: "n1", Replicas: []*metapb.ReplicaReport{{Aside: make([]*metapb.AsideRows, maxAsideTables+1)}},
		}, "65 tables"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, err := m.Report(within(t), tt.req)
			if tt.want != "" {
				if e := errs.From(errs.FromGRPC(err)); e.Code != errs.InvalidArguments || !strings.Contains(e.Msg, tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				return
			}
			if err != nil || resp.ClusterVersion != metapb.MaxProtocol || len(resp.Silent) != 0 {
				t.Errorf("got %v, %v", resp, err)
			}
		})
	}
	s, err := m.Status(within(t), &metapb.StatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Leader != "n1" || s.ClusterId != "c1" || len(s.Nodes) != 1 || s.Nodes[0].Report == nil || len(s.Shards) != 1 ||
		len(s.Members) != 1 || !s.Members[0].Voter || s.Settings.Replication != 1 {
		t.Errorf("status is %v", s)
	}
}

// TestLastLed checks that the reports show how long ago a shard had a leader.
func TestLastLed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reports{downAfter: 10 * time.Second, now: time.Now}
		report := func(node, state string, incarnation uint32) {
			r.add(7, &metapb.ReportRequest{
				NodeId: node, Replicas: []*metapb.ReplicaReport{
					{ShardId: 1, Incarnation: incarnation, State: state}, {ShardId: 2, Incarnation: 1, State: "Follower"},
				},
			})
		}
		want := func(what, want string) {
			t.Helper()
			var out []string
			for _, l := range r.lastLed(7, []*metapb.Shard{{Id: 1, Incarnation: 3}, {Id: 2, Incarnation: 1}}) {
				out = append(out, fmt.Sprintf("%d %s", l.ShardId, time.Duration(l.SilentNanos)))
			}
			if got := strings.Join(out, ", "); got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
		report("a", "Follower", 3)
		time.Sleep(2 * time.Second)
		want("nobody led yet", "1 2s, 2 2s")
		report("a", "Leader", 3)
		want("one leads", "1 0s, 2 2s")
		time.Sleep(time.Second)
		report("a", "Follower", 3)
		report("b", "Leader", 2) // from an earlier incarnation
		want("it leads no more", "1 1s, 2 3s")
		time.Sleep(7 * time.Second)
		want("this process was suspended", "1 0s, 2 0s")
	})
}

// TestReportNews checks that waiting calls are woken by the first report of a node and the first
// leader of a shard, and by nothing else.
func TestReportNews(t *testing.T) {
	r := &reports{downAfter: 10 * time.Second, now: time.Now}
	news := func(req *metapb.ReportRequest) bool {
		changed := r.changed()
		r.add(7, req)
		select {
		case <-changed:
			return true
		default:
			return false
		}
	}
	led := []*metapb.ReplicaReport{{ShardId: 1, Incarnation: 1, State: "Leader"}}
	for i, c := range []struct {
		req  *metapb.ReportRequest
		want bool
	}{
		{&metapb.ReportRequest{NodeId: "a"}, true},
		{&metapb.ReportRequest{NodeId: "a"}, false},
		{&metapb.ReportRequest{NodeId: "b"}, true},
		{&metapb.ReportRequest{NodeId: "a", Replicas: led}, true},
		{&metapb.ReportRequest{NodeId: "a", Replicas: led}, false},
		{&metapb.ReportRequest{NodeId: "b", Replicas: led}, false},
	} {
		if got := news(c.req); got != c.want {
			t.Errorf("report %d: news %v, want %v", i, got, c.want)
		}
	}
}

// TestLedSince checks that the time since which a shard has had its leader starts with the first
// report of that leader.
func TestLedSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &reports{downAfter: 10 * time.Second, now: time.Now}
		report := func(node string, term uint64) {
			r.add(7, &metapb.ReportRequest{
				NodeId: node, Replicas: []*metapb.ReplicaReport{{ShardId: 1, Incarnation: 3, State: "Leader", Term: term}},
			})
		}
		want := func(what string, want time.Duration) {
			t.Helper()
			got := time.Duration(r.lastLed(7, []*metapb.Shard{{Id: 1, Incarnation: 3}})[0].LedNanos)
			if got.Round(time.Millisecond) != want || (got == 0) != (what == "nobody") {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
		want("nobody", 0)
		time.Sleep(time.Second)
		report("a", 4)
		want("it leads since now", 0)
		for range 3 {
			time.Sleep(time.Second)
			report("a", 4)
		}
		want("it still leads", 3*time.Second)
		report("b", 5)
		time.Sleep(time.Second)
		want("another one", time.Second)
		report("b", 6)
		want("the same one in a later term", 0)
	})
}
