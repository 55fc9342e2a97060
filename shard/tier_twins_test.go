package shard

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/rules"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// allRows returns the rows of a table that a reader gets, from memory, segments and objects, sorted, and how many of
// them are from objects.
func (o *opened) allRows(b bucket.Bucket, table uint64) (rows []string, cold int) {
	o.t.Helper()
	v := o.ReadView(table)
	defer v.Close()
	rows = viewRows(o.t, o.Shard.cfg.FS, v, table)
	for _, x := range v.Cold(table) {
		rows = append(rows, objectRows(o.t, b, x.Object, table)...)
		cold += int(x.Span.Rows)
	}
	slices.Sort(rows)
	return rows, cold
}

// TestDropTwins drops local segments whose rows are in objects, and no others: the set has to be on disk, the rows old,
// and the rows of all tables of the segment in objects. Readers get every row once.
func TestDropTwins(t *testing.T) {
	t.Parallel()
	b := bucket.NewDir(t.TempDir())
	cfg := tiered(testConfig(t), b)
	cfg.ShareBytes = 3000
	var now, mono hand
	now.add(1000 * time.Second)
	cfg.Now = func() time.Time { return time.Unix(0, 0).Add(now.get()) }
	cfg.Monotonic = mono.get
	cfg.Tier.LocalFor, cfg.Tier.UploadAfter, cfg.Tier.CutBytes = time.Hour, 24*time.Hour, 1
	stays := uint64(0) // a table that is not moved
	cfg.Tier.Tables = func(t *schema.Table) bool { return t.ID != stays }
	s := openShard(t, cfg)
	s.stopCompactor()
	want := map[uint64][]string{}
	seq := uint64(0)
	put := func(n int, tables ...uint64) {
		for _, id := range tables {
			for range n {
				seq++
				text := fmt.Sprintf("row%04d of a table", seq)
				s.mustPut(batch(head(id, 9, seq), text))
				want[id] = append(want[id], text)
			}
		}
	}
	check := func(what string, cold ...int) {
		t.Helper()
		for i, n := range cold {
			rows, from := s.allRows(b, uint64(i+1))
			if d := cmp.Diff(want[uint64(i+1)], rows); d != "" {
				t.Errorf("%s: table %d: %s", what, i+1, d)
			}
			if from != n {
				t.Errorf("%s: %d rows of table %d are from objects, want %d", what, from, i+1, n)
			}
		}
	}
	step := func() {
		t.Helper()
		if err := s.mover.Step(wait(t)); err != nil {
			t.Fatal(err)
		}
	}
	put(2, 1, 2)
	put(80, 3)
	s.move()
	check("moved", 0, 0, 0)
	step()
	check("the rows are young", 0, 0, 0)
	now.add(2 * time.Hour)
	put(1, 1, 2, 3)
	s.flush()
	step() // also moves the new rows
	check("old", 2, 2, 80)
	s = s.reopen()
	s.stopCompactor()
	check("restarted", 2, 2, 80)
	s.flush()
	step()
	check("all", 3, 3, 81)
	if n := len(s.files("segments")); n > 0 {
		t.Errorf("%d segments were left", n)
	}

	// Tables 1 and 2 share a segment, and table 2 stays local.
	stays = 2
	put(2, 1, 2)
	s.move()
	put(1, 2)
	s.flush()
	step()
	check("shared with a table that stays", 3, 3, 81)
	stays = 0
	step()
	s.flush()
	step()
	check("no table stays", 5, 6, 81)

	// A table that was dropped keeps nothing.
	put(1, 1, 2)
	s.move()
	if err := s.DropTable(wait(t), 2); err != nil {
		t.Fatal(err)
	}
	s.flush()
	step()
	delete(want, 2)
	check("dropped", 6)

	// Nothing is dropped while a difference is known.
	put(2, 1)
	s.move()
	put(1, 1)
	s.flush()
	s.cut(1)
	refused := (*rules.ErrCold)(nil)
	if err := s.offload(map[uint64]int64{1: 5}); !errors.As(err, &refused) || !refused.Mismatch {
		t.Fatal(err)
	}
	if n, _, err := s.store.Ledger.DropTwins(allBefore(cfg.Now()), nil); n > 0 || err != nil {
		t.Errorf("%d segments were dropped, %v", n, err)
	}
	check("mismatch", 6)
	step()
	s.flush()
	step()
	check("right", 9)
}

