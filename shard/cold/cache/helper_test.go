package cache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// wait returns a context that ends a stuck test.
func wait(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// stored is an object in a bucket, with its bytes.
type stored struct {
	Object
	bytes []byte
}

// store makes an object of rows with a time, a level, an identifier with bloom filters, and a text that is not
// compressible, in row groups of 100 rows.
func store(t testing.TB, b bucket.Bucket, key string, rows int) stored {
	t.Helper()
	table := &schema.Table{ID: 7, Name: "logs", Columns: []schema.Column{
		{ID: 1, Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp},
		{ID: 2, Name: "level", Type: schema.String, Semantic: schema.Field},
		{ID: 3, Name: "id", Type: schema.String, Semantic: schema.Field},
		{ID: 4, Name: "text", Type: schema.String, Semantic: schema.Field},
	}}
	table.Columns[2].Index = &schema.Index{
		Kind: schema.SkippingIndex, Options: schema.DefaultIndexOptions(schema.SkippingIndex),
	}
	var build column.Builder
	cols := make([]*column.Col, len(table.Columns))
	for i := range cols {
		cols[i] = build.Add(table.Columns[i])
	}
	for row := range rows {
		cols[0].SetInt(row, int64(row)*1000)
		cols[1].SetString(row, []string{"info", "warn"}[row%2])
		sum := sha256.Sum256(fmt.Append(nil, key, row))
		cols[2].SetString(row, fmt.Sprintf("%x", sum[:8]))
		cols[3].SetString(row, fmt.Sprintf("%x", sum)+string(sum[:]))
		build.EndRow()
	}
	build.Finish()
	batch, err := column.Decode(build.Encode(nil, column.Header{TableID: table.ID}), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir, id := t.TempDir(), uint64(0)
	metas, err := segment.Write(segment.Config{
		FS: vfs.OS, Dir: dir, RowGroupRows: 100, NextID: func() uint64 { id++; return id },
	}, table, []*column.Batch{batch})
	if err != nil || len(metas) != 1 {
		t.Fatalf("%d files, %v", len(metas), err)
	}
	to := filepath.Join(dir, "striped")
	m, err := segment.Stripe(vfs.OS, filepath.Join(dir, segment.FileName(metas[0].ID)), &metas[0], to)
	if err != nil {
		t.Fatal(err)
	}
	u, err := segment.ReadUnits(vfs.OS, to)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Put(wait(t), key, bucket.Content{
		Body: bytes.NewReader(data), Size: m.Bytes, CRC: m.FileCRC, Checked: true,
	}); err != nil {
		t.Fatal(err)
	}
	return stored{Object{
		Key: key, Bytes: m.Bytes, TailOffset: u.TailOffset,
		TailCRC: crc32.Checksum(data[u.TailOffset:], bucket.Castagnoli),
	}, data}
}

// counting is a bucket that counts the ranges that are read.
type counting struct {
	bucket.Bucket
	mu       sync.Mutex
	requests int
	bytes    int64
	// before, if not nil, is called before each range is read. Its error is returned.
	before func(ctx context.Context, key string, r bucket.Range) error
}

func (c *counting) Range(ctx context.Context, key string, r bucket.Range) ([]byte, error) {
	c.mu.Lock()
	c.requests++
	c.bytes += r.Length
	before := c.before
	c.mu.Unlock()
	if before != nil {
		if err := before(ctx, key, r); err != nil {
			return nil, err
		}
	}
	return c.Bucket.Range(ctx, key, r)
}

// count returns the ranges that were read since the last call.
func (c *counting) count() (requests int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	requests, bytes = c.requests, c.bytes
	c.requests, c.bytes = 0, 0
	return requests, bytes
}

func (c *counting) set(before func(ctx context.Context, key string, r bucket.Range) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before = before
}

func newBucket(t testing.TB) *counting { return &counting{Bucket: bucket.NewDir(t.TempDir())} }

// mustOpen opens a cache until the test ends, and fails the test if goroutines remain then.
func mustOpen(t testing.TB, dir string, b bucket.Bucket, size int64, options ...func(*Config)) *Cache {
	t.Helper()
	cfg := Config{Dir: dir, Bytes: size, Bucket: b, Logger: slog.New(slog.NewTextHandler(testLog{t}, nil))}
	for _, f := range options {
		f(&cfg)
	}
	before := runtime.NumGoroutine()
	c, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Errorf("%d goroutines after Close, %d before Open", runtime.NumGoroutine(), before)
				break
			}
		}
	})
	return c
}

type testLog struct{ t testing.TB }

func (l testLog) Write(b []byte) (int, error) { l.t.Logf("%s", bytes.TrimSpace(b)); return len(b), nil }

// some returns the units of a file for which f is true.
func some(f *File, want func(u *segment.Unit) bool) Want {
	w := Want{File: f}
	for i := range f.List {
		if want(&f.List[i]) {
			w.Units = append(w.Units, i)
		}
	}
	return w
}

func field(id uint32) func(u *segment.Unit) bool {
	return func(u *segment.Unit) bool { return u.Kind == segment.ChunkUnit && u.Field == id }
}

func all(*segment.Unit) bool { return true }

// mustGet gets units of an object, and compares them with the object.
func mustGet(t testing.TB, h *Hold, s stored, want func(u *segment.Unit) bool) {
	t.Helper()
	if err := get(wait(t), h, s, want); err != nil {
		t.Fatal(err)
	}
}

// errDiffers is the error of get for bytes that are not those of the object.
var errDiffers = fmt.Errorf("the file has other bytes than the object")

func get(ctx context.Context, h *Hold, s stored, want func(u *segment.Unit) bool) error {
	files, err := h.Open(ctx, s.Object)
	if err != nil {
		return err
	}
	w := some(files[0], want)
	if err := h.Fetch(ctx, w); err != nil {
		return err
	}
	b, err := os.ReadFile(files[0].Path)
	if err != nil {
		return err
	}
	if !bytes.Equal(b[s.TailOffset:s.Bytes], s.bytes[s.TailOffset:]) {
		return fmt.Errorf("tail: %w", errDiffers)
	}
	for _, i := range w.Units {
		u := &files[0].List[i]
		if !bytes.Equal(b[u.Offset:u.Offset+u.Length], s.bytes[u.Offset:u.Offset+u.Length]) {
			return fmt.Errorf("unit %d, %d bytes from %d: %w", i, u.Length, u.Offset, errDiffers)
		}
	}
	return nil
}

// onDisk returns the space that the data files of a folder take.
func onDisk(t testing.TB, dir string) (bytes int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+dataSuffix))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			bytes += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
	}
	return bytes
}
