package shard

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/replica"
	"cordwood/shard/segment"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// pinList returns the files of a pin of a caller that can read objects, and its id.
func pinList(t *testing.T, c shardpb.ShardServiceClient) (files []*shardpb.PinnedSegment, id uint64) {
	t.Helper()
	stream, err := c.Pin(t.Context(), &shardpb.PinRequest{ShardId: testShard, Objects: true})
	if err != nil {
		t.Fatal(err)
	}
	for {
		resp, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, resp.Segments...)
		if resp.Complete {
			return files, resp.PinId
		}
	}
}

// copyOfSegment reads a pinned file, checks it, and returns its rows of a table.
func copyOfSegment(t *testing.T, c shardpb.ShardServiceClient, pin uint64, p *shardpb.PinnedSegment,
	table uint64,
) []string {
	t.Helper()
	req := &shardpb.ReadSegmentRequest{ShardId: testShard, PinId: pin, SegmentId: p.Id}
	data, err := readSegment(t, c, req)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{0, 1, 4, p.Bytes / 2, p.Bytes - 1, p.Bytes} {
		req.Offset = at
		if rest, err := readSegment(t, c, req); err != nil || string(rest) != string(data[at:]) {
			t.Errorf("file %d from %d: %d bytes, want %d; %v", p.Id, at, len(rest), len(data[at:]), err)
		}
	}
	m := segment.FromProto(p)
	dir := t.TempDir()
	path := filepath.Join(dir, m.FileName())
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	fsys := vfs.OS
	if err := segment.Check(fsys, dir, &m, true); err != nil {
		t.Error(err)
	}
	return segmentRows(t, fsys, store.Segment{Meta: m, Path: path}, table)
}

// tieredShard opens a shard with rows of three tables in objects only, and a few in memory and segments. Table 2 is
// dropped.
func tieredShard(t *testing.T, b bucket.Bucket) (s *opened, want map[uint64][]string) {
	t.Helper()
	cfg := tiered(testConfig(t), b)
	cfg.ShareBytes = 3000
	cfg.Tier.LocalFor = time.Hour
	s = openShard(t, cfg)
	s.stopCompactor()
	want = map[uint64][]string{}
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
	put(3, 1, 2)
	put(80, 3)
	s.move()
	put(2, 1, 3)
	s.flush()
	s.move() // the first segments go
	put(1, 1)
	if err := s.DropTable(wait(t), 2); err != nil {
		t.Fatal(err)
	}
	delete(want, 2)
	if _, cold := s.allRows(b, 3); cold != 80 {
		t.Fatalf("%d rows of table 3 are from objects, want 80", cold)
	}
	return s, want
}

// TestPinObjects pins a shard with rows in segments and in objects. The files of the pin have each row once.
func TestPinObjects(t *testing.T) {
	t.Parallel()
	b := bucket.NewGuard(bucket.NewDir(t.TempDir()), bucket.GuardConfig{})
	s, want := tieredShard(t, b)
	c := serveCold(t, &fakeEngine{}, testReader(t, t.TempDir(), b), s.Shard)
	stream, err := c.Pin(wait(t), &shardpb.PinRequest{ShardId: testShard})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); errs.CodeOf(errs.FromGRPC(err)) != errs.IllegalState {
		t.Errorf("a caller that cannot read objects pins: %v", err)
	}
	files, pin := pinList(t, c)
	got := map[uint64][]string{}
	leftOut := 0
	ids := map[uint64]bool{}
	for _, p := range files {
		if ids[p.Id] {
			t.Errorf("two files have the id %d", p.Id)
		}
		ids[p.Id] = true
		leftOut += len(p.LeftOut)
		o := cold.Object{Meta: segment.FromProto(p)}
		for _, id := range []uint64{1, 2, 3} {
			if o.Has(id) && !slices.Contains(p.LeftOut, id) {
				got[id] = append(got[id], copyOfSegment(t, c, pin, p, id)...)
			}
		}
	}
	for id := range got {
		slices.Sort(got[id])
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if leftOut != 1 {
		t.Errorf("%d tables are left out of objects, want 1", leftOut)
	}
	if !slices.IsSortedFunc(files, func(a, b *shardpb.PinnedSegment) int { return int(a.Order) - int(b.Order) }) {
		t.Error("the files are not in the order of their rows")
	}
	again, _ := pinList(t, c)
	for _, p := range again {
		if !ids[p.Id] {
			t.Errorf("file %d had another id", p.Id)
		}
	}
}

