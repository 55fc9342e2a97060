package column

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cordwood/proto/schema"
)

// accessLog returns rows like the access log of an nginx in front of a web shop: twenty hosts, a few hundred paths
// with ids, agents, skewed addresses, and a new request id in each row.
func accessLog(rows int) *Builder {
	r := rand.New(rand.NewPCG(7, 7))
	pick := func(n int) int { return int(float64(n) * math.Pow(r.Float64(), 3)) }
	b := &Builder{}
	columns := []schema.Column{
		{ID: 1, Name: "svc_timestamp", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true},
		col(2, schema.String), col(3, schema.String), col(4, schema.String), col(5, schema.String), col(6, schema.String),
		col(7, schema.String), col(8, schema.Int64), col(9, schema.Int64), col(10, schema.Float64), col(11, schema.String),
		col(12, schema.String), col(13, schema.String), col(14, schema.String), col(15, schema.Int64),
		col(16, schema.Float64),
		col(17, schema.String),
	}
	var c []*Col
	for _, s := range columns {
		c = append(c, b.Add(s))
	}
	for row := range rows {
		status := []int64{200, 200, 200, 200, 201, 204, 301, 304, 404, 500}[r.IntN(10)]
		seconds := math.Exp(r.NormFloat64()*1.1 - 3)
		c[0].SetInt(row, 1_700_000_000_000_000_000+int64(row))
		c[1].SetString(row, fmt.Sprintf("2026-05-25T20:16:%02d.%03dZ", row/1000%60, row%1000))
		c[2].SetString(row, fmt.Sprintf("edge-%02d.fra.example.com", r.IntN(12)))
		c[3].SetString(row, fmt.Sprintf("10.%d.%d.%d", pick(20), pick(200), 1+pick(250)))
		c[4].SetString(row, []string{"GET", "GET", "GET", "GET", "POST", "PUT"}[r.IntN(6)])
		c[5].SetString(row, fmt.Sprintf("/api/v%d/orders/%d/items?page=%d&per_page=50", 1+r.IntN(2), 1000+pick(5000),
			1+pick(20)))
		c[6].SetString(row, "HTTP/1.1")
		c[7].SetInt(row, status)
		c[8].SetInt(row, int64(math.Exp(r.NormFloat64()*1.6+8)))
		c[9].SetFloat(row, math.Round(seconds*1000)/1000)
		c[10].SetString(row, fmt.Sprintf("https://www.example.com/blog/post-%d", pick(40)))
		c[11].SetString(row, fmt.Sprintf("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like "+
			"Gecko) Chrome/%d.0.%d.0 Safari/537.36", 90+pick(50), 4000+pick(3)))
		c[12].SetString(row, fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64()))
		c[13].SetString(row, fmt.Sprintf("10.42.0.%d:8080", 10+r.IntN(8)))
		c[14].SetInt(row, status)
		c[15].SetFloat(row, math.Round(seconds*700)/1000)
		c[16].SetString(row, []string{"US", "DE", "IN", "GB", "FR", "BR"}[pick(6)])
		b.EndRow()
	}
	return b
}

// rawSize returns the size of the rows' values without encoding: 8 bytes for each number, and the bytes of strings.
func rawSize(b *Builder) int64 {
	n := 0
	for _, c := range b.Cols() {
		n += 8*len(c.fixed) + len(c.bytes)
	}
	return int64(n)
}

func BenchmarkEncode(b *testing.B) {
	for _, rows := range []int{1000, 8000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			rowsOf := accessLog(rows)
			b.SetBytes(rawSize(rowsOf))
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				dst = rowsOf.Encode(dst[:0], Header{TableID: 1})
			}
			b.ReportMetric(float64(rawSize(rowsOf))/float64(len(dst)), "ratio")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, rows := range []int{1000, 8000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			rowsOf := accessLog(rows)
			src := rowsOf.Encode(nil, Header{TableID: 1})
			size, err := InflatedSize(src)
			if err != nil {
				b.Fatal(err)
			}
			mem := make([]byte, size)
			b.SetBytes(rawSize(rowsOf))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(src, mem); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
