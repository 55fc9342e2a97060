package memtable

import (
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/shard/query"
)

func batch(t *testing.T, m *Memtable, table uint64, rows, size int) *column.Batch {
	t.Helper()
	mem, err := m.Alloc(size)
	if err != nil {
		t.Fatal(err)
	}
	b := &column.Batch{Header: column.Header{TableID: table, Rows: rows}, Mem: mem}
	m.Append(b)
	return b
}

func TestArena(t *testing.T) {
	tests := []struct {
		name   string
		blocks []int
		mapped int64 // memory of the pool
	}{
		{"nothing costs nothing", nil, 0},
		{"few rows cost a small chunk", []int{100, 1, 0, 200_000}, smallChunk},
		{"chunks grow", []int{200_000, 200_000, 900_000, 900_000}, smallChunk + mediumChunk + largeChunk},
		{"a first block above the small chunk", []int{300_000}, mediumChunk},
		{"a huge block has a chunk of its own", []int{100, 3 << 20, 100}, smallChunk + 3<<20},
		{"which is a little larger", []int{2_800_000}, 3 << 20},
		{"what it leaves is for others", []int{2_800_000, 200_000, 100_000}, 3 << 20},
		{"but the smaller rest is not used", []int{300_000, 3<<20 - 100, 700_000}, mediumChunk + 3<<20},
		{"the largest blocks get what they need", []int{20<<20 + 1}, 20<<20 + mapUnit},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pool := &Pool{Retain: -1}
			a := arena{pool: pool}
			var blocks [][]byte
			for i, n := range test.blocks {
				b, err := a.alloc(n)
				if err != nil {
					t.Fatal(err)
				}
				if len(b) != n {
					t.Fatalf("block of %d bytes, want %d", len(b), n)
				}
				if n > 0 && uintptr(unsafe.Pointer(&b[0]))%8 != 0 {
					t.Errorf("block %d is not aligned", i)
				}
				for j := range b {
					b[j] = byte(i + 1)
				}
				blocks = append(blocks, b)
			}
			for i, b := range blocks {
				for _, got := range b {
					if got != byte(i+1) {
						t.Fatalf("block %d overlaps another", i)
					}
				}
			}
			if pool.Mapped() != test.mapped {
				t.Errorf("%d bytes mapped, want %d", pool.Mapped(), test.mapped)
			}
			a.release()
			if pool.Mapped() != 0 {
				t.Errorf("%d bytes still mapped", pool.Mapped())
			}
		})
	}
}

func TestPoolRetains(t *testing.T) {
	pool := &Pool{Retain: smallChunk + mediumChunk}
	m := New(pool)
	for range 3 {
		batch(t, m, 1, 1, 250_000)
		batch(t, m, 1, 1, 2<<20)
	}
	m.Unref()
	if got := pool.Mapped(); got != smallChunk+mediumChunk {
		t.Errorf("%d bytes kept, want %d", got, smallChunk+mediumChunk)
	}
	m = New(pool)
	batch(t, m, 1, 1, 250_000)
	if got := pool.Mapped(); got != smallChunk+mediumChunk {
		t.Errorf("%d bytes mapped after reuse, want %d", got, smallChunk+mediumChunk)
	}
	m.Unref()
}

// TestPoolReusesLargeChunks checks that blocks of similar sizes reuse each other's memory without
// new pages.
func TestPoolReusesLargeChunks(t *testing.T) {
	pool := &Pool{}
	fill := func(sizes ...int) {
		m := New(pool)
		for _, n := range sizes {
			batch(t, m, 1, 1, n)
		}
		m.Unref()
	}
	fill(2_500_000, 2_600_000, 5<<20)
	mapped := pool.Mapped()
	fill(2_400_000, 4_500_000, 2_300_000)
	if got := pool.Mapped(); got != mapped {
		t.Errorf("%d bytes mapped after blocks of similar sizes, want %d", got, mapped)
	}
	fill(1_100_000) // no chunk may be wasted on it
	if got := pool.Mapped(); got != mapped+5<<18 {
		t.Errorf("%d bytes mapped after a smaller block, want %d", got, mapped+5<<18)
	}
}

// TestPoolForgetsOldSizes checks that free memory of an unused size makes room for another size.
func TestPoolForgetsOldSizes(t *testing.T) {
	pool := &Pool{Retain: 8 << 20}
	for range 4 { // two sizes in turn, each of which needs almost all memory
		for _, size := range []int{7 << 20, 3 << 20} {
			m := New(pool)
			batch(t, m, 1, 1, size)
			batch(t, m, 1, 1, size)
			m.Unref()
			if kept := pool.Mapped(); kept > pool.Retain || kept < int64(size) {
				t.Fatalf("%d bytes kept after blocks of %d, want at most %d", kept, size, pool.Retain)
			}
			m = New(pool)
			before := pool.Mapped()
			batch(t, m, 1, 1, size)
			if got := pool.Mapped(); got != before {
				t.Fatalf("a block of %d bytes mapped %d new bytes", size, got-before)
			}
			m.Unref()
		}
	}
}

func TestClasses(t *testing.T) {
	for size := ownChunk + 8; size < 2*mostPooled; size += 8_008 {
		class := classOf(size)
		if class < size || class%mapUnit != 0 || class > size+size/4+mapUnit {
			t.Fatalf("a chunk of %d bytes for a block of %d", class, size)
		}
		if size <= mostPooled && classOf(class) != class {
			t.Fatalf("the chunk of %d bytes for %d is not a chunk size: %d", class, size, classOf(class))
		}
	}
}

