package segment

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"cordwood/proto/schema"
	"cordwood/shard/segment/parquet"
	"cordwood/shard/vfs"
)

// layoutSeeds are metadata of shared files for the seed corpus: as this version writes them, as
// older versions wrote them, and malformed ones.
var layoutSeeds = []string{
	`[{"columns":[1,2,7],"database":"public","id":1,"name":"t","segment":3,"version":2},{"columns":[1,2,4],"id":2}]`,
	`[{"id":1,"name":"of an older version"}]`,
	`[{"id":1,"columns":[]},{"id":1,"columns":[4]},{"ID":1,"Columns":[7]}]`,
	`[{"id":1,"columns":null},null]`, `null`, `[]`, `{}`, `""`, ``, `[`, `[{"id":1,"columns":[1,2`,
	`[{"id":-1}]`, `[{"id":1.5}]`, `[{"id":"1"}]`, `[{"id":18446744073709551616}]`,
	`[{"id":18446744073709551615,"columns":[4294967295]}]`,
	`[{"id":1,"columns":[4294967296]}]`, `[{"id":1,"columns":[-1]}]`, `[{"id":1,"columns":["1"]}]`,
	`[{"id":1,"columns":{"1":2}}]`, `[{"id":1,"columns":[[1]]}]`,
	strings.Repeat("[", 20_000), `[{"id":1,"columns":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}]`,
	`[{"x":` + strings.Repeat(`{"x":`, 5000) + `1` + strings.Repeat("}", 5000) + `}]`,
	`[` + strings.Repeat(`{},`, 20_000) + `{}]`, `[` + strings.Repeat(`{"columns":[]},`, 20_000) + `{}]`,
	`[{"id":1,"columns":[` + strings.Repeat("7,", 50_000) + `7]}]`, `[{"id":1,"columns":[1]}] [`, "\xff\xfe",
	`[{"id":1,"columns":[1],"name":"` + "\xff" + `"}]`,
}

// FuzzLayouts reads layouts from footers with arbitrary metadata of tables, once or twice, and
// finds the columns of a table with them. For malformed metadata the error must contain the file's
// name. Memory must be allocated only for existing data.
func FuzzLayouts(f *testing.F) {
	for _, s := range layoutSeeds {
		f.Add(s, "")
	}
	f.Add(layoutSeeds[0], layoutSeeds[2])
	f.Add(layoutSeeds[0], "{")
	table := tableOf(f, "ts:TimestampNanosecond:TIMESTAMP", "n:Float64", "m:Int32")
	table.ID = 1
	columns := []Column{{ID: 1, FieldID: 1, Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp}}
	for _, c := range []Column{
		{ID: 2, FieldID: 2, Name: "n", Type: schema.Int64},
		{ID: 2, FieldID: 7, Name: "n", Type: schema.Float64},
		{ID: 2, FieldID: 4294967295, Name: "x", Type: schema.Int8},
		{ID: 3, FieldID: 4, Name: "m", Type: schema.Float64},
		{ID: 3, FieldID: 3, Name: "m", Type: schema.Int16},
	} {
		c.Semantic = schema.Field
		columns = append(columns, c)
	}
	meta := &Meta{Tables: []TableSpan{{TableID: 1, Rows: 1}, {TableID: 2, Rows: 1}}, Columns: columns}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text, more string) {
		var file bytes.Buffer
		w := parquet.NewWriter(&file, nil, nil, 1)
		kv := []format.KeyValue{{Key: KeyColumns, Value: more}, {Key: KeyTables, Value: text}}
		if more != "" {
			kv = append(kv, format.KeyValue{Key: KeyTables, Value: more})
		}
		if err := w.Close("a test", kv); err != nil {
			t.Skip(err)
		}
		w.Release()
		path := filepath.Join(dir, fmt.Sprint("file", os.Getpid()))
		if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		var layouts Layouts
		var err error
		if took := allocated(func() { layouts, err = ReadLayouts(vfs.OS, path) }); took > 1<<20+uint64(200*file.Len()) {
			t.Fatalf("reading a file of %d bytes took %d", file.Len(), took)
		}
		if err != nil && (layouts != nil || !strings.Contains(err.Error(), path)) {
			t.Errorf("%d layouts with the error %v", len(layouts), err)
		}
		found := meta.ColumnsOf(table, func() Layouts { return layouts })
		var ids []uint32
		for _, c := range found {
			at := slices.IndexFunc(table.Columns, func(def schema.Column) bool { return def.ID == c.ID })
			if at < 0 || c.Type.Widens(table.Columns[at].Type) == schema.WidensNever {
				t.Errorf("column %d of the table is read from %+v", c.ID, c)
			}
			ids = append(ids, c.ID)
			if fields := layouts[1]; c.ID == 2 && slices.Contains(fields, 2) != slices.Contains(fields, 7) &&
				!slices.Contains(fields, 4294967295) && !slices.Contains(fields, c.FieldID) {
				t.Errorf("column 2 is read from field %d, the table has %d", c.FieldID, fields)
			}
		}
		if slices.Sort(ids); !slices.Equal(ids, []uint32{1, 2, 3}) {
			t.Errorf("the table has the columns %d", ids)
		}
	})
}
