package transport

import (
	"bufio"
	"bytes"
	"testing"
)

// FuzzFrame reads arbitrary bytes. A frame that is read must be equal after encoding and reading it
// again, and damage must be an error.
func FuzzFrame(f *testing.F) {
	for _, seed := range []frame{
		{kind: kindHeartbeat, id: 1, group: "meta", payload: []byte{0x80}},
		{kind: kindAnswer, id: 1 << 40, payload: bytes.Repeat([]byte("x"), 3000)},
		{kind: kindFailure, group: "", payload: nil},
	} {
		b := seed.append(nil)
		f.Add(b)
		f.Add(b[:len(b)-1])
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0x27, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReader(bytes.NewReader(data))
		for rest := data; ; {
			got, err := readFrame(r)
			if err != nil {
				return
			}
			again := got.append(nil)
			if !bytes.HasPrefix(rest, again) {
				t.Fatalf("%x was read as the frame %x", rest, again)
			}
			rest = rest[len(again):]
			if c := newCommand(got.kind); c != nil {
				_ = decode(got.payload, c) // may return an error, but must not panic
			}
		}
	})
}

// FuzzHello reads arbitrary bytes as a greeting.
func FuzzHello(f *testing.F) {
	h := hello{lowest: 1, highest: 3, class: entries, cluster: "c", from: "a", to: "b"}
	f.Add(h.append(nil))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := readHello(bytes.NewReader(data))
		if err == nil && !bytes.HasPrefix(data, got.append(nil)) {
			t.Fatalf("%x was read as %+v", data, got)
		}
	})
}

// TestFlippedBits checks that every bit of a frame is covered: a flipped bit is an error, or makes
// the reader wait for more bytes.
func TestFlippedBits(t *testing.T) {
	b := (&frame{kind: kindAppend, id: 77, group: "shard-3", payload: []byte("some entries")}).append(nil)
	for i := range 8 * len(b) {
		damaged := bytes.Clone(b)
		damaged[i/8] ^= 1 << (i % 8)
		if f, err := readFrame(bufio.NewReader(bytes.NewReader(damaged))); err == nil {
			t.Errorf("bit %d flipped: read as %+v", i, f)
		}
	}
}
