package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"
	"google.golang.org/protobuf/encoding/protowire"

	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/pipeline"
	"cordwood/router/write"
)

// recorded is a request that was recorded from a shipper that is not in a package registry. If the answer has another
// form, the shipper sends the request again or loses its records.
type recorded struct {
	name         string
	at           ingest.Protocol // the port; "" means the user port
	method, path string
	headers      []string // name, value, …
	body         string
	status       int
	answer       string // a part of it
	stored       string // table, rows and columns; "" means nothing
}

// gzipped returns the text compressed by gzip.
func gzipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // writing to a buffer never fails
	_ = z.Close()
	return b.String()
}

// pushed returns a body like those of Promtail and Grafana Alloy: one stream with two entries.
func pushed() string {
	message := func(to []byte, number protowire.Number, data []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(to, number, protowire.BytesType), data)
	}
	stream := message(nil, 1, []byte(`{filename="/var/log/app.log", job="shop"}`))
	for n := range 2 {
		at := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(1767607200+n))
		stream = message(stream, 2, message(message(nil, 1, at), 2, fmt.Appendf(nil, "line %d", n)))
	}
	return string(snappy.Encode(nil, message(nil, 1, stream)))
}

const (
	ndjson      = "application/x-ndjson"
	fluentBit   = "Fluent-Bit"
	elasticJSON = "application/json"
	event       = `"message":"GET /cart","host":{"name":"web1"},"log":{"offset":7},"agent":{"type":"filebeat"}`
)

