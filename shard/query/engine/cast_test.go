package engine

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// TestDoubleLiterals searches for doubles by the digits with which they are printed. Every
// statement must find the row, whichever path runs it.
func TestDoubleLiterals(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	columns := cols("ts:TimestampNanosecond", "f:Float64", "g:Float32", "n:Int64")
	r := rand.New(rand.NewPCG(3, 5))
	var rows [][]any
	var values []float64
	for i := range 2000 {
		f := r.Float64()
		switch i % 4 {
		case 1:
			f = -1000 * f
		case 2:
			f *= 1e15
		case 3:
			f *= 1e-7
		}
		values = append(values, f)
		rows = append(rows, []any{i, f, float64(float32(f)), i})
	}
	tab := table("t", columns, fileOf(t, dir, 500, columns, rows[:1500]...), batch(t, columns, rows[1500:]...))
	find := func(t *testing.T, condition string, want ...int) {
		t.Helper()
		for _, sql := range []string{
			"SELECT n FROM t WHERE %s ORDER BY ts", "SELECT n FROM t WHERE %s ORDER BY n + 1",
			"SELECT DISTINCT n FROM (SELECT f AS x, * FROM t) WHERE %s ORDER BY 1",
		} {
			sql := fmt.Sprintf(sql, condition)
			got := mustQuery(t, e, sql, tab)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s: rows %v, want %v", sql, got, want)
			}
		}
	}
	for i := 0; i < len(values); i += 93 {
		f := values[i]
		digits := strconv.FormatFloat(f, 'f', -1, 64)
		long := new(big.Float).SetFloat64(f).Text('f', 36)
		if len(long) > 39 {
			long = digits
		}
		for _, literal := range []string{digits, digits + "e0", long} {
			find(t, "f = "+literal, i)
			find(t, "f IN ("+literal+", 7.25)", i)
			find(t, "f BETWEEN "+literal+" AND "+literal, i)
			find(t, "abs(f - "+literal+") <= 0 AND NOT f < "+literal+" AND NOT f > "+literal, i)
			if i%2 == 0 {
				find(t, "greatest(f, "+literal+") = "+literal+" AND least(f, CAST("+literal+" AS DOUBLE)) = "+literal, i)
			}
		}
		if i%3 == 0 {
			find(t, "g = "+strconv.FormatFloat(float64(float32(f)), 'f', -1, 32)+"::FLOAT", i)
		}
	}
}

// TestDecimalCasts compares the casts of DECIMAL and HUGEINT to DOUBLE and FLOAT with Go's
// conversion of the same digits.
func TestDecimalCasts(t *testing.T) {
	e := openEngine(t, t.TempDir())
	r := rand.New(rand.NewPCG(8, 1))
	var list []string
	for range 600 {
		width := 1 + r.IntN(38)
		scale := r.IntN(width + 1)
		digits := ""
		for range width {
			digits += strconv.Itoa(r.IntN(10))
		}
		sign := pick(r, []string{"", "-"})
		list = append(list, fmt.Sprintf("'%s%s.%s'::DECIMAL(%d,%d)", sign, digits[:width-scale], digits[width-scale:],
			width, scale))
		list = append(list, fmt.Sprintf("'%s%s'::HUGEINT", sign, digits))
	}
	list = append(list, "0::DECIMAL(38,38)", "'-170141183460469231731687303715884105728'::HUGEINT", "0::HUGEINT")
	for len(list) > 0 {
		n := min(100, len(list))
		var columns []string
		for _, v := range list[:n] {
			columns = append(columns, fmt.Sprintf("(%s)::VARCHAR, (%s)::DOUBLE, (%s)::FLOAT", v, v, v))
		}
		got := strings.Split(mustQuery(t, e, "SELECT "+strings.Join(columns, ", "))[0], "|")
		for i := range n {
			f, _ := strconv.ParseFloat(got[3*i], 64)
			g, _ := strconv.ParseFloat(got[3*i], 32)
			have, _ := strconv.ParseFloat(got[3*i+1], 64)
			half, _ := strconv.ParseFloat(got[3*i+2], 32)
			if have != f || float32(half) != float32(g) {
				t.Errorf("%s: %v and %v, want %v and %v", list[i], have, half, f, float32(g))
			}
		}
		list = list[n:]
	}
	got := mustQuery(t, e, "SELECT sum(x::DOUBLE), count(x::DOUBLE), count(*) FROM (SELECT CASE WHEN i % 4 <> 0 THEN (i "+
		"/ 4.0)::DECIMAL(9,2) END AS x FROM range(10000) r(i))")
	if got[0] != "9375000|7500|10000" && got[0] != "9.375e+06|7500|10000" {
		t.Errorf("with nulls: %s", got[0])
	}
}

