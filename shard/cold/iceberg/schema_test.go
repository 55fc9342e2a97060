package iceberg

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cordwood/proto/schema"
	"cordwood/shard/segment"
)

// TestTypes checks that each column type has a type in both versions, and ids of hidden forms.
func TestTypes(t *testing.T) {
	want := map[schema.Type][2]string{
		schema.Boolean: {"boolean", "boolean"}, schema.Int8: {"int", "int"}, schema.Int16: {"int", "int"},
		schema.Int32: {"int", "int"}, schema.Int64: {"long", "long"}, schema.Uint8: {"int", "int"},
		schema.Uint16: {"int", "int"}, schema.Uint32: {"long@", "long@"},
		schema.Uint64: {"decimal(20, 0)@", "decimal(20, 0)@"}, schema.Float32: {"float", "float"},
		schema.Float64: {"double", "double"}, schema.String: {"string", "string"}, schema.JSON: {"string", "string"},
		schema.Binary: {"binary", "binary"}, schema.TimestampSecond: {"timestamp@", "timestamp@"},
		schema.TimestampMillisecond: {"timestamp@", "timestamp@"}, schema.TimestampMicrosecond: {"timestamp", "timestamp"},
		schema.TimestampNanosecond: {"timestamp@", "timestamp_ns"},
	}
	for _, typ := range schema.Types() {
		for i, f := range []Format{2, 3} {
			got, hidden := f.typeOf(typ)
			c := schema.Column{ID: 5, Type: typ}
			if hidden {
				got += "@"
			}
			if got != want[typ][i] || hidden != (f.fieldID(&c) == 5+segment.HiddenID) {
				t.Errorf("%s in version %d: %s, want %q", typ, f, got, want[typ][i])
			}
			if _, ok := segment.HiddenColumn(&segment.Column{ID: 5, Name: "c", Type: typ}); hidden && !ok {
				t.Errorf("%s has no hidden form", typ)
			}
		}
	}
}

func TestJudge(t *testing.T) {
	text := func(s string) *string { return &s }
	now := table(nil, field(2, "n", schema.Int64), field(3, "d", schema.Float64), field(4, "u", schema.Uint32),
		field(5, "added", schema.Int64))
	now.Columns[4].NotNull, now.Columns[4].Default = true, text("7")
	column := func(id uint32, typ schema.Type) segment.Column { return segment.Column{ID: id, Type: typ} }
	const hidden = segment.HiddenID
	ts, us := column(1, schema.TimestampNanosecond), column(1+hidden, schema.TimestampMicrosecond)
	added := column(5, schema.Int64)
	for i, c := range []struct {
		f       Format
		columns []segment.Column
		nulls   int64
		want    string
	}{
		{2, []segment.Column{ts, us, added}, 0, "shown"},
		{2, []segment.Column{ts, added}, 0, "left out"},
		{3, []segment.Column{ts, added}, 0, "shown"},
		{3, []segment.Column{ts}, 0, "shown"},
		{2, []segment.Column{ts, us}, 0, "column added was added with a default"},
		{3, []segment.Column{ts, added}, 1, "an object has older rows too"},
		{3, []segment.Column{ts, added, column(2, schema.Int32), column(3, schema.Float32)}, 0, "shown"},
		{3, []segment.Column{ts, added, column(3, schema.Int64)}, 0, "column d has the type Float64 now, and older"},
		{3, []segment.Column{ts, added, column(2, schema.Uint32), column(2+hidden, schema.Int64)}, 0, "column n has"},
		{3, []segment.Column{ts, added, column(2, schema.Uint32)}, 0, "left out"},
		{3, []segment.Column{ts, added, column(4, schema.Uint32)}, 0, "left out"},
		{3, []segment.Column{ts, added, column(4, schema.Uint16)}, 0, "column u has the type UInt32 now"},
		{3, []segment.Column{ts, added, column(4, schema.Uint32), column(4+hidden, schema.Int64)}, 0, "shown"},
		{2, []segment.Column{ts, column(3, schema.Int64)}, 0, "left out"},
		{3, []segment.Column{ts, added, column(77, schema.Binary)}, 0, "shown"}, // dropped
	} {
		v := Judge(now, c.f, c.columns, func(id uint32) int64 {
			if id == 5 {
				return c.nulls
			}
			return 9
		})
		got := v.Reason
		switch {
		case v.Left:
			got = "left out"
		case v.Shown():
			got = "shown"
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("case %d: %s, want %s", i, got, c.want)
		}
	}
}

