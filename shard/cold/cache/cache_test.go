package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/segment"
)

func TestFetch(t *testing.T) {
	b := newBucket(t)
	s := store(t, b, "data/7/1/a.parquet", 5000) // 50 row groups: stripes of 24, 24, 1, 1
	c := mustOpen(t, filepath.Join(t.TempDir(), "cache"), b, 64<<20)
	h := c.Hold()
	defer h.Release()
	files, err := h.Open(wait(t), s.Object)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := b.count(); n != 1 {
		t.Errorf("the tail took %d requests, want 1", n)
	}
	level := some(files[0], field(2))
	requests, fetch, there := c.Missing(level)
	mustGet(t, h, s, field(2))
	n, size := b.count()
	if n != 1 || n != requests || size != fetch || there != 0 {
		t.Errorf("a column took %d requests and %d bytes; Missing said %d and %d, %d there", n, size, requests, fetch, there)
	}
	mustGet(t, h, s, field(2)) // again in the same Hold
	other := c.Hold()
	mustGet(t, other, s, field(2))
	other.Release()
	if n, _ := b.count(); n != 0 {
		t.Errorf("what is there took %d requests", n)
	}
	if n, fetch, there := c.Missing(level); n != 0 || fetch != 0 || there != size-gaps(level) {
		t.Errorf("Missing says %d requests, %d bytes, %d there", n, fetch, there)
	}
	mustGet(t, h, s, all)
	if n, size := b.count(); n == 0 || size > s.Bytes {
		t.Errorf("the rest took %d requests and %d bytes", n, size)
	}
	used := c.Stats()
	if disk := onDisk(t, c.cfg.Dir); used.Objects != 1 || used.Pinned != used.Bytes || disk > used.Bytes {
		t.Errorf("%+v, and %d bytes on disk", used, disk)
	}
	if err := h.Fetch(wait(t), Want{files[0], []int{len(files[0].List)}}); err == nil {
		t.Error("a unit that does not exist was fetched")
	}
}

// gaps returns the bytes between the units of a column of an object in one request.
func gaps(w Want) (n int64) {
	for i, u := range w.Units[1:] {
		before := w.File.List[w.Units[i]]
		n += w.File.List[u].Offset - before.Offset - before.Length
	}
	return n
}

// TestEngineFile looks at what the engine sees: all row groups, no bloom filters, no page indexes.
func TestEngineFile(t *testing.T) {
	b := newBucket(t)
	s := store(t, b, "a", 1000)
	c := mustOpen(t, t.TempDir(), b, 64<<20)
	h := c.Hold()
	defer h.Release()
	mustGet(t, h, s, field(1))
	f, err := os.Open(filepath.Join(c.cfg.Dir, FileName("a")))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var text strings.Builder
	if err := inspectFile(&text, f); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); !strings.Contains(got, "1000 rows, 4 columns, 10 row groups") ||
		strings.Contains(got, "bloom") || strings.Contains(got, "cordwood.") {
		t.Errorf("the engine sees\n%s", got)
	}
}

