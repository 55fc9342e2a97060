package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/plan"
)

// accessLog returns a table of rows like those of a web server's log, in batches of 1000.
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
				fmt.Sprintf("Mozilla/5.0 (X11; Linux x86_64) Browser/%d.0", r.IntN(40)),
				fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64()),
			})
		}
		tab.Batches = append(tab.Batches, batch(b, columns, part...))
	}
	return tab
}

// BenchmarkScan runs queries over 100,000 rows in memory, and reads their answers.
func BenchmarkScan(b *testing.B) {
	e := openEngine(b, b.TempDir())
	const rows = 100_000
	tab := accessLog(b, rows)
	for _, c := range []struct{ name, SQL string }{
		{"count", "SELECT count(*) FROM access"},
		{"group by number", "SELECT status, count(*) FROM access GROUP BY status"},
		{"group by text", "SELECT path, count(*) FROM access GROUP BY path ORDER BY 2 DESC LIMIT 10"},
		{"like", "SELECT count(*) FROM access WHERE agent LIKE '%Browser/17%'"},
		{"needle", "SELECT * FROM access WHERE trace = '0123'"},
		{"newest", "SELECT * FROM access ORDER BY ts DESC LIMIT 100"},
	} {
		b.Run(c.name, func(b *testing.B) {
			req := &query.Request{SQL: c.SQL, Database: "public", Tables: []query.Table{tab}}
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

// BenchmarkQuery measures a query that has next to nothing to do.
func BenchmarkQuery(b *testing.B) {
	dir := b.TempDir()
	e := openEngine(b, dir)
	tab := logs(b, dir, "logs")
	for name, sql := range map[string]string{
		"constant": "SELECT 1",
		"table":    "SELECT code, count(*) FROM logs GROUP BY code",
	} {
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

// BenchmarkAnalyze measures the check of a statement that is not in the cache.
func BenchmarkAnalyze(b *testing.B) {
	e := openEngine(b, b.TempDir())
	i := 0
	for b.Loop() {
		i++
		sql := fmt.Sprintf("SELECT date_trunc('minute', ts) AS m, level, count(*) FROM logs WHERE host = 'h%d' AND ts > "+
			"now() - INTERVAL 1 HOUR GROUP BY ALL ORDER BY m", i)
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

// BenchmarkPlan is the cost of planning alone, over a table of 1000 segments and 1000 batches. No
// segment is opened.
func BenchmarkPlan(b *testing.B) {
	e := openEngine(b, b.TempDir())
	columns := cols("ts:TimestampNanosecond", "host:String", "status:Int64", "message:String")
	tab := table("logs", columns)
	hour := int64(3600 * 1e9)
	for i := range int64(1000) {
		s := query.Segment{
			Path: fmt.Sprintf("/data/%d.parquet", i), Rows: 100_000, MinTime: i * hour, MaxTime: (i+1)*hour - 1,
			Order: uint64(i) + 1,
		}
		for _, c := range columns {
			s.Columns = append(s.Columns, query.SegmentColumn{ID: c.ID, FieldID: c.ID, Name: c.Name, Type: c.Type})
		}
		tab.Segments = append(tab.Segments, s)
		tab.Batches = append(tab.Batches, batch(b, columns, []any{1000*hour + i, "a", 200, "x"}))
	}
	merging := tab
	merging.Merge = query.LastRow
	for _, c := range []struct {
		name, SQL string
		tab       query.Table
	}{
		{"everything", "SELECT host, count(*) FROM logs GROUP BY host", tab},
		{
			"one hour",
			"SELECT host, count(*) FROM logs WHERE ts >= '1970-01-05 03:00:00' AND ts < '1970-01-05 04:00:00' GROUP BY host",
			tab,
		},
		{"memory only", "SELECT host, count(*) FROM logs WHERE ts > '1970-02-12' GROUP BY host", tab},
		{"merging", "SELECT host, count(*) FROM logs GROUP BY host", merging},
	} {
		b.Run(c.name, func(b *testing.B) {
			st, err := e.parse(b.Context(), c.SQL, "public")
			if err != nil {
				b.Fatal(err)
			}
			req := &query.Request{SQL: c.SQL, Database: "public", Tables: []query.Table{c.tab}}
			b.ReportAllocs()
			for b.Loop() {
				r := &run{ctx: b.Context(), engine: e, st: st}
				if r.Planned, err = plan.New(b.Context(), st.Statement, st.shape, req, time.Now(), e.settings); err != nil {
					b.Fatal(err)
				}
				if err := r.rewrite(st.Whole); err != nil {
					b.Fatal(err)
				}
				r.release()
			}
		})
	}
}

// BenchmarkSearch runs searches over 100,000 rows in memory. It also searches a segment of 1M rows
// with a fulltext index for a word that no row has.
func BenchmarkSearch(b *testing.B) {
	dir := b.TempDir()
	e := openEngine(b, dir)
	tab := accessLog(b, 100_000)
	columns := cols("ts:TimestampSecond", "message:String")
	columns[1].Index = &schema.Index{Kind: schema.FulltextIndex, Options: schema.DefaultIndexOptions(schema.FulltextIndex)}
	var batches []*column.Batch
	for from := 0; from < 1_000_000; from += 10_000 {
		var rows [][]any
		for i := from; i < from+10_000; i++ {
			rows = append(rows, []any{i / 20, fmt.Sprintf("request %d to shop-%d took %d ms", i, i%100, i%977)})
		}
		batches = append(batches, batch(b, columns, rows...))
	}
	indexed := indexed(b, dir, columns, 0, batches...)
	indexed.Name = "logs"
	for _, c := range []struct{ name, SQL string }{
		{"term", "SELECT count(*) FROM access WHERE matches_term(agent, 'browser')"},
		{"query", "SELECT count(*) FROM access WHERE matches(agent, 'linux AND NOT windows OR \"x11 linux\"')"},
		{"like", "SELECT count(*) FROM access WHERE agent ILIKE '%browser%'"},
		{"absent word of 1M rows", "SELECT count(*) FROM logs WHERE matches_term(message, 'nowhere')"},
		{"rare word of 1M rows", "SELECT count(*) FROM logs WHERE matches_term(message, '777777')"},
	} {
		b.Run(c.name, func(b *testing.B) {
			req := &query.Request{SQL: c.SQL, Database: "public", Tables: []query.Table{tab, indexed}}
			for b.Loop() {
				if err := e.Query(b.Context(), req, func([]byte) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
