package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/bucket/buckettest"
)

func wait(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func write(t testing.TB, st Store, name string, b []byte) error {
	t.Helper()
	u, err := st.Create(wait(t))
	if err != nil {
		t.Fatal(err)
	}
	defer u.Abort()
	if _, err := u.Write(b); err != nil {
		t.Fatal(err)
	}
	return u.Commit(wait(t), name)
}

func read(t testing.TB, st Store, name string, offset int64) ([]byte, error) {
	t.Helper()
	r, err := st.Open(wait(t), name, offset)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func list(t testing.TB, st Store, prefix string) string {
	t.Helper()
	var names []string
	if err := st.List(wait(t), prefix, func(o Object) error {
		names = append(names, fmt.Sprintf("%s=%d", o.Name, o.Size))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// contract checks the behaviour that every store must have.
func contract(t *testing.T, st Store) {
	t.Helper()
	if got := list(t, st, ""); got != "" {
		t.Errorf("a new store has %s", got)
	}
	large := bytes.Repeat([]byte("0123456789"), 2_000_000) // more than one part
	for name, b := range map[string][]byte{"a/b/c": []byte("hello"), "a/bc": {}, "z": large} {
		if err := write(t, st, name, b); err != nil {
			t.Fatalf("write %s: %v", name, err)
		}
	}
	if got, want := list(t, st, ""), "a/b/c=5 a/bc=0 z=20000000"; got != want {
		t.Errorf("list: %s, want %s", got, want)
	}
	if got, want := list(t, st, "a/b/"), "a/b/c=5"; got != want {
		t.Errorf("list a/b/: %s, want %s", got, want)
	}
	if got, want := list(t, st, "a/b"), "a/b/c=5 a/bc=0"; got != want {
		t.Errorf("list a/b: %s, want %s", got, want)
	}
	for _, tt := range []struct {
		name   string
		offset int64
		want   []byte
	}{
		{"a/b/c", 0, []byte("hello")},
		{"a/b/c", 3, []byte("lo")},
		{"a/b/c", 5, nil},
		{"a/bc", 0, nil},
		{"z", 0, large},
		{"z", 19_999_995, []byte("56789")},
	} {
		if got, err := read(t, st, tt.name, tt.offset); err != nil || !bytes.Equal(got, tt.want) {
			t.Errorf("read %s from %d: %d bytes, %v; want %d", tt.name, tt.offset, len(got), err, len(tt.want))
		}
	}
	if err := write(t, st, "a/b/c", []byte("again")); err != nil {
		t.Errorf("replace: %v", err)
	}
	if got, err := read(t, st, "a/b/c", 0); err != nil || string(got) != "again" {
		t.Errorf("replaced: %q, %v", got, err)
	}
	for range 2 {
		if err := st.Remove(wait(t), "a/b/c"); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	if _, err := read(t, st, "a/b/c", 0); !errors.Is(err, ErrNotFound) {
		t.Errorf("read a removed object: %v, want ErrNotFound", err)
	}
	for _, name := range []string{"", "/x", "../x", "a/../b", "a//b", "a\\b", "x\x00"} {
		_, rerr := st.Open(wait(t), name, 0)
		if err := write(t, st, name, nil); err == nil || rerr == nil || st.Remove(wait(t), name) == nil {
			t.Errorf("the invalid name %q is accepted", name)
		}
	}
	u, err := st.Create(wait(t))
	if err != nil {
		t.Fatal(err)
	}
	u.Abort()
	u.Abort()
	if got, want := list(t, st, ""), "a/bc=0 z=20000000"; got != want {
		t.Errorf("at the end: %s, want %s", got, want)
	}
}

func TestDir(t *testing.T) {
	root := filepath.Join(t.TempDir(), "not", "yet")
	st, err := Open(root, Config{})
	if err != nil {
		t.Fatal(err)
	}
	contract(t, st)
	// An object does not exist before it is committed.
	u, err := st.Create(wait(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	if got := list(t, st, "a/"); got != "a/bc=0" {
		t.Errorf("before the commit: %s", got)
	}
	u.Abort()
	if names, err := os.ReadDir(filepath.Join(root, bucket.TempDir)); err != nil || len(names) > 0 {
		t.Errorf("left in tmp: %v, %v", names, err)
	}
}

func TestS3(t *testing.T) {
	st := serveS3(t, &fakeS3{}, Config{})
	if err := write(t, st, "small", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, st, "small", 1); err != nil || string(got) != "ello" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestS3Faults makes requests fail in the ways of real S3 services.
func TestS3Faults(t *testing.T) {
	refuse := func(status int, code string) func(int, http.ResponseWriter, *http.Request, *fakeS3) bool {
		return func(n int, w http.ResponseWriter, _ *http.Request, _ *fakeS3) bool {
			if n%3 == 0 {
				return false // every third request succeeds
			}
			fail(w, status, code)
			return true
		}
	}
	for name, fault := range map[string]func(int, http.ResponseWriter, *http.Request, *fakeS3) bool{
		"500": refuse(500, "InternalError"),
		"503": refuse(503, "SlowDown"),
		"429": refuse(429, "TooManyRequests"),
		"no answer": func(n int, _ http.ResponseWriter, r *http.Request, _ *fakeS3) bool {
			if n%3 == 1 {
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done() // until the client gives up
			}
			return n%3 == 1
		},
		"cut off": func(n int, w http.ResponseWriter, _ *http.Request, _ *fakeS3) bool {
			if n%3 == 1 {
				panic(http.ErrAbortHandler)
			}
			return false
		},
		"an upload loses its second half": func(n int, w http.ResponseWriter, r *http.Request, s *fakeS3) bool {
			if r.Method != http.MethodPut || n > 4 {
				return false
			}
			body, _ := buckettest.PlainBody(r)
			s.put(w, strings.TrimPrefix(r.URL.Path, "/"+fakeBucket+"/"), body[:len(body)/2])
			return true
		},
		"an upload is lost": func(n int, w http.ResponseWriter, r *http.Request, s *fakeS3) bool {
			if r.Method != http.MethodPut || n > 4 {
				return false
			}
			body, _ := buckettest.PlainBody(r)
			w.Header().Set("ETag", `"`+etag(body)+`"`)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeS3{}
			st := serveS3(t, f, Config{S3: bucket.S3Config{Stall: 200 * time.Millisecond}})
			f.fault = fault
			want := bytes.Repeat([]byte("x"), 100_000)
			if err := write(t, st, "o", want); err != nil {
				t.Fatal(err)
			}
			if got, err := read(t, st, "o", 0); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, %v; want %d", len(got), err, len(want))
			}
			if got := list(t, st, ""); got != "o=100000" {
				t.Errorf("list: %s", got)
			}
			if err := st.Remove(wait(t), "o"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestS3GivesUp makes all requests fail. The error must contain the failed request and no secret.
func TestS3GivesUp(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		code   string
		tries  int
	}{
		"for now":     {500, "InternalError", 3},
		"permanently": {403, "AccessDenied", 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fakeS3{fault: func(_ int, w http.ResponseWriter, _ *http.Request, _ *fakeS3) bool {
				fail(w, tt.status, tt.code)
				return true
			}}
			st := serveS3(t, f, Config{Tries: 3})
			err := write(t, st, "o", []byte("x"))
			if err == nil || !strings.Contains(err.Error(), "s3://bucket/p/o") ||
				strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "KEYID") {
				t.Errorf("error %v; want one that contains the object and no secret", err)
			}
			if f.requests != tt.tries {
				t.Errorf("%d requests, want %d", f.requests, tt.tries)
			}
		})
	}
}

// TestS3StallWithinAnAnswer stops an answer in the middle.
func TestS3StallWithinAnAnswer(t *testing.T) {
	f := &fakeS3{}
	st := serveS3(t, f, Config{S3: bucket.S3Config{Stall: 100 * time.Millisecond}})
	if err := write(t, st, "o", bytes.Repeat([]byte("x"), 1000)); err != nil {
		t.Fatal(err)
	}
	f.fault = func(_ int, w http.ResponseWriter, r *http.Request, _ *fakeS3) bool {
		w.Header().Set("Content-Length", "1000")
		w.Header().Set("Last-Modified", "Fri, 02 Jan 2026 03:04:05 GMT")
		_, _ = w.Write(make([]byte, 500))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return true
	}
	got, err := read(t, st, "o", 0)
	if err == nil || len(got) != 500 || errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "no byte was transferred") {
		t.Errorf("%d bytes, %v; want 500 and an error with the reason", len(got), err)
	}
}
