package host

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard"
	"cordwood/shard/store"
)

// catalog is a Catalog that tests can change.
type catalog struct {
	mu      sync.Mutex
	shards  []*metapb.Shard
	retired []*metapb.Shard
	dropped []uint64
	tables  map[uint64]*schema.Table
	changed chan struct{}
}

func (c *catalog) TableByID(id uint64) (*schema.Table, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.tables[id]
	return t, ok
}

// setTables sets the tables and the dropped tables.
func (c *catalog) setTables(dropped []uint64, tables ...*schema.Table) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropped, c.tables = dropped, map[uint64]*schema.Table{}
	for _, t := range tables {
		c.tables[t.ID] = t
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *catalog) Shards() []*metapb.Shard  { c.mu.Lock(); defer c.mu.Unlock(); return c.shards }
func (c *catalog) DroppedTables() []uint64  { c.mu.Lock(); defer c.mu.Unlock(); return c.dropped }
func (c *catalog) Changed() <-chan struct{} { c.mu.Lock(); defer c.mu.Unlock(); return c.changed }

func (c *catalog) set(ids ...uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shards = nil
	for _, id := range ids {
		c.shards = append(c.shards, &metapb.Shard{Id: id, Incarnation: 1, Replicas: []string{"me"}})
	}
	c.shards = append(c.shards, &metapb.Shard{Id: 99, Replicas: []string{"somebody else"}})
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *catalog) RetiredShards() []*metapb.Shard {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.retired
}

// retire marks a shard as retired.
func (c *catalog) retire(id uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shards = slices.DeleteFunc(slices.Clone(c.shards), func(s *metapb.Shard) bool { return s.Id == id })
	c.retired = append(c.retired, &metapb.Shard{Id: id, Incarnation: 1, Removed: []string{"me"}})
	close(c.changed)
	c.changed = make(chan struct{})
}

// change replaces the shard with the same id.
func (c *catalog) change(m *metapb.Shard) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shards = slices.Clone(c.shards)
	for i, s := range c.shards {
		if s.Id == m.Id {
			c.shards[i] = m
		}
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// forget removes a removed replica from the metadata, as after a report that the replica was deleted.
func (c *catalog) forget(id uint32) {
	c.mu.Lock()
	c.retired = slices.DeleteFunc(slices.Clone(c.retired), func(s *metapb.Shard) bool { return s.Id == id })
	c.mu.Unlock()
	for _, s := range c.Shards() {
		if s.Id == id {
			c.change(&metapb.Shard{Id: id, Incarnation: s.Incarnation, Replicas: s.Replicas})
		}
	}
}

func (c *catalog) shard(id uint32) *metapb.Shard {
	for _, s := range c.Shards() {
		if s.Id == id {
			return s
		}
	}
	return nil
}

type created struct {
	mu  sync.Mutex
	ids []uint32
}

func (c *created) has(id uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.ids, id)
}

func (c *created) mark(ids []uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids = append(c.ids, ids...)
	return nil
}

func (c *created) drop(id uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids = slices.DeleteFunc(c.ids, func(i uint32) bool { return i == id })
	return nil
}

func newHost(t *testing.T, dir string, cat *catalog, made *created) *Host {
	t.Helper()
	return New(Config{
		Dir: dir, NodeID: "me", Catalog: cat, Logger: slog.New(slog.DiscardHandler), Created: made.has,
		MarkCreated: made.mark,
		MarkGone:    made.drop,
		Forget: func(_ context.Context, m *metapb.Shard) error {
			cat.forget(m.Id)
			return nil
		},
		Open: func(o Opening) (*shard.Shard, error) {
			return shard.Open(shard.Config{
				Config:      store.Config{ID: o.ID, Dir: o.Dir, NodeID: "me"},
				Incarnation: o.Incarnation, Bootstrap: o.Bootstrap,
			})
		},
	})
}

