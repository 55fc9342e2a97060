package compaction

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

var logs = (&schema.Table{ID: 7, Version: 1, Columns: []schema.Column{
	{ID: 1, Name: "ts", Type: schema.TimestampMillisecond, Semantic: schema.Timestamp},
	{
		ID: 2, Name: "msg", Type: schema.String, Semantic: schema.Field,
		Index: &schema.Index{Kind: schema.FulltextIndex, Options: schema.DefaultIndexOptions(schema.FulltextIndex)},
	},
	{ID: 3, Name: "n", Type: schema.Int64, Semantic: schema.Field},
}}).Index()

// tagged is a table whose row groups are merged and not copied, with bloom filters.
var tagged = (&schema.Table{ID: 7, Version: 1, Columns: []schema.Column{
	{ID: 1, Name: "ts", Type: schema.TimestampMillisecond, Semantic: schema.Timestamp},
	{
		ID: 2, Name: "msg", Type: schema.String, Semantic: schema.Tag,
		Index: &schema.Index{Kind: schema.InvertedIndex, Options: schema.DefaultIndexOptions(schema.InvertedIndex)},
	},
	{ID: 3, Name: "n", Type: schema.Int64, Semantic: schema.Field},
}}).Index()

// writeLogs writes a segment with a row at each of the times.
func writeLogs(t testing.TB, cfg segment.Config, table *schema.Table, r *rand.Rand, times []int64) segment.Meta {
	t.Helper()
	var b column.Builder
	ts, msg, n := b.Add(table.Columns[0]), b.Add(table.Columns[1]), b.Add(table.Columns[2])
	for i, at := range times {
		ts.SetInt(i, at)
		msg.SetString(i, fmt.Sprintf("GET /path/%d took %d ms for %016x", r.IntN(50), r.IntN(1000), r.Uint64()))
		if r.IntN(3) > 0 {
			n.SetInt(i, r.Int64N(1000))
		}
		b.EndRow()
	}
	batch, err := column.Decode(b.Encode(nil, column.Header{TableID: table.ID, SchemaVersion: 1}), nil)
	if err != nil {
		t.Fatal(err)
	}
	metas, err := segment.Write(cfg, table, []*column.Batch{batch})
	if err != nil || len(metas) != 1 {
		t.Fatalf("%d segments: %v", len(metas), err)
	}
	metas[0].Order = metas[0].ID
	return metas[0]
}

func readLogs(t testing.TB, dir string, m *segment.Meta) (times []int64, rows []string) {
	t.Helper()
	r, err := segment.Open(vfs.OS, filepath.Join(dir, segment.FileName(m.ID)), m)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		b, err := r.Next(1000)
		if errors.Is(err, io.EOF) {
			return times, rows
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Rows {
			n := "null"
			if c := b.Column(3); c != nil && !c.IsNull(i) {
				n = fmt.Sprint(c.Int(i))
			}
			times = append(times, b.Column(1).Int(i))
			rows = append(rows, fmt.Sprintf("%d %s %s", b.Column(1).Int(i), b.Column(2).Bytes(i), n))
		}
	}
}

func job(cfg segment.Config, t *Table, metas []segment.Meta) Job {
	j := Job{Config: cfg, Table: func(uint64) *Table { return t }, Abandoned: func(uint64) {}}
	for i := range metas {
		j.Inputs = append(j.Inputs, Input{Meta: &metas[i], Path: filepath.Join(cfg.Dir, segment.FileName(metas[i].ID))})
	}
	return j
}

