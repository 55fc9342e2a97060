package ingest

import (
	"bytes"
	"testing"
)

// TestHashOfBody: the hash of a long body depends on its length and on the bytes of the samples, also the first and the
// last one. The hash of a short body depends on every byte.
func TestHashOfBody(t *testing.T) {
	const short = 2 * samples * sampleBytes
	for _, size := range []int{1, 100, short, short + 1, 3*short + 7, 1 << 20} {
		body := bytes.Repeat([]byte{'a'}, size)
		hash := hashOf(body)
		if hashOf(bytes.Clone(body)) != hash {
			t.Errorf("%d bytes: equal bodies have different hashes", size)
		}
		if hashOf(append(bytes.Clone(body), 'a')) == hash {
			t.Errorf("%d bytes: a longer body has the same hash", size)
		}
		different := 0
		for at := 0; at < size; at += max(size/997, 1) {
			body[at]++
			if hashOf(body) != hash {
				different++
			} else if size <= short {
				t.Errorf("%d bytes: byte %d does not change the hash", size, at)
			}
			body[at]--
		}
		if different < samples && size > short {
			t.Errorf("%d bytes: only %d of 997 bytes change the hash", size, different)
		}
		for _, at := range []int{0, size - 1} {
			body[at]++
			if hashOf(body) == hash {
				t.Errorf("%d bytes: byte %d does not change the hash", size, at)
			}
			body[at]--
		}
	}
}

func BenchmarkHashOfBody(b *testing.B) {
	body := bytes.Repeat([]byte("a line of a log\n"), 128<<10)
	for b.Loop() {
		hashOf(body)
	}
}
