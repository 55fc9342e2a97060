package fault_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/test/cluster"
	"cordwood/test/fault"
	"cordwood/test/load"
)

// TestFailedSync has the kernel fail, or stall, the fsyncs of a loaded server: those of
// every file, or only the data of one log. It ends at once, or after the deadline, with
// status 70 and a line at the end that says why, and no acknowledged row is lost.
func TestFailedSync(t *testing.T) {
	if os.Getenv("CORDWOOD_CHAOS") == "" {
		t.Parallel()
	}
	for _, test := range []struct {
		name, inject string
		limit        time.Duration
		want         string
	}{
		{"every fsync fails", "inject=fsync,fdatasync:error=EIO", 2 * time.Second, "input/output error"},
		{"one fsync fails", "inject=fsync,fdatasync:error=EIO:when=20", 20 * time.Second, "input/output error"},
		{"no room at an fsync", "inject=fsync,fdatasync:error=ENOSPC", 2 * time.Second, "no space left on device"},
		{"an fsync stalls", "inject=fsync,fdatasync:delay_enter=30s", 8 * time.Second, "the disk did not answer within 2s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if os.Getenv("CORDWOOD_CHAOS") == "" {
				t.Parallel()
			}
			n := cluster.New(t, "--shards", "2", "--shard-flush-bytes", "1MiB", "--shard-flush-age", "1s",
				"--disk-write-deadline", "2s")
			n.Start()
			l := load.New()
			l.Prepare(t, n)
			stop, done := make(chan struct{}), make(chan struct{})
			go func() {
				l.Run(n, rand.Uint64(), stop)
				close(done)
			}()
			grows(t, l, n, 20*time.Second)
			detach := fault.Inject(t, n.Pid(), test.inject)
			begin := time.Now()
			wait(t, test.limit+time.Minute, "the server says that it ends", func() bool {
				return strings.Contains(n.Log(), "ending at once") || !n.Running()
			})
			took := time.Since(begin)
			detach() // which ends the call that it delays, or the process could not go
			if status := n.Ended(cluster.Generous(10 * time.Second)); status != 70 {
				t.Fatalf("the server ended with status %d, want 70", status)
			}
			close(stop)
			<-done
			if took > test.limit && os.Getenv("CORDWOOD_CHAOS") != "" { // else other tests run beside this one
				t.Errorf("it took %s to end, want at most %s", took, test.limit)
			}
			// What another group of the same process logs in that moment may come after it.
			lines := strings.Split(strings.TrimSpace(n.Log()), "\n")
			lines = lines[max(0, len(lines)-4):]
			if !slices.ContainsFunc(lines, func(line string) bool {
				return strings.Contains(line, "ending at once") && strings.Contains(line, test.want)
			}) {
				t.Errorf("the last lines are %s", strings.Join(lines, "\n"))
			}
			n.Start()
			l.Check(t, n)
			t.Logf("ended after %s; %d rows acknowledged, 0 lost, 0 doubled", took.Round(time.Millisecond), l.Acked())
		})
	}
}
