package clients

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
)

// marks calls do with each mark of a job, at the pace of the job.
func (j job) marks(do func(mark int)) {
	for mark := j.first; mark < j.last; mark++ {
		do(mark)
		if j.pause > 0 && mark%20 == 19 {
			time.Sleep(j.pause)
		}
	}
}

// level returns the level of the record with a mark.
func level(mark int) string {
	if mark%10 == 0 {
		return "error"
	}
	return "info"
}

// emit sends records through a batch processor, as programs do.
func emit(ctx context.Context, exporter sdklog.Exporter, j job) error {
	provider := sdklog.NewLoggerProvider(
		sdklog.WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"))),
		sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter, sdklog.WithMaxQueueSize(2*Records),
			sdklog.WithExportMaxBatchSize(100), sdklog.WithExportInterval(200*time.Millisecond),
			sdklog.WithExportTimeout(time.Minute))))
	logger := provider.Logger("clients")
	j.marks(func(mark int) {
		var r log.Record
		r.SetTimestamp(time.Now())
		r.SetSeverity(log.SeverityInfo)
		r.SetSeverityText(level(mark))
		r.SetBody(attribute.StringValue("a record"))
		r.AddAttributes(attribute.Int("mark", mark))
		logger.Emit(ctx, r)
	})
	return provider.Shutdown(ctx)
}

// byGRPC sends OTLP over gRPC.
func byGRPC(headers map[string]string, options ...otlploggrpc.Option) func(*server, job) error {
	return func(s *server, j job) error {
		ctx := context.WithoutCancel(s.t.Context())
		exporter, err := otlploggrpc.New(ctx, append(options, otlploggrpc.WithEndpoint(s.calls), otlploggrpc.WithInsecure(),
			otlploggrpc.WithHeaders(headers), otlploggrpc.WithTimeout(time.Minute))...)
		if err != nil {
			return err
		}
		return emit(ctx, exporter, j)
	}
}

// byHTTP sends OTLP over HTTP.
func byHTTP(s *server, j job) error {
	ctx := context.WithoutCancel(s.t.Context())
	exporter, err := otlploghttp.New(ctx, otlploghttp.WithEndpoint(s.otlp), otlploghttp.WithInsecure(),
		otlploghttp.WithCompression(otlploghttp.GzipCompression), otlploghttp.WithTimeout(time.Minute),
		otlploghttp.WithHeaders(map[string]string{"x-svc-log-table-name": "records"}))
	if err != nil {
		return err
	}
	return emit(ctx, exporter, j)
}

var goClients = []client{
	{
		name: "otlploggrpc", send: byGRPC(map[string]string{"x-svc-log-table-name": "records"}), table: "records",
		mark: markOfOTLP, at: "timestamp", columns: ofOTLP, again: itself, doubles: true,
	},
	{
		name:  "otlploggrpc-dedupe",
		send:  byGRPC(map[string]string{"x-svc-log-table-name": "records", "x-svc-dedupe": "body"}),
		table: "records", mark: markOfOTLP, at: "timestamp", columns: ofOTLP, again: itself,
	},
	{
		name:  "otlploggrpc-gzip",
		send:  byGRPC(map[string]string{"x-svc-log-table-name": "records"}, otlploggrpc.WithCompressor("gzip")),
		table: "records", mark: markOfOTLP, at: "timestamp", columns: ofOTLP, again: itself, doubles: true,
	},
	{
		name: "otlploghttp", send: byHTTP, table: "records", mark: markOfOTLP, at: "timestamp", columns: ofOTLP,
		again: itself, doubles: true, outage: true,
	},
}

// libraries are in a separate program, because it takes long to build.
var libraries = []client{
	documents("elasticsearch-7-indexer", programs, false),
	documents("elasticsearch-8-indexer", programs, false),
	documents("elasticsearch-9-indexer", programs, false),
	documents("opensearch-indexer", programs, false),
	documents("olivere-bulk", programs, false),
	{
		name: "fluent-logger-golang", address: (*server).fluentAddr, table: "fluent_logs", mark: "mark",
		columns: ofFluentd, again: programs, doubles: true, socket: true, often: true,
	},
	{
		name: "go-gelf-udp", address: (*server).gelfAddr, table: "gelf_logs", mark: "mark", columns: ofGELF, again: nobody,
		datagrams: true,
	},
	{
		name: "srslog-tcp", address: (*server).syslogAddr, table: "syslog", mark: markInText,
		columns: ofSyslog + ` AND msgid = 'shop'`, again: nobody,
	},
	{
		name: "loki-client-go", address: (*server).lokiAddr, table: "loki_logs",
		mark:    `regexp_extract(line, 'mark=(\d+)', 1)`,
		columns: `app = 'shop' AND level = LEVEL`, again: itself,
	},
	{
		name: "slog-loki", address: (*server).lokiAddr, table: "loki_logs", mark: `regexp_extract(line, 'mark=(\d+)', 1)`,
		columns: `app = 'shop' AND lower(level) = LEVEL`, again: itself,
	},
	{
		name: "otelslog", address: (*server).otlpAddr, table: "records", mark: markOfOTLP, at: "timestamp",
		columns: ofOTLP, again: itself, doubles: true,
	},
}

func TestGo(t *testing.T) {
	run(t, goClients, nil)
}

func TestGoLibraries(t *testing.T) {
	golang.need(t, "golang", "go build -o golang .")
	run(t, libraries, program(filepath.Join("golang", "golang")))
}
