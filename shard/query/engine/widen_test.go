package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// widenings are pairs of types: the first type widens to the second. They have values of the first type, and the
// bounds within which these keep their value.
func widenings() map[[2]schema.Type][]any {
	small := []any{nil, 0, 1, 2, 3, 5, 7, 100, 127}
	signed := append(slices.Clone(small), -1, -2, -128)
	large := append(slices.Clone(signed), 1<<31, -1<<31-1, 1<<53, 1<<53-1, -1<<53)
	return map[[2]schema.Type][]any{
		{schema.Int8, schema.Int16}:      signed,
		{schema.Int8, schema.Float64}:    signed,
		{schema.Int32, schema.Int64}:     append(slices.Clone(signed), 1<<31-1, -1<<31),
		{schema.Uint8, schema.Int16}:     append(slices.Clone(small), 255),
		{schema.Uint32, schema.Int64}:    append(slices.Clone(small), 1<<32-1, 1<<31),
		{schema.Uint16, schema.Uint64}:   append(slices.Clone(small), 1<<16-1),
		{schema.Uint32, schema.Float64}:  append(slices.Clone(small), 1<<32-1, 1<<31),
		{schema.Int64, schema.Float64}:   large,
		{schema.Uint64, schema.Float64}:  append(slices.Clone(small), 1<<53, 1<<53-1, 1<<32),
		{schema.Float32, schema.Float64}: {nil, 0.0, 0.5, 1.5, -1.5, 3.0, float64(float32(0.1)), float64(float32(1e30))},
	}
}

// widened returns two tables with the same rows. In one, column n had a narrower type when some
// rows were written; in the other it always had its present type.
func widened(t testing.TB, r *rand.Rand, narrow, wide schema.Type, values []any,
	merge query.Merge,
) (mixed, plain query.Table) {
	columns := cols("ts:TimestampSecond", "host:String", "n:"+wide.String(), "m:String")
	if merge != query.Append {
		columns[1].Semantic = schema.Tag
	}
	columns[2].Index = &schema.Index{Kind: schema.SkippingIndex, Options: schema.DefaultIndexOptions(schema.SkippingIndex)}
	older := slices.Clone(columns)
	older[2].Type = narrow
	mixed, plain = table("t", columns), table("t", columns)
	mixed.Merge, plain.Merge = merge, merge
	wideValues := slices.Clone(values)
	if wide == schema.Float64 {
		wideValues = append(wideValues, 1.5, 2.5, -0.25, 1e300, 1<<53+2.0)
	}
	for part := range 6 {
		used, from := columns, wideValues
		if part%2 == 0 {
			used, from = older, values
		}
		var rows, same [][]any
		for i := range []int{40, 600}[r.IntN(2)] {
			ts := i
			if merge == query.Append {
				ts += part * 300
			}
			v := from[r.IntN(len(from))]
			row := []any{ts, fmt.Sprint("h", r.IntN(3)), ofType(v, used[2].Type), fmt.Sprint("m", i%7)}
			if merge != query.Append {
				row[1] = fmt.Sprint("h", i%3)
			}
			rows = append(rows, row)
			row = slices.Clone(row)
			row[2] = ofType(v, wide)
			same = append(same, row)
		}
		for of, list := range map[*query.Table][][]any{&mixed: rows, &plain: same} {
			c := used
			if of == &plain {
				c = columns
			}
			b := batch(t, c, list...)
			if part >= 4 {
				of.Batches = append(of.Batches, b)
				continue
			}
			if part == 2 {
				of.Segments = append(of.Segments, segmentOf(t, t.TempDir(), c, uint64(part)+1, list))
				continue
			}
			files := indexed(t, t.TempDir(), c, 200, b)
			for i := range files.Segments {
				files.Segments[i].Order = uint64(part) + 1
			}
			of.Segments = append(of.Segments, files.Segments...)
		}
	}
	return mixed, plain
}

// ofType converts a value to what build takes for a column of a type.
func ofType(v any, t schema.Type) any {
	if i, ok := v.(int); ok && t.IsFloat() {
		return float64(i)
	}
	return v
}