var shipped = []recorded{
	{
		name: "Filebeat asks for the version",
		at:   ingest.Elasticsearch, method: "GET", path: "/", status: 200, answer: `"number":"8.16.0"`,
	},
	{
		name: "Filebeat asks for the license",
		at:   ingest.Elasticsearch, method: "GET", path: "/_license?human=false", status: 200, answer: `"status":"active"`,
	},
	{
		name: "Filebeat looks for its template",
		at:   ingest.Elasticsearch, method: "HEAD", path: "/_index_template/filebeat-8.16.0", status: 200,
	},
	{
		name: "Filebeat sets a policy up",
		at:   ingest.Elasticsearch, method: "PUT", path: "/_ilm/policy/filebeat", body: `{"policy":{}}`,
		status: 200, answer: `"acknowledged":true`,
	},
	{
		name: "Filebeat", at: ingest.Elasticsearch, method: "POST",
		path: "/_bulk?filter_path=errors%2Citems.%2A.error%2Citems.%2A.status",
		headers: []string{
			"Content-Type", "application/json; charset=UTF-8", "Content-Encoding", "gzip", "Accept", "application/json",
			"X-Elastic-Product-Origin", "observability", "User-Agent", "Elastic-filebeat/8.16.0 (linux; amd64)",
		},
		body: gzipped(strings.Repeat(`{"create":{"_index":"filebeat-8.16.0"}}`+"\n"+
			`{"@timestamp":"2026-01-05T10:00:00.000Z",`+event+"}\n", 2)),
		status: 200, answer: `{"errors":false,"items":[{"create":{"status":201}},{"create":{"status":201}}]}`,
		stored: "public.filebeat-8.16.0 2",
	},
	{
		name: "Filebeat 7, with types", at: ingest.Elasticsearch, method: "POST", path: "/_bulk",
		headers: []string{"Content-Type", "application/json; charset=UTF-8"},
		body: `{"index":{"_index":"filebeat-7.17.0-2026.01.05-000001","_type":"_doc"}}` + "\n" +
			`{"@timestamp":"2026-01-05T10:00:00.000Z",` + event + "}\n",
		status: 200, answer: `"status":201`, stored: "public.filebeat-7.17.0-2026.01.05 1",
	},
	{
		name: "Logstash", at: ingest.Elasticsearch, method: "POST",
		path:    "/_bulk?filter_path=errors,items.*.error,items.*.status",
		headers: []string{"Content-Type", elasticJSON, "x-elastic-product-origin", "logstash-output-elasticsearch"},
		body: `{"create":{"_id":null,"_index":"logs-generic-default","routing":null}}` + "\n" +
			`{"@timestamp":"2026-01-05T10:00:00.000Z","@version":"1","event":{"original":"GET /cart"}}` + "\n",
		status: 200, answer: `{"create":{"status":201}}`, stored: "public.logs-generic-default 1",
	},
	{
		name: "Logstash asks for its license",
		at:   ingest.Elasticsearch, method: "GET", path: "/_license", status: 200, answer: `"type":"basic"`,
	},
	{
		name: "Fluent Bit, es", at: ingest.Elasticsearch, method: "POST", path: "/_bulk",
		headers: []string{"Content-Type", ndjson, "User-Agent", fluentBit},
		body: `{"create":{"_index":"shop"}}` + "\n" + `{"@timestamp":"2026-01-05T10:00:00.000Z","log":"GET /cart"}` + "\n" +
			`{"create":{"_index":"shop"}}` + "\n" + `{"@timestamp":"2026-01-05T10:00:00.500Z","log":"GET /"}` + "\n",
		status: 200, answer: `"errors":false`, stored: "public.shop 2",
	},
	{
		name: "Vector looks at the health",
		at:   ingest.Elasticsearch, method: "GET", path: "/_cluster/health", status: 200, answer: `"status":"green"`,
	},
	{
		name: "Vector, elasticsearch with a data stream", method: "POST", path: "/v1/elasticsearch/_bulk?timeout=60s",
		headers: []string{"Content-Type", ndjson, "Content-Encoding", "gzip", "User-Agent", "Vector/0.41.1"},
		body: gzipped(`{"create":{"_index":"logs-app-prod","_type":"_doc"}}` + "\n" +
			`{"@timestamp":"2026-01-05T10:00:00Z","data_stream":{"dataset":"app","type":"logs"},"message":"m"}` + "\n"),
		status: 200, answer: `"errors":false`, stored: "public.logs-app-prod 1",
	},
	{
		name: "Promtail", at: ingest.Loki, method: "POST", path: "/loki/api/v1/push",
		headers: []string{"Content-Type", "application/x-protobuf", "User-Agent", "promtail/3.2.0", "X-Scope-OrgID", "f"},
		body:    pushed(), status: 204, stored: "public.loki_logs 2",
	},
	{
		name: "Fluent Bit, loki", method: "POST", path: "/loki/api/v1/push",
		headers: []string{"Content-Type", "application/json", "User-Agent", fluentBit, "Content-Encoding", "gzip"},
		body: gzipped(`{"streams":[{"stream":{"job":"fluent-bit"},"values":` +
			`[["1767607200000000000","{\"log\":\"GET /cart\"}"]]}]}`),
		status: 204, stored: "public.loki_logs 1",
	},
	{name: "Vector, loki, asks whether it is ready", method: "GET", path: "/ready", status: 200},
	{
		name: "Vector, loki", method: "POST", path: "/loki/api/v1/push",
		headers: []string{"Content-Type", "application/x-protobuf", "User-Agent", "Vector/0.41.1"}, body: pushed(),
		status: 204,
		stored: "public.loki_logs 2",
	},
	{
		name: "Fluent Bit, splunk", at: ingest.Splunk, method: "POST", path: "/services/collector/event",
		headers: []string{"Authorization", "Splunk ship:SECRET", "User-Agent", fluentBit, "Content-Encoding", "gzip"},
		body:    gzipped(`{"time":1767607200.5,"event":{"log":"GET /cart"}}{"time":1767607201.0,"event":{"log":"GET /"}}`),
		status:  200, answer: `{"text":"Success","code":0}`, stored: "public.splunk_logs 2",
	},
	{
		name: "Vector, splunk, looks at the health",
		at:   ingest.Splunk, method: "GET", path: "/services/collector/health/1.0", status: 200,
	},
	{
		name: "Vector, splunk", at: ingest.Splunk, method: "POST", path: "/services/collector/event",
		headers: []string{
			"Content-Type", "application/json", "Authorization", "Splunk ship:SECRET",
			"X-Splunk-Request-Channel", "8b5d6ac1-8f0c-4a7e-9a55-6a7f6f8c7f11",
		},
		body:   `{"event":{"message":"GET /cart"},"fields":{},"time":1767607200.500,"host":"web1"}`,
		status: 200, answer: `{"text":"Success","code":0,"ackId":`, stored: "public.splunk_logs 1",
	},
	{
		name: "Vector asks for acknowledgements", at: ingest.Splunk, method: "POST", path: "/services/collector/ack",
		headers: []string{"X-Splunk-Request-Channel", "8b5d6ac1-8f0c-4a7e-9a55-6a7f6f8c7f11"},
		body:    `{"acks":[1767607200500000]}`, status: 200, answer: `{"acks":{"1767607200500000":true}}`,
	},
	{
		name: "Fluent Bit, http", method: "POST", path: "/v1/ingest?table=app&pipeline_name=svc_identity",
		headers: []string{"Content-Type", ndjson, "User-Agent", fluentBit},
		body: `{"date":"2026-01-05T10:00:00.000000Z","log":"one"}` + "\n" +
			`{"date":"2026-01-05T10:00:01.000000Z","log":"two"}`,
		status: 200, answer: `"affectedrows":2`, stored: "public.app 2",
	},
	{
		name: "Vector, http", method: "POST", path: "/v1/ingest?table=app&pipeline_name=svc_identity",
		headers: []string{"Content-Type", "application/json", "User-Agent", "Vector/0.41.1"},
		body:    `[{"file":"app.log","host":"web1","message":"one","timestamp":"2026-01-05T10:00:00Z"},{"message":"two"}]`,
		status:  200, answer: `"affectedrows":2`, stored: "public.app 2",
	},
	{name: "Vector, http, looks at the health", method: "GET", path: "/health", status: 200},
	{
		name: "Vector, datadog_logs", method: "POST", path: "/api/v2/logs",
		headers: []string{
			"Content-Type", "application/json", "DD-API-KEY", "ship:SECRET", "DD-EVP-ORIGIN", "vector",
			"Content-Encoding", "gzip",
		},
		body:   gzipped(`[{"message":"GET /cart","timestamp":1767607200500,"ddtags":"env:test","hostname":"web1"}]`),
		status: 202, stored: "public.datadog_logs 1",
	},
	{
		name: "Docker, splunk, looks at the path", method: "OPTIONS", path: "/v1/splunk/services/collector/event/1.0",
		status: 200,
	},
	{
		name: "Docker, splunk", method: "POST", path: "/v1/splunk/services/collector/event/1.0",
		headers: []string{"Authorization", "Splunk ship:SECRET", "Content-Encoding", "gzip"},
		body: gzipped(`{"event":{"line":"GET /cart","source":"stdout","tag":"0f3a"},"time":"1767607200.5","host":"web1"}` +
			`{"event":{"line":{"a":1},"source":"stdout","tag":"0f3a"},"time":"1767607201.000000","host":"web1"}`),
		status: 200, answer: `"code":0`, stored: "public.splunk_logs 2",
	},
}

