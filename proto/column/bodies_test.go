package column

import (
	"context"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/metapb"
)

// encodeThree encodes three batches of random rows. The body of the second is not passed.
func encodeThree(seed uint64, rows int, h Header) (*Bodies, [][]byte) {
	r := rand.New(rand.NewPCG(seed, 5))
	l := &Bodies{}
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

// FuzzBodies compares batches decoded from passed bodies with inflated batches.
func FuzzBodies(f *testing.F) {
	f.Add(uint64(1), 0, false)
	f.Add(uint64(2), 300, false)
	f.Add(uint64(3), 70, true)
	f.Fuzz(func(t *testing.T, seed uint64, rows int, older bool) {
		h := Header{TableID: 3, Session: seed}
		if older {
			h.Protocol = metapb.ProtocolPacking - 1
		}
		l, batches := encodeThree(seed, min(max(rows, 0), 400), h)
		defer l.Release()
		for i, src := range batches {
			want, err := Decode(src, nil)
			if err != nil {
				t.Fatal(err)
			}
			if (l.body(i, src) != nil) != (i != 1) {
				t.Errorf("batch %d: body passed is %v", i, i == 1)
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

// TestBodyIsOfItsBatch checks that a body is used only for its own batch, and never without
// verifying the batch's checksum.
func TestBodyIsOfItsBatch(t *testing.T) {
	l, batches := encodeThree(7, 100, Header{TableID: 1})
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
		t.Error("a damaged batch was accepted because its body was passed")
	}
	if l.body(3, batches[0]) != nil || l.body(0, nil) != nil || (*Bodies)(nil).body(0, batches[0]) != nil {
		t.Error("a body was found that was not passed")
	}
	l.Release()
	if l.body(0, batches[0]) != nil || bodyBytes.Load() != 0 {
		t.Errorf("after the release %d bytes are counted", bodyBytes.Load())
	}
	if got, err := l.Decode(0, batches[0], nil); err != nil || got.Rows != 100 {
		t.Errorf("a batch without its body: %v", err)
	}
}

// TestBodiesAreBounded checks that beyond the limit batches are encoded as usual, without a passed body.
func TestBodiesAreBounded(t *testing.T) {
	bodyBytes.Add(maxBodyBytes)
	defer bodyBytes.Add(-maxBodyBytes)
	l, batches := encodeThree(8, 50, Header{TableID: 1})
	for i, src := range batches {
		if l.body(i, src) != nil {
			t.Errorf("the body of batch %d was passed", i)
		}
		if _, err := l.Decode(i, src, nil); err != nil {
			t.Error(err)
		}
	}
	if l.Release(); bodyBytes.Load() != maxBodyBytes {
		t.Errorf("%d bytes are counted, want %d", bodyBytes.Load(), maxBodyBytes)
	}
}

func TestBodiesContext(t *testing.T) {
	l := &Bodies{}
	if got := BodiesOf(WithBodies(context.Background(), l)); got != l {
		t.Errorf("the context carries %p, want %p", got, l)
	}
	if got := BodiesOf(WithBodies(context.Background(), nil)); got != nil {
		t.Errorf("the context carries %p, want none", got)
	}
}