// TestDropTwinsExpired drops segments some of whose rows expired before the others were moved.
func TestDropTwinsExpired(t *testing.T) {
	t.Parallel()
	b := bucket.NewDir(t.TempDir())
	cfg := tiered(testConfig(t), b)
	cfg.Tier.LocalFor = time.Hour
	s := openShard(t, cfg)
	s.stopCompactor()
	s.mustPut(batch(head(1, 9, 1), "expired"), batch(head(1, 9, 20), "moved"))
	s.flush()
	expire := rules.Entry{Kind: rules.KindExpire, Cutoffs: []rules.Cutoff{{TableID: 1, Before: 5000}}}
	if err := s.propose(&expire); err != nil {
		t.Fatal(err)
	}
	s.move()
	s.flush()
	s.move()
	if rows, cold := s.allRows(b, 1); !slices.Equal(rows, []string{"moved"}) || cold != 1 {
		t.Errorf("the rows are %q, %d of them from objects", rows, cold)
	}
}

// TestDropTwinsReplicas drops twins on each replica at its own time. A replica that is added gets none.
func TestDropTwinsReplicas(t *testing.T) {
	t.Parallel()
	b := bucket.NewDir(t.TempDir())
	g := newGroup(t, func(_ string, cfg *Config) {
		*cfg = tiered(*cfg, b)
		cfg.Tier.LocalFor = time.Hour
	}, "n1", "n2", "n3")
	g.put(batch(head(1, 9, 1), "a"))
	one := g.move()
	g.put(batch(head(1, 9, 2), "b"))
	for _, o := range g.followers(nil) {
		g.caughtUp(o)
	}
	for i, o := range append(g.followers(one), one) {
		o.flush()
		if err := o.mover.Step(wait(t)); err != nil {
			t.Logf("node %s: %v", o.cfg.NodeID, err) // the leader may have changed
		}
		for k, x := range append(g.followers(one), one) {
			rows, cold := x.allRows(b, 1)
			if !slices.Equal(rows, []string{"a", "b"}) || (cold == 1) != (k <= i) {
				t.Errorf("node %s, after %s dropped its twins: rows %q, %d from objects", x.cfg.NodeID, o.cfg.NodeID, rows, cold)
			}
		}
	}
}

// TestDropTwinsFaults makes each file operation of dropping fail once. Then it continues, or simulates a power loss.
// Every row is there once.
func TestDropTwinsFaults(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, power := range []bool{true, false} {
		for n := 1; ; n++ {
			if n > 100 {
				t.Fatal("the test does not end")
			}
			disk := vfs.NewMem()
			b := bucket.NewDir(t.TempDir())
			cfg := tiered(testConfig(t), b)
			cfg.Tier.LocalFor = time.Hour
			fail := vfs.FailNth{N: n, Err: boom}
			var armed atomic.Bool
			cfg.FS = vfs.Hook(disk, func(op vfs.Op) error {
				if armed.Load() {
					return fail.Fail(op)
				}
				return nil
			})
			cfg.FailStop = func(err error) {
				if !errors.Is(err, boom) {
					t.Error(err)
				}
			}
			s := openShard(t, cfg)
			s.stopCompactor()
			s.mustPut(batch(head(1, 9, 1), "a"), batch(head(2, 9, 2), "b"))
			s.move()
			s.mustPut(batch(head(1, 9, 3), "c"))
			s.flush()
			armed.Store(true)
			_, _, err := s.store.Ledger.DropTwins(allBefore(time.Now()), nil)
			armed.Store(false)
			if err != nil && !errors.Is(err, boom) {
				t.Fatal(err)
			}
			check := func(what string) {
				t.Helper()
				for id, want := range map[uint64][]string{1: {"a", "c"}, 2: {"b"}} {
					if rows, _ := s.allRows(b, id); !slices.Equal(rows, want) {
						t.Errorf("operation %d, power loss %t, %s: table %d has %q", n, power, what, id, rows)
					}
				}
			}
			check("after the fault")
			if power {
				s.crash()
				disk.Crash(n % 100)
				cfg.FS = disk
				s = openShard(t, cfg)
				s.stopCompactor()
				check("after a power loss")
			}
			if _, _, err := s.store.Ledger.DropTwins(allBefore(time.Now()), nil); err != nil {
				t.Fatal(err)
			}
			check("at the end")
			if _, cold := s.allRows(b, 1); cold != 1 {
				t.Errorf("operation %d, power loss %t: %d rows are from objects", n, power, cold)
			}
			s.crash()
			if !fail.Hit() {
				break
			}
		}
	}
}

