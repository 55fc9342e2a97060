package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cordwood/node"
)

// TestReportOfCrash checks that a server says that the former process crashed, and only then.
func TestReportOfCrash(t *testing.T) {
	n := New(t)
	const says = "the former process crashed"
	for _, end := range []struct {
		name string
		end  func()
		want int
	}{
		{"killed", n.Kill, 0},
		{"crashed", func() { n.signal(syscall.SIGQUIT); n.Ended(time.Minute) }, 1},
		{"killed again", n.Kill, 1},
		{"stopped", n.Stop, 1},
	} {
		n.Start()
		end.end()
		n.Start()
		if got := strings.Count(n.Log(), says); got != end.want {
			t.Errorf("%s: the log says it %d times, want %d", end.name, got, end.want)
		}
		n.Stop()
	}
	report, err := os.ReadFile(filepath.Join(n.Dir, node.LastCrashFile))
	if err != nil || !strings.Contains(string(report), "SIGQUIT") {
		t.Errorf("report %.300q, %v", report, err)
	}
	if _, err := os.Stat(filepath.Join(n.Dir, node.CrashFile)); !os.IsNotExist(err) {
		t.Errorf("after a stop: %v", err)
	}
}
