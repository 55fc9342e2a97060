package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// numbersTable returns a table with every type, NaN, both zeros, extreme values, nulls and deleted
// rows.
func numbersTable(t testing.TB, r *rand.Rand) query.Table {
	columns := cols("ts:TimestampMicrosecond", "f:Float64", "g:Float32", "i:Int64", "u:UInt64", "b:UInt8", "s:Int16",
		"w:UInt32", "z:Int8", "y:UInt16", "v:Int32", "ok:Boolean", "txt:String", "j:Json", "x:Binary", "at:TimestampSecond")
	hidden := append(append([]schema.Column(nil), columns...), schema.DeletedColumn())
	floats := []any{math.NaN(), math.Copysign(0, -1), 0.0, 0.1, 0.3, -1.5, math.Inf(1), math.Inf(-1), 1e300, nil}
	texts := []any{"", "a", "ab", "abc", "b", "ü", "a%b", "a_b", strings.Repeat("long ", 9), nil}
	ints := []any{int64(math.MinInt64), -1, 0, 1, 5, 127, int64(math.MaxInt64), nil}
	rows := func(n, from int, deleted bool) (out [][]any) {
		pick := func(list []any) any { return list[r.IntN(len(list))] }
		small := func(most int) any { return []any{r.IntN(most), nil, 0, most}[r.IntN(4)] }
		for k := range n {
			row := []any{
				from + k/3, pick(floats), pick([]any{0.5, math.NaN(), nil}), pick(ints), small(9), small(255), small(300),
				small(1 << 31), small(127), small(65_535), small(7), []any{true, false, nil}[r.IntN(3)], pick(texts),
				[]any{`{"a":1}`, nil}[r.IntN(2)], pick(texts), small(1000),
			}
			if deleted {
				row = append(row, []any{true, false, nil}[r.IntN(3)])
			}
			out = append(out, row)
		}
		return out
	}
	tab := indexed(t, t.TempDir(), columns, 100+r.IntN(300), batch(t, columns, rows(600+r.IntN(300), 0, false)...))
	more := indexed(t, t.TempDir(), hidden, 200, batch(t, hidden, rows(300, 100+r.IntN(300), true)...))
	tab.Segments = append(tab.Segments, more.Segments...)
	for i := range tab.Segments {
		tab.Segments[i].Order = uint64(i) + 1
	}
	out := table("t", columns)
	out.Schema.ID, out.Segments = 1, tab.Segments
	out.Batches = append(out.Batches, batch(t, columns, rows(100, 300, false)...), batch(t, hidden, rows(80, 90, true)...))
	return out
}

