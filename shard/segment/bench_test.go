package segment

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/vfs"
)

// accessLog returns batches of 1000 rows that resemble a web server's access log in JSON.
func accessLog(tb testing.TB, rows int) (*schema.Table, []*column.Batch) {
	tab := tableOf(tb, "svc_timestamp:TimestampNanosecond:TIMESTAMP", "bytes:Int64", "geo.country:String", "host:String",
		"method:String", "path:String",
		"protocol:String", "referer:String", "remote_addr:String", "request_id:String", "request_time:Float64",
		"status:Int64", "time:String",
		"upstream.addr:String", "upstream.response_time:Float64", "upstream.status:Int64", "user_agent:String",
		"tls:Boolean", "port:Int64")
	r := rand.New(rand.NewPCG(1, 1))
	zipf := func(most uint64) func() uint64 {
		z := rand.NewZipf(r, 1.1, 8, most)
		return z.Uint64
	}
	path, addr, agent, country := zipf(100_000), zipf(50_000), zipf(300), zipf(40)
	at := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	var batches []*column.Batch
	for from := 0; from < rows; from += 1000 {
		var b column.Builder
		var cols []*column.Col
		for _, c := range tab.Columns {
			cols = append(cols, b.Add(c))
		}
		for i := range min(1000, rows-from) {
			at = at.Add(time.Duration(r.IntN(10)) * time.Millisecond)
			n, a := path(), addr()
			status, taken := []int64{200, 200, 200, 200, 200, 304, 404, 500}[r.IntN(8)], r.ExpFloat64()/20
			values := []any{
				at.UnixNano(), int64(1000 + r.ExpFloat64()*20_000), fmt.Sprintf("C%d", country()),
				fmt.Sprintf("edge-%02d.fra.example.com", r.IntN(12)),
				[]string{"GET", "GET", "GET", "POST"}[r.IntN(4)], fmt.Sprintf("/api/v2/items/%d/parts/%d", n, n%7), "HTTP/1.1",
				fmt.Sprintf("https://www.example.com/%d", r.IntN(20)),
				fmt.Sprintf("%d.%d.%d.%d", a*7919%223, a*104729%256, a%256, a/256),
				fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64()), float64(int(taken*1000)) / 1000, status,
				at.Format("2006-01-02T15:04:05.000Z"), fmt.Sprintf("10.42.0.%d:8080", r.IntN(32)),
				float64(int(taken*900)) / 1000, status,
				fmt.Sprintf("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/%d.0.0.0", agent()),
				int64(r.IntN(2)), int64(443),
			}
			for c, v := range values {
				switch v := v.(type) {
				case int64:
					cols[c].SetInt(i, v)
				case float64:
					cols[c].SetFloat(i, v)
				case string:
					cols[c].SetString(i, v)
				}
			}
			b.EndRow()
		}
		b.Finish()
		batch, err := column.Decode(b.Encode(nil, column.Header{TableID: tab.ID}), nil)
		if err != nil {
			tb.Fatal(err)
		}
		batches = append(batches, batch)
	}
	return tab, batches
}

// cpu returns the CPU time that the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

const benchRows = 2 * DefaultRowGroupRows

// BenchmarkWrite measures writing a segment of 19 columns.
func BenchmarkWrite(b *testing.B) {
	tab, batches := accessLog(b, benchRows)
	cfg := Config{FS: vfs.OS, Dir: b.TempDir(), NextID: func() uint64 { return 1 }}
	var size int64
	b.ReportAllocs()
	start := cpu()
	for b.Loop() {
		metas, err := Write(cfg, tab, batches)
		if err != nil {
			b.Fatal(err)
		}
		size = metas[0].Bytes
	}
	b.ReportMetric(float64(benchRows)*float64(b.N)/(cpu()-start).Seconds(), "rows/cpu-s")
	b.ReportMetric(float64(size)/benchRows, "bytes/row")
}

// BenchmarkRead measures reading such a segment.
func BenchmarkRead(b *testing.B) {
	tab, batches := accessLog(b, benchRows)
	dir := b.TempDir()
	m := write(b, dir, tab, batches...)[0]
	b.ReportAllocs()
	start := cpu()
	for b.Loop() {
		r, err := Open(vfs.OS, filepath.Join(dir, FileName(m.ID)), &m)
		if err != nil {
			b.Fatal(err)
		}
		for {
			if _, err := r.Next(8192); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(benchRows)*float64(b.N)/(cpu()-start).Seconds(), "rows/cpu-s")
}
