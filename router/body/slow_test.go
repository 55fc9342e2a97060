package body

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A body that keeps arriving may take longer than a body that does not.
func TestSlowBodyMovesItsDeadline(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	var at time.Time
	w := &deadlines{ResponseWriter: httptest.NewRecorder(), at: &at}
	b := &pacedBody{
		ReadCloser: io.NopCloser(strings.NewReader(strings.Repeat("x", 3*paceBytes+1))),
		control:    *http.NewResponseController(w),
		until:      start,
	}
	if n, err := io.Copy(io.Discard, b); n != 3*paceBytes+1 || err != nil {
		t.Fatal(n, err)
	}
	if want := start.Add(3 * paceTime); !at.Equal(want) {
		t.Errorf("the deadline is %s, want %s", at, want)
	}
	b = &pacedBody{
		ReadCloser: io.NopCloser(strings.NewReader(strings.Repeat("x", paceBytes))),
		control:    *http.NewResponseController(w), until: start, last: start.Add(time.Second),
	}
	if _, err := io.Copy(io.Discard, b); err != nil || !at.Equal(start.Add(time.Second)) {
		t.Errorf("the deadline is %s, beyond the request's; %v", at, err)
	}
}

type deadlines struct {
	http.ResponseWriter
	at *time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error { *d.at = t; return nil }
