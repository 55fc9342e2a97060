package node

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"cordwood/proto/tracing"
)

// traces sends spans to the collector.
type traces struct {
	tracer trace.Tracer // nil without traces
}

// openTracing starts to send traces if the settings request it. Otherwise there is no tracer, and traces have no
// cost.
func (n *node) openTracing() error {
	if !n.cfg.TracingOn(os.LookupEnv) {
		return nil
	}
	failures := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "cordwood_node_trace_export_failures_total",
		Help: "How often spans could not be sent to the collector; present only while traces are on.",
	})
	n.registry.MustRegister(failures)
	ctx := context.Background()
	var options []otlptracehttp.Option
	if e := n.cfg.Trace.Endpoint; e != "" {
		if u, err := url.Parse(e); err == nil && strings.Trim(u.Path, "/") == "" {
			e = strings.TrimRight(e, "/") + "/v1/traces" // as the OpenTelemetry specification defines the variable
		}
		options = append(options, otlptracehttp.WithEndpointURL(e))
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return fmt.Errorf("--trace-endpoint %s: %w", n.cfg.Trace.Endpoint, err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "cordwood"), attribute.String("service.version", n.proc.Version.Version),
		attribute.String("service.instance.id", n.data.nodeID), attribute.String("host.name", n.cfg.NodeName),
		attribute.String("cordwood.roles", strings.Join(n.cfg.Roles, ",")),
	), resource.WithFromEnv())
	if err != nil {
		return fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	// Spans that cannot be sent in time are dropped, because the batcher's queue is bounded.
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter, sdktrace.WithBatchTimeout(traceEvery)), sdktrace.WithResource(about),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(n.cfg.Trace.SampleRatio))),
	)
	limit := &logLimit{every: time.Minute}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		failures.Inc()
		if limit.now() {
			n.log.Warn("traces cannot be sent", "error", err)
		}
	}))
	n.traces.tracer = provider.Tracer(tracing.Name)
	n.onStop("traces", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, traceStop)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			n.log.Warn("the last spans were not sent", "error", err)
		}
		return nil
	})
	return nil
}

const (
	// traceEvery is the interval between sends of spans.
	traceEvery = time.Second
	// traceStop is the time limit of the last send.
	traceStop = 2 * time.Second
)

// logLimit limits how often a message is logged.
type logLimit struct {
	every time.Duration

	mu   sync.Mutex // guards last
	last time.Time
}

func (s *logLimit) now() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last.IsZero() && time.Since(s.last) < s.every {
		return false
	}
	s.last = time.Now()
	return true
}

// Between nodes, a trace is sent as W3C traceparent in the metadata of calls.

var w3c = propagation.TraceContext{}

// carrier is the metadata of a call.
type carrier metadata.MD

func (c carrier) Get(key string) string {
	if v := metadata.MD(c).Get(key); len(v) > 0 {
		return v[0]
	}
	return ""
}

func (c carrier) Set(key, value string) { metadata.MD(c).Set(key, value) }

func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	return keys
}

func outgoing(ctx context.Context) context.Context {
	if !tracing.Recording(ctx) {
		return ctx
	}
	md := carrier{}
	w3c.Inject(ctx, md)
	for k, v := range md {
		ctx = metadata.AppendToOutgoingContext(ctx, k, v[0])
	}
	return ctx
}

// dialOptions returns options that add the caller's trace to calls.
func (t traces) dialOptions() []grpc.DialOption {
	if t.tracer == nil {
		return nil
	}
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
			invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
		) error {
			return invoke(outgoing(ctx), method, req, reply, cc, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn,
			method string, streamer grpc.Streamer, opts ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			return streamer(outgoing(ctx), desc, cc, method, opts...)
		}),
	}
}

// serverOptions returns options that count calls, and start spans for calls with a trace.
func (t traces) serverOptions(calls *callMetrics) []grpc.ServerOption {
	unary, stream := []grpc.UnaryServerInterceptor{calls.unary}, []grpc.StreamServerInterceptor{calls.stream}
	if t.tracer != nil {
		unary = append(unary, func(ctx context.Context, req any, info *grpc.UnaryServerInfo,
			next grpc.UnaryHandler,
		) (any, error) {
			ctx, span := t.incoming(ctx, info.FullMethod)
			resp, err := next(ctx, req)
			span.End(err)
			return resp, err
		})
		stream = append(stream, func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo,
			next grpc.StreamHandler,
		) error {
			ctx, span := t.incoming(s.Context(), info.FullMethod)
			if span.On() {
				s = &tracedStream{s, ctx}
			}
			err := next(srv, s)
			span.End(err)
			return err
		})
	}
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(unary...), grpc.ChainStreamInterceptor(stream...)}
}

// incoming starts the span of a call, if its caller is traced.
func (t traces) incoming(ctx context.Context, method string) (context.Context, tracing.Span) {
	md, _ := metadata.FromIncomingContext(ctx)
	if len(md.Get("traceparent")) == 0 {
		return ctx, tracing.Span{}
	}
	remote := w3c.Extract(ctx, carrier(md))
	if !trace.SpanContextFromContext(remote).IsSampled() {
		return ctx, tracing.Span{}
	}
	ctx, span := t.tracer.Start(remote, methodName(method), trace.WithSpanKind(trace.SpanKindServer))
	return ctx, tracing.Of(span)
}

// tracedStream is a stream whose context has a span.
type tracedStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *tracedStream) Context() context.Context { return s.ctx }
