package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/minio/minio-go/v7"
)

// at returns the location of an object for display.
func (s *s3) at(key string) string {
	if key == "" {
		return s.Location()
	}
	return "s3://" + s.bucket + "/" + s.prefix + key
}

// fail classifies an error of the client, and adds the object and advice for common mistakes.
func (s *s3) fail(ctx context.Context, op, key string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: %w", op, s.at(key), ctx.Err())
	}
	kind := classify(err)
	switch kind {
	case NotFound:
		err = ErrNotFound
	case Exists:
		err = ErrExists
	case NoBucket:
		err = fmt.Errorf("there is no bucket %q: create it first, or check the endpoint and the region: %w", s.bucket, err)
	case Forbidden:
		err = fmt.Errorf("%w: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and their permissions", err)
	}
	return &Error{Kind: kind, Op: op, At: s.at(key), Err: err}
}

// codes are the kinds of errors whose HTTP status does not tell them.
var codes = map[string]Kind{
	minio.NoSuchKey:               NotFound,
	minio.NoSuchBucket:            NoBucket,
	minio.AccessDenied:            Forbidden,
	"InvalidAccessKeyId":          Forbidden,
	"SignatureDoesNotMatch":       Forbidden,
	"SlowDown":                    Throttled,
	"SlowDownRead":                Throttled,
	"SlowDownWrite":               Throttled,
	"RequestLimitExceeded":        Throttled,
	"InternalError":               Unavailable,
	"RequestTimeout":              Unavailable,
	"RequestTimeTooSkewed":        Unavailable,
	"ConditionalRequestConflict":  Unavailable,
	"BadDigest":                   Damaged,
	"IncompleteBody":              Damaged,
	"XAmzContentChecksumMismatch": Damaged,
	"XAmzContentSHA256Mismatch":   Damaged,
	"InvalidRange":                Damaged,
}

// classify returns the kind of an error of the client.
func classify(err error) Kind {
	var local *sourceError
	if errors.As(err, &local) {
		return Local
	}
	resp := minio.ToErrorResponse(err)
	if kind, ok := codes[resp.Code]; ok {
		return kind
	}
	switch status := resp.StatusCode; {
	case status == http.StatusTooManyRequests:
		return Throttled
	case status == 0, status >= 500, status == http.StatusRequestTimeout:
		return Unavailable
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Forbidden
	case status == http.StatusNotFound:
		return NotFound
	case status == http.StatusPreconditionFailed:
		return Exists
	case status == http.StatusRequestedRangeNotSatisfiable:
		return Damaged
	}
	return Refused
}
