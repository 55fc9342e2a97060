package node

import (
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"cordwood/proto/errs"
	"cordwood/shard/store"
)

// TestDiskUsage checks that blocks that are reserved for root count neither as used nor as free, as in df, and that
// this process can use the free space.
func TestDiskUsage(t *testing.T) {
	d := &disk{
		log: slog.New(slog.DiscardHandler),
		stat: func(string) (diskRoom, error) {
			return roomOf(&unix.Statfs_t{Bsize: 1 << 20, Blocks: 10_000, Bfree: 7_500, Bavail: 1_300}), nil
		},
	}
	if err := d.look(); err != nil {
		t.Fatal(err)
	}
	used, capacity := d.usage()
	if used != 2_500<<20 || capacity != 3_800<<20 { // 66 %
		t.Errorf("%d of %d MiB are used", used>>20, capacity>>20)
	}
	if free := d.free.Load(); free != 1_300<<20 || capacity-used != free || d.keep() != 500<<20 {
		t.Errorf("free %d MiB, kept %d MiB", free>>20, d.keep()>>20)
	}
}

func TestDisk(t *testing.T) {
	const gib = 1 << 30
	var free, total uint64
	var failure error
	fulls := 0
	d := &disk{
		log:     slog.New(slog.NewTextHandler(io.Discard, nil)),
		refused: prometheus.NewCounter(prometheus.CounterOpts{Name: "x"}),
		stat: func(string) (diskRoom, error) {
			return diskRoom{free: free, total: total}, failure
		}, wake: make(chan struct{}, 1),
	}
	d.onFull(func() { fulls++ })
	for _, test := range []struct {
		name                 string
		reserve, free, total uint64
		failure              error
		want                 store.Space
		fulls                int
	}{
		{"a large disk keeps 2 GiB", 0, 2*gib - 1, 1000 * gib, nil, store.SpaceFull, 1},
		{"a little more is not enough", 0, 2*gib + 1, 1000 * gib, nil, store.SpaceFull, 1},
		{"a sixteenth more is enough", 0, 2*gib + gib/8, 1000 * gib, nil, store.SpaceLow, 1},
		{"there is plenty", 0, 4 * gib, 1000 * gib, nil, store.SpaceOK, 1},
		{"a small disk keeps a twentieth", 0, 3 << 20, 64 << 20, nil, store.SpaceFull, 2},
		{"the last value is kept after an error", 0, 64 << 20, 64 << 20, errors.New("boom"), store.SpaceFull, 2},
		{"the size is known again", 0, 32 << 20, 64 << 20, nil, store.SpaceOK, 2},
		{"a reserve that was set", 40 << 20, 39 << 20, 64 << 20, nil, store.SpaceFull, 3},
		{"no reserve, and no free space", 1, 4096, 64 << 20, nil, store.SpaceOK, 3},
	} {
		d.reserve, free, total, failure = test.reserve, test.free, test.total, test.failure
		if err := d.look(); !errors.Is(err, test.failure) {
			t.Fatal(err)
		}
		if got := d.space(); got != test.want || fulls != test.fulls {
			t.Errorf("%s: space %d, want %d; notified %d times, want %d", test.name, got, test.want, fulls, test.fulls)
		}
		if warned := len(d.warnings()) > 0; warned != (test.want == store.SpaceFull || test.free < noRoom) {
			t.Errorf("%s: warnings %q", test.name, d.warnings())
		}
		err := d.writable()
		if (err != nil) != (test.want == store.SpaceFull) {
			t.Errorf("%s: writes give %v", test.name, err)
		}
		if err == nil {
			continue
		}
		if e := errs.From(err); e.Status() != 503 || e.RetryAfter < time.Second || e.Code != errs.StorageUnavailable ||
			len(d.warnings()) != 1 {
			t.Errorf("%s: refused with %d %d, retry after %s, warnings %q", test.name, e.Status(), e.Code, e.RetryAfter,
				d.warnings())
		}
	}
}
