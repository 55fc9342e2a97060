package firehose

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"cordwood/router/ingest/ingesttest"
)

// BenchmarkDeliver stores bodies as Firehose sends them. records/cpu-s counts rows, and all processor time of the
// process. The requests have a key, so that the store in memory keeps them once.
func BenchmarkDeliver(b *testing.B) {
	const rows = 1000
	var lines, events []string
	for i := range rows {
		message := fmt.Sprintf("GET /api/v1/orders/%d 200 5316", i)
		lines = append(lines, fmt.Sprintf(`{"timestamp":%d,"host":"web-%d","status":200,"message":"%s"}`+"\n",
			1720081858123+i, i%20, message))
		events = append(events, fmt.Sprintf(`{"id":"%056d","timestamp":%d,"message":"%s"}`, i, 1720081858123+i, message))
	}
	for _, c := range []struct{ name, body string }{
		{"a record for each line", request(lines...)},
		{"lines", request(strings.Join(lines, ""))},
		{
			"CloudWatch Logs", request(gzipped(`{"messageType":"DATA_MESSAGE","owner":"123456789012",` +
				`"logGroup":"/aws/lambda/shop","logStream":"2024/07/04/0f3a","subscriptionFilters":["all"],"logEvents":[` +
				strings.Join(events, ",") + "]}")),
		},
	} {
		b.Run(c.name, func(b *testing.B) {
			d, st := receiver(b)
			b.SetBytes(int64(len(c.body)))
			b.ReportAllocs()
			start := ingesttest.CPU(b)
			for b.Loop() {
				if w := send(d, "/v1/firehose", c.body); w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body)
				}
			}
			b.ReportMetric(float64(b.N)*rows/(ingesttest.CPU(b)-start).Seconds(), "records/cpu-s")
			if n := len(st.Rows("public.firehose_logs")); n != rows {
				b.Errorf("%d rows", n)
			}
		})
	}
}
