package bucket

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"
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
	// SSE is how the service shall encrypt objects: none, which leaves it to the bucket, s3 by keys of the service, kms or
	// kms:KEY by a key of its key management. The default value is none.
	SSE string
	// Transport, if not nil, sends the requests. Tests set it.
	Transport http.RoundTripper
	// Stall is the time without a transferred byte after which a request fails. The default value is a minute.
	Stall time.Duration
	// ReadStall is the same for ranges and descriptions of objects, for which queries wait. The default value is Stall.
	ReadStall time.Duration
}

// Reach returns how the bucket is reached, with what the environment and default values say: the URL of the service, or
// "" for Amazon's, the region, or "" if the service is asked for it, and whether the bucket is in the path.
func (c S3Config) Reach() (endpoint, region string, pathStyle bool) {
	endpoint = firstOf(c.Endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
	region = firstOf(c.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	host, secure, err := splitEndpoint(endpoint)
	other := endpoint != "" && err == nil && host != amazonHost
	switch {
	case other && secure:
		endpoint = "https://" + host
	case other:
		endpoint = "http://" + host
	default:
		endpoint = ""
	}
	pathStyle = c.PathStyle || other && !strings.HasSuffix(host, ".amazonaws.com")
	if region == "" && pathStyle {
		region = "us-east-1" // services without regions accept this one; to query the region needs a permission
	}
	return endpoint, region, pathStyle
}

const (
	amazonHost = "s3.amazonaws.com"
	amazon     = "https://" + amazonHost
	// partBytes is the size of the parts of a large upload.
	partBytes = 16 << 20
)

// s3 keeps objects in a bucket.
type s3 struct {
	client      *minio.Client
	credentials *credentialChain
	host        string // of the service
	bucket      string
	prefix      string // ends with a slash, or is empty
	sse         encrypt.ServerSide
	// checks is whether the service was seen to refuse an object with a wrong checksum. A service that stores any
	// checksum may return it, whatever the bytes are.
	checks atomic.Bool
}

func openS3(bucket, prefix string, c S3Config) (*s3, error) {
	if err := s3utils.CheckValidBucketName(bucket); err != nil {
		return nil, fmt.Errorf("bucket %s: %w", bucket, err)
	}
	sse, err := encryption(c.SSE)
	if err != nil {
		return nil, err
	}
	endpoint := firstOf(c.Endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), amazon)
	host, secure, err := splitEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	_, region, pathStyle := c.Reach()
	lookup := minio.BucketLookupAuto
	if pathStyle {
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
	chain := newCredentialChain()
	client, err := minio.New(host, &minio.Options{
		Creds:  credentials.New(chain),
		Secure: secure, Region: region,
		BucketLookup: lookup, Transport: stallGuard{serviceOnly{transport}, stall, cmp.Or(c.ReadStall, stall)},
		MaxRetries: 1, // a Guard repeats requests
	})
	if err != nil {
		return nil, &SettingError{Setting: "endpoint", Err: fmt.Errorf("S3 endpoint %s: %w", host, err)}
	}
	return &s3{client: client, credentials: chain, host: host, bucket: bucket, prefix: prefix, sse: sse}, nil
}

// SettingError is the error for a setting of a location that is wrong. Setting is its name, such as endpoint.
type SettingError struct {
	Setting string
	Err     error
}

// Error implements error.
func (e *SettingError) Error() string { return e.Err.Error() }

// Unwrap returns the error without the setting.
func (e *SettingError) Unwrap() error { return e.Err }

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
		return "", false, &SettingError{
			Setting: "endpoint", Err: fmt.Errorf("S3 endpoint %s: want http(s)://HOST[:PORT]", redact(endpoint)),
		}
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
		return nil, &SettingError{
			Setting: "ca-file", Err: fmt.Errorf("read the certificates of the S3 endpoint: %w", err),
		}
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // on a system without certificates, trust only those of the file
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &SettingError{
			Setting: "ca-file", Err: fmt.Errorf("read the certificates of the S3 endpoint: %s holds none in PEM form", caFile),
		}
	}
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	return t, nil
}