func TestMemtable(t *testing.T) {
	m := New(&Pool{})
	defer m.Unref()
	if !m.Empty() || m.Rows() != 0 {
		t.Error("new memtable is not empty")
	}
	b1 := batch(t, m, 7, 10, 1000)
	seen := m.Batches(7)
	b2 := batch(t, m, 7, 5, 1000)
	batch(t, m, 3, 1, 64)

	if len(seen) != 1 || seen[0] != b1 {
		t.Error("a list changed after it was taken")
	}
	if got := m.Batches(7); len(got) != 2 || got[1] != b2 {
		t.Errorf("Batches = %v", got)
	}
	if diff := cmp.Diff([]uint64{3, 7}, m.Tables()); diff != "" {
		t.Error(diff)
	}
	if rows, bytes := m.Table(7); rows != 15 || bytes != 2000 {
		t.Errorf("Table(7) = %d, %d", rows, bytes)
	}
	if m.Rows() != 16 || m.Bytes() != 2064 {
		t.Errorf("%d rows, %d bytes", m.Rows(), m.Bytes())
	}
	m.Drop(7)
	m.Drop(8)
	if m.Rows() != 1 || m.Batches(7) != nil || len(seen) != 1 {
		t.Error("table 7 is still there")
	}
}

// TestReferences runs readers that hold references to a memtable while its owner releases it.
func TestReferences(t *testing.T) {
	pool := &Pool{Retain: -1}
	m := New(pool)
	b := batch(t, m, 1, 1, 8)
	b.Mem[0] = 42
	var wg sync.WaitGroup
	for range 8 {
		m.Ref()
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer m.Unref()
			if b.Mem[0] != 42 {
				t.Error("memory was freed under a reader")
			}
		}()
	}
	m.Unref()
	wg.Wait()
	if pool.Mapped() != 0 {
		t.Errorf("%d bytes still mapped", pool.Mapped())
	}
	defer func() {
		if recover() == nil {
			t.Error("Ref of a freed memtable did not panic")
		}
	}()
	m.Ref()
}

// TestCuts checks that a cut stays in its place between the remaining batches.
func TestCuts(t *testing.T) {
	m := New(&Pool{})
	defer m.Unref()
	old := func() { batch(t, m, 7, 1, 8).MaxTime = 1 }
	now := func() { batch(t, m, 7, 1, 8).MaxTime = 9 }
	m.Cut(7, query.LastRow, 0)
	old()
	now()
	m.Cut(7, query.LastNonNull, 0)
	old()
	m.Cut(7, query.LastRow, 0)
	m.Cut(8, query.LastRow, 4)
	before := m.Cuts(7)
	cuts := func(first, second, third int) []Cut {
		return []Cut{
			{At: first, Merge: query.LastRow, Last: query.LastRow},
			{At: second, Merge: query.LastNonNull, Last: query.LastNonNull},
			{At: third, Merge: query.LastRow, Last: query.LastRow},
		}
	}
	if d := cmp.Diff(cuts(0, 2, 3), before); d != "" {
		t.Error(d)
	}
	m.Expire(7, 5)
	if d := cmp.Diff(cuts(0, 1, 1), m.Cuts(7)); d != "" {
		t.Error(d)
	}
	if before[1].At != 2 {
		t.Error("a list of cuts that was handed out has changed")
	}
	m.Expire(7, 10)
	if d := cmp.Diff(cuts(0, 0, 0), m.Cuts(7)); d != "" ||
		len(m.Batches(7)) > 0 {
		t.Error(d)
	}
	if d := cmp.Diff([]Cut{{Merge: query.LastRow, Number: 4, Last: query.LastRow}}, m.Cuts(8)); d != "" {
		t.Error(d)
	}
	m.Drop(7)
	if d := cmp.Diff([]uint64{8}, m.CutTables()); d != "" || m.Cuts(7) != nil {
		t.Error(d)
	}
}

// TestTrim checks that free memory is returned when no memory has been allocated for a while, and
// not before.
func TestTrim(t *testing.T) {
	p := &Pool{}
	now := time.Unix(1000, 0)
	fill := func() *Memtable {
		m := New(p)
		for range 4 {
			batch(t, m, 7, 1, 900<<10)
		}
		return m
	}
	m := fill()
	used := p.Mapped()
	steps := []struct {
		after time.Duration
		do    func()
		want  int64
	}{
		{0, func() { m.Unref() }, used}, // kept
		{time.Second, func() {}, used},
		{500 * time.Millisecond, func() { m = fill() }, used}, // allocated
		{time.Second, func() { m.Unref() }, used},
		{900 * time.Millisecond, func() {}, used},
		{100 * time.Millisecond, func() {}, 0},
		{time.Hour, func() {}, 0},
		{0, func() { m = fill() }, used},
		{time.Hour, func() {}, used}, // in use
	}
	for i, s := range steps {
		now = now.Add(s.after)
		s.do()
		before := p.Mapped()
		if got := p.Trim(now, 2*time.Second); got != before-p.Mapped() || p.Mapped() != s.want {
			t.Errorf("step %d: %d bytes were returned, %d are mapped, want %d", i, got, p.Mapped(), s.want)
		}
	}
	m.Unref()
}
