package syslog

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cordwood/router/ingest"
	"cordwood/router/ingest/ingesttest"
	"cordwood/router/ingest/sockreceiver/socktest"
	"cordwood/router/pipeline"
	"cordwood/router/write"
)

// counting counts rows, and stores none.
type counting struct {
	ingest.Writer
	rows atomic.Int64
}

func (w *counting) WriteKeyed(_ context.Context, out *pipeline.Output, _ write.Key) (write.Result, error) {
	n := 0
	for _, t := range out.Tables {
		n += t.Count()
	}
	w.rows.Add(int64(n))
	return write.Result{Rows: n}, nil
}

// BenchmarkTCP sends messages over a connection until they are rows. lines/cpu-s counts all processor time of the
// process, including the client's.
func BenchmarkTCP(b *testing.B) {
	for _, c := range []struct{ name, message string }{
		{
			"rfc3164",
			"<%d>Jul  4 08:30:%02d web-%d nginx[%d]: 203.0.113.7 - - \"GET /api/v1/orders/%d HTTP/1.1\" 200 5316 \"-\" " +
				"\"curl/8.5.0\"\n",
		},
		{
			"rfc5424",
			"<%d>1 2024-07-04T08:30:%02d.123456Z web-%d nginx %d - - 203.0.113.7 - - \"GET /api/v1/orders/%d HTTP/1.1\" " +
				"200 5316\n",
		},
		{
			"rfc5424 with data",
			"<%d>1 2024-07-04T08:30:%02d.123456Z web-%d app %d ID47 [req@32473 id=\"%d\" user=\"ann\"] order stored\n",
		},
	} {
		b.Run(c.name, func(b *testing.B) {
			w := &counting{}
			f := socktest.New(b, func(cfg *ingest.Config) { w.Writer, cfg.Writer = cfg.Writer, w })
			f.Config.BatchDelay = 200 * time.Millisecond
			s, err := New(Config{Config: f.Config})
			if err != nil {
				b.Fatal(err)
			}
			client := socktest.Dial(b, "tcp", socktest.TCP(b, s))
			if err := client.SetDeadline(time.Time{}); err != nil {
				b.Fatal(err)
			}
			var text strings.Builder
			const lines = 10_000
			for i := range lines {
				fmt.Fprintf(&text, c.message, 8+i%184, i%60, i%20, 1000+i%50, i)
			}
			sent := int64(0)
			b.SetBytes(int64(text.Len()) / lines)
			start := ingesttest.CPU(b)
			b.ResetTimer()
			for ; sent < int64(b.N); sent += lines {
				socktest.Write(b, client, text.String())
			}
			socktest.Await(b, "all rows", func() bool { return w.rows.Load() == sent })
			b.ReportMetric(float64(sent)/(ingesttest.CPU(b)-start).Seconds(), "lines/cpu-s")
		})
	}
}
