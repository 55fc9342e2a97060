package cluster

import (
	"fmt"
	"strings"
	"testing"

	"cordwood/shard/cold/bucket/buckettest"
)

// TestBackupToBucket backs up a server's rows to a bucket and restores them into another server,
// only with the commands and their flags.
func TestBackupToBucket(t *testing.T) {
	endpoint, bucket := buckettest.Serve(t)
	repository := "s3://" + bucket + "/some/where"
	s3 := []string{"--s3-endpoint", endpoint}
	with := func(args ...string) []string { return append(args, s3...) }

	from := New(t)
	from.Start()
	for i := range 3 {
		if err := from.Ingest("app", fmt.Appendf(nil, `{"n":%d}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	first := backUp(t, from, repository, s3...)
	if err := from.Ingest("app", []byte(`{"n":3}`)); err != nil {
		t.Fatal(err)
	}
	second := backUp(t, from, repository, s3...)
	if first.Rows != 3 || second.Rows != 4 {
		t.Errorf("backups of %d and %d rows, want 3 and 4", first.Rows, second.Rows)
	}
	from.Stop()
	if out := mustCommand(t, with("backup", "list", repository)...); !strings.Contains(out, first.ID) ||
		!strings.Contains(out, second.ID) {
		t.Errorf("the list is\n%s", out)
	}
	if out := mustCommand(t, with("backup", "verify", repository, "--deep")...); !strings.Contains(out, "2 backups") ||
		!strings.Contains(out, "sound") {
		t.Errorf("verified:\n%s", out)
	}

	to := New(t, "--shards", "2")
	to.Start()
	mustCommand(t, with("restore", repository, "--server", to.HTTP, "--backup", first.ID)...)
	if got := fmt.Sprint(to.Rows(t, "SELECT count(*), sum(n) FROM app")); got != "[[3 3]]" {
		t.Errorf("restored rows %s", got)
	}
	mustCommand(t, with("restore", repository, "--server", to.HTTP, "--replace")...)
	if got := fmt.Sprint(to.Rows(t, "SELECT count(*), sum(n) FROM app")); got != "[[4 6]]" {
		t.Errorf("restored rows %s", got)
	}

	if out := mustCommand(t, with("backup", "prune", repository, "--keep-last", "1")...); !strings.Contains(out,
		"removed 1 backup ") || !strings.Contains(out, first.ID) {
		t.Errorf("pruned:\n%s", out)
	}
	if out := mustCommand(t, with("backup", "verify", repository, "--backup", "latest")...); !strings.Contains(out,
		"sound") {
		t.Errorf("verified after pruning:\n%s", out)
	}

	// Failures are reported in one line without secrets.
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong-canary")
	_, err := command(t, with("backup", "list", repository)...)
	if err == nil || strings.Contains(err.Error(), "canary") || strings.Count(strings.TrimSpace(err.Error()), "\n") > 0 {
		t.Errorf("with wrong credentials: %v", err)
	}
}
