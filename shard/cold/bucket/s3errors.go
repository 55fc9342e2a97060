package bucket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

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
		err = advise(err, "check the credentials and their rights. Credentials: "+s.credentials.describe(false))
	default:
		if advice := s.advice(err); advice != "" {
			err = advise(err, advice)
		}
	}
	return &Error{Kind: kind, Op: op, At: s.at(key), Err: err}
}

// advised is an error with advice. Services end their texts with a full stop, which is left out before the advice.
type advised struct {
	err    error
	advice string
}

func advise(err error, advice string) error { return &advised{err, advice} }

func (a *advised) Error() string { return strings.TrimRight(a.err.Error(), ". ") + ": " + a.advice }

func (a *advised) Unwrap() error { return a.err }

// advice says what to change after an error whose cause is a setting, or is empty.
func (s *s3) advice(err error) string {
	resp := minio.ToErrorResponse(err)
	var dns *net.DNSError
	switch {
	case resp.Code == "AuthorizationHeaderMalformed" && strings.Contains(resp.Message, "region"):
		return "set the region of the bucket with --region, --object-storage-region or AWS_REGION"
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "give the endpoint as http://" + s.host
	case errors.As(err, &dns) && strings.HasSuffix(s.host, ".amazonaws.com"):
		return "set the endpoint if the bucket is not Amazon's (--endpoint, --object-storage-endpoint or AWS_ENDPOINT_URL_S3)"
	}
	return ""
}

// codes are the kinds of errors whose HTTP status does not tell them.
var codes = map[string]Kind{
	minio.NoSuchKey:               NotFound,
	minio.NoSuchBucket:            NoBucket,
	minio.AccessDenied:            Forbidden,
	"InvalidAccessKeyId":          Forbidden,
	"SignatureDoesNotMatch":       Forbidden,
	"XAdminUserNotFound":          Forbidden, // versitygw does not know the key, and answers 404
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
	// A 404 is not NotFound: an answer about an object has the code NoSuchKey, and others are about something else.
	case status == http.StatusPreconditionFailed:
		return Exists
	case status == http.StatusRequestedRangeNotSatisfiable:
		return Damaged
	}
	return Refused
}
