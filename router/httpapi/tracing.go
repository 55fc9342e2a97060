package httpapi

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	oteltrace "go.opentelemetry.io/otel/trace"

	"cordwood/router/httpapi/exchange"
)

// headerTrace is the header with the id of the request's trace.
const headerTrace = "X-Svc-Trace-Id"

// trace starts the trace of a request, or continues the client's trace. The client's header traceparent (W3C Trace
// Context) decides whether it is recorded. The caller must call end when the request has ended. Without
// Config.Tracer, trace does nothing.
func (g *gate) trace(x *exchange.Exchange, r *http.Request, rt route) (_ *http.Request, end func()) {
	if g.tracer == nil {
		return r, func() {}
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := g.tracer.Start(ctx, r.Method+" "+rt.path, oteltrace.WithSpanKind(oteltrace.SpanKindServer))
	if !span.IsRecording() {
		return r, func() { span.End() }
	}
	x.Traced = ctx
	x.Header().Set(headerTrace, span.SpanContext().TraceID().String())
	span.SetAttributes(
		attribute.String("http.request.method", r.Method), attribute.String("http.route", rt.path),
		attribute.String("client.address", r.RemoteAddr), attribute.Int64("http.request.body.size", r.ContentLength),
	)
	return r.WithContext(ctx), func() {
		status := x.Status
		if status == 0 {
			status = http.StatusOK
		}
		span.SetAttributes(attribute.Int("http.response.status_code", status),
			attribute.Int64("http.response.body.size", x.Bytes))
		if status >= 500 {
			span.SetStatus(codes.Error, http.StatusText(status))
		}
		span.End()
	}
}
