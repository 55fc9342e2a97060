package system

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

var assert = &fn.Function{
	Name:  "assert",
	Group: fn.Debug,
	Doc:   "Returns true if the condition is true and fails with the message otherwise.",
	Params: []fn.Param{
		{Name: "condition", Doc: "The condition.", Kind: kind.Boolean},
		{Name: "message", Doc: "The message of the failure.", Kind: kind.String, Optional: true},
	},
	Effect:   true,
	Returns:  kind.Boolean,
	Fallible: true,
	Errors:   []string{"the condition is false"},
	Examples: []fn.Example{
		{Title: "true", Source: `assert!(1 < 2)`, Result: `true`},
		{Title: "false", Source: `assert!(1 > 2, message: "one is not more than two")`, Fails: `one is not more than two`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, condition, message value.Value) (value.Value, bool) {
		switch {
		case condition.Bool():
			return condition, true
		case message.IsDefined():
			return f.Fail(message.Text())
		}
		return f.Fail("assertion failed")
	}},
}

var assertEq = &fn.Function{
	Name:  "assert_eq",
	Group: fn.Debug,
	Doc:   "Returns true if the values are equal and have the same kind, and fails otherwise.",
	Params: []fn.Param{
		{Name: "left", Doc: "A value.", Kind: kind.Any},
		{Name: "right", Doc: "The expected value.", Kind: kind.Any},
		{Name: "message", Doc: "The message of the failure.", Kind: kind.String, Optional: true},
	},
	Effect:   true,
	Returns:  kind.Boolean,
	Fallible: true,
	Deep:     true,
	Errors:   []string{"the values differ"},
	Examples: []fn.Example{
		{Title: "the same", Source: `assert_eq!([1, "a"], [1, "a"])`, Result: `true`},
		{Title: "of two kinds", Source: `assert_eq!(1, "1")`, Fails: `assertion failed: 1 == "1"`},
		{Title: "with a message", Source: `assert_eq!(1, 2, message: "one is not two")`, Fails: `one is not two`},
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, left, right, message value.Value) (value.Value, bool) {
		switch {
		case value.Same(left, right) || value.SameElement(left, right) || value.SameElement(right, left):
			return value.NewBool(true), true
		case message.IsDefined():
			return f.Fail(message.Text())
		}
		return f.Failf("assertion failed: %v == %v", left, right)
	}},
}

// maxLogged is the longest text that log writes, in bytes.
const maxLogged = 8 << 10

var logValue = &fn.Function{
	Name:  "log",
	Group: fn.Debug,
	Doc: "Writes the value to the log of the host. A call writes at most once in its time window; further " +
		"messages in the window are only counted.",
	Params: []fn.Param{
		{Name: "value", Doc: "The value to write. Texts of more than 8 KiB are truncated.", Kind: kind.Any, Borrow: true},
		{
			Name: "level", Doc: "The level of the message.", Kind: kind.String, Optional: true, Default: value.NewString("info"),
			Constant: true,
			Enum: []fn.Enum{
				{Value: "trace", Doc: "for following each step"},
				{Value: "debug", Doc: "for finding faults"},
				{Value: "info", Doc: "worth knowing"},
				{Value: "warn", Doc: "may become a problem"},
				{Value: "error", Doc: "is a problem"},
			},
		},
		{
			Name: "rate_limit_secs", Doc: "The window in seconds; 0 for no limit.", Kind: kind.Integer, Optional: true,
			Default: value.NewInt(1),
		},
	},
	Effect:  true,
	Deep:    true,
	Returns: kind.Null,
	Examples: []fn.Example{
		{Title: "a message", Source: `log("no user in this event", level: "warn", rate_limit_secs: 60)`, Result: `null`},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		v, _ := c.Const(1)
		level := slog.LevelInfo
		switch v.Str() {
		case "trace":
			level = slog.LevelDebug - 4
		case "debug":
			level = slog.LevelDebug
		case "warn":
			level = slog.LevelWarn
		case "error":
			level = slog.LevelError
		}
		limit := &rateLimit{}
		return fn.Impl{F3: func(f *fn.Frame, v, _, window value.Value) (value.Value, bool) {
			if !f.Host.Logger.Enabled(context.Background(), level) {
				return value.Value{}, true
			}
			suppressed, ok := limit.pass(f.Host.Now(), window.Int())
			if !ok {
				return value.Value{}, true
			}
			text := v.Text()
			if !v.IsString() {
				text = v.String()
			}
			if len(text) > maxLogged {
				text = strings.ToValidUTF8(text[:maxLogged], "") + "…"
			}
			var attrs []slog.Attr
			if suppressed > 0 {
				attrs = append(attrs, slog.Int64("suppressed", suppressed))
			}
			f.Host.Logger.LogAttrs(context.Background(), level, text, attrs...)
			return value.Value{}, true
		}}, nil
	},
}

// rateLimit lets one message through in each time window. It is safe for concurrent use, because a program may run
// in many goroutines.
type rateLimit struct {
	mu         sync.Mutex
	last       time.Time
	suppressed int64
}

// pass reports whether a message may be logged now, and how many were suppressed before it.
func (r *rateLimit) pass(now time.Time, seconds int64) (suppressed int64, ok bool) {
	const year = 365 * 24 * 3600
	r.mu.Lock()
	defer r.mu.Unlock()
	window := time.Duration(min(max(seconds, 0), year)) * time.Second
	if !r.last.IsZero() && now.Sub(r.last) < window {
		r.suppressed++
		return 0, false
	}
	r.last = now
	suppressed, r.suppressed = r.suppressed, 0
	return suppressed, true
}
