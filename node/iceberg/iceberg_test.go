package iceberg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"cordwood/proto/column"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/iceberg"
	"cordwood/shard/manifest"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// world is a cluster of one shard with one table.
type world struct {
	shardpb.UnimplementedShardServiceServer
	t       *testing.T
	dir     string
	bucket  failing
	conn    grpc.ClientConnInterface
	commits map[uint64]*metapb.IcebergTable
	now     time.Time

	table   *schema.Table
	objects []*cold.Object
	shared  int64
	files   uint64
	rival   error // what Config.Alone returns
	// lose makes the next proposals fail after they were applied.
	lose bool
}

// failing is a bucket whose calls that change it fail from a number on.
type failing struct {
	bucket.Bucket
	left atomic.Int64
}

var errFailing = errors.New("the test wants this call to fail")

func (f *failing) Put(ctx context.Context, key string, c bucket.Content) error {
	if f.left.Add(-1) < 0 {
		return errFailing
	}
	return f.Bucket.Put(ctx, key, c)
}

func newWorld(t *testing.T, option string) *world {
	w := &world{t: t, dir: t.TempDir(), commits: map[uint64]*metapb.IcebergTable{}, now: time.Now()}
	w.bucket.Bucket = bucket.NewDir(w.dir)
	w.bucket.left.Store(math.MaxInt64)
	w.table = (&schema.Table{
		ID: 7, Version: 1, Database: "public", Name: "t",
		Options:   map[string]string{"append_mode": "true", "iceberg": option},
		Placement: []schema.Placement{{Epoch: 1, ShardID: 1}},
		Columns: []schema.Column{
			{ID: 1, Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp},
			{ID: 2, Name: "n", Type: schema.Int64, Semantic: schema.Field},
		},
	}).Index()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	shardpb.RegisterShardServiceServer(server, w)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	w.conn = conn
	return w
}

// ColdObjects answers for the leader of the shard.
func (w *world) ColdObjects(
	_ *shardpb.ColdObjectsRequest, out grpc.ServerStreamingServer[shardpb.ColdObjectsResponse],
) error {
	for _, o := range w.objects {
		err := out.Send(&shardpb.ColdObjectsResponse{
			Objects: [][]byte{manifest.AppendObject(nil, o)}, Sets: []uint64{o.Cut},
		})
		if err != nil {
			return err
		}
	}
	return out.Send(&shardpb.ColdObjectsResponse{Shared: []*shardpb.SharedRows{{TableId: 7, Rows: w.shared}}})
}

func (w *world) ReadIceberg(_ context.Context, table uint64) (list []*metapb.IcebergTable, err error) {
	for id, x := range w.commits {
		if table == 0 || table == id {
			list = append(list, x)
		}
	}
	return list, nil
}

func (w *world) Propose(_ context.Context, cmd *metapb.Command) (*metapb.Result, error) {
	c := cmd.GetCommitIceberg()
	id := c.Table.TableId
	if w.commits[id].GetVersion() != c.IfVersion {
		return &metapb.Result{ErrorCode: 1, ErrorMessage: "another node has committed"}, nil
	}
	if c.Forget {
		delete(w.commits, id)
	} else {
		w.commits[id] = &metapb.IcebergTable{TableId: id, Version: c.IfVersion + 1, Uuid: c.Table.Uuid, Key: c.Table.Key}
	}
	if w.lose {
		return nil, errFailing
	}
	return &metapb.Result{}, nil
}

func (w *world) committer(reg prometheus.Registerer) *Committer {
	return New(Config{
		Meta: w, Dial: func(string) (grpc.ClientConnInterface, error) { return w.conn, nil }, Bucket: &w.bucket,
		Root: "file://" + w.dir, Cluster: "c", Now: func() time.Time { return w.now },
		Alone:  func(context.Context) error { return w.rival },
		Logger: slog.New(slog.DiscardHandler), Registerer: reg,
	})
}

func (w *world) run(c *Committer) error {
	return c.run(w.t.Context(), []*schema.Table{w.table}, map[uint32]string{1: "n1"})
}

func (w *world) mustRun(c *Committer) {
	w.t.Helper()
	if err := w.run(c); err != nil {
		w.t.Fatal(err)
	}
}

