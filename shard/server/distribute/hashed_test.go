package distribute

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func TestTellApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 2, 100, 10_000, 100_000} {
		var list, want []uint64
		counts := map[uint64]int{}
		for range n {
			h := rng.Uint64()
			if rng.IntN(10) == 0 && len(list) > 0 {
				h = list[rng.IntN(len(list))]
			}
			list = append(list, h)
			counts[h]++
		}
		ones := 0
		for h, k := range counts {
			if k == 1 {
				ones++
			} else {
				want = append(want, h)
			}
		}
		once, repeated := splitByCount(list)
		slices.Sort(want)
		slices.Sort(repeated)
		if once != ones || !slices.Equal(repeated, want) {
			t.Errorf("of %d: %d once, %d repeated, want %d and %d", n, once, len(repeated), ones, len(want))
		}
	}
}

func hashStream(t *testing.T, list ...uint64) []byte {
	t.Helper()
	return hashBatches(t, list)
}

// hashBatches returns a stream with several batches of hashes.
func hashBatches(t *testing.T, lists ...[]uint64) []byte {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{{Name: "__k", Type: arrow.PrimitiveTypes.Uint64, Nullable: true}}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(s))
	for _, list := range lists {
		b := array.NewUint64Builder(memory.DefaultAllocator)
		b.AppendValues(list, nil)
		if err := w.Write(array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, int64(len(list)))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// valueStream returns a node's answer to the statement for values: pairs of a hash and a value.
func valueStream(t *testing.T, hashes []uint64, list ...string) []byte {
	t.Helper()
	k := array.NewUint64Builder(memory.DefaultAllocator)
	k.AppendValues(hashes, nil)
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues(list, nil)
	s := arrow.NewSchema([]arrow.Field{
		{Name: "__k", Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
		{Name: "__h", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(s))
	rec := array.NewRecordBatch(s, []arrow.Array{k.NewArray(), b.NewArray()}, int64(len(list)))
	if err := errors.Join(w.Write(rec), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestReadHashes checks that a node with another hash function is recognised because it does not
// send the probe.
func TestReadHashes(t *testing.T) {
	got, err := readHashes(hashStream(t, 5, 7, 9, 7), 7)
	if err != nil || !slices.Equal(got, []uint64{5, 9, 7}) {
		t.Error(got, err)
	}
	if got, err := readHashes(hashStream(t, 5, 9), 7); err == nil {
		t.Error(got)
	}
	if got, err := readHashes([]byte("no stream"), 7); err == nil {
		t.Error(got)
	}
}

func BenchmarkTellApart(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	list := make([]uint64, 2_000_000)
	for i := range list {
		list[i] = rng.Uint64()
	}
	for b.Loop() {
		if once, _ := splitByCount(slices.Clone(list)); once != len(list) {
			b.Fatal(once)
		}
	}
}
