package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// TestNewest compares queries for the newest rows with the same queries over all rows, on tables
// with late rows, ties, nulls, expired rows and rows in memory.
func TestNewest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := openEngine(t, dir)
	e.settings.MinAttempt = 1
	plain := openEngine(t, dir) // never searches the newest first: its tables are too small
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 9))
		unit := []string{"Second", "Millisecond", "Nanosecond"}[seed%3]
		columns := cols("ts:Timestamp"+unit, "n:Int64", "host:String")
		tab := table("t", columns)
		tab.Merge = query.Merge(r.IntN(3))
		if tab.Merge != query.Append {
			columns[2].Semantic = schema.Tag
			tab = table("t", columns)
			tab.Merge = query.Merge(1 + r.IntN(2))
		}
		id := 0
		for part := range 12 {
			var rows [][]any
			seen := map[string]bool{}
			for range 1 + r.IntN(30) {
				id++
				ts := part*10 + r.IntN(12)
				if r.IntN(10) == 0 {
					ts = r.IntN(130) // a late or an early row
				}
				host := []any{"a", "b", nil}[r.IntN(3)]
				if key := fmt.Sprint(ts, host); tab.Merge == query.Append || !seen[key] {
					seen[key] = true
					rows = append(rows, []any{ts, id, host})
				}
			}
			if part < 9 {
				s := fileOf(t, dir, 1+r.IntN(10), columns, rows...)
				s.Order = uint64(part) + 1
				tab.Segments = append(tab.Segments, s)
			} else {
				tab.Batches = append(tab.Batches, batch(t, columns, rows...))
			}
		}
		if r.IntN(3) == 0 {
			before := int64(r.IntN(130))
			tab.ExpiredBefore = &before
		}
		for _, sql := range []string{
			"SELECT * FROM t ORDER BY ts DESC, n DESC LIMIT %d",
			"SELECT n, host FROM t WHERE host = 'a' ORDER BY ts DESC, n LIMIT %d",
			"SELECT n FROM t WHERE n %% 17 = 0 ORDER BY ts DESC, n LIMIT %d OFFSET 3",
			"SELECT n, ts AS at FROM t x WHERE x.host IS NULL ORDER BY ts DESC, n DESC LIMIT %d",
			"SELECT n FROM t WHERE ts < make_timestamp(50) OR n = 3 ORDER BY ts DESC, n LIMIT %d",
			"SELECT n FROM t WHERE ts < make_timestamp(50000000) ORDER BY ts DESC, n LIMIT %d",
			"SELECT n, ts FROM t WHERE ts BETWEEN make_timestamp(20000000) AND make_timestamp(70000000) AND n %% 3 > 0 " +
				"ORDER BY ts DESC, n LIMIT %d OFFSET 2",
			"SELECT n, host FROM t WHERE epoch_ns(ts) <= 60000000000 ORDER BY ts DESC, n LIMIT %d",
			"SELECT * FROM t ORDER BY ts, n DESC LIMIT %d",
			"SELECT n FROM t WHERE ts > make_timestamp(50000000) ORDER BY ts, n LIMIT %d",
			"SELECT n FROM t WHERE NOT (ts <= make_timestamp(40000000)) AND host = 'b' ORDER BY ts ASC, n LIMIT %d OFFSET 4",
			"SELECT n, unnest([1, 2]) AS u FROM t ORDER BY ts DESC, n, u LIMIT %d",
			"SELECT n, (SELECT max(n) FROM t) FROM t ORDER BY ts DESC, n LIMIT %d",
			// Statements of another kind.
			"SELECT n FROM t WHERE n > 0 ORDER BY ts DESC, n OFFSET %d",
			"SELECT n FROM t ORDER BY ts, n OFFSET %d",
			"SELECT max(n) AS ts, host FROM t GROUP BY host ORDER BY ts DESC, host LIMIT %d",
			"SELECT -n AS ts FROM t ORDER BY ts DESC LIMIT %d",
			"SELECT max(n) AS ts FROM t ORDER BY ts DESC LIMIT %d",
			"SELECT n, row_number() OVER (ORDER BY ts, n) FROM t ORDER BY ts DESC, n LIMIT %d",
			"SELECT DISTINCT host, ts FROM t ORDER BY ts DESC, host LIMIT %d",
			"SELECT ts, count(*) FROM t GROUP BY ALL ORDER BY ts DESC LIMIT %d",
			"SELECT n FROM t QUALIFY n > avg(n) OVER () ORDER BY ts DESC, n LIMIT %d",
			"SELECT * REPLACE (-n AS n) FROM t ORDER BY ts DESC, n LIMIT %d",
			"SELECT n FROM t ORDER BY n DESC LIMIT %d",
			// The names that COLUMNS produces are not examined.
			`SELECT -n AS x, -epoch_ns(COLUMNS('(ts)')) AS '\1' FROM t WHERE n > 0 ORDER BY ts DESC, n LIMIT %d`,
			`SELECT -epoch_ns(COLUMNS('t(s)')) AS 't\1' FROM t WHERE n > 0 ORDER BY ts DESC, n LIMIT %d`,
			`SELECT n, -epoch_ns(COLUMNS(c -> c = 'ts')) AS "\0" FROM t WHERE n > 0 ORDER BY ts DESC, n LIMIT %d`,
			"SELECT n, -epoch_ns(COLUMNS('ts')) FROM t WHERE n > 0 ORDER BY ts DESC, n LIMIT %d",
			"SELECT n, coalesce(COLUMNS(['host', 'n'])::VARCHAR, '') FROM t WHERE n > 0 ORDER BY ts DESC, n LIMIT %d",
			"SELECT x.*, * EXCLUDE (host) FROM t AS x WHERE n > 0 ORDER BY x.ts DESC, n LIMIT %d",
			"SELECT a.n FROM t a, t b ORDER BY a.ts DESC, a.n, b.ts, b.n LIMIT %d",
		} {
			sql := fmt.Sprintf(sql, 1+r.IntN(20))
			want := strings.Join(mustQuery(t, plain, sql, tab), " ")
			if got := strings.Join(mustQuery(t, e, sql, tab), " "); got != want {
				t.Errorf("seed %d, merge %d, %s:\n got %s\nwant %s", seed, tab.Merge, sql, got, want)
			}
		}
		// The limit of the request, with and without a LIMIT in the statement.
		for _, sql := range []string{"SELECT n FROM t ORDER BY ts DESC, n", "SELECT n FROM t ORDER BY ts DESC, n LIMIT 9"} {
			var got [2]string
			for i, engine := range []*Engine{e, plain} {
				a, err := request(t.Context(), engine, &query.Request{
					SQL: sql, Database: "public", Tables: []query.Table{tab}, Limit: 7,
				})
				if err != nil {
					t.Fatal(err)
				}
				got[i] = strings.Join(a.rows, " ")
			}
			if got[0] != got[1] {
				t.Errorf("seed %d, %s: got %s, want %s", seed, sql, got[0], got[1])
			}
		}
	}
}

