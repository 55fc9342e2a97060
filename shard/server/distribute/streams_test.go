package distribute

import (
	"bytes"
	"slices"
	"testing"
)

func TestCutStreams(t *testing.T) {
	one, two, none := hashStream(t, 1, 2, 3), hashStream(t, 4), hashStream(t)
	for _, want := range [][][]byte{{}, {one}, {one, two}, {none, one, none, two}} {
		got, err := cutStreams(slices.Concat(want...))
		if err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%d streams, %v, want %d", len(got), err, len(want))
		}
	}
	whole := slices.Concat(one, two)
	for n := 1; n < len(whole); n++ {
		if got, err := cutStreams(whole[:n]); err == nil && n != len(one) {
			t.Errorf("%d bytes of %d: %d streams", n, len(whole), len(got))
		}
	}
}

func FuzzCutStreams(f *testing.F) {
	f.Add([]byte("\xff\xff\xff\xff\x00\x00\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xff\x10\x00\x00\x00\x04\x00\x00\x00\xfc\xff\xff\xff\x0c\x00\x00\x00\xff\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		streams, err := cutStreams(answer)
		if err == nil && !bytes.Equal(slices.Concat(streams...), answer) {
			t.Error("bytes are lost")
		}
	})
}
