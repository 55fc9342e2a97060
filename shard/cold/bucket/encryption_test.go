package bucket

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"cordwood/shard/cold/bucket/buckettest"
)

// headers are the methods of the requests that were sent, with their headers of encryption.
type headers struct {
	mu   sync.Mutex
	list []string
}

// RoundTrip sends a request without its headers of encryption, which the server of the tests does not know.
func (h *headers) RoundTrip(req *http.Request) (*http.Response, error) {
	const prefix = "X-Amz-Server-Side-Encryption"
	said := req.Method
	for _, name := range []string{prefix, prefix + "-Aws-Kms-Key-Id"} {
		if v := req.Header.Get(name); v != "" {
			said += " " + v
		}
	}
	h.mu.Lock()
	h.list = append(h.list, said)
	h.mu.Unlock()
	return http.DefaultTransport.RoundTrip(req)
}

func (h *headers) take(method string) (out []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, said := range h.list {
		if strings.HasPrefix(said, method) {
			out = append(out, said)
		}
	}
	h.list = nil
	return slices.Compact(out)
}

// TestEncryption looks at the headers of requests that store objects, whole, in parts, and by a copy. Reads have none.
func TestEncryption(t *testing.T) {
	endpoint, name := buckettest.Serve(t)
	for sse, want := range map[string]string{
		"": "PUT", "none": "PUT", "s3": "PUT AES256", "kms": "PUT aws:kms", "kms:arn:aws:kms:x:1:key/2": "PUT aws:kms " +
			"arn:aws:kms:x:1:key/2",
	} {
		h := &headers{}
		open := func(prefix string) Bucket {
			b, err := Open("s3://"+name+prefix, Config{S3: S3Config{Endpoint: endpoint, SSE: sse, Transport: h}})
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		from, to := open("/from"), open("/to")
		c := content([]byte("hello"))
		c.Replace = true
		if err := from.Put(wait(t), "o", c); err != nil {
			t.Errorf("%s: %v", sse, err)
		}
		if got := h.take("PUT"); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: put with %q, want %q", sse, got, want)
		}
		if err := from.Copy(wait(t), "o", to, "o"); err != nil {
			t.Errorf("%s: %v", sse, err)
		}
		if got := h.take("PUT"); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: copied with %q, want %q", sse, got, want)
		}
		if _, err := from.Range(wait(t), "o", Range{Length: 5, ObjectSize: 5}); err != nil {
			t.Errorf("%s: %v", sse, err)
		}
		if got := h.take("GET"); !slices.Equal(got, []string{"GET"}) {
			t.Errorf("%s: read with %q", sse, got)
		}
		large := content([]byte(strings.Repeat("x", partBytes+1)))
		large.Replace = true
		if err := from.Put(wait(t), "large", large); err != nil {
			t.Errorf("%s: %v", sse, err)
		}
		if got := h.take("POST"); len(got) == 0 || strings.TrimPrefix(got[0], "POST") != strings.TrimPrefix(want, "PUT") {
			t.Errorf("%s: in parts with %q", sse, got)
		}
	}
	for _, sse := range []string{"S3", "kms:", "aes", "s3:x"} {
		_, err := Open("s3://"+name, Config{S3: S3Config{Endpoint: endpoint, SSE: sse}})
		if err == nil || !strings.Contains(err.Error(), "want none, s3, kms or kms:KEY") {
			t.Errorf("%s: %v", sse, err)
		}
	}
}

// encrypting answers HEAD as a service that encrypts. The server of the tests ignores the headers of encryption.
type encrypting struct{ algorithm, key string }

func (e encrypting) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil && req.Method == http.MethodHead && e.algorithm != "" {
		resp.Header.Set(encryptionHeader, e.algorithm)
		resp.Header.Set(encryptionKeyHeader, e.key)
	}
	return resp, err
}

// TestProbeEncryption checks that a probe compares what the service says of an object with what it was asked for.
func TestProbeEncryption(t *testing.T) {
	endpoint, name := buckettest.Serve(t)
	const arn = "arn:aws:kms:x:1:key/2"
	for _, tt := range []struct {
		sse     string
		service encrypting
		want    string
	}{
		{"", encrypting{}, ""},
		{"s3", encrypting{"AES256", ""}, ""},
		{"kms", encrypting{"aws:kms", arn}, ""},
		{"kms:2", encrypting{"aws:kms", arn}, ""},
		{"kms:" + arn, encrypting{"aws:kms", arn}, ""},
		{"kms:alias/logs", encrypting{"aws:kms", arn}, ""},
		{"s3", encrypting{}, "asked for AES256, and does not say that the object is encrypted"},
		{"kms", encrypting{}, "asked for aws:kms, and does not say that the object is encrypted"},
		{"kms", encrypting{"AES256", ""}, "asked for aws:kms, and says that the object is encrypted by AES256"},
		{"kms:3", encrypting{"aws:kms", arn}, "asked for the key 3, and says that the object is encrypted by " + arn},
	} {
		b, err := Open("s3://"+name+"/probe", Config{S3: S3Config{Endpoint: endpoint, SSE: tt.sse, Transport: tt.service}})
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, s := range Probe(wait(t), b) {
			if s.Err != nil {
				said += s.Err.Error()
			}
			if s.Err != nil && !s.Minor {
				t.Errorf("%s: %s: %v", tt.sse, s.Name, s.Err)
			}
		}
		if (said == "") != (tt.want == "") || !strings.Contains(said, tt.want) {
			t.Errorf("--object-storage-sse=%s, and the service does %+v: %s, want %s", tt.sse, tt.service, said, tt.want)
		}
	}
}
