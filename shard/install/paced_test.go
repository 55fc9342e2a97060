package install

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/shard/cold/bucket"
)

// sink is a bucket that reads what is put, as fast as it can.
type sink struct {
	bucket.Bucket
	mu  sync.Mutex
	got map[string][]byte
}

func (s *sink) Put(_ context.Context, key string, c bucket.Content) error {
	b, err := io.ReadAll(io.NewSectionReader(c.Body, 0, c.Size))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got[key] = b
	return err
}

// TestPaced puts two objects at once with 1 MiB a second, and one that is given up.
func TestPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{got: map[string][]byte{}}
		b := bucket.Paced(s, NewRate(1<<20))
		body := bytes.Repeat([]byte("some bytes "), 400_000)
		begin := time.Now()
		var puts sync.WaitGroup
		for _, key := range []string{"a", "b"} {
			puts.Go(func() {
				if err := b.Put(t.Context(), key, bucket.Content{Body: bytes.NewReader(body), Size: int64(len(body))}); err != nil {
					t.Error(err)
				}
			})
		}
		puts.Wait()
		want := time.Duration(2*len(body)) * time.Second / (1 << 20)
		if took := time.Since(begin); took < want-time.Second || took > want+time.Second {
			t.Errorf("%d bytes took %s, want about %s", 2*len(body), took, want)
		}
		if !bytes.Equal(s.got["a"], body) || !bytes.Equal(s.got["b"], body) {
			t.Error("other bytes than were put")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := b.Put(ctx, "c", bucket.Content{Body: bytes.NewReader(body), Size: int64(len(body))})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a put that was given up: %v", err)
		}
	})
	if s := (&sink{}); bucket.Paced(s, nil) != bucket.Bucket(s) {
		t.Error("a bucket without a limit is another one")
	}
}
