package store

import (
	"fmt"
	"runtime/debug"

	"cordwood/shard/segment"
)

// catchPanic calls f and converts a panic to an error about its rows, so that other tables and the
// node continue.
func (c *Config) catchPanic(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.Logger.Error("bug in this program; please report it with the stack", "in", what, "panic", fmt.Sprint(p),
				"stack", string(debug.Stack()))
			err = &segment.ErrRows{Err: fmt.Errorf("%s: bug in this program: %v", what, p)}
		}
	}()
	return f()
}
