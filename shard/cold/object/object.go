// Package object reads cold objects for queries, by ranges and through the cache of the node.
//
// A Query is what one query reads. It gives the query a segment for each object, and fetches the parts of objects that
// the query asks for while it runs; these stay on the local disk until Close. All methods may be called concurrently.
package object

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
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
	// Bucket has the objects, for reading whole ones past the cache.
	Bucket bucket.Bucket
	// Location is the location of the bucket, which clients do not see.
	Location string
	// MaxBytes is the maximum number of bytes that a Query fetches; 0 means any number.
	MaxBytes int64
	// Logger gets the causes of errors, which clients do not see. It may be nil.
	Logger *slog.Logger
}

// Reader makes objects readable for queries. A nil Reader makes queries that fail if they need an object.
type Reader struct {
	cfg Config

	mu sync.Mutex // guards the rest
	// said is when the last cause was logged, and text the cause.
	said time.Time
	text string
}

// sayEvery is how often the same cause is logged.
const sayEvery = time.Minute

// say logs the cause of an error. While object storage does not answer, each query fails with the same one.
func (r *Reader) say(err error) {
	if r == nil || r.cfg.Logger == nil {
		return
	}
	text, now := err.Error(), time.Now()
	r.mu.Lock()
	known := text == r.text && now.Sub(r.said) < sayEvery
	if !known {
		r.said, r.text = now, text
	}
	r.mu.Unlock()
	if !known {
		r.cfg.Logger.Warn("rows in object storage could not be read for a query", "location", r.cfg.Location, "error", err)
	}
}

// New returns a Reader.
func New(cfg Config) *Reader {
	return &Reader{cfg: cfg}
}

// Query is what one query reads of objects. It implements query.Fetcher.
type Query struct {
	r    *Reader
	hold *cache.Hold

	mu      sync.Mutex              // guards the rest
	objects map[string]*cold.Object // by path
	// allowed is how many bytes the query may have fetched when all calls that run have ended.
	allowed int64
}

// Query returns a Query of no objects.
func (r *Reader) Query() *Query {
	q := &Query{r: r, objects: map[string]*cold.Object{}}
	if r != nil {
		q.hold = r.cfg.Cache.Hold()
	}
	return q
}

// Close makes all that the query read removable. It may be called twice. No other call may run.
func (q *Query) Close() {
	if q.hold != nil {
		q.hold.Release()
	}
}

// Add allows the query to read an object, and fills in what its segment needs: the path, the checksum, and the size.
func (q *Query) Add(o *cold.Object, s *query.Segment) {
	s.Path, s.CRC, s.Cold = q.path(o), o.Meta.FileCRC, o.Meta.Bytes
	q.mu.Lock()
	defer q.mu.Unlock()
	q.objects[s.Path] = o
}

// path returns the path of an object's file in the cache.
func (q *Query) path(o *cold.Object) string {
	if q.r == nil {
		return cache.FileName(o.Key)
	}
	return filepath.Join(q.r.cfg.Dir, cache.FileName(o.Key))
}

// errNoStorage is the cause of an error of a nil Reader.
var errNoStorage = errors.New("no object storage is set")

// of returns an object as the cache knows it.
func of(o *cold.Object) cache.Object {
	return cache.Object{Key: o.Key, Bytes: o.Meta.Bytes, TailOffset: o.TailOffset, TailCRC: o.TailCRC}
}

// Fetch makes parts of objects available. It implements query.Fetcher.
func (q *Query) Fetch(ctx context.Context, wants []query.Want) error {
	parts, list, err := q.open(ctx, wants)
	if err != nil {
		return err
	}
	if err := q.allow(parts); err != nil {
		return err
	}
	return q.failed(ctx, q.hold.Fetch(ctx, parts...), list)
}

// allow returns an error if the query would fetch too many bytes.
func (q *Query) allow(parts []cache.Want) error {
	if q.r.cfg.MaxBytes == 0 {
		return nil
	}
	more := int64(0)
	for _, w := range parts {
		_, bytes, _ := q.r.cfg.Cache.Missing(w)
		more += bytes
	}
	return q.mayFetch(more)
}

// mayFetch returns an error if the query must not fetch so many more bytes. Else they count from now on, so that calls
// that run at once do not fetch too many together.
func (q *Query) mayFetch(more int64) error {
	limit := q.r.cfg.MaxBytes
	if limit == 0 || more == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	need := max(q.hold.Done().Bytes, q.allowed) + more
	if need <= limit {
		q.allowed = need
		return nil
	}
	return errs.New(errs.RuntimeResourcesExhausted, "query: it would fetch %d bytes from object storage, and "+
		"--query-max-cold-bytes allows %d; narrow the time range, read fewer columns, or have an operator raise the limit; "+
		"EXPLAIN shows what a statement fetches", need, limit).WithStatus(http.StatusBadRequest)
}

// open makes the ends of objects available.
func (q *Query) open(ctx context.Context, wants []query.Want) (parts []cache.Want, list []*cold.Object, err error) {
	objects := make([]cache.Object, 0, len(wants))
	q.mu.Lock()
	for _, w := range wants {
		x := q.objects[w.Path]
		if x == nil {
			q.mu.Unlock()
			return nil, nil, errs.New(errs.Internal, "query: parts of %s are wanted, which it does not read",
				filepath.Base(w.Path))
		}
		list = append(list, x)
		objects = append(objects, of(x))
	}
	q.mu.Unlock()
	if q.r == nil {
		return nil, nil, q.failed(ctx, errNoStorage, list)
	}
	if q.r.cfg.MaxBytes > 0 { // each has up to some hundred KiB
		if err := q.mayFetch(q.r.cfg.Cache.MissingEnds(objects)); err != nil {
			return nil, nil, err
		}
	}
	files, err := q.hold.Open(ctx, objects...)
	if err != nil {
		return nil, nil, q.failed(ctx, err, list)
	}
	parts = make([]cache.Want, len(wants))
	for i, w := range wants {
		parts[i] = cache.Want{File: files[i], Units: w.Units}
	}
	return parts, list, nil
}

