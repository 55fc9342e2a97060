package cluster

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// mergingTables are tables whose merge mode changed, with the options with which they are created.
var mergingTables = map[string]string{
	"row": "", "fields": ", merge_mode='last_non_null'", "unheard": "", "twice": "", "back": "", "memory": "",
}

// mergingSource creates a cluster with these tables, and backs it up repeatedly. last is the backup with the
// cluster's present state.
func mergingSource(t *testing.T) (source *Node, repository string, last made) {
	t.Helper()
	source = New(t, "--shards", "2")
	source.Start()
	repository, last = fillMerging(t, source, time.Now().UnixMilli(), func() {}) // files of today are not merged yet
	return source, repository, last
}

// fillMerging creates these tables, writes rows of a time to them, and backs the cluster up after each round. Then it
// calls after.
func fillMerging(t *testing.T, source *Node, at int64, after func()) (repository string, last made) {
	t.Helper()
	repository = filepath.Join(t.TempDir(), "repository")
	const (
		make1 = "CREATE TABLE %s (ts TIMESTAMP TIME INDEX, id STRING PRIMARY KEY, a STRING, b STRING) WITH " +
			"(append_mode='false'%s)"
		more = "INSERT INTO %[1]s VALUES (%[2]d, 'x', 'more', NULL), (%[2]d, 'x', 'most', NULL), (%[2]d, 'z', NULL, 'more')"
	)
	for name, mode := range mergingTables {
		source.Rows(t, fmt.Sprintf(make1, name, mode))
	}
	for i, round := range []string{
		"INSERT INTO %[1]s VALUES (%[2]d, 'x', 'old', 'old'), (%[2]d, 'y', 'old', NULL), (%[2]d, 'z', 'gone', 'gone')",
		"INSERT INTO %[1]s VALUES (%[2]d, 'x', 'new', NULL), (%[2]d, 'w', NULL, 'only')",
		"DELETE FROM %[1]s WHERE id = 'z' AND ts = epoch_ms(%[2]d)",
		"INSERT INTO %[1]s VALUES (%[2]d, 'y', NULL, 'late')",
	} {
		for name := range mergingTables {
			source.Rows(t, fmt.Sprintf(round, name, at))
			if name == "twice" && i == 1 {
				source.Rows(t, "ALTER TABLE twice SET 'merge_mode'='last_non_null'")
			}
			if name == "back" && i == 1 {
				source.Rows(t, "ALTER TABLE back SET 'merge_mode'='last_non_null'")
			}
		}
		backUp(t, source, repository) // a file for every round
		after()
	}
	source.Rows(t, "ALTER TABLE back SET 'merge_mode'='last_row'")
	source.Rows(t, fmt.Sprintf(more, "back", at))
	for _, name := range []string{"row", "fields", "unheard", "twice", "memory"} {
		if name == "fields" || name == "twice" {
			source.Rows(t, "ALTER TABLE "+name+" SET 'append_mode'='true', 'merge_mode'='last_row'")
		} else {
			source.Rows(t, "ALTER TABLE "+name+" SET 'append_mode'='true'")
		}
		if name != "unheard" {
			source.Rows(t, fmt.Sprintf(more, name, at))
		}
	}
	backUp(t, source, repository)
	after()
	source.Rows(t, "ALTER TABLE row SET 'partitions'='2'")
	return repository, backUp(t, source, repository)
}

// sameMerging compares the content of these tables on two clusters.
func sameMerging(t *testing.T, what string, source, target *Node) {
	t.Helper()
	for name := range mergingTables {
		for _, sql := range []string{"SELECT * FROM " + name + " ORDER BY id, a, b", "SHOW CREATE TABLE " + name} {
			want, got := source.Rows(t, sql), target.Rows(t, sql)
			if fmt.Sprint(want) != fmt.Sprint(got) {
				t.Errorf("%s: %s:\n source %v\n target %v", what, sql, want, got)
			}
		}
	}
}

// TestRestoreKeepsMerging restores tables whose merge mode changed. Rows that were replaced or deleted before the
// backup must not come back, and rows that were kept must be kept, whether or not the shard had received the change
// at the time of the backup.
func TestRestoreKeepsMerging(t *testing.T) {
	t.Parallel()
	source, repository, last := mergingSource(t)
	mustCommand(t, "backup", "verify", repository, "--deep")

	target := New(t, "--shards", "3")
	target.Start()
	mustCommand(t, "restore", repository, "--server", target.HTTP, "--backup", last.ID)
	sameMerging(t, "restored", source, target)
	target.Stop()
	target.Start()
	sameMerging(t, "restored and started again", source, target)

	// A backup of the restored tables gives the same result.
	again := filepath.Join(t.TempDir(), "again")
	backUp(t, target, again)
	target = New(t, "--shards", "1")
	target.Start()
	mustCommand(t, "restore", again, "--server", target.HTTP)
	sameMerging(t, "restored twice", source, target)
}

// TestInterruptedRestoreOfMerging kills restores of such tables after increasing times, and so in every merge era
// of some tables. The following restores must produce the same tables.
func TestInterruptedRestoreOfMerging(t *testing.T) {
	t.Parallel()
	source, repository, last := mergingSource(t)
	target := New(t, "--shards", "3")
	target.Start()
	rows := func(n *Node) (sum int64) {
		for name := range mergingTables {
			if out, err := n.Query("SELECT count(*) FROM " + name); err == nil { // otherwise the table does not exist yet
				sum += number(t, out[0][0])
			}
		}
		return sum
	}
	killed, all := 0, rows(source)
	for _, share := range []int64{0, 20, 40, 60, 80, 95} {
		cmd := exec.Command(Binary(t), "restore", repository, "--server", target.HTTP, "--backup", last.ID, "--rate", "40KiB")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		done := false
		until(t, "some rows", func() bool {
			select {
			case err := <-ended:
				ended <- err
				done = true
			default:
			}
			return done || rows(target) > all*share/100
		})
		_ = cmd.Process.Kill() // the restore may have ended
		if <-ended != nil {
			killed++
		}
	}
	if killed < 3 {
		t.Errorf("%d restores were killed before they were done, want at least 3", killed)
	}
	mustCommand(t, "restore", repository, "--server", target.HTTP, "--backup", last.ID)
	sameMerging(t, "restored at last", source, target)
	mustCommand(t, "restore", repository, "--server", target.HTTP, "--backup", last.ID, "--into-existing")
	sameMerging(t, "and once more", source, target)
	t.Logf("%d restores were killed; the tables have %d rows", killed, all)
}
