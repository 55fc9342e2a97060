package engine

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"cordwood/shard/query"
)

// BenchmarkSplit measures the steps of a statement over several nodes: splitting it when the result
// is cached, running it on a node, and the final statement over the answers of three nodes.
//
//	go test -run '^$' -bench Split -benchtime 30x ./shard/query/engine
func BenchmarkSplit(b *testing.B) {
	dir := b.TempDir()
	tab, _ := webServerLogs(b, dir, 100_000)
	e := openEngine(b, dir)
	for _, st := range []struct{ name, sql string }{
		{"count", `SELECT count(*) FROM logs`},
		{"count by status", `SELECT status, count(*) FROM logs GROUP BY status ORDER BY 2 DESC, 1`},
		{"newest 100", `SELECT * FROM logs ORDER BY ts DESC LIMIT 100`},
	} {
		req := &query.Request{SQL: st.sql, Database: "public", Tables: []query.Table{tab}}
		parts, err := e.Split(b.Context(), req)
		if err != nil || parts.Reason != "" {
			b.Fatal(err, parts)
		}
		worker := *req
		worker.SQL = parts.Worker
		var ipc bytes.Buffer
		if err := e.Query(b.Context(), &worker, func(p []byte) error { ipc.Write(p); return nil }); err != nil {
			b.Fatal(err)
		}
		last := worker
		last.Partials = &query.Partials{Final: parts.Final, Streams: [][]byte{ipc.Bytes(), ipc.Bytes(), ipc.Bytes()}}
		none := func([]byte) error { return nil }
		for _, step := range []struct {
			name string
			run  func() error
		}{
			{"whole", func() error { return e.Query(b.Context(), req, none) }},
			{"split", func() error { _, err := e.Split(b.Context(), req); return err }},
			{"part", func() error { return e.Query(b.Context(), &worker, none) }},
			{"last", func() error { return e.Query(b.Context(), &last, none) }},
		} {
			b.Run(st.name+"/"+step.name, func(b *testing.B) {
				begin := cpuTime(b)
				for b.Loop() {
					if err := step.run(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64((cpuTime(b)-begin).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// BenchmarkSplitUnion measures the steps of a UNION ALL of 32 tables with 17 columns: splitting it when the result is
// not cached, and its last step.
//
//	go test -run '^$' -bench SplitUnion -benchtime 10x ./shard/query/engine
func BenchmarkSplitUnion(b *testing.B) {
	dir := b.TempDir()
	tab, _ := webServerLogs(b, dir, 1000)
	e := openEngine(b, dir)
	req := &query.Request{Database: "public"}
	var counts, newest []string
	for i := range maxBlocks {
		t := tab
		t.Name = fmt.Sprint("t", i)
		req.Tables = append(req.Tables, t)
		counts = append(counts, fmt.Sprintf("SELECT '%s' AS name, count(*) AS n FROM %[1]s WHERE status > 400", t.Name))
		newest = append(newest, "SELECT ts, status, method FROM "+t.Name)
	}
	for name, sql := range map[string]string{
		"counts": strings.Join(counts, " UNION ALL "),
		"newest": strings.Join(newest, " UNION ALL ") + " ORDER BY ts DESC LIMIT 100",
		"from":   "SELECT status, count(*) FROM (" + strings.Join(newest, " UNION ALL ") + ") GROUP BY status",
	} {
		req := *req
		req.SQL = sql
		parts, err := e.Split(b.Context(), &req)
		if err != nil || len(parts.Blocks) != maxBlocks {
			b.Fatal(err, parts)
		}
		last := req
		last.SQL = parts.Blocks[0].Worker
		last.Partials = &query.Partials{Final: parts.Final, Moment: parts.Moment}
		for _, block := range parts.Blocks {
			part := req
			part.SQL = block.Worker
			var ipc bytes.Buffer
			if err := e.Query(b.Context(), &part, func(p []byte) error { ipc.Write(p); return nil }); err != nil {
				b.Fatal(err)
			}
			last.Partials.Blocks = append(last.Partials.Blocks, query.BlockPartials{
				Worker: block.Worker, Streams: [][]byte{ipc.Bytes(), ipc.Bytes(), ipc.Bytes()},
			})
		}
		for step, run := range map[string]func() error{
			"split": func() error {
				req.Limit++ // the cache has no statement with this limit
				_, err := e.Split(b.Context(), &req)
				return err
			},
			"last": func() error { return e.Query(b.Context(), &last, func([]byte) error { return nil }) },
		} {
			b.Run(name+"/"+step, func(b *testing.B) {
				begin := cpuTime(b)
				for b.Loop() {
					if err := run(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64((cpuTime(b)-begin).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			})
		}
	}
}
