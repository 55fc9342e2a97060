package shard

import (
	"context"
	"slices"
	"strings"
	"testing"

	"cordwood/proto/schemapb"
	"cordwood/shard/manifest"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// TestCutAfterMixedRows cuts a table of which rows of the cut before went to no object, because the merge mode was
// changed between them, while another table has objects of that cut. The rows belong to the next cut, on a replica that
// had them in memory when the first cut was closed too. Nothing of them is removed with the twins of the other table.
func TestCutAfterMixedRows(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"flushed before", "flushed after", "restarted before the flush"} {
		t.Run(when, func(t *testing.T) {
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
			cut := func(number uint64, tables ...uint64) {
				t.Helper()
				e := &rules.Entry{Kind: rules.KindCut, Cut: &rules.Cut{Number: number, Tables: tables, Merging: true}}
				if err := s.propose(e); err != nil {
					t.Fatal(err)
				}
			}
			rowsOfCut := func() (mixed bool, rows int64) {
				t.Helper()
				var open *manifest.Cut
				s.store.Status.Inspect(func(st *rules.State) { _, open = st.LastCut() })
				c, err := s.store.Ledger.CutRows(open)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				at := slices.IndexFunc(c.Tables, func(t store.CutTable) bool { return t.Def.ID == 2 })
				for i := range c.Segments {
					l := store.LiveSegment{Meta: c.Segments[i].Meta}
					if span := l.Span(2); c.Tables[at].Has(span, l.Order) {
						rows += span.Rows
					}
				}
				return c.Tables[at].Mixed, rows
			}
			hot := func() bool {
				return slices.ContainsFunc(s.store.Status.Hot(), func(h store.HotTable) bool { return h.Def.ID == 2 })
			}
			s.mustPut(batch(head(1, 8, 1), "x"))
			write(1, "last_row", batch(head(2, 9, 1), "a"))
			s.flush()
			write(2, "last_non_null", batch(head(2, 9, 2), "b"))
			cut(1, 1, 2)
			if when == "flushed before" {
				s.flush()
				if mixed, rows := rowsOfCut(); !mixed || rows != 2 {
					t.Errorf("cut 1: of several modes %t, %d rows", mixed, rows)
				}
			}
			if err := s.offload(map[uint64]int64{1: 1}); err != nil {
				t.Fatal(err)
			}
			if when == "restarted before the flush" {
				s = s.reopen()
				s.stopCompactor()
			}
			s.flush()
			if hot() {
				t.Error("rows of several modes may be cut")
			}
			write(2, "last_non_null", batch(head(2, 9, 3), "c"))
			s.flush()
			expire := rules.Entry{Kind: rules.KindExpire, Cutoffs: []rules.Cutoff{{TableID: 2, Before: 2000}}} // a
			if err := s.propose(&expire); err != nil {
				t.Fatal(err)
			}
			s.flush()
			if !hot() {
				t.Error("rows of one mode may not be cut")
			}
			cut(2, 2)
			s.flush()
			if mixed, rows := rowsOfCut(); mixed || rows != 2 {
				t.Errorf("cut 2: of several modes %t, %d rows", mixed, rows)
			}
			if err := s.offload(map[uint64]int64{2: 2}); err != nil {
				t.Fatal(err)
			}
			s.flush()
			if orders := s.store.Ledger.State().CutOrders; len(orders) != 2 || orders[0].Number != 1 ||
				orders[1].TableID != 2 || orders[1].Number != 2 {
				t.Errorf("orders of cuts: %v", orders)
			}
			if got := strings.Join(s.rows(2), " "); got != "b c" {
				t.Errorf("rows %q", got)
			}
			if _, _, err := s.store.Ledger.DropTwins(nil, nil); err != nil {
				t.Fatal(err)
			}
			if got := len(s.store.Ledger.State().Segments); got != 0 {
				t.Errorf("%d segments whose rows are in objects", got)
			}
		})
	}
}