// TestCopiedGroups merges segments whose times overlap a little or not at all, and in which some
// rows have expired. Whether row groups are copied or not, the output must contain all live rows in
// order.
func TestCopiedGroups(t *testing.T) {
	copied, decoded := int64(0), int64(0)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		id := uint64(0)
		cfg := segment.Config{FS: vfs.OS, Dir: t.TempDir(), RowGroupRows: 64, NextID: func() uint64 { id++; return id }}
		table := *logs
		table.Columns = slices.Clone(logs.Columns)
		inputs := 1 + r.IntN(6)
		if inputs == 1 && r.IntN(2) == 0 {
			table.Columns[1].Semantic, table.Columns[1].Index = schema.Tag, nil
		}
		table.Index()
		var metas []segment.Meta
		at := int64(1000)
		for range inputs {
			var times []int64
			for range 1 + r.IntN(600) {
				times = append(times, at)
				at += r.Int64N(3)
			}
			metas = append(metas, writeLogs(t, cfg, &table, r, times))
			at += []int64{-200, -5, 0, 0, 10}[r.IntN(5)]
		}
		tab := &Table{Def: &table, Merge: query.Append}
		if r.IntN(2) == 0 {
			tab.Order, tab.Before = 1+r.Uint64N(8), 1000+r.Int64N(at-900)
		}
		var want []string
		for i := range metas {
			times, rows := readLogs(t, cfg.Dir, &metas[i])
			for k, row := range rows {
				if times[k] >= tab.Before || metas[i].Order >= tab.Order {
					want = append(want, row)
				}
			}
		}
		j := job(cfg, tab, metas)
		if inputs == 1 {
			j.PieceRows = []int64{0, 1, 64, 100}[r.IntN(4)]
		}
		res, err := Run(context.Background(), j)
		if err != nil {
			t.Fatal(err)
		}
		if n := int64(len(res.Segments)); j.PieceRows == 0 && n > 1 || j.PieceRows > 0 && n > res.RowsOut/j.PieceRows+1 {
			t.Errorf("seed %d: %d files of %d rows, cut at %d", seed, n, res.RowsOut, j.PieceRows)
		}
		var got []string
		for i := range res.Segments {
			m := &res.Segments[i]
			if err := segment.Check(vfs.OS, cfg.Dir, m, true); err != nil {
				t.Fatal(err)
			}
			if m.Order != metas[len(metas)-1].Order {
				t.Errorf("seed %d: order %d, want %d", seed, m.Order, metas[len(metas)-1].Order)
			}
			// No file exceeds its maximum by more than the row group that fills it.
			if most := j.PieceRows + 63; j.PieceRows > 0 && m.Rows > most {
				t.Errorf("seed %d: a file of %d rows, cut at %d", seed, m.Rows, j.PieceRows)
			}
			times, rows := readLogs(t, cfg.Dir, m)
			if len(times) != int(m.Rows) || slices.Min(times) != m.MinTime || slices.Max(times) != m.MaxTime ||
				inputs > 1 && !slices.IsSorted(times) {
				t.Errorf("seed %d: %d rows from %d to %d, sorted %v, the metadata have %d from %d to %d",
					seed, len(times), slices.Min(times), slices.Max(times), slices.IsSorted(times), m.Rows, m.MinTime, m.MaxTime)
			}
			got = append(got, rows...)
		}
		slices.Sort(want)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, d)
		}
		copied, decoded = copied+res.RowsCopied, decoded+res.RowsOut-res.RowsCopied
	}
	if copied == 0 || decoded == 0 {
		t.Errorf("%d rows were copied, %d were not", copied, decoded)
	}
}