// widenedStatements are statements about n. Their literals are close to its values.
func widenedStatements(wide schema.Type) (out []string) {
	literals := []string{
		"0", "1", "2", "3", "5", "127", "128", "255", "-1", "-128", "300", "2147483648", "4294967295",
		"9007199254740992", "9007199254740991",
	}
	if wide == schema.Float64 {
		literals = append(literals, "1.5", "0.1", "-1.5", "0.0", "-0.0", "2.0", "1e0", "1e300", "-1e300", "127.5",
			"9007199254740993", "9007199254740994.0",
			"'nan'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE", "0.1::FLOAT", "0.5::FLOAT", "18446744073709551615",
			"-9223372036854775809")
	}
	for _, l := range literals {
		for _, op := range []string{"=", "<>", "<", "<=", ">", ">="} {
			out = append(out, "SELECT ts, host, n FROM t WHERE n "+op+" "+l+" ORDER BY ALL",
				"SELECT count(*), count(n), min(n), max(n) FROM t WHERE "+l+" "+op+" n")
		}
		out = append(out,
			"SELECT count(*), min(ts) FROM t WHERE n IN ("+l+", 5)",
			"SELECT count(*) FROM t WHERE n NOT IN ("+l+", 5)",
			"SELECT count(*) FROM t WHERE n BETWEEN "+l+" AND 100",
			"SELECT count(*) FROM t WHERE NOT n BETWEEN -3 AND "+l,
			"SELECT ts, n FROM t WHERE n = "+l+" ORDER BY ts DESC LIMIT 5",
			"SELECT count(*) FROM t WHERE n + 0 = "+l,
			"SELECT count(*) FROM t WHERE n IS DISTINCT FROM "+l)
	}
	return append(out,
		"SELECT count(*) FROM t", "SELECT count(n) FROM t", "SELECT n FROM t ORDER BY ALL", "SELECT * FROM t ORDER BY ALL",
		"SELECT count(*) FROM t WHERE n IS NULL", "SELECT count(*) FROM t WHERE n IS NOT NULL AND host = 'h1'",
		"SELECT min(n), max(n), count(DISTINCT n) FROM t",
		"SELECT typeof(n), typeof(sum(n)), typeof(avg(n)) FROM t GROUP BY 1 ORDER BY ALL",
		"SELECT n, count(*) FROM t GROUP BY n ORDER BY ALL", "SELECT host, max(n) FROM t GROUP BY host ORDER BY host",
		"SELECT sum(n) FROM t WHERE n BETWEEN 0 AND 100", "SELECT avg(n) FROM t WHERE n BETWEEN 0 AND 100 AND host = 'h2'",
		"SELECT n FROM t ORDER BY n DESC LIMIT 10", "SELECT n FROM t ORDER BY n NULLS LAST LIMIT 10",
		"SELECT DISTINCT n FROM t ORDER BY n",
		"SELECT count(*) FROM t a JOIN t b ON a.n = b.n AND a.ts = b.ts",
		"SELECT n FROM t WHERE ts BETWEEN make_timestamp(5000000) AND make_timestamp(9000000) ORDER BY ALL",
		"SELECT count(*) FROM t WHERE n IN (SELECT n FROM t WHERE m = 'm3')",
		"SELECT count(*) FROM t WHERE matches(m, 'm3') AND n < 4",
		"SELECT n % 3 AS r, count(*) FROM t WHERE n BETWEEN 0 AND 200 GROUP BY r ORDER BY r",
		"SELECT n::VARCHAR FROM t ORDER BY ALL")
}

// widenedTries is how many statements are tried for each pair of types and each merge mode.
const widenedTries = 8

