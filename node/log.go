package node

import (
	"context"
	"io"
	"log/slog"
	"os"

	"cordwood/node/config"
	"cordwood/router/access/token"

	"github.com/mattn/go-isatty"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// newLogger returns the node's logger, which writes to w in the configured format. level can be changed later. lines
// counts the lines that were written.
func newLogger(
	c *config.Config, w io.Writer, level *slog.LevelVar, lines *prometheus.CounterVec,
) (*slog.Logger, error) {
	first, err := c.LogLevel()
	if err != nil {
		return nil, err
	}
	level.Set(first)
	format := c.Log.Format
	if format == "" {
		format = "json"
		if IsTerminal(w) {
			format = "text"
		}
	}
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: shown}
	var h slog.Handler
	if format == "text" {
		h = slog.NewTextHandler(w, opts)
	} else {
		h = slog.NewJSONHandler(w, opts)
	}
	return slog.New(&logHandler{Handler: h, lines: lines}), nil
}

// shown writes a duration with its unit, such as "1.415s", because JSON would contain a number of nanoseconds. It hides
// the secrets of tokens, which clients may send as the name of a program or of a pipeline.
func shown(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindDuration:
		a.Value = slog.StringValue(a.Value.Duration().String())
	case slog.KindString:
		a.Value = slog.StringValue(token.Hide(a.Value.String()))
	case slog.KindAny:
		if err, ok := a.Value.Any().(error); ok && err != nil {
			a.Value = slog.StringValue(token.Hide(err.Error()))
		}
	}
	return a
}

// logHandler counts the lines, and adds the trace to lines of traced requests.
type logHandler struct {
	slog.Handler
	lines *prometheus.CounterVec // lines by level
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	h.lines.WithLabelValues(levelName(r.Level)).Inc()
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{h.Handler.WithAttrs(attrs), h.lines}
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.Handler.WithGroup(name), h.lines}
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && (isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()))
}
