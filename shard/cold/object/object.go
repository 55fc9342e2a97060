// Package object reads cold objects for queries, by ranges and through the cache of the node.
//
// A Query is what one query reads. It gives the query a segment for each object, and fetches the parts of objects that
// the query asks for while it runs; these stay on the local disk until Close. All methods may be called concurrently.
package object

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/cache"
	"cordwood/shard/query"
)

// Config configures a Reader.
type Config struct {
	Cache *cache.Cache
	// Dir is the folder of the cache.
	Dir string
	// Location is the location of the bucket for display.
	Location string
}

// Reader makes objects readable for queries.
type Reader struct{ cfg Config }

// New returns a Reader.
func New(cfg Config) *Reader { return &Reader{cfg} }

// Query is what one query reads of objects. It implements query.Fetcher.
type Query struct {
	r    *Reader
	hold *cache.Hold

	mu      sync.Mutex              // guards objects
	objects map[string]*cold.Object // by path
}

// Query returns a Query of no objects.
func (r *Reader) Query() *Query {
	return &Query{r: r, hold: r.cfg.Cache.Hold(), objects: map[string]*cold.Object{}}
}

// Close makes all that the query read removable. It may be called twice. No other call may run.
func (q *Query) Close() { q.hold.Release() }

// Add allows the query to read an object, and fills in what its segment needs: the path, the checksum, and the size.
func (q *Query) Add(o *cold.Object, s *query.Segment) {
	s.Path, s.CRC, s.Cold = filepath.Join(q.r.cfg.Dir, cache.FileName(o.Key)), o.Meta.FileCRC, o.Meta.Bytes
	q.mu.Lock()
	defer q.mu.Unlock()
	q.objects[s.Path] = o
}

// Fetch makes parts of objects available. It implements query.Fetcher.
func (q *Query) Fetch(ctx context.Context, wants []query.Want) error {
	var objects []cache.Object
	var of []*cold.Object
	q.mu.Lock()
	for _, w := range wants {
		x := q.objects[w.Path]
		if x == nil {
			q.mu.Unlock()
			return errs.New(errs.Internal, "query: parts of %s are wanted, which it does not read", filepath.Base(w.Path))
		}
		of = append(of, x)
		objects = append(objects, cache.Object{
			Key: x.Key, Bytes: x.Meta.Bytes, TailOffset: x.TailOffset, TailCRC: x.TailCRC,
		})
	}
	q.mu.Unlock()
	files, err := q.hold.Open(ctx, objects...)
	if err != nil {
		return q.failed(ctx, err, of)
	}
	list := make([]cache.Want, len(wants))
	for i, w := range wants {
		list[i] = cache.Want{File: files[i], Units: w.Units}
	}
	return q.failed(ctx, q.hold.Fetch(ctx, list...), of)
}

// retryAfter is the time after which a query may succeed that failed because of the bucket.
const retryAfter = 5 * time.Second

// failed returns the error of a fetch for clients.
func (q *Query) failed(ctx context.Context, err error, of []*cold.Object) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if room := (*cache.NoRoomError)(nil); errors.As(err, &room) {
		e := errs.New(errs.ObjectStorageUnavailable, "query: %s", room)
		e.Err = err
		if room.Need <= room.Limit {
			return e.WithRetryAfter(retryAfter)
		}
		return e
	}
	kind, known := bucket.KindOf(err)
	cause := err
	if b := (*bucket.Error)(nil); errors.As(err, &b) {
		cause = b.Err
	}
	what := "cannot be read"
	switch {
	case !known:
	case kind == bucket.Unavailable || kind == bucket.Throttled:
		what = "does not answer"
	case kind == bucket.Forbidden:
		what = "refuses access; check the credentials of the server and the policy of the bucket"
	case kind == bucket.NotFound || kind == bucket.NoBucket:
		what = "lacks an object; restore it from a copy of the bucket"
	case kind == bucket.Damaged:
		what = "returns damaged bytes; restore the object from a copy of the bucket"
	}
	e := errs.New(errs.ObjectStorageUnavailable, "object storage %s (%s: %s): %s", what, q.r.cfg.Location, cause, days(of))
	e.Err = err
	if known && (kind == bucket.Unavailable || kind == bucket.Throttled) || errors.Is(err, cache.ErrLost) {
		return e.WithRetryAfter(retryAfter)
	}
	return e
}

// days describes the rows that are needed.
func days(of []*cold.Object) string {
	first, last := of[0].Day, of[0].Day
	keys := map[string]bool{}
	for _, x := range of {
		first, last = min(first, x.Day), max(last, x.Day)
		keys[x.Key] = true
	}
	date := func(day int64) string { return time.Unix(day*24*3600, 0).UTC().Format(time.DateOnly) }
	if len(keys) == 1 {
		return fmt.Sprintf("an object with rows of %s is needed", date(first))
	}
	return fmt.Sprintf("%d objects with rows of %s to %s are needed", len(keys), date(first), date(last))
}
