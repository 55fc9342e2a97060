package engine

import (
	"fmt"
	"strings"
	"testing"

	"cordwood/shard/query"
)

// longLists are statements with n literals.
var longLists = map[string]func(n int) string{
	"texts in IN": func(n int) string {
		return "SELECT count(*) FROM logs WHERE host IN (" + repeated(n, "'host-%06d'", ", ") + ")"
	},
	"numbers in IN": func(n int) string {
		return "SELECT count(*) FROM logs WHERE status IN (" + repeated(n, "%d", ", ") + ")"
	},
	"OR": func(n int) string {
		return "SELECT count(*) FROM logs WHERE " + repeated(n, "host = 'host-%06d'", " OR ")
	},
	"AND": func(n int) string {
		return "SELECT count(*) FROM logs WHERE " + repeated(n, "host <> 'host-%06d'", " AND ")
	},
	"list": func(n int) string {
		return "SELECT count(*) FROM logs WHERE list_contains([" + repeated(n, "'host-%06d'", ", ") + "], host)"
	},
	"expressions": func(n int) string {
		return "SELECT " + repeated(n, "status + %[1]d AS c%[1]d", ", ") + " FROM logs WHERE host = 'host-000001'"
	},
	"CASE": func(n int) string {
		return "SELECT count(*) FROM logs WHERE CASE host " + repeated(n, "WHEN 'host-%06d' THEN true", " ") + " END"
	},
}

// repeated returns a text with the numbers below n.
func repeated(n int, format, between string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(list, between)
}

// BenchmarkLists measures the steps of statements with many literals or expressions. The time of a step should grow
// with their number, not with a power of it.
//
//	go test -run '^$' -bench Lists -benchtime 3x ./shard/query/engine
func BenchmarkLists(b *testing.B) {
	dir := b.TempDir()
	tab, _ := webServerLogs(b, dir, 1000)
	e := openEngine(b, dir)
	i := 0
	for name, sql := range longLists {
		for _, n := range []int{225, 450, 900, 1800, 3600} {
			req := &query.Request{SQL: sql(n), Database: "public", Tables: []query.Table{tab}}
			for _, step := range []struct {
				name string
				run  func() error
			}{
				{"analyze", func() error { _, err := e.Analyze(b.Context(), req.SQL, "public"); return err }},
				{"split", func() error { _, err := e.Split(b.Context(), req); return err }},
				{"run", func() error { return e.Query(b.Context(), req, func([]byte) error { return nil }) }},
			} {
				b.Run(fmt.Sprintf("%s/%s/%d", name, step.name, n), func(b *testing.B) {
					begin := cpuTime(b)
					for b.Loop() {
						i++ // nothing is kept of another statement
						req.SQL = strings.Replace(sql(n), "WHERE", fmt.Sprintf("WHERE %d > 0 AND", i), 1)
						if err := step.run(); err != nil {
							b.Skip(err)
						}
					}
					b.ReportMetric(float64((cpuTime(b)-begin).Microseconds())/1000/float64(b.N), "cpu-ms/op")
				})
			}
		}
	}
}