// TestFewRowsBetweenCopies merges segments that end with a small row group, as most flushes write them. The small row
// groups must not cause more than one row group of each segment to be decoded, and must not stay small.
func TestFewRowsBetweenCopies(t *testing.T) {
	const groupRows, groups, files = 64, 7, 8
	for few := range int64(groupRows) {
		id := uint64(0)
		cfg := segment.Config{
			FS: vfs.OS, Dir: t.TempDir(), RowGroupRows: groupRows, NextID: func() uint64 { id++; return id },
		}
		r := rand.New(rand.NewPCG(uint64(few), 1))
		var metas []segment.Meta
		at := int64(0)
		for range files {
			var times []int64
			for range groupRows*groups + few {
				times = append(times, at)
				at++
			}
			metas = append(metas, writeLogs(t, cfg, logs, r, times))
		}
		res, err := Run(context.Background(), job(cfg, &Table{Def: logs}, metas))
		if err != nil {
			t.Fatal(err)
		}
		if least := int64(files * (groups - 1) * groupRows); res.RowsOut != at || res.RowsCopied < least {
			t.Errorf("%d rows after each segment's full row groups: %d of %d rows were copied, want at least %d",
				few, res.RowsCopied, res.RowsOut, least)
		}
		m := &res.Segments[0]
		in, err := segment.Open(vfs.OS, filepath.Join(cfg.Dir, segment.FileName(m.ID)), m)
		if err != nil {
			t.Fatal(err)
		}
		for rows := int64(0); ; in.SkipGroup() {
			g, ok := in.NextGroup()
			if !ok {
				break
			}
			if rows += g.Rows; g.Rows < groupRows/4 && rows < at { // the last one may be small
				t.Errorf("%d rows after each segment's full row groups: a row group of %d rows", few, g.Rows)
			}
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMergeOfDamage checks that a changed byte in an input is found wherever it is, whether row
// groups are copied or merged. The input is removed afterwards, so the damage could not be found
// later.
func TestMergeOfDamage(t *testing.T) {
	for _, overlap := range []int64{0, 100} {
		r := rand.New(rand.NewPCG(1, 1))
		disk := vfs.NewMem()
		id := uint64(0)
		cfg := segment.Config{FS: disk, Dir: "d", RowGroupRows: 64, NextID: func() uint64 { id++; return id }}
		if err := disk.MkdirAll("d"); err != nil {
			t.Fatal(err)
		}
		table := logs
		if overlap > 0 {
			table = tagged
		}
		var metas []segment.Meta
		for i := range int64(2) {
			var times []int64
			for k := range int64(200) {
				times = append(times, (200-overlap)*i+k)
			}
			metas = append(metas, writeLogs(t, cfg, table, r, times))
		}
		path := filepath.Join("d", segment.FileName(metas[1].ID))
		for at := int64(0); at < metas[1].Bytes; at += 41 {
			flip(t, disk, path, at)
			_, err := Run(context.Background(), job(cfg, &Table{Def: table}, metas))
			var damage *segment.ErrCorrupt
			if !errors.As(err, &damage) {
				t.Fatalf("overlap %d, byte %d of %d changed: %v", overlap, at, metas[1].Bytes, err)
			}
			if names, err := disk.ReadDir("d"); err != nil || len(names) != 2 {
				t.Fatalf("files after the error: %v, %v", names, err)
			}
			flip(t, disk, path, at) // restore the byte
		}
		if _, err := Run(context.Background(), job(cfg, &Table{Def: table}, metas)); err != nil {
			t.Errorf("overlap %d, intact files: %v", overlap, err)
		}
	}
}

func flip(t *testing.T, fsys vfs.FS, path string, at int64) {
	t.Helper()
	b, err := vfs.ReadFile(fsys, path)
	if err != nil {
		t.Fatal(err)
	}
	b[at] ^= 1
	f, err := fsys.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkRun merges eight consecutive segments of a busy table.
func BenchmarkRun(b *testing.B) {
	for _, overlap := range []int64{0, 5000} {
		b.Run(fmt.Sprintf("overlap=%d", overlap), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			id := uint64(0)
			cfg := segment.Config{FS: vfs.OS, Dir: b.TempDir(), NextID: func() uint64 { id++; return id }}
			var metas []segment.Meta
			rows := int64(100_000)
			for i := range int64(8) {
				var times []int64
				for k := range rows {
					times = append(times, 1_700_000_000_000+i*(rows-overlap)+k)
				}
				metas = append(metas, writeLogs(b, cfg, logs, r, times))
			}
			b.ResetTimer()
			for range b.N {
				res, err := Run(context.Background(), job(cfg, &Table{Def: logs}, metas))
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(res.BytesIn)
				b.ReportMetric(float64(res.BytesOut)/float64(res.BytesIn), "out/in")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(8*rows), "ns/row")
		})
	}
}

// TestLargeRows merges rows, most of them short and some a million times as long. The memory in use must be limited
// by bytes.
func TestLargeRows(t *testing.T) {
	cfg := segment.Config{FS: vfs.OS, Dir: t.TempDir()}
	id := uint64(0)
	cfg.NextID = func() uint64 { id++; return id }
	var inputs []Input
	want := 0
	for n := range 2 {
		var b column.Builder
		ts, msg := b.Add(tagged.Columns[0]), b.Add(tagged.Columns[1])
		for i := range 4000 {
			text := fmt.Sprintf("%08d", 2*i+n)
			if i%100 == 50 {
				text += strings.Repeat("x", 1<<20) // it takes only a few bytes in the file
			}
			ts.SetInt(i, 0)
			msg.SetString(i, text)
			want += len(text)
			b.EndRow()
		}
		batch, err := column.Decode(b.Encode(nil, column.Header{TableID: tagged.ID, SchemaVersion: 1}), nil)
		if err != nil {
			t.Fatal(err)
		}
		metas, err := segment.Write(cfg, tagged, []*column.Batch{batch})
		if err != nil || len(metas) != 1 {
			t.Fatalf("%d segments: %v", len(metas), err)
		}
		metas[0].Order = metas[0].ID
		inputs = append(inputs, Input{Meta: &metas[0], Path: filepath.Join(cfg.Dir, segment.FileName(metas[0].ID))})
	}
	job := Job{Config: cfg, Inputs: inputs, Table: func(uint64) *Table { return &Table{Def: tagged, Merge: query.Append} }}
	got := 0
	err := Rows(context.Background(), job, func(batches []*column.Batch, rows []segment.RowRef) error {
		size := 0
		for _, b := range batches {
			size += len(b.Mem)
		}
		if size > readBytes+16<<20 {
			t.Errorf("%d batches of %d bytes are in memory", len(batches), size)
		}
		for _, r := range rows {
			got += len(batches[r.Batch].Column(2).Bytes(int(r.Row)))
		}
		return nil
	})
	if err != nil || got != want {
		t.Errorf("%d bytes of text, want %d: %v", got, want, err)
	}
}

// TestEqualOrders merges two inputs of the same order, such as objects of a set. The rows of the second one are later.
func TestEqualOrders(t *testing.T) {
	id := uint64(0)
	cfg := segment.Config{FS: vfs.OS, Dir: t.TempDir(), NextID: func() uint64 { id++; return id }}
	table := *logs
	table.Columns = slices.Clone(logs.Columns)
	table.Columns[1].Index = nil
	table.Options = map[string]string{"append_mode": "false"}
	table.Index()
	r := rand.New(rand.NewPCG(1, 1))
	metas := []segment.Meta{writeLogs(t, cfg, &table, r, []int64{1, 5}), writeLogs(t, cfg, &table, r, []int64{2, 5, 7})}
	_, older := readLogs(t, cfg.Dir, &metas[0])
	_, later := readLogs(t, cfg.Dir, &metas[1])
	metas[1].Order = metas[0].Order
	res, err := Run(context.Background(), job(cfg, &Table{Def: &table, Merge: query.LastRow}, metas))
	if err != nil || len(res.Segments) != 1 {
		t.Fatalf("%d segments: %v", len(res.Segments), err)
	}
	_, got := readLogs(t, cfg.Dir, &res.Segments[0])
	if d := cmp.Diff([]string{older[0], later[0], later[1], later[2]}, got); d != "" {
		t.Error(d)
	}
}
