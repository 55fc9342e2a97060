package partial

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// hashStream returns a stream with one batch of numbers.
func hashStream(t testing.TB, list ...uint64) []byte {
	t.Helper()
	b := array.NewUint64Builder(memory.DefaultAllocator)
	b.AppendValues(list, nil)
	s := arrow.NewSchema([]arrow.Field{{Name: "__k", Type: arrow.PrimitiveTypes.Uint64, Nullable: true}}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(s))
	if err := w.Write(array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, int64(len(list)))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readNumbers reads the numbers of a stream.
func readNumbers(stream []byte) (got []uint64, err error) {
	r, err := NewReader(stream)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	for r.Next() {
		column, ok := r.RecordBatch().Column(0).(*array.Uint64)
		if !ok {
			return nil, errors.New("another type")
		}
		got = append(got, column.Uint64Values()...)
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return got, nil
}

// TestReader checks that a stream is read without the bytes after it, and that bytes that lack an end are an error.
func TestReader(t *testing.T) {
	want := []uint64{1, 2, 3}
	stream := hashStream(t, want...)
	got, err := readNumbers(append(slices.Clone(stream), "more"...))
	if err != nil || !slices.Equal(got, want) {
		t.Error(got, err)
	}
	for n := range stream {
		if got, err := readNumbers(stream[:n]); err == nil {
			t.Errorf("%d of %d bytes: %v", n, len(stream), got)
		}
	}
}

// FuzzReader checks that no input makes the reader panic, and that a reader that copies the bytes returns the same.
func FuzzReader(f *testing.F) {
	f.Add(hashStream(f, 1, 2, 3))
	f.Add(hashStream(f))
	f.Fuzz(func(t *testing.T, stream []byte) {
		got, err := readNumbers(stream)
		if err != nil {
			return
		}
		r, err := ipc.NewReader(bytes.NewReader(stream))
		if err != nil {
			t.Fatalf("%v, and %v of the reader that copies", got, err)
		}
		defer r.Release()
		var want []uint64
		for r.Next() {
			want = append(want, r.RecordBatch().Column(0).(*array.Uint64).Uint64Values()...)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func TestCutStreams(t *testing.T) {
	one, two, none := hashStream(t, 1, 2, 3), hashStream(t, 4), hashStream(t)
	for _, want := range [][][]byte{{}, {one}, {one, two}, {none, one, none, two}} {
		got, err := CutStreams(slices.Concat(want...))
		if err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%d streams, %v, want %d", len(got), err, len(want))
		}
	}
	whole := slices.Concat(one, two)
	for n := 1; n < len(whole); n++ {
		if got, err := CutStreams(whole[:n]); err == nil && n != len(one) {
			t.Errorf("%d bytes of %d: %d streams", n, len(whole), len(got))
		}
	}
}

func FuzzCutStreams(f *testing.F) {
	f.Add([]byte("\xff\xff\xff\xff\x00\x00\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xff\x10\x00\x00\x00\x04\x00\x00\x00\xfc\xff\xff\xff\x0c\x00\x00\x00\xff\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		streams, err := CutStreams(answer)
		if err == nil && !bytes.Equal(slices.Concat(streams...), answer) {
			t.Error("bytes are lost")
		}
	})
}
