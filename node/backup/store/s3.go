package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// S3Config describes how to reach a bucket. Like other tools, it takes empty fields from the environment:
// AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, AWS_REGION or AWS_DEFAULT_REGION, AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, the files of ~/.aws, and the role of the machine.
type S3Config struct {
	// Endpoint is the URL of the service. Without a scheme, https is used. The default value is Amazon's endpoint.
	Endpoint string
	Region   string
	// PathStyle puts the bucket into the path instead of the host name. The default value is true, except for
	// Amazon's endpoint.
	PathStyle bool
	// CAFile contains certificates that are trusted in addition to the system's.
	CAFile string
	// Transport, if not nil, sends the requests. Tests set it.
	Transport http.RoundTripper
	// Stall is the time without a transferred byte after which a transfer is retried. The default
	// value is a minute.
	Stall time.Duration
	// Tries is the number of times that a request is sent in total. The default value is 6.
	Tries int
	// Pause is the delay before the second try; it doubles each time. The default value is 200 ms.
	Pause time.Duration
}

const (
	amazon = "https://s3.amazonaws.com"
	// partBytes is the size of the parts of a large upload.
	partBytes = 16 << 20
)

// s3 keeps objects in a bucket.
type s3 struct {
	client  *minio.Client
	bucket  string
	prefix  string // ends with a slash, or is empty
	tempDir string
	tries   int
	pause   time.Duration
}

func openS3(bucket, prefix string, cfg Config) (Store, error) {
	if err := s3utils.CheckValidBucketName(bucket); err != nil {
		return nil, fmt.Errorf("bucket %s: %w", bucket, err)
	}
	c := cfg.S3
	endpoint := firstOf(c.Endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), amazon)
	host, secure, err := splitEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupAuto
	if c.PathStyle || endpoint != amazon && !strings.HasSuffix(host, ".amazonaws.com") {
		lookup = minio.BucketLookupPath
	}
	transport := c.Transport
	if transport == nil {
		t, err := newTransport(secure, firstOf(c.CAFile, os.Getenv("AWS_CA_BUNDLE")))
		if err != nil {
			return nil, err
		}
		transport = t
	}
	stall := c.Stall
	if stall == 0 {
		stall = time.Minute
	}
	tries := c.Tries
	if tries == 0 {
		tries = 6
	}
	pause := c.Pause
	if pause == 0 {
		pause = 200 * time.Millisecond
	}
	region := firstOf(c.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	if region == "" && lookup == minio.BucketLookupPath {
		region = "us-east-1" // services without regions accept this one; to query the region needs a permission
	}
	client, err := minio.New(host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.EnvMinio{}, &credentials.FileAWSCredentials{},
			&credentials.IAM{Client: &http.Client{Transport: http.DefaultTransport, Timeout: 5 * time.Second}},
		}),
		Secure: secure, Region: region,
		BucketLookup: lookup, Transport: stallGuard{transport, stall},
		// This package retries whole objects itself, with pauses that end with the context.
		MaxRetries: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("S3 endpoint %s: %w", host, err)
	}
	return &s3{client: client, bucket: bucket, prefix: prefix, tempDir: cfg.TempDir, tries: tries, pause: pause}, nil
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// splitEndpoint splits an endpoint into its host and whether TLS is used.
func splitEndpoint(endpoint string) (host string, secure bool, err error) {
	scheme, host, found := strings.Cut(endpoint, "://")
	if !found {
		scheme, host = "https", endpoint
	}
	host = strings.TrimSuffix(host, "/")
	if scheme != "http" && scheme != "https" || host == "" || strings.ContainsAny(host, "/@?#") {
		return "", false, fmt.Errorf("S3 endpoint %s: want http(s)://HOST[:PORT]", redact(endpoint))
	}
	return host, scheme == "https", nil
}

func newTransport(secure bool, caFile string) (*http.Transport, error) {
	t, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	t.ResponseHeaderTimeout = time.Minute
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	if caFile == "" || !secure {
		return t, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of the S3 endpoint: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // on a system without certificates, trust only those of the file
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read the certificates of the S3 endpoint: %s holds none in PEM form", caFile)
	}
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	return t, nil
}

func (s *s3) Location() string { return "s3://" + s.bucket + "/" + strings.TrimSuffix(s.prefix, "/") }

func (s *s3) Path(string) (string, bool) { return "", false }

// fail adds the object to an error, and advice for common mistakes.
func (s *s3) fail(doing, name string, err error) error {
	if err == nil {
		return nil
	}
	at := s.Location()
	if name != "" {
		at = "s3://" + s.bucket + "/" + s.prefix + name
	}
	resp := minio.ToErrorResponse(err)
	switch resp.Code {
	case minio.NoSuchKey:
		return fmt.Errorf("%s: %w", at, ErrNotFound)
	case minio.NoSuchBucket:
		return fmt.Errorf("%s %s: there is no bucket %q: create it first, or check --s3-endpoint and --s3-region: %w",
			doing, at, s.bucket, err)
	case minio.AccessDenied, "InvalidAccessKeyId", "SignatureDoesNotMatch":
		return fmt.Errorf("%s %s: %w: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and their permissions", doing, at, err)
	}
	return fmt.Errorf("%s %s: %w", doing, at, err)
}

