package shard

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"cordwood/shard/cold"
	"cordwood/shard/manifest"
	"cordwood/shard/replica"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/shardtest"
	"cordwood/shard/vfs"
)

// propose puts an entry into the log, and returns why the rules refused it.
func (o *opened) propose(e *rules.Entry) error {
	o.t.Helper()
	e.Time = o.clock.entryTime()
	applied, err := o.replica.Propose(wait(o.t), rules.AppendEntry(nil, e))
	if err != nil {
		o.t.Fatal(err)
	}
	refused, _ := applied.Result.(error)
	return refused
}

// cut opens the next cut of tables.
func (o *opened) cut(tables ...uint64) {
	o.t.Helper()
	var last uint64
	o.store.Status.Inspect(func(st *rules.State) { last, _ = st.LastCut() })
	if err := o.propose(&rules.Entry{Kind: rules.KindCut, Cut: &rules.Cut{Number: last + 1, Tables: tables}}); err != nil {
		o.t.Fatal(err)
	}
}

// offload closes the open cut with an object for each table that has a number of rows.
func (o *opened) offload(rows map[uint64]int64) error {
	o.t.Helper()
	var open *manifest.Cut
	o.store.Status.Inspect(func(st *rules.State) { _, open = st.LastCut() })
	off := &rules.Offload{Number: open.Number}
	for _, t := range open.Tables {
		n := rows[t.TableID]
		off.Tables = append(off.Tables, rules.Offloaded{TableID: t.TableID, Kept: n})
		if n > 0 {
			off.Objects = append(off.Objects, cold.Object{
				Key: fmt.Sprintf("data/%d/%d", t.TableID, open.Number), TailOffset: 5, TailCRC: 6,
				Meta: segment.Meta{TableID: t.TableID, Rows: n, MaxTime: 9, Bytes: 7},
			})
		}
	}
	return o.propose(&rules.Entry{Kind: rules.KindOffload, Offload: off})
}

// coldState describes the replicated state of object storage.
func (o *opened) coldState() (c manifest.Cold, sets []manifest.Set) {
	o.store.Status.Inspect(func(st *rules.State) {
		if s := st.StoredCold(); s != nil {
			c = *s
		}
		for _, s := range st.Sets() {
			sets = append(sets, *s)
		}
	})
	return c, sets
}

// cutsIn returns the cuts of a table's rows by segment. The rows begin with the names of their cuts.
func (o *opened) cutsIn(table uint64) (out []string) {
	o.t.Helper()
	v := o.ReadView(table)
	defer v.Close()
	for _, seg := range v.Segments(table) {
		names := map[string]bool{}
		for _, row := range segmentRows(o.t, o.Shard.cfg.FS, seg, table) {
			name, _, _ := strings.Cut(row, " ")
			names[name] = true
		}
		out = append(out, strings.Join(slices.Sorted(maps.Keys(names)), "+"))
	}
	return out
}

