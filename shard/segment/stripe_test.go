package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pqt "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/segment/parquet"
	"cordwood/shard/vfs"
)

func mustStripe(t testing.TB, dir string, m *Meta, id uint64) Meta {
	t.Helper()
	out, err := Stripe(vfs.OS, filepath.Join(dir, FileName(m.ID)), m, filepath.Join(dir, FileName(id)))
	if err != nil {
		t.Fatal(err)
	}
	out.ID = id
	if err := Check(vfs.OS, dir, &out, true); err != nil {
		t.Fatal(err)
	}
	return out
}

func mustUnits(t testing.TB, dir string, m *Meta) *Units {
	t.Helper()
	u, err := ReadUnits(vfs.OS, filepath.Join(dir, FileName(m.ID)))
	if err != nil || u == nil {
		t.Fatalf("%v, %v", u, err)
	}
	return u
}

// striped writes random rows of all types in small row groups, and the same rows striped.
func striped(t *testing.T, seed uint64) (s sample, m Meta) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	s = sample{table: wide(t)}
	for i := range s.table.Columns { // one with token filters
		if c := &s.table.Columns[i]; c.Type == schema.String && c.Index == nil {
			c.Index = &schema.Index{Kind: schema.FulltextIndex, Options: schema.DefaultIndexOptions(schema.FulltextIndex)}
			break
		}
	}
	s.batches = fill(t, r, s.table, 1000, 1, 64, 935)
	id := uint64(0)
	s.cfg = Config{
		FS: vfs.OS, Dir: t.TempDir(), RowGroupRows: []int{5000, 1500, 100, 37}[seed%4],
		NextID: func() uint64 { id++; return id },
	}
	metas, err := Write(s.cfg, s.table, s.batches)
	if err != nil || len(metas) != 1 {
		t.Fatalf("%d files, %v", len(metas), err)
	}
	s.meta, s.rows = metas[0], allRows(s.table, s.batches...)
	Sort(s.table, s.batches, s.rows)
	return s, mustStripe(t, s.cfg.Dir, &s.meta, 77)
}

// TestStripedIsReadAlike compares what five readers read from a file and from the same file striped.
func TestStripedIsReadAlike(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s, m := striped(t, seed)
			dir := s.cfg.Dir
			mustRead(t, dir, &m, s.batches, s.rows, 333)
			if d := cmp.Diff(dump(t, dir, s.meta), dump(t, dir, m)); d != "" { // read by DuckDB
				t.Fatalf("-want +got:\n%s", d)
			}
			b, err := os.ReadFile(filepath.Join(dir, FileName(77)))
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range m.Columns {
				want := expected(c.ID, s.batches, s.rows)
				mustEqual(t, "parquet-go", c, want, readParquetGo(t, b, i))
				mustEqual(t, "arrow-go", c, want, readArrow(t, b, i))
			}
			mustFind(t, rand.New(rand.NewPCG(seed, 2)), dir, &m) // by pages
			for _, id := range []uint64{s.meta.ID, 77} {
				f, err := readFulltext(vfs.OS, filepath.Join(dir, FileName(id)))
				if err != nil || len(f.columns) == 0 {
					t.Errorf("file %d has no token filters: %v", id, err)
				}
			}
			// Striping a striped file changes nothing.
			again := mustStripe(t, dir, &m, 78)
			if again.FileCRC != m.FileCRC || again.Bytes != m.Bytes {
				t.Errorf("striped again: %+v, want %+v", again, m)
			}
		})
	}
}

// TestStripedCanBeCopied copies the row groups of a striped file to an ordinary one, as compaction does.
func TestStripedCanBeCopied(t *testing.T) {
	s, m := striped(t, 2)
	in, err := Open(vfs.OS, filepath.Join(s.cfg.Dir, FileName(77)), &m)
	if err != nil {
		t.Fatal(err)
	}
	w := mustWriter(t, s.cfg, Spec{Tables: []TableColumns{{Table: s.table}}})
	for n := 0; ; n++ {
		if _, ok := in.NextGroup(); !ok {
			break
		}
		if !w.CanCopy(in) {
			t.Fatalf("row group %d cannot be copied", n)
		}
		if err := w.CopyGroup(in); err != nil {
			t.Fatal(err)
		}
	}
	got, err := w.Finish()
	if err := errors.Join(err, in.Close(), Check(vfs.OS, s.cfg.Dir, &got, true)); err != nil {
		t.Fatal(err)
	}
	mustRead(t, s.cfg.Dir, &got, s.batches, s.rows, 500)
}

