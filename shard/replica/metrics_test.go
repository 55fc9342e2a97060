package replica

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"cordwood/shard/replica/raftlog"
)

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	cfg := config(t.TempDir(), raftlog.WAL, &list{})
	cfg.Registerer = reg
	r := mustOpen(t, cfg)
	mustPropose(t, r, "a")
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		values[f.GetName()] = f.Metric[0].GetGauge().GetValue()
	}
	want := []string{
		"cordwood_raft_applied_index", "cordwood_raft_apply_lag_entries", "cordwood_raft_commit_index",
		"cordwood_raft_last_index",
		"cordwood_raft_leader", "cordwood_raft_leader_known", "cordwood_raft_leadership_changes_total",
		"cordwood_raft_learners",
		"cordwood_raft_log_append_bytes_total", "cordwood_raft_log_append_seconds", "cordwood_raft_log_bytes",
		"cordwood_raft_log_damage_cut_total", "cordwood_raft_log_failures_total",
		"cordwood_raft_log_fsync_seconds", "cordwood_raft_log_oldest_age_seconds", "cordwood_raft_term",
		"cordwood_raft_voters",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(values))); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if values["cordwood_raft_leader"] != 1 || values["cordwood_raft_voters"] != 1 ||
		values["cordwood_raft_apply_lag_entries"] != 0 || values["cordwood_raft_log_oldest_age_seconds"] <= 0 {
		t.Errorf("a group of one that applied an entry has metrics %v", values)
	}
	if err := r.Snapshot(); err != nil {
		t.Fatal(err)
	}
	families, err = reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		switch v := f.Metric[0].GetGauge().GetValue(); f.GetName() {
		case "cordwood_raft_log_oldest_age_seconds":
			if v != 0 {
				t.Errorf("after a snapshot of everything the oldest entry to apply again is %v s old", v)
			}
		case "cordwood_raft_snapshot_age_seconds":
			if v < 0 || v > 60 {
				t.Errorf("a snapshot that was just taken is %v s old", v)
			}
			values["snapshot taken"] = 1
		}
	}
	if values["snapshot taken"] != 1 {
		t.Error("no metric shows the snapshot")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if families, _ := reg.Gather(); len(families) != 0 {
		t.Errorf("%d metrics are left after Close", len(families))
	}
}
