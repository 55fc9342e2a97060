package monitortest

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// firing returns the alerts whose condition holds, whatever their `for`.
func (p *prometheus) firing(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, r := range rules(t) {
		if len(p.query(t, r.Expr)) > 0 {
			names = append(names, r.Alert)
		}
	}
	return names
}

// mayBeEmpty are selectors of series that a cluster in good health does not have, or not
// every node of it: only leaders know of followers.
var mayBeEmpty = regexp.MustCompile(
	`^cordwood_http_requests_total\{code=~"5.."\}$|^cordwood_raft_follower_lag_entries\{.*instance=~"[0-9]`)

// Rules on time and room, which depend on the machine and on what else it does.
var ofTheMachine = []string{"CordwoodDiskFilling", "CordwoodDiskFull", "CordwoodLogSlow", "CordwoodLeadershipUnsteady"}

var placeholder = regexp.MustCompile(`\{\{ *(?:\$labels\.)?([a-z_]+) *\}\}`)

// checkSeries evaluates an expression: each of its selectors finds something, the whole has
// series, and each series has the labels of the text that is shown with it.
func (p *prometheus) checkSeries(t *testing.T, where, expr, text string) {
	t.Helper()
	parsed, err := parser.ParseExpr(expr)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	empty := false
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			plain := *n
			plain.OriginalOffset, plain.Timestamp, plain.StartOrEnd = 0, nil, 0
			if len(p.query(t, plain.String())) == 0 {
				empty = mayBeEmpty.MatchString(plain.String())
				if !empty {
					t.Errorf("%s: %s finds nothing on a cluster that works", where, &plain)
				}
			}
		case *parser.BinaryExpr:
			// Of a condition the values count, not whether it holds.
			if n.Op.IsComparisonOperator() {
				n.ReturnBool = true
			}
		}
		return nil
	})
	series := p.query(t, parsed.String())
	if len(series) == 0 && !empty {
		t.Errorf("%s: %s is empty on a cluster that works", where, expr)
	}
	for _, s := range series {
		for _, label := range placeholder.FindAllStringSubmatch(text, -1) {
			if s.Metric.Get(label[1]) == "" {
				t.Errorf("%s: %q is shown with a series that has no %s: %s", where, text, label[1], s.Metric)
			}
		}
	}
}

// TestOnCluster runs three servers, gives them work, and evaluates every expression of the
// dashboards and rules on their metrics as Prometheus would. Then a node is killed: of the
// rules, those and only those hold that are about it.
func TestOnCluster(t *testing.T) {
	bin := os.Getenv("CORDWOOD_BIN")
	if bin == "" {
		t.Skip("CORDWOOD_BIN names no server: `make helm-test` does")
	}
	nodes := startCluster(t, bin)
	p := newPrometheus()
	for _, n := range nodes {
		n.work(t) // counters by table and kind exist from the first one on
	}
	p.scrape(t, pages(t, nodes))
	for _, n := range nodes {
		n.work(t)
	}
	// A node that is slow at first may make others take over from it.
	leader := -1
	eventually(t, func() error {
		p.scrape(t, pages(t, nodes))
		leader = slices.IndexFunc(nodes, func(n *node) bool {
			return len(p.query(t, `cordwood_cluster_coordinates{instance="`+n.http+`"} == 1`)) == 1
		})
		if have := without(p.firing(t), ofTheMachine); leader < 0 || len(have) > 0 {
			return fmt.Errorf("of a cluster that works, these hold: %v; node %d coordinates it", have, leader)
		}
		return nil
	})
	for _, name := range []string{"overview", "ingestion", "shards", "queries"} {
		var d dashboard
		if err := json.Unmarshal([]byte(read(t, "deploy/grafana/"+name+".json")), &d); err != nil {
			t.Fatal(err)
		}
		for _, panel := range d.Panels {
			for _, target := range panel.Targets {
				// All nodes, and one alone that does not coordinate the cluster.
				for _, instance := range []string{".*", nodes[(leader+1)%3].http} {
					expr := strings.NewReplacer("$__rate_interval", "1m", "$job", "cordwood", "$instance", instance).
						Replace(target.Expr)
					p.checkSeries(t, name+": "+panel.Title, expr, target.LegendFormat)
				}
			}
		}
	}
	for _, r := range rules(t) {
		p.checkSeries(t, r.Alert, r.Expr, r.Annotations["summary"])
	}

	nodes[leader].kill()
	rest := slices.Delete(slices.Clone(nodes), leader, leader+1)
	want := []string{"CordwoodUnderReplicated", "CordwoodNoFailureTolerance", "CordwoodNodeDown"}
	// The others take over first, each in its time: what holds in between is what `for` is for.
	eventually(t, func() error {
		p.scrape(t, pages(t, rest))
		if have := without(p.firing(t), ofTheMachine); !slices.Equal(have, want) {
			return fmt.Errorf("with the node lost that coordinated, these hold: %v, want %v", have, want)
		}
		return nil
	})
}

// pages returns the texts of /metrics, by instance.
func pages(t *testing.T, nodes []*node) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, n := range nodes {
		status, text, err := n.get("/metrics")
		if err != nil || status != 200 {
			t.Fatalf("%s: /metrics: %d %v", n.name, status, err)
		}
		texts[n.http] = text
	}
	return texts
}

func without(names, others []string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(others, name) })
}
