package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// serviceOnly fails requests whose answer 404 is not one of an S3 service: proxies and web servers answer so while the
// service behind them is gone, and the client would take all objects for missing.
type serviceOnly struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (o serviceOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := o.next.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusNotFound || r.Method == http.MethodHead {
		return resp, err
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	if len(b) > 0 && !bytes.Contains(b, []byte("<Error")) {
		return nil, fmt.Errorf("the answer 404 is not one of an S3 service: %.60q: check the endpoint, and proxies before it",
			b)
	}
	resp.Body = io.NopCloser(bytes.NewReader(b))
	return resp, nil
}

// confirmMissing returns why an object cannot be described, after an answer without a body said that it is missing.
// Only the answer to another method says whether this is because of the object, or of the credentials, the bucket, or a
// proxy.
func (s *s3) confirmMissing(ctx context.Context, key string) error {
	if _, err := s.Range(ctx, key, Range{Length: 1}); err != nil {
		return err
	}
	return &Error{
		Kind: Unavailable, Op: "describe", At: s.at(key), Err: errors.New("it can be read, but is described as missing"),
	}
}
