package datadog

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"cordwood/router/ingest/ingesttest"
)

// BenchmarkLogs stores bodies as the agent sends them. records/cpu-s counts all processor time of the process. The
// bodies have a key, so that the store in memory keeps their rows only once.
func BenchmarkLogs(b *testing.B) {
	logs := make([]string, 1000)
	for i := range logs {
		logs[i] = fmt.Sprintf(`{"message":"GET /api/v1/orders/%d 200 5316 \"curl/8.5.0\"","status":"info","timestamp":%d,`+
			`"hostname":"web-%d","service":"shop","ddsource":"nginx",`+
			`"ddtags":"env:prod,team:a,pod_name:shop-%d,image_name:nginx"}`, i, 1720081858123+i, i%20, i%8)
	}
	body := "[" + strings.Join(logs, ",") + "]"
	d, _ := receiver(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	start := ingesttest.CPU(b)
	for b.Loop() {
		if w := send(d, "/api/v2/logs", body, "x-svc-dedupe", "body"); w.Code != http.StatusAccepted {
			b.Fatal(w.Code, w.Body)
		}
	}
	b.ReportMetric(float64(b.N)*float64(len(logs))/(ingesttest.CPU(b)-start).Seconds(), "records/cpu-s")
}