// TestTwinsMakeRoom: while the disk has little space, local segments whose rows are in objects go although they are
// young, the oldest first.
func TestTwinsMakeRoom(t *testing.T) {
	t.Parallel()
	b := bucket.NewDir(t.TempDir())
	cfg := tiered(testConfig(t), b)
	var space atomic.Int32
	cfg.Space = func() store.Space { return store.Space(space.Load()) }
	cfg.Now = func() time.Time { return time.Unix(100_000, 0) }
	cfg.Tier.LocalFor, cfg.Tier.CutBytes = 1000*time.Hour, 1
	s := openShard(t, cfg)
	s.stopCompactor()
	s.mustPut(batch(head(1, 9, 1), "old"))
	s.move()
	s.mustPut(batch(head(1, 10, 90_000), "young"))
	s.move()
	s.flush()
	check := func(what string, want int) {
		t.Helper()
		s.step()
		rows, cold := s.allRows(b, 1)
		if !slices.Equal(rows, []string{"old", "young"}) || cold != want {
			t.Errorf("%s: rows %q, %d of them from objects, want %d", what, rows, cold, want)
		}
	}
	check("there is space", 0)
	space.Store(int32(store.SpaceLow))
	check("there is little space", 1)
	check("there is still little space", 2)
}

// allBefore is the same time for all tables.
func allBefore(t time.Time) store.Before { return func(*schema.Table) time.Time { return t } }

// TestLocalForOfTables checks how long local segments stay by the table option, which replaces the setting, also while
// there is little space.
func TestLocalForOfTables(t *testing.T) {
	t.Parallel()
	for _, setting := range []time.Duration{0, time.Hour} {
		t.Run(setting.String(), func(t *testing.T) {
			t.Parallel()
			b := bucket.NewDir(t.TempDir())
			cfg := tiered(testConfig(t), b)
			cfg.ShareBytes = 1 // each table has segments of its own
			var now hand
			now.add(1000 * time.Second)
			var space atomic.Int32
			cfg.Now = func() time.Time { return time.Unix(0, 0).Add(now.get()) }
			cfg.Space = func() store.Space { return store.Space(space.Load()) }
			cfg.Tier.LocalFor, cfg.Tier.CutBytes = setting, 1
			s := openShard(t, cfg)
			s.stopCompactor()
			for i, value := range []string{"", "10h", "forever"} {
				d := def(uint64(i + 1))
				if value != "" {
					d.Options[schema.OptionLocalFor] = value
				}
				rows := [][]byte{batch(head(d.Id, 9, d.Id), slices.Repeat([]string{"a row"}, 80)...)}
				if _, need, err := s.Write(wait(t), rows, []*schemapb.Table{d}); err != nil || len(need) > 0 {
					t.Fatal(err, need)
				}
			}
			s.move()
			s.flush()
			check := func(what string, want ...int) {
				t.Helper()
				s.step()
				for i, n := range want {
					if rows, from := s.allRows(b, uint64(i+1)); len(rows) != 80 || from != n*80 {
						t.Errorf("%s: table %d has %d rows, %d from objects, want %d", what, i+1, len(rows), from, n*80)
					}
				}
			}
			byDefault := 1 // rows of the table without the option
			if setting == 0 {
				byDefault = 0
			}
			check("young", 0, 0, 0)
			now.add(2 * time.Hour)
			check("after two hours", byDefault, 0, 0)
			space.Store(int32(store.SpaceLow))
			check("with little space", byDefault, 1, 0)
			now.add(1000 * time.Hour)
			check("at the end", byDefault, 1, 0)
		})
	}
}