// TestRecordedRequests checks that requests of shippers that cannot be installed here are stored and get the expected
// answers.
func TestRecordedRequests(t *testing.T) {
	for _, r := range shipped {
		t.Run(r.name, func(t *testing.T) {
			f := newFixture(t)
			var stored []string
			f.writer.answer = func(_ context.Context, _ int, out *pipeline.Output) (write.Result, error) {
				var res write.Result
				for _, table := range out.Tables {
					stored = append(stored, fmt.Sprintf("%s.%s %d", table.Database, table.Table, table.Rows.Rows()))
					res.Rows += table.Rows.Rows()
					res.Groups = append(res.Groups, write.Group{AffectedRows: table.Rows.Rows()})
				}
				return res, nil
			}
			h := f.Handler()
			if r.at != "" {
				var err error
				if h, err = f.ReceiverHandler(r.at, httpreceiver.Receiver{}); err != nil {
					t.Fatal(err)
				}
			}
			req := httptest.NewRequest(r.method, r.path, strings.NewReader(r.body))
			for pair := range slices.Chunk(r.headers, 2) {
				req.Header.Set(pair[0], pair[1])
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req)
			if got := strings.Join(stored, ", "); w.Code != r.status || !strings.Contains(w.Body.String(), r.answer) ||
				got != r.stored {
				t.Errorf("%d %s\nstored %q, want %q", w.Code, w.Body, got, r.stored)
			}
			if r.at == ingest.Elasticsearch && w.Header().Get("X-Elastic-Product") == "" {
				t.Error("the answer does not name the product")
			}
			if r.status == http.StatusNoContent && w.Body.Len() > 0 {
				t.Errorf("a body: %s", w.Body)
			}
		})
	}
}
