package fault_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cordwood/test/cluster"
	"cordwood/test/fault"
)

// TestStatementsOnFullDisk deletes rows and drops a table while the disk is full to its last byte. The server must
// continue, and each statement must succeed or return the reason. Once there is free space, both must succeed and
// stay in effect.
func TestStatementsOnFullDisk(t *testing.T) {
	t.Parallel()
	disk := fault.NewDisk(t, "ext4", 64)
	n := cluster.NewAt(t, filepath.Join(disk.Dir, "data"), "--shards", "1", "--shard-flush-age", "1s", "--disk-reserve",
		"8MiB")
	n.Start()
	const rows = 3000
	for _, table := range []string{"thinned", "dropped"} {
		if _, err := n.Query("CREATE TABLE " + table +
			" (ts TIMESTAMP TIME INDEX, id STRING PRIMARY KEY, v BIGINT) WITH (append_mode='false')"); err != nil {
			t.Fatal(err)
		}
		var values []string
		for i := range rows {
			values = append(values, fmt.Sprintf("(%d, 'id%d', %d)", i, i%7, i))
		}
		if _, err := n.Query("INSERT INTO " + table + " VALUES " + strings.Join(values, ", ")); err != nil {
			t.Fatal(err)
		}
	}
	count := func() string { return countOf(t, n, "thinned") }
	filler := fill(t, disk, 0)
	awaitFull(t, n)
	const (
		thin = "DELETE FROM thinned WHERE id = 'id0'"
		drop = "DROP TABLE dropped"
		left = "2571" // 3000 rows without every seventh row, starting with the first
	)
	for _, sql := range []string{thin, drop} {
		out, err := n.Query(sql)
		t.Logf("full: %s: %v, %v", sql, out, err)
		if err != nil && !strings.Contains(err.Error(), "503") {
			t.Errorf("full: %s: %v; want it done, or 503", sql, err)
		}
		if err != nil && !strings.Contains(err.Error(), "disk") && !strings.Contains(err.Error(), "space") {
			t.Errorf("full: %s: the error has no reason: %v", sql, err)
		}
		if !n.Running() {
			t.Fatalf("full: %s: the server has ended", sql)
		}
	}
	// A query process that ends now must be replaced, even if it had temporary files that cannot be removed.
	for _, pid := range children(t, n.Pid()) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		wait(t, 20*time.Second, "a killed process is gone", func() bool { return syscall.Kill(pid, 0) != nil })
	}
	if got := count(); got != left && got != fmt.Sprint(rows) {
		t.Errorf("full: %s rows, want all or those that were not deleted", got)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{thin, "DROP TABLE IF EXISTS dropped"} {
		wait(t, 20*time.Second, sql+" is done", func() bool {
			_, err := n.Query(sql)
			if err != nil && !strings.Contains(err.Error(), "503") {
				t.Errorf("with free space: %s: %v", sql, err)
			}
			return err == nil
		})
	}
	check := func(when string) {
		t.Helper()
		if got := count(); got != left {
			t.Errorf("%s: %s rows, want %s", when, got, left)
		}
		if out, err := n.Query("SELECT count(*) FROM dropped"); err == nil {
			t.Errorf("%s: the dropped table has %v", when, out)
		}
	}
	check("room again")
	n.Kill()
	n.Start()
	check("killed and started again")
	n.Stop()
	if r := fault.Doctor(t, n.Dir); r.Result == "damaged" {
		t.Errorf("doctor reports %+v", r)
	}
}

// children returns the child processes of a process.
func children(t *testing.T, pid int) (list []int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // a thread that has ended
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range strings.Fields(string(b)) {
			child, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, child)
		}
	}
	return list
}