// TestDirectConditions compares conditions evaluated by package direct with the same conditions
// evaluated by DuckDB.
func TestDirectConditions(t *testing.T) {
	t.Parallel()
	e, plain := openEngine(t, "/"), openEngine(t, "/")
	plain.off("direct")
	for seed := range uint64(1) {
		tab := numbersTable(t, rand.New(rand.NewPCG(seed, 5)))
		var conditions []string
		for _, op := range []string{"=", "<>", "<", "<=", ">", ">="} {
			for column, values := range map[string][]string{
				"f": {"0", "0.1", "0.3", "-1.5", "1e300", "0.30"}, "i": {"-1", "0", "5", "9223372036854775807"},
				"u": {"0", "5", "9"}, "b": {"0", "200", "255"},
				"s": {"0", "299", "-1"}, "z": {"-128", "127"}, "w": {"7"}, "y": {"65535"}, "v": {"3"},
				"txt": {"''", "'ab'", "'ü'", "'b'"},
				"ts":  {"'1970-01-01 00:00:00.0007'", "'1970-01-01'"}, "g": {"0.5"}, "j": {"'x'"}, "x": {"'a'"}, "ok": {"true"},
				"at": {"'1970-01-01 00:05:00'"},
			} {
				for _, v := range values {
					conditions = append(conditions, fmt.Sprintf("%s %s %s", column, op, v),
						fmt.Sprintf("NOT (%s %s %s)", v, op, column))
				}
			}
		}
		conditions = append(conditions, "ok", "NOT ok", "ok AND f > 0", "ok OR f > 0", "NOT (ok OR f > 0)",
			"NOT (ok AND txt = 'a')", "f IS NULL", "j IS NOT NULL",
			"NOT x IS NULL", "i BETWEEN 0 AND 5", "i NOT BETWEEN 0 AND 5", "txt BETWEEN 'a' AND 'b'", "f NOT BETWEEN 0 AND 0.3",
			"i IN (1, 5, -1)",
			"i NOT IN (1, 5)", "txt IN ('a', 'ü')", "txt NOT IN ('a', 'ab') OR txt IS NULL", "f IN (0, 0.1)",
			"NOT (i IN (1, 5))", "txt LIKE 'a%'", "txt LIKE '%b'", "txt LIKE '%'",
			"txt NOT LIKE '%b%'", "txt LIKE ''", "txt LIKE 'a%b%c'", "txt LIKE 'a'", "NOT txt LIKE 'a%'", "txt LIKE 'a_b'",
			"txt LIKE 'long %'", "i = NULL", "txt IN ('a', NULL)", "i IN (1, 2.5)",
			"i > 1.5", "f > 'x' || '1'", "ts > now()", "ts < now() - INTERVAL 1 HOUR", "ts >= epoch_ms(0)", "u > -1", "b = 256",
			"(f = 0) = ok", "txt = 'a' COLLATE NOCASE", "upper(txt) = 'A'")
		before, refused := e.direct.Load(), 0
		for _, c := range conditions {
			sql := "SELECT * FROM t WHERE " + c
			got, err := ask(e, sql, tab)
			want, wantErr := ask(plain, sql, tab)
			if (err == nil) != (wantErr == nil) {
				t.Errorf("seed %d, %s: error %v without DuckDB, and %v with it", seed, c, err, wantErr)
			}
			if err != nil || wantErr != nil {
				refused++
				continue
			}
			slices.Sort(got.rows)
			slices.Sort(want.rows)
			if !slices.Equal(got.rows, want.rows) {
				t.Errorf("seed %d, %s: got %d rows, want %d", seed, c, len(got.rows), len(want.rows))
			}
			if !got.schema.Equal(want.schema) {
				t.Errorf("seed %d, %s: got schema %s, want %s", seed, c, got.schema, want.schema)
			}
		}
		if directly := e.direct.Load() - before; directly < 200 {
			t.Errorf("seed %d: %d of %d conditions were evaluated without DuckDB, and %d failed",
				seed, directly, len(conditions), refused)
		}
	}
}

// TestDirectRows compares column lists, orders and limits on tables that have late rows, deleted
// rows, expired rows, rows in memory, and segments with other columns.
func TestDirectRows(t *testing.T) {
	t.Parallel()
	e, plain := openEngine(t, "/"), openEngine(t, "/")
	plain.off("direct")
	for seed := range uint64(4) {
		before := e.direct.Load()
		r := rand.New(rand.NewPCG(seed, 78))
		tab := segmented(t, r, query.Merge(seed/3), false)
		tab.Schema.Columns[3].NotNull = seed == 2 // then nulls read as the default
		if r.IntN(3) == 0 {
			before := int64(r.IntN(100_000))
			tab.ExpiredBefore = &before
		}
		id, limit := r.IntN(15_000), 1+r.IntN(50)
		for _, list := range []string{
			"*", "id, host", "ts AS moment, number, fresh", "l.ok, body", "host AS ts2, *", "count(*)", "host, host",
			"ts, upper(host)", "id AS host", "id AS ts",
		} {
			for _, where := range []string{
				"", fmt.Sprintf("WHERE id = 'id%d'", id), fmt.Sprintf("WHERE id IN ('id%d', 'id%d') AND ok", id, id+7),
				"WHERE id = 'none'",
				fmt.Sprintf("WHERE number >= %d", r.IntN(5000)), "WHERE number < 30 AND host = 'h1'",
				"WHERE host = 'h1' AND k > 66000 AND f IS NOT NULL",
				"WHERE fresh IS NULL AND NOT ok", "WHERE ts > '1970-01-02' AND number < 900", "WHERE l.host = 'h2'",
			} {
				for _, order := range []string{"", "ORDER BY ts DESC", "ORDER BY ts", "ORDER BY ts DESC, id"} {
					for _, end := range []string{
						"", fmt.Sprintf("LIMIT %d", limit), fmt.Sprintf("LIMIT %d OFFSET %d", limit, r.IntN(90)), "LIMIT 0",
						"OFFSET 10",
					} {
						if r.IntN(20) > 0 || where == "" && end == "" {
							continue
						}
						sql := strings.Join(strings.Fields(fmt.Sprintf("SELECT %s FROM t l %s %s %s", list, where, order, end)), " ")
						compareDirect(t, e, plain, tab, sql, fmt.Sprintf("SELECT %s FROM t l %s", list, where), order)
					}
				}
			}
		}
		if directly := e.direct.Load() - before; (directly < 10) != (seed >= 2) {
			t.Errorf("seed %d, merge %d: %d statements were answered without DuckDB", seed, tab.Merge, directly)
		}
	}
	if plain.direct.Load() > 0 {
		t.Error("the engine with all executors was not used")
	}
}

