package ingest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// piped starts the command with a pipe as its input; batches receives the bodies that reach the
// server.
func piped(t *testing.T, flags ...string) (in *io.PipeWriter, batches <-chan string, end *ending) {
	t.Helper()
	bodies := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
		fmt.Fprintf(w, `{"output":[{"affectedrows":%d}],"execution_time_ms":1}`, bytes.Count(body, []byte(`"n"`)))
	}))
	t.Cleanup(s.Close)
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	root := newRootCommand()
	var out bytes.Buffer
	root.SetArgs(append([]string{"ingest", "--server", s.URL, "--table", "t", "-"}, flags...))
	root.SetIn(r)
	root.SetOut(&out)
	root.SetErr(io.Discard)
	done := make(chan error, 1)
	go func() { done <- root.Execute() }()
	return w, bodies, &ending{close: w.Close, wait: func() (string, error) { err := <-done; return out.String(), err }}
}

// ending is the end of a command that reads a pipe.
type ending struct {
	close func() error
	wait  func() (stdout string, err error)
}

func (e *ending) now() (stdout string, err error) {
	_ = e.close()
	return e.wait()
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

func expect(t *testing.T, batches <-chan string, want string) {
	t.Helper()
	select {
	case got := <-batches:
		if got != want {
			t.Fatalf("batch %q, not %q", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatalf("no batch %q", want)
	}
}

// TestIngestOfAPipe checks that complete records are sent while the pipe pauses, that incomplete ones
// are not, and that none is lost.
func TestIngestOfAPipe(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps [][2]string // the written text, and the batch that it causes, if any
		rest  string      // the batch after the pipe was closed
		rows  int
	}{
		{"lines", [][2]string{
			{"{\"n\":1}\n", "{\"n\":1}\n"},
			{"{\"n\":2}\n{\"n\":3}\n{\"n\"", "{\"n\":2}\n{\"n\":3}\n"},
			{":4}\n", "{\"n\":4}\n"},
			{"{\"n\":5}", ""},
		}, "{\"n\":5}", 5},
		{"values", [][2]string{
			{"[\n{\"n\":1},", "[{\"n\":1}]"},
			{"{\"n\":2},{\"n\":\n3}", "[{\"n\":2},{\"n\":\n3}]"},
			{"]", ""},
		}, "", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, batches, end := piped(t, "--flush-after", "200ms", "--parallel", "1")
			for _, step := range tt.steps {
				write(t, in, step[0])
				if step[1] != "" {
					expect(t, batches, step[1])
				}
			}
			stdout, err := end.now()
			if err != nil || !strings.HasPrefix(stdout, fmt.Sprintf("%d rows written", tt.rows)) {
				t.Fatalf("%v: %s", err, stdout)
			}
			if tt.rest != "" {
				expect(t, batches, tt.rest)
			}
			if len(batches) > 0 {
				t.Errorf("another batch: %q", <-batches)
			}
		})
	}
}

// TestIngestOfAPipeThatWaits checks that a batch without a time limit is sent only when the pipe is
// closed.
func TestIngestOfAPipeThatWaits(t *testing.T) {
	in, batches, end := piped(t, "--flush-after", "0")
	for n := range 50 {
		write(t, in, fmt.Sprintf("{\"n\":%d}\n", n))
	}
	stdout, err := end.now()
	if err != nil || !strings.HasPrefix(stdout, "50 rows written") || len(batches) != 1 {
		t.Errorf("%v: %d batches, %s", err, len(batches), stdout)
	}
}

// TestIngestOfAPipeStopped checks that a signal sends the complete records at once, but not an
// incomplete one.
func TestIngestOfAPipeStopped(t *testing.T) {
	in, batches, end := piped(t, "--flush-after", "1h")
	write(t, in, "{\"n\":1}\n{\"n\":2}\n")
	write(t, in, "{\"n\":3}\n{\"n\":")
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	expect(t, batches, "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n")
	stdout, err := end.wait()
	if err != nil || !strings.HasPrefix(stdout, "3 rows written") || len(batches) > 0 {
		t.Errorf("%v: %s", err, stdout)
	}
}

// TestStreamNeverStill checks that a batch ends at its time limit although the input never pauses.
func TestStreamNeverStill(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var closed sync.WaitGroup
	closed.Add(1)
	live := newStream(ctx, nil, repeated("{\"n\":1}\n"), closed.Done, 10*time.Millisecond)
	s := newLiveSplitter(bufio.NewReaderSize(live, peekBytes), live, FormatNDJSON)
	c, err := s.Next(nil, 1<<60)
	if err != nil || !bytes.HasSuffix(c.Data, []byte("}\n")) {
		t.Errorf("%v: %.100q", err, c.Data)
	}
	cancel()
	closed.Wait()
	if err := drain(s); err != context.Canceled { //nolint:errorlint // the stream must not wrap it
		t.Errorf("after the end of the context: %v", err)
	}
}

func drain(s Splitter) error {
	for {
		if _, err := s.Next(nil, 1); err != nil {
			return err
		}
	}
}

// repeated is an endless reader that repeats a text.
type repeated string

func (r repeated) Read(b []byte) (int, error) {
	n := 0
	for n+len(r) <= len(b) {
		n += copy(b[n:], r)
	}
	return n, nil
}

// TestIngestKeys checks that a batch without an answer is sent again with the same key, and that each
// batch has its own key.
func TestIngestKeys(t *testing.T) {
	var calls atomic.Int64
	var mu sync.Mutex
	keys := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		keys[r.Header.Get("Idempotency-Key")]++
		mu.Unlock()
		if calls.Add(1) == 1 {
			panic(http.ErrAbortHandler) // the connection breaks without an answer
		}
		_, _ = io.WriteString(w, `{"output":[{"affectedrows":1}],"execution_time_ms":1}`)
	}))
	defer s.Close()
	stdout, stderr, err := execute(t, manyLines(100), "ingest", "--server", s.URL, "--table", "t", "--batch", "1KiB",
		"--parallel", "1", "-")
	if err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	twice := 0
	for key, n := range keys {
		if key == "" || n > 2 {
			t.Errorf("key %q: %d times", key, n)
		}
		if n == 2 {
			twice++
		}
	}
	if twice != 1 || int64(len(keys)) != calls.Load()-1 || len(keys) < 3 {
		t.Errorf("%d calls: %v", calls.Load(), keys)
	}
}
