package shard

import (
	"context"
	"testing"

	"cordwood/proto/schemapb"
	"cordwood/shard/manifest"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// TestCutAfterMixedRows cuts a table of which rows of the cut before have stayed local, because the merge mode was
// changed between them. The set of that cut may go at any time, so the rows of the next cut must stay local too.
func TestCutAfterMixedRows(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	s.stopCompactor()
	write := func(version uint32, mode string, batches ...[]byte) {
		t.Helper()
		d := def(2)
		d.Version, d.Options = version, map[string]string{"append_mode": "false", "merge_mode": mode}
		if _, need, err := s.Write(context.Background(), batches, []*schemapb.Table{d}); err != nil || len(need) > 0 {
			t.Fatal(need, err)
		}
	}
	mixed := func() bool {
		t.Helper()
		s.flush()
		var open *manifest.Cut
		s.store.Status.Inspect(func(st *rules.State) { _, open = st.LastCut() })
		rows, err := s.store.Ledger.CutRows(open)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var found *store.CutTable
		for i := range rows.Tables {
			if rows.Tables[i].Def.ID == 2 {
				found = &rows.Tables[i]
			}
		}
		return found.Mixed
	}
	cut := func(number uint64, tables ...uint64) {
		t.Helper()
		e := &rules.Entry{Kind: rules.KindCut, Cut: &rules.Cut{Number: number, Tables: tables, Merging: true}}
		if err := s.propose(e); err != nil {
			t.Fatal(err)
		}
	}
	s.mustPut(batch(head(1, 8, 1), "x"))
	write(1, "last_row", batch(head(2, 9, 1), "a"))
	write(2, "last_non_null", batch(head(2, 9, 2), "b"))
	cut(1, 1, 2)
	if !mixed() {
		t.Error("the cut has rows of one mode")
	}
	if err := s.offload(map[uint64]int64{1: 1}); err != nil {
		t.Fatal(err)
	}
	write(2, "last_non_null", batch(head(2, 9, 3), "c"))
	cut(2, 2)
	if !mixed() {
		t.Error("rows of the next cut may go to objects")
	}
}
