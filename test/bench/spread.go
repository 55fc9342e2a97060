package main

import (
	"bufio"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// spreadPartitions is the number of shards of the table of a comparison.
const spreadPartitions = 6

// comparison is a statement that is run on one node, and on three nodes that together have the same rows.
type comparison struct {
	name, sql string
	// bytes is the maximum number of bytes between the nodes. ratio is the maximum CPU time of all nodes relative to
	// one node.
	bytes int64
	ratio float64
}

var comparisons = []comparison{
	{"no table", `SELECT 1`, 0, 1.3},
	{"count", `SELECT count(*) FROM logs`, 10_000, 1.3},
	{"count by status", `SELECT status, count(*) FROM logs GROUP BY status ORDER BY 2 DESC, 1`, 100_000, 1.3},
	{"hits a minute", `SELECT date_trunc('minute', time) AS m, count(*) FROM logs GROUP BY m ORDER BY m`, 100_000, 1.3},
	{
		"top 10 paths", `SELECT path, count(*) AS n FROM logs GROUP BY path ORDER BY n DESC, path LIMIT 10`,
		30_000_000, 1.6,
	},
	{"substring count", `SELECT count(*) FROM logs WHERE user_agent LIKE '%Firefox/12%'`, 10_000, 1.2},
	{
		"status of a time range", `SELECT status, count(*) FROM logs WHERE time >= '2026-01-05 00:10:00' GROUP BY status`,
		100_000, 1.3,
	},
	{
		"page in the middle", `SELECT * FROM logs WHERE time < '2026-01-05 00:20:00' ORDER BY time DESC LIMIT 200`,
		1_000_000, 2,
	},
	{"newest 100", `SELECT * FROM logs ORDER BY time DESC LIMIT 100`, 1_000_000, 2},
	{"newest 100 filtered", `SELECT * FROM logs WHERE status >= 500 ORDER BY time DESC LIMIT 100`, 1_000_000, 2},
	{
		"p99 by host", `SELECT host, quantile_cont(request_time, 0.99) FROM logs GROUP BY host ORDER BY host`,
		1_000_000, 1.6,
	},
	{"deviation by host", `SELECT host, round(stddev(bytes)) FROM logs GROUP BY host ORDER BY host`, 100_000, 1.6},
	{"count distinct ids", `SELECT count(DISTINCT request_id) FROM logs`, 60_000_000, 2},
	{"about how many ids", `SELECT approx_count_distinct(request_id) FROM logs`, 10_000, 1.3},
}

const spreadHeader = `
| statement | one node: p50 ms, CPU ms | three nodes: p50 ms, CPU ms | CPU ratio | to reach | partial bytes | to reach |
|---|---|---|---|---|---|---|`

// runSpread compares three nodes with a spread table with one node that has the same rows.
func (b *bench) runSpread() error {
	c := workload{name: "spread", set: setNginx, pipeline: "svc_identity", conns: 6, batch: 5000}
	c.timeIndex = "time;rfc3339"
	var bodies []body
	if !b.again {
		file, err := dataSet(b.data, setNginx, b.rows)
		if err != nil {
			return err
		}
		if bodies, err = readBodies(file, c); err != nil {
			return err
		}
	}
	var groups [2]group
	for i, nodes := range []int{1, 3} {
		b.nodes, b.replicas = nodes, 1
		g, err := b.startGroup(filepath.Join(b.dir, fmt.Sprint("spread-", nodes)))
		if err != nil {
			return err
		}
		defer g.close() //nolint:errcheck // the results have been printed by then
		c.hints = ""
		if nodes > 1 {
			c.hints = fmt.Sprint("partitions=", spreadPartitions)
		}
		var r result
		if r.before, err = g.use(); err != nil {
			return err
		}
		if !b.again {
			if r, err = g.load(c, bodies); err != nil {
				return err
			}
		}
		if err := g.settle(b.settle, &r); err != nil {
			return err
		}
		groups[i] = g
	}
	fmt.Println(spreadHeader)
	for _, q := range comparisons {
		if !b.only.MatchString(q.name) {
			continue
		}
		line, err := q.measure(groups[0], groups[1])
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		fmt.Println(line)
	}
	return nil
}

// Each statement is run leastRuns times, and then as often as fits into runTime, but at most
// mostRuns times: CPU is counted in ticks of 10 ms.
const (
	leastRuns = 7
	mostRuns  = 200
	runTime   = time.Second
)

// measure runs the statement on both, and returns a line of the table.
func (q *comparison) measure(one, several group) (string, error) {
	var waits, cpus [2]time.Duration
	var answers [2]string
	var traffic int64
	for i, g := range []group{one, several} {
		if _, err := g[0].ask(q.sql); err != nil { // the first run warms up
			return "", err
		}
		before, err := g.use()
		if err != nil {
			return "", err
		}
		sent, err := g.counter("cordwood_query_partial_bytes_total")
		if err != nil {
			return "", err
		}
		var took []time.Duration
		for first := time.Now(); len(took) < leastRuns || len(took) < mostRuns && time.Since(first) < runTime; {
			begin := time.Now()
			text, err := g[0].ask(q.sql)
			if err != nil {
				return "", err
			}
			took = append(took, time.Since(begin))
			lines := strings.Split(string(text), "\n")
			slices.Sort(lines) // rows with the same time may be in any order
			answers[i] = strings.Join(lines, "\n")
		}
		after, err := g.use()
		if err != nil {
			return "", err
		}
		slices.Sort(took)
		runs := len(took)
		waits[i], cpus[i] = took[runs/2], (after.cpu-before.cpu)/time.Duration(runs)
		now, err := g.counter("cordwood_query_partial_bytes_total")
		if err != nil {
			return "", err
		}
		traffic = (now - sent) / int64(runs)
	}
	same := ""
	if answers[0] != answers[1] {
		same = ", another answer"
	}
	bytes := fmt.Sprint(traffic)
	if traffic == 0 && q.bytes > 0 {
		bytes = "rows were fetched"
	}
	ratio := float64(cpus[1]) / float64(max(cpus[0], time.Millisecond))
	return fmt.Sprintf("| %s%s | %.1f, %.1f | %.1f, %.1f | %.2f | ≤ %.1f | %s | ≤ %d |", q.name, same, ms(waits[0]),
		ms(cpus[0]), ms(waits[1]), ms(cpus[1]), ratio, q.ratio, bytes, q.bytes), nil
}

// counter returns the sum of a metric of all servers.
func (g group) counter(name string) (sum int64, err error) {
	for _, s := range g {
		resp, err := http.Get(s.url + "/metrics")
		if err != nil {
			return 0, err
		}
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
				n, err := strconv.ParseFloat(rest, 64)
				if err != nil {
					resp.Body.Close()
					return 0, fmt.Errorf("metric %s: %w", name, err)
				}
				sum += int64(n)
			}
		}
		resp.Body.Close()
		if err := lines.Err(); err != nil {
			return 0, err
		}
	}
	return sum, nil
}
