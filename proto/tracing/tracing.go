// Package tracing lets all parts of the program take part in a trace: the context has the current
// span, and each stage starts a span below it. Callers do not know whether traces are enabled.
// Without a sampled span in the context, nothing is created and nothing is allocated.
//
// The node decides where a trace starts, how it crosses the network, and where spans are sent.
package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Name is the name of the instrumentation in spans.
const Name = "cordwood"

// Span is one stage of a trace. The zero Span belongs to no trace, and its methods do nothing. One
// goroutine at a time uses a Span.
type Span struct{ span trace.Span }

// Start starts a span below the span of ctx. The caller must end it.
func Start(ctx context.Context, name string) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, Span{}
	}
	ctx, span := parent.TracerProvider().Tracer(Name).Start(ctx, name)
	return ctx, Span{span}
}

// Of returns a Span for a span that the caller has started itself.
func Of(span trace.Span) Span {
	if span == nil || !span.IsRecording() {
		return Span{}
	}
	return Span{span}
}

// On reports whether the span is recorded.
func (s Span) On() bool { return s.span != nil }

// Text adds a text attribute.
func (s Span) Text(key, value string) {
	if s.span != nil {
		s.span.SetAttributes(attribute.String(key, cut(value)))
	}
}

// Number adds a number attribute.
func (s Span) Number(key string, value int64) {
	if s.span != nil {
		s.span.SetAttributes(attribute.Int64(key, value))
	}
}

// End ends the span, as failed if there is an error.
func (s Span) End(err error) {
	if s.span == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, cut(err.Error()))
	}
	s.span.End()
}

// maxText is the maximum length of a text in a span, in bytes.
const maxText = 512

func cut(text string) string {
	if len(text) > maxText {
		return text[:maxText] + "…"
	}
	return text
}

// Carry returns ctx with the span of from, if from has one. It is for work that several callers
// wait for, and that must not end when one of them ends.
func Carry(ctx, from context.Context) context.Context {
	if span := trace.SpanFromContext(from); span.IsRecording() {
		return trace.ContextWithSpan(ctx, span)
	}
	return ctx
}

// Recording reports whether the context belongs to a trace that is recorded.
func Recording(ctx context.Context) bool { return trace.SpanFromContext(ctx).IsRecording() }
