package engine

import (
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// narrowNumbers are the integers and floats in the files of FuzzWidenedLiterals, as far as the
// file's type can hold them.
var narrowNumbers = []float64{
	0, 1, 2, 3, -1, -3, 100, 127, 128, -128, -129, 255, 256, 32767, -32768, 65535, 1<<31 - 1, 1 << 31, -1 << 31,
	1<<32 - 1, 1 << 32,
	1<<53 - 1, 1 << 53, -1 << 53, 0.5, -0.5, 1.5, 127.5, 0.25,
}

// literalSeeds are literals and operators for the seed corpus.
var literalSeeds = []string{
	"0", "-0", "0.0", "-0.0", "1", "1.0", "1.5", "-1.5", "127", "127.0", "127.5", "128", "-128.5", "255.000", "256",
	"32767.5", "65535", "2147483647", "2147483648", "-2147483649",
	"4294967295", "4294967295.5", "4294967296", "9007199254740991", "9007199254740992", "9007199254740993",
	"-9007199254740993", "9007199254740991.5",
	"9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616", "0.1", "0.25",
	"0.50000000000000001",
	"123456789012345678901234567890", "0.000000000000000000001", "1e0", "1e3", "1.5e0", "-1e300", "1e-300", "000127",
	"1e15", "999999999999999", "1000000000000001",
}

// plainLiteral reports whether a text is a number in SQL, and small enough for every type that
// DuckDB may give it.
func plainLiteral(s string) bool {
	s = strings.TrimPrefix(s, "-")
	if len(s) == 0 || len(s) > 35 || s[0] < '0' || s[0] > '9' {
		return false
	}
	mantissa, exponent, has := strings.Cut(s, "e")
	whole, part, dot := strings.Cut(mantissa, ".")
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return digits(whole) && (!dot || digits(part)) &&
		(!has || digits(strings.TrimPrefix(exponent, "-")) && len(exponent) < 5)
}

// FuzzWidenedLiterals compares a column of doubles with literals, in files where the column has
// narrower types. A query must find the same rows as a plain comparison in Go, whatever filters,
// bounds and lookups exclude.
func FuzzWidenedLiterals(f *testing.F) {
	operators := []string{"=", "<>", "<", "<=", ">", ">="}
	for i, l := range literalSeeds {
		f.Add(l, uint8(i))
		f.Add(l, uint8(i+3))
	}
	dir := f.TempDir()
	e := openEngine(f, dir)
	var tables []query.Table
	var have [][]float64
	for _, typ := range []schema.Type{
		schema.Int8, schema.Uint8, schema.Int16, schema.Uint16, schema.Int32, schema.Uint32, schema.Int64,
		schema.Uint64, schema.Float32,
	} {
		columns := cols("ts:TimestampSecond", "n:"+typ.String())
		columns[1].Index = &schema.Index{
			Kind:    schema.SkippingIndex,
			Options: schema.DefaultIndexOptions(schema.SkippingIndex),
		}
		var values []float64
		var rows [][]any
		for _, v := range narrowNumbers {
			whole := v == math.Trunc(v)
			switch {
			case typ == schema.Float32:
				if float64(float32(v)) != v {
					continue
				}
				rows = append(rows, []any{len(rows), v})
			case !whole:
				continue
			default:
				if lo, hi := typ.IntRange(); v < 0 && int64(v) < lo || v > 0 && uint64(v) > uint64(hi) {
					continue
				}
				rows = append(rows, []any{len(rows), int64(v)})
			}
			values = append(values, v)
		}
		rows = append(rows, []any{len(rows), nil})
		files := filepath.Join(dir, typ.String())
		if err := os.Mkdir(files, 0o700); err != nil {
			f.Fatal(err)
		}
		tab := indexed(f, files, columns, 3, batch(f, columns, rows...))
		tab.Name, tab.Schema.Name = "t_"+strings.ToLower(typ.String()), "t_"+strings.ToLower(typ.String())
		tab.Schema.Columns[1].Type = schema.Float64
		tables, have = append(tables, tab), append(have, values)
	}
	f.Fuzz(func(t *testing.T, literal string, op uint8) {
		if !plainLiteral(literal) {
			return
		}
		exact, ok := new(big.Rat).SetString(literal)
		if !ok {
			return
		}
		// The column is a DOUBLE, and so is the literal.
		x, _ := exact.Float64()
		operator := operators[int(op)%len(operators)]
		for i, tab := range tables {
			want := 0
			for _, v := range have[i] {
				if map[string]bool{"=": v == x, "<>": v != x, "<": v < x, "<=": v <= x, ">": v > x, ">=": v >= x}[operator] {
					want++
				}
			}
			for _, sql := range []string{
				fmt.Sprintf("SELECT count(*) FROM %s WHERE n %s %s", tab.Name, operator, literal),
				fmt.Sprintf("SELECT ts, n FROM %s WHERE n %s %s", tab.Name, operator, literal),
				fmt.Sprintf("SELECT ts FROM %s WHERE NOT (n %s %s) OR n IS NULL", tab.Name, operator, literal),
			} {
				got, err := ask(e, sql, tab)
				if err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
				found := fmt.Sprint(len(got.rows))
				switch {
				case strings.Contains(sql, "count"):
					found = got.rows[0]
				case strings.Contains(sql, "NOT"):
					found = fmt.Sprint(len(have[i]) + 1 - len(got.rows))
				}
				if found != fmt.Sprint(want) {
					t.Errorf("%s: %s rows meet the condition, want %d of %v", sql, found, want, have[i])
				}
			}
		}
	})
}