// TestCutsStayApart writes rows of several cuts, of tables that share segments and of one that does not. No segment
// has rows of two cuts of a table, whether the marks were flushed with their rows, were replayed, or had no rows.
func TestCutsStayApart(t *testing.T) {
	t.Parallel()
	for _, crash := range []bool{false, true} {
		cfg := testConfig(t)
		cfg.ShareBytes = 2000
		s := openShard(t, cfg)
		s.stopCompactor()
		seq := uint64(0)
		want := map[uint64][]string{}
		put := func(name string, n int, tables ...uint64) {
			t.Helper()
			for _, id := range tables {
				var rows []string
				for range n {
					seq++
					rows = append(rows, fmt.Sprint(name, " ", seq, strings.Repeat("x", 10)))
				}
				s.mustPut(batch(head(id, 9, seq), rows...))
				want[id] = append(want[id], rows...)
			}
		}
		restart := func() {
			if crash {
				s = s.reopen()
				s.stopCompactor()
			}
		}
		put("a", 2, 1, 2, 3)
		s.flush()
		put("a", 100, 1)
		put("a", 2, 2, 3)
		restart()
		s.cut(1, 2) // table 3 shares their segments, but is in no cut
		put("b", 3, 1, 2, 3)
		restart()
		if err := s.offload(map[uint64]int64{1: 1, 2: 1}); err != nil {
			t.Fatal(err)
		}
		s.cut(1, 2, 3) // both cuts are in one memtable
		put("c", 2, 2, 3)
		restart()
		s.flush()
		put("c", 2, 1, 2, 3)
		s.flush()
		if err := s.offload(map[uint64]int64{1: 3, 2: 3, 3: 1}); err != nil {
			t.Fatal(err)
		}
		s.cut(1, 2, 3) // nothing of it is in memory
		restart()
		put("d", 2, 1, 2, 3)
		s.flush()
		for id := range uint64(3) {
			slices.Sort(want[id+1])
		}
		for _, when := range []string{"flushed", "compacted", "restarted", "compacted again"} {
			if strings.HasPrefix(when, "compacted") {
				before := len(s.store.Status.Segments())
				if err := s.compactNow(); err != nil {
					t.Fatal(err)
				}
				if after := len(s.store.Status.Segments()); when == "compacted" && after >= before {
					t.Errorf("nothing was merged: %d segments, %d before", after, before)
				}
			}
			if when == "restarted" {
				s = s.reopen()
				s.stopCompactor()
			}
			for id, rows := range want {
				if d := cmp.Diff(rows, s.rows(id)); d != "" {
					t.Errorf("crash %t, %s: table %d: %s", crash, when, id, d)
				}
				for _, names := range s.cutsIn(id) {
					if strings.Contains(names, "+") && (id < 3 || names != "a+b") {
						t.Errorf("crash %t, %s: a segment of table %d has rows of the cuts %s", crash, when, id, names)
					}
				}
				// The orders in the manifest say which segments have the rows of which cut.
				v := s.ReadView(id)
				for i, seg := range v.Segments(id) {
					cuts := 0
					for _, o := range s.store.Ledger.State().CutOrders {
						if o.TableID == id && o.Number > 0 && o.Order <= seg.Order {
							cuts++
						}
					}
					name := s.cutsIn(id)[i]
					last := name[len(name)-1]
					// The first cut of table 3 is the second one, with the rows of a and b.
					if id == 3 && last > 'a' {
						last--
					}
					if last != 'a'+byte(cuts) {
						t.Errorf("crash %t, %s: %d cuts end before a segment of table %d with the rows of %s", crash, when, cuts,
							id, name)
					}
				}
				v.Close()
			}
		}
		_, sets := s.coldState()
		if len(sets) != 2 || len(sets[0].Objects) != 2 || len(sets[1].Objects) != 3 {
			t.Errorf("crash %t: the sets are %+v", crash, sets)
		}
		s.close()
	}
}

// TestCutOfRawRows opens a cut while rows of its table cannot be written to segments. Their cut is known once they can.
func TestCutOfRawRows(t *testing.T) {
	t.Parallel()
	var bad atomic.Uint64
	bad.Store(2)
	s := openUnwritable(t, testConfig(t), &bad)
	s.stopCompactor()
	s.mustPut(batch(head(2, 1, 1), "a 1"))
	s.flush()
	s.mustPut(batch(head(2, 1, 2), "a 2"))
	s.cut(2)
	s.mustPut(batch(head(2, 1, 3), "b 3"))
	s.flush()
	s.mustPut(batch(head(2, 1, 4), "b 4"))
	s.flush()
	s = s.reopen()
	s.stopCompactor()
	if orders := s.store.Ledger.State().CutOrders; len(orders) > 0 || len(s.cutsIn(2)) > 0 {
		t.Errorf("rows that are not in segments: orders %+v", orders)
	}
	bad.Store(0)
	s.mustPut(batch(head(2, 1, 5), "b 5"))
	s.flush()
	if err := s.compactNow(); err != nil {
		t.Fatal(err)
	}
	if got := s.cutsIn(2); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the segments have rows of the cuts %q", got)
	}
	if d := cmp.Diff([]string{"a 1", "a 2", "b 3", "b 4", "b 5"}, s.rows(2)); d != "" {
		t.Error(d)
	}
}

