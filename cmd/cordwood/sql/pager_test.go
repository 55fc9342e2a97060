package sql

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

func TestSpent(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 999_999 * time.Microsecond: "999 ms", time.Second: "1.00 s", 2_349 * time.Millisecond: "2.34 s",
		59_999 * time.Millisecond: "59.99 s", time.Minute: "1 min 0 s", 125 * time.Second: "2 min 5 s",
	} {
		if got := spent(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// slowReader is a pager that the user leaves after a while.
type slowReader struct {
	bytes.Buffer
	close func()
}

func (s *slowReader) Close() error { s.close(); return nil }

// TestReadingIsNotTheStatements checks that the time in the pager does not count as the statement's.
func TestReadingIsNotTheStatements(t *testing.T) {
	now := time.Unix(0, 0)
	pager := &slowReader{close: func() { now = now.Add(10 * time.Second) }}
	s := &screen{
		out: io.Discard, size: func() (int, int) { return 80, 24 }, now: func() time.Time { return now },
		start: func() (io.WriteCloser, error) { return pager, nil },
	}
	for _, text := range []string{"short\n", strings.Repeat("long\n", 30)} {
		p := s.page()
		if _, err := io.WriteString(p, text); err != nil {
			t.Fatal(err)
		}
		p.Close()
	}
	session := &sqlSession{screen: s}
	if pager.Len() != 150 || session.reading() != 10*time.Second || (&sqlSession{}).reading() != 0 {
		t.Errorf("%d bytes, looked at for %v", pager.Len(), session.reading())
	}
}
