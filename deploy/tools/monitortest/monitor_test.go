// Package monitortest checks the monitoring of cordwood: alert rules, their tests and their
// runbooks, and the dashboards. They may use only metrics that exist.
package monitortest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "copy rules and dashboards into the chart")

const root = "../../.."

// metric is a line of docs/metrics.md.
type metric struct {
	kind   string
	labels []string
}

var (
	metricLine = regexp.MustCompile("(?m)^\\| `(cordwood_[a-z0-9_]+)` \\| (\\w+) \\| (.*?) \\|")
	quoted     = regexp.MustCompile("`([a-z_]+)`")
)

func metrics(t *testing.T) map[string]metric {
	t.Helper()
	page := read(t, "docs/metrics.md")
	all := map[string]metric{}
	for _, line := range metricLine.FindAllStringSubmatch(page, -1) {
		m := metric{kind: line[2]}
		for _, l := range quoted.FindAllStringSubmatch(line[3], -1) {
			m.labels = append(m.labels, l[1])
		}
		all[line[1]] = m
	}
	if len(all) < 80 {
		t.Fatalf("docs/metrics.md has %d metrics, want all of them", len(all))
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkExpr checks that an expression parses, and that its metrics and labels exist.
func checkExpr(t *testing.T, all map[string]metric, where, expr string) {
	t.Helper()
	parsed, err := parser.ParseExpr(expr)
	if err != nil {
		t.Errorf("%s: %q: %v", where, expr, err)
		return
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		v, ok := node.(*parser.VectorSelector)
		if !ok || strings.HasPrefix(v.Name, "process_") {
			return nil
		}
		name := v.Name
		m, ok := all[name]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base, found := strings.CutSuffix(v.Name, suffix); found && !ok && all[base].kind == "histogram" {
				name, m, ok = base, all[base], true
			}
		}
		if !ok {
			t.Errorf("%s: %s is not on docs/metrics.md", where, v.Name)
			return nil
		}
		if m.kind == "histogram" && name == v.Name {
			t.Errorf("%s: %s is a histogram: ask for its _bucket, _sum or _count", where, name)
		}
		for _, match := range v.LabelMatchers {
			if l := match.Name; !slices.Contains([]string{"__name__", "job", "instance", "le"}, l) &&
				!slices.Contains(m.labels, l) {
				t.Errorf("%s: %s has no label %s", where, name, l)
			}
		}
		return nil
	})
}

