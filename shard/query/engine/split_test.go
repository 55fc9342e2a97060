package engine

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/partial"
)

// placed is a table whose rows are on several nodes.
type placed struct {
	// combined counts the statements whose last step was done without the engine.
	combined int
	columns  []schema.Column
	all      query.Table
	nodes    []query.Table
}

// placedColumns are the columns of the table in the tests of Split.
var placedColumns = cols("ts:TimestampMillisecond", "host:String", "status:Int64", "took:Float64", "bytes:Int64",
	"ok:Boolean", "path:String", "extra:Json", "n:Int32")

// place distributes random rows among several nodes.
func place(t *testing.T, rng *rand.Rand, rows, nodes int) *placed {
	t.Helper()
	p := &placed{columns: placedColumns}
	table := func(batches ...*column.Batch) query.Table {
		return query.Table{
			Database: "public", Name: "logs", Schema: (&schema.Table{Name: "logs", Columns: p.columns}).Index(),
			Batches: batches,
		}
	}
	of := make([][][]any, nodes)
	var all [][]any
	for range rows {
		row := randomRow(rng)
		all = append(all, row)
		k := rng.IntN(nodes)
		if rng.IntN(4) == 0 {
			k = 0
		}
		of[k] = append(of[k], row)
	}
	for _, list := range of {
		if len(list) == 0 {
			p.nodes = append(p.nodes, table())
			continue
		}
		p.nodes = append(p.nodes, table(batch(t, p.columns, list...)))
	}
	p.all = table()
	if len(all) > 0 {
		p.all = table(batch(t, p.columns, all...))
	}
	return p
}

func randomRow(rng *rand.Rand) []any {
	maybe := func(v any) any {
		if rng.IntN(8) == 0 {
			return nil
		}
		return v
	}
	return []any{
		1_700_000_000_000 + rng.IntN(10_000_000),
		maybe(fmt.Sprintf("host-%d", rng.IntN(5))),
		maybe([]int{200, 200, 200, 301, 404, 500}[rng.IntN(6)]),
		maybe(float64(rng.IntN(100_000)) / 1000),
		maybe(rng.IntN(1 << 20)),
		maybe(rng.IntN(3) > 0),
		maybe("/p/" + strconv.Itoa(rng.IntN(30))),
		maybe(fmt.Sprintf(`{"user":"u%d","n":%d}`, rng.IntN(4), rng.IntN(9))),
		maybe(rng.IntN(50) - 20),
	}
}

// answers returns the answers of the nodes to a statement for them.
func (p *placed) answers(t *testing.T, e *Engine, worker string) (streams [][]byte, err error) {
	t.Helper()
	for _, node := range p.nodes {
		var stream bytes.Buffer
		err := e.Query(t.Context(), &query.Request{
			SQL: worker, Database: "public", Part: true, Tables: []query.Table{node},
		}, func(ipc []byte) error {
			stream.Write(ipc)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", worker, err)
		}
		streams = append(streams, stream.Bytes())
	}
	return streams, nil
}

// splitAnswer runs a statement as a cluster does: the statement for nodes on each node, and the
// final statement over their answers. If the statement was not split, it returns the reason.
func (p *placed) splitAnswer(t *testing.T, e *Engine, sql string) (a *answer, reason string, err error) {
	t.Helper()
	bare := query.Table{Database: "public", Name: "logs", Schema: p.all.Schema}
	s, err := e.Split(t.Context(), &query.Request{SQL: sql, Database: "public", Tables: []query.Table{bare}})
	if err != nil {
		return nil, "", err
	}
	if s.Reason != "" {
		if !slices.Contains(query.SplitCauses, s.Cause) {
			t.Errorf("%s: the cause %q is not in query.SplitCauses", sql, s.Cause)
		}
		return nil, s.Reason, nil
	}
	if s.Blocks != nil {
		partials := &query.Partials{Final: s.Final, Moment: s.Moment}
		for _, b := range s.Blocks {
			streams, err := p.answers(t, e, b.Worker)
			if err != nil {
				return nil, "", err
			}
			partials.Blocks = append(partials.Blocks, query.BlockPartials{Worker: b.Worker, Streams: streams})
		}
		a, err = request(t.Context(), e, &query.Request{
			SQL: s.Blocks[0].Worker, Database: "public", Tables: []query.Table{bare}, Partials: partials,
		})
		return a, "", err
	}
	streams, err := p.answers(t, e, s.Worker)
	if err != nil {
		return nil, "", err
	}
	if s.Final == "" {
		a = &answer{}
		for _, stream := range streams {
			part, err := read(bytes.NewReader(stream))
			if err != nil {
				return nil, "", err
			}
			a.schema, a.rows = part.schema, append(a.rows, part.rows...)
		}
		return a, "", nil
	}
	a, err = request(t.Context(), e, &query.Request{
		SQL: s.Worker, Database: "public", Tables: []query.Table{bare},
		Partials: &query.Partials{Final: s.Final, Streams: streams, Moment: s.Moment},
	})
	if err != nil {
		err = fmt.Errorf("%s\n%s: %w", s.Worker, s.Final, err)
	}
	if s.Combine == nil || err != nil {
		return a, "", err
	}
	// The final step without the engine must return the same answer.
	stream, ok := partial.Answer(streams, s.Combine, 0)
	if !ok {
		return a, "", nil
	}
	p.combined++
	here, err := read(bytes.NewReader(stream))
	if err != nil {
		return nil, "", err
	}
	if diff := same(here, a, false); diff != "" {
		return nil, "", fmt.Errorf("%s\n%s, without the engine: %s", s.Worker, s.Final, diff)
	}
	return here, "", nil
}

// same compares answers: the names and types of columns, and the rows. sorted means that the order
// of rows matters.
func same(got, want *answer, sorted bool) string {
	if !sameFields(got.schema, want.schema) {
		return fmt.Sprintf("columns %v, one node %v", got.schema, want.schema)
	}
	a, b := slices.Clone(got.rows), slices.Clone(want.rows)
	if !sorted {
		slices.Sort(a)
		slices.Sort(b)
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d rows, one node %d\n%s\n%s", len(a), len(b), strings.Join(a[:min(5, len(a))], "\n"),
			strings.Join(b[:min(5, len(b))], "\n"))
	}
	for i := range a {
		if !sameRow(a[i], b[i]) {
			return fmt.Sprintf("row %d: %s, one node %s", i, a[i], b[i])
		}
	}
	return ""
}

