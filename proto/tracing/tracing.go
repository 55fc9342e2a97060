// Package tracing is how all parts take part in a trace: the span of what runs travels in
// the context, and each stage of it begins a span below that one. Callers do not learn whether
// traces are on. Without a span in the context, or with one that is not sampled, nothing is made
// and nothing is allocated.
//
// Where a trace begins, how it crosses the network and where spans go is the node's matter.
package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Name is the name of the instrumentation in spans.
const Name = "cordwood"

// Span is one stage of a trace. The zero Span belongs to no trace. Its methods do nothing
// then. A Span is used by one goroutine at a time.
type Span struct{ span trace.Span }

// Start begins a span below the span of ctx. The caller must end it.
func Start(ctx context.Context, name string) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, Span{}
	}
	ctx, span := parent.TracerProvider().Tracer(Name).Start(ctx, name)
	return ctx, Span{span}
}

// Of returns a span that the caller has begun by itself.
func Of(span trace.Span) Span {
	if span == nil || !span.IsRecording() {
		return Span{}
	}
	return Span{span}
}

// On reports whether there is anything to note.
func (s Span) On() bool { return s.span != nil }

// Text notes a fact.
func (s Span) Text(key, value string) {
	if s.span != nil {
		s.span.SetAttributes(attribute.String(key, cut(value)))
	}
}

// Number notes a number.
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

// maxText bounds a text in a span, in bytes.
const maxText = 512

func cut(text string) string {
	if len(text) > maxText {
		return text[:maxText] + "…"
	}
	return text
}

// Carry is ctx with the span of from, if that has one: for work that several wait for, and
// which must not end with any of them.
func Carry(ctx, from context.Context) context.Context {
	if span := trace.SpanFromContext(from); span.IsRecording() {
		return trace.ContextWithSpan(ctx, span)
	}
	return ctx
}

// Recording reports whether the context belongs to a trace that is recorded.
func Recording(ctx context.Context) bool { return trace.SpanFromContext(ctx).IsRecording() }