type ruleFile struct {
	Groups []struct {
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func rules(t *testing.T) []rule {
	t.Helper()
	var f ruleFile
	if err := yaml.UnmarshalStrict([]byte(read(t, "deploy/prometheus/alerts.yaml")), &struct {
		Groups *[]struct {
			Name  string `json:"name"`
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}{}); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(read(t, "deploy/prometheus/alerts.yaml")), &f); err != nil {
		t.Fatal(err)
	}
	var out []rule
	for _, g := range f.Groups {
		out = append(out, g.Rules...)
	}
	if len(out) < 12 {
		t.Fatalf("found %d rules, want at least 12", len(out))
	}
	return out
}

// TestRules checks that every rule uses existing metrics, and has a section of the runbook.
func TestRules(t *testing.T) {
	all := metrics(t)
	chapters := map[string]string{}
	for _, part := range strings.Split(read(t, "docs/alerts.md"), "\n## ")[1:] {
		title, text, _ := strings.Cut(part, "\n")
		chapters[title] = text
	}
	for _, r := range rules(t) {
		checkExpr(t, all, r.Alert, r.Expr)
		if s := r.Labels["severity"]; s != "critical" && s != "warning" && s != "info" {
			t.Errorf("%s: severity is %q, want critical, warning or info", r.Alert, s)
		}
		if r.For == "" || r.Annotations["summary"] == "" {
			t.Errorf("%s has no for or no summary", r.Alert)
		}
		if want := "docs/alerts.md#" + strings.ToLower(r.Alert); r.Annotations["runbook"] != want {
			t.Errorf("%s: its runbook is %q, want %q", r.Alert, r.Annotations["runbook"], want)
		}
		text, ok := chapters[r.Alert]
		if !ok {
			t.Errorf("docs/alerts.md has no heading %s", r.Alert)
			continue
		}
		delete(chapters, r.Alert)
		for _, part := range []string{"**What it means.**", "**What to look at.**", "**What to do.**"} {
			if !strings.Contains(text, part) {
				t.Errorf("docs/alerts.md: %s has no part %s", r.Alert, part)
			}
		}
		if !strings.Contains(text, "Severity "+r.Labels["severity"]+".") {
			t.Errorf("docs/alerts.md: %s: want \"Severity %s.\"", r.Alert, r.Labels["severity"])
		}
	}
	for title := range chapters {
		if strings.HasPrefix(title, "Cordwood") {
			t.Errorf("docs/alerts.md: there is no rule %s", title)
		}
	}
}

// TestRuleTests checks that every rule has a test in which it fires and one in which it does not.
func TestRuleTests(t *testing.T) {
	var f struct {
		Tests []struct {
			Cases []struct {
				Alert string            `json:"alertname"`
				Want  []json.RawMessage `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "deploy/prometheus/alerts_test.yaml")), &f); err != nil {
		t.Fatal(err)
	}
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range f.Tests {
		for _, c := range test.Cases {
			if len(c.Want) > 0 {
				fires[c.Alert] = true
			} else {
				silent[c.Alert] = true
			}
		}
	}
	for _, r := range rules(t) {
		if !fires[r.Alert] || !silent[r.Alert] {
			t.Errorf("%s: deploy/prometheus/alerts_test.yaml has a case in which it fires: %v, and one in which it "+
				"is silent: %v", r.Alert, fires[r.Alert], silent[r.Alert])
		}
	}
}

// TestPromtool checks the rules and runs their tests with promtool.
func TestPromtool(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: apt-get install prometheus")
	}
	for _, args := range [][]string{
		{"check", "rules", "--lint-fatal", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"},
	} {
		cmd := exec.Command(tool, args...)
		cmd.Dir = filepath.Join(root, "deploy/prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

type dashboard struct {
	UID           string `json:"uid"`
	Title         string `json:"title"`
	Description   string `json:"description"`
	SchemaVersion int    `json:"schemaVersion"`
	Templating    struct {
		List []struct {
			Name, Type string
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID          int                      `json:"id"`
	Type        string                   `json:"type"`
	Title       string                   `json:"title"`
	Description string                   `json:"description"`
	GridPos     struct{ X, Y, W, H int } `json:"gridPos"`
	FieldConfig struct {
		Defaults struct{ Unit string } `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []struct{ RefID, Expr, LegendFormat string } `json:"targets"`
}

// TestDashboards checks that every dashboard is valid, and that every panel uses existing metrics.
func TestDashboards(t *testing.T) {
	all := metrics(t)
	for _, name := range []string{"overview", "ingestion", "shards", "queries"} {
		var d dashboard
		if err := json.Unmarshal([]byte(read(t, "deploy/grafana/"+name+".json")), &d); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d.UID != "cordwood-"+name || d.Title == "" || d.Description == "" || d.SchemaVersion < 39 {
			t.Errorf("%s: uid %q, title %q, description %q, schema version %d", name, d.UID, d.Title, d.Description,
				d.SchemaVersion)
		}
		var variables []string
		for _, v := range d.Templating.List {
			variables = append(variables, v.Name)
		}
		if !slices.Equal(variables, []string{"datasource", "job", "instance"}) {
			t.Errorf("%s: its variables are %v", name, variables)
		}
		ids := map[int]bool{}
		taken := map[[2]int]string{}
		for _, p := range d.Panels {
			where := name + ": " + p.Title
			if ids[p.ID] || p.ID == 0 {
				t.Errorf("%s: id %d is used twice, or is invalid", where, p.ID)
			}
			ids[p.ID] = true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other, ok := taken[[2]int{x, y}]; ok {
						t.Fatalf("%s overlaps %s", where, other)
					}
					if x >= 24 {
						t.Fatalf("%s is wider than the dashboard", where)
					}
					taken[[2]int{x, y}] = where
				}
			}
			if p.Type == "row" {
				continue
			}
			if p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
				t.Errorf("%s: want a title, a description, a unit and a target", where)
			}
			for _, target := range p.Targets {
				// Metrics of the whole cluster come from one node, whichever nodes are selected.
				whole := strings.Contains(target.Expr, "cordwood_cluster_")
				if !strings.Contains(target.Expr, `job="$job"`) || strings.Contains(target.Expr, `instance=~"$instance"`) == whole {
					t.Errorf("%s: %s looks at the node: %v, want %v; or it does not look at the job", where,
						target.Expr, whole, !whole)
				}
				checkExpr(t, all, where, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
			}
		}
	}
}

// TestChartCopies checks the chart's copies of rules and dashboards: a chart cannot contain files from
// outside of its folder.
func TestChartCopies(t *testing.T) {
	copies := map[string]string{"deploy/prometheus/alerts.yaml": "deploy/helm/cordwood/files/alerts.yaml"}
	for _, name := range []string{"overview", "ingestion", "shards", "queries", "logs"} {
		copies["deploy/grafana/"+name+".json"] = "deploy/helm/cordwood/files/dashboards/" + name + ".json"
	}
	for from, to := range copies {
		want := read(t, from)
		path := filepath.Join(root, to)
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, []byte(want)) {
			t.Errorf("%s is not a copy of %s (%v): `make helm-docs` writes it", to, from, err)
		}
	}
}
