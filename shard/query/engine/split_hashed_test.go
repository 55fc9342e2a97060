package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/shard/query"
)

// TestHashed counts distinct values with the statements of Hashed on several nodes, and compares
// the result with one node.
func TestHashed(t *testing.T) {
	e := openEngine(t, t.TempDir())
	p := place(t, rand.New(rand.NewPCG(3, 4)), 2000, 3)
	bare := table("logs", placedColumns)
	for sql, hashed := range map[string]bool{
		"SELECT count(DISTINCT path) FROM logs":                                         true,
		"SELECT count(DISTINCT path) AS a, count(DISTINCT path) * 2 + 1 AS b FROM logs": true,
		"SELECT count(DISTINCT path || host) FROM logs WHERE status >= 400":             true,
		"SELECT count(DISTINCT host) FILTER (WHERE ok) FROM logs":                       true,
		"SELECT count(DISTINCT path) AS c FROM logs HAVING c > 3 ORDER BY c LIMIT 2":    true,
		"SELECT count(DISTINCT path) FROM logs HAVING count(DISTINCT path) > 1000":      true,
		"SELECT count(DISTINCT path) FROM logs WHERE false":                             true,
		"SELECT count(DISTINCT path) FROM logs WHERE ts < now() + INTERVAL 1 DAY":       true,
		// the values are not longer than a hash
		"SELECT count(DISTINCT bytes) FROM logs":                                false,
		"SELECT count(DISTINCT path), count(*) FROM logs":                       false,
		"SELECT host, count(DISTINCT path) FROM logs GROUP BY host":             false,
		"SELECT max(DISTINCT path) FROM logs":                                   false,
		"SELECT count(DISTINCT path) FROM logs HAVING max(DISTINCT path) > 'x'": false,
		"SELECT count(DISTINCT path), count(DISTINCT host) FROM logs":           false,
		"SELECT mode(path) FROM logs":                                           false,
		"SELECT quantile_disc(path, 0.5) FROM logs":                             false,
		"SELECT count(DISTINCT path) FROM logs GROUP BY ROLLUP (host)":          false,
		"SELECT approx_count_distinct(path) FROM logs":                          false,
		"SELECT path FROM logs GROUP BY path":                                   false,
	} {
		want, err := ask(e, sql, p.all)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		s, err := e.Split(t.Context(), &query.Request{SQL: sql, Database: "public", Tables: []query.Table{bare}})
		if err != nil || (s.Hashed != nil) != hashed {
			t.Errorf("%s: %+v, %v", sql, s, err)
			continue
		}
		if !hashed {
			continue
		}
		h := s.Hashed
		stream, err := e.countHashed(h, p)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		got, err := request(t.Context(), e, &query.Request{
			SQL: h.Worker, Database: "public", Tables: []query.Table{bare},
			Partials: &query.Partials{Final: h.Final, Streams: [][]byte{stream}, Moment: s.Moment},
		})
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if diff := same(got, want, true); diff != "" {
			t.Errorf("%s: %s", sql, diff)
		}
	}
}

// countHashed returns the input of the final statement: the number of distinct values.
func (e *Engine) countHashed(h *query.Hashed, p *placed) ([]byte, error) {
	counts := map[string]int{}
	for _, node := range p.nodes {
		a, err := ask(e, h.Hashes, node)
		if err != nil {
			return nil, err
		}
		probe := false
		for _, row := range a.rows {
			if row == strconv.FormatUint(h.Probe, 10) && !probe {
				probe = true
				continue
			}
			counts[row]++
		}
		if !probe {
			return nil, fmt.Errorf("no probe among %d hashes", len(a.rows))
		}
	}
	number := int64(0)
	list := []string{"0::UBIGINT"}
	for hash, n := range counts {
		if n == 1 {
			number++
		} else {
			list = append(list, hash+"::UBIGINT")
		}
	}
	values := map[string]bool{}
	for _, node := range p.nodes {
		a, err := ask(e, h.Before+strings.Join(list, ", ")+h.After, node)
		if err != nil {
			return nil, err
		}
		for _, row := range a.rows {
			values[row] = true
		}
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.Append(number + int64(len(values)))
	s := arrow.NewSchema([]arrow.Field{{Name: "__n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(s))
	if err := w.Write(array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, 1)); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}
