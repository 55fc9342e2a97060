// Package raftlogger passes the log messages of the hashicorp libraries to slog, and limits raft's
// messages about unreachable nodes to one a minute.
package raftlogger

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

// logger is the logger for the libraries. Their info messages, one for each election and snapshot,
// are logged at level debug.
type logger struct {
	out   *slog.Logger
	peers *Peers
	name  string
	args  []any
}

var _ hclog.Logger = (*logger)(nil)

// New returns a logger for the libraries that logs to out. Messages about nodes that do not answer
// are recorded in peers.
func New(out *slog.Logger, peers *Peers) hclog.Logger { return &logger{out: out, peers: peers} }

// Discard returns a logger that logs nothing.
func Discard() hclog.Logger { return New(slog.New(slog.DiscardHandler), NewPeers()) }

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

func (h *logger) Log(level hclog.Level, msg string, args ...any) {
	l, msg := h.peers.rewrite(slogLevel(level), msg, args, time.Now())
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

func (h *logger) enabled(l hclog.Level) bool {
	return h.out.Enabled(context.Background(), slogLevel(l))
}

func (h *logger) Trace(msg string, args ...any) { h.Log(hclog.Trace, msg, args...) }
func (h *logger) Debug(msg string, args ...any) { h.Log(hclog.Debug, msg, args...) }
func (h *logger) Info(msg string, args ...any)  { h.Log(hclog.Info, msg, args...) }
func (h *logger) Warn(msg string, args ...any)  { h.Log(hclog.Warn, msg, args...) }
func (h *logger) Error(msg string, args ...any) { h.Log(hclog.Error, msg, args...) }

func (h *logger) IsTrace() bool { return h.enabled(hclog.Trace) }
func (h *logger) IsDebug() bool { return h.enabled(hclog.Debug) }
func (h *logger) IsInfo() bool  { return h.enabled(hclog.Info) }
func (h *logger) IsWarn() bool  { return h.enabled(hclog.Warn) }
func (h *logger) IsError() bool { return h.enabled(hclog.Error) }

func (h *logger) ImpliedArgs() []any { return h.args }
func (h *logger) Name() string       { return h.name }

func (h *logger) With(args ...any) hclog.Logger {
	return &logger{out: h.out, peers: h.peers, name: h.name, args: append(h.args[:len(h.args):len(h.args)], args...)}
}

func (h *logger) Named(name string) hclog.Logger {
	if h.name != "" {
		name = h.name + "." + name
	}
	return h.ResetNamed(name)
}

func (h *logger) ResetNamed(name string) hclog.Logger {
	return &logger{out: h.out, peers: h.peers, name: name, args: h.args}
}

// SetLevel does nothing, because the level belongs to the slog handler.
func (h *logger) SetLevel(hclog.Level) {}

func (h *logger) GetLevel() hclog.Level {
	for _, l := range []hclog.Level{hclog.Trace, hclog.Info, hclog.Warn} {
		if h.enabled(l) {
			return l
		}
	}
	return hclog.Error
}

func (h *logger) StandardLogger(opts *hclog.StandardLoggerOptions) *log.Logger {
	return log.New(h.StandardWriter(opts), "", 0)
}

func (h *logger) StandardWriter(*hclog.StandardLoggerOptions) io.Writer { return lineWriter{h} }

// lineWriter logs the written lines at level debug.
type lineWriter struct{ h *logger }

func (w lineWriter) Write(p []byte) (int, error) {
	w.h.Debug(string(p))
	return len(p), nil
}