// TestPinObjectsFaults reads a pinned object that the bucket has changed, lost, or cannot give.
func TestPinObjectsFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := &failingBucket{Bucket: bucket.NewDir(dir), read: map[string]bool{}}
	s, _ := tieredShard(t, b)
	c := serveCold(t, &fakeEngine{}, testReader(t, t.TempDir(), b), s.Shard)
	files, pin := pinList(t, c)
	at := slices.IndexFunc(files, func(p *shardpb.PinnedSegment) bool { return p.Id > 1<<63 && p.TableId == 3 })
	if at < 0 {
		t.Fatal("no object of table 3 is pinned")
	}
	req := &shardpb.ReadSegmentRequest{ShardId: testShard, PinId: pin, SegmentId: files[at].Id}
	read := func() (damaged string, err error) {
		stream, err := c.ReadSegment(wait(t), req)
		if err != nil {
			t.Fatal(err)
		}
		for {
			resp, err := stream.Recv()
			if err != nil {
				return "", errs.FromGRPC(err)
			}
			if resp.Damaged != "" {
				return resp.Damaged, nil
			}
		}
	}
	b.set(&bucket.Error{Kind: bucket.Unavailable, Op: "read", At: "it", Err: errors.New("no route")})
	if damaged, err := read(); errs.CodeOf(err) != errs.ObjectStorageUnavailable || errs.From(err).RetryAfter == 0 {
		t.Errorf("a bucket that does not answer: %q, %v", damaged, err)
	}
	b.set(nil)
	req.Offset = files[at].Bytes + 1
	if _, err := read(); errs.CodeOf(err) != errs.InvalidArguments {
		t.Errorf("behind the end: %v", err)
	}
	req.Offset = 0
	var path string
	_, sets := s.coldState()
	for i := range sets[0].Objects {
		if o := &sets[0].Objects[i]; o.Meta.TableID == 3 {
			path = filepath.Join(dir, o.Key)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/3] ^= 4
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if damaged, err := read(); damaged == "" {
		t.Errorf("a changed byte was not noticed: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if damaged, err := read(); damaged == "" {
		t.Errorf("an object that is missing: %v", err)
	}
}

// TestHandOverObjects writes and moves a table at random while its rows go to object storage, and compares it with a
// list: the table must have each row exactly once, or the last one of each identity. Some tables merge rows first and
// keep all rows later.
func TestHandOverObjects(t *testing.T) {
	t.Parallel()
	var merging atomic.Int64
	t.Cleanup(func() {
		if merging.Load() == 0 {
			t.Error("no rows that merge were in objects only")
		}
	})
	for _, mode := range []string{"append", "last_row", "last_non_null"} {
		for seed := range *handOverSeeds {
			t.Run(fmt.Sprint(mode, seed), func(t *testing.T) {
				t.Parallel()
				merging.Add(int64(handOverObjects(newTieredWorld(t, seed, mode, tierBucket(t)))))
			})
		}
	}
}

var handOverSeeds = flag.Uint64("handover-seeds", 2, "number of seeds of TestHandOverObjects, for each merge mode")

// handOverObjects returns how many objects had rows that merge and that were in no segment, summed over its rounds.
func handOverObjects(w *mergeWorld) (objects int) {
	merges := !w.table().AppendMode()
	for round := range 20 {
		if round > 6 && w.moves > 0 {
			break
		}
		if merges && round == 5 && w.rng.IntN(2) == 0 {
			w.keepAll()
			w.check("once it keeps all rows")
		}
		for i := range 1 + w.rng.IntN(4) {
			if merges && i > 0 && !w.table().AppendMode() && w.rng.IntN(4) == 0 {
				w.remode()
			}
			w.write()
			w.disturb(true)
		}
		w.check("between moves")
		if merges && !w.table().AppendMode() {
			objects += w.objects()
		}
		to := w.rng.Perm(4)[:1+w.rng.IntN(4)]
		shards := make([]uint32, len(to))
		for i := range to {
			shards[i] = uint32(to[i] + 1)
		}
		if w.table().AppendMode() && w.rng.IntN(2) == 0 {
			w.place(shards)
		} else {
			w.move(shards)
		}
		w.check(fmt.Sprint("after a move to ", shards))
	}
	if w.moves == 0 {
		w.t.Error("no move was completed")
	}
	return objects
}

// TestCutAfterChangedMode cuts a table just after it was changed so that it keeps all rows. Its objects have only rows
// from before the change, and merge as these did.
func TestCutAfterChangedMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"last_row", "last_non_null"} {
		w := newTieredWorld(t, 1, mode, tierBucket(t))
		s := w.shard(1)
		for range 8 {
			w.write()
			s.flush()
		}
		w.keepAll()
		w.beside(1) // its segment comes between the change and the cut
		s.move()
		s.flush()
		s.move()
		if w.objects() == 0 {
			t.Fatal("no rows are in objects only")
		}
		w.check("objects from before the change")
		w.write()
		w.disturb(true)
		w.check("with rows from after it")
		w.move([]uint32{2})
		w.check("after a move")
	}
}