// compareDirect compares answers in which rows with equal times may come in any order. With a
// limit, different rows of the last time may be in the answer. It checks that both answers have the
// same number of rows and the same times in the same order, and that every row exists in the answer
// without a limit.
func compareDirect(t *testing.T, e, plain *Engine, tab query.Table, sql, all, order string) {
	t.Helper()
	got, err := ask(e, sql, tab)
	want, wantErr := ask(plain, sql, tab)
	if err != nil || wantErr != nil {
		if err == nil || wantErr == nil || err.Error() != wantErr.Error() {
			t.Errorf("%s: error %v without DuckDB, and %v with it", sql, err, wantErr)
		}
		return
	}
	if !got.schema.Equal(want.schema) {
		t.Errorf("%s: got schema %s, want %s", sql, got.schema, want.schema)
	}
	if len(got.rows) != len(want.rows) {
		t.Errorf("%s: got %d rows, want %d", sql, len(got.rows), len(want.rows))
		return
	}
	if at := got.schema.FieldIndices("ts"); order != "" && len(at) == 1 &&
		got.schema.Field(at[0]).Type.Name() == "timestamp" {
		for i := range got.rows {
			if a, b := strings.Split(got.rows[i], "|")[at[0]], strings.Split(want.rows[i], "|")[at[0]]; a != b {
				t.Errorf("%s: row %d is of %s, want %s", sql, i, a, b)
				return
			}
		}
	}
	if sql == all {
		slices.Sort(got.rows)
		slices.Sort(want.rows)
		if !slices.Equal(got.rows, want.rows) {
			t.Errorf("%s: other rows", sql)
		}
		return
	}
	have := make(map[string]int)
	for _, row := range mustQuery(t, plain, all, tab) {
		have[row]++
	}
	for _, row := range got.rows {
		if have[row]--; have[row] < 0 {
			t.Errorf("%s: row %s occurs more often than in the table", sql, row)
			return
		}
	}
}

// TestDirectLimit checks that the limit of a request applies.
func TestDirectLimit(t *testing.T) {
	e := openEngine(t, "/")
	tab := segmented(t, rand.New(rand.NewPCG(3, 3)), query.Append, false)
	for sql, want := range map[string]int{
		"SELECT id FROM t ORDER BY ts DESC":                  7,
		"SELECT id FROM t ORDER BY ts DESC LIMIT 3":          3,
		"SELECT id FROM t WHERE number > 5 LIMIT 20":         7,
		"SELECT id FROM t ORDER BY ts DESC LIMIT 9 OFFSET 4": 7,
	} {
		a, err := request(t.Context(), e, &query.Request{SQL: sql, Database: "public", Tables: []query.Table{tab}, Limit: 7})
		if err != nil || len(a.rows) != want {
			t.Errorf("%s: %v, got %d rows, want %d", sql, err, len(a.rows), want)
		}
	}
}