func TestRestart(t *testing.T) {
	b, dir := newBucket(t), t.TempDir()
	s := store(t, b, "a", 5000)
	c := mustOpen(t, dir, b, 64<<20)
	h := c.Hold()
	mustGet(t, h, s, field(4))
	mustGet(t, h, s, func(u *segment.Unit) bool { return u.Kind == segment.FilterUnit })
	h.Release()
	before := c.Stats()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Hold().Open(wait(t), s.Object); !errors.Is(err, ErrClosed) {
		t.Errorf("opened after Close: %v", err)
	}
	b.count()
	// A map that is being written, a file that no map has, and a foreign file.
	for _, name := range []string{"x.map.tmp", "y.parquet", "z.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("PAR1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c = mustOpen(t, dir, b, 64<<20)
	after := c.Stats()
	if after.Objects != before.Objects || after.Bytes != before.Bytes || after.Pinned != 0 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	h = c.Hold()
	mustGet(t, h, s, field(4))
	mustGet(t, h, s, func(u *segment.Unit) bool { return u.Kind == segment.FilterUnit })
	h.Release()
	if n, _ := b.count(); n != 0 {
		t.Errorf("after a restart %d requests were made", n)
	}
	files, err := filepath.Glob(filepath.Join(dir, "?.*"))
	if err != nil || fmt.Sprint(files) != fmt.Sprint([]string{filepath.Join(dir, "z.txt")}) {
		t.Errorf("files left: %v, %v", files, err)
	}
}

// TestDamage spoils the files of the cache while it is closed and while it is open. Nothing wrong is served.
func TestDamage(t *testing.T) {
	flip := func(offset func(s stored) int64) func(t *testing.T, dir string, s stored) {
		return func(t *testing.T, dir string, s stored) {
			f, err := os.OpenFile(filepath.Join(dir, FileName(s.Key)), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			one := make([]byte, 1)
			if _, err := f.ReadAt(one, offset(s)); err != nil {
				t.Fatal(err)
			}
			one[0] ^= 8
			if _, err := f.WriteAt(one, offset(s)); err != nil {
				t.Fatal(err)
			}
		}
	}
	truncate := func(suffix string, size int64) func(t *testing.T, dir string, s stored) {
		return func(t *testing.T, dir string, s stored) {
			if err := os.Truncate(filepath.Join(dir, s.name()+suffix), size); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, spoil := range map[string]func(t *testing.T, dir string, s stored){
		"chunk":       flip(func(stored) int64 { return 100 }),
		"page index":  flip(func(s stored) int64 { return s.TailOffset + 5 }),
		"footer":      flip(func(s stored) int64 { return s.Bytes - 20 }),
		"bare footer": flip(func(s stored) int64 { return s.Bytes + 20 }),
		"cut":         truncate(dataSuffix, 1000),
		"long":        truncate(dataSuffix, 100_000_000),
		"empty map":   truncate(mapSuffix, 0),
		"short map":   truncate(mapSuffix, 50),
		"file": func(t *testing.T, dir string, s stored) {
			if err := os.Remove(filepath.Join(dir, FileName(s.Key))); err != nil {
				t.Fatal(err)
			}
		},
		"folder": func(t *testing.T, dir string, _ stored) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, dir := newBucket(t), filepath.Join(t.TempDir(), "cache")
			s := store(t, b, "a", 2000)
			c := mustOpen(t, dir, b, 64<<20)
			read := func() {
				t.Helper()
				err := ErrLost
				for range 3 {
					h := c.Hold()
					if err = get(wait(t), h, s, all); errors.Is(err, ErrLost) {
						h.Release()
						continue
					}
					h.Release()
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			read()
			c.save()
			spoil(t, dir, s)
			read()
			c.save()
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			spoil(t, dir, s)
			c = mustOpen(t, dir, b, 64<<20)
			read()
			b.count()
			read()
			if n, _ := b.count(); n != 0 {
				t.Errorf("%d requests for what is there", n)
			}
		})
	}
}

// TestBound uses more than fits, and compares the space on disk with the limit all the time.
func TestBound(t *testing.T) {
	b, dir := newBucket(t), t.TempDir()
	var objects []stored
	for i := range 6 {
		objects = append(objects, store(t, b, fmt.Sprint("o", i), 4000))
	}
	limit := objects[0].Bytes * 2
	c := mustOpen(t, dir, b, limit)
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		h := c.Hold()
		s := objects[r.IntN(len(objects))]
		mustGet(t, h, s, func(u *segment.Unit) bool { return r.IntN(4) == 0 })
		if st := c.Stats(); st.Bytes > limit || st.Pinned > st.Bytes {
			t.Fatalf("%+v with a limit of %d", st, limit)
		}
		if n := onDisk(t, dir); n > limit {
			t.Fatalf("%d bytes on disk, the limit is %d", n, limit)
		}
		h.Release()
	}
	if st := c.Stats(); st.Pinned != 0 || st.Bytes < limit/2 {
		t.Errorf("at the end %+v", st)
	}
	if n := onDisk(t, dir); n < limit/4 {
		t.Errorf("%d bytes on disk, the limit is %d", n, limit)
	}
	c.SetLimit(limit / 4)
	if n := onDisk(t, dir); n > limit/4 {
		t.Errorf("%d bytes on disk, the new limit is %d", n, limit/4)
	}
	for _, s := range objects {
		c.Forget(s.Key)
	}
	if st := c.Stats(); st.Bytes != 0 || st.Objects != 0 || onDisk(t, dir) != 0 {
		t.Errorf("after Forget %+v, %d bytes on disk", st, onDisk(t, dir))
	}
}

func TestNoRoom(t *testing.T) {
	b := newBucket(t)
	s, other := store(t, b, "a", 4000), store(t, b, "b", 4000)
	c := mustOpen(t, t.TempDir(), b, s.Bytes*21/20)
	h := c.Hold()
	err := get(wait(t), h, s, all)
	var room *NoRoomError
	if !errors.As(err, &room) || room.Need <= room.Limit || !strings.Contains(err.Error(), "at once, and the cache has") {
		t.Fatalf("got %v", err)
	}
	mustGet(t, h, s, field(4)) // most of it
	second := c.Hold()
	err = get(wait(t), second, other, field(4))
	if !errors.As(err, &room) || room.Need > room.Limit || !strings.Contains(err.Error(), "other queries use") {
		t.Fatalf("got %v", err)
	}
	second.Release()
	h.Release()
	h = c.Hold()
	mustGet(t, h, other, field(4))
	h.Release()
	if st := c.Stats(); st.Pinned != 0 || st.Bytes > st.Limit {
		t.Errorf("%+v", st)
	}
}

// TestScan reads a working set again and again while a scan reads ten times the size of the cache.
func TestScan(t *testing.T) {
	b := newBucket(t)
	var working, scanned []stored
	for i := range 4 {
		working = append(working, store(t, b, fmt.Sprint("w", i), 1000))
	}
	for i := range 80 {
		scanned = append(scanned, store(t, b, fmt.Sprint("s", i), 1000))
	}
	c := mustOpen(t, t.TempDir(), b, 8*working[0].Bytes)
	read := func(s stored, want func(u *segment.Unit) bool) {
		h := c.Hold()
		defer h.Release()
		mustGet(t, h, s, want)
	}
	for range 3 {
		for _, s := range working {
			read(s, field(2))
			read(s, field(3))
		}
	}
	b.count()
	asked, missed := 0, 0
	for i, s := range scanned {
		read(s, field(4))
		read(working[i%len(working)], field(2))
		asked++
		n, _ := b.count()
		if n > 2 { // the scan itself makes two
			missed++
		}
	}
	if missed*20 > asked {
		t.Errorf("%d of %d reads of the working set were not in the cache during a scan", missed, asked)
	}
}

func TestOneFetchForAll(t *testing.T) {
	b := newBucket(t)
	s := store(t, b, "a", 1000)
	c := mustOpen(t, t.TempDir(), b, 64<<20)
	first := c.Hold()
	mustGet(t, first, s, func(*segment.Unit) bool { return false })
	first.Release()
	b.count()
	began, goOn := make(chan struct{}, 10), make(chan struct{})
	b.set(func(ctx context.Context, _ string, _ bucket.Range) error {
		began <- struct{}{}
		select {
		case <-goOn:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	// The first one is cancelled while it fetches; another one then fetches for all.
	ctx, cancel := context.WithCancel(wait(t))
	gone := make(chan error)
	go func() {
		h := c.Hold()
		defer h.Release()
		gone <- get(ctx, h, s, field(4))
	}()
	<-began
	var wg sync.WaitGroup
	failed := make(chan error, 8)
	for range cap(failed) {
		wg.Go(func() {
			h := c.Hold()
			defer h.Release()
			failed <- get(wait(t), h, s, field(4))
		})
	}
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled one got %v", err)
	}
	<-began
	close(goOn)
	wg.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			t.Error(err)
		}
	}
	if n, _ := b.count(); n != 2 {
		t.Errorf("%d requests, want 2: that of the cancelled one, and one for all", n)
	}
	// All who wait get the error of the bucket.
	broken := &bucket.Error{Kind: bucket.Unavailable, Op: "read", At: "a", Err: errors.New("no answer")}
	b.set(func(context.Context, string, bucket.Range) error { return broken })
	h := c.Hold()
	defer h.Release()
	if err := get(wait(t), h, s, field(3)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// TestManyAtOnce has readers of random parts, a cache that is too small, and faults of the bucket and the disk.
func TestManyAtOnce(t *testing.T) {
	b, dir := newBucket(t), t.TempDir()
	var objects []stored
	for i := range 4 {
		objects = append(objects, store(t, b, fmt.Sprint("o", i), 2000))
	}
	var mu sync.Mutex
	faults := rand.New(rand.NewPCG(3, 4))
	unlucky := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return faults.IntN(50) == 0
	}
	broken := &bucket.Error{Kind: bucket.Unavailable, Op: "read", At: "a", Err: errors.New("injected")}
	b.set(func(context.Context, string, bucket.Range) error {
		if unlucky() {
			return broken
		}
		return nil
	})
	limit := objects[0].Bytes * 3
	c := mustOpen(t, dir, b, limit, func(cfg *Config) {
		cfg.fault = func(op, _ string) error {
			if op != "remove" && unlucky() {
				return []error{syscall.EIO, syscall.ENOSPC}[len(op)%2]
			}
			return nil
		}
	})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 5))
			for range 60 {
				h := c.Hold()
				for range 1 + r.IntN(3) {
					ctx, cancel := context.WithCancel(wait(t))
					if r.IntN(10) == 0 {
						cancel()
					}
					err := get(ctx, h, objects[r.IntN(len(objects))], func(*segment.Unit) bool { return r.IntN(5) == 0 })
					cancel()
					var room *NoRoomError
					if err != nil && !errors.Is(err, broken) && !errors.Is(err, context.Canceled) && !errors.As(err, &room) &&
						!errors.Is(err, ErrLost) && !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ENOSPC) {
						t.Error(err)
					}
				}
				if st := c.Stats(); st.Bytes > limit {
					t.Errorf("%+v", st)
				}
				h.Release()
			}
		})
	}
	wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reserved != 0 || c.pinned != 0 || c.leaving != 0 {
		t.Errorf("%d reserved, %d pinned, %d leaving", c.reserved, c.pinned, c.leaving)
	}
	for _, o := range c.objects {
		if o.pins != 0 || len(o.flights) != 0 || o.removal != nil {
			t.Errorf("object %s: %d pins, %d fetches", o.Key, o.pins, len(o.flights))
		}
	}
}

