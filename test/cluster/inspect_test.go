package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInspect prints every kind of file that a server writes.
func TestInspect(t *testing.T) {
	t.Parallel()
	n := New(t, "--shards", "1")
	n.Start()
	if err := n.Ingest("flushed", []byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	n.Stop()
	n.Start()
	if err := n.Ingest("logged", []byte(`{"b":"x"}`)); err != nil {
		t.Fatal(err)
	}
	n.Kill()
	inspect := func(path string) (string, error) {
		out, err := exec.Command(Binary(t), "inspect", path).CombinedOutput()
		return string(out), err
	}
	for path, wants := range map[string][]string{
		"IDENTITY":          {"node_id"},
		"meta/state.db":     {"public.flushed", `"a" Int64`, "shard 1"},
		"meta":              {"ensure_schema", "bootstrap"},
		"shards/1":          {`"public"."logged"`, "1 rows"},
		"shards/1/MANIFEST": {`"public"."flushed"`, "1 rows"},
	} {
		out, err := inspect(filepath.Join(n.Dir, path))
		if err != nil {
			t.Errorf("%s: %v, %s", path, err, out)
		}
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is not in\n%s", path, want, out)
			}
		}
	}
	segments, err := filepath.Glob(filepath.Join(n.Dir, "shards/1/segments/*.parquet"))
	if err != nil || len(segments) != 1 {
		t.Fatalf("segments: %v, %v, want one", segments, err)
	}
	if out, err := inspect(segments[0]); err != nil || !strings.Contains(out, `column 2 "a"`) {
		t.Errorf("segment: %v, %s", err, out)
	}
	if out, err := inspect(filepath.Join(n.Dir, "LOCK")); err != nil || !strings.Contains(out, "holds a lock") {
		t.Errorf("LOCK: %v, %s", err, out)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := inspect(other); err == nil || !strings.Contains(out, "does not write such a file") {
		t.Errorf("a file of another program: %v, %s", err, out)
	}
}
