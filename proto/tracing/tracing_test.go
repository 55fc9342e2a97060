package tracing

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestOff(t *testing.T) {
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() {
		inner, span := Start(ctx, "stage")
		span.Text("k", "v")
		span.Number("n", 1)
		span.End(nil)
		if inner != ctx || span.On() || Recording(inner) || Carry(ctx, inner) != ctx {
			t.Fatal("there is a span without a trace")
		}
	}); n != 0 {
		t.Errorf("without a trace a stage allocates %v times", n)
	}
}

func TestSpans(t *testing.T) {
	seen := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(seen))
	root, top := provider.Tracer(Name).Start(context.Background(), "request")
	ctx, span := Start(root, "stage")
	span.Text("text", strings.Repeat("x", 1000))
	span.Number("rows", 7)
	carried := Carry(context.Background(), ctx)
	_, below := Start(carried, "below")
	below.End(nil)
	span.End(errors.New("it failed"))
	top.End()

	ended := seen.Ended()
	if len(ended) != 3 || ended[0].Name() != "below" || ended[1].Name() != "stage" {
		t.Fatalf("spans: %v", ended)
	}
	for _, s := range ended {
		if s.SpanContext().TraceID() != top.SpanContext().TraceID() {
			t.Errorf("%s is of another trace", s.Name())
		}
	}
	if ended[0].Parent().SpanID() != ended[1].SpanContext().SpanID() ||
		ended[1].Parent().SpanID() != top.SpanContext().SpanID() {
		t.Error("the spans are not nested")
	}
	if s := ended[1].Status(); s.Code != codes.Error || s.Description != "it failed" {
		t.Errorf("the failed stage has status %v", s)
	}
	for _, a := range ended[1].Attributes() {
		if a.Key == "text" && len(a.Value.AsString()) > maxText+3 {
			t.Errorf("a text of %d bytes was kept", len(a.Value.AsString()))
		}
	}
}
