package node

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"cordwood/node/config"
	"cordwood/node/iceberg"
	"cordwood/proto/errs"
	catalog "cordwood/router/iceberg"
	"cordwood/shard/cold/bucket"
)

// icebergSource gives the commits of Iceberg tables to the router.
type icebergSource struct {
	commits *iceberg.Catalog
	log     *slog.Logger

	mu sync.Mutex // guards the rest
	// said is when an error was logged last, and text that error.
	said time.Time
	text string
}

const (
	// icebergSaidEvery is how often the same error is logged. While object storage does not answer, each request has one.
	icebergSaidEvery = time.Minute
	// icebergAgain is the time after which a metadata file may be readable that was not because of the bucket.
	icebergAgain = 5 * time.Second
)

// Table implements router/iceberg.Source.
func (s *icebergSource) Table(ctx context.Context, database, name string) (catalog.Table, bool, error) {
	t, ok, err := s.commits.Table(ctx, database, name)
	return catalog.Table(t), ok, err
}

// Tables implements router/iceberg.Source.
func (s *icebergSource) Tables(ctx context.Context) ([]catalog.Table, error) {
	list, err := s.commits.Tables(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]catalog.Table, len(list))
	for i, t := range list {
		out[i] = catalog.Table(t)
	}
	return out, nil
}

// Metadata implements router/iceberg.Source. Errors of object storage have addresses of the service and the source of
// its credentials. Clients do not see these: the log has them.
func (s *icebergSource) Metadata(ctx context.Context, t catalog.Table) ([]byte, error) {
	file, err := s.commits.Metadata(ctx, iceberg.Table(t))
	kind, known := bucket.KindOf(err)
	if !known {
		return file, err
	}
	s.say(t.Location, err)
	again, what := time.Duration(0), "cannot be read; the log of the server has the reason"
	switch kind {
	case bucket.Unavailable, bucket.Throttled:
		again, what = icebergAgain, "does not answer"
	case bucket.Forbidden:
		what = "refuses access; an operator has to check the credentials of the server and the policy of the bucket"
	case bucket.NoBucket:
		what = "has no bucket of this name; an operator has to check the location, the endpoint and the region"
	case bucket.NotFound:
		what = "lacks the file " + t.Location
	case bucket.Damaged:
		what = "returns damaged bytes of " + t.Location
	}
	e := errs.New(errs.ObjectStorageUnavailable, "object storage %s", what)
	e.Err = err
	if again == 0 { // clients repeat a request after 503
		return nil, e.WithStatus(http.StatusInternalServerError)
	}
	return nil, e.WithRetryAfter(again)
}

// say logs an error, unless it was logged in the last minute.
func (s *icebergSource) say(location string, err error) {
	text, now := location+err.Error(), time.Now()
	s.mu.Lock()
	known := text == s.text && now.Sub(s.said) < icebergSaidEvery
	if !known {
		s.said, s.text = now, text
	}
	s.mu.Unlock()
	if !known {
		s.log.Warn("a metadata file of an Iceberg table could not be read for a client", "location", location, "error", err)
	}
}

// icebergProperties returns the settings with which clients of the Iceberg catalog reach the bucket, under the names
// that Iceberg's Java library and PyIceberg have for them. They have no credentials.
func icebergProperties(o *config.ObjectStorage) map[string]string {
	out := map[string]string{}
	if !strings.HasPrefix(o.URL, "s3://") {
		return out
	}
	endpoint, region, pathStyle := o.S3.Reach()
	if endpoint != "" {
		out["s3.endpoint"] = endpoint
	}
	if region != "" {
		out["s3.region"], out["client.region"] = region, region
	}
	if pathStyle {
		out["s3.path-style-access"] = strconv.FormatBool(true)
		out["s3.force-virtual-addressing"] = strconv.FormatBool(false)
	}
	return out
}
