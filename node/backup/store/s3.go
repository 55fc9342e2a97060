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

// S3Config says how a bucket is reached. What is empty is taken from the environment
// as other tools do: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, AWS_REGION or
// AWS_DEFAULT_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, the
// files of ~/.aws, and the role of the machine.
type S3Config struct {
	// Endpoint is the URL of the service; https unless it says http. The default value
	// is Amazon's.
	Endpoint string
	Region   string
	// PathStyle puts the bucket into the path rather than the host name. The default
	// value is to do so unless the endpoint is Amazon's.
	PathStyle bool
	// CAFile holds the certificates that are trusted besides the system's.
	CAFile string
	// Transport, if not nil, carries the requests. Tests set it.
	Transport http.RoundTripper
	// Stall is how long a transfer may stand still before it is tried again. The
	// default value is a minute.
	Stall time.Duration
	// Tries is how often a request is sent in all. The default value is 6.
	Tries int
	// Pause is how long to wait before the second try; it doubles each time. The default
	// value is 200 ms.
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
		region = "us-east-1" // what others take any region for; asking for it needs a permission
	}
	client, err := minio.New(host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.EnvMinio{}, &credentials.FileAWSCredentials{},
			&credentials.IAM{Client: &http.Client{Transport: http.DefaultTransport, Timeout: 5 * time.Second}},
		}),
		Secure: secure, Region: region,
		BucketLookup: lookup, Transport: stallGuard{transport, stall},
		// We try again ourselves: whole objects, with pauses that end with the context.
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

// splitEndpoint cuts an endpoint into host and whether it is TLS.
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
		pool = x509.NewCertPool() // a system without certificates: only the file counts
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read the certificates of the S3 endpoint: %s holds none in PEM form", caFile)
	}
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	return t, nil
}

func (s *s3) Location() string { return "s3://" + s.bucket + "/" + strings.TrimSuffix(s.prefix, "/") }

func (s *s3) Path(string) (string, bool) { return "", false }

// fail names the object, and says what to do about the usual mistakes.
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
		return fmt.Errorf("%s %s: there is no bucket %q: make it first, or check --s3-endpoint and --s3-region: %w",
			doing, at, s.bucket, err)
	case minio.AccessDenied, "InvalidAccessKeyId", "SignatureDoesNotMatch":
		return fmt.Errorf("%s %s: %w: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what they allow", doing, at, err)
	}
	return fmt.Errorf("%s %s: %w", doing, at, err)
}

// again reports whether a request that failed may do better.
func again(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, ErrNotFound) {
		return false
	}
	resp := minio.ToErrorResponse(err)
	switch {
	case resp.StatusCode == 0: // no answer at all
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

// retry calls f until it succeeds, may not be tried again, or was tried often enough.
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

// Create writes to a file on this machine: only a file whose size is known can be sent
// again as a whole.
func (s *s3) Create(context.Context) (Upload, error) {
	f, err := os.CreateTemp(s.tempDir, "cordwood-backup-*")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file: %w", err)
	}
	return &s3Upload{s: s, f: f}, nil
}

type s3Upload struct {
	s *s3
	f *os.File // nil once it is committed or given up
}

func (u *s3Upload) Write(p []byte) (int, error) { return u.f.Write(p) }

// Commit sends the file and then asks what has arrived: an object of another size is
// removed and sent again.
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
			return errors.Join(fmt.Errorf("write s3://%s/%s%s: %d bytes were sent and %d are there", u.s.bucket,
				u.s.prefix, name, size, arrived), err)
		}
	}
	u.Abort() // the file here has done its work
	return nil
}

// send sends the file and returns the size of what has arrived.
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
		return -1, nil // it was taken and is not there
	}
	return arrived, err
}

func (u *s3Upload) Abort() {
	if u.f == nil {
		return
	}
	u.f.Close()
	_ = os.Remove(u.f.Name()) // in a folder of temporary files
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
			body, err = io.NopCloser(strings.NewReader("")), nil // from the end on there is nothing
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
				continue // a folder that another program shows as an object
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
