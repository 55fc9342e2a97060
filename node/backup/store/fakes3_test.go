package store

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/shard/cold/bucket/buckettest"
)

// fakeS3 implements, in memory and with faults, the part of S3 that the store uses.
type fakeS3 struct {
	mu       sync.Mutex
	objects  map[string][]byte
	requests int
	// fault, if set, may handle a request instead. n is the number of the request. It returns true if it has handled
	// it.
	fault func(n int, w http.ResponseWriter, r *http.Request, s *fakeS3) bool
}

const fakeBucket = "bucket"

// serveS3 starts a fake server and returns a store that uses it, with the prefix "p/".
func serveS3(t *testing.T, f *fakeS3, cfg Config) Store {
	t.Helper()
	f.objects = map[string][]byte{}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "KEYID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "canary-secret")
	cfg.S3.Endpoint, cfg.Pause, cfg.TempDir = server.URL, time.Millisecond, t.TempDir()
	st, err := Open("s3://"+fakeBucket+"/p", cfg)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>as you wish</Message></Error>`, code)
}

func (f *fakeS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.requests++
	n, fault := f.requests, f.fault
	f.mu.Unlock()
	if fault != nil && fault(n, w, r, f) {
		return
	}
	key, inBucket := strings.CutPrefix(r.URL.Path, "/"+fakeBucket+"/")
	switch {
	case !inBucket:
		fail(w, 404, "NoSuchBucket")
	case r.Method == http.MethodPut:
		body, err := buckettest.PlainBody(r)
		if err != nil {
			fail(w, 400, "IncompleteBody")
			return
		}
		f.put(w, key, body)
	case r.Method == http.MethodDelete:
		f.mu.Lock()
		delete(f.objects, key)
		f.mu.Unlock()
		w.WriteHeader(204)
	case key == "":
		f.list(w, r)
	default:
		f.mu.Lock()
		b, ok := f.objects[key]
		f.mu.Unlock()
		if !ok {
			fail(w, 404, "NoSuchKey")
			return
		}
		w.Header().Set("ETag", `"`+etag(b)+`"`)
		http.ServeContent(w, r, "", time.Unix(1, 0), strings.NewReader(string(b)))
	}
}

func (f *fakeS3) put(w http.ResponseWriter, key string, body []byte) {
	f.mu.Lock()
	f.objects[key] = body
	f.mu.Unlock()
	w.Header().Set("ETag", `"`+etag(body)+`"`)
}

func etag(b []byte) string {
	sum := md5.Sum(b)
	return hex.EncodeToString(sum[:])
}

func (f *fakeS3) list(w http.ResponseWriter, r *http.Request) {
	type content struct {
		Key          string
		Size         int
		LastModified string
		ETag         string
	}
	var result struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []content
	}
	f.mu.Lock()
	for key, b := range f.objects {
		if strings.HasPrefix(key, r.URL.Query().Get("prefix")) {
			result.Contents = append(result.Contents, content{key, len(b), "2026-01-02T03:04:05.000Z", etag(b)})
		}
	}
	f.mu.Unlock()
	slices.SortFunc(result.Contents, func(a, b content) int { return strings.Compare(a.Key, b.Key) })
	_ = xml.NewEncoder(w).Encode(result)
}
