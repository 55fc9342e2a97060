package httpapi

import (
	"strings"
	"testing"

	"cordwood/proto/errs"
)

// TestForeignPaths checks that the error for a path of another system contains the protocol that the client uses and
// what to use instead.
func TestForeignPaths(t *testing.T) {
	f := newFixture(t)
	for path, protocol := range map[string]string{
		"/x/loki/api/v1/push":        "Loki's push API",
		"/loki/api/v1/query_range":   "Loki's API",
		"/loki/api/v1/pushed":        "Loki's API",
		"/_bulkk":                    "",
		"/_bulk":                     "Elasticsearch's bulk API",
		"/logs-2026.11/_bulk/":       "Elasticsearch's bulk API",
		"/logs/_doc/17":              "Elasticsearch's document API",
		"/_ilm/policy/filebeat":      "index lifecycles",
		"/services/collector/event":  "Splunk's HTTP event collector",
		"/services/collector":        "Splunk's HTTP event collector",
		"/insert/jsonline":           "VictoriaLogs' ingestion API",
		"/x/api/v2/logs":             "Datadog's intake of logs",
		"/api/prom/push":             "Loki's first versions",
		"/api/prom/label":            "Loki's first versions",
		"/api/v1/push":               "Prometheus' remote write",
		"/api/v1/write":              "Prometheus' remote write",
		"/v1/prometheus/write":       "Prometheus' remote write",
		"/write":                     "InfluxDB's write API",
		"/api/v2/write":              "InfluxDB's write API",
		"/api/v3/write_lp":           "InfluxDB's write API",
		"/otlp/v1/logs":              "OTLP over HTTP",
		"/x/v1/input/0123456789abcd": "Datadog's intake of logs",
		"/api/v2/series":             "Datadog's intake of metrics",
		"/api/default/app/_json":     "OpenObserve's ingestion API",
		"/_ingest/pipeline/nginx":    "ingest pipelines",
		"/opentelemetry.proto.collector.logs.v1.LogsService/Export": "OTLP over gRPC",
		"/v1/nope":                       "",
		"/v1/pipelines_/x":               "",
		"/" + strings.Repeat("a/", 4000): "",
	} {
		text := checkError(t, f.call("POST", path, "{}"), 404, errs.InvalidArguments)
		if protocol == "" {
			if !strings.Contains(text, "/v1/openapi.json") || len(text) > 400 {
				t.Errorf("%.60s: %s", path, text)
			}
			continue
		}
		if !strings.Contains(text, protocol) || !strings.Contains(text, "/v1/ingest?table=NAME") {
			t.Errorf("%s: %s; want %s", path, text, protocol)
		}
	}
}

// TestMetricsAreRefused checks that the error for senders of metrics says how to send their records as logs.
func TestMetricsAreRefused(t *testing.T) {
	for _, path := range []string{
		"/v1/influxdb/write", "/v1/influxdb/api/v2/write", "/v1/prometheus/write", "/v1/opentsdb/api/put",
	} {
		text := noSuchPath("POST", path, path, nil).Error()
		for _, output := range []string{"outputs.loki", "outputs.http", "outputs.elasticsearch"} {
			if !strings.Contains(text, output) {
				t.Errorf("%s: %s", path, text)
			}
		}
	}
}

// TestNearPaths checks that the error suggests the path that was probably meant.
func TestNearPaths(t *testing.T) {
	f := newPipelineFixture(t)
	for path, want := range map[string]string{
		"/ingest":               `did you mean \"/v1/ingest\"?`,
		"/health/":              `did you mean \"/health\"?`,
		"/v1/ingets":            `did you mean \"/v1/ingest\"?`,
		"/pipelines":            `did you mean \"/v1/pipelines\"?`,
		"/v1/nothing/like/this": "no such path: POST /v1/nothing/like/this; /v1/openapi.json",
	} {
		if text := f.call("POST", path, "{}").Body.String(); !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s", path, text, want)
		}
	}
}
