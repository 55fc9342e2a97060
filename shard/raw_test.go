package shard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/shard/replica"
	"cordwood/shard/segment"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// openUnwritable opens a shard in which writing the segments of table bad fails.
func openUnwritable(t *testing.T, cfg Config, bad *atomic.Uint64) *opened {
	cfg.BeforeWrite = func(table uint64) {
		if table == bad.Load() {
			var none []int
			_ = none[table]
		}
	}
	return openShard(t, cfg)
}

func suffixed(names []string, suffix string) (n int) {
	for _, name := range names {
		if strings.HasSuffix(name, suffix) {
			n++
		}
	}
	return n
}

// TestRawRows makes the writing of one table's rows fail. Other tables must be flushed. The rows
// must survive crashes without duplicates, and be written to segments once that works again.
func TestRawRows(t *testing.T) {
	t.Parallel()
	var bad atomic.Uint64
	bad.Store(2)
	began := time.Now()
	s := openUnwritable(t, testConfig(t), &bad)
	for table := uint64(1); table <= 5; table++ {
		s.mustPut(batch(head(table, 1, table), fmt.Sprint("a", table), fmt.Sprint("b", table)))
	}
	s.flush()
	check := func(when string, raw int, want map[uint64][]string) {
		t.Helper()
		for table, rows := range want {
			if got := s.rows(table); !slices.Equal(got, rows) {
				t.Errorf("%s: table %d has %q, want %q", when, table, got, rows)
			}
		}
		if names := s.files(store.SegmentDirName); suffixed(names, segment.RawSuffix) != raw {
			t.Errorf("%s: files %q, want %d raw ones", when, names, raw)
		}
		if n := len(s.Warnings()); (n > 0) != (raw > 0) {
			t.Errorf("%s: %d raw files, warnings %q", when, raw, s.Warnings())
		}
		if s.store.Tables.Flushed.Load() < s.store.Tables.AppliedIndex {
			t.Errorf("%s: flushed up to %d of %d", when, s.store.Tables.Flushed.Load(), s.store.Tables.AppliedIndex)
		}
	}
	all := map[uint64][]string{1: {"a1", "b1"}, 2: {"a2", "b2"}, 3: {"a3", "b3"}, 4: {"a4", "b4"}, 5: {"a5", "b5"}}
	check("after the flush", 1, all)
	s = s.reopen()
	check("after a crash", 1, all)

	checkReport := func(rows int64) {
		t.Helper()
		r := s.Report()
		if len(r.Aside) != 1 || r.AsideTables != 1 {
			t.Fatalf("reported %v of %d tables", r.Aside, r.AsideTables)
		}
		a := r.Aside[0]
		if since := time.Unix(0, a.SinceUnixNano); a.TableId != 2 || a.Rows != rows || a.Bytes <= 0 || a.Reason == "" ||
			since.Before(began) || since.After(time.Now()) {
			t.Errorf("reported %v, %s; began %s", a, since, began)
		}
	}
	checkReport(2)

	// More rows of the table arrive. Writing is not tried again at once, so they are kept raw too.
	s.mustPut(batch(head(2, 1, 10), "c2"), batch(head(3, 1, 11), "c3"))
	s.flush()
	all[2], all[3] = []string{"a2", "b2", "c2"}, []string{"a3", "b3", "c3"}
	check("after another flush", 2, all)
	checkReport(3)
	s = s.reopen()
	check("after another crash", 2, all)

	// This process can write the rows, and does.
	bad.Store(0)
	s.mustPut(batch(head(2, 1, 12), "d2"))
	s.flush()
	all[2] = append(all[2], "d2")
	check("once they can be written", 0, all)
	if r := s.Report(); len(r.Aside) > 0 || r.AsideTables > 0 {
		t.Errorf("still reported: %v", r)
	}
	s = s.reopen()
	check("at the end", 0, all)
	s.close()
}

