package object

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/bucket/buckettest"
	"cordwood/shard/cold/cache"
	"cordwood/shard/query"
	"cordwood/shard/query/engine"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

var (
	seed  = flag.Uint64("cold.seed", 1, "the first seed of TestColdRandom")
	seeds = flag.Int("cold.seeds", 4, "how many seeds TestColdRandom runs, 40 statements each")
)

func wait(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// columns are those of the tables of these tests.
func columns() []schema.Column {
	list := []schema.Column{
		{Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp},
		{Name: "host", Type: schema.String, Semantic: schema.Tag},
		{Name: "status", Type: schema.Int64, Semantic: schema.Field},
		{Name: "took", Type: schema.Float64, Semantic: schema.Field},
		{Name: "path", Type: schema.String, Semantic: schema.Field},
		{Name: "id", Type: schema.String, Semantic: schema.Field},
		{Name: "text", Type: schema.String, Semantic: schema.Field},
		{Name: "ok", Type: schema.Boolean, Semantic: schema.Field},
	}
	for i := range list {
		list[i].ID = uint32(i + 1)
	}
	list[5].Index = &schema.Index{
		Kind: schema.SkippingIndex, Options: schema.DefaultIndexOptions(schema.SkippingIndex),
	}
	list[6].Index = &schema.Index{
		Kind: schema.FulltextIndex, Options: schema.DefaultIndexOptions(schema.FulltextIndex),
	}
	return list
}

// start is the time of the first row: 2026-03-01.
var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// batchOf returns rows whose times begin at a moment and are a second apart. Some values are null.
func batchOf(t testing.TB, r *rand.Rand, table *schema.Table, from time.Time, rows int) *column.Batch {
	t.Helper()
	var b column.Builder
	cols := make([]*column.Col, len(table.Columns))
	for i := range cols {
		cols[i] = b.Add(table.Columns[i])
	}
	words := strings.Fields("disk full error retry timeout connection reset user login cache miss")
	for row := range rows {
		cols[0].SetInt(row, from.Add(time.Duration(row)*time.Second).UnixNano())
		cols[1].SetString(row, fmt.Sprint("host", r.IntN(4)))
		cols[2].SetInt(row, []int64{200, 200, 200, 404, 500}[r.IntN(5)])
		if r.IntN(10) > 0 {
			cols[3].SetFloat(row, float64(r.IntN(1000))/8)
		}
		cols[4].SetString(row, fmt.Sprintf("/api/v%d/item/%d", r.IntN(3), r.IntN(200)))
		cols[5].SetString(row, fmt.Sprintf("id-%08x", from.Unix()+int64(row)))
		cols[6].SetString(row, words[r.IntN(len(words))]+" "+words[r.IntN(len(words))]+" "+fmt.Sprint(r.IntN(1000)))
		if row%3 > 0 {
			cols[7].SetInt(row, int64(r.IntN(2)))
		}
		b.EndRow()
	}
	b.Finish()
	out, err := column.Decode(b.Encode(nil, column.Header{TableID: table.ID}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// part is a segment, as a local file and as an object.
type part struct {
	local  query.Segment
	object *cold.Object
}

// store writes batches to segments with small row groups, and puts each of them into a bucket as well.
func store(t testing.TB, b bucket.Bucket, dir string, table *schema.Table, id *uint64, group int,
	batches ...*column.Batch,
) (out []part) {
	t.Helper()
	metas, err := segment.Write(segment.Config{
		FS: vfs.OS, Dir: dir, RowGroupRows: group, NextID: func() uint64 { *id++; return *id }, Order: *id + 1,
	}, table, batches)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range metas {
		from, to := filepath.Join(dir, m.FileName()), filepath.Join(t.TempDir(), "striped")
		striped, err := segment.Stripe(vfs.OS, from, &m, to)
		if err != nil {
			t.Fatal(err)
		}
		u, err := segment.ReadUnits(vfs.OS, to)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprintf("data/%d/%d/%d.parquet", table.ID, m.MinTime/int64(24*time.Hour), m.ID)
		if err := b.Put(wait(t), key, bucket.Content{
			Body: bytes.NewReader(data), Size: striped.Bytes, CRC: striped.FileCRC, Checked: true,
		}); err != nil {
			t.Fatal(err)
		}
		p := part{local: query.Segment{
			Path: from, CRC: m.FileCRC, Order: m.Order, Rows: m.Rows, MinTime: m.MinTime, MaxTime: m.MaxTime,
		}}
		for _, c := range m.Columns {
			p.local.Columns = append(p.local.Columns, query.SegmentColumn{
				ID: c.ID, FieldID: c.FieldID, Name: c.Name, Type: c.Type,
			})
		}
		p.object = &cold.Object{
			Key: key, Cut: 1, Day: m.MinTime / int64(24*time.Hour), TailOffset: u.TailOffset, Meta: striped,
			TailCRC: crc32.Checksum(data[u.TailOffset:], bucket.Castagnoli),
		}
		out = append(out, p)
	}
	return out
}

// counting is a bucket that counts the ranges that are read, and can fail.
type counting struct {
	bucket.Bucket
	mu       sync.Mutex
	requests int
	bytes    int64
	fail     error
}

func (c *counting) Range(ctx context.Context, key string, r bucket.Range) ([]byte, error) {
	c.mu.Lock()
	c.requests++
	c.bytes += r.Length
	err := c.fail
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return c.Bucket.Range(ctx, key, r)
}

func (c *counting) count() (requests int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	requests, bytes = c.requests, c.bytes
	c.requests, c.bytes = 0, 0
	return requests, bytes
}

func (c *counting) fails(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

// world has an engine, a cache, and a table in two forms.
type world struct {
	engine *engine.Engine
	bucket *counting
	reader *Reader
	cache  *cache.Cache
	table  query.Table
	parts  []part
	cold   []bool // by part: whether it is read as an object
	dir    string
}

func newWorld(t testing.TB, b bucket.Bucket) *world {
	t.Helper()
	w := &world{bucket: &counting{Bucket: b}, dir: t.TempDir()}
	w.empty(t)
	var err error
	w.engine, err = engine.Open(engine.Config{
		MemoryLimit: 512 << 20, Threads: 2, TempDir: filepath.Join(t.TempDir(), "tmp"), Dirs: []string{w.dir},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(w.engine.Close(), w.cache.Close()); err != nil {
			t.Error(err)
		}
	})
	w.table = query.Table{
		Database: "public", Name: "logs", Schema: (&schema.Table{ID: 7, Name: "logs", Columns: columns()}).Index(),
	}
	return w
}

// empty begins a new cache.
func (w *world) empty(t testing.TB) {
	t.Helper()
	dir := filepath.Join(w.dir, "cache")
	if w.cache != nil {
		if err := errors.Join(w.cache.Close(), os.RemoveAll(dir)); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	w.cache, err = cache.Open(cache.Config{Dir: dir, Bytes: 64 << 20, Bucket: w.bucket})
	if err != nil {
		t.Fatal(err)
	}
	w.reader = New(Config{Cache: w.cache, Dir: dir, Location: "s3://logs/prod"})
}

// ask runs a statement over local segments, or over objects in place of those that are cold.
func (w *world) ask(ctx context.Context, sql string, local bool) ([]string, error) {
	table := w.table
	table.Segments = nil
	q := w.reader.Query()
	defer q.Close()
	for i, p := range w.parts {
		s := p.local
		if w.cold[i] && !local {
			q.Add(p.object, &s)
		}
		table.Segments = append(table.Segments, s)
	}
	var stream bytes.Buffer
	req := &query.Request{SQL: sql, Database: "public", Tables: []query.Table{table}}
	if err := w.engine.Query(query.WithFetcher(ctx, q), req, func(ipc []byte) error {
		stream.Write(ipc)
		return nil
	}); err != nil {
		return nil, err
	}
	r, err := ipc.NewReader(&stream)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	var rows []string
	for r.Next() {
		rec := r.RecordBatch()
		for row := range int(rec.NumRows()) {
			values := make([]string, rec.NumCols())
			for c := range values {
				if values[c] = "NULL"; !rec.Column(c).IsNull(row) {
					values[c] = rec.Column(c).ValueStr(row)
				}
			}
			rows = append(rows, strings.Join(values, "|"))
		}
	}
	return rows, r.Err()
}

// compare runs a statement over both forms of the table.
func (w *world) compare(t testing.TB, sql string) {
	t.Helper()
	want, err := w.ask(wait(t), sql, true)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	got, err := w.ask(wait(t), sql, false)
	if err != nil {
		t.Errorf("%s: over objects: %v", sql, err)
		return
	}
	if !strings.Contains(sql, "ORDER BY") {
		slices.Sort(want)
		slices.Sort(got)
	}
	if !slices.Equal(want, got) {
		t.Errorf("%s: over local segments %d rows %.200q, over objects %d rows %.200q", sql, len(want), want, len(got), got)
	}
}

// statements generates random statements.
type statements struct {
	*rand.Rand
	rows int // seconds after start in which there are rows
}

func (g statements) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g statements) moment() string {
	return "'" + start.Add(time.Duration(g.IntN(g.rows))*time.Second).Format("2006-01-02 15:04:05") + "'"
}

func (g statements) id() string {
	return fmt.Sprintf("'id-%08x'", start.Unix()+int64(g.IntN(g.rows+100)))
}

func (g statements) condition() string {
	switch g.IntN(14) {
	case 0:
		return "ts >= " + g.moment()
	case 1:
		return "ts < " + g.moment()
	case 2:
		from := g.IntN(g.rows)
		at := func(s int) string { return start.Add(time.Duration(s) * time.Second).Format("2006-01-02 15:04:05") }
		return fmt.Sprintf("ts BETWEEN '%s' AND '%s'", at(from), at(from+g.IntN(500)))
	case 3:
		return "id = " + g.id()
	case 4:
		return "id IN (" + g.id() + ", " + g.id() + ", " + g.id() + ")"
	case 5:
		return "matches_term(text, '" + g.pick("disk", "timeout", "nothing") + "')"
	case 6:
		return "path LIKE '%item/1" + g.pick("1", "", "77") + "%'"
	case 7:
		return "status = " + g.pick("200", "404", "500", "501")
	case 8:
		return "took > " + fmt.Sprint(g.IntN(130))
	case 9:
		return "host = 'host" + fmt.Sprint(g.IntN(5)) + "'"
	case 10:
		return "ok"
	case 11:
		return "took IS NULL"
	case 12:
		return "(id = " + g.id() + " OR status = 404)"
	}
	return "true"
}

func (g statements) where() string {
	s := " WHERE " + g.condition()
	for range g.IntN(3) {
		s += " AND " + g.condition()
	}
	return s
}

func (g statements) next() string {
	switch g.IntN(17) {
	case 0:
		return "SELECT count(*) FROM logs" + g.where()
	case 1:
		return "SELECT status, count(*) FROM logs GROUP BY status"
	case 2:
		return "SELECT status, count(*), max(took) FROM logs" + g.where() + " GROUP BY status"
	case 3:
		return "SELECT * FROM logs" + g.where() + " ORDER BY ts DESC, host LIMIT 20"
	case 4:
		return "SELECT ts, id FROM logs" + g.where() + " ORDER BY ts DESC LIMIT 10"
	case 5:
		return "SELECT ts, id FROM logs" + g.where() + " ORDER BY ts LIMIT 10"
	case 6:
		return "SELECT date_trunc('minute', ts), count(*) FROM logs" + g.where() + " GROUP BY 1"
	case 7:
		return "SELECT host, quantile_cont(took, 0.9) FROM logs" + g.where() + " GROUP BY host"
	case 8:
		return "SELECT * FROM logs" + g.where()
	case 9:
		return "SELECT a.id, b.status FROM logs a JOIN logs b ON a.id = b.id WHERE a.status = 500 AND b.ts < " + g.moment()
	case 10:
		return "SELECT count(DISTINCT path) FROM (SELECT path FROM logs" + g.where() + ")"
	case 11:
		return "SELECT min(ts), max(ts), count(*) FROM logs"
	case 12:
		return "SELECT id FROM logs WHERE id = " + g.id()
	case 13: // the engine runs these
		return "SELECT upper(id), status + 1, host FROM logs ORDER BY ts " + g.pick("DESC", "ASC") + ", id, host LIMIT " +
			g.pick("1", "20", "300")
	case 14:
		return "SELECT upper(id), status FROM logs WHERE ts " + g.pick("<", ">=") + g.moment() + " ORDER BY ts " +
			g.pick("DESC", "ASC") + ", id, status LIMIT " + g.pick("1", "20", "300")
	case 15:
		return "SELECT upper(id), status FROM logs" + g.where() + " ORDER BY ts " + g.pick("DESC", "ASC") +
			", id, status LIMIT " + g.pick("1", "20", "300") + g.pick("", " OFFSET 7")
	}
	return "SELECT host, ok, count(*) FROM logs" + g.where() + " GROUP BY ALL ORDER BY ALL"
}

// fill gives the table segments, of which some lie in the bucket. Segments overlap in time if rows merge.
func (w *world) fill(t testing.TB, r *rand.Rand) (rows int) {
	t.Helper()
	id := uint64(0)
	w.parts, w.cold = nil, nil
	at := start
	for i := range 4 + r.IntN(3) {
		n := 500 + r.IntN(2500)
		w.parts = append(w.parts, store(t, w.bucket.Bucket, w.dir, w.table.Schema, &id, 40+r.IntN(150),
			batchOf(t, r, w.table.Schema, at, n))...)
		if w.table.Merge == query.Append || i%2 == 1 {
			at = at.Add(time.Duration(n) * time.Second)
		}
	}
	for range w.parts {
		w.cold = append(w.cold, r.IntN(4) > 0)
	}
	return int(at.Sub(start).Seconds()) + 1000
}

// TestColdRandom compares random statements over local segments and over objects.
func TestColdRandom(t *testing.T) {
	for i := range *seeds {
		n := *seed + uint64(i)
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := rand.New(rand.NewPCG(n, 9))
			w := newWorld(t, bucket.NewDir(t.TempDir()))
			w.table.Merge = []query.Merge{query.Append, query.LastRow, query.Append, query.LastNonNull}[n%4]
			g := statements{r, w.fill(t, r)}
			for k := range 40 {
				if k%3 == 0 {
					w.empty(t)
				}
				w.compare(t, g.next())
			}
		})
	}
}

// TestColdS3 does it with a real S3 server that makes mistakes.
func TestColdS3(t *testing.T) {
	endpoint, name := buckettest.Serve(t)
	proxy := buckettest.NewProxy(t, endpoint, nil)
	b, err := bucket.Open("s3://"+name+"/cold", bucket.Config{S3: bucket.S3Config{
		Endpoint: proxy.URL, Region: "us-east-1", PathStyle: true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 5))
	w := newWorld(t, bucket.NewGuard(b, bucket.GuardConfig{
		Read: bucket.Policy{Tries: 8, Pause: time.Millisecond}, NoCircuit: true,
	}))
	g := statements{r, w.fill(t, r)}
	proxy.SetPlan(buckettest.Random(1, 0.1, buckettest.Flip, buckettest.Cut, buckettest.Short, buckettest.Foreign,
		buckettest.IgnoreRange, buckettest.Internal, buckettest.SlowDown, buckettest.Reset))
	for range 25 {
		w.empty(t)
		w.compare(t, g.next())
	}
	t.Log(proxy.Counts())
}

// TestHotDoesNotWait runs statements that need no object while the bucket does not answer, and looks at the error of
// those that do.
func TestHotDoesNotWait(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	w := newWorld(t, bucket.NewDir(t.TempDir()))
	id := uint64(0)
	w.parts = store(t, w.bucket.Bucket, w.dir, w.table.Schema, &id, 100, batchOf(t, r, w.table.Schema, start, 1000))
	border := start.Add(48 * time.Hour)
	w.parts = append(w.parts, store(t, w.bucket.Bucket, w.dir, w.table.Schema, &id, 100,
		batchOf(t, r, w.table.Schema, border, 1000))...)
	w.cold = []bool{true, false}
	w.bucket.fails(&bucket.Error{
		Kind: bucket.Unavailable, Op: "read", At: "s3://logs/prod/x", Err: errors.New("i/o timeout"),
	})
	w.bucket.count()
	for _, sql := range []string{
		"SELECT status, count(*) FROM logs WHERE ts >= '2026-03-03' GROUP BY status",
		"SELECT * FROM logs ORDER BY ts DESC LIMIT 100",
		"SELECT * FROM logs WHERE status = 200 ORDER BY ts DESC LIMIT 10",
		"SELECT upper(id) FROM logs WHERE status + 1 = 201 ORDER BY ts DESC LIMIT 10",
		"SELECT id FROM logs WHERE ts >= '2026-03-03' AND path LIKE '%item%'",
		"SELECT count(*) FROM logs",
		"SELECT count(*) FROM logs WHERE ts < '2026-03-02'",
	} {
		w.compare(t, sql)
	}
	if n, _ := w.bucket.count(); n != 0 {
		t.Errorf("statements over local rows made %d requests", n)
	}
	for _, sql := range []string{
		"SELECT status, count(*) FROM logs GROUP BY status", "SELECT * FROM logs ORDER BY ts LIMIT 3",
		"SELECT * FROM logs WHERE id = 'id-00000000'", "SELECT path FROM logs WHERE took > 3",
	} {
		_, err := w.ask(wait(t), sql, false)
		want := "object storage does not answer: an object with rows of 2026-03-01 is needed"
		if errs.CodeOf(err) != errs.ObjectStorageUnavailable || err.Error() != want || errs.From(err).RetryAfter == 0 {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestMaxBytes refuses statements that would fetch more than a query may. What is in the cache does not count.
func TestMaxBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	w := newWorld(t, bucket.NewDir(t.TempDir()))
	id := uint64(0)
	w.parts = store(t, w.bucket.Bucket, w.dir, w.table.Schema, &id, 1000, batchOf(t, r, w.table.Schema, start, 50_000))
	w.cold = []bool{true}
	const large, small = "SELECT max(text), max(id) FROM logs", "SELECT max(ok) FROM logs WHERE ts < '2026-03-01 00:10'"
	w.reader.cfg.MaxBytes = w.parts[0].object.Meta.Bytes / 2
	w.compare(t, small)
	w.bucket.count()
	_, err := w.ask(wait(t), large, false)
	want := fmt.Sprintf("bytes from object storage, and --query-max-cold-bytes allows %d; narrow the time range, read "+
		"fewer columns, or have an operator raise the limit", w.reader.cfg.MaxBytes)
	if e := errs.From(err); e.Code != errs.RuntimeResourcesExhausted || e.Status() != 400 ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %s", large, err, want)
	}
	if n, _ := w.bucket.count(); n > 0 {
		t.Errorf("it made %d requests", n)
	}
	limit := w.reader.cfg.MaxBytes
	w.reader.cfg.MaxBytes = 0
	w.compare(t, large)
	w.reader.cfg.MaxBytes = limit
	w.compare(t, large)

	// The ends of objects count, too: with very many objects, they are what a query fetches.
	o := w.parts[0].object
	w.empty(t)
	w.reader.cfg.MaxBytes = (o.Meta.Bytes - o.TailOffset) / 2
	w.bucket.count()
	if _, err := w.ask(wait(t), small, false); errs.CodeOf(err) != errs.RuntimeResourcesExhausted {
		t.Errorf("%s, with a limit below the size of the end of an object: %v", small, err)
	}
	if n, _ := w.bucket.count(); n > 0 {
		t.Errorf("it made %d requests", n)
	}
}

// gathering answers reads when as many calls as it waits for have asked or ended.
type gathering struct {
	bucket.Bucket
	calls sync.WaitGroup
}

func (g *gathering) Range(ctx context.Context, key string, r bucket.Range) ([]byte, error) {
	g.calls.Done()
	g.calls.Wait()
	return g.Bucket.Range(ctx, key, r)
}

// TestMaxBytesAtOnce has a query fetch the ends of many objects at once.
func TestMaxBytesAtOnce(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 6))
	g := &gathering{Bucket: bucket.NewDir(t.TempDir())}
	w := newWorld(t, g)
	id, most := uint64(0), int64(0)
	const objects, allowed = 12, 3
	for day := range objects {
		w.parts = append(w.parts, store(t, w.bucket.Bucket, w.dir, w.table.Schema, &id, 1000,
			batchOf(t, r, w.table.Schema, start.Add(time.Duration(day)*24*time.Hour), 100))...)
		o := w.parts[day].object
		most = max(most, o.Meta.Bytes-o.TailOffset)
	}
	w.reader.cfg.MaxBytes = allowed * most
	q := w.reader.Query()
	defer q.Close()
	var calls sync.WaitGroup
	g.calls.Add(objects)
	for i := range w.parts {
		var s query.Segment
		q.Add(w.parts[i].object, &s)
		calls.Go(func() {
			if q.Fetch(wait(t), []query.Want{{Path: s.Path}}) != nil {
				g.calls.Done()
			}
		})
	}
	calls.Wait()
	if _, bytes := w.bucket.count(); bytes > w.reader.cfg.MaxBytes {
		t.Errorf("%d bytes were fetched at once, of %d", bytes, w.reader.cfg.MaxBytes)
	}
}

// TestRequests compares the numbers of requests of some statements with what they need at most. The objects are so
// small that requests are joined over most gaps, so the bytes say little.
func TestRequests(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	w := newWorld(t, bucket.NewDir(t.TempDir()))
	id := uint64(0)
	total := int64(0)
	for day := range 3 {
		w.parts = append(w.parts, store(t, w.bucket.Bucket, w.dir, w.table.Schema, &id, 1000,
			batchOf(t, r, w.table.Schema, start.Add(time.Duration(day)*24*time.Hour), 50_000))...)
		w.cold = append(w.cold, true)
		total += w.parts[day].object.Meta.Bytes
	}
	for _, c := range []struct {
		sql      string
		requests int
	}{
		{"SELECT status, count(*) FROM logs GROUP BY status", 3 * (1 + 2 + 1)}, // end, stripes, last row groups
		{"SELECT * FROM logs ORDER BY ts DESC LIMIT 100", 10},
		{"SELECT * FROM logs WHERE id = 'id-" + fmt.Sprintf("%08x", start.Unix()+24*3600+7) + "'", 20},
		{"SELECT count(*) FROM logs WHERE ts < '2026-03-02'", 0},
	} {
		w.empty(t)
		w.bucket.count()
		w.compare(t, c.sql)
		n, size := w.bucket.count()
		t.Logf("%s: %d requests, %d of %d bytes", c.sql, n, size, total)
		if n > c.requests || size >= total {
			t.Errorf("%s: %d requests and %d of %d bytes, want at most %d requests", c.sql, n, size, total, c.requests)
		}
		w.compare(t, c.sql)
		if n, _ := w.bucket.count(); n != 0 {
			t.Errorf("%s: %d requests the second time", c.sql, n)
		}
	}
}