// TestFileSchema: a file names the columns that have the values of the fields, as they are called in the file.
func TestFileSchema(t *testing.T) {
	old := table(map[string]string{schema.OptionIceberg: "v2"}, field(2, "n", schema.Int64), field(3, "u", schema.Uint64),
		field(4, "not in the file", schema.String))
	ts := old.Columns[0]
	columns := []segment.Column{
		{ID: ts.ID, FieldID: ts.ID, Name: "ts"},
		{ID: 2, FieldID: 2, Name: "former name"},
		{ID: 3, FieldID: 3, Name: "u"},
		{ID: 3 + segment.HiddenID, FieldID: 3 + segment.HiddenID, Name: "u@decimal"},
		{ID: ts.ID + segment.HiddenID, FieldID: ts.ID + segment.HiddenID, Name: "ts@us"},
	}
	e := Extra(old)
	key, value, err := e.Describe(columns)
	if err != nil || key != "iceberg.schema" {
		t.Fatal(key, err)
	}
	var s Schema
	if err := json.Unmarshal([]byte(value), &s); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, f := range s.Fields {
		got += fmt.Sprintf("%d %s %s, ", f.ID%segment.HiddenID, f.Name, f.Type)
	}
	if want := fmt.Sprintf("%d ts timestamp, 2 former name long, 3 u decimal(20, 0), ", ts.ID); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if e := Extra(table(nil)); e.Hidden != nil || e.Describe != nil {
		t.Error("a table without the option has something in its files")
	}
}

func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		typ        schema.Type
		text, want string
	}{
		{schema.Int64, "-5", "-5"},
		{schema.Int64, "five", ""},
		{schema.Uint64, "18446744073709551615", `"18446744073709551615"`},
		{schema.Float64, "1e3", "1000"},
		{schema.Float64, "NaN", ""},
		{schema.Boolean, "TRUE", "true"},
		{schema.String, "'it''s'", `"it's"`},
	} {
		tab := table(nil, field(2, "c", c.typ))
		tab.Columns[1].NotNull, tab.Columns[1].Default = true, &c.text
		if got := string(NewSchema(tab, 3, nil).Fields[1].Default); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.typ, c.text, got, c.want)
		}
		if s := NewSchema(tab, 2, nil); s.Fields[1].Default != nil {
			t.Errorf("%s in version 2: %+v", c.text, s)
		}
		// Only objects without the column are in the way of a default that cannot be shown.
		ts := segment.Column{ID: 1, Type: schema.TimestampNanosecond}
		older := Judge(tab, 3, []segment.Column{ts}, nil)
		if older.Shown() != (c.want != "") {
			t.Errorf("%s: an older object: %+v", c.text, older)
		}
		newer := []segment.Column{ts, {ID: 2, Type: c.typ}, {ID: 2 + segment.HiddenID}}
		if v := Judge(tab, 3, newer, func(uint32) int64 { return 0 }); !v.Shown() {
			t.Errorf("%s: a newer object: %+v", c.text, v)
		}
	}
}

func TestFieldNames(t *testing.T) {
	tab := table(map[string]string{schema.OptionIcebergNames: schema.IcebergUnderscore},
		field(2, "a.b", schema.Int64), field(3, "a_b", schema.Int64), field(4, "a..b", schema.Int64),
		field(5, "A_B", schema.Int64))
	check := func(prev *Schema, want string) *Schema {
		t.Helper()
		if got := fmt.Sprint(fieldNames(tab, 2, prev)); got != want {
			t.Errorf("names %s, want %s", got, want)
		}
		return NewSchema(tab, 2, prev)
	}
	check(nil, "[ts a_b_2 a_b a__b A_B_5]")
	tab.Options[schema.OptionIcebergNames] = ""
	check(nil, "[ts a.b a_b a..b A_B]")

	// A new column does not get the name that another one has had.
	tab = table(map[string]string{schema.OptionIcebergNames: schema.IcebergUnderscore}, field(2, "a.b", schema.Int64))
	s := check(nil, "[ts a_b]")
	tab.Columns = append(tab.Columns, field(3, "a_b", schema.Int64))
	s = check(s, "[ts a_b a_b_3]")
	check(s, "[ts a_b a_b_3]")
	tab.Columns[1].Name = "a"
	tab.Columns[2].Name = "b.a_b_3"
	check(s, "[ts a b_a_b_3]")
}

func TestBounds(t *testing.T) {
	long := strings.Repeat("ä", 60)
	for _, c := range []struct{ typ, lower, upper, lo, hi string }{
		{"string", "a", "b", "a", "b"},
		{"string", "x" + long, "x" + long, "x" + strings.Repeat("ä", 31), ""},
		{"binary", long, "b", long[:64], "b"},
		{"decimal(20, 0)", "\x00\x00\x00\x7f", "\x00\x00\x80", "\x7f", "\x00\x80"},
		{"decimal(20, 0)", "\x00\x00", "\x00\xff\x01", "\x00", "\x00\xff\x01"},
	} {
		lo, hi := boundsOf(c.typ, []byte(c.lower), []byte(c.upper))
		if !bytes.Equal(lo, []byte(c.lo)) || !bytes.Equal(hi, []byte(c.hi)) {
			t.Errorf("%s %q to %q: %q to %q", c.typ, c.lower, c.upper, lo, hi)
		}
	}
}

// TestSchemasAreJSON checks the schemas of Avro files.
func TestSchemasAreJSON(t *testing.T) {
	for _, s := range []string{
		manifestSchema(2, &Spec{Fields: []SpecField{{Name: dayName}}}), manifestSchema(3, &Spec{}), listSchema(2),
		listSchema(3),
	} {
		if !json.Valid([]byte(s)) {
			t.Errorf("not JSON: %s", s)
		}
	}
}
