package object

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/cache"
	"cordwood/shard/segment"
)

// TestErrorsForClients: clients see neither the address of the service, nor its location, nor credentials, nor paths.
// The log has the cause.
func TestErrorsForClients(t *testing.T) {
	t.Parallel()
	cause := errors.New(`Get "http://10.0.0.7:9000/logs": check the credentials: key AKIA7 of AWS_ACCESS_KEY_ID`)
	at := "s3://logs/prod/c1/data/7/1/0/1-2-3-4.parquet"
	object := &cold.Object{Key: "c1/data/7/1/0/1-2-3-4.parquet", Day: 20_000}
	for want, err := range map[string]error{
		"does not answer: an object with rows of 2024-10-04": &bucket.Error{Kind: bucket.Unavailable, At: at, Err: cause},
		"refuses access": &bucket.Error{Kind: bucket.Forbidden, At: at, Err: cause},
		"lacks an object (c1/data/7/1/0/1-2-3-4.parquet)": &bucket.Error{Kind: bucket.NotFound, At: at, Err: cause},
		"damaged bytes (c1/data/7/1/0/1-2-3-4.parquet)":   &bucket.Error{Kind: bucket.Damaged, At: at, Err: cause},
		"cannot be read;": cause,

		"has no bucket of this name;": &bucket.Error{Kind: bucket.NoBucket, At: "s3://logs/prod", Err: cause},
	} {
		log := &bytes.Buffer{}
		q := &Query{r: New(Config{Location: "s3://logs/prod", Logger: slog.New(slog.NewTextHandler(log, nil))})}
		for range 2 {
			failed := q.failed(t.Context(), err, []*cold.Object{object})
			got := failed.Error()
			// Clients repeat the query after 503.
			lasts := strings.HasSuffix(got, "; until then, the query fails again")
			if status := errs.From(failed).Status(); lasts != (status == 500) || !lasts && status != 503 ||
				lasts != (want != "cannot be read;" && !strings.HasPrefix(want, "does not answer")) {
				t.Errorf("%q has status %d", got, status)
			}
			if !strings.Contains(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			for _, secret := range []string{"10.0.0.7", "AKIA", "s3://", "AWS_"} {
				if strings.Contains(got, secret) {
					t.Errorf("%q has %s", got, secret)
				}
			}
		}
		if n := strings.Count(log.String(), "10.0.0.7"); n != 1 {
			t.Errorf("%s: the log has the cause %d times: %s", want, n, log)
		}
	}
}

// TestRoomForClients: a query that needs more than the cache has is wrong, and one that comes at the wrong time is not.
func TestRoomForClients(t *testing.T) {
	t.Parallel()
	q := &Query{r: New(Config{})}
	for status, room := range map[int]*cache.NoRoomError{
		400: {Need: 11, Limit: 10}, 503: {Need: 5, Others: 6, Limit: 10},
	} {
		e := errs.From(q.failed(t.Context(), room, nil))
		if e.Status() != status || (e.RetryAfter > 0) != (status == 503) {
			t.Errorf("%s: status %d, again after %s", e, e.Status(), e.RetryAfter)
		}
	}
}

func TestDaysOfRows(t *testing.T) {
	t.Parallel()
	object := func(key string, from, to int64) *cold.Object {
		return &cold.Object{Key: key, Day: from, Meta: segment.Meta{
			MinTime: from * 86400 * 1e9, MaxTime: to*86400*1e9 + 5, Tables: make([]segment.TableSpan, 1),
		}}
	}
	a, b := object("a", 20_000, 20_000), object("b", 20_000, 20_004)
	for want, of := range map[string][]*cold.Object{
		"an object with rows of 2024-10-04 is needed":                {a, a},
		"an object with rows of 2024-10-04 to 2024-10-08 is needed":  {b},
		"2 objects with rows of 2024-10-04 are needed":               {a, object("c", 20_000, 20_000)},
		"2 objects with rows of 2024-10-04 to 2024-10-08 are needed": {a, b},
	} {
		if got := days(of); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