// start starts h and waits until its shards can serve.
func start(ctx context.Context, h *Host) error {
	if err := h.Start(); err != nil {
		return err
	}
	for h.Waits() != "" {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

func ids(h *Host) (out []uint32) {
	for _, s := range h.All() {
		out = append(out, s.ID())
	}
	return out
}

// TestFollowsPlacement checks that exactly the placed shards are opened, both at the start and later.
func TestFollowsPlacement(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cat, made := &catalog{changed: make(chan struct{})}, &created{}
	cat.set(2, 1)
	h := newHost(t, t.TempDir(), cat, made)
	if err := start(ctx, h); err != nil {
		t.Fatal(err)
	}
	if got := ids(h); !slices.Equal(got, []uint32{1, 2}) {
		t.Errorf("open after the start: %v, want 1 and 2", got)
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- h.Run(running) }()
	cat.set(1, 2, 3)
	for !made.has(3) {
		select {
		case err := <-done:
			t.Fatalf("Run ended: %v", err)
		case <-ctx.Done():
			t.Fatal("shard 3 was never opened")
		case <-time.After(5 * time.Millisecond):
		}
	}
	stop()
	mustClose(ctx, t, h, done)
}

// mustClose waits for the end of Run, whose error done receives, and closes the host.
func mustClose(ctx context.Context, t *testing.T, h *Host, done <-chan error) {
	t.Helper()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := h.Close(ctx); err != nil {
		t.Error(err)
	}
}

// TestLostShardIsNoNewShard checks that a shard with missing files is not created as a new one.
func TestLostShardIsNoNewShard(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	cat, made := &catalog{changed: make(chan struct{})}, &created{}
	cat.set(1)
	cat.shards = cat.shards[:1] // no other node has rows
	h := newHost(t, dir, cat, made)
	if err := start(ctx, h); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "1")); err != nil {
		t.Fatal(err)
	}
	h = newHost(t, dir, cat, made)
	err := start(ctx, h)
	if err == nil || !strings.Contains(err.Error(), "open shard 1: its folder") {
		t.Errorf("start without the files of shard 1: %v, want an error with its number", err)
	}
	if err := h.Close(ctx); err != nil {
		t.Error(err)
	}
}