// Have makes those of the wants available that are in the cache. It implements query.Fetcher.
func (q *Query) Have(ctx context.Context, wants []query.Want) (have []bool, err error) {
	have = make([]bool, len(wants))
	if q.r == nil {
		return have, nil
	}
	for i, w := range wants {
		q.mu.Lock()
		x := q.objects[w.Path]
		q.mu.Unlock()
		if x == nil || q.r.cfg.Cache.MissingEnds([]cache.Object{of(x)}) > 0 {
			continue
		}
		parts, _, err := q.open(ctx, []query.Want{w})
		if err == nil {
			if requests, _, _ := q.r.cfg.Cache.Missing(parts[0]); requests > 0 {
				continue
			}
			err = q.hold.Fetch(ctx, parts...)
		}
		if ctx.Err() != nil {
			return nil, err
		}
		have[i] = err == nil // else it was removed meanwhile, or its bytes on the disk are wrong
	}
	return have, nil
}

// Cost returns what Fetch has done, and would do. It implements query.Fetcher.
func (q *Query) Cost(ctx context.Context, wants []query.Want) (done, more query.Traffic, err error) {
	if q.r == nil {
		return done, more, nil
	}
	done = query.Traffic(q.hold.Done())
	parts, _, err := q.open(ctx, wants)
	if err != nil {
		return done, more, err
	}
	for _, w := range parts {
		requests, bytes, there := q.r.cfg.Cache.Missing(w)
		more.Objects++
		more.Requests, more.Bytes, more.Cached = more.Requests+requests, more.Bytes+bytes, more.Cached+there
	}
	return done, more, nil
}

// retryAfter is the time after which a query may succeed that failed because of the bucket.
const retryAfter = 5 * time.Second

// keyOf returns the key of the object that an error is about, in brackets, or nothing. It has only ids.
func (q *Query) keyOf(err error) string {
	b := (*bucket.Error)(nil)
	if !errors.As(err, &b) {
		return ""
	}
	key, ok := strings.CutPrefix(b.At, strings.TrimSuffix(q.r.cfg.Location, "/")+"/")
	if !ok || key == "" {
		return ""
	}
	return " (" + key + ")"
}

// failed returns the error of a fetch for clients. Users who may only query rows see neither addresses nor credentials
// nor paths of the server: the log has these. Clients repeat a query after status 503, so errors that stay until
// somebody acts have another one.
func (q *Query) failed(ctx context.Context, err error, of []*cold.Object) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if errors.Is(err, errNoStorage) {
		e := errs.New(errs.ObjectStorageUnavailable, "this server has no object storage: %s; start it with the settings of "+
			"object storage that the other servers have%s", days(of), untilThen)
		e.Err = err
		return e.WithStatus(http.StatusInternalServerError)
	}
	if room := (*cache.NoRoomError)(nil); errors.As(err, &room) {
		e := errs.New(errs.ObjectStorageUnavailable, "query: %s", room)
		e.Err = err
		if room.Need <= room.Limit {
			return e.WithRetryAfter(retryAfter)
		}
		return e.WithStatus(http.StatusBadRequest)
	}
	q.r.say(err)
	kind, known := bucket.KindOf(err)
	what := "cannot be read; the log of the server has the reason"
	switch {
	case !known:
	case kind == bucket.Unavailable || kind == bucket.Throttled:
		what = "does not answer"
	case kind == bucket.Forbidden:
		what = "refuses access; an operator has to check the credentials of the server and the policy of the bucket"
	case kind == bucket.NoBucket:
		what = "has no bucket of this name; an operator has to check the location, the endpoint and the region"
	case kind == bucket.NotFound:
		what = "lacks an object" + q.keyOf(err) + "; restore it from a copy of the bucket"
	case kind == bucket.Damaged:
		what = "returns damaged bytes" + q.keyOf(err) + "; restore the object from a copy of the bucket"
	}
	e := errs.New(errs.ObjectStorageUnavailable, "object storage %s: %s", what, days(of))
	e.Err = err
	switch {
	case errors.Is(err, cache.ErrLost), known && (kind == bucket.Unavailable || kind == bucket.Throttled):
		return e.WithRetryAfter(retryAfter)
	case known:
		e.Msg += untilThen
		return e.WithStatus(http.StatusInternalServerError)
	}
	return e
}

// untilThen ends the error of a query that is not worth repeating.
const untilThen = "; until then, the query fails again"

// days describes the rows that are needed.
func days(of []*cold.Object) string {
	first, last := of[0].Days()
	keys := map[string]bool{}
	for _, x := range of {
		from, to := x.Days()
		first, last = min(first, from), max(last, to)
		keys[x.Key] = true
	}
	date := func(day int64) string { return time.Unix(day*24*3600, 0).UTC().Format(time.DateOnly) }
	rows := "rows of " + date(first)
	if last > first {
		rows += " to " + date(last)
	}
	if len(keys) == 1 {
		return fmt.Sprintf("an object with %s is needed", rows)
	}
	return fmt.Sprintf("%d objects with %s are needed", len(keys), rows)
}
