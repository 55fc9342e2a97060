package meta

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// TestVersionGate checks that what is new in a version stays out of the log until the cluster uses
// the version.
func TestVersionGate(t *testing.T) {
	m := mustOpen(t, Config{})
	propose(t, m, "bootstrap c1 shards=1 version=1")
	propose(t, m, "node n1")
	later := []string{
		"state n1 draining", "remove-node n2", "settings replication=3", "create-shard n1", "change-shard 1 v=0 want=3",
		"place 1 epoch=1 shards=1", "op rebalance", "drop-ops 3",
	}
	before := m.Stats().AppliedIndex
	for _, line := range later {
		if got := propose(t, m, line); !strings.HasPrefix(got, "1001 ") ||
			!strings.Contains(got, "needs protocol version 2, and the cluster uses 1") {
			t.Errorf("%s: %s, want a refusal that names the versions", line, got)
		}
	}
	if now := m.Stats().AppliedIndex; now != before {
		t.Errorf("%d refused commands are in the log", now-before)
	}
	for _, line := range []string{"restore r time:ts3! backup=b1 replaces=t", "replace b1 r/1>t"} {
		if got := propose(t, m, line); !strings.Contains(got, "needs protocol version 9, and the cluster uses 1") {
			t.Errorf("%s: %s, want a refusal that names the versions", line, got)
		}
	}
	// Proposal ids are new too: they do not reach the log, and have no effect.
	for _, want := range []string{"session 1", "session 2"} {
		if got := propose(t, m, "#a session n1"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := propose(t, m, "version 2"); got != "" {
		t.Fatal(got)
	}
	for _, line := range later {
		if got := propose(t, m, line); strings.Contains(got, "needs protocol version") {
			t.Errorf("%s: %s", line, got)
		}
	}
	for range 2 {
		if got := propose(t, m, "#b session n1"); got != "session 3" {
			t.Errorf("got %s, want session 3", got)
		}
	}
	cmd := command(t, "session n1")
	cmd.Id = []byte("short")
	if _, err := m.Propose(within(t), &metapb.ProposeRequest{Command: cmd}); errs.CodeOf(
		errs.FromGRPC(err)) != errs.InvalidArguments {
		t.Errorf("a proposal with a short id: %v", err)
	}
}

// TestClusterStateIsRestored checks that the state of a cluster of several nodes survives a
// restart, and is restored from the snapshot and the log if the state's file is lost.
func TestClusterStateIsRestored(t *testing.T) {
	dir := t.TempDir()
	m := mustOpen(t, Config{Dir: dir})
	before := []string{
		"bootstrap c1 shards=2 no-node replication=3", "node n1 zone=a", "node n2", "node n3", "create-shard n1,n2",
		"create-shard n2 want=3",
		"create a time:ts9! append_mode=true partitions=2", "change-shard 1 v=1 add=n3", "op shard-move shard=1",
		"#a session n1", "state n1 draining", "remove-node n4",
	}
	after := []string{
		"change-shard 1 v=2 promote=n3", "op rebalance", "settings replication=1 paused=true",
		"#b session n1",
	}
	for _, line := range before {
		propose(t, m, line)
	}
	if err := m.replica.Snapshot(); err != nil {
		t.Fatal(err)
	}
	for _, line := range after {
		if got := propose(t, m, line); strings.HasPrefix(got, "1004") || strings.HasPrefix(got, "5001") {
			t.Fatalf("%s: %s", line, got)
		}
	}
	state := func() string {
		var text strings.Builder
		if err := m.catalog.View(func(tx *catalog.Tx) error { return printState(&text, tx) }); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(text.String(), "\n") // without the applied index
		return rest
	}
	want := state()
	for _, part := range []string{
		"settings replication=1 initial_shards=0 rebalance_paused=true", "zone=a state=draining",
		fmt.Sprintf("protocol=1-%d", metapb.MaxProtocol),
		"shard 1 incarnation=1 version=3 want=2 replicas=n1,n2,n3 learners= founders=n1,n2 removed=",
		"operation 2 rebalance state=running", "epoch 1 on shard ",
	} {
		if !strings.Contains(want, part) {
			t.Errorf("the state lacks %q:\n%s", part, want)
		}
	}
	for _, lost := range []bool{false, true} {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if lost {
			if err := os.Remove(filepath.Join(dir, StateFile)); err != nil {
				t.Fatal(err)
			}
		}
		m = mustOpen(t, Config{Dir: dir})
		if diff := cmp.Diff(want, state()); diff != "" {
			t.Errorf("lost=%t (-want +got):\n%s", lost, diff)
		}
		for line, answer := range map[string]string{"#a session n1": "session 1", "#b session n1": "session 2"} {
			if got := propose(t, m, line); got != answer {
				t.Errorf("lost=%t, %s: %s, want %s", lost, line, got, answer)
			}
		}
	}
}

// TestWatchSendsTheCluster checks that a watch sends the state of a cluster of several nodes, first
// as a whole and then its changes.
func TestWatchSendsTheCluster(t *testing.T) {
	m := mustOpen(t, Config{})
	for _, line := range []string{
		"bootstrap c1 shards=2 no-node replication=3", "node n1", "node n2", "op rebalance",
		"create-shard n1",
	} {
		propose(t, m, line)
	}
	got := collect(t, m, func(got []*metapb.WatchResponse) bool {
		if len(got) == 2 { // the first state is complete
			for _, line := range []string{
				"settings replication=1", "op rebalance id=1 v=1 state=done",
				"remove-node n2", "drop-ops 0",
			} {
				propose(t, m, line)
			}
		}
		return len(got[len(got)-1].DroppedOperations) > 0
	})
	first := got[0]
	if first.Settings.GetReplication() != 3 || first.Settings.GetInitialShards() != 1 ||
		first.ClusterVersion != metapb.MaxProtocol || len(first.Operations) != 1 {
		t.Errorf("the first message is %v", first)
	}
	sum := &metapb.WatchResponse{}
	for _, r := range got[2:] {
		sum.Operations = append(sum.Operations, r.Operations...)
		sum.DroppedOperations = append(sum.DroppedOperations, r.DroppedOperations...)
		sum.DroppedNodes = append(sum.DroppedNodes, r.DroppedNodes...)
		if r.Settings != nil {
			sum.Settings = r.Settings
		}
	}
	if len(sum.Operations) != 1 || !cmp.Equal(sum.DroppedOperations, []uint64{1}) ||
		!cmp.Equal(sum.DroppedNodes, []string{"n2"}) || sum.Settings.GetReplication() != 1 {
		t.Errorf("the changes are %v", sum)
	}
}

// TestVersionGateOfMarks checks that marks, notes of founders and raised counters stay out of the
// log of clusters that do not know them.
func TestVersionGateOfMarks(t *testing.T) {
	m := mustOpen(t, Config{})
	propose(t, m, fmt.Sprintf("bootstrap c1 shards=1 version=%d", metapb.ProtocolMarks-1))
	propose(t, m, "node n1")
	later := []string{"node n1 marks=1a", "node n1 readmit", "found n1 1", "raise lost", "raise table=7"}
	before := m.Stats().AppliedIndex
	for _, line := range later {
		if got := propose(t, m, line); !strings.HasPrefix(got, "1001 ") {
			t.Errorf("%s: %s, want a refusal", line, got)
		}
	}
	if now := m.Stats().AppliedIndex; now != before {
		t.Errorf("%d refused commands are in the log", now-before)
	}
	propose(t, m, fmt.Sprintf("version %d", metapb.ProtocolMarks))
	for _, line := range later {
		if got := propose(t, m, line); strings.HasPrefix(got, "1001 ") {
			t.Errorf("%s: %s", line, got)
		}
	}
}
