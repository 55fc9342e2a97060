package cluster

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// TestRestoreKeepsMerging restores tables whose rows came to merge in another way: what
// was replaced or deleted before stays so, and what was kept stays kept, whether the
// shard had heard of the change when the backup was made or not.
func TestRestoreKeepsMerging(t *testing.T) {
	t.Parallel()
	source := New(t, "--shards", "2")
	source.Start()
	repository := filepath.Join(t.TempDir(), "repository")
	const (
		make1 = "CREATE TABLE %s (ts TIMESTAMP TIME INDEX, id STRING PRIMARY KEY, a STRING, b STRING) WITH (append_mode='false'%s)"
		more  = "INSERT INTO %[1]s VALUES (%[2]d, 'x', 'more', NULL), (%[2]d, 'x', 'most', NULL), (%[2]d, 'z', NULL, 'more')"
	)
	at := time.Now().UnixMilli() // files of today are not merged yet
	merged := map[string]string{"row": "", "fields": ", merge_mode='last_non_null'", "unheard": "", "twice": "", "back": "", "memory": ""}
	for name, mode := range merged {
		source.Rows(t, fmt.Sprintf(make1, name, mode))
	}
	for i, round := range []string{
		"INSERT INTO %[1]s VALUES (%[2]d, 'x', 'old', 'old'), (%[2]d, 'y', 'old', NULL), (%[2]d, 'z', 'gone', 'gone')",
		"INSERT INTO %[1]s VALUES (%[2]d, 'x', 'new', NULL), (%[2]d, 'w', NULL, 'only')",
		"DELETE FROM %[1]s WHERE id = 'z' AND ts = epoch_ms(%[2]d)",
		"INSERT INTO %[1]s VALUES (%[2]d, 'y', NULL, 'late')",
	} {
		for name := range merged {
			source.Rows(t, fmt.Sprintf(round, name, at))
			if name == "twice" && i == 1 {
				source.Rows(t, "ALTER TABLE twice SET 'merge_mode'='last_non_null'")
			}
			if name == "back" && i == 1 {
				source.Rows(t, "ALTER TABLE back SET 'merge_mode'='last_non_null'")
			}
		}
		backUp(t, source, repository) // a file for every round
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
	source.Rows(t, "ALTER TABLE row SET 'partitions'='2'")
	last := backUp(t, source, repository)
	mustCommand(t, "backup", "verify", repository, "--deep")

	target := New(t, "--shards", "3")
	target.Start()
	mustCommand(t, "restore", repository, "--server", target.HTTP, "--backup", last.ID)
	compare := func(what string) {
		t.Helper()
		for name := range merged {
			for _, sql := range []string{"SELECT * FROM " + name + " ORDER BY id, a, b", "SHOW CREATE TABLE " + name} {
				want, got := source.Rows(t, sql), target.Rows(t, sql)
				if fmt.Sprint(want) != fmt.Sprint(got) {
					t.Errorf("%s: %s:\n source %v\n target %v", what, sql, want, got)
				}
			}
		}
	}
	compare("restored")
	target.Stop()
	target.Start()
	compare("restored and started again")

	// The backup of what was restored is as good.
	again := filepath.Join(t.TempDir(), "again")
	backUp(t, target, again)
	target = New(t, "--shards", "1")
	target.Start()
	mustCommand(t, "restore", again, "--server", target.HTTP)
	compare("restored twice")
}
