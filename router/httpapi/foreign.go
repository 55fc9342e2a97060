package httpapi

import (
	"slices"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/nearest"
)

// Paths of other systems, by which misconfigured shippers and query tools are recognised. The first match counts.
var foreignPaths = []struct {
	// path is the end of the request's path. If it ends with a slash, it may be anywhere in the request's path.
	path, protocol string
}{
	{"/loki/api/v1/push", "Loki's push API"},
	{"/loki/api/", "Loki's API"},
	{"/api/prom/push", "the push API of Loki's first versions, and Cortex' remote write"},
	{"/api/prom/", "the query API of Loki's first versions"},
	{"/_bulk", "Elasticsearch's bulk API"},
	{"/_msearch", "Elasticsearch's search API"},
	{"/_create/", "Elasticsearch's document API"},
	{"/_update/", "Elasticsearch's document API"},
	{"/_ingest/", "Elasticsearch's API of ingest pipelines"},
	{"/_data_stream/", "Elasticsearch's API of data streams"},
	{"/_component_template/", "Elasticsearch's API of index templates"},
	{"/_security/", "Elasticsearch's API of users"},
	{"/_nodes/", "Elasticsearch's cluster API"},
	{"/_search", "Elasticsearch's search API"},
	{"/_doc/", "Elasticsearch's document API"},
	{"/_doc", "Elasticsearch's document API"},
	{"/_cluster/", "Elasticsearch's cluster API"},
	{"/_cat/", "Elasticsearch's cat API"},
	{"/_ilm/", "Elasticsearch's API of index lifecycles"},
	{"/_index_template/", "Elasticsearch's API of index templates"},
	{"/_template/", "Elasticsearch's API of index templates"},
	{"/_xpack", "Elasticsearch's licence API"},
	{"/_license", "Elasticsearch's licence API"},
	{"/v1/logs", "OTLP over HTTP"},
	{"/opentelemetry.proto.collector.logs.v1.LogsService/Export", "OTLP over gRPC"},
	{"/v1/traces", "OTLP traces"},
	{"/v1/metrics", "OTLP metrics"},
	{"/services/collector/", "Splunk's HTTP event collector"},
	{"/services/collector", "Splunk's HTTP event collector"},
	{"/insert/", "VictoriaLogs' ingestion API"},
	{"/select/logsql/", "VictoriaLogs' query API"},
	{"/api/v2/logs", "Datadog's intake of logs"},
	{"/v1/input", "Datadog's intake of logs"},
	{"/v1/input/", "Datadog's intake of logs"},
	{"/api/v1/series", "Datadog's intake of metrics"},
	{"/api/v2/series", "Datadog's intake of metrics"},
	{"/api/v1/validate", "Datadog's check of an API key"},
	{"/api/v1/write", "Prometheus' remote write of metrics"},
	{"/api/v1/push", "Mimir's form of Prometheus' remote write of metrics"},
	{"/api/v1/receive", "Thanos' form of Prometheus' remote write of metrics"},
	{"/prometheus/write", "Prometheus' remote write of metrics"},
	{"/write", "InfluxDB's write API"}, // also matches /api/v2/write
	{"/api/v3/write_lp", "InfluxDB's write API"},
	{"/api/put", "OpenTSDB's write API of metrics"},
	{"/api/v2/spans", "Zipkin's API of traces"},
	{"/api/traces", "Jaeger's API of traces"},
	{"/log/v1", "New Relic's log API"},
	{"/api/v1/ingest/", "LogScale's ingestion API"},
	{"/_json", "OpenObserve's ingestion API"},
	{"/_multi", "OpenObserve's ingestion API"},
	{"/upload", "systemd-journal-upload"},
	{"/api/v1/query_range", "Prometheus' query API"},
	{"/api/v1/query", "Prometheus' query API"},
}

// noSuchPath returns the error for a path that does not exist. If the client seems to use another system's protocol,
// the error contains the protocol and what to use instead.
func noSuchPath(method, path, shown string, known []string) *errs.Error {
	if protocol, ok := foreignProtocol(path); ok {
		what := "which this server does not speak at this path"
		if strings.HasSuffix(protocol, "write API") || strings.HasSuffix(protocol, "of metrics") {
			what = "and this server accepts only logs: send Telegraf's records with outputs.loki, outputs.http or " +
				"outputs.elasticsearch"
		}
		return errs.New(errs.InvalidArguments,
			"no such path: %s %s. This looks like %s, %s: docs/ingestion.md lists the protocols that it accepts, "+
				"with their paths and ports, and has configurations for common shippers. "+
				"JSON lines go to POST /v1/ingest?table=NAME&pipeline_name=svc_identity, "+
				"queries to POST /v1/sql", method, shown, protocol, what)
	}
	return errs.New(errs.InvalidArguments, "no such path: %s %s%s; /v1/openapi.json describes the paths that exist",
		method, shown, likePath(path, known))
}

// maxNearPath is the longest path that is compared with existing ones.
const maxNearPath = 64

// likePath suggests an existing path that differs by a missing /v1, by a slash at the end, or in its spelling.
func likePath(path string, known []string) string {
	if len(path) > maxNearPath {
		return ""
	}
	trimmed := strings.TrimRight(path, "/")
	for _, like := range []string{trimmed, "/v1" + trimmed} {
		if slices.Contains(known, like) {
			return `; did you mean "` + like + `"?`
		}
	}
	return nearest.DidYouMean("; ", trimmed, known)
}

func foreignProtocol(path string) (name string, ok bool) {
	path = strings.TrimSuffix(path, "/")
	for _, f := range foreignPaths {
		if strings.HasSuffix(path, f.path) || strings.HasSuffix(f.path, "/") && strings.Contains(path+"/", f.path) {
			return f.protocol, true
		}
	}
	return "", false
}
