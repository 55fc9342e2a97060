package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/vfs"
)

// tableOf builds a table from words such as "ts:TimestampNanosecond:TIMESTAMP".
func tableOf(t testing.TB, cols ...string) *schema.Table {
	t.Helper()
	tab := &schema.Table{ID: 7, Database: "public", Name: "logs", Version: 3}
	for i, word := range cols {
		p := strings.Split(word, ":")
		c := schema.Column{ID: uint32(i + 1), Name: p[0], Semantic: schema.Field}
		for _, typ := range schema.Types() {
			if typ.String() == p[1] {
				c.Type = typ
			}
		}
		if c.Type == schema.Invalid {
			t.Fatalf("no type %q", p[1])
		}
		if len(p) > 2 {
			c.Semantic = map[string]schema.Semantic{"TAG": schema.Tag, "TIMESTAMP": schema.Timestamp}[p[2]]
		}
		tab.Columns = append(tab.Columns, c)
	}
	return tab.Index()
}

// batchOf encodes and decodes rows. A missing value is null, and a column without values is not in
// the batch.
func batchOf(t testing.TB, tab *schema.Table, rows ...map[string]any) *column.Batch {
	t.Helper()
	var b column.Builder
	cols := map[string]*column.Col{}
	for _, c := range tab.Columns {
		for _, r := range rows {
			if _, ok := r[c.Name]; ok {
				cols[c.Name] = b.Add(c)
				break
			}
		}
	}
	for i, r := range rows {
		for name, v := range r {
			switch v := v.(type) {
			case int:
				cols[name].SetInt(i, int64(v))
			case int64:
				cols[name].SetInt(i, v)
			case uint64:
				cols[name].SetInt(i, int64(v))
			case bool:
				n := int64(0)
				if v {
					n = 1
				}
				cols[name].SetInt(i, n)
			case float64:
				cols[name].SetFloat(i, v)
			case string:
				cols[name].SetString(i, v)
			case nil:
				cols[name].SetNull(i)
			default:
				t.Fatalf("value of type %T", v)
			}
		}
		b.EndRow()
	}
	batch, err := column.Decode(b.Encode(nil, column.Header{TableID: tab.ID, SchemaVersion: tab.Version}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

type row = map[string]any

func write(t testing.TB, dir string, tab *schema.Table, batches ...*column.Batch) []Meta {
	t.Helper()
	id := uint64(0)
	metas, err := Write(Config{FS: vfs.OS, Dir: dir, NextID: func() uint64 { id++; return id }}, tab, batches)
	if err != nil {
		t.Fatal(err)
	}
	for i := range metas {
		if err := Check(vfs.OS, dir, &metas[i], true); err != nil {
			t.Error(err)
		}
	}
	return metas
}

// dump reads a file and returns its rows as lines.
func dump(t testing.TB, dir string, m Meta) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, FileName(m.ID)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pf, err := parquet.OpenFile(f, m.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, g := range pf.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, 100)
		for {
			n, err := rows.ReadRows(buf)
			for _, r := range buf[:n] {
				var s []string
				for i, v := range r {
					if !v.IsNull() {
						s = append(s, fmt.Sprintf("%s=%s", pf.Schema().Columns()[i][0], v))
					}
				}
				lines = append(lines, strings.Join(s, " "))
			}
			if err != nil {
				break
			}
		}
		rows.Close()
	}
	return lines
}

func TestWriteSortsByTagsAndTime(t *testing.T) {
	tests := []struct {
		name    string
		cols    []string
		batches [][]row
		want    []string
	}{
		{
			"no tags",
			[]string{"ts:TimestampMillisecond:TIMESTAMP", "m:String"},
			[][]row{{{"ts": 5, "m": "e"}, {"ts": 1, "m": "a"}}, {{"ts": 3, "m": "c"}, {"ts": 1, "m": "b"}}},
			[]string{"ts=1 m=a", "ts=1 m=b", "ts=3 m=c", "ts=5 m=e"},
		},
		{
			"tags, nulls first, a batch without the tag",
			[]string{"host:String:TAG", "n:Int32:TAG", "ts:TimestampMillisecond:TIMESTAMP"},
			[][]row{
				{{"ts": 9, "host": "b", "n": 2}, {"ts": 1, "host": "b", "n": -2}, {"ts": 2, "host": "a", "n": 7}},
				{{"ts": 4}, {"ts": 3}},
				{{"ts": 8, "host": "", "n": 1}, {"ts": 7, "host": "b"}},
			},
			[]string{"ts=3", "ts=4", "host= n=1 ts=8", "host=a n=7 ts=2", "host=b ts=7", "host=b n=-2 ts=1", "host=b n=2 ts=9"},
		},
		{
			"floats and unsigned numbers as tags",
			[]string{"f:Float64:TAG", "u:UInt64:TAG", "ts:TimestampMillisecond:TIMESTAMP"},
			[][]row{
				{
					{"ts": 1, "f": 2.5, "u": uint64(math.MaxUint64)},
					{"ts": 2, "f": 2.5, "u": 1},
					{"ts": 3, "f": -1.5, "u": 9},
					{"ts": 4, "f": math.Inf(-1), "u": 9},
				},
			},
			[]string{
				"f=-Inf u=9 ts=4", "f=-1.5 u=9 ts=3", "f=2.5 u=1 ts=2", "f=2.5 u=-1 ts=1",
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tab := tableOf(t, test.cols...)
			var batches []*column.Batch
			for _, rows := range test.batches {
				batches = append(batches, batchOf(t, tab, rows...))
			}
			dir := t.TempDir()
			metas := write(t, dir, tab, batches...)
			if len(metas) != 1 {
				t.Fatalf("%d files", len(metas))
			}
			if diff := cmp.Diff(test.want, dump(t, dir, metas[0])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPartitions(t *testing.T) {
	const day = 86400
	at := func(days ...int) []row {
		var rows []row
		for _, d := range days {
			rows = append(rows, row{"ts": int64(d) * day})
		}
		return rows
	}
	many := make([]int, 40)
	for i := range many {
		many[i] = i
	}
	tests := []struct {
		name string
		days []int
		want string // rows of each file
	}{
		{"one day", []int{3, 3, 3}, "[3]"},
		{"before 1970", []int{-1, 0, -1}, "[2 1]"},
		{"three days", []int{1, 2, 3, 1}, "[2 1 1]"},
		{"sixteen days", many[:16], "[1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1]"},
		{"forty days: spans of four", many, "[4 4 4 4 4 4 4 4 4 4]"},
		{
			"all of time",
			[]int{-100_000_000, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 100_000_000},
			"[1 1 2 2 2 2 2 2 2 2 1]",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tab := tableOf(t, "ts:TimestampSecond:TIMESTAMP")
			metas := write(t, t.TempDir(), tab, batchOf(t, tab, at(test.days...)...))
			var rows []int64
			last := int64(math.MinInt64)
			for _, m := range metas {
				rows = append(rows, m.Rows)
				if m.MinTime <= last || m.MaxTime < m.MinTime {
					t.Errorf("times %d to %d after %d", m.MinTime, m.MaxTime, last)
				}
				last = m.MaxTime
			}
			if got := fmt.Sprint(rows); got != test.want {
				t.Errorf("rows of files %s, want %s", got, test.want)
			}
		})
	}
}

func TestRowGroupsAndLongValues(t *testing.T) {
	tab := tableOf(t, "ts:TimestampMicrosecond:TIMESTAMP", "short:String", "long:String")
	var rows []row
	for i := range 3000 {
		rows = append(rows, row{"ts": i, "short": fmt.Sprint("s", i%3), "long": strings.Repeat("x", i)})
	}
	dir := t.TempDir()
	id := uint64(0)
	metas, err := Write(Config{FS: vfs.OS, Dir: dir, RowGroupRows: 1000, NextID: func() uint64 { id++; return id }}, tab,
		[]*column.Batch{batchOf(t, tab, rows...)})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, FileName(1)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pf, err := parquet.OpenFile(f, metas[0].Bytes)
	if err != nil {
		t.Fatal(err)
	}
	groups := pf.Metadata().RowGroups
	if len(groups) != 3 || groups[1].NumRows != 1000 {
		t.Fatalf("%d row groups", len(groups))
	}
	if s := groups[1].Columns[1].MetaData.Statistics; string(s.MinValue) != "s0" || string(s.MaxValue) != "s2" {
		t.Errorf("bounds of short: %q to %q", s.MinValue, s.MaxValue)
	}
	if s := groups[1].Columns[2].MetaData.Statistics; s.MinValue != nil || s.MaxValue != nil {
		t.Error("long has bounds in the footer")
	}
	lines := dump(t, dir, metas[0])
	if want := "ts=2999 short=s2 long=" + strings.Repeat("x", 2999); lines[2999] != want {
		t.Errorf("last row: %.60s", lines[2999])
	}
}

func TestPhysicalNames(t *testing.T) {
	tests := []struct{ in, want []string }{
		{[]string{"a", "b"}, []string{"a", "b"}},
		{[]string{"Level", "level", "LEVEL"}, []string{"Level", "level#2", "LEVEL#3"}},
		{[]string{"x", "X#3", "X"}, []string{"x", "X#3", "X#3#3"}},
		{[]string{"É", "é", "a.b", `q"`}, []string{"É", "é#2", "a.b", `q"`}},
	}
	for _, test := range tests {
		cols := make([]Column, len(test.in))
		for i, n := range test.in {
			cols[i] = Column{FieldID: uint32(i + 1), Logical: n}
		}
		physicalNames(cols, false)
		var got []string
		for i := range cols {
			got = append(got, cols[i].Name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%q: %s", test.in, diff)
		}
	}
}

func TestOrderOfOperations(t *testing.T) {
	tab := tableOf(t, "ts:TimestampSecond:TIMESTAMP")
	m := vfs.NewMem()
	if err := m.MkdirAll("/s"); err != nil {
		t.Fatal(err)
	}
	var rec vfs.Recorder
	id := uint64(40)
	_, err := Write(Config{FS: vfs.Hook(m, rec.Record), Dir: "/s", NextID: func() uint64 { id++; return id }}, tab,
		[]*column.Batch{batchOf(t, tab, row{"ts": 0}, row{"ts": 86400})})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, n := range []string{"0000000000000041", "0000000000000042"} {
		want = append(want, "create "+n+".parquet.tmp", "write "+n+".parquet.tmp", "sync "+n+".parquet.tmp", "rename "+n+
			".parquet.tmp -> "+n+".parquet")
	}
	if diff := cmp.Diff(want, rec.Transcript()); diff != "" {
		t.Error(diff)
	}
}

// TestFaults makes every operation fail once. All written files must then be removed.
func TestFaults(t *testing.T) {
	tab := tableOf(t, "ts:TimestampSecond:TIMESTAMP", "m:String")
	boom := errors.New("boom")
	for n := 1; ; n++ {
		m := vfs.NewMem()
		if err := m.MkdirAll("/s"); err != nil {
			t.Fatal(err)
		}
		fail := vfs.FailNth{N: n, Err: boom}
		id := uint64(0)
		metas, err := Write(Config{FS: vfs.Hook(m, fail.Fail), Dir: "/s", NextID: func() uint64 { id++; return id }}, tab,
			[]*column.Batch{batchOf(t, tab, row{"ts": 0, "m": "a"}, row{"ts": 86400, "m": "b"})})
		if !fail.Hit() {
			if err != nil || len(metas) != 2 {
				t.Fatalf("%d segments, %v", len(metas), err)
			}
			break
		}
		if !errors.Is(err, boom) || metas != nil {
			t.Errorf("operation %d: %d segments, %v", n, len(metas), err)
		}
		if names, _ := m.ReadDir("/s"); len(names) > 0 {
			t.Errorf("operation %d left %v", n, names)
		}
	}
}

func TestCheck(t *testing.T) {
	tab := tableOf(t, "ts:TimestampSecond:TIMESTAMP", "m:String")
	damage := func(change func(b []byte) []byte) func(string) error {
		return func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, change(b), 0o644)
		}
	}
	tests := []struct {
		name   string
		damage func(path string) error
		part   string // part in the error; "" if only the check of the whole file finds it
	}{
		{"missing", os.Remove, "missing"},
		{"shorter", damage(func(b []byte) []byte { return b[:len(b)-1] }), "size"},
		{"empty", damage(func(b []byte) []byte { return nil }), "size"},
		{"footer damaged", damage(func(b []byte) []byte { b[len(b)-40] ^= 4; return b }), "footer checksum"},
		{"footer length damaged", damage(func(b []byte) []byte { b[len(b)-5] ^= 4; return b }), "footer checksum"},
		{"magic damaged", damage(func(b []byte) []byte { b[len(b)-1] ^= 4; return b }), "footer checksum"},
		{"data damaged", damage(func(b []byte) []byte { b[20] ^= 4; return b }), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			m := write(t, dir, tab, batchOf(t, tab, row{"ts": 1, "m": "hello"}))[0]
			path := filepath.Join(dir, FileName(m.ID))
			if err := test.damage(path); err != nil {
				t.Fatal(err)
			}
			for _, whole := range []bool{false, true} {
				err := Check(vfs.OS, dir, &m, whole)
				corrupt := (*ErrCorrupt)(nil)
				switch {
				case test.part == "missing":
					if !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("got %v", err)
					}
				case test.part == "" && !whole:
					if err != nil {
						t.Errorf("got %v", err)
					}
				default:
					if !errors.As(err, &corrupt) || corrupt.File != path || test.part != "" && corrupt.Part != test.part {
						t.Errorf("got %v", err)
					}
				}
			}
		})
	}
}

func TestInspect(t *testing.T) {
	tab := tableOf(t, "host:String:TAG", "ts:TimestampMillisecond:TIMESTAMP", "Host:Int16")
	dir := t.TempDir()
	m := write(t, dir, tab, batchOf(t, tab, row{"ts": 1, "host": "h", "Host": 5}, row{"ts": 2}))[0]
	var out strings.Builder
	if err := Inspect(&out, vfs.OS, filepath.Join(dir, FileName(m.ID))); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"2 rows, 3 columns, 1 row groups",
		`cordwood.columns: [{"id":1,"name":"host","type":"String","semantic":"TAG"},`,
		`"name":"Host","type":"Int16","semantic":"FIELD","physical":"Host#3"}]`,
		`cordwood.table: {"database":"public","id":7,"name":"logs","segment":1,"version":3}`,
		`column 1 "host": optional STRING`, `column 2 "ts": required TIMESTAMP(isAdjustedToUTC=false,unit=MILLIS)`,
		"ZSTD", "1 nulls", `min 1, max 2`, `min "h", max "h"`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
