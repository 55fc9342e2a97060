package crash

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"cordwood/test/cluster"
	"cordwood/test/fault"
	"cordwood/test/load"
)

// TestPowerCut stops the file system under a loaded server, as a power loss does: data that was not synced is lost.
// On the recovered file system every acknowledged row must be stored once, and doctor must find no damage.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"ext4", "xfs"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			n := rounds(t, 2, 1)
			rng := seeded(t)
			disk := fault.NewDisk(t, kind, 512)
			node, l := cluster.NewAt(t, filepath.Join(disk.Dir, "data"), flags...), load.New()
			var slowest time.Duration
			for range n {
				slowest = max(slowest, node.Start())
				l.Prepare(t, node)
				loadFor(node, l, rng, func() {
					// A machine without power sends no answers and starts no writes. A file system that was shut down
					// may report a sync as done that was not.
					l.Cut()
					if err := syscall.Kill(node.Pid(), syscall.SIGSTOP); err != nil {
						t.Error(err)
					}
					if err := disk.CutPower(); err != nil {
						t.Error(err)
					}
					node.Kill()
				})
				disk.Unmount()
				disk.Mount()
				if report := fault.Doctor(t, node.Dir); report.Result == "damaged" {
					t.Errorf("doctor reports %+v", report)
				}
				slowest = max(slowest, node.Start())
				l.Check(t, node)
				node.Kill()
			}
			t.Logf("%d rounds on %s, %d rows acknowledged, 0 lost, 0 doubled, slowest start %s", n, kind, l.Acked(), slowest)
		})
	}
}
