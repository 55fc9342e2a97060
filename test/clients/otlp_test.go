package clients

import (
	"context"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
)

// exporters returns the exporters of OpenTelemetry for Go.
func exporters(t *testing.T, s *server) map[string]sdklog.Exporter {
	t.Helper()
	ctx := t.Context()
	calls, err := otlploggrpc.New(ctx, otlploggrpc.WithEndpoint(s.calls), otlploggrpc.WithInsecure(),
		otlploggrpc.WithHeaders(map[string]string{"x-svc-log-table-name": "grpc"}), otlploggrpc.WithTimeout(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := otlploggrpc.New(ctx, otlploggrpc.WithEndpoint(s.calls), otlploggrpc.WithInsecure(),
		otlploggrpc.WithCompressor("gzip"),
		otlploggrpc.WithHeaders(map[string]string{"x-svc-log-table-name": "grpc_gzip"}),
		otlploggrpc.WithTimeout(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	http, err := otlploghttp.New(ctx, otlploghttp.WithEndpoint(s.otlp), otlploghttp.WithInsecure(),
		otlploghttp.WithCompression(otlploghttp.GzipCompression),
		otlploghttp.WithHeaders(map[string]string{"x-svc-log-table-name": "http"}))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]sdklog.Exporter{"grpc": calls, "grpc_gzip": packed, "http": http}
}

// emit sends the records with marks from first to last by the processor that programs use.
func emit(ctx context.Context, exporter sdklog.Exporter, first, last int) error {
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(keepOpen{exporter},
		sdklog.WithMaxQueueSize(Records))))
	logger := provider.Logger("clients")
	for i := first; i < last; i++ {
		var r log.Record
		r.SetTimestamp(time.Now())
		r.SetSeverity(log.SeverityInfo)
		r.SetBody(attribute.StringValue("a record"))
		r.AddAttributes(attribute.Int("mark", i))
		logger.Emit(ctx, r)
	}
	return provider.Shutdown(ctx)
}

// keepOpen is an exporter that outlives its processor.
type keepOpen struct{ sdklog.Exporter }

func (keepOpen) Shutdown(context.Context) error { return nil }

func TestOpenTelemetryGo(t *testing.T) {
	s := start(t)
	for table, exporter := range exporters(t, s) {
		t.Run(table, func(t *testing.T) {
			if err := emit(t.Context(), exporter, 0, Records); err != nil {
				t.Error(err)
			}
			s.check(table, "log_attributes->>'mark'")
		})
	}
}

// Records that are sent while the server is stopped and started again all arrive.
func TestOpenTelemetryGoRestart(t *testing.T) {
	s := start(t)
	all := exporters(t, s)
	done := make(chan error, 1)
	const half = Records / 2
	exporter := all["grpc"]
	if err := emit(t.Context(), exporter, 0, half); err != nil {
		t.Fatal(err)
	}
	s.end(syscall.SIGTERM)
	go func() { done <- emit(t.Context(), exporter, half, Records) }()
	s.run()
	if err := <-done; err != nil {
		t.Error(err)
	}
	s.check("grpc", "log_attributes->>'mark'")
}

// The server is killed while records come. The exporter sends again what was not answered, and with the header
// x-svc-dedupe nothing is there twice.
func TestOpenTelemetryGoKill(t *testing.T) {
	s := start(t)
	exporter, err := otlploggrpc.New(t.Context(), otlploggrpc.WithEndpoint(s.calls), otlploggrpc.WithInsecure(),
		otlploggrpc.WithHeaders(map[string]string{"x-svc-log-table-name": "killed", "x-svc-dedupe": "body"}),
		otlploggrpc.WithTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	const batch = 20
	done := make(chan error, 1)
	halfway := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; i < Records; i += batch {
			if i == Records/2 {
				close(halfway)
			}
			if err := emit(context.WithoutCancel(t.Context()), exporter, i, i+batch); err != nil {
				done <- err
				return
			}
		}
	}()
	<-halfway
	s.end(syscall.SIGKILL)
	s.run()
	if err := <-done; err != nil {
		t.Error(err)
	}
	s.check("killed", "log_attributes->>'mark'")
}