// TestBefore1970 checks that times before 1970 are truncated to the start of their unit, not
// towards 1970.
func TestBefore1970(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	columns := cols("ts:TimestampNanosecond", "n:Int64")
	var rows [][]any
	for i, at := range []int64{
		-1, -999, -1000, -1001, -1_000_000_001, 0, 1, -86400_000_000_000, -86400_000_000_001, math.MaxInt64,
		-math.MaxInt64,
	} {
		rows = append(rows, []any{at, i})
	}
	tab := table("t", columns, fileOf(t, dir, 4, columns, rows[:6]...), batch(t, columns, rows[6:]...))
	for sql, want := range map[string]string{
		"SELECT ts::TIMESTAMP::VARCHAR FROM t WHERE n < 5 " +
			"ORDER BY n": "[1969-12-31 23:59:59.999999 1969-12-31 23:59:59.999999 1969-12-31 23:59:59.999999 1969-12-31 " +
			"23:59:59.999998 1969-12-31 23:59:58.999999]",
		"SELECT ts::DATE::VARCHAR FROM t WHERE n IN (0, 5, 7, " +
			"8) ORDER BY n": "[1969-12-31 1970-01-01 1969-12-31 1969-12-30]",
		"SELECT ts::TIME::VARCHAR FROM t WHERE n IN (0, 5, 7, " +
			"8) ORDER BY n": "[23:59:59.999999 00:00:00 00:00:00 23:59:59.999999]",
		"SELECT year(ts), hour(ts), extract(second FROM ts) FROM t " +
			"WHERE n = 0": "[1969|23|59]",
		"SELECT time_bucket(INTERVAL 1 MINUTE, ts)::VARCHAR FROM t " +
			"WHERE n = 0": "[1969-12-31 23:59:00]",
		"SELECT count(*) FROM t WHERE ts < '1970-01-01'":       "[8]",
		"SELECT count(*) FROM t WHERE ts::DATE < '1970-01-01'": "[8]",
		"SELECT epoch_us(ts) FROM t WHERE n = 0":               "[-1]",
		"SELECT epoch_ms(ts) FROM t WHERE n < 9 " +
			"ORDER BY n": "[-1 -1 -1 -1 -1001 0 0 -86400000 -86400001]",
		"SELECT count(*) FROM t WHERE epoch_ms(ts) = -1": "[4]",
		"SELECT ts.epoch_ms(), epoch_ms(ts::TIMESTAMP), epoch_ms(ts::TIMESTAMP::TIMESTAMPTZ) FROM t " +
			"WHERE n = 0": "[-1|-1|-1]",
		"SELECT epoch_ms(n)::VARCHAR, epoch_ms(DATE '1969-12-31'), epoch_ms(NULL) FROM t " +
			"WHERE n = 1": "[1970-01-01 00:00:00.001|-86400000|NULL]",
		"SELECT epoch_ms(TIME '00:00:01'), epoch_ms(INTERVAL 2 SECOND), " +
			"epoch_ms(1::UINTEGER)::VARCHAR": "[1000|2000|1970-01-01 00:00:00.001]",
		"SELECT ts::TIMESTAMP_S::VARCHAR FROM t WHERE n IN (0, 4, 5, " +
			"8) ORDER BY n": "[1969-12-31 23:59:59 1969-12-31 23:59:58 1970-01-01 00:00:00 1969-12-30 23:59:59]",
		"SELECT ts::TIMESTAMP_MS::VARCHAR, ts::TIMESTAMP::TIMESTAMP_MS::VARCHAR FROM t " +
			"WHERE n = 0": "[1969-12-31 23:59:59.999|1969-12-31 23:59:59.999]",
		"SELECT ts::TIMESTAMP::TIMESTAMP_S::VARCHAR, ts::TIMESTAMP_MS::TIMESTAMP_S::VARCHAR FROM t " +
			"WHERE n = 0": "[1969-12-31 23:59:59|1969-12-31 23:59:59]",
		"SELECT count(*) FROM t WHERE ts::TIMESTAMP_S < '1970-01-01'":                        "[8]",
		"SELECT count(*) FROM t WHERE date_trunc('year', ts) < '1970-01-01'":                 "[8]",
		"SELECT ts::TIMESTAMP::VARCHAR FROM t WHERE n > 8 ORDER BY n":                        "[infinity -infinity]",
		"SELECT count(ts::TIME), count(ts::DATE), max(ts::DATE)::VARCHAR FROM t WHERE n > 8": "[0|2|infinity]",
		"SELECT max(n) FROM t WHERE ts > '2262-01-01' AND isinf(ts)":                         "[9]",
		"SELECT date_trunc('minute', ts)::VARCHAR, count(*) FROM t GROUP BY ALL ORDER " +
			"BY min(ts)": "[-infinity|1 1969-12-30 23:59:00|1 1969-12-31 00:00:00|1 1969-12-31 23:59:00|5 1970-01-01 " +
			"00:00:00|2 infinity|1]",
	} {
		if got := fmt.Sprint(mustQuery(t, e, sql, tab)); got != want {
			t.Errorf("%s:\n%s, want\n%s", sql, got, want)
		}
	}
	for _, unit := range []string{"microseconds", "second", "minute", "hour", "day", "week", "month", "year"} {
		for _, call := range []string{"date_trunc", "datetrunc"} {
			sql := fmt.Sprintf("SELECT count(*) FROM t WHERE NOT (%s('%s', ts) <= ts)", call, unit)
			if got := mustQuery(t, e, sql, tab)[0]; got != "0" {
				t.Errorf("%s: %s", sql, got)
			}
		}
	}
}