// TestStripedLayout checks where the parts of a striped file lie.
func TestStripedLayout(t *testing.T) {
	s, m := striped(t, 3) // 2,000 rows in row groups of 37
	u := mustUnits(t, s.cfg.Dir, &m)
	groups := (2000 + 36) / 37
	if want := []int{0, 24, 48, groups - 2, groups - 1}; !slices.Equal(u.Stripes, want) {
		t.Errorf("stripes begin with %v, want %v", u.Stripes, want)
	}
	// The chunks: by stripe, then by column, then by row group. The filters: by column, then by row group.
	stripe := func(group int) int {
		n := 0
		for n+1 < len(u.Stripes) && u.Stripes[n+1] <= group {
			n++
		}
		return n
	}
	place := func(x *Unit) []int {
		column := slices.IndexFunc(m.Columns, func(c Column) bool { return c.FieldID == x.Field })
		switch x.Kind {
		case ChunkUnit:
			return []int{0, stripe(x.Group), column, x.Group}
		case FilterUnit:
			return []int{1, column, x.Group, 0}
		}
		return []int{2, 0, 0, 0}
	}
	filters := 0
	for i := 1; i < len(u.List); i++ {
		if slices.Compare(place(&u.List[i-1]), place(&u.List[i])) >= 0 {
			t.Fatalf("%v lies before %v", u.List[i-1], u.List[i])
		}
		if u.List[i].Kind == FilterUnit {
			filters++
		}
	}
	if filters == 0 || len(u.List) != groups*len(m.Columns)+filters+1 {
		t.Errorf("%d units, of them %d filters", len(u.List), filters)
	}
	if last := u.List[len(u.List)-1]; last.Kind != IndexUnit || last.Offset != u.TailOffset {
		t.Errorf("the last unit is %v; the tail begins at %d", last, u.TailOffset)
	}
	for n, want := range map[int][]int{
		0: nil, 1: {0}, 2: {0, 1}, 3: {0, 1, 2}, 26: {0, 24, 25}, 27: {0, 24, 25, 26}, 50: {0, 24, 48, 49},
	} {
		if got := parquet.Stripes(n); !slices.Equal(got, want) {
			t.Errorf("stripes of %d row groups: %v, want %v", n, got, want)
		}
	}
}

// TestStripedFlippedBytes damages every byte of a small striped file, one at a time.
func TestStripedFlippedBytes(t *testing.T) {
	tab := tableOf(t, "ts:TimestampMillisecond:TIMESTAMP", "n:Int64", "d:String")
	tab.Columns[1].Index = index(schema.SkippingIndex)
	var rows []row
	for i := range 40 {
		rows = append(rows, row{"ts": i, "n": i * 7919, "d": fmt.Sprint("d", i%3)})
	}
	dir, id := t.TempDir(), uint64(0)
	metas, err := Write(Config{FS: vfs.OS, Dir: dir, RowGroupRows: 10, NextID: func() uint64 { id++; return id }}, tab,
		[]*column.Batch{batchOf(t, tab, rows...)})
	if err != nil {
		t.Fatal(err)
	}
	m := mustStripe(t, dir, &metas[0], 9)
	path := filepath.Join(dir, FileName(9))
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	footerAt := len(sound) - 8 - int(binary.LittleEndian.Uint32(sound[len(sound)-8:]))
	u := mustUnits(t, dir, &m)
	if err := u.Verify(bytes.NewReader(sound)); err != nil {
		t.Fatal(err)
	}
	for i := range sound {
		data := bytes.Clone(sound)
		data[i] ^= 1 << (i % 8)
		err := u.Verify(bytes.NewReader(data))
		if i >= footerAt {
			if crc, footerErr := footerCRC(bytes.NewReader(data), m.Bytes); footerErr == nil && crc == m.FooterCRC {
				t.Errorf("byte %d of the footer: not noticed", i-footerAt)
			}
			continue
		}
		if corrupt := (*parquet.ErrCorrupt)(nil); !errors.As(err, &corrupt) || corrupt.Want == "" || corrupt.Got == "" ||
			int(corrupt.Offset) > i {
			t.Errorf("byte %d of %d: %v", i, len(sound), err)
		}
	}
	for n := range len(sound) {
		if err := u.Verify(bytes.NewReader(sound[:n])); err == nil && n < footerAt {
			t.Errorf("a file cut at byte %d: not noticed", n)
		}
	}
}