// add stores an object with rows of a day, in the present definition of the table.
func (w *world) add(day, rows int, hidden bool) *cold.Object {
	w.t.Helper()
	var b column.Builder
	ts, n := b.Add(w.table.Columns[0]), b.Add(w.table.Columns[1])
	for i := range rows {
		ts.SetInt(i, int64(day)*86400e9+int64(i))
		if w.table.Columns[1].Type == schema.Float64 {
			n.SetFloat(i, float64(i))
		} else {
			n.SetInt(i, int64(i))
		}
		b.EndRow()
	}
	header := column.Header{TableID: w.table.ID, SchemaVersion: w.table.Version}
	batch, err := column.Decode(b.Encode(nil, header), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	dir := w.t.TempDir()
	metas, err := segment.Write(segment.Config{FS: vfs.OS, Dir: dir, NextID: func() uint64 { return 1 }}, w.table,
		[]*column.Batch{batch})
	if err != nil || len(metas) != 1 {
		w.t.Fatalf("%d files, %v", len(metas), err)
	}
	var extra segment.Extra
	if hidden {
		extra = iceberg.Extra(w.table)
	}
	w.files++
	o := w.store(w.table, fmt.Sprintf("c/data/%d.parquet", w.files), dir, &metas[0], extra)
	w.objects = append(w.objects, o)
	return o
}

// shown reads, from the files alone, which objects are shown, and with which definition.
func (w *world) shown() (st *iceberg.State, rows int64) {
	w.t.Helper()
	folder := filepath.Join(w.dir, "c", "iceberg", "7", "metadata")
	hint, err := os.ReadFile(filepath.Join(folder, "version-hint.text"))
	if err != nil {
		w.t.Fatal(err)
	}
	read := func(location string) ([]byte, error) { return os.ReadFile(strings.TrimPrefix(location, "file://")) }
	if st, err = iceberg.Load("file://"+filepath.Join(folder, "v"+string(hint)+".metadata.json"), read); err != nil {
		w.t.Fatal(err)
	}
	if current := w.commits[7]; string(hint) != fmt.Sprint(current.Version) {
		w.t.Errorf("the hint is %s, the commit %d", hint, current.Version)
	}
	for path, f := range st.Shown() {
		if _, err := read(path); err != nil {
			w.t.Error(err)
		}
		rows += f.Rows
	}
	return st, rows
}

func (w *world) mustShow(want int64) *iceberg.State {
	w.t.Helper()
	st, rows := w.shown()
	if rows != want {
		w.t.Errorf("%d rows are shown, want %d", rows, want)
	}
	return st
}

// TestKilled fails each call that changes something in turn, and continues with a new process.
func TestKilled(t *testing.T) {
	for n := 0; ; n++ {
		w := newWorld(t, "v2")
		w.add(1, 10, true)
		w.mustRun(w.committer(nil))
		w.add(2, 5, true)
		w.objects = w.objects[1:]
		w.bucket.left.Store(int64(n))
		err := w.run(w.committer(nil))
		failed := err != nil
		if failed && !errors.Is(err, errFailing) {
			t.Fatal(err)
		}
		w.bucket.left.Store(math.MaxInt64)
		w.mustRun(w.committer(nil))
		w.mustShow(5)
		if !failed {
			if n < 5 {
				t.Errorf("only %d files were stored", n)
			}
			return
		}
	}
}

// TestLostAnswer loses the answer to a commit. The next one continues from it.
func TestLostAnswer(t *testing.T) {
	w := newWorld(t, "v3")
	c := w.committer(nil)
	w.add(1, 10, true)
	w.lose = true
	if err := w.run(c); !errors.Is(err, errFailing) {
		t.Fatal(err)
	}
	w.lose = false
	w.mustRun(c)
	if w.mustShow(10); w.commits[7].Version != 1 {
		t.Errorf("commit %d", w.commits[7].Version)
	}
}

// TestTwoNodes has an old coordinator that commits after the new one.
func TestTwoNodes(t *testing.T) {
	w := newWorld(t, "v2")
	old, next := w.committer(nil), w.committer(nil)
	w.add(1, 10, true)
	w.mustRun(old)
	w.add(1, 7, true)
	w.mustRun(next)
	w.mustShow(17)
	// The old one believes that its commit is the last one.
	stale := *old.tables[7]
	f := &found{objects: w.objects[:1]}
	old.tables[7] = &stale
	x := &metapb.IcebergTable{TableId: 7, Version: 1, Key: stale.key}
	w.add(3, 1, true)
	f.objects = append(f.objects, w.objects[2])
	if err := old.commitTable(t.Context(), w.table, x, f); err == nil || !strings.Contains(err.Error(), "another node") {
		t.Errorf("the old coordinator: %v", err)
	}
	w.mustRun(old)
	w.mustShow(18)
}

// TestShardDoesNotAnswer commits nothing, since objects would be missing.
func TestShardDoesNotAnswer(t *testing.T) {
	w := newWorld(t, "v2")
	c := w.committer(nil)
	w.add(1, 10, true)
	w.mustRun(c)
	err := c.run(t.Context(), []*schema.Table{w.table}, map[uint32]string{})
	if err == nil || !strings.Contains(err.Error(), "objects of shard 1: the shard has no leader") {
		t.Errorf("the error is %v", err)
	}
	w.mustShow(10)
}

// TestLeftOut has rows that were stored before the option.
func TestLeftOut(t *testing.T) {
	w := newWorld(t, "v2")
	c := w.committer(nil)
	w.add(1, 10, false)
	w.add(1, 3, true)
	w.shared = 100
	c.Run(t.Context(), []*schema.Table{w.table}, map[uint32]string{1: "n1"})
	w.mustShow(3)
	const want = "110 rows of table public.t in object storage are not shown"
	if got := fmt.Sprint(c.Warnings()); !strings.Contains(got, want) {
		t.Errorf("warnings %s", got)
	}
	// Version 3 needs no hidden column here.
	w.table.Options["iceberg"] = "v3"
	first, _ := w.shown()
	c.Run(t.Context(), []*schema.Table{w.table}, map[uint32]string{1: "n1"})
	if st := w.mustShow(13); st.Metadata.UUID == first.Metadata.UUID || st.Metadata.Format != 3 {
		t.Errorf("id %s, format %d", st.Metadata.UUID, st.Metadata.Format)
	}
	c.Resign()
	if got := c.Warnings(); got != nil {
		t.Errorf("warnings %s", got)
	}
}

// TestHeld widens a column. The table is shown as it was until the last older object has expired.
func TestHeld(t *testing.T) {
	w := newWorld(t, "v2")
	c := w.committer(nil)
	w.add(1, 10, true)
	w.add(2, 5, true)
	w.mustRun(c)
	wider := *w.table
	wider.Columns = slices.Clone(wider.Columns)
	wider.Columns[1].Type, wider.Version = schema.Float64, 2
	w.table = wider.Index()
	w.add(3, 3, true)
	c.Run(t.Context(), []*schema.Table{w.table}, map[uint32]string{1: "n1"})
	w.mustShow(15)
	if got := fmt.Sprint(c.Warnings()); !strings.Contains(got, "column n has the type Float64 now, and older") {
		t.Errorf("warnings %s", got)
	}
	w.objects = w.objects[1:]
	w.mustRun(w.committer(nil)) // another node decides alike
	if st := w.mustShow(5); st.Metadata.Schema != 1 {
		t.Errorf("schema %d", st.Metadata.Schema)
	}
	w.objects = w.objects[1:]
	c.Run(t.Context(), []*schema.Table{w.table}, map[uint32]string{1: "n1"})
	if st := w.mustShow(3); st.Metadata.Schema != 2 || len(c.Warnings()) > 0 {
		t.Errorf("schema %d, warnings %v", st.Metadata.Schema, c.Warnings())
	}
}

// TestUnneededFiles counts the files while snapshots expire, and after the table was dropped.
func TestUnneededFiles(t *testing.T) {
	w := newWorld(t, "v2")
	c := w.committer(nil)
	files := func() int {
		list, err := filepath.Glob(filepath.Join(w.dir, "c", "iceberg", "7", "metadata", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	for day := range 5 {
		w.add(day, 2, true)
		w.mustRun(c)
	}
	const perCommit = 4 // metadata twice, a list, a manifest
	if n := files(); n != 5*perCommit+1 {
		t.Errorf("%d files after five commits", n)
	}
	w.now = w.now.Add(26 * time.Hour)
	w.mustRun(c) // its metadata file has no old snapshots
	w.now = w.now.Add(49 * time.Hour)
	w.mustRun(c)
	if n := files(); n < 20 {
		t.Errorf("%d files before the time", n)
	}
	w.now = w.now.Add(2 * time.Hour)
	w.mustRun(c)
	w.mustShow(10)
	// The five manifests, the last list, two metadata files with the current state, one that the log names, and the
	// hint.
	if n := files(); n > 5+1+2+1+1+1 {
		t.Errorf("%d files after two days", n)
	}
	w.mustShow(10)
	all := func() []*schema.Table { return nil }
	for range 3 {
		if err := c.run(t.Context(), all(), map[uint32]string{1: "n1"}); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(51 * time.Hour)
	}
	if n := files(); n != 0 || len(w.commits) != 0 {
		t.Errorf("%d files and %d commits of a dropped table", n, len(w.commits))
	}
}

// TestCatalog reads what was committed.
func TestCatalog(t *testing.T) {
	w := newWorld(t, "v2")
	w.add(1, 10, true)
	catalog := &Catalog{
		Meta: w, Bucket: &w.bucket, Root: "file://" + w.dir,
		ByID:   func(id uint64) (*schema.Table, bool) { return w.table, id == 7 },
		ByName: func(_, name string) (*schema.Table, bool) { return w.table, name == "t" },
	}
	ctx := t.Context()
	if _, ok, err := catalog.Table(ctx, "public", "t"); ok || err != nil {
		t.Errorf("before a commit: %t, %v", ok, err)
	}
	w.mustRun(w.committer(nil))
	list, err := catalog.Tables(ctx)
	if err != nil || len(list) != 1 {
		t.Fatalf("tables %v, %v", list, err)
	}
	one, ok, err := catalog.Table(ctx, "public", "t")
	if one != list[0] || !ok || err != nil {
		t.Errorf("table %v, %t, %v", one, ok, err)
	}
	b, err := catalog.Metadata(ctx, one)
	if err != nil {
		t.Fatal(err)
	}
	m, err := iceberg.ParseMetadata(b)
	if err != nil || m.UUID != one.UUID || m.Location != "file://"+w.dir+"/c/iceberg/7" {
		t.Errorf("metadata %+v, %v", m, err)
	}
	delete(w.table.Options, "iceberg")
	if list, err := catalog.Tables(ctx); err != nil || len(list) > 0 {
		t.Errorf("tables without the option: %v, %v", list, err)
	}
	catalog.Bucket = nil
	if _, err := catalog.Tables(ctx); !errors.Is(err, ErrNoStorage) {
		t.Errorf("without object storage: %v", err)
	}
}

// TestRival checks that nothing is stored while another cluster with the same id uses the bucket.
func TestRival(t *testing.T) {
	w := newWorld(t, "v2")
	w.add(1, 10, true)
	c := w.committer(nil)
	w.mustRun(c)
	w.add(2, 5, true)
	w.rival = errors.New("another server has the id of this cluster")
	w.bucket.left.Store(0) // each change fails
	if err := w.run(c); !errors.Is(err, w.rival) || errors.Is(err, errFailing) {
		t.Errorf("a run beside a rival: %v", err)
	}
	w.rival = nil
	w.bucket.left.Store(math.MaxInt64)
	w.mustShow(10)
	w.mustRun(c)
	w.mustShow(15)
}

// TestShownAgain unsets the option and sets it again. A node that remembers the former commit 1 does not go on from it,
// and readers that look for the highest number do not find former files.
func TestShownAgain(t *testing.T) {
	w := newWorld(t, "v2")
	old, other := w.committer(nil), w.committer(nil)
	w.add(1, 10, true)
	w.mustRun(old)
	w.add(1, 1, true)
	w.mustRun(other)
	first := w.mustShow(11).Metadata.UUID
	w.commits[7].Version = 1 // old remembers commit 1
	delete(w.table.Options, "iceberg")
	w.mustRun(other)
	if len(w.commits) != 0 {
		t.Fatalf("commits %v", w.commits)
	}
	w.table.Options["iceberg"] = "v2"
	w.mustRun(other)
	second := w.mustShow(11).Metadata.UUID
	if first == second {
		t.Error("the id is that of the former table")
	}
	numbered := filepath.Join(w.dir, "c", "iceberg", "7", "metadata", "v*.metadata.json")
	if list, err := filepath.Glob(numbered); len(list) != 1 {
		t.Errorf("numbered files %v, %v", list, err)
	}
	w.add(2, 2, true)
	w.mustRun(old)
	if st := w.mustShow(13); st.Metadata.UUID != second {
		t.Error("the former table is back")
	}
}

// TestFormatHeld changes to version 2, which cannot show older objects. The table goes on in version 3.
func TestFormatHeld(t *testing.T) {
	w := newWorld(t, "v3")
	c := w.committer(nil)
	text := "7"
	w.add(1, 10, true)
	wider := *w.table
	wider.Columns = append(slices.Clone(wider.Columns), schema.Column{
		ID: 3, Name: "added", Type: schema.Int64, Semantic: schema.Field, NotNull: true, Default: &text,
	})
	wider.Version = 2
	w.table = wider.Index()
	w.mustRun(c)
	w.mustShow(10)
	w.table.Options["iceberg"] = "v2"
	w.objects[0].Meta.Columns = append(w.objects[0].Meta.Columns, segment.Column{ID: 1 + segment.HiddenID})
	w.add(2, 5, true)
	c.Run(t.Context(), []*schema.Table{w.table}, map[uint32]string{1: "n1"})
	if st := w.mustShow(15); st.Metadata.Format != 3 {
		t.Errorf("format %d", st.Metadata.Format)
	}
	if got := fmt.Sprint(c.Warnings()); !strings.Contains(got, "column added was added with a default") {
		t.Errorf("warnings %s", got)
	}
	w.objects = w.objects[1:] // the rows expire
	w.mustRun(c)
	if st := w.mustShow(5); st.Metadata.Format != 3 {
		t.Errorf("format %d", st.Metadata.Format)
	}
}

// TestNewerObject has an object with a definition that the node does not know yet.
func TestNewerObject(t *testing.T) {
	w := newWorld(t, "v2")
	c := w.committer(nil)
	w.add(1, 10, true)
	w.add(1, 5, true).Meta.SchemaVersion = 2
	w.mustRun(c)
	w.mustShow(10)
	newer := *w.table
	newer.Version = 2
	w.table = newer.Index()
	w.mustRun(c)
	w.mustShow(15)
}

// TestHintOfOldNode has a node that stored an older number after the commit of another one.
func TestHintOfOldNode(t *testing.T) {
	w := newWorld(t, "v2")
	c := w.committer(nil)
	w.add(1, 10, true)
	w.mustRun(c)
	w.add(1, 1, true)
	w.mustRun(c)
	hint := filepath.Join(w.dir, "c", "iceberg", "7", "metadata", "version-hint.text")
	if err := os.WriteFile(hint, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(cleanEvery)
	w.mustRun(c)
	w.mustShow(11)
}

// TestOtherCoordinator has a file that is not needed. The time until it is removed begins anew after another node has
// coordinated.
func TestOtherCoordinator(t *testing.T) {
	w := newWorld(t, "v2")
	c := w.committer(nil)
	w.add(1, 10, true)
	w.mustRun(c)
	other := filepath.Join(w.dir, "c", "iceberg", "7", "metadata", "other.avro")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func() {
		w.now = w.now.Add(unneededFor)
		c.Run(t.Context(), []*schema.Table{w.table}, map[uint32]string{1: "n1"})
	}
	run() // notes it
	c.Resign()
	run()
	if _, err := os.Stat(other); err != nil {
		t.Errorf("it was removed too early: %v", err)
	}
	run()
	if _, err := os.Stat(other); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was not removed: %v", err)
	}
}

// TestMissingCommit removes the metadata file of the last commit.
func TestMissingCommit(t *testing.T) {
	w := newWorld(t, "v2")
	w.add(1, 10, true)
	w.mustRun(w.committer(nil))
	if err := os.Remove(filepath.Join(w.dir, w.commits[7].Key)); err != nil {
		t.Fatal(err)
	}
	err := w.run(w.committer(nil))
	if err == nil || !strings.Contains(err.Error(), "unset the table option iceberg") {
		t.Errorf("the error is %v", err)
	}
}

// TestManyObjects has more objects than one commit adds.
func TestManyObjects(t *testing.T) {
	w := newWorld(t, "v2")
	c := w.committer(nil)
	c.maxNew = 2
	for day := range 5 {
		w.add(day, 1, true)
	}
	w.mustRun(c)
	if w.mustShow(5); w.commits[7].Version != 3 {
		t.Errorf("%d commits", w.commits[7].Version)
	}
}

// TestLate has a shard that does not answer for hours.
func TestLate(t *testing.T) {
	w := newWorld(t, "v2")
	c := w.committer(nil)
	w.add(1, 10, true)
	run := func(leaders map[uint32]string) string {
		c.Run(t.Context(), []*schema.Table{w.table}, leaders)
		return fmt.Sprint(c.Warnings())
	}
	good := map[uint32]string{1: "n1"}
	run(good)
	if got := run(nil); got != "[]" {
		t.Errorf("warnings %s", got)
	}
	w.now = w.now.Add(2 * late)
	const want = "[tables with the option iceberg were last committed 2h0m0s ago: objects of shard 1: the shard has no " +
		"leader]"
	if got := run(nil); got != want {
		t.Errorf("warnings %s, want %s", got, want)
	}
	if got := run(good); got != "[]" {
		t.Errorf("warnings %s", got)
	}
}