// TestWidened queries tables in which some segments and batches have a column in a narrower type.
// It compares the answers, including their types, with tables that have all rows in the present
// type.
func TestWidened(t *testing.T) {
	t.Parallel()
	e, whole := openEngine(t, "/"), openEngine(t, "/")
	whole.off("pages", "codes", "direct")
	e.settings.MinAttempt = 100
	seed := uint64(0)
	for pair, values := range widenings() {
		for _, merge := range []query.Merge{query.Append, query.LastRow, query.LastNonNull} {
			seed++
			r := rand.New(rand.NewPCG(seed, 5))
			mixed, plain := widened(t, r, pair[0], pair[1], values, merge)
			statements := widenedStatements(pair[1])
			r.Shuffle(len(statements), func(i, j int) { statements[i], statements[j] = statements[j], statements[i] })
			for _, sql := range statements[:widenedTries] {
				want, err := ask(whole, sql, plain)
				if err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
				for name, e := range map[string]*Engine{"as served": e, "over whole files": whole} {
					got, err := ask(e, sql, mixed)
					switch {
					case err != nil:
						t.Errorf("%s to %s, merge %d, %s, %s: %v", pair[0], pair[1], merge, name, sql, err)
					case !slices.Equal(got.rows, want.rows):
						t.Errorf("%s to %s, merge %d, %s, %s: %d rows, want %d\n%s\nwant\n%s", pair[0], pair[1], merge, name, sql,
							len(got.rows), len(want.rows), first(rowsBut(got.rows, want.rows)), first(rowsBut(want.rows, got.rows)))
					case !got.schema.Equal(want.schema):
						t.Errorf("%s to %s, merge %d, %s, %s: types %s, want %s", pair[0], pair[1], merge, name, sql,
							got.schema, want.schema)
					}
				}
			}
		}
	}
}

// rowsBut returns the rows that are not in others.
func rowsBut(rows, others []string) []string {
	return slices.DeleteFunc(slices.Clone(rows), func(row string) bool { return slices.Contains(others, row) })
}

// TestWidenedBounds checks that conditions on doubles exclude row groups of a file of integers by
// their bounds and filters, and never a matching row.
func TestWidenedBounds(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	columns := cols("ts:TimestampSecond", "n:Int64")
	columns[1].Index = &schema.Index{Kind: schema.SkippingIndex, Options: schema.DefaultIndexOptions(schema.SkippingIndex)}
	var rows [][]any
	for i := range 2000 {
		rows = append(rows, []any{i, 2*i - 100})
	}
	tab := indexed(t, dir, columns, 200, batch(t, columns, rows...))
	tab.Schema.Columns[1].Type = schema.Float64
	for _, c := range []struct {
		where string
		want  int
		left  int // maximum number of row groups; 0 means that the segment is not read
	}{
		{"n < 300", 200, 1},
		{"n < 299.5", 200, 1},
		{"n <= 300", 201, 2},
		{"300.5 > n", 201, 2},
		{"n > 3897", 1, 1},
		{"n >= 3897.5", 1, 1},
		{"n > 3898", 0, 0},
		{"NOT n < 3898", 1, 1},
		{"n BETWEEN 300 AND 309.5", 5, 1},
		{"n BETWEEN 9000 AND 9999", 0, 0},
		{"n = 301.5", 0, 0},
		{"n = 0", 1, 1},
		{"n = -0.0", 1, 10},
		{"n IN (302, 304.0, 305.5)", 2, 1},
		{"n = 1e2", 1, 10},
		{"n <> 302", 1999, 10},
		{"n < 300 OR n > 3890", 204, 2},
		{"n IS NULL OR n < 300", 200, 10},
		{"n < 'nan'::DOUBLE", 2000, 10},
	} {
		sql := "SELECT count(*) FROM t WHERE " + c.where
		if got := mustQuery(t, e, sql, tab); got[0] != fmt.Sprint(c.want) {
			t.Errorf("%s: got %s rows, want %d", c.where, got[0], c.want)
		}
		planned := plansOf(t, e, sql, tab, "pages", "codes", "direct")
		p := planned.Plans[0]
		s := sourceOf(t, p, false)
		left := p.Pruned.GroupsLeft
		if len(s.Plain) > 0 && s.Plain[0].Groups == nil {
			left = 10
		}
		if left > c.left {
			t.Errorf("%s: %d row groups are read, want at most %d", c.where, left, c.left)
		}
	}
}