// TestNewestReadsLittle checks that the newest rows are read from few parts.
func TestNewestReadsLittle(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	e.settings.MinAttempt = 1
	columns := cols("ts:TimestampSecond", "n:Int64")
	tab := table("t", columns)
	for part := range 20 {
		var rows [][]any
		for i := range 100 {
			rows = append(rows, []any{part*100 + i, part*100 + i})
		}
		tab.Segments = append(tab.Segments, fileOf(t, dir, 10, columns, rows...))
	}
	for sql, most := range map[string]int{
		"SELECT * FROM t ORDER BY ts DESC LIMIT 5":                  1,
		"SELECT * FROM t WHERE n % 2 = 0 ORDER BY ts DESC LIMIT 10": 2,
		// From the middle on: it is not known how many rows of the first segment lie on either
		// side.
		"SELECT * FROM t WHERE ts < make_timestamp(1050000000) ORDER BY ts DESC LIMIT 5":               2,
		"SELECT * FROM t WHERE ts < make_timestamp(1050000000) AND n % 2 = 0 ORDER BY ts DESC LIMIT 5": 2,
		"SELECT * FROM t ORDER BY ts LIMIT 5":                                                          1,
		"SELECT * FROM t WHERE ts > make_timestamp(1050000000) ORDER BY ts ASC LIMIT 5":                2,
	} {
		p := plansOf(t, e, sql, tab).Plans[0]
		attempts := slices.Collect(p.Attempts(0))
		if len(attempts) == 0 {
			t.Errorf("%s: no attempt", sql)
			continue
		}
		p.Try(attempts[0])
		if s := sourceOf(t, p, true); len(s.Plain) > most {
			t.Errorf("%s: reads %d segments from or up to %d, want at most %d", sql, len(s.Plain), attempts[0], most)
		}
	}
}
