package shard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/cache"
	"cordwood/shard/cold/object"
	"cordwood/shard/manifest"
	"cordwood/shard/query/engine"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/server"
	"cordwood/shard/vfs"
)

// coldWorld is a shard whose old rows are put into a bucket, with a server and its engine over it.
type coldWorld struct {
	*opened
	bucket *failingBucket
	engine *engine.Engine
	reader *object.Reader
	// key numbers the objects.
	key int
}

// failingBucket counts the ranges that are read, and can fail.
type failingBucket struct {
	bucket.Bucket
	mu     sync.Mutex
	ranges int
	bytes  int64
	// read are the keys of the objects that were read.
	read map[string]bool
	fail error
}

func (b *failingBucket) Range(ctx context.Context, key string, r bucket.Range) ([]byte, error) {
	b.mu.Lock()
	b.ranges++
	b.bytes += r.Length
	b.read[key] = true
	fail := b.fail
	b.mu.Unlock()
	if fail != nil {
		return nil, fail
	}
	return b.Bucket.Range(ctx, key, r)
}

func (b *failingBucket) set(fail error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ranges, b.bytes, b.read, b.fail = 0, 0, map[string]bool{}, fail
}

func (b *failingBucket) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ranges
}

func newColdWorld(t *testing.T) *coldWorld {
	t.Helper()
	cfg := testConfig(t)
	cfg.ShareBytes = 4000
	cfg.Tiered = func(t *schema.Table) bool { return t.ID != 3 }
	w := &coldWorld{opened: openShard(t, cfg), bucket: &failingBucket{Bucket: bucket.NewDir(t.TempDir())}}
	w.bucket.set(nil)
	w.stopCompactor()
	w.engine = openTestEngine(t)
	w.reader = testReader(t, t.TempDir(), w.bucket)
	return w
}

