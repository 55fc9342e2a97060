package engine

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/shard/query"
)

// specialPaths are the reductions and executors that can be switched off.
var specialPaths = []string{"times", "filters", "pages", "bounds", "codes", "trunc", "direct", "newest"}

// pathStatements are the queries of test/bench, and at least one for each special path. The table
// in DESIGN.md shows the gain of each path on them.
var pathStatements = []struct{ name, SQL string }{
	{"count by status", `SELECT status, count(*) FROM logs GROUP BY status ORDER BY 2 DESC`},
	{"hits per minute", `SELECT date_trunc('minute', ts) AS m, count(*) FROM logs GROUP BY m ORDER BY m`},
	{"hits per hour", `SELECT date_trunc('hour', ts) AS m, count(*) FROM logs GROUP BY m ORDER BY m`},
	{
		"errors per minute",
		`SELECT date_trunc('minute', ts) AS m, count(*) FROM logs WHERE status >= 500 GROUP BY m ORDER BY m`,
	},
	{"rows of ten minutes", `SELECT count(*) FROM logs WHERE ts >= '2026-01-05 01:00:00' AND ts < '2026-01-05 01:10:00'`},
	{
		"hosts of ten minutes",
		`SELECT host, count(*) FROM logs WHERE ts >= '2026-01-05 01:00:00' AND ts < '2026-01-05 01:10:00' GROUP BY host`,
	},
	{"substring count", `SELECT count(*) FROM logs WHERE user_agent LIKE '%Firefox/12%'`},
	{"top 10 paths", `SELECT path, count(*) AS n FROM logs GROUP BY path ORDER BY n DESC LIMIT 10`},
	{"p99 by host", `SELECT host, quantile_cont(request_time, 0.99) FROM logs GROUP BY host`},
	{"newest 100", `SELECT * FROM logs ORDER BY ts DESC LIMIT 100`},
	{"newest 100 filtered", `SELECT * FROM logs WHERE status >= 500 ORDER BY ts DESC LIMIT 100`},
	{"newest 100 by function", `SELECT * FROM logs WHERE lower(method) = 'delete' ORDER BY ts DESC LIMIT 100`},
	{"newest 100, three columns", `SELECT ts, path, upper(method) FROM logs ORDER BY ts DESC LIMIT 100`},
	{"one id", `SELECT * FROM logs WHERE request_id = '%ID%'`},
	{"absent id", `SELECT * FROM logs WHERE request_id = '00000000000000000000000000000000'`},
	{"one id, two columns", `SELECT path, upper(method) FROM logs WHERE request_id = '%ID%'`},
	{"one second, whole rows", `SELECT * FROM logs WHERE ts >= '2026-01-05 01:00:00' AND ts < '2026-01-05 01:00:01'`},
}

// webServerLogs returns a table of rows like those of test/bench's nginx-json, as a shard has them
// after compaction: two segments, and 20,000 rows in memory. It also returns the id of one row.
func webServerLogs(b testing.TB, dir string, rows int) (tab query.Table, id string) {
	columns := cols("ts:TimestampNanosecond", "host:String", "remote_addr:String", "method:String", "path:String",
		"protocol:String",
		"status:Int64", "bytes:Int64", "request_time:Float64", "referer:String", "user_agent:String", "request_id:String",
		"upstream_addr:String", "upstream_status:Int64", "upstream_time:Float64", "country:String")
	r := rand.New(rand.NewPCG(7, 2026))
	paths, agents, addrs := rand.NewZipf(r, 1.1, 4, 120_000), rand.NewZipf(r, 1.2, 3, 800),
		rand.NewZipf(r, 1.05, 8, 60_000)
	statuses := []int{200, 200, 200, 200, 200, 200, 200, 201, 204, 301, 304, 400, 401, 404, 404, 429, 500, 502, 503}
	methods := []string{"GET", "GET", "GET", "GET", "GET", "GET", "POST", "POST", "PUT", "DELETE"}
	now := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC).UnixNano()
	made := 0
	batchOf := func(n int) *column.Batch {
		list := make([][]any, n)
		for i := range list {
			now += int64(500+r.IntN(8000)) * 1000
			p, a, ms := paths.Uint64(), addrs.Uint64(), r.ExpFloat64()*40
			status := statuses[r.IntN(len(statuses))]
			trace := fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64())
			if made++; made == rows/3 {
				id = trace
			}
			list[i] = []any{
				now, fmt.Sprintf("edge-%02d.%s.example.com", a%12, []string{"iad", "fra", "sin"}[a%3]),
				fmt.Sprintf("%d.%d.%d.%d", 23+a*131%200, a*7%256, a*13/256%256, a%256), methods[r.IntN(len(methods))],
				fmt.Sprintf("/api/v2/%d/%d", p%10, p), "HTTP/1.1", status, int(r.ExpFloat64() * 9000), float64(int(ms)) / 1000, "-",
				fmt.Sprintf("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Firefox/%d.0", 90+
					agents.Uint64()),
				trace, fmt.Sprintf("10.42.%d.%d:8080", p%4, 10+p%40), status, float64(int(ms*0.9)) / 1000,
				[]string{"US", "DE", "FR", "IN", "BR", "JP"}[a%6],
			}
		}
		return batch(b, columns, list...)
	}
	const memory, most = 20_000, 50_000
	var segments []query.Segment
	for part := range 2 {
		var batches []*column.Batch
		for left := (rows - memory) / 2; left > 0; left -= most {
			batches = append(batches, batchOf(min(left, most)))
		}
		sub := fmt.Sprint(dir, "/", part)
		if err := os.Mkdir(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		for _, s := range indexed(b, sub, columns, 0, batches...).Segments {
			s.Order = uint64(len(segments)) + 1
			segments = append(segments, s)
		}
	}
	tab = table("logs", columns, batchOf(memory))
	tab.Schema.ID, tab.Segments = 1, segments
	return tab, id
}

// cpuTime returns the CPU time that the process has used so far.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPaths runs each statement with all special paths, without each of them, and without any.
// ROWS sets the number of rows; 200,000 are too few for figures. DESIGN.md has them for 2M:
//
//	ROWS=2000000 go test -run '^$' -bench Paths -benchtime 30x ./shard/query/engine
func BenchmarkPaths(b *testing.B) {
	rows := 200_000
	if s := os.Getenv("ROWS"); s != "" {
		var err error
		if rows, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	dir := b.TempDir()
	tab, id := webServerLogs(b, dir, rows)
	e := openEngine(b, dir)
	for _, st := range pathStatements {
		req := &query.Request{SQL: strings.ReplaceAll(st.SQL, "%ID%", id), Database: "public", Tables: []query.Table{tab}}
		for _, off := range append([]string{"-", "all"}, specialPaths...) {
			b.Run(st.name+"/without "+off, func(b *testing.B) {
				clear(e.settings.Off)
				switch off {
				case "-":
				case "all":
					e.off(specialPaths...)
				default:
					e.off(off)
				}
				ask := func() {
					if err := e.Query(b.Context(), req, func([]byte) error { return nil }); err != nil {
						b.Fatal(err)
					}
				}
				ask() // twice, because data is cached when it is read a second time
				ask()
				begin := cpuTime(b)
				for b.Loop() {
					ask()
				}
				b.ReportMetric(float64((cpuTime(b)-begin).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			})
		}
	}
}
