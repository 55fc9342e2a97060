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

// TestFailedSync makes the kernel fail, or delay, the fsyncs of a loaded server: of every file, or only of one log.
// The server must end at once, or after the deadline, with status 70 and the reason in its last line. No acknowledged
// row may be lost.
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
		{"no space at an fsync", "inject=fsync,fdatasync:error=ENOSPC", 2 * time.Second, "no space left on device"},
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
			awaitAcked(t, l, n, 20*time.Second)
			detach := fault.Inject(t, n.Pid(), test.inject)
			begin := time.Now()
			wait(t, test.limit+time.Minute, "the server says that it ends", func() bool {
				return strings.Contains(n.Log(), "ends at once") || !n.Running()
			})
			took := time.Since(begin)
			detach() // detaching ends the delayed call, so that the process can end
			if status := n.Ended(cluster.Generous(10 * time.Second)); status != 70 {
				t.Fatalf("the server ended with status %d, want 70", status)
			}
			close(stop)
			<-done
			if took > test.limit && os.Getenv("CORDWOOD_CHAOS") != "" { // without this variable, other tests run in parallel
				t.Errorf("it took %s to end, want at most %s", took, test.limit)
			}
			// Log lines of another group of the same process may follow the last line.
			lines := strings.Split(strings.TrimSpace(n.Log()), "\n")
			lines = lines[max(0, len(lines)-4):]
			if !slices.ContainsFunc(lines, func(line string) bool {
				return strings.Contains(line, "ends at once") && strings.Contains(line, test.want)
			}) {
				t.Errorf("the last lines are %s", strings.Join(lines, "\n"))
			}
			n.Start()
			l.Check(t, n)
			t.Logf("ended after %s; %d rows acknowledged, 0 lost, 0 doubled", took.Round(time.Millisecond), l.Acked())
		})
	}
}
