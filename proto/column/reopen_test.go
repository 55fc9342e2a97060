package column

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReopen reopens batches from their memory.
func TestReopen(t *testing.T) {
	sources := [][]byte{golden(t, "v1.batch", nil)}
	for seed := range uint64(8) {
		sources = append(sources, randomBuilder(rand.New(rand.NewPCG(seed, 9)), int(seed*31)).Encode(nil, Header{
			TableID: seed, Seq: 7,
		}))
	}
	for _, src := range sources {
		want, err := Decode(src, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Reopen(want.Header, len(want.Cols), want.Mem)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestReopenWrongMemory reopens memory that is not a batch, or not this batch. Reopen must return
// an error and not panic.
func TestReopenWrongMemory(t *testing.T) {
	want, err := Decode(golden(t, "v1.batch", nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	wrong := want.Header
	wrong.Rows++
	huge := want.Header
	huge.Rows = MaxRows + 1
	for name, open := range map[string]func() (*Batch, error){
		"other rows":      func() (*Batch, error) { return Reopen(wrong, len(want.Cols), want.Mem) },
		"too many rows":   func() (*Batch, error) { return Reopen(huge, len(want.Cols), want.Mem) },
		"fewer columns":   func() (*Batch, error) { return Reopen(want.Header, len(want.Cols)-1, want.Mem) },
		"too many":        func() (*Batch, error) { return Reopen(want.Header, MaxColumns+1, want.Mem) },
		"negative":        func() (*Batch, error) { return Reopen(want.Header, -1, want.Mem) },
		"nothing":         func() (*Batch, error) { return Reopen(want.Header, len(want.Cols), nil) },
		"cut short":       func() (*Batch, error) { return Reopen(want.Header, len(want.Cols), want.Mem[:len(want.Mem)-8]) },
		"at an odd place": func() (*Batch, error) { return Reopen(want.Header, len(want.Cols), want.Mem[4:]) },
	} {
		if b, err := open(); err == nil {
			t.Errorf("%s: a batch of %d rows", name, b.Rows)
		}
	}
	directory := len(want.Cols) * entrySize
	for bit := range 8 * directory {
		mem := append(make([]byte, 0, len(want.Mem)), want.Mem...)
		mem[bit/8] ^= 1 << (bit % 8)
		b, err := Reopen(want.Header, len(want.Cols), mem)
		if err != nil {
			continue
		}
		for i := range b.Cols {
			for _, part := range [][]byte{b.Cols[i].Data, b.Cols[i].Offsets, b.Cols[i].Codes, b.Cols[i].Validity} {
				if len(part) > 0 && !bytes.Contains(mem, part) {
					t.Fatalf("bit %d: a section outside the memory", bit)
				}
			}
		}
	}
}