// TestRemovedReplica checks that a replica is deleted when, and only when, the metadata list it as
// removed, and that its removal is reported.
func TestRemovedReplica(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	cat, made := &catalog{changed: make(chan struct{})}, &created{}
	cat.set(1, 2)
	for _, left := range []string{"7", "8.removed"} { // an unknown folder, and one of an unfinished removal
		if err := os.MkdirAll(filepath.Join(dir, left), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	h := newHost(t, dir, cat, made)
	if err := start(ctx, h); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- h.Run(running) }()
	cat.change(&metapb.Shard{Id: 1, Incarnation: 1, Replicas: []string{"other"}}) // the replica is not listed as removed
	cat.change(&metapb.Shard{Id: 2, Incarnation: 1, Replicas: []string{"other"}, Removed: []string{"me"}})
	for len(cat.shard(2).Removed) > 0 {
		select {
		case <-ctx.Done():
			t.Fatal("the removal of the replica was never reported")
		case <-time.After(5 * time.Millisecond):
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := ids(h); !slices.Equal(got, []uint32{1}) {
		t.Errorf("open: %v, want 1", got)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{"1", "7"}) {
		t.Errorf("folders %v, want 1 and 7", names)
	}
	if made.has(2) || !made.has(1) {
		t.Errorf("created: %v, want 1", made.ids)
	}
	if err := h.Close(ctx); err != nil {
		t.Error(err)
	}
}

// TestShardCreatedAgain creates a lost shard again. Its earlier rows must not come back, and no files may be deleted.
func TestShardCreatedAgain(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	cat, made := &catalog{changed: make(chan struct{})}, &created{}
	cat.set(1, 2)
	h := newHost(t, dir, cat, made)
	if err := start(ctx, h); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- h.Run(running) }()
	cat.change(&metapb.Shard{
		Id: 1, Incarnation: 1001, AnewIncarnation: 1001, Replicas: []string{"other"}, Founders: []string{"other"},
	})
	cat.change(&metapb.Shard{
		Id: 2, Incarnation: 1001, AnewIncarnation: 1001, Replicas: []string{"me"}, Founders: []string{"me"},
	})
	for {
		s, ok := h.Shard(2)
		if _, open := h.Shard(1); !open && ok && s.Incarnation() == 1001 && s.Leads() {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("open: %v, reports %v; want shard 2 of incarnation 1001 with a leader", ids(h), h.Reports())
		case <-time.After(5 * time.Millisecond):
		}
	}
	h.follow(ctx)
	if got := h.Left(); !slices.Equal(got, []uint32{1, 2}) {
		t.Errorf("folders that are left: %v, want those of 1 and 2", got)
	}
	for _, folder := range []string{"1", "2", "2.incarnation-1"} {
		if _, err := os.Stat(filepath.Join(dir, folder)); err != nil {
			t.Error(err)
		}
	}
	stop()
	mustClose(ctx, t, h, done)
}

// TestDivergedFolder checks that the folder of a diverged replica is kept when the replica is rebuilt.
func TestDivergedFolder(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	for _, id := range []string{"1", "2"} {
		if err := os.MkdirAll(filepath.Join(dir, id, "raft"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "1", "raft", "DIVERGED"), []byte("why\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, dir, &catalog{changed: make(chan struct{})}, &created{})
	for _, id := range []uint32{1, 2, 1} { // a repetition, as after a crash
		if err := h.drop(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(kept) != 1 || !strings.Contains(kept[0], "1.diverged-") {
		t.Errorf("folders that are left: %v, %v", kept, err)
	}
	h.count(nil)
	if got := h.Left(); !slices.Equal(got, []uint32{1}) {
		t.Errorf("Founded was called with %v, want shard 1", got)
	}
}

// TestFailedReplica checks that the node continues without a replica that does not open, and
// reports it.
func TestFailedReplica(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cat, made := &catalog{changed: make(chan struct{})}, &created{}
	cat.set(1, 2)
	dir := filepath.Join(t.TempDir(), "\x80") // an error may contain any bytes, but a protobuf message may not
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "2"), []byte("not a folder"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := newHost(t, dir, cat, made)
	if err := start(ctx, h); err != nil {
		t.Fatal(err)
	}
	reports := h.Reports()
	if len(reports) != 2 || reports[0].State != "Leader" || reports[1].State != "Failed" ||
		!strings.Contains(reports[1].Reason, "open shard 2") {
		t.Errorf("reports: %v", reports)
	}
	if _, err := proto.Marshal(reports[1]); err != nil {
		t.Error(err)
	}
	if err := h.Close(ctx); err != nil {
		t.Error(err)
	}
}

// TestNotifiesOfTables checks that a shard receives changes of its tables.
func TestNotifiesOfTables(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cat, made := &catalog{changed: make(chan struct{})}, &created{}
	cat.set(1)
	h := newHost(t, t.TempDir(), cat, made)
	if err := start(ctx, h); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- h.Run(running) }()
	table := func(id uint64, version uint32) *schemapb.Table {
		return &schemapb.Table{Id: id, Database: "d", Name: "t", Version: version, Columns: []*schemapb.Column{
			{Id: 1, Name: "ts", Type: schemapb.Type_TYPE_TIMESTAMP_SECOND, Semantic: schemapb.Semantic_SEMANTIC_TIMESTAMP},
		}}
	}
	s := h.All()[0]
	if err := s.DefineTable(ctx, table(1, 1), table(2, 1), table(3, 1)); err != nil {
		t.Fatal(err)
	}
	cat.setTables([]uint64{2}, schema.FromProto(table(1, 5)), schema.FromProto(table(4, 1)))
	for {
		version, _, _ := s.Store().Definitions.Table(1)
		_, _, two := s.Store().Definitions.Table(2)
		if version == 5 && !two {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("table 1 has version %d, table 2 exists: %t", version, two)
		case <-time.After(5 * time.Millisecond):
		}
	}
	if version, _, known := s.Store().Definitions.Table(3); version != 1 || !known {
		t.Error("a table that is not in the metadata was changed")
	}
	if _, _, known := s.Store().Definitions.Table(4); known {
		t.Error("the shard was notified of a table without rows on it")
	}
	stop()
	mustClose(ctx, t, h, done)
}

// TestFoundedOnce checks that the node reports the groups that it founded, and that it does not found a group again
// after the group's folder was lost, for example because an older copy of its disk was restored.
func TestFoundedOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cat := &catalog{changed: make(chan struct{})}
	cat.set(1, 2)
	cat.change(&metapb.Shard{
		Id: 2, Incarnation: 1, Replicas: []string{"me"}, Founders: []string{"me"}, Founded: []string{"me"},
	})
	h := newHost(t, t.TempDir(), cat, &created{})
	founded := make(chan []*metapb.FoundedShard, 1)
	h.cfg.Founded = func(_ context.Context, shards []*metapb.FoundedShard) error { founded <- shards; return nil }
	if err := start(ctx, h); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- h.Run(running) }()
	select {
	case got := <-founded:
		if len(got) != 1 || got[0].Id != 1 || got[0].Incarnation != 1 {
			t.Errorf("reported as founded: %v, want shard 1", got)
		}
	case <-ctx.Done():
		t.Fatal("nothing was reported")
	}
	if r := h.Reports(); len(r) != 2 || r[1].State != "Failed" || !r[1].FilesDamaged ||
		!strings.Contains(r[1].Reason, "is gone") {
		t.Errorf("the reports are %v, want that the folder of shard 2 is gone", r)
	}
	stop()
	mustClose(ctx, t, h, done)
}