// testReader returns a reader of the objects in a bucket, with a cache in a folder.
func testReader(t testing.TB, dir string, b bucket.Bucket) *object.Reader {
	t.Helper()
	c, err := cache.Open(cache.Config{Dir: dir, Bytes: 16 << 20, Bucket: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return object.New(object.Config{Cache: c, Dir: dir, Bucket: b, Location: "s3://logs/prod"})
}

// fill writes rows of a table on a day. k numbers the calls for this day.
func (w *coldWorld) fill(table uint64, day, k, rows int) {
	w.t.Helper()
	list := make([]string, rows)
	for i := range list {
		list[i] = fmt.Sprintf("t%d day %d row %d of %d %s", table, day, i, k, strings.Repeat("x", i%50))
	}
	w.mustPut(batch(head(table, table, uint64(day*86400+k)), list...))
}

// stripe puts the rows of a segment into the bucket.
func (w *coldWorld) stripe(path string, m *segment.Meta) cold.Object {
	w.t.Helper()
	to := filepath.Join(w.t.TempDir(), "striped")
	striped, err := segment.Stripe(vfs.OS, path, m, to)
	if err != nil {
		w.t.Fatal(err)
	}
	u, err := segment.ReadUnits(vfs.OS, to)
	if err != nil {
		w.t.Fatal(err)
	}
	data, err := os.ReadFile(to)
	if err != nil {
		w.t.Fatal(err)
	}
	day := int64(86_400_000) // of the tables' unit
	if m.Shared() {
		day = int64(24 * time.Hour)
	}
	w.key++
	key := fmt.Sprintf("data/%d/%d", m.TableID, w.key)
	if err := w.bucket.Put(wait(w.t), key, bucket.Content{
		Body: bytes.NewReader(data), Size: striped.Bytes, CRC: striped.FileCRC, Checked: true,
	}); err != nil {
		w.t.Fatal(err)
	}
	return cold.Object{
		Key: key, Day: m.MinTime / day, TailOffset: u.TailOffset, Meta: striped,
		TailCRC: crc32.Checksum(data[u.TailOffset:], bucket.Castagnoli),
	}
}

// tier opens a cut of tables, and closes it with an object for each of its segments.
func (w *coldWorld) tier(tables ...uint64) {
	w.t.Helper()
	var last uint64
	w.store.Status.Inspect(func(st *rules.State) { last, _ = st.LastCut() })
	w.cut(tables...)
	w.flush()
	off := &rules.Offload{Number: last + 1}
	seen := map[uint64]bool{}
	for _, id := range tables {
		v := w.ReadView(id)
		kept, begin := int64(0), uint64(0)
		for _, o := range w.store.Ledger.State().CutOrders {
			if o.TableID == id && o.Number <= last {
				begin = max(begin, o.Order)
			}
		}
		for _, seg := range v.Segments(id) {
			if seg.Order < begin {
				continue
			}
			kept += seg.Span.Rows
			if !seen[seg.ID] {
				seen[seg.ID] = true
				off.Objects = append(off.Objects, w.stripe(seg.Path, &seg.Meta))
			}
		}
		v.Close()
		off.Tables = append(off.Tables, rules.Offloaded{TableID: id, Kept: kept})
	}
	if err := w.propose(&rules.Entry{Kind: rules.KindOffload, Offload: off}); err != nil {
		w.t.Fatal(err)
	}
}

// dropTwins removes local segments of a table from the manifest of the closed shard, and opens it again.
func (w *coldWorld) dropTwins(drop func(m *segment.Meta) bool) {
	w.t.Helper()
	w.flush() // the set has to be in the manifest
	w.crash()
	m, err := manifest.Open(manifest.Config{FS: vfs.OS, Dir: w.cfg.Dir, ShardID: w.cfg.ID})
	if err != nil {
		w.t.Fatal(err)
	}
	edit := &manifest.Edit{}
	for i := range m.State().Segments {
		if s := &m.State().Segments[i]; drop(s) {
			edit.Remove = append(edit.Remove, s.ID)
		}
	}
	if err := errors.Join(m.Commit(edit), m.Close()); err != nil {
		w.t.Fatal(err)
	}
	w.opened = openShard(w.t, w.cfg)
	w.stopCompactor()
}

// ask runs a statement over some tables.
func (w *coldWorld) ask(sql string, req *shardpb.QueryRequest, tables ...*schemapb.Table) (
	rows, missing []string, err error,
) {
	w.t.Helper()
	srv := server.New(server.Config{
		Shards: func(id uint32) (server.Shard, bool) { return w.Shard, id == w.ID() }, Engine: w.engine, Cold: w.reader,
	})
	req.Sql, req.Database, req.AnyReplica = sql, "public", true
	for _, d := range tables {
		req.Tables = append(req.Tables, &shardpb.QueryTable{
			Name: &shardpb.TableName{Database: d.Database, Name: d.Name}, Table: d, ShardId: w.ID(),
		})
	}
	stream := &partialStream{queryStream: queryStream{ctx: wait(w.t), ipc: &bytes.Buffer{}}}
	if err := srv.Query(req, stream); err != nil {
		return nil, nil, errs.FromGRPC(err)
	}
	r, err := ipc.NewReader(stream.ipc)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Release()
	for r.Next() {
		rec := r.RecordBatch()
		for row := range int(rec.NumRows()) {
			var values []string
			for c := range int(rec.NumCols()) {
				values = append(values, rec.Column(c).ValueStr(row))
			}
			rows = append(rows, strings.Join(values, "|"))
		}
	}
	if !strings.Contains(sql, "ORDER BY") {
		slices.Sort(rows)
	}
	return rows, stream.missing, nil
}

// partialStream also collects what is missing.
type partialStream struct {
	queryStream
	missing []string
}

func (s *partialStream) Send(c *shardpb.QueryChunk) error {
	s.missing = append(s.missing, c.Partial...)
	return s.queryStream.Send(c)
}

// coldIn returns the days of the objects that a view has of a table.
func (w *coldWorld) coldIn(table uint64) (days []int64) {
	w.t.Helper()
	v := w.ReadView(table)
	defer v.Close()
	for _, o := range v.Cold(table) {
		if o.Span.TableID != table || o.Order == 0 {
			w.t.Errorf("table %d has the object %+v", table, o)
		}
		days = append(days, o.Day)
	}
	return days
}

// TestColdQueries puts the rows of some tables into a bucket and removes the local files. All statements have the same
// answers as before, those that need no object make no request, and without the bucket only the others fail.
func TestColdQueries(t *testing.T) {
	t.Parallel()
	w := newColdWorld(t)
	const first = 20_000 // days since 1970
	t1, t2, t3 := def(1), def(2), def(3)
	t3.Columns[2].Name = "other"
	if _, need, err := w.Write(wait(t), [][]byte{batch(head(3, 3, 1), "early")}, []*schemapb.Table{t3}); err != nil ||
		len(need) > 0 {
		t.Fatal(err, need)
	}
	for day := range 3 {
		for k := range 2 {
			w.fill(1, first+day, k, 300)
			w.fill(2, first+day, k, 3) // small tables share segments
			w.fill(3, first+day, k, 4)
		}
	}
	w.tier(1, 2, 3)
	w.fill(1, first+3, 0, 300) // hot rows
	w.fill(2, first+3, 0, 3)
	// Columns have other names since, so only the objects show which columns of the shared files they are.
	t2.Version, t2.Columns[2].Name = 2, "text"
	t3.Version, t3.Columns[2].Name = 2, "n"
	const hot = "'2024-10-07'"
	statements := []struct {
		sql    string
		tables []*schemapb.Table
		hot    bool
	}{
		{"SELECT count(*) FROM t1", []*schemapb.Table{t1}, true},
		{"SELECT count(*), min(m), max(ts) FROM t1 WHERE ts >= " + hot, []*schemapb.Table{t1}, true},
		{"SELECT m FROM t1 ORDER BY ts DESC LIMIT 10", []*schemapb.Table{t1}, true},
		{"SELECT * FROM t2 WHERE ts >= " + hot, []*schemapb.Table{t2}, true},
		{"SELECT host, count(*), max(length(m)) FROM t1 GROUP BY host", []*schemapb.Table{t1}, false},
		{"SELECT * FROM t1", []*schemapb.Table{t1}, false},
		{"SELECT m FROM t1 WHERE m LIKE '%day 20001 row 7 %'", []*schemapb.Table{t1}, false},
		{"SELECT ts, m FROM t1 ORDER BY ts LIMIT 3", []*schemapb.Table{t1}, false},
		{"SELECT m FROM t1 WHERE host = 'h1' AND ts < '2024-10-05' ORDER BY ts DESC LIMIT 5", []*schemapb.Table{t1}, false},
		{"SELECT * FROM t2", []*schemapb.Table{t2}, false},
		{"SELECT text, count(*) FROM t2 WHERE host = 'h0' GROUP BY text", []*schemapb.Table{t2}, false},
		{"SELECT n, host FROM t3", []*schemapb.Table{t3}, false},
		{"SELECT a.text, b.n FROM t2 a JOIN t3 b ON a.ts = b.ts AND a.host = b.host", []*schemapb.Table{t2, t3}, false},
	}
	ask := func(sql string, tables ...*schemapb.Table) []string {
		t.Helper()
		rows, missing, err := w.ask(sql, &shardpb.QueryRequest{}, tables...)
		if err != nil || len(missing) > 0 {
			t.Fatalf("%s: %v, missing %q", sql, err, missing)
		}
		return rows
	}
	want := map[string][]string{}
	for _, s := range statements {
		if want[s.sql] = ask(s.sql, s.tables...); len(want[s.sql]) == 0 {
			t.Fatalf("%s has no rows", s.sql)
		}
	}
	if n := w.bucket.count(); n != 0 {
		t.Errorf("%d requests while all rows are in local files", n)
	}
	twins := map[uint64]bool{}
	for _, m := range w.store.Ledger.State().Segments {
		twins[m.ID] = true
	}
	w.dropTwins(func(m *segment.Meta) bool { return twins[m.ID] })
	if got := w.coldIn(1); !slices.Equal(got, []int64{first, first + 1, first + 2}) {
		t.Fatalf("the view has objects of the days %v", got)
	}
	requests := 0
	for _, s := range statements {
		if s.hot {
			w.bucket.set(errors.New("hot rows need no object"))
		} else {
			w.bucket.set(nil)
		}
		if d := cmp.Diff(want[s.sql], ask(s.sql, s.tables...)); d != "" {
			t.Errorf("%s: -local +cold\n%s", s.sql, d)
		}
		requests += w.bucket.count()
	}
	if requests == 0 {
		t.Error("the rows did not come from the bucket")
	}
	stats := w.StatsOf(&shardpb.StatsRequest{})
	if stats.Rows != 3*2*(300+3+4)+304 || len(stats.Tables) != 3 || stats.Tables[0].Rows != 2100 {
		t.Errorf("the shard reports %d rows, and %v", stats.Rows, stats.Tables)
	}
	w.fails(t, t1)
}

// fails runs statements without the bucket, and without settings for it.
func (w *coldWorld) fails(t *testing.T, t1 *schemapb.Table) {
	t.Helper()
	down := &bucket.Error{Kind: bucket.Unavailable, Op: "read", At: "s3://logs/prod/x", Err: errors.New("i/o timeout")}
	// A cache without anything, as after the loss of its disk.
	dir := t.TempDir()
	c, err := cache.Open(cache.Config{Dir: dir, Bytes: 16 << 20, Bucket: w.bucket})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w.bucket.set(down)
	const sql = "SELECT host, count(*) FROM t1 GROUP BY host"
	for want, reader := range map[string]*object.Reader{
		"object storage does not answer: 3 objects with rows of 2024-10-04 to 2024-10-06 " +
			"are needed": object.New(object.Config{Cache: c, Dir: dir, Location: "s3://logs/prod"}),
		"this server has no object storage: 3 objects with rows of 2024-10-04 to 2024-10-06 are needed; start it with the " +
			"settings of object storage that the other servers have; until then, the query fails again": nil,
	} {
		w.reader = reader
		_, _, err := w.ask(sql, &shardpb.QueryRequest{}, t1)
		if errs.CodeOf(err) != errs.ObjectStorageUnavailable || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
		rows, missing, err := w.ask(sql, &shardpb.QueryRequest{AllowPartial: true}, t1)
		if err != nil || !slices.Equal(rows, []string{"h0|100", "h1|100", "h2|100"}) {
			t.Errorf("a partial answer: %q, %v", rows, err)
		}
		if wantMissing := "public.t1: 3 objects in object storage, 1800 rows: " + want; !slices.Equal(missing,
			[]string{wantMissing}) {
			t.Errorf("missing are %q, want %q", missing, wantMissing)
		}
		if _, _, err := w.ask("SELECT m FROM t1 ORDER BY ts DESC LIMIT 10", &shardpb.QueryRequest{}, t1); err != nil {
			t.Errorf("a query of hot rows: %v", err)
		}
	}
}

// TestColdViews removes twins of some days, cuts and tables. A view has the objects of exactly these, also in memory,
// after a restart, and after rows have expired or tables were dropped.
func TestColdViews(t *testing.T) {
	t.Parallel()
	w := newColdWorld(t)
	const first, ms = 20_000, 86_400_000
	want := func(when string, table uint64, days ...int64) {
		t.Helper()
		if got := w.coldIn(table); !slices.Equal(got, days) {
			t.Errorf("%s: table %d has objects of the days %v, want %v", when, table, got, days)
		}
	}
	for day := range 3 {
		w.fill(1, first+day, 0, 300)
		w.fill(2, first+day, 0, 3)
	}
	w.tier(1, 2)
	w.fill(1, first+2, 1, 300)
	w.fill(1, first+3, 1, 300)
	w.tier(1)
	want("with all twins", 1)
	want("with all twins", 2)
	w.dropTwins(func(m *segment.Meta) bool { return m.TableID == 1 && m.MaxTime < (first+1)*ms })
	want("without the twins of a day", 1, first)
	want("without the twins of another table", 2)
	// The last day of the first cut, not that of the second one.
	low := uint64(1 << 60)
	for _, m := range w.store.Ledger.State().Segments {
		if m.TableID == 1 && m.MinTime >= (first+2)*ms {
			low = min(low, m.Order)
		}
	}
	w.dropTwins(func(m *segment.Meta) bool { return m.TableID == 1 && m.Order == low })
	want("without the twins of two days", 1, first, first+2)
	w.dropTwins(func(m *segment.Meta) bool { return m.TableID == 1 })
	want("without any twin", 1, first, first+1, first+2, first+2, first+3)
	pin, err := w.store.Readers.Pin()
	if err != nil || len(pin.Objects) != 5 {
		t.Fatalf("%d objects are pinned, %v", len(pin.Objects), err)
	}
	pin.Close()
	source := w.store.Readers.CopySource(1)
	if n := len(source.Since(0, true).Objects); n != 5 {
		t.Errorf("a copy reads %d objects, want 5", n)
	}
	source.Close()
	w.ttlFor(map[uint64]time.Duration{1: 24 * time.Hour})
	w.opened = w.reopen()
	w.stopCompactor()
	cutoffs := func(days int) []rules.Cutoff {
		now := time.UnixMilli((first + int64(days)) * ms)
		return w.store.Expiry.Expirable(now)
	}
	if got := cutoffs(1); len(got) != 0 {
		t.Errorf("nothing has expired, but the cutoffs are %v", got)
	}
	got := cutoffs(3)
	if len(got) != 1 || got[0].TableID != 1 {
		t.Fatalf("rows that are only in objects have expired; the cutoffs are %v", got)
	}
	if err := w.propose(&rules.Entry{Kind: rules.KindExpire, Cutoffs: got}); err != nil {
		t.Fatal(err)
	}
	want("after two days have expired", 1, first+2, first+2, first+3)
	want("after rows of another table have expired", 2)
	w.opened = w.reopen()
	w.stopCompactor()
	want("after a restart", 1, first+2, first+2, first+3)
	v := w.ReadView(1)
	rows, ok := v.Stored(1)
	before, same := v.Stored(1)
	if !ok || !same || !rows.Same(before) || rows.Segments() != 3 || rows.Oldest(1) != (first+2)*ms {
		t.Errorf("rows in objects are not stored: %t, %d segments, since %d", ok, rows.Segments(), rows.Oldest(1))
	}
	v.Close()
	if err := w.DropTable(wait(t), 1); err != nil {
		t.Fatal(err)
	}
	want("of a dropped table", 1)
	want("after another table was dropped", 2)
}
