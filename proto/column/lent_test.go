package column

import (
	"context"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/metapb"
)

// lend encodes three batches of random rows, of which the second is not lent.
func lend(seed uint64, rows int, h Header) (*Lent, [][]byte) {
	r := rand.New(rand.NewPCG(seed, 5))
	l := &Lent{}
	var buf []byte
	var ends []int
	for i := range 3 {
		b := randomBuilder(r, rows+i)
		h.Seq++
		if i == 1 {
			buf = b.Encode(buf, h)
			l.Skip()
		} else {
			buf = l.EncodeRange(b, buf, h, min(i, b.Rows()), b.Rows())
		}
		ends = append(ends, len(buf))
	}
	batches, from := make([][]byte, 3), 0
	for i, to := range ends {
		batches[i], from = buf[from:to:to], to
	}
	return l, batches
}

// FuzzLent compares batches decoded from lent bodies with inflated batches.
func FuzzLent(f *testing.F) {
	f.Add(uint64(1), 0, false)
	f.Add(uint64(2), 300, false)
	f.Add(uint64(3), 70, true)
	f.Fuzz(func(t *testing.T, seed uint64, rows int, older bool) {
		h := Header{TableID: 3, Session: seed}
		if older {
			h.Protocol = metapb.ProtocolPacking - 1
		}
		l, batches := lend(seed, min(max(rows, 0), 400), h)
		defer l.Release()
		for i, src := range batches {
			want, err := Decode(src, nil)
			if err != nil {
				t.Fatal(err)
			}
			if (l.body(i, src) != nil) != (i != 1) {
				t.Errorf("batch %d: lent is %v", i, i == 1)
			}
			got, err := l.Decode(i, src, aligned(len(want.Mem)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("batch %d: %s", i, diff)
			}
		}
	})
}

// aligned returns memory that begins at a multiple of 8.
func aligned(n int) []byte {
	words := make([]uint64, n/8+1)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
}

// TestLentIsOfItsBatch checks that a body is used only for its own batch, and never without
// verifying the batch's checksum.
func TestLentIsOfItsBatch(t *testing.T) {
	l, batches := lend(7, 100, Header{TableID: 1})
	for i, src := range batches {
		for j := range batches {
			if i != j && l.body(j, src) != nil {
				t.Errorf("the body of batch %d was used for batch %d", j, i)
			}
		}
	}
	damaged := append([]byte(nil), batches[0]...)
	damaged[len(damaged)-1]++
	if _, err := l.Decode(0, damaged, aligned(1<<20)); err == nil {
		t.Error("a damaged batch was accepted because its body was lent")
	}
	if l.body(3, batches[0]) != nil || l.body(0, nil) != nil || (*Lent)(nil).body(0, batches[0]) != nil {
		t.Error("a body was found that was not lent")
	}
	l.Release()
	if l.body(0, batches[0]) != nil || lentBytes.Load() != 0 {
		t.Errorf("after the release %d bytes are lent", lentBytes.Load())
	}
	if got, err := l.Decode(0, batches[0], nil); err != nil || got.Rows != 100 {
		t.Errorf("a batch without its body: %v", err)
	}
}

// TestLentIsBounded checks that beyond the limit batches are encoded as usual, and not lent.
func TestLentIsBounded(t *testing.T) {
	lentBytes.Add(maxLent)
	defer lentBytes.Add(-maxLent)
	l, batches := lend(8, 50, Header{TableID: 1})
	for i, src := range batches {
		if l.body(i, src) != nil {
			t.Errorf("batch %d was lent", i)
		}
		if _, err := l.Decode(i, src, nil); err != nil {
			t.Error(err)
		}
	}
	if l.Release(); lentBytes.Load() != maxLent {
		t.Errorf("%d bytes are counted, want %d", lentBytes.Load(), maxLent)
	}
}

func TestLentContext(t *testing.T) {
	l := &Lent{}
	if got := LentOf(WithLent(context.Background(), l)); got != l {
		t.Errorf("the context carries %p, want %p", got, l)
	}
	if got := LentOf(WithLent(context.Background(), nil)); got != nil {
		t.Errorf("the context carries %p, want none", got)
	}
}
