package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cordwood/proto/schemapb"
)

func exampleTable() *Table {
	zero := "0"
	return (&Table{
		ID: 7, Database: "public", Name: "t", Version: 3, MinWriterVersion: 2, NextColumnID: 9, CreatedUnixNano: 11,
		Columns: []Column{
			{ID: 1, Name: "host", Type: String, Semantic: Tag},
			{ID: 2, Name: "ts", Type: TimestampNanosecond, Semantic: Timestamp, NotNull: true},
			{ID: 5, Name: "n", Type: Int64, Semantic: Field, Default: &zero},
			{ID: 8, Name: "zone", Type: String, Semantic: Tag, Index: &Index{
				Kind: SkippingIndex, Options: DefaultIndexOptions(SkippingIndex),
			}},
		},
		Options:   map[string]string{"ttl": "1day"},
		Placement: []Placement{{Epoch: 1, ShardID: 4}, {Epoch: 2, ShardID: 5, More: []uint32{4, 7}, Since: 9}},
	}).Index()
}

func TestTableProtoRoundTrip(t *testing.T) {
	want := exampleTable()
	got := FromProto(want.ToProto())
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Table{})); diff != "" {
		t.Error(diff)
	}
	if got.Column("n") == nil {
		t.Error("the table is not indexed")
	}
}

func TestTableLookups(t *testing.T) {
	table := exampleTable()
	if c := table.Column("n"); c == nil || c.ID != 5 {
		t.Errorf("n is %+v", c)
	}
	if c := table.ColumnBytes([]byte("zone")); c == nil || c.ID != 8 {
		t.Errorf("zone is %+v", c)
	}
	if table.Column("N") != nil || table.ColumnBytes(nil) != nil {
		t.Error("missing columns are found")
	}
	if c := table.TimeIndex(); c == nil || c.Name != "ts" {
		t.Errorf("the time index is %+v", c)
	}
	if tags := table.Tags(); len(tags) != 2 || tags[0].Name != "host" || tags[1].Name != "zone" {
		t.Errorf("the tags are %+v", tags)
	}
	if got := table.Writable(); got.Epoch != 2 || !got.Takes(5) || !got.Takes(7) || got.Takes(6) {
		t.Errorf("writes go to %+v", got)
	}
	empty := &Table{}
	if empty.TimeIndex() != nil || empty.Writable().Epoch != 0 || len(empty.Shards()) != 0 {
		t.Error("an empty table has a time index or a shard")
	}
}

func TestTypesMatchProto(t *testing.T) {
	if got := len(Types()); got != len(schemapb.Type_name)-1 {
		t.Errorf("%d types, proto has %d", got, len(schemapb.Type_name)-1)
	}
	for _, typ := range Types() {
		if _, ok := schemapb.Type_name[int32(typ)]; !ok || !typ.Valid() {
			t.Errorf("%s has number %d, which schemapb lacks", typ, typ)
		}
		if n := b2i(typ.IsBytes()) + b2i(typ.IsFloat()) + b2i(typ.IsInteger()) + b2i(typ.IsTimestamp()) +
			b2i(typ == Boolean); n != 1 {
			t.Errorf("%s is of %d families", typ, n)
		}
		if (typ.UnitsPerSecond() > 0) != typ.IsTimestamp() {
			t.Errorf("%s has %d units a second", typ, typ.UnitsPerSecond())
		}
	}
	for _, typ := range []Type{Invalid, 200} {
		if typ.Valid() || typ.String() != "Invalid" || typ.SQL() != "INVALID" {
			t.Errorf("type %d passes as %s", uint8(typ), typ)
		}
	}
	for s, want := range map[Semantic]string{Field: "FIELD", Tag: "TAG", Timestamp: "TIMESTAMP"} {
		if s.String() != want || schemapb.Semantic_name[int32(s)] != "SEMANTIC_"+want {
			t.Errorf("semantic %d is %s", s, s)
		}
	}
}
