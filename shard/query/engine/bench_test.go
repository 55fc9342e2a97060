package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"cordwood/shard/query"
)

// accessLog is a table of rows like those of a web server's log, in batches of 1000.
func accessLog(b *testing.B, rows int) query.Table {
	columns := cols("ts:TimestampMillisecond", "status:Int64", "bytes:Int64", "took:Float64", "host:String",
		"path:String", "agent:String", "trace:String")
	tab := table("access", columns)
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.2, 1, 5000)
	for from := 0; from < rows; from += 1000 {
		var part [][]any
		for i := from; i < min(from+1000, rows); i++ {
			part = append(part, []any{
				1_700_000_000_000 + i, []int{200, 200, 200, 304, 404, 500}[r.IntN(6)], r.IntN(100_000), r.ExpFloat64(),
				fmt.Sprintf("web-%d", r.IntN(8)), fmt.Sprintf("/products/%d/details", zipf.Uint64()),
				fmt.Sprintf("Mozilla/5.0 (X11; Linux x86_64) Browser/%d.0", r.IntN(40)), fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64()),
			})
		}
		tab.Batches = append(tab.Batches, batch(b, columns, part...))
	}
	return tab
}

// BenchmarkScan runs queries over 100,000 rows in memory, answers included.
func BenchmarkScan(b *testing.B) {
	e := openEngine(b, b.TempDir())
	const rows = 100_000
	tab := accessLog(b, rows)
	for _, c := range []struct{ name, sql string }{
		{"count", "SELECT count(*) FROM access"},
		{"group by number", "SELECT status, count(*) FROM access GROUP BY status"},
		{"group by text", "SELECT path, count(*) FROM access GROUP BY path ORDER BY 2 DESC LIMIT 10"},
		{"like", "SELECT count(*) FROM access WHERE agent LIKE '%Browser/17%'"},
		{"needle", "SELECT * FROM access WHERE trace = '0123'"},
		{"newest", "SELECT * FROM access ORDER BY ts DESC LIMIT 100"},
	} {
		b.Run(c.name, func(b *testing.B) {
			req := &query.Request{SQL: c.sql, Database: "public", Tables: []query.Table{tab}}
			b.ReportAllocs()
			for b.Loop() {
				if err := e.Query(b.Context(), req, func([]byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}

// BenchmarkQuery is the cost of a query that has next to nothing to do.
func BenchmarkQuery(b *testing.B) {
	dir := b.TempDir()
	e := openEngine(b, dir)
	tab := logs(b, dir, "logs")
	for name, sql := range map[string]string{"constant": "SELECT 1", "table": "SELECT code, count(*) FROM logs GROUP BY code"} {
		b.Run(name, func(b *testing.B) {
			req := &query.Request{SQL: sql, Database: "public", Tables: []query.Table{tab}}
			for b.Loop() {
				if err := e.Query(b.Context(), req, func([]byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAnalyze is the check of a statement that was not met before.
func BenchmarkAnalyze(b *testing.B) {
	e := openEngine(b, b.TempDir())
	i := 0
	for b.Loop() {
		i++
		sql := fmt.Sprintf("SELECT date_trunc('minute', ts) AS m, level, count(*) FROM logs WHERE host = 'h%d' AND ts > now() - INTERVAL 1 HOUR GROUP BY ALL ORDER BY m", i)
		if _, err := e.Analyze(b.Context(), sql, "public"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkResult streams 100,000 rows of eight columns as Arrow.
func BenchmarkResult(b *testing.B) {
	e := openEngine(b, b.TempDir())
	req := &query.Request{SQL: "SELECT * FROM access", Database: "public", Tables: []query.Table{accessLog(b, 100_000)}}
	n := 0
	for b.Loop() {
		n = 0
		if err := e.Query(b.Context(), req, func(p []byte) error { n += len(p); return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(n))
}
