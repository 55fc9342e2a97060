package shard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cordwood/proto/schemapb"
	"cordwood/shard/compaction"
	"cordwood/shard/manifest"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/shardtest"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

const testShard = shardtest.Shard

// Short names for what the tests use most.
var (
	def   = shardtest.Table
	head  = shardtest.Header
	batch = shardtest.Batch
	wait  = shardtest.Wait
)

func mustState(t testing.TB, shardID uint32, m *manifest.State) *rules.State {
	t.Helper()
	st, err := rules.NewState(shardID, m)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func mustDef(t testing.TB, p *schemapb.Table) *rules.Definition {
	t.Helper()
	stored, err := manifest.EncodeTable(p)
	if err != nil {
		t.Fatal(err)
	}
	return rules.NewDefinition(p, stored)
}

// opened is a shard under test with the configuration that it was opened with.
type opened struct {
	*Shard
	t   testing.TB
	cfg Config
}

func testConfig(t testing.TB) Config {
	// No compaction starts by itself, so that tests know which files exist.
	busy := compaction.NewLimiter(0, 0)
	if err := busy.Begin(context.Background()); err != nil {
		t.Fatal(err)
	}
	return Config{
		Config:    store.Config{ID: testShard, Dir: t.TempDir(), NodeID: "node-1", FlushAge: time.Hour, Compaction: busy},
		Bootstrap: true,
	}
}

func openShard(t testing.TB, cfg Config) *opened {
	t.Helper()
	s, err := tryOpen(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryOpen(t testing.TB, cfg Config) (*opened, error) {
	t.Helper()
	if cfg.FailStop == nil {
		cfg.FailStop = func(err error) { t.Errorf("replica failed: %v", err) }
	}
	s, err := Open(cfg)
	if err != nil {
		return nil, err
	}
	o := &opened{s, t, cfg}
	t.Cleanup(o.crash)
	if err := s.WaitReady(wait(t)); err != nil {
		return nil, err
	}
	return o, nil
}

// crash stops the goroutines without flushing, as a kill would. The files stay as they are.
func (o *opened) crash() {
	_ = o.ending.do(context.Background(), o.cfg.ID, func() error {
		if o.mover != nil {
			o.mover.Close()
		}
		o.writes.queue.close()
		o.writes.committers.Wait()
		o.installer.Close()
		o.handoffs.Close()
		close(o.stop)
		o.watching.Wait()
		o.schedule.loops.Wait()
		o.store.Compactor.StopLoop()
		err := o.Shard.replica.Close()
		o.store.Tables.Abandon()
		o.metrics.Unregister()
		return err
	})
}

// reopen crashes the shard and opens it again.
func (o *opened) reopen() *opened {
	o.t.Helper()
	o.crash()
	return openShard(o.t, o.cfg)
}

func (o *opened) close() {
	o.t.Helper()
	if err := o.Close(wait(o.t)); err != nil {
		o.t.Fatal(err)
	}
}

// put writes batches, and sends definitions if the shard asks for them.
func (o *opened) put(batches ...[]byte) (uint64, error) {
	index, need, err := o.Write(context.Background(), batches, nil)
	if err != nil || len(need) == 0 {
		return index, err
	}
	var defs []*schemapb.Table
	for _, id := range need {
		defs = append(defs, def(id))
	}
	index, need, err = o.Write(context.Background(), batches, defs)
	if len(need) > 0 {
		return 0, fmt.Errorf("the shard asked twice for %v", need)
	}
	return index, err
}

func (o *opened) mustPut(batches ...[]byte) uint64 {
	o.t.Helper()
	index, err := o.put(batches...)
	if err != nil {
		o.t.Fatal(err)
	}
	if index == 0 {
		o.t.Fatal("no index")
	}
	return index
}

func (o *opened) flush() {
	o.t.Helper()
	if err := o.Flush(wait(o.t)); err != nil {
		o.t.Fatal(err)
	}
}

// rows returns the messages of a table, sorted, from memory and from segments.
func (o *opened) rows(table uint64) []string {
	o.t.Helper()
	v := o.ReadView(table)
	defer v.Close()
	return viewRows(o.t, o.Shard.cfg.FS, v, table)
}

func viewRows(t testing.TB, fsys vfs.FS, v *store.View, table uint64) []string {
	t.Helper()
	out := []string{}
	for _, b := range v.Batches(table) {
		c := b.Column(3)
		for i := range b.Rows {
			out = append(out, string(c.Bytes(i)))
		}
	}
	for _, seg := range v.Segments(table) {
		out = append(out, segmentRows(t, fsys, seg, table)...)
	}
	slices.Sort(out)
	return out
}

func segmentRows(t testing.TB, fsys vfs.FS, seg store.Segment, table uint64) []string {
	t.Helper()
	r, err := segment.Open(fsys, seg.Path, &seg.Meta)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []string
	for {
		b, err := r.Next(64)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if b.TableID != table {
			continue
		}
		for i := range b.Rows {
			text := ""
			if c := b.Column(3); c != nil {
				text = string(c.Bytes(i))
			}
			out = append(out, text)
		}
	}
}

// files lists the base names in a directory of the shard.
func (o *opened) files(dir string) []string {
	o.t.Helper()
	names, err := o.Shard.cfg.FS.ReadDir(filepath.Join(o.cfg.Dir, dir))
	if err != nil {
		o.t.Fatal(err)
	}
	return names
}
