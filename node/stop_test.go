package node

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/node/config"
)

// TestStopIsBounded checks that the process ends in time if a component does not stop.
func TestStopIsBounded(t *testing.T) {
	for name, hangs := range map[string]time.Duration{"in time": 20 * time.Second, "hangs": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				status, after := -1, time.Duration(0)
				begin, ended := time.Now(), make(chan struct{})
				defer func(f func(int)) { exit = f }(exit)
				exit = func(s int) { status, after = s, time.Since(begin); close(ended) }
				n := newNode(&config.Config{ShutdownGrace: 30 * time.Second}, Process{})
				log := &bytes.Buffer{}
				n.log = slog.New(slog.NewTextHandler(log, nil))
				n.onStop("the rest", func(context.Context) error { return nil })
				n.onStop("the slow part", func(context.Context) error {
					select {
					case <-time.After(hangs): // whatever its context says
					case <-ended: // no process continues here
					}
					return nil
				})
				if err := n.stopInTime(t.Context()); err != nil {
					t.Error(err)
				}
				switch {
				case hangs < n.cfg.ShutdownGrace:
					if status != -1 {
						t.Errorf("a stop of %s ended the process after %s", hangs, after)
					}
				case status != exitCutStop || after != n.cfg.ShutdownGrace+stopExtra ||
					!strings.Contains(log.String(), "the slow part"):
					t.Errorf("ended with status %d after %s, want %d after %s, and the part in the log:\n%s",
						status, after, exitCutStop, n.cfg.ShutdownGrace+stopExtra, log)
				}
			})
		})
	}
}
