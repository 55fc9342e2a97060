package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// question is a query that is timed over the rows of nginx-json.
type question struct {
	name, sql string
	// cpu and wait are the goals for 2M rows, in milliseconds of CPU and of elapsed time.
	cpu, wait float64
}

var questions = []question{
	{name: "count by status", sql: `SELECT status, count(*) FROM logs GROUP BY status ORDER BY 2 DESC`, cpu: 15},
	{
		name: "hits per minute",
		sql:  `SELECT date_trunc('minute', "%TIME%") AS m, count(*) FROM logs GROUP BY m ORDER BY m`, cpu: 15,
	},
	{name: "substring count", sql: `SELECT count(*) FROM logs WHERE user_agent LIKE '%Firefox/12%'`, cpu: 90},
	{name: "top 10 paths", sql: `SELECT path, count(*) AS n FROM logs GROUP BY path ORDER BY n DESC LIMIT 10`, cpu: 70},
	{name: "p99 by host", sql: `SELECT host, quantile_cont(request_time, 0.99) FROM logs GROUP BY host`, cpu: 100},
	{name: "newest 100 filtered", sql: `SELECT * FROM logs WHERE status >= 500 ORDER BY "%TIME%" DESC LIMIT 100`, wait: 3},
	{name: "one id", sql: `SELECT * FROM logs WHERE request_id = '%ID%'`, wait: 2},
	{name: "absent id", sql: `SELECT * FROM logs WHERE request_id = '00000000000000000000000000000000'`, wait: 1},
}

// timeQueries runs each question once to warm up, then eleven times.
func (s *server) timeQueries() (string, error) {
	const runs = 11
	id, err := s.value(`SELECT request_id FROM logs LIMIT 1 OFFSET 777`)
	if err != nil {
		return "", err
	}
	index,
		err := s.value(
		`SELECT column_name FROM information_schema.columns WHERE table_name = 'logs' AND semantic_type = 'TIMESTAMP'`)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString("\n| query | first ms | p50 ms | CPU ms | to reach |\n|---|---|---|---|---|\n")
	for _, q := range questions {
		sql := strings.NewReplacer("%ID%", id, "%TIME%", index).Replace(q.sql)
		begin := time.Now()
		if _, err := s.ask(sql); err != nil {
			return "", fmt.Errorf("%s: %w", q.name, err)
		}
		first := time.Since(begin)
		before, err := readUse(s.pid())
		if err != nil {
			return "", err
		}
		var waits []time.Duration
		for range runs {
			begin := time.Now()
			if _, err := s.ask(sql); err != nil {
				return "", fmt.Errorf("%s: %w", q.name, err)
			}
			waits = append(waits, time.Since(begin))
		}
		after, err := readUse(s.pid())
		if err != nil {
			return "", err
		}
		slices.Sort(waits)
		target := fmt.Sprintf("%.0f CPU", q.cpu)
		if q.wait > 0 {
			target = fmt.Sprintf("%.0f p50", q.wait)
		}
		fmt.Fprintf(&out, "| %s | %.1f | %.1f | %.1f | ≤ %s |\n", q.name, ms(first), ms(waits[runs/2]),
			ms(after.cpu-before.cpu)/runs, target)
	}
	out.WriteString("\n")
	return out.String(), nil
}

func (s *server) ask(sql string) ([]byte, error) {
	resp, err := http.PostForm(s.url+"/v1/sql", url.Values{"sql": {sql}, "format": {"csv"}})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return text, err
}

// value returns the only value of a query's only row.
func (s *server) value(sql string) (string, error) {
	text, err := s.ask(sql)
	return strings.Trim(strings.TrimSpace(string(text)), `"`), err
}
