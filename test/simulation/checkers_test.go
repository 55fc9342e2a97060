package simulation

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/replica/raftlog"
)

// This file tests the checkers. Each must find its kind of fault, and no other.

// define returns the table of these tests, with a placement.
func define(version uint32, placement ...*schemapb.Placement) *schemapb.Table {
	t := table{name: "t1"}
	columns := t.columns()
	for i, c := range columns {
		c.Id = uint32(i + 1)
	}
	return &schemapb.Table{
		Id: 7, Database: schema.DefaultDatabase, Name: t.name, Version: version, MinWriterVersion: 1, NextColumnId: 4,
		Options: t.options(), Columns: columns, Placement: placement,
	}
}

// batch encodes rows of writer 1, with ids that depend on the number of the first row.
func batch(t *testing.T, def *schemapb.Table, epoch uint32, first int64, rows int) []byte {
	t.Helper()
	of := schema.FromProto(def)
	out := table{name: "t1"}.output(time.Unix(1, 0), 1, first, rows).Tables[0].Rows
	for i, c := range out.Cols() {
		c.ID = of.Columns[i].ID
	}
	out.Finish()
	return out.Encode(nil, column.Header{TableID: of.ID, Epoch: epoch, SchemaVersion: 1, Session: 5, Seq: uint64(first)})
}

func TestLedger(t *testing.T) {
	before := define(1, &schemapb.Placement{Epoch: 1, ShardId: 1})
	sealed := define(2, before.Placement[0], &schemapb.Placement{Epoch: 2, ShardId: 2})
	l := newLedger(1)
	for i, e := range []struct {
		define *schemapb.Table
		batch  []byte
	}{
		{before, batch(t, before, 1, 0, 2)},
		{nil, batch(t, before, 1, 0, 2)}, // a repetition, which changes nothing
		{sealed, nil},
		{nil, batch(t, before, 1, 2, 1)}, // late
	} {
		var tables []*schemapb.Table
		var batches [][]byte
		if e.define != nil {
			tables = append(tables, e.define)
		}
		if e.batch != nil {
			batches = append(batches, e.batch)
		}
		if err := l.write(uint64(i+1), tables, batches); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name string
		rows map[rowID]int
		want string // empty if there is no fault
	}{
		{"without a fault", map[rowID]int{{1, 0}: 1, {1, 1}: 1}, ""},
		{"accepted after the seal", map[rowID]int{{1, 0}: 1, {1, 1}: 1, {1, 2}: 1}, "accepted with epoch 1"},
		{"applied twice", map[rowID]int{{1, 0}: 2, {1, 1}: 2}, "another number of times"},
		{"the last row is dropped", map[rowID]int{{1, 0}: 1}, "another number of times"},
	} {
		got := strings.Join(l.compare(contents{7: test.rows}), "; ")
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestArchiveConflict(t *testing.T) {
	all := newArchives()
	a := all.of("shard/1/1")
	for _, term := range []uint64{1, 1, 2} {
		a.put(&raft.Log{Index: 4, Term: term, Data: []byte("x")})
	}
	if got := all.conflicts(); len(got) != 1 || !strings.Contains(got[0], "entry 4") {
		t.Errorf("conflicts %q, want one of entry 4", got)
	}
}

// TestFlippedLog checks that a log with a damaged entry is refused with an error for damage, until it is repaired.
func TestFlippedLog(t *testing.T) {
	l := NewLog()
	open := func() (*LogHandle, error) {
		store, err := l.Open("shard/1/1")
		if err != nil {
			return nil, err
		}
		return store.(*LogHandle), nil
	}
	h, err := open()
	if err != nil {
		t.Fatal(err)
	}
	for i := uint64(1); i <= 3; i++ {
		if err := h.StoreLog(&raft.Log{Index: i, Term: 1, Data: []byte("entry")}); err != nil {
			t.Fatal(err)
		}
	}
	l.Crash()
	index, mend := l.Flip(func(n int) int { return n - 1 })
	if _, err := open(); index != 3 || !errors.Is(err, raftlog.ErrDamaged) || !strings.Contains(err.Error(), "entry 3") {
		t.Errorf("a flipped bit of entry %d: %v", index, err)
	}
	mend()
	if _, err := open(); err != nil {
		t.Errorf("mended: %v", err)
	}
}

func TestMonotonic(t *testing.T) {
	at := func(version uint32, placement ...*schemapb.Placement) *schema.Table {
		return schema.FromProto(define(version, placement...))
	}
	one, two, three := &schemapb.Placement{Epoch: 1, ShardId: 1}, &schemapb.Placement{Epoch: 2, ShardId: 2},
		&schemapb.Placement{Epoch: 3, ShardId: 1}
	closed, again := &schemapb.Placement{Epoch: 3, ShardId: 2, Closed: true}, &schemapb.Placement{Epoch: 4, ShardId: 2}
	for _, test := range []struct {
		name        string
		before, now *schema.Table
		want        string
	}{
		{"it moved", at(1, one), at(2, one, two), ""},
		{"back in version", at(2, one, two), at(1, one, two), "version"},
		{"back in epoch", at(2, one, two), at(2, one), "epoch"},
		{"its move was given up", at(1, one, two, closed), at(2, one, again), ""},
		{"the same, seen later", at(1, one, two), at(2, one, again), ""},
		{"a gap", at(1, one), at(2, one, three), "epoch 3 follows epoch 1"},
		{"an overlap", at(1, one), at(2, one, two, two), "epoch 2 follows epoch 2"},
		{"history was changed", at(1, one), at(2, &schemapb.Placement{Epoch: 1, ShardId: 2}, two), "epoch 1 had shards"},
	} {
		if got := follows(test.before, test.now); test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	w := newWatched()
	w.read("a", 1, "n1", 10)
	w.read("b", 1, "n2", 4) // another reader
	w.read("a", 2, "n1", 4) // another shard
	if len(w.violations) > 0 {
		t.Errorf("reads that do not go back: %q", w.violations)
	}
	if w.read("a", 1, "n2", 9); len(w.violations) != 1 || !strings.Contains(w.violations[0], "has seen entry 10") {
		t.Errorf("a read that goes back: %q", w.violations)
	}
}

// TestFaultsOfSeeds checks that the seeds of make test cause every kind of fault.
func TestFaultsOfSeeds(t *testing.T) {
	drawn := map[string]bool{}
	for seed := uint64(1); seed <= fixedSeeds; seed++ {
		for _, name := range Draw(seed).Faults {
			drawn[name] = true
		}
	}
	for _, f := range faults {
		if !drawn[f.name] {
			t.Errorf("no seed has the fault %q", f.name)
		}
	}
}