// TestChangedModeWarning has a table with rows of two merge modes that are not in the bucket.
func TestChangedModeWarning(t *testing.T) {
	t.Parallel()
	w := newTieredWorld(t, 1, "last_row", tierBucket(t))
	s := w.shard(1)
	w.write()
	s.flush()
	if list := s.Warnings(); len(list) > 0 {
		t.Errorf("warnings before the change: %q", list)
	}
	w.keepAll()
	w.write()
	s.flush()
	s.move()
	if list := s.Warnings(); len(list) != 1 || !strings.Contains(list[0], "table id 1 stay on the local disk") {
		t.Errorf("warnings: %q", list)
	}
}

// objects returns how many objects have rows of the table that are in no segment.
func (w *mergeWorld) objects() (n int) {
	for _, id := range w.table().Shards() {
		v := w.shard(id).ReadView(w.def.Id)
		n += len(v.Cold(w.def.Id))
		v.Close()
	}
	return n
}

// TestInstallWithoutTwins adds replicas to a shard whose rows are in segments and objects. One that can read object
// storage gets no segments whose rows are in objects, and one that cannot gets them.
func TestInstallWithoutTwins(t *testing.T) {
	t.Parallel()
	b := bucket.NewDir(t.TempDir())
	can := true
	g := newGroup(t, func(_ string, cfg *Config) {
		if can {
			*cfg = tiered(*cfg, b)
		}
		cfg.TrailingBytes, cfg.trailing = 1, 1
	}, "n1")
	one := g.leader()
	one.stopCompactor()
	g.put(batch(head(1, 9, 1), "a"), batch(head(2, 9, 2), "x"))
	one.move()
	g.put(batch(head(1, 9, 3), "b"))
	one.flush()
	if rows, cold := one.allRows(b, 1); !slices.Equal(rows, []string{"a", "b"}) || cold != 0 {
		t.Fatalf("the leader has %q, %d from objects", rows, cold)
	}
	for i, id := range []string{"n2", "n3"} {
		can = i == 0
		g.addNode(id)
		o := g.open(id, nil)
		g.change(one, replica.AddLearner, id)
		g.caughtUp(o)
		for table, want := range map[uint64][]string{1: {"a", "b"}, 2: {"x"}} {
			rows, cold := o.allRows(b, table)
			if !slices.Equal(rows, want) || (cold == 1) != can {
				t.Errorf("node %s: rows of table %d %q, %d from objects", id, table, rows, cold)
			}
		}
	}
}
