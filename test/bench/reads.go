package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// readRounds is how often -reads sends each request. Requests of both columns take turns, so other load of the machine
// affects both.
const readRounds = 11

// read is a request of Loki's API, and an SQL query for the same rows or counts.
type read struct{ name, path, params, sql string }

// The placeholders START, END and HOUR are nanoseconds, FROM is the time of START as SQL.
const lastDay = "svc_timestamp >= TIMESTAMP_NS 'DAY'"

var reads = []read{
	{
		"newest 1,000 lines", "query_range", `query={app="app1"}&limit=1000&start=START&end=END`,
		`SELECT svc_timestamp, line, app, host, level, region, zone FROM loki_logs WHERE app = 'app1' AND ` + lastDay +
			` ORDER BY svc_timestamp DESC LIMIT 1000`,
	},
	{
		"10 lines with a text", "query_range", `query={app="app1"} |= "needle"&limit=1000&start=START&end=END`,
		`SELECT svc_timestamp, line, app, host, level, region, zone FROM loki_logs WHERE app = 'app1' ` +
			`AND contains(line, 'needle') AND ` + lastDay + ` ORDER BY svc_timestamp DESC LIMIT 1000`,
	},
	{
		"histogram of levels, 250 steps", "query_range",
		`query=sum by (level, detected_level) (count_over_time({app=~".+"} | drop __error__ [345600ms]))&step=345600ms` +
			`&start=START&end=END`,
		`SELECT level, (epoch_ns(svc_timestamp) - START) // 345600000000 AS at, count(*) FROM loki_logs WHERE ` +
			lastDay + ` GROUP BY 1, 2`,
	},
	{
		"counts by a key of JSON, one hour", "query_range",
		`query=sum by (status) (count_over_time({app="app1"} | json [5m]))&step=300s&start=HOUR&end=END`,
		`SELECT json_extract_string(line, '$.status'), (epoch_ns(svc_timestamp) - HOUR) // 300000000000 AS at, count(*) ` +
			`FROM loki_logs WHERE app = 'app1' AND epoch_ns(svc_timestamp) >= HOUR GROUP BY 1, 2`,
	},
	{
		"counts by all keys of JSON, one hour", "query_range",
		`query=count(count_over_time({app="app1"} | json | drop id [5m]))&step=300s&start=HOUR&end=END`, "",
	},
	{"labels", "labels", "start=START&end=END", ""},
	{
		"values of a label", "label/app/values", "start=START&end=END",
		`SELECT DISTINCT app FROM loki_logs WHERE ` + lastDay,
	},
	{
		"series", "series", `match[]={app="app1"}&start=START&end=END`,
		`SELECT DISTINCT app, host, level, region, zone FROM loki_logs WHERE app = 'app1' AND ` + lastDay,
	},
	{
		"index/volume", "index/volume", `query={app=~".+"}&start=START&end=END`,
		`SELECT app, sum(strlen(line)) FROM loki_logs WHERE ` + lastDay + ` GROUP BY 1`,
	},
	{"detected_fields", "detected_fields", `query={app="app1"}&start=START&end=END`, ""},
	{"patterns", "patterns", `query={app="app1"}&start=START&end=END&step=345s`, ""},
	{"vector(1)+vector(1)", "query", "query=vector(1)%2Bvector(1)&time=4000000000", "SELECT 1"},
}

