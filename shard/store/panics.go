package store

import (
	"fmt"
	"runtime/debug"

	"cordwood/shard/segment"
)

// catchPanic calls f and returns a panic as an error for the rows that it works on: the
// tables beside them, and the node, go on.
func (c *Config) catchPanic(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.Logger.Error("a fault of this program; please report it with the stack", "in", what, "panic", fmt.Sprint(p),
				"stack", string(debug.Stack()))
			err = &segment.ErrRows{Err: fmt.Errorf("%s: a fault of this program: %v", what, p)}
		}
	}()
	return f()
}
