package replica

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
)

// hcLogger lets the hashicorp libraries log to slog. What they call info is one
// line per election and snapshot and goes to debug.
type hcLogger struct {
	out  *slog.Logger
	name string
	args []any
}

var _ hclog.Logger = (*hcLogger)(nil)

func newHCLogger(out *slog.Logger) *hcLogger { return &hcLogger{out: out} }

func slogLevel(l hclog.Level) slog.Level {
	switch l {
	case hclog.Error:
		return slog.LevelError
	case hclog.Warn:
		return slog.LevelWarn
	case hclog.Info:
		return slog.LevelDebug
	default:
		return slog.LevelDebug - 4
	}
}

func (h *hcLogger) Log(level hclog.Level, msg string, args ...any) {
	l, msg := lostPeers.rewrite(slogLevel(level), msg, args, time.Now())
	if !h.out.Enabled(context.Background(), l) {
		return
	}
	out := slices.Concat(h.args, args)
	for i, a := range out {
		if f, ok := a.(hclog.Format); ok && len(f) > 0 {
			if format, ok := f[0].(string); ok {
				out[i] = fmt.Sprintf(format, f[1:]...)
			}
		}
	}
	h.out.Log(context.Background(), l, msg, out...)
}

func (h *hcLogger) enabled(l hclog.Level) bool {
	return h.out.Enabled(context.Background(), slogLevel(l))
}

func (h *hcLogger) Trace(msg string, args ...any) { h.Log(hclog.Trace, msg, args...) }
func (h *hcLogger) Debug(msg string, args ...any) { h.Log(hclog.Debug, msg, args...) }
func (h *hcLogger) Info(msg string, args ...any)  { h.Log(hclog.Info, msg, args...) }
func (h *hcLogger) Warn(msg string, args ...any)  { h.Log(hclog.Warn, msg, args...) }
func (h *hcLogger) Error(msg string, args ...any) { h.Log(hclog.Error, msg, args...) }

func (h *hcLogger) IsTrace() bool { return h.enabled(hclog.Trace) }
func (h *hcLogger) IsDebug() bool { return h.enabled(hclog.Debug) }
func (h *hcLogger) IsInfo() bool  { return h.enabled(hclog.Info) }
func (h *hcLogger) IsWarn() bool  { return h.enabled(hclog.Warn) }
func (h *hcLogger) IsError() bool { return h.enabled(hclog.Error) }

func (h *hcLogger) ImpliedArgs() []any { return h.args }
func (h *hcLogger) Name() string       { return h.name }

func (h *hcLogger) With(args ...any) hclog.Logger {
	return &hcLogger{out: h.out, name: h.name, args: append(h.args[:len(h.args):len(h.args)], args...)}
}

func (h *hcLogger) Named(name string) hclog.Logger {
	if h.name != "" {
		name = h.name + "." + name
	}
	return h.ResetNamed(name)
}

func (h *hcLogger) ResetNamed(name string) hclog.Logger {
	return &hcLogger{out: h.out, name: name, args: h.args}
}

// SetLevel does nothing: the level is that of the slog handler.
func (h *hcLogger) SetLevel(hclog.Level) {}

func (h *hcLogger) GetLevel() hclog.Level {
	for _, l := range []hclog.Level{hclog.Trace, hclog.Info, hclog.Warn} {
		if h.enabled(l) {
			return l
		}
	}
	return hclog.Error
}

func (h *hcLogger) StandardLogger(opts *hclog.StandardLoggerOptions) *log.Logger {
	return log.New(h.StandardWriter(opts), "", 0)
}

func (h *hcLogger) StandardWriter(*hclog.StandardLoggerOptions) io.Writer { return lineWriter{h} }

// lineWriter logs what is written to it as debug lines.
type lineWriter struct{ h *hcLogger }

func (w lineWriter) Write(p []byte) (int, error) {
	w.h.Debug(string(p))
	return len(p), nil
}
