package node

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/node/config"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/metrics.md and docs/settings.md")

// TestMain makes the test binary usable as the query worker of the nodes that tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == QueryWorkerCommand {
		os.Exit(RunQueryWorker(Version{}))
	}
	os.Exit(m.Run())
}

// metric is a row of the page.
type metric struct {
	name, kind, help string
	labels           []string
}

const metricsPage = "../docs/metrics.md"

// TestMetricsPage compares docs/metrics.md with the metrics that a node with all roles registers: names, types,
// labels and texts.
func TestMetricsPage(t *testing.T) {
	n := startNode(t, "--trace-endpoint", "http://127.0.0.1:1", "--trace-sample-ratio", "0", // no traces are sent
		"--syslog-addr", "udp://127.0.0.1:0", "--gelf-addr", "udp://127.0.0.1:0",
		"--forward-addr", "tcp://127.0.0.1:0", "--pg-addr", "127.0.0.1:0", "--object-storage-url", "file://"+t.TempDir())
	post(t, n, "/v1/ingest?db=public&table=t&pipeline_name=svc_identity", "application/json", `[{"a":1},{"a":2}]`)
	post(t, n, "/v1/sql", "application/x-www-form-urlencoded", "sql=SELECT * FROM t")
	awaitMetric(t, n.registry, "cordwood_cluster_nodes")
	have := described(t, n.registry)

	for _, m := range have {
		if !nameForm.MatchString(m.name) {
			t.Errorf("%s: want letters, digits and _ after cordwood_", m.name)
		}
		if m.kind == "counter" != strings.HasSuffix(m.name, "_total") {
			t.Errorf("%s is a %s: counters, and nothing else, end in _total", m.name, m.kind)
		}
		if m.kind != "counter" && (slices.Contains(m.labels, "db") || slices.Contains(m.labels, "table")) {
			t.Errorf("%s is a %s by database or table: users without rights see the sum, which only counters "+
				"have", m.name, m.kind)
		}
		if m.kind == "histogram" && !strings.HasSuffix(m.name, "_seconds") && !strings.HasSuffix(m.name, "_bytes") {
			t.Errorf("histogram %s has no unit in its name: want seconds or bytes", m.name)
		}
		if strings.Contains(m.name, "milli") || strings.HasSuffix(m.name, "_ms") || strings.Contains(m.name, "_kb") {
			t.Errorf("%s: want base units, such as seconds and bytes", m.name)
		}
		if len(m.help) < 10 || !strings.HasSuffix(m.help, ".") {
			t.Errorf("%s has the text %q, want a sentence", m.name, m.help)
		}
	}

	before, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	page, listed := fillPage(string(before), have)
	for _, m := range have {
		if !listed[m.name] {
			t.Errorf("%s is in no section of %s: add a marker for its prefix", m.name, metricsPage)
		}
	}
	if *update {
		if err := os.WriteFile(metricsPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(page, string(before)); diff != "" {
		t.Errorf("%s is outdated; update it with: go test ./node -run TestMetricsPage -update\n(-want +got)\n%s",
			metricsPage, diff)
	}
}

// startNode starts a node with all roles, whose port for users is n.users.
func startNode(t *testing.T, args ...string) *node {
	t.Helper()
	args = append([]string{
		"--data-dir", t.TempDir(), "--http-addr", "127.0.0.1:0", "--rpc-addr", freeAddr(t),
		"--shards", "1", "--log-format", "text",
	}, args...)
	cfg := settings(t, args...)
	var log bytes.Buffer
	n := newNode(cfg, Process{})
	var err error
	if n.log, err = newLogger(cfg, &log, &n.level, n.lines); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := n.stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
		if t.Failed() {
			t.Logf("log of the node:\n%s", log.String())
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := n.start(ctx); err != nil {
		t.Fatal(err)
	}
	return n
}

// settings returns the settings for args, as flags would set them.
func settings(t *testing.T, args ...string) *config.Config {
	t.Helper()
	cfg := &config.Config{}
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	cfg.Flags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// awaitMetric waits until a metric with that name has a series.
func awaitMetric(t *testing.T, reg *prometheus.Registry, name string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); ; <-tick.C {
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == name }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after 30 s there is no series %s", name)
		}
	}
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func post(t *testing.T, n *node, path, contentType, body string) {
	t.Helper()
	resp, err := http.Post("http://"+n.users.addr.String()+path, contentType, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		t.Fatalf("POST %s: %d %s", path, resp.StatusCode, answer)
	}
}

var (
	nameForm = regexp.MustCompile(`^cordwood_[a-z0-9]+(_[a-z0-9]+)*$`)
	descForm = regexp.MustCompile(
		`^Desc\{fqName: "(.*?)", help: (".*?"), (?:unit: ".*?", )?constLabels: \{(.*?)\}, variableLabels: \{(.*?)\}\}$`)
	constKey = regexp.MustCompile(`(\w+)=`)
)

// described lists cordwood's metrics in a registry, sorted. It finds metrics without series by their descriptions.
// According to their names, these must be counters.
func described(t *testing.T, reg *prometheus.Registry) []metric {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]dto.MetricType{}
	for _, f := range families {
		kinds[f.GetName()] = f.GetType()
	}
	descs := make(chan *prometheus.Desc)
	go func() {
		reg.Describe(descs)
		close(descs)
	}()
	found := map[string]metric{}
	for d := range descs {
		parts := descForm.FindStringSubmatch(d.String())
		if parts == nil {
			t.Fatalf("the description of a metric cannot be parsed: %s", d)
		}
		m := metric{name: parts[1]}
		if !strings.HasPrefix(m.name, "cordwood_") {
			continue
		}
		if _, err := fmt.Sscanf(parts[2], "%q", &m.help); err != nil {
			t.Fatalf("parse the text of %s: %v", m.name, err)
		}
		for _, k := range constKey.FindAllStringSubmatch(parts[3], -1) {
			m.labels = append(m.labels, k[1])
		}
		for _, k := range strings.Split(parts[4], ",") {
			if k != "" {
				m.labels = append(m.labels, strings.Trim(k, "{} "))
			}
		}
		switch kind, ok := kinds[m.name]; {
		case ok:
			m.kind = strings.ToLower(kind.String())
		case strings.HasSuffix(m.name, "_total"):
			m.kind = "counter"
		case absent[m.name]:
			m.kind = "gauge"
		default:
			t.Errorf("%s has no series on a node that was used: give it a first series, so that its type is "+
				"known", m.name)
		}
		found[m.name] = m
	}
	return slices.SortedFunc(maps.Values(found), func(a, b metric) int { return strings.Compare(a.name, b.name) })
}

// absent lists gauges that have no series on a fresh single node.
var absent = map[string]bool{
	"cordwood_raft_follower_lag_entries": true, "cordwood_raft_follower_silent_seconds": true,
	"cordwood_raft_snapshot_age_seconds": true,
}

var section = regexp.MustCompile(`(?s)<!-- metrics ([a-z_ ]+) -->\n.*?<!-- end -->`)

// fillPage rewrites the table of each section. A table contains the metrics with the section's prefixes, except those
// with a longer prefix of another section.
func fillPage(page string, all []metric) (string, map[string]bool) {
	var prefixes []string
	for _, m := range section.FindAllStringSubmatch(page, -1) {
		prefixes = append(prefixes, strings.Fields(m[1])...)
	}
	claims := func(name string) string {
		best := ""
		for _, p := range prefixes {
			if strings.HasPrefix(name, p) && len(p) > len(best) {
				best = p
			}
		}
		return best
	}
	listed := map[string]bool{}
	page = section.ReplaceAllStringFunc(page, func(old string) string {
		mine := strings.Fields(section.FindStringSubmatch(old)[1])
		var b strings.Builder
		fmt.Fprintf(&b, "<!-- metrics %s -->\n| metric | type | labels | meaning |\n|---|---|---|---|\n",
			strings.Join(mine, " "))
		for _, m := range all {
			if !slices.Contains(mine, claims(m.name)) {
				continue
			}
			listed[m.name] = true
			labels := ""
			if len(m.labels) > 0 {
				labels = "`" + strings.Join(m.labels, "`, `") + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, m.kind, labels, strings.ReplaceAll(m.help, "|", "\\|"))
		}
		return b.String() + "<!-- end -->"
	})
	return page, listed
}