// TestRawRowsAreRetriedLater checks that rows which could not be written are not tried again at
// once, and that they are dropped with their table.
func TestRawRowsAreRetriedLater(t *testing.T) {
	t.Parallel()
	var bad atomic.Uint64
	bad.Store(2)
	cfg := testConfig(t)
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	cfg.Now = func() time.Time { return time.Unix(0, now.Load()) }
	s := openUnwritable(t, cfg, &bad)
	s.mustPut(batch(head(2, 1, 1), "a"))
	s.flush()
	bad.Store(0)
	s.mustPut(batch(head(2, 1, 2), "b"))
	s.flush()
	if names := s.files(store.SegmentDirName); suffixed(names, segment.RawSuffix) != 2 {
		t.Errorf("files %q: they were tried again at once", names)
	}
	now.Add(int64(10*time.Minute) + 1)
	s.mustPut(batch(head(2, 1, 3), "c"))
	s.flush()
	if names := s.files(store.SegmentDirName); suffixed(names, segment.RawSuffix) != 0 || len(s.Warnings()) > 0 {
		t.Errorf("files %q: they were not tried again; %q", names, s.Warnings())
	}
	if got := s.rows(2); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("rows %q", got)
	}

	bad.Store(2)
	s.mustPut(batch(head(2, 1, 4), "d"))
	s.flush()
	if _, err := s.Pin(wait(t)); errs.CodeOf(err) != errs.IllegalState {
		t.Errorf("a backup that would lack rows: %v", err)
	}
	if err := s.DropTable(wait(t), 2); err != nil {
		t.Fatal(err)
	}
	s.flush()
	if names := s.files(store.SegmentDirName); len(names) != 0 || len(s.Warnings()) > 0 || len(s.rows(2)) > 0 {
		t.Errorf("after the drop: files %q, warnings %q", names, s.Warnings())
	}
	s.close()
}

// TestRawRowsAreLimited checks that rows of a table are refused if too many of its rows are raw,
// and that other tables are not affected.
func TestRawRowsAreLimited(t *testing.T) {
	t.Parallel()
	var bad atomic.Uint64
	bad.Store(2)
	cfg := testConfig(t)
	cfg.FlushBytes = 256 << 10
	s := openUnwritable(t, cfg, &bad)
	var err error
	for i := uint64(1); i < 100 && err == nil; i++ {
		if _, err = s.put(batch(head(2, 1, i), strings.Repeat("x", 20_000)+fmt.Sprint(i))); err == nil {
			s.flush()
		}
	}
	if errs.CodeOf(err) != errs.StorageUnavailable || errs.ReasonOf(err) != errs.Busy ||
		!strings.Contains(err.Error(), "bug in this program") {
		t.Errorf("a table whose rows cannot be written takes them for ever: %v", err)
	}
	s.mustPut(batch(head(3, 1, 1), "a"))
	s.close()
}

// TestRawRowsOfMergingTable checks that raw rows keep their merge mode when the table's mode
// changes.
func TestRawRowsOfMergingTable(t *testing.T) {
	t.Parallel()
	var bad atomic.Uint64
	bad.Store(2)
	s := openUnwritable(t, testConfig(t), &bad)
	merging := def(2)
	merging.Options = map[string]string{"append_mode": "false", "merge_mode": "last_row"}
	write := func(d *schemapb.Table, batches ...[]byte) {
		t.Helper()
		if _, need, err := s.Write(context.Background(), batches, []*schemapb.Table{d}); err != nil || len(need) > 0 {
			t.Fatal(need, err)
		}
	}
	write(merging, batch(head(2, 1, 1), "a"))
	appending := def(2)
	appending.Version = 2
	write(appending, batch(head(2, 1, 2), "b"))
	view := func() string {
		v := s.ReadView(2)
		defer v.Close()
		now, eras, _ := v.Merging(2)
		return fmt.Sprint(now, eras, len(v.Batches(2)))
	}
	want := view()
	s.flush()
	if got := view(); got != want {
		t.Errorf("kept raw: %s, want %s", got, want)
	}
	s = s.reopen()
	if got := view(); got != want {
		t.Errorf("after a crash: %s, want %s", got, want)
	}
	bad.Store(0)
	write(appending, batch(head(2, 1, 3), "c"))
	s.flush()
	if got := s.rows(2); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("rows %q", got)
	}
	s.close()
}

// TestDamagedRawSegment checks that the error specifies the missing rows, and that the shard starts
// nevertheless.
func TestDamagedRawSegment(t *testing.T) {
	t.Parallel()
	var bad atomic.Uint64
	bad.Store(2)
	s := openUnwritable(t, testConfig(t), &bad)
	s.mustPut(batch(head(2, 1, 1), "a"), batch(head(3, 1, 2), "b"))
	s.flush()
	s.crash()
	names, err := filepath.Glob(filepath.Join(s.cfg.Dir, store.SegmentDirName, "*"+segment.RawSuffix))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	sound, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, len(sound) / 2, len(sound) - 1} {
		changed := slices.Clone(sound)
		changed[at] ^= 1
		if err := os.WriteFile(names[0], changed, 0o600); err != nil {
			t.Fatal(err)
		}
		s = openShard(t, s.cfg)
		v := s.ReadView(2, 3)
		if list := v.Segments(2); len(list) != 1 || list[0].Damaged == "" {
			t.Errorf("byte %d: segments %+v", at, list)
		}
		if got := viewRows(t, vfs.OS, v, 3); !slices.Equal(got, []string{"b"}) {
			t.Errorf("byte %d: the other table has %q", at, got)
		}
		v.Close()
		s.crash()
	}
}