func sameFields(a, b *arrow.Schema) bool {
	return slices.EqualFunc(a.Fields(), b.Fields(), func(x, y arrow.Field) bool {
		return x.Name == y.Name && arrow.TypeEqual(x.Type, y.Type) && x.Metadata.Equal(y.Metadata)
	})
}

// sameRow compares rows. Doubles may differ in the last digits, as sums on one node do from run to
// run.
func sameRow(a, b string) bool {
	x, y := strings.Split(a, "|"), strings.Split(b, "|")
	return slices.EqualFunc(x, y, func(a, b string) bool {
		if a == b {
			return true
		}
		f, err1 := strconv.ParseFloat(a, 64)
		g, err2 := strconv.ParseFloat(b, 64)
		return err1 == nil && err2 == nil && strings.ContainsAny(a+b, ".e") &&
			math.Abs(f-g) <= 1e-9*max(math.Abs(f), math.Abs(g))
	})
}

// TestSplitStatements compares the answers of several nodes with the answers of one.
func TestSplitStatements(t *testing.T) {
	e := openEngine(t, t.TempDir())
	p := place(t, rand.New(rand.NewPCG(1, 2)), 3000, 4)
	for _, sql := range []string{
		"SELECT count(*) FROM logs",
		"SELECT status, count(*) AS c FROM logs GROUP BY status ORDER BY c DESC, status",
		"SELECT status, count(*) FROM logs WHERE host = 'host-1' AND path ~ '/p/1' GROUP BY ALL ORDER BY 1 NULLS FIRST",
		"SELECT host, sum(bytes), avg(bytes), min(took), max(took), avg(n), count(took) FROM logs GROUP BY host " +
			"ORDER BY host",
		"SELECT date_trunc('minute', ts) AS minute, count(*) FROM logs GROUP BY minute ORDER BY minute LIMIT 20",
		"SELECT count(*) FROM logs WHERE contains(path, '1') AND ts > 1700000005000",
		"SELECT count(*) FILTER (WHERE status >= 500) * 100.0 / count(*) AS errors FROM logs",
		"SELECT host, quantile_cont(took, 0.99), median(took) FROM logs GROUP BY host ORDER BY 1",
		"SELECT quantile_cont(bytes, 0.5) FROM logs WHERE status = 200",
		"SELECT count(DISTINCT path), count(*) FROM logs",
		"SELECT host, count(DISTINCT path) AS d, sum(bytes) FROM logs GROUP BY host HAVING count(*) > 3 ORDER BY d " +
			"DESC, host",
		"SELECT path, count(*) AS hits FROM logs GROUP BY path ORDER BY hits DESC, path LIMIT 10 OFFSET 2",
		"SELECT host, arg_max(path, ts), max(ts) FROM logs GROUP BY host ORDER BY host",
		"SELECT host, status, count(*), GROUPING(host) FROM logs GROUP BY ROLLUP (host, status) ORDER BY ALL",
		"SELECT host, status, count(*) FROM logs GROUP BY GROUPING SETS ((host), (status), ()) ORDER BY 1, 2, 3",
		"SELECT extra->>'user' AS u, count(*) FROM logs WHERE extra->>'n' = '3' GROUP BY u ORDER BY u",
		"SELECT bool_and(ok), bool_or(ok), bit_or(status), count_if(ok) FROM logs",
		"SELECT count(*), sum(bytes), avg(bytes), max(host), quantile_cont(took, 0.9), count(DISTINCT took) FROM logs " +
			"WHERE status = 7",
		"SELECT * FROM logs ORDER BY ts DESC, bytes, path, host LIMIT 10",
		"SELECT host, took FROM logs WHERE took IS NOT NULL ORDER BY took DESC, host, bytes LIMIT 7 OFFSET 3",
		"SELECT DISTINCT host, ok FROM logs ORDER BY host, ok",
		"SELECT DISTINCT status FROM logs",
		"SELECT upper(host) AS h, bytes + 1 FROM logs WHERE took > 99",
		"SELECT CASE WHEN status >= 400 THEN 'bad' ELSE 'good' END AS kind, count(*), round(avg(took), 2) FROM logs GROUP " +
			"BY 1 ORDER BY 1",
		"SELECT status // 100 AS class, count(*) FROM logs WHERE NOT ok AND path LIKE '/p/2%' GROUP BY class ORDER BY class",
		"SELECT count(*) FROM logs WHERE ts >= now() - INTERVAL 1 DAY",
		"SELECT l.host, count(*) FROM public.logs l WHERE l.status IN (200, 404) AND l.n BETWEEN -3 AND 10 GROUP BY l.host " +
			"ORDER BY l.host",
		"SELECT count(*) FROM logs WHERE matches(path, 'p')",
		"SELECT time_bucket(INTERVAL 5 MINUTE, ts) AS b, max(took) FROM logs GROUP BY b ORDER BY b",
		"SELECT sum(DISTINCT status), count(DISTINCT status) FILTER (WHERE status > 200) FROM logs",
		"SELECT 1e3 * count(*) AS x, 'a' AS y FROM logs",
		"SELECT host, stddev(took), stddev_pop(n), var_pop(bytes), variance(took) FILTER (WHERE ok) FROM logs " +
			"GROUP BY host ORDER BY host",
		"SELECT var_samp(took), stddev_samp(n), count(*) FROM logs WHERE status = 7",
		"SELECT status, stddev(bytes) FROM logs GROUP BY ROLLUP (status) ORDER BY ALL",
		"SELECT host, mode(status), quantile_disc(status, 0.9), median(status) FROM logs GROUP BY host ORDER BY host",
		"SELECT count(*), 12345678901234567890123.25 AS big FROM logs WHERE bytes NOT IN (9223372036854775806.5, 1)",
		"SELECT count(*) FILTER (WHERE n * 1000000000000 < -0.00000000000000000000025) AS a, " +
			"sum(n) FILTER (WHERE n < 0.00000000000000000000025) AS b, " +
			"count(*) FILTER (WHERE bytes < 18446744073709551616) FROM logs WHERE n > -5.00000000000000000000000025",
		"SELECT count(*) FROM logs WHERE bytes < 9223372036854775806.5 AND n > -18446744073709551615.5",
		"SELECT approx_count_distinct(ts), count(*) FROM logs",
		"SELECT host, string_agg(path, '|' ORDER BY ts DESC, path, bytes) FILTER (WHERE ok) AS p, count(*) FROM logs " +
			"WHERE status >= 400 GROUP BY host ORDER BY host",
		"SELECT status, count(DISTINCT path), count(DISTINCT host), sum(n) FROM logs GROUP BY ROLLUP (status) ORDER BY ALL",
		"SELECT list(took ORDER BY ts, took, path, host, bytes), histogram(host), mode(ok) FROM logs WHERE n < 10",
		"SELECT arg_max(path, ts, 1), quantile_cont(took, [0.5, 0.9]), 'x' || string_agg(host, '' ORDER BY host) FROM logs",
		"SELECT count(*), string_agg('x', ',') FROM logs",
		"SELECT host FROM logs GROUP BY host HAVING count(DISTINCT path) > count(DISTINCT status) ORDER BY host LIMIT 3",
		"SELECT host, approx_count_distinct(path), sum(n) FROM logs WHERE took > 50 GROUP BY host ORDER BY host",
		"SELECT ok, approx_count_distinct(bytes) FILTER (WHERE status = 404) FROM logs GROUP BY ok ORDER BY ok",
		"SELECT approx_count_distinct(took) FROM logs WHERE false",
		"SELECT quantile_disc(path, 0.333), mode(path) FILTER (WHERE status = 404) FROM logs",
	} {
		want, err := ask(e, sql, p.all)
		if err != nil {
			t.Errorf("%s: one node: %v", sql, err)
			continue
		}
		got, reason, err := p.splitAnswer(t, e, sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		again, _, err := p.splitAnswer(t, e, sql) // the split statement is cached now
		if err != nil {
			t.Errorf("%s: asked again: %v", sql, err)
			continue
		}
		if reason == "" {
			if diff := same(again, got, strings.Contains(sql, "ORDER BY")); diff != "" {
				t.Errorf("%s: asked again: %s", sql, diff)
			}
		}
		if reason != "" {
			t.Logf("%s: not split: %s", sql, reason)
			continue
		}
		if diff := same(got, want, strings.Contains(sql, "ORDER BY")); diff != "" {
			t.Errorf("%s: %s", sql, diff)
		}
	}
}

// TestWiderPartials checks that a node's answer in a wider type than expected is an error, and is
// not rounded. Such an answer comes from a node that knows a newer definition of the table.
func TestWiderPartials(t *testing.T) {
	e := openEngine(t, t.TempDir())
	table := func(kind string, rows ...[]any) query.Table {
		columns := cols("ts:TimestampMillisecond", "n:"+kind)
		out := query.Table{Database: "public", Name: "logs", Schema: (&schema.Table{Name: "logs", Columns: columns}).Index()}
		if len(rows) > 0 {
			out.Batches = []*column.Batch{batch(t, columns, rows...)}
		}
		return out
	}
	bare := table("Int64")
	const sql = "SELECT max(n) FROM logs"
	s, err := e.Split(t.Context(), &query.Request{SQL: sql, Database: "public", Tables: []query.Table{bare}})
	if err != nil || s.Reason != "" {
		t.Fatal(s, err)
	}
	var stream bytes.Buffer
	wide := &query.Request{SQL: s.Worker, Database: "public", Tables: []query.Table{table("Float64", []any{1, 1.5})}}
	if err := e.Query(t.Context(), wide, func(ipc []byte) error { stream.Write(ipc); return nil }); err != nil {
		t.Fatal(err)
	}
	a, err := request(t.Context(), e, &query.Request{
		SQL: s.Worker, Database: "public", Tables: []query.Table{bare},
		Partials: &query.Partials{Final: s.Final, Streams: [][]byte{stream.Bytes()}},
	})
	if err == nil {
		t.Errorf("1.5 among integers is %v", a.rows)
	}
}

// TestOtherHashes checks that sketches of nodes with different hash functions are not combined.
func TestOtherHashes(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampMillisecond", "n:Int64")
	rows := query.Table{
		Database: "public", Name: "logs", Schema: (&schema.Table{Name: "logs", Columns: columns}).Index(),
		Batches: []*column.Batch{batch(t, columns, []any{1, 1}, []any{2, 2})},
	}
	bare := rows
	bare.Batches = nil
	const sql = "SELECT approx_count_distinct(n) FROM logs"
	s, err := e.Split(t.Context(), &query.Request{SQL: sql, Database: "public", Tables: []query.Table{bare}})
	if err != nil || s.Reason != "" {
		t.Fatal(s, err)
	}
	other := strings.Replace(s.Worker, "hash('cordwood'", "hash('another engine'", 1)
	if other == s.Worker {
		t.Fatalf("the partial results have no probe of the hash function: %s", s.Worker)
	}
	var streams [][]byte
	for _, worker := range []string{s.Worker, s.Worker, other} {
		var stream bytes.Buffer
		req := &query.Request{SQL: worker, Database: "public", Tables: []query.Table{rows}}
		if err := e.Query(t.Context(), req, func(ipc []byte) error { stream.Write(ipc); return nil }); err != nil {
			t.Fatal(err)
		}
		streams = append(streams, stream.Bytes())
	}
	finish := func(streams ...[]byte) (*answer, error) {
		return request(t.Context(), e, &query.Request{
			SQL: s.Worker, Database: "public", Tables: []query.Table{bare},
			Partials: &query.Partials{Final: s.Final, Streams: streams},
		})
	}
	if a, err := finish(streams[0], streams[1]); err != nil || len(a.rows) != 1 {
		t.Errorf("of one engine: %v, %v", a, err)
	}
	if a, err := finish(streams...); errs.CodeOf(err) != errs.InvalidArguments ||
		!strings.Contains(err.Error(), "their engines differ") {
		t.Errorf("of two engines: %v, %v", a, err)
	}
}
