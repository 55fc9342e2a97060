package pipeline

import (
	"bytes"
	"testing"

	"cordwood/proto/column"
)

// benchmarkBatch measures the work on a body's rows after scanning: they are encoded, decompressed and checked.
func benchmarkBatch(b *testing.B, body []byte, rows int, decode bool) {
	q := request()
	q.Catalog = created(b, body)
	runner, err := NewIdentity(q)
	if err != nil {
		b.Fatal(err)
	}
	defer runner.Release()
	for line := range bytes.Lines(body) {
		if err := runner.ScanLine(line); err != nil {
			b.Fatal(err)
		}
	}
	out, err := runner.Finish()
	if err != nil {
		b.Fatal(err)
	}
	builder := out.Tables[0].Rows
	encoded := builder.Encode(nil, column.Header{TableID: 1})
	size, err := column.InflatedSize(encoded)
	if err != nil {
		b.Fatal(err)
	}
	mem := make([]byte, size)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if decode {
			if _, err := column.Decode(encoded, mem); err != nil {
				b.Fatal(err)
			}
			continue
		}
		encoded = builder.Encode(encoded[:0], column.Header{TableID: 1})
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(len(encoded))/float64(len(body)), "bytes/raw")
}

func BenchmarkEncodeNginx(b *testing.B) { benchmarkBatch(b, accessLines(1000), 1000, false) }
func BenchmarkEncodeApp(b *testing.B)   { benchmarkBatch(b, appLines(1000), 1000, false) }
func BenchmarkDecodeNginx(b *testing.B) { benchmarkBatch(b, accessLines(1000), 1000, true) }
func BenchmarkDecodeApp(b *testing.B)   { benchmarkBatch(b, appLines(1000), 1000, true) }