// TestConstantTimes checks that a cast of a constant stays a constant vector. Expressions over the
// cast are then computed once for each vector.
func TestConstantTimes(t *testing.T) {
	e := openEngine(t, t.TempDir())
	s := openSession(t, e)
	for _, c := range []struct{ nanos, to, want string }{
		{"1795409808621157799", "TIMESTAMP", "2026-11-23 04:56:48.621157"},
		{"-1", "TIMESTAMP", "1969-12-31 23:59:59.999999"},
		{"1795409808621157799", "DATE", "2026-11-23"},
		{"-1", "DATE", "1969-12-31"},
	} {
		sql := fmt.Sprintf(`SELECT ?::VARCHAR || string_agg(DISTINCT kind || ' ' || v, ', ') || ' ' || count(*) FROM (
			SELECT vector_type(v)::VARCHAR AS kind, v::VARCHAR AS v FROM (
				SELECT t::%s AS v FROM (SELECT make_timestamp_ns(%s)::TIMESTAMP_NS AS t FROM range(5000))))`, c.to, c.nanos)
		got, err := s.QueryText(sql, "")
		if want := "CONSTANT_VECTOR " + c.want + " 5000"; err != nil || got != want {
			t.Errorf("%s::%s is %q, %v; want %q", c.nanos, c.to, got, err, want)
		}
	}
}