// TestDeathsOverRows checks that rows are kept raw if two processes died while writing them, and
// that other rows are not.
func TestDeathsOverRows(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	s := openShard(t, cfg)
	for table := uint64(1); table <= 4; table++ {
		s.mustPut(batch(head(table, 1, table), fmt.Sprint("a", table)))
	}
	// The first process died while writing a file of three tables, the second while writing a file
	// of one of them.
	for _, over := range []string{`{"now":[1,2,3]}`, `{"now":[2],"deaths":{"1":1,"2":1,"3":1}}`} {
		s.crash()
		if err := os.WriteFile(filepath.Join(cfg.Dir, store.FlushingFile), []byte(over), 0o600); err != nil {
			t.Fatal(err)
		}
		s = s.reopen()
	}
	s.flush()
	if names := s.files(store.SegmentDirName); suffixed(names, segment.RawSuffix) != 1 {
		t.Errorf("files %q, want one raw one", names)
	}
	if w := s.Warnings(); len(w) != 1 || !strings.Contains(w[0], "table id 2 ") ||
		!strings.Contains(w[0], "2 processes ended") {
		t.Errorf("warnings %q", w)
	}
	for table := uint64(1); table <= 4; table++ {
		if got := s.rows(table); !slices.Equal(got, []string{fmt.Sprint("a", table)}) {
			t.Errorf("table %d has %q", table, got)
		}
	}
	if left, err := os.ReadFile(filepath.Join(cfg.Dir, store.FlushingFile)); err != nil ||
		string(left) != `{"deaths":{"2":2}}`+"\n" {
		t.Errorf("remembered: %s, %v", left, err)
	}
	s = s.reopen()
	s.mustPut(batch(head(2, 1, 9), "b2"))
	s.flush()
	if names := s.files(store.SegmentDirName); suffixed(names, segment.RawSuffix) != 2 {
		t.Errorf("files %q: tried again after a restart", names)
	}
	// Without the file, writing the rows is tried again.
	s.crash()
	if err := os.Remove(filepath.Join(cfg.Dir, store.FlushingFile)); err != nil {
		t.Fatal(err)
	}
	s = openShard(t, s.cfg)
	s.mustPut(batch(head(2, 1, 10), "c2"))
	s.flush()
	if names := s.files(store.SegmentDirName); suffixed(names, segment.RawSuffix) != 0 {
		t.Errorf("files %q: not tried again", names)
	}
	if got := s.rows(2); !slices.Equal(got, []string{"a2", "b2", "c2"}) {
		t.Errorf("rows %q", got)
	}
	s.close()
	if _, err := os.Stat(filepath.Join(cfg.Dir, store.FlushingFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file was not removed: %v", err)
	}
}

// TestRawRowsAreFetched checks that a new replica gets the raw rows of another one.
func TestRawRowsAreFetched(t *testing.T) {
	t.Parallel()
	var bad atomic.Uint64
	bad.Store(2)
	g := newGroup(t, func(id string, cfg *Config) {
		cfg.TrailingBytes, cfg.trailing = 1, 1
		cfg.BeforeWrite = func(table uint64) {
			if id == "n1" && table == bad.Load() {
				panic("a fault")
			}
		}
	}, "n1")
	one := g.leader()
	for i := range uint64(3) {
		one.mustPut(batch(head(1, 9, 2*i+1), fmt.Sprint("row", i)), batch(head(2, 9, 2*i+2), fmt.Sprint("row", i)))
		one.flush()
	}
	node := g.addNode("new")
	node.cfg = g.config("new", nil)
	s, err := Open(g.joined(node))
	if err != nil {
		t.Fatal(err)
	}
	node.open = &opened{s, t, node.cfg}
	node.setShard(s)
	t.Cleanup(node.open.crash)
	g.change(one, replica.AddLearner, "new")
	index, err := one.ReadBarrier(wait(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WaitApplied(wait(t), index); err != nil {
		t.Fatal(err)
	}
	want := []string{"row0", "row1", "row2"}
	for table := uint64(1); table <= 2; table++ {
		if got := node.open.rows(table); !slices.Equal(got, want) {
			t.Errorf("table %d has %q, want %q", table, got, want)
		}
	}
	// The new replica can write them to segments.
	one.mustPut(batch(head(2, 9, 20), "row3"))
	if index, err = one.ReadBarrier(wait(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitApplied(wait(t), index); err != nil {
		t.Fatal(err)
	}
	node.open.flush()
	if got := node.open.rows(2); !slices.Equal(got, append(want, "row3")) || len(s.Warnings()) > 0 {
		t.Errorf("rows %q, warnings %q", got, s.Warnings())
	}
}