// TestEachFault makes each operation on the disk fail once, and then kills the cache. What it serves is right, then and
// after the next start.
func TestEachFault(t *testing.T) {
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC, syscall.EOPNOTSUPP, fs.ErrNotExist} {
		b := newBucket(t)
		s, other := store(t, b, "a", 1500), store(t, b, "b", 1500)
		for n := 0; ; n++ {
			dir, seen, over := t.TempDir(), 0, false
			var mu sync.Mutex
			cfg := Config{Dir: dir, Bytes: s.Bytes * 3 / 2, Bucket: b, fault: func(op, name string) error {
				mu.Lock()
				defer mu.Unlock()
				if seen++; seen-1 == n && !over {
					return cause
				}
				return nil
			}}
			c, err := Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			use := func(c *Cache, strict bool) {
				for _, x := range []stored{s, other, s} {
					h := c.Hold()
					if err := get(wait(t), h, x, field(4)); err != nil && (strict || errors.Is(err, errDiffers)) {
						t.Errorf("%v at operation %d: %v", cause, n, err)
					}
					h.Release()
				}
				c.save()
			}
			use(c, false)
			mu.Lock()
			last := seen <= n
			over = true
			mu.Unlock()
			use(c, true)
			again, err := Open(Config{Dir: dir, Bytes: s.Bytes * 3 / 2, Bucket: b}) // without a Close before
			if err != nil {
				t.Fatal(err)
			}
			use(again, true)
			if err := errors.Join(again.Close(), c.Close()); err != nil {
				t.Fatal(err)
			}
			if last {
				break
			}
		}
	}
}

