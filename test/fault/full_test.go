package fault_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cordwood/test/cluster"
	"cordwood/test/fault"
	"cordwood/test/load"
)

// fill fills a disk except for the given number of bytes, and returns the file that it wrote for
// this.
func fill(t *testing.T, disk *fault.Disk, leave int64) string {
	t.Helper()
	name := filepath.Join(disk.Dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for step := int64(1 << 20); step >= 4096; {
		var st unix.Statfs_t
		if err := unix.Statfs(disk.Dir, &st); err != nil {
			t.Fatal(err)
		}
		if int64(st.Bavail)*st.Bsize-step < leave {
			step /= 2
			continue
		}
		if _, err := f.Write(make([]byte, step)); err != nil {
			step /= 2
			continue
		}
		if err := f.Sync(); err != nil && leave > 0 {
			t.Fatal(err)
		}
	}
	return name
}

// TestDiskFull fills a disk of 64 MiB under a loaded server, up to its reserve and then to the last byte. The server
// must not end. It must refuse rows with 503 and Retry-After before it reads them, answer queries, and accept rows
// again within 15 s after space was freed. No acknowledged row may be lost.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"ext4", "xfs"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if kind == "xfs" && os.Getenv("CORDWOOD_CHAOS") == "" {
				t.Skip("the second file system is part of make chaos")
			}
			size := int64(64)
			if kind == "xfs" {
				size = 320 // mkfs.xfs needs at least 300 MiB; the filler takes the rest
			}
			disk := fault.NewDisk(t, kind, size)
			if kind == "xfs" {
				big := fill(t, disk, 64<<20)
				if err := os.Rename(big, big+".0"); err != nil {
					t.Fatal(err)
				}
			}
			n := cluster.NewAt(t, filepath.Join(disk.Dir, "data"), "--shards", "1", "--shard-flush-bytes", "1MiB",
				"--shard-flush-age", "1s", "--disk-reserve", "8MiB")
			n.Start()
			l := load.New()
			l.Prepare(t, n)
			stop, done := make(chan struct{}), make(chan struct{})
			go func() {
				l.Run(n, rand.Uint64(), stop)
				close(done)
			}()
			awaitAcked(t, l, n, 20*time.Second)
			for _, leave := range []int64{4 << 20, 0} {
				filler := fill(t, disk, leave)
				wait(t, 20*time.Second, "rows are refused", func() bool {
					a, err := n.Do("POST", "/v1/ingest?pipeline_name=svc_identity&table=probe",
						strings.NewReader(`{"a":1}`), "Content-Type", "application/json")
					if err != nil {
						t.Fatalf("with %d bytes left the server does not answer: %v", leave, err)
					}
					return a.Status == 503 && a.Header.Get("Retry-After") != "" && strings.Contains(string(a.Body), `"code":5000`)
				})
				if a, err := n.Do("GET", "/ready", nil); err != nil || a.Status != 200 ||
					!strings.Contains(string(a.Body), "rows are refused") {
					t.Errorf("ready: %v, %v", a, err)
				}
				if a, err := n.Do("GET", "/ready?for=writes", nil); err != nil || a.Status != 503 {
					t.Errorf("ready for writes: %v, %v", a, err)
				}
				if a, err := n.Do("GET", "/metrics", nil); err != nil ||
					!strings.Contains(string(a.Body), "\ncordwood_disk_full 1") {
					t.Errorf("the metrics do not report it: %v", err)
				}
				// Queries must continue over all rows while the disk is full.
				for range 10 {
					if _, err := n.Query(`SELECT count(*) FROM crash_0`); err != nil {
						t.Errorf("with %d bytes left a query fails: %v", leave, err)
					}
					time.Sleep(200 * time.Millisecond)
				}
				if !n.Running() {
					t.Fatalf("with %d bytes left the server has ended", leave)
				}
				if err := os.Remove(filler); err != nil {
					t.Fatal(err)
				}
				freed := time.Now()
				awaitAcked(t, l, n, 15*time.Second)
				t.Logf("%s, %d KiB left: rows were accepted again after %s", kind, leave>>10,
					time.Since(freed).Round(time.Millisecond))
			}
			close(stop)
			<-done
			if l.Refused.Load() == 0 {
				t.Error("no request of the load was refused")
			}
			l.Check(t, n)
			n.Kill()
			n.Start()
			l.Check(t, n)
			n.Stop()
			if r := fault.Doctor(t, n.Dir); r.Result == "damaged" {
				t.Errorf("doctor reports %+v", r)
			}
			t.Logf("%s: %d rows acknowledged, %d requests refused, 0 lost, 0 doubled", kind, l.Acked(), l.Refused.Load())
		})
	}
}

// awaitAcked waits until more rows are acknowledged.
func awaitAcked(t *testing.T, l *load.Load, n *cluster.Node, limit time.Duration) {
	t.Helper()
	before := l.Acked()
	wait(t, limit, "more rows are acknowledged", func() bool {
		if !n.Running() {
			t.Fatal("the server has ended")
		}
		return l.Acked() > before+20*load.RowsPerPost
	})
}

func wait(t *testing.T, limit time.Duration, what string, done func() bool) {
	t.Helper()
	if os.Getenv("CORDWOOD_CHAOS") == "" { // without this variable, the machine may be loaded
		limit = cluster.Generous(limit)
	}
	for deadline := time.Now().Add(limit); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %s, this is still not the case: %s", limit, what)
		}
	}
}

// countOf returns the number of rows of a table.
func countOf(t *testing.T, n *cluster.Node, table string) string {
	t.Helper()
	out, err := n.Query("SELECT count(*) FROM " + table)
	if err != nil {
		t.Fatalf("a query fails: %v", err)
	}
	return string(out[0][0].(json.Number))
}

// awaitFull waits until the server notices that its disk is full.
func awaitFull(t *testing.T, n *cluster.Node) {
	t.Helper()
	wait(t, 20*time.Second, "the disk is found full", func() bool {
		a, err := n.Do("GET", "/ready?for=writes", nil)
		return err == nil && a.Status == 503
	})
}