// runReads measures the requests of Loki's API, and PostgreSQL's protocol, on a table of lines.
func (b *bench) runReads() error {
	addrs, err := freeAddrs(4)
	if err != nil {
		return err
	}
	s, err := b.start(filepath.Join(b.dir, "reads"), addrs, "--pg-addr", addrs[3], "--query-kept-memory", "0")
	if err != nil {
		return err
	}
	defer s.close() //nolint:errcheck // the results have been printed by then
	if err := s.await(); err != nil {
		return err
	}
	begin := time.Now().Add(-24 * time.Hour)
	if err := s.pushLines(begin, b.rows); err != nil {
		return err
	}
	var r result
	if err := (group{s}).settle(b.settle, &r); err != nil {
		return err
	}
	end := begin.Add(24 * time.Hour)
	nanos := func(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
	places := strings.NewReplacer("START", nanos(begin), "END", nanos(end), "HOUR", nanos(end.Add(-time.Hour)),
		"DAY", begin.UTC().Format("2006-01-02 15:04:05.999999999"))
	fmt.Printf("%d lines. CPU of the server and its query processes for a request, in ms: median of %d, and "+
		"the lowest.\n\n| | Loki's API | SQL |\n|---|---|---|\n", b.rows, readRounds)
	for _, q := range reads {
		if !b.only.MatchString(q.name) {
			continue
		}
		if err := s.compareReads(q, places); err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
	}
	return s.readsOfPostgres(addrs[3])
}

// compareReads measures a request and its query in turn, and prints a line.
func (s *server) compareReads(q read, places *strings.Replacer) error {
	values := url.Values{}
	for _, part := range strings.Split(places.Replace(q.params), "&") {
		name, value, _ := strings.Cut(part, "=")
		values.Add(name, strings.ReplaceAll(value, "%2B", "+"))
	}
	var loki, sql []time.Duration
	for range readRounds {
		d, err := s.cpuOf(func() error { return s.fetch(s.url+"/v1/loki/api/v1/"+q.path, values) })
		if err != nil {
			return err
		}
		loki = append(loki, d)
		if q.sql == "" {
			continue
		}
		query := url.Values{"sql": {places.Replace(q.sql)}, "format": {"ndjson"}}
		if d, err = s.cpuOf(func() error { return s.fetch(s.url+"/v1/sql", query) }); err != nil {
			return err
		}
		sql = append(sql, d)
	}
	fmt.Printf("| %s | %s | %s |\n", q.name, figures(loki), figures(sql))
	return nil
}

// figures returns the median and the lowest of some times, in milliseconds.
func figures(list []time.Duration) string {
	if len(list) == 0 {
		return "–"
	}
	slices.Sort(list)
	return fmt.Sprintf("%.1f, %.1f", ms(list[len(list)/2]), ms(list[0]))
}

// cpuOf returns the CPU time of the server and its query processes during a call.
func (s *server) cpuOf(call func() error) (time.Duration, error) {
	before, err := group{s}.cpu()
	if err != nil {
		return 0, err
	}
	if err := call(); err != nil {
		return 0, err
	}
	after, err := group{s}.cpu()
	if err != nil {
		return 0, err
	}
	used := after.since(before)
	return used.sum(), nil
}

// fetch sends a form and reads the response.
func (s *server) fetch(to string, form url.Values) error {
	resp, err := http.PostForm(to, form)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return fmt.Errorf("%s: %s", resp.Status, text)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// pushLines pushes lines of about 200 bytes with five labels, over 24 hours from begin on.
func (s *server) pushLines(begin time.Time, n int) error {
	const each = 20_000
	type stream struct {
		Stream map[string]string `json:"stream"`
		Values [][2]string       `json:"values"`
	}
	random := rand.New(rand.NewPCG(1, 2))
	levels := []string{"info", "info", "info", "warn", "error"}
	for from := 0; from < n; from += each {
		streams := map[int]*stream{}
		for i := from; i < min(from+each, n); i++ {
			key := random.IntN(100)
			if streams[key] == nil {
				streams[key] = &stream{Stream: map[string]string{
					"app": fmt.Sprint("app", key%5), "host": fmt.Sprint("h", key), "level": levels[key%5],
					"region": fmt.Sprint("r", key%3), "zone": fmt.Sprint("z", key%2),
				}}
			}
			word := "done"
			if key%5 == 1 && i%(n/10) == 0 {
				word = "needle"
			}
			line := fmt.Sprintf(`{"level":"%s","status":%d,"id":"%016x","took":%d,"path":"/api/v1/items/%d",`+
				`"msg":"request %s by the service for a user of the shop, with a text of some length"}`, levels[key%5],
				[]int{200, 200, 404, 500}[random.IntN(4)], random.Uint64(), random.IntN(1000), random.IntN(50), word)
			at := begin.Add(time.Duration(float64(i) / float64(n) * float64(24*time.Hour)))
			streams[key].Values = append(streams[key].Values, [2]string{strconv.FormatInt(at.UnixNano(), 10), line})
		}
		var list []*stream
		for _, st := range streams {
			list = append(list, st)
		}
		text, err := json.Marshal(map[string]any{"streams": list})
		if err != nil {
			return err
		}
		resp, err := http.Post(s.url+"/v1/loki/api/v1/push", "application/json", bytes.NewReader(text))
		if err != nil {
			return err
		}
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
		resp.Body.Close()
		if resp.StatusCode != http.StatusNoContent {
			return fmt.Errorf("push: %s: %s", resp.Status, answer)
		}
	}
	return nil
}
