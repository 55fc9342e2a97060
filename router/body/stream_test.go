package body

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
)

func TestStream(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	text := strings.Repeat("text ", paceBytes)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, encoding, body, want, err string
		status                          int
	}{
		{"plain", "", text, text, "", 0},
		{"empty", "gzip", "", "", "", 0},
		{"gzip", "gzip", zipped.String(), text, "", 0},
		{"truncated", "gzip", zipped.String()[:zipped.Len()-3], text, "as its Content-Encoding says: it is corrupt", 400},
		{"more behind it", "gzip", zipped.String() + "x", text, "as its Content-Encoding says: it is corrupt", 400},
		{"not gzip", "gzip", "hello, world", "", "as its Content-Encoding says: it is corrupt", 400},
		{"unknown", "xz", "", "", "xz", 415},
	} {
		r, err := New(Config{MaxBytes: 10})
		if err != nil {
			t.Fatal(err)
		}
		req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body))
		req.Header.Set("Content-Encoding", c.encoding)
		var got []byte
		s, err := r.Stream(httptest.NewRecorder(), req, time.Now())
		if err == nil {
			got, err = io.ReadAll(s)
			s.Close()
		}
		if (err != nil) != (c.err != "") || err != nil &&
			(!strings.Contains(err.Error(), c.err) || errs.From(err).Status() != c.status) {
			t.Errorf("%s: error %v", c.name, err)
		}
		if string(got) != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, len(got), len(c.want))
		}
	}
}

// A stream may take longer while it keeps arriving, or while its data is being stored. A stream that is stopped
// fails.
func TestStreamMovesItsDeadline(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	r, err := New(Config{Patience: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var at time.Time
	w := &deadlines{ResponseWriter: httptest.NewRecorder(), at: &at}
	req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", 3*paceBytes+1)))
	s, err := r.Stream(w, req, start)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, s); n != 3*paceBytes+1 || err != nil {
		t.Fatal(n, err)
	}
	s.Waited(5 * time.Second)
	if want := start.Add(6*time.Second + 3*paceTime); !at.Equal(want) {
		t.Errorf("the deadline is %s, want %s", at, want)
	}
	s.Stop()
	s.Waited(time.Second)
	if at.Unix() != 1 {
		t.Errorf("the deadline is %s, though it was stopped", at)
	}
}

// A read ends when the client sends nothing for too long, and when the handler stops the stream.
func TestStreamStops(t *testing.T) {
	for _, patience := range []time.Duration{50 * time.Millisecond, time.Hour} {
		r, err := New(Config{Patience: patience})
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			s, err := r.Stream(w, req, time.Now())
			if err != nil {
				failed <- err
				return
			}
			if patience > time.Minute {
				go s.Stop()
			}
			_, err = io.ReadAll(s)
			failed <- err
		}))
		in, out := io.Pipe()
		go func() {
			resp, err := http.Post(server.URL, "text/plain", in)
			if err == nil {
				_ = resp.Body.Close()
			}
		}()
		if err := <-failed; errs.From(err).Status() != http.StatusRequestTimeout {
			t.Errorf("patience %s: %v", patience, err)
		}
		_ = out.Close()
		server.Close()
	}
}
