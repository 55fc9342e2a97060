package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cordwood/test/cluster"
	"cordwood/test/fault"
)

// TestFailedDisk (T10) makes every fsync of a node that leads shards fail. The node must end at
// once, others must lead its shards, and all tables must be writable again within 5 s.
func TestFailedDisk(t *testing.T) {
	if !long() {
		t.Skip("it needs strace: CORDWOOD_CHAOS=1")
	}
	fault.Need(t, "strace")
	c, l := start(t, cluster.Spec{All: 3}, mixed)
	for range rounds(1, 5) {
		n := shardLeader(t, c, 1)
		begin := time.Now()
		l.Fault("every fsync of %s fails", n.Name)
		detach := fault.Inject(t, n.Pid(), "inject=fsync,fdatasync:error=EIO")
		attached := time.Since(begin)
		status := n.Ended(20 * time.Second)
		took := time.Since(begin) - attached
		detach()
		t.Logf("%s ended after %s with status %d", n.Name, took.Round(time.Millisecond), status)
		if status != 70 {
			t.Errorf("%s ended with status %d, want 70", n.Name, status)
			n.Kill()
		}
		l.AwaitAcked(t, 500)
		n.Launch()
		c.AwaitReady(time.Minute)
		l.AwaitAcked(t, 500)
	}
	end(t, c, l, 3)
	l.Report(t, 0, 5*time.Second)
}

// TestFullDisks (T9) fills the disk of a node that leads shards, and then the disks of all nodes. One full disk must
// cost no request, and others must lead its shards within 15 s. If all disks are full, rows must be refused with 503
// and Retry-After, and must be accepted 15 s after there is free space.
func TestFullDisks(t *testing.T) {
	if !long() {
		t.Skip("it fills disks: CORDWOOD_CHAOS=1")
	}
	c := cluster.NewCluster(t, cluster.Spec{Meta: 1, Shard: 3, Router: 1, Args: []string{
		"--shard-flush-bytes", "1MiB", "--shard-flush-age", "1s", "--disk-reserve", "8MiB",
	}})
	disks := map[*cluster.Node]*fault.Disk{}
	for _, n := range c.Shards {
		disks[n] = fault.NewDisk(t, "ext4", 96)
		n.Keep(filepath.Join(disks[n].Dir, "data"))
	}
	t.Cleanup(c.Kill) // ends the servers before the disks are removed
	c.Start()
	l := Start(Options{Routers: c.Routers, Keyed: 4, Again: 2, Once: 2})
	l.Warm(t)
	for round := range rounds(1, 3) {
		n := shardLeader(t, c, 1)
		l.Fault("the disk of %s is full", n.Name)
		begin := time.Now()
		fill(t, disks[n])
		cluster.Eventually(t, time.Minute, func() error {
			if x := shardLeader(t, c, 1); x == n {
				return fmt.Errorf("%s, whose disk is full, leads shard 1", n.Name)
			}
			return nil
		})
		took := time.Since(begin)
		l.AwaitAcked(t, 500)
		t.Logf("round %d: %s leads no shard any more after %s", round, n.Name, took.Round(time.Millisecond))
		if took > 15*time.Second {
			t.Errorf("%s, whose disk is full, led for %s, want at most 15 s", n.Name, took)
		}
		for _, other := range c.Shards {
			if other != n {
				fill(t, disks[other])
			}
		}
		l.Fault("all disks are full")
		cluster.Eventually(t, 30*time.Second, func() error {
			a, err := c.Routers[0].Do("POST", "/v1/ingest?pipeline_name=svc_identity&table=probe",
				strings.NewReader(`{"a":1}`), "Content-Type", "application/json")
			if err == nil && (a.Status != 503 || a.Header.Get("Retry-After") == "") {
				err = fmt.Errorf("with all disks full the answer is %d %s, want 503 with Retry-After", a.Status, a.Body)
			}
			return err
		})
		for _, x := range c.Shards {
			if !x.Running() {
				t.Fatalf("%s has ended on a full disk", x.Name)
			}
			if err := os.Remove(filepath.Join(disks[x].Dir, "filler")); err != nil {
				t.Fatal(err)
			}
		}
		freed := time.Now()
		l.AwaitAcked(t, 500)
		back := time.Since(freed)
		t.Logf("round %d: rows are accepted %s after there is free space", round, back.Round(time.Millisecond))
		if back > 15*time.Second {
			t.Errorf("rows are accepted %s after there is free space, want at most 15 s", back)
		}
		c.AwaitReady(time.Minute)
	}
	end(t, c, l, 3)
	l.Report(t, 0, 0)
}

// fill fills a disk except for the last few blocks.
func fill(t *testing.T, disk *fault.Disk) {
	t.Helper()
	f, err := os.Create(filepath.Join(disk.Dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size >= 4096; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}