// TestRefusedOffload compares the rows of an offload with what was appended. A difference is counted, and changes
// nothing, also after a restart.
func TestRefusedOffload(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	cfg := testConfig(t)
	cfg.Registerer = reg
	s := openShard(t, cfg)
	s.mustPut(batch(head(1, 9, 1), "a"))
	s.cut(1)
	if err := s.offload(map[uint64]int64{1: 1}); err != nil {
		t.Fatal(err)
	}
	s.mustPut(batch(head(1, 9, 2), "b", "c"))
	s.flush()
	s.mustPut(batch(head(1, 9, 3), "d"))
	s.mustPut(batch(head(1, 9, 3), "d")) // a duplicate
	s.cut(1)
	s.mustPut(batch(head(1, 9, 4), "e"))
	for range 2 {
		refused := (*rules.ErrCold)(nil)
		if err := s.offload(map[uint64]int64{1: 2}); !errors.As(err, &refused) || !refused.Mismatch {
			t.Errorf("an offload with too few rows: %v", err)
		}
		if n := shardtest.Metric(t, reg, "cordwood_cold_mismatch_total"); n != 1 {
			t.Errorf("%v mismatches are counted", n)
		}
		s.flush()
		s = s.reopen()
	}
	if err := s.offload(map[uint64]int64{1: 3}); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"a", "b", "c", "d", "e"}, s.rows(1)); d != "" {
		t.Error(d)
	}
}

// TestColdReplicas compares the state of object storage on replicas that applied the same entries, on one that
// restarted, and on one that took over the state of another. Tables are dropped and rows expire meanwhile.
func TestColdReplicas(t *testing.T) {
	t.Parallel()
	g := newGroup(t, func(_ string, cfg *Config) { cfg.TrailingBytes, cfg.trailing = 1, 1 }, "n1", "n2", "n3")
	one := g.leader()
	seq := uint64(0)
	put := func(name string) {
		for id := range uint64(3) {
			seq++
			g.put(batch(head(id+1, 9, seq), name+" 1", name+" 2"))
		}
	}
	put("a")
	one.cut(1, 2, 3)
	put("b")
	if err := one.offload(map[uint64]int64{1: 2, 2: 2, 3: 2}); err != nil {
		t.Fatal(err)
	}
	one.flush()
	one.cut(1, 2, 3)
	put("c")
	followers := g.followers(one)
	g.barrier(one, followers[0])
	followers[0].flush()
	if err := one.DropTable(wait(t), 3); err != nil {
		t.Fatal(err)
	}
	expire := rules.Entry{Kind: rules.KindExpire, Cutoffs: []rules.Cutoff{{TableID: 2, Before: 10}}}
	if err := one.propose(&expire); err != nil {
		t.Fatal(err)
	}
	if err := one.offload(map[uint64]int64{1: 2, 2: 2}); err != nil {
		t.Fatal(err)
	}
	one.cut(1)
	g.stop(followers[0].cfg.NodeID)
	g.open(followers[0].cfg.NodeID, nil)
	one.flush()
	g.addNode("n4")
	four := g.open("n4", nil)
	g.change(one, replica.AddLearner, "n4")
	wantCold, wantSets := one.coldState()
	if wantCold.Open == nil || wantCold.LastCut != 3 || len(wantCold.Dead) != 3 || len(wantSets) != 2 {
		t.Errorf("the leader has %+v and the sets %+v", wantCold, wantSets)
	}
	for _, o := range append(g.followers(one), four) {
		g.barrier(one, o)
		gotCold, gotSets := o.coldState()
		if d := cmp.Diff(wantCold, gotCold, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("node %s (-leader +node):\n%s", o.cfg.NodeID, d)
		}
		if d := cmp.Diff(wantSets, gotSets, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("node %s: sets (-leader +node):\n%s", o.cfg.NodeID, d)
		}
		o.flush()
		if err := o.compactNow(); err != nil {
			t.Fatal(err)
		}
		for id := range uint64(2) {
			for _, names := range o.cutsIn(id + 1) {
				if strings.Contains(names, "+") {
					t.Errorf("node %s: a segment of table %d has rows of the cuts %s", o.cfg.NodeID, id+1, names)
				}
			}
		}
		g.wantRows(o, 1, "a 1", "a 2", "b 1", "b 2", "c 1", "c 2")
	}
}