// TestUnitVerify checks units that are read one by one, as from object storage.
func TestUnitVerify(t *testing.T) {
	s, m := striped(t, 1)
	data, err := os.ReadFile(filepath.Join(s.cfg.Dir, FileName(77)))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range mustUnits(t, s.cfg.Dir, &m).List {
		b := bytes.Clone(data[x.Offset : x.Offset+x.Length])
		if err := x.Verify(b); err != nil {
			t.Error(err)
		}
		b[len(b)/2]++
		if x.Verify(b) == nil || x.Verify(b[1:]) == nil {
			t.Errorf("%s: damage is not noticed", x.name())
		}
	}
}

// TestStripeRefuses checks that a damaged file is not striped, and that nothing is left of an attempt.
func TestStripeRefuses(t *testing.T) {
	s, _ := striped(t, 0)
	dir, from := s.cfg.Dir, filepath.Join(s.cfg.Dir, FileName(s.meta.ID))
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/3]++
	if err := os.WriteFile(from, data, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = Stripe(vfs.OS, from, &s.meta, filepath.Join(dir, "new.parquet"))
	if corrupt := (*ErrCorrupt)(nil); !errors.As(err, &corrupt) {
		t.Errorf("a damaged file: %v", err)
	}
	if _, err := Stripe(vfs.OS, from, &Meta{Raw: true}, filepath.Join(dir, "new.parquet")); err == nil {
		t.Error("a raw segment was striped")
	}
	left, err := filepath.Glob(filepath.Join(dir, "new*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestStripeDiskFails makes every operation of the disk fail in turn.
func TestStripeDiskFails(t *testing.T) {
	tab := tableOf(t, "ts:TimestampSecond:TIMESTAMP", "m:String")
	boom := errors.New("boom")
	for n := 1; ; n++ {
		mem := vfs.NewMem()
		if err := mem.MkdirAll("/s"); err != nil {
			t.Fatal(err)
		}
		metas, err := Write(Config{FS: mem, Dir: "/s", NextID: func() uint64 { return 1 }}, tab,
			[]*column.Batch{batchOf(t, tab, row{"ts": 0, "m": "a"}, row{"ts": 1, "m": "b"})})
		if err != nil {
			t.Fatal(err)
		}
		fail := vfs.FailNth{N: n, Err: boom}
		_, err = Stripe(vfs.Hook(mem, fail.Fail), "/s/"+FileName(1), &metas[0], "/s/new.parquet")
		if !fail.Hit() {
			if err != nil || n < 5 { // create, write, sync, rename
				t.Fatalf("after %d operations: %v", n-1, err)
			}
			break
		}
		if !errors.Is(err, boom) {
			t.Errorf("operation %d: %v", n, err)
		}
		if names, _ := mem.ReadDir("/s"); len(names) != 1 {
			t.Errorf("operation %d left %v", n, names)
		}
	}
}

// stripedGolden writes the rows of the golden file, striped, as segment 2.
func stripedGolden(t *testing.T, dir string) (Meta, []*column.Batch) {
	t.Helper()
	tab := goldenTable(t)
	tab.Columns[13].Index = index(schema.SkippingIndex)
	batches := []*column.Batch{batchOf(t, tab, goldenRows()...)}
	metas, err := Write(Config{FS: vfs.OS, Dir: dir, RowGroupRows: 25, NextID: func() uint64 { return 1 }}, tab, batches)
	if err != nil || len(metas) != 1 {
		t.Fatalf("%d files, %v", len(metas), err)
	}
	return mustStripe(t, dir, &metas[0], 2), batches
}

// TestStripedGolden reads striped files of earlier versions, and checks that the bytes of the newest one are written
// today. Stripes had up to 16 row groups at first.
func TestStripedGolden(t *testing.T) {
	for _, golden := range []struct {
		name    string
		stripes []int
		today   bool
	}{
		{"striped-v1.parquet", []int{0, 16, 18, 19}, false}, // 2026-11-29
		{"striped-v1-24.parquet", []int{0, 18, 19}, true},   // 2026-11-30
	} {
		want, err := os.ReadFile(filepath.Join("testdata", golden.name))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		_, batches := stripedGolden(t, dir)
		path := filepath.Join(dir, FileName(2))
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if golden.today && !bytes.Equal(got, want) && runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
			name := filepath.Join(os.TempDir(), golden.name)
			t.Errorf("other bytes than in testdata, from %d on; they are in %s: %v", firstDifference(got, want), name,
				os.WriteFile(name, got, 0o644))
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		m := goldenMeta(t, want)
		m.ID = 2
		rows := allRows(goldenTable(t), batches...)
		Sort(goldenTable(t), batches, rows)
		mustRead(t, dir, m, batches, rows, 77)
		u := mustUnits(t, dir, m)
		if err := u.Verify(bytes.NewReader(want)); err != nil || !slices.Equal(u.Stripes, golden.stripes) {
			t.Errorf("%s: stripes %v, %v", golden.name, u.Stripes, err)
		}
	}
}

// TestUnitsRefuse reads checksums that do not fit the file.
func TestUnitsRefuse(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "striped-v1.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	md, err := parquet.ReadFooter(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	value := ""
	for _, kv := range md.KeyValueMetadata {
		if kv.Key == KeyChecksums {
			value = kv.Value
		}
	}
	footerAt := int64(len(data)) - 8 - int64(binary.LittleEndian.Uint32(data[len(data)-8:]))
	if _, err := parseUnits(md, value, footerAt); err != nil {
		t.Fatal(err)
	}
	for old, new := range map[string]string{
		`{`:               `[`,
		`"version":1`:     `"version":2`,
		`"stripes":[0`:    `"stripes":[1`,
		`"stripes":[0,16`: `"stripes":[0,0`,
		`"chunks":"`:      `"chunks":"AAAA`,
		`"filters":"`:     `"filters":"AAAA`,
		`"offset":`:       `"offset":1`,
		`18,19]`:          `18,20]`,
	} {
		changed := strings.Replace(value, old, new, 1)
		if changed == value {
			t.Fatalf("%s is not in %s", old, value)
		}
		if _, err := parseUnits(md, changed, footerAt); err == nil {
			t.Errorf("%s instead of %s is accepted", new, old)
		}
	}
	if _, err := parseUnits(md, value, 100); err == nil {
		t.Error("a footer in the middle of the chunks is accepted")
	}
	moved := *md
	moved.RowGroups = slices.Clone(md.RowGroups)
	moved.RowGroups[0].Columns = slices.Clone(md.RowGroups[0].Columns)
	moved.RowGroups[0].Columns[0].MetaData.TotalCompressedSize++
	if _, err := parseUnits(&moved, value, footerAt); err == nil {
		t.Error("a chunk that overlaps another one is accepted")
	}
	if u, err := ReadUnits(vfs.OS, filepath.Join("testdata", "v2.parquet")); u != nil || err != nil {
		t.Errorf("a file that is not striped: %v, %v", u, err)
	}
}

// TestStripedOfOtherWriter checks that a file without the offsets of its parts is refused in words.
func TestStripedOfOtherWriter(t *testing.T) {
	type one struct {
		N int64 `parquet:"n"`
	}
	var b bytes.Buffer
	w := pqt.NewGenericWriter[one](&b)
	if _, err := w.Write([]one{{1}, {2}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out := &bytes.Buffer{}
	from := parquet.File{R: bytes.NewReader(b.Bytes()), Size: int64(b.Len())}
	err := parquet.Stripe(out, from, nil, func([]format.SchemaElement, parquet.Sums) ([]format.KeyValue, error) {
		return []format.KeyValue{{Key: KeyChecksums}}, nil
	})
	if err != nil && !strings.Contains(err.Error(), "did not record the offsets") {
		t.Errorf("the error is %v", err)
	}
}

// TestInspectStriped prints a striped file, and a damaged one.
func TestInspectStriped(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "striped-v1.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), FileName(1))
	for _, want := range []string{"; all match", "; DAMAGED: checksum of field 2 in row group 0 at offset "} {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := Inspect(&out, vfs.OS, path); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{want, "striped: stripes begin with the row groups [0 16 18 19]; ", "column chunks"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in:\n%s", want, out.String())
			}
		}
		u, err := ReadUnits(vfs.OS, path)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(u.List, func(x Unit) bool { return x.Field == 2 })
		data[u.List[at].Offset+3]++
	}
}
