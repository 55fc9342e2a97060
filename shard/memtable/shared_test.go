package memtable

import (
	"math/rand/v2"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// share returns the file of a pool, or skips the test.
func share(t *testing.T, p *Pool) (*os.File, int64) {
	t.Helper()
	f, size, err := p.Share()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, size
}

// resident returns the memory of the file in bytes.
func resident(t *testing.T, f *os.File) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// TestShare reads a pool's memory as another process would.
func TestShare(t *testing.T) {
	pool := &Pool{Retain: -1}
	f, size := share(t, pool)
	if _, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		t.Error("the shared file can be mapped for writing")
	}
	seen, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(seen) }()

	m := New(pool)
	var blocks [][]byte
	for i, n := range []int{8, 100, 300_000, 3 << 20, 5 << 20, 16} {
		b := batch(t, m, 1, 1, n).Mem
		b[0], b[n-1] = byte(i+1), byte(i+101)
		blocks = append(blocks, b)
	}
	for i, b := range blocks {
		offset, ok := pool.Locate(b)
		if !ok {
			t.Fatalf("block %d is not in the file", i)
		}
		got := seen[offset : offset+int64(len(b))]
		if got[0] != byte(i+1) || got[len(got)-1] != byte(i+101) {
			t.Errorf("block %d: the file differs at %d", i, offset)
		}
	}
	if offset, ok := pool.Locate(blocks[1][50:60]); !ok || seen[offset] != blocks[1][50] {
		t.Error("a part of a block is not found")
	}
	heap := make([]byte, 100)
	if _, ok := pool.Locate(heap); ok {
		t.Error("memory of the Go heap is found in the file")
	}
	if _, ok := (&Pool{}).Locate(blocks[0]); ok {
		t.Error("memory of another pool is found")
	}
	if resident(t, f) == 0 {
		t.Error("the file takes no memory though it is in use")
	}
	m.Unref()
	if _, ok := pool.Locate(blocks[0]); ok {
		t.Error("freed memory is found")
	}
	if got := resident(t, f); got != 0 {
		t.Errorf("the file keeps %d bytes of freed memory", got)
	}
}

// TestExtents compares the reserved ranges with a simple model, and checks that the file is empty
// at the end.
func TestExtents(t *testing.T) {
	s := &sharedFile{opened: true}
	r := rand.New(rand.NewPCG(1, 2))
	used := map[extent]bool{}
	for range 5000 {
		if r.IntN(2) == 0 || len(used) == 0 {
			size := int64(1+r.IntN(16)) * mapUnit
			from, ok := s.take(size)
			if !ok {
				t.Fatal("no room")
			}
			e := extent{from, from + size}
			for have := range used {
				if e.from < have.to && have.from < e.to {
					t.Fatalf("%v overlaps %v", e, have)
				}
			}
			used[e] = true
			continue
		}
		for e := range used {
			delete(used, e)
			s.give(e)
			break
		}
		free := int64(0)
		for i, h := range s.holes {
			if h.from >= h.to || i > 0 && h.from <= s.holes[i-1].to || h.to >= s.end {
				t.Fatalf("holes %v, end %d", s.holes, s.end)
			}
			free += h.to - h.from
		}
		inUse := int64(0)
		for e := range used {
			inUse += e.to - e.from
		}
		if free+inUse != s.end {
			t.Fatalf("%d bytes free and %d in use below %d", free, inUse, s.end)
		}
	}
	for e := range used {
		s.give(e)
	}
	if len(s.holes) != 0 || s.end != 0 {
		t.Errorf("holes %v below %d are left", s.holes, s.end)
	}
	if _, ok := s.take(sharedSize + mapUnit); ok {
		t.Error("more room than the file has")
	}
}

// TestNoFile uses a pool without the file.
func TestNoFile(t *testing.T) {
	pool := &Pool{Retain: -1}
	pool.shared.opened, pool.shared.fd = true, -1
	if _, _, err := pool.Share(); err == nil {
		t.Error("shared memory without a file")
	}
	m := New(pool)
	b := batch(t, m, 1, 1, 5000).Mem
	if _, ok := pool.Locate(b); ok {
		t.Error("memory found without a file")
	}
	m.Unref()
	if pool.Mapped() != 0 {
		t.Errorf("%d bytes still mapped", pool.Mapped())
	}
}