// TestFetchEnds fetches tails before they are asked for: once, in a bounded part of the cache, and not those of objects
// that are lost.
func TestFetchEnds(t *testing.T) {
	b := newBucket(t)
	objects := make([]Object, 4)
	for i := range objects {
		objects[i] = store(t, b, fmt.Sprint("data/7/1/", i), 300).Object
	}
	lost := objects[1]
	lost.Key = "data/7/1/lost"
	all := slices.Concat(objects[:1], []Object{lost}, objects[1:])
	open := func(size int64) *Cache { return mustOpen(t, filepath.Join(t.TempDir(), "cache"), b, size) }
	c := open(64 << 20)
	for _, want := range []int{5, 1} { // the lost one is tried again
		n, err := c.FetchEnds(wait(t), all)
		if requests, _ := b.count(); err != nil || n != want || requests != want {
			t.Errorf("%d fetched with %d requests, %v; want %d", n, requests, err, want)
		}
	}
	h := c.Hold()
	defer h.Release()
	if _, err := h.Open(wait(t), objects...); err != nil {
		t.Fatal(err)
	}
	if requests, _ := b.count(); requests != 0 {
		t.Errorf("opened with %d requests", requests)
	}
	one := 2*(objects[0].Bytes-objects[0].TailOffset) + 3*blockBytes
	small := open(one * 3 / 2 * 100 / endsShare)
	for range 3 {
		if _, err := small.FetchEnds(wait(t), objects); err != nil {
			t.Error(err)
		}
	}
	if n, _ := b.count(); n == 0 || n == len(objects) {
		t.Errorf("%d ends in a cache that has room for some", n)
	}
	b.set(func(context.Context, string, bucket.Range) error {
		return &bucket.Error{Kind: bucket.Unavailable, Op: "read", Err: errors.New("down")}
	})
	if _, err := open(64<<20).FetchEnds(wait(t), objects); err == nil {
		t.Error("no error while the bucket does not answer")
	}
}
