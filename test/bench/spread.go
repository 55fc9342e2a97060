package main

import (
	"bufio"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// spreadPartitions is the number of shards of the table of a comparison.
	spreadPartitions = 6
	// spreadFlushAge is the time after which rows are in segments. The comparison waits for it, because rows in memory
	// cost more, and the nodes would have different numbers of them.
	spreadFlushAge = "10s"
)

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
All rows are in segments. CPU is milliseconds for one run, of three nodes also by processes: the server that is asked,
the other servers, and all query processes.

| statement | one: p50 ms, CPU | three: p50 ms, CPU (by processes) | CPU ratio | to reach | partial bytes | to reach |
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
		g, err := b.startGroup(filepath.Join(b.dir, fmt.Sprint("spread-", nodes)), "--shard-flush-age", spreadFlushAge)
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
		if err := g.flushed(); err != nil {
			return err
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

// Each group is asked in turn, spreadTurns times: in each turn leastRuns times, and then as often as fits into
// turnTime, but at most mostRuns times. So other load of the machine affects both groups in the same way.
const (
	spreadTurns = 4
	leastRuns   = 4
	mostRuns    = 100
	turnTime    = 500 * time.Millisecond
	// warmRuns is the number of runs before the first turn. The second run of a statement keeps partial results, and a
	// third one finds everything in caches.
	warmRuns = 4
)

// measured is what running a statement on a group took.
type measured struct {
	took   []time.Duration
	asked  time.Duration // how long the group was asked
	used   cpuTime       // the CPU time that it used meanwhile
	idle   cpuTime       // the CPU time that it used while the other group was asked
	answer string
}

// measure runs the statement on both, and returns a line of the table.
func (q *comparison) measure(one, several group) (string, error) {
	groups := [2]group{one, several}
	var of [2]measured
	for _, g := range groups {
		for range warmRuns {
			if _, err := g[0].ask(q.sql); err != nil {
				return "", err
			}
		}
	}
	sent, err := several.counter("cordwood_query_partial_bytes_total")
	if err != nil {
		return "", err
	}
	for range spreadTurns {
		for i, g := range groups {
			other := 1 - i
			idle, err := groups[other].cpu()
			if err != nil {
				return "", err
			}
			if err := of[i].turn(g, q.sql); err != nil {
				return "", err
			}
			after, err := groups[other].cpu()
			if err != nil {
				return "", err
			}
			of[other].idle.add(after.since(idle))
		}
	}
	now, err := several.counter("cordwood_query_partial_bytes_total")
	if err != nil {
		return "", err
	}
	traffic := (now - sent) / int64(len(of[1].took))
	same := ""
	if of[0].answer != of[1].answer {
		same = ", another answer"
	}
	bytes := fmt.Sprint(traffic)
	if traffic == 0 && q.bytes > 0 {
		bytes = "rows were fetched"
	}
	a, b := of[0].each(of[1].asked), of[1].each(of[0].asked)
	ratio := float64(b.sum()) / float64(max(a.sum(), 100*time.Microsecond))
	return fmt.Sprintf("| %s%s | %.1f, %.2f | %.1f, %.2f (%.2f, %.2f, %.2f) | %.2f | ≤ %.1f | %s | ≤ %d |", q.name, same,
		of[0].p50(), ms(a.sum()), of[1].p50(), ms(b.sum()), ms(b.first), ms(b.others), ms(b.workers), ratio, q.ratio, bytes,
		q.bytes), nil
}

// turn runs the statement on a group.
func (m *measured) turn(g group, sql string) error {
	before, err := g.cpu()
	if err != nil {
		return err
	}
	first := time.Now()
	for n := 0; n < leastRuns || n < mostRuns && time.Since(first) < turnTime; n++ {
		begin := time.Now()
		text, err := g[0].ask(sql)
		if err != nil {
			return err
		}
		m.took = append(m.took, time.Since(begin))
		lines := strings.Split(string(text), "\n")
		slices.Sort(lines) // rows with the same time may be in any order
		m.answer = strings.Join(lines, "\n")
	}
	m.asked += time.Since(first)
	after, err := g.cpu()
	m.used.add(after.since(before))
	return err
}

// each returns the CPU time of one run, without what the group uses while it is idle. It was idle for the given time.
func (m *measured) each(idle time.Duration) cpuTime {
	of := func(used, unused time.Duration) time.Duration {
		rest := float64(used) - float64(unused)*float64(m.asked)/float64(idle)
		return max(0, time.Duration(rest/float64(len(m.took))))
	}
	return cpuTime{
		of(m.used.first, m.idle.first), of(m.used.others, m.idle.others), of(m.used.workers, m.idle.workers),
	}
}

// p50 returns the median time of a run, in milliseconds.
func (m *measured) p50() float64 {
	slices.Sort(m.took)
	return ms(m.took[len(m.took)/2])
}

// cpuTime is CPU time of a group: of its first server, which is asked, of the other servers, and of all query
// processes.
type cpuTime struct{ first, others, workers time.Duration }

func (c *cpuTime) add(o cpuTime) {
	c.first += o.first
	c.others += o.others
	c.workers += o.workers
}

func (c *cpuTime) since(o cpuTime) cpuTime {
	return cpuTime{c.first - o.first, c.others - o.others, c.workers - o.workers}
}

func (c *cpuTime) sum() time.Duration { return c.first + c.others + c.workers }

// cpu returns the CPU time of the group's processes so far.
func (g group) cpu() (sum cpuTime, err error) {
	for i, s := range g {
		own, err := threadTime(s.pid())
		if err != nil {
			return sum, err
		}
		if i == 0 {
			sum.first = own
		} else {
			sum.others += own
		}
		for _, child := range childrenOf(s.pid()) {
			own, err := threadTime(child)
			if err != nil {
				return sum, err
			}
			sum.workers += own
		}
	}
	return sum, nil
}

// counter returns the sum of a metric of all servers, with whatever labels. Fractions are rounded up.
func (g group) counter(name string) (sum int64, err error) {
	for _, s := range g {
		resp, err := http.Get(s.url + "/metrics")
		if err != nil {
			return 0, err
		}
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			rest, ok := strings.CutPrefix(lines.Text(), name)
			if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' {
				continue
			}
			n, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
			if err != nil {
				resp.Body.Close()
				return 0, fmt.Errorf("metric %s: %w", name, err)
			}
			sum += int64(math.Ceil(n))
		}
		resp.Body.Close()
		if err := lines.Err(); err != nil {
			return 0, err
		}
	}
	return sum, nil
}
