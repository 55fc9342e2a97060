package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/node/backup/store"
	"cordwood/proto/backuppb"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

// fakeCluster is a Source of segments with random bytes.
type fakeCluster struct {
	mu     sync.Mutex
	shards map[uint32][]fakeSegment
	tables int
	reads  int
	bytes  int64
	// cut, if set, may interrupt a read. read is the number of the read.
	cut func(read int) error
	// lost contains the channels of the open pins.
	lost []chan struct{}
	// move, if set, is called before a shard is pinned. moved counts the moves of table 2.
	move  func(shard uint32)
	moved uint64
}

type fakeSegment struct {
	meta *shardpb.PinnedSegment
	data []byte
}

// newFakeCluster returns a cluster with n segments on each of two shards.
func newFakeCluster(n int) *fakeCluster {
	f := &fakeCluster{shards: map[uint32][]fakeSegment{1: nil, 2: nil}, tables: 3}
	for i := range 2 * n {
		f.add(uint32(i%2 + 1))
	}
	return f
}

// add adds a segment to a shard.
func (f *fakeCluster) add(shard uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := uint64(len(f.shards[shard]) + 1)
	r := rand.New(rand.NewPCG(uint64(shard), id))
	data := make([]byte, 1000+r.IntN(400_000))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	f.shards[shard] = append(f.shards[shard], fakeSegment{data: data, meta: &shardpb.PinnedSegment{
		Id: id, TableId: id % 3, Rows: 10, Bytes: int64(len(data)), FileCrc: crc32.Checksum(data, castagnoli), Order: id,
	}})
}

func (f *fakeCluster) ClusterID() string { return "01CLUSTER" }

func (f *fakeCluster) Shards() []*metapb.Shard {
	return []*metapb.Shard{{Id: 1, Incarnation: 1}, {Id: 2, Incarnation: 1}}
}

func (f *fakeCluster) Metadata(_ context.Context, each func(*backuppb.Record) error) error {
	for i := range f.tables {
		t := &schemapb.Table{Id: uint64(i), Name: fmt.Sprint("t", i)}
		f.mu.Lock()
		if i == 2 && f.moved > 0 {
			t.Id, t.OriginId, t.Placement = 100+f.moved, 2, []*schemapb.Placement{{Epoch: 3, ShardId: 1}}
		}
		f.mu.Unlock()
		if err := each(&backuppb.Record{Of: &backuppb.Record_Table{Table: t}}); err != nil {
			return err
		}
	}
	return nil
}

func (f *fakeCluster) Pin(_ context.Context, shard uint32) (Pin, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.move != nil {
		f.move(shard)
	}
	p := &fakePin{f: f, segments: f.shards[shard], lost: make(chan struct{})}
	f.lost = append(f.lost, p.lost)
	return p, nil
}

// lose makes the shards drop all pins.
func (f *fakeCluster) lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.lost {
		close(c)
	}
	f.lost = nil
}

type fakePin struct {
	f        *fakeCluster
	segments []fakeSegment
	lost     chan struct{}
}

func (p *fakePin) Index() uint64                    { return uint64(len(p.segments)) }
func (p *fakePin) Lost() <-chan struct{}            { return p.lost }
func (p *fakePin) Close()                           {}
func (p *fakePin) Expired() []*shardpb.ExpiredRows  { return nil }
func (p *fakePin) Merging() []*shardpb.TableMerging { return nil }

func (p *fakePin) Segments() (out []*shardpb.PinnedSegment) {
	for _, s := range p.segments {
		out = append(out, s.meta)
	}
	return out
}

func (p *fakePin) Read(_ context.Context, segment uint64, offset int64) (io.ReadCloser, error) {
	for _, s := range p.segments {
		if s.meta.Id == segment {
			return io.NopCloser(&fakeRead{p: p, r: bytes.NewReader(s.data[offset:])}), nil
		}
	}
	return nil, errors.New("no such segment")
}

type fakeRead struct {
	p *fakePin
	r io.Reader
}

func (r *fakeRead) Read(b []byte) (int, error) {
	f := r.p.f
	f.mu.Lock()
	f.reads++
	n, cut := f.reads, f.cut
	f.mu.Unlock()
	if cut != nil {
		if err := cut(n); err != nil {
			return 0, err
		}
	}
	read, err := r.r.Read(b[:min(len(b), 50_000)])
	f.mu.Lock()
	f.bytes += int64(read)
	f.mu.Unlock()
	return read, err
}

// wait returns a context that ends before the test's time limit.
func wait(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// dirRepository returns an empty repository in a directory.
func dirRepository(t testing.TB) (*Repository, string) {
	t.Helper()
	dir := t.TempDir()
	st, err := store.Open(dir, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := OpenOrCreate(wait(t), st)
	if again, err := OpenOrCreate(wait(t), st); r == nil || !r.Made() || err != nil || again.Made() {
		t.Errorf("created: %v, and when it is opened again: %v, %v", r, again, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

func mustCreate(t testing.TB, r *Repository, f Source) *Created {
	t.Helper()
	c, err := r.Create(wait(t), CreateConfig{Source: f, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustVerify(t testing.TB, r *Repository) *Verified {
	t.Helper()
	v, err := r.Verify(wait(t), VerifyConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range v.Findings {
		if strings.Contains(f.Text, f.Object) {
			t.Errorf("the finding about %s repeats the name: %s", f.Object, f.Text)
		}
	}
	return v
}