// TestColdFaults opens and closes cuts, and makes each file operation fail once. Then it continues, or simulates a
// power loss. Afterwards every row is there once, no segment has rows of two cuts, and the sets are as in the log.
func TestColdFaults(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, power := range []bool{true, false} {
		for n := 1; ; n++ {
			if n > 300 {
				t.Fatal("the test does not end")
			}
			disk := vfs.NewMem()
			fail := vfs.FailNth{N: n, Err: boom}
			cfg := testConfig(t)
			cfg.FS = vfs.Hook(disk, fail.Fail)
			cfg.FailStop = func(err error) {
				if !errors.Is(err, boom) {
					t.Error(err)
				}
			}
			s := openShard(t, cfg)
			s.stopCompactor()
			var want []string
			for i := range uint64(3) {
				for k := range uint64(2) {
					text := fmt.Sprint("cut", i, " row", k)
					s.mustPut(batch(head(1, 9, 4*i+2*k+1), text), batch(head(2, 9, 4*i+2*k+2), text))
					want = append(want, text)
					if k == 0 {
						if err := s.Flush(wait(t)); err != nil && !errors.Is(err, boom) {
							t.Fatalf("operation %d: %v", n, err)
						}
					}
				}
				s.cut(1, 2)
				if i == 2 {
					break
				}
				if err := s.offload(map[uint64]int64{1: 2, 2: 2}); err != nil {
					t.Fatalf("operation %d: %v", n, err)
				}
				if err := s.compactNow(); err != nil && !errors.Is(err, boom) {
					t.Fatalf("operation %d: %v", n, err)
				}
				s.store.Compactor.TryAgain()
			}
			if err := s.Flush(wait(t)); err != nil && !errors.Is(err, boom) {
				t.Fatalf("operation %d: %v", n, err)
			}
			s.crash()
			if power {
				disk.Crash(n % 100)
			}
			cfg.FS = disk
			s = openShard(t, cfg)
			s.stopCompactor()
			for range 2 {
				c, sets := s.coldState()
				if c.LastCut != 3 || c.Open == nil || len(c.Dead) > 0 || len(sets) != 2 || len(sets[0].Objects) != 2 {
					t.Errorf("operation %d, power cut %t: %+v, sets %+v", n, power, c, sets)
				}
				s.flush()
				if err := s.compactNow(); err != nil {
					t.Fatal(err)
				}
				for _, id := range []uint64{1, 2} {
					if diff := cmp.Diff(want, s.rows(id)); diff != "" {
						t.Errorf("operation %d, power cut %t: table %d: %s", n, power, id, diff)
					}
					if got := s.cutsIn(id); !slices.Equal(got, []string{"cut0", "cut1", "cut2"}) {
						t.Errorf("operation %d, power cut %t: the segments of table %d have rows of the cuts %q", n, power, id, got)
					}
				}
				s = s.reopen()
				s.stopCompactor()
			}
			s.crash()
			if !fail.Hit() {
				break
			}
		}
	}
}
