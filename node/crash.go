package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"
)

// CrashFile is the file of the data folder to which the runtime writes why the process crashes. It is empty while the
// server runs, and is gone after a regular stop. So its content distinguishes a crash from a kill, which leaves no
// trace. LastCrashFile keeps the report of the last crash.
const (
	CrashFile     = "CRASH"
	LastCrashFile = "CRASH.last"
)

// watchCrashes finds out whether the former process on the data folder crashed, and makes the runtime write a crash of
// this one to CrashFile. Errors are only logged: without the file, crashes count as kills.
func (n *node) watchCrashes() {
	path := n.cfg.Path(CrashFile)
	report, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.log.Warn("cannot read whether the former process crashed", "file", path, "error", err)
	}
	if len(report) > 0 {
		n.crashed = true
		first, _, _ := strings.Cut(strings.TrimSpace(string(report)), "\n")
		n.log.Warn("the former process crashed", "reason", first, "file", n.cfg.Path(LastCrashFile))
		if err := os.Rename(path, n.cfg.Path(LastCrashFile)); err != nil {
			n.log.Warn("cannot keep the report of the crash", "error", err)
		}
	}
	if err := writeCrashesTo(path); err != nil {
		n.log.Warn("a crash of this process will be taken for a kill", "error", err)
		return
	}
	n.onStop("report of crashes", func(context.Context) error {
		_ = debug.SetCrashOutput(nil, debug.CrashOptions{}) // without a file there is nothing that can fail
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// writeCrashesTo empties a file, and makes the runtime write a crash to it.
func writeCrashesTo(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	if err := debug.SetCrashOutput(f, debug.CrashOptions{}); err != nil {
		return fmt.Errorf("set the output of crashes to %s: %w", path, errors.Join(err, f.Close()))
	}
	return f.Close() // the runtime has its own descriptor
}