// again reports whether a failed request may succeed if it is repeated.
func again(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, ErrNotFound) {
		return false
	}
	resp := minio.ToErrorResponse(err)
	switch {
	case resp.StatusCode == 0: // no answer
		return true
	case resp.StatusCode >= 500, resp.StatusCode == http.StatusTooManyRequests,
		resp.StatusCode == http.StatusRequestTimeout:
		return true
	}
	switch resp.Code {
	case "RequestTimeout", "SlowDown", "BadDigest", "IncompleteBody", "InternalError", "RequestTimeTooSkewed",
		"XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch":
		return true
	}
	return false
}

// retry calls f until it succeeds, fails for good, or has been tried often enough.
func (s *s3) retry(ctx context.Context, f func() error) error {
	pause := s.pause
	for try := 1; ; try++ {
		err := f()
		if err == nil || try >= s.tries || ctx.Err() != nil || !again(err) {
			return err
		}
		t := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return err
		}
		pause = min(2*pause, 10*time.Second)
	}
}

// Create opens a file on this machine: an upload can be repeated only if its content is kept and its size is known.
func (s *s3) Create(context.Context) (Upload, error) {
	f, err := os.CreateTemp(s.tempDir, "cordwood-backup-*")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file: %w", err)
	}
	return &s3Upload{s: s, f: f}, nil
}

type s3Upload struct {
	s *s3
	f *os.File // nil after Commit or Abort
}

func (u *s3Upload) Write(p []byte) (int, error) { return u.f.Write(p) }

// Commit sends the file and then checks the size of the stored object. It removes an object of another size and sends
// the file again.
func (u *s3Upload) Commit(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	size, err := u.f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		arrived, err := u.send(ctx, u.s.prefix+name, size)
		if err != nil {
			return u.s.fail("write", name, err)
		}
		if arrived == size {
			break
		}
		if err := u.s.Remove(ctx, name); err != nil || try == u.s.tries {
			return errors.Join(fmt.Errorf("write s3://%s/%s%s: %d bytes were sent, but %d were stored", u.s.bucket,
				u.s.prefix, name, size, arrived), err)
		}
	}
	u.Abort() // the local file is no longer needed
	return nil
}

// send sends the file and returns the size of the stored object.
func (u *s3Upload) send(ctx context.Context, key string, size int64) (arrived int64, err error) {
	err = u.s.retry(ctx, func() error {
		_, err := u.s.client.PutObject(ctx, u.s.bucket, key, io.NewSectionReader(u.f, 0, size), size, minio.PutObjectOptions{
			ContentType: "application/octet-stream", PartSize: partBytes, NumThreads: 2, SendContentMd5: true,
		})
		return err
	})
	if err != nil {
		return 0, err
	}
	err = u.s.retry(ctx, func() error {
		info, err := u.s.client.StatObject(ctx, u.s.bucket, key, minio.StatObjectOptions{})
		arrived = info.Size
		return err
	})
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		return -1, nil // the object was accepted but does not exist
	}
	return arrived, err
}

func (u *s3Upload) Abort() {
	if u.f == nil {
		return
	}
	u.f.Close()
	_ = os.Remove(u.f.Name()) // the file is in a folder of temporary files
	u.f = nil
}

func (s *s3) Open(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	var body io.ReadCloser
	err := s.retry(ctx, func() error {
		var opts minio.GetObjectOptions
		if offset > 0 {
			if err := opts.SetRange(offset, 0); err != nil {
				return err
			}
		}
		b, _, _, err := (&minio.Core{Client: s.client}).GetObject(ctx, s.bucket, s.prefix+name, opts)
		body = b
		if minio.ToErrorResponse(err).StatusCode == http.StatusRequestedRangeNotSatisfiable {
			body, err = io.NopCloser(strings.NewReader("")), nil // the offset is at the end: there are no more bytes
		}
		return err
	})
	if err != nil {
		return nil, s.fail("read", name, err)
	}
	return body, nil
}

func (s *s3) List(ctx context.Context, prefix string, f func(Object) error) error {
	var objects []Object
	err := s.retry(ctx, func() error {
		objects = objects[:0]
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for info := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{
			Prefix: s.prefix + prefix, Recursive: true,
		}) {
			if info.Err != nil {
				return info.Err
			}
			if strings.HasSuffix(info.Key, "/") {
				continue // a folder that another program stores as an object
			}
			objects = append(objects, Object{
				Name: strings.TrimPrefix(info.Key, s.prefix), Size: info.Size, Modified: info.LastModified,
			})
		}
		return ctx.Err()
	})
	if err != nil {
		return s.fail("list", "", err)
	}
	for _, o := range objects {
		if err := f(o); err != nil {
			return err
		}
	}
	return nil
}

func (s *s3) Remove(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	err := s.retry(ctx, func() error {
		return s.client.RemoveObject(ctx, s.bucket, s.prefix+name, minio.RemoveObjectOptions{})
	})
	if err = s.fail("remove", name, err); errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
