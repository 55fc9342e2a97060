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

// firing returns the alerts whose condition is true, without waiting for their `for`.
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

// mayBeEmpty matches selectors of series that a healthy cluster, or some of its nodes, do not have:
// only leaders have series about followers, and a database has one about refusals after its first.
var mayBeEmpty = regexp.MustCompile(
	`^cordwood_quota_refusals_total$|` +
		`^cordwood_http_requests_total\{code=~"5.."\}$|^cordwood_raft_follower_lag_entries\{.*instance=~"[0-9]`)

// machineAlerts are rules about durations and disk space, which depend on the machine and its load.
var machineAlerts = []string{"CordwoodDiskFilling", "CordwoodDiskFull", "CordwoodLogSlow", "CordwoodLeadershipUnsteady"}

var placeholder = regexp.MustCompile(`\{\{ *(?:\$labels\.)?([a-z_]+) *\}\}`)

// checkSeries evaluates an expression. Each of its selectors must match series, the expression must
// return series, and each of these must have the labels that its text uses.
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
					t.Errorf("%s: %s matches nothing on a healthy cluster", where, &plain)
				}
			}
		case *parser.BinaryExpr:
			// Check the series of a condition even if it is false.
			if n.Op.IsComparisonOperator() {
				n.ReturnBool = true
			}
		}
		return nil
	})
	series := p.query(t, parsed.String())
	if len(series) == 0 && !empty {
		t.Errorf("%s: %s is empty on a healthy cluster", where, expr)
	}
	for _, s := range series {
		for _, label := range placeholder.FindAllStringSubmatch(text, -1) {
			if s.Metric.Get(label[1]) == "" {
				t.Errorf("%s: %q is shown with a series that has no %s: %s", where, text, label[1], s.Metric)
			}
		}
	}
}

// TestOnCluster runs three servers, makes them work, and evaluates all expressions of the dashboards
// and rules on their metrics as Prometheus would. Then it kills a node: exactly the rules about a lost
// node must become true.
func TestOnCluster(t *testing.T) {
	bin := os.Getenv("CORDWOOD_BIN")
	if bin == "" {
		t.Skip("CORDWOOD_BIN is not set: run `make helm-test`")
	}
	nodes := startCluster(t, bin)
	p := newPrometheus()
	for _, n := range nodes {
		n.work(t) // counters by table and kind exist only after the first event
	}
	p.scrape(t, pages(t, nodes))
	for _, n := range nodes {
		n.work(t)
	}
	// Leadership may change if a node is slow after its start.
	leader := -1
	eventually(t, func() error {
		p.scrape(t, pages(t, nodes))
		leader = slices.IndexFunc(nodes, func(n *node) bool {
			return len(p.query(t, `cordwood_cluster_coordinates{instance="`+n.http+`"} == 1`)) == 1
		})
		if have := without(p.firing(t), machineAlerts); leader < 0 || len(have) > 0 {
			return fmt.Errorf("these alerts fire on a healthy cluster: %v; node %d coordinates it", have, leader)
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
				// Evaluate for all nodes, and for a single node that does not coordinate the cluster.
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
	// Wait until the other nodes have taken over. `for` hides the alerts in between.
	eventually(t, func() error {
		p.scrape(t, pages(t, rest))
		if have := without(p.firing(t), machineAlerts); !slices.Equal(have, want) {
			return fmt.Errorf("these alerts fire after the loss of the coordinating node: %v, want %v", have, want)
		}
		return nil
	})
}

// pages returns the text of /metrics of each instance.
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
