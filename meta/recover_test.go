package meta

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cordwood/proto/metapb"
)

// TestRecoverRaisesIDs checks that a member recovered from an old copy does not assign ids that the missing commands
// assigned, and that it accepts data folders with newer marks than its own.
func TestRecoverRaisesIDs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "meta")
	m := mustOpen(t, Config{Dir: dir, NodeID: "n1"})
	propose(t, m, "bootstrap c1 shards=1")
	propose(t, m, "node n1")
	propose(t, m, "node n2 marks=3a")
	propose(t, m, "create a time:ts9! append_mode=true")
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	before := filepath.Join(t.TempDir(), "before")
	if err := os.CopyFS(before, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	m = mustOpen(t, Config{Dir: dir, NodeID: "n1"})
	if got, want := propose(t, m, "create b time:ts9! append_mode=true"),
		"b=2 v1 @1 time:timestampnanosecond/1! append_mode=true"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	if got, want := propose(t, m, "node n2 marks=3a,4a"), "cluster c1"; got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}

	raised, err := Recover(before, "n1", time.Now())
	if err != nil || !raised {
		t.Fatalf("raised: %t, %v", raised, err)
	}
	m = mustOpen(t, Config{Dir: before, NodeID: "n1"})
	for _, step := range [][2]string{
		{"create other time:ts9! append_mode=true", "other=1048578 v1 @1 time:timestampnanosecond/1! append_mode=true"},
		{"node n2 marks=4a,5a", "cluster c1"},
		{"create-shard n1", "shard 2 v1 want1 [n1] learners[] founders[n1] removed[]"},
	} {
		if got := propose(t, m, step[0]); got != step[1] {
			t.Errorf("%s:\n got  %s\n want %s", step[0], got, step[1])
		}
	}
}

// TestReportRaisesTableIDs checks that a table id that a shard has is not assigned again, whatever
// the state has lost.
func TestReportRaisesTableIDs(t *testing.T) {
	m := mustOpen(t, Config{})
	propose(t, m, "bootstrap c1 shards=1")
	propose(t, m, "node n1")
	for _, r := range []*metapb.ReplicaReport{
		{ShardId: 1, HighestTableId: 57}, {ShardId: 1, HighestTableId: 3}, {ShardId: 1, HighestTableId: 1<<64 - 1},
	} {
		if _, err := m.Report(within(t), &metapb.ReportRequest{
			NodeId: "n1", Replicas: []*metapb.ReplicaReport{r},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := propose(t, m, "create a time:ts9! append_mode=true"),
		"a=58 v1 @1 time:timestampnanosecond/1! append_mode=true"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestStatusShowsRefusedNode checks that the status of the cluster contains the reason for which a node was
// refused, until the node registers with the right folder.
func TestStatusShowsRefusedNode(t *testing.T) {
	m := mustOpen(t, Config{})
	for _, line := range []string{"bootstrap c1 shards=1", "node n1", "node n2 marks=5a", "node n2 marks=4a"} {
		propose(t, m, line)
	}
	refused := func() string {
		s, err := m.Status(within(t), &metapb.StatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return s.Nodes[1].Refused
	}
	if got := refused(); !strings.Contains(got,
		"older than its last state in the cluster: it has mark 4, and the cluster mark 5") {
		t.Errorf("the status says %q", got)
	}
	propose(t, m, "node n2 marks=5a,6a")
	if got := refused(); got != "" {
		t.Errorf("the status still says %q", got)
	}
}
