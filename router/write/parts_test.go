package write

import (
	"fmt"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/router/pipeline"
)

// inParts returns the output of a pipeline for many rows: two encoded parts with 100 rows each, and 50 rows that are
// not encoded. Only the 50 last rows have values in the column late.
func inParts(table string) *pipeline.TableRows {
	b := &column.Builder{}
	tr := &pipeline.TableRows{Database: "public", Table: table, Rows: b}
	ts, host := b.Add(timeIndex), b.Add(field("host", schema.String))
	for i := range 250 {
		if i == 100 || i == 200 {
			tr.Parts = append(tr.Parts, b.Seal())
		}
		row := b.Rows()
		if i == 200 {
			b.Add(field("late", schema.Int64)).SetInt(row, 5)
		}
		ts.SetInt(row, int64(i))
		host.SetString(row, fmt.Sprintf("host %d", i%40))
		b.EndRow()
	}
	return tr
}

// Rows that are encoded before their table exists are stored like other rows: once, in order, with or without a
// key.
func TestWriteParts(t *testing.T) {
	for _, version := range []uint32{metapb.ProtocolPacking, metapb.ProtocolPacking - 1} {
		m, s := newFakeMeta(), &fakeShards{}
		w := newWriter(t, m, s, func(c *Config) { c.ClusterVersion = func() uint32 { return version } })
		for range 2 {
			res, err := w.WriteKeyed(t.Context(), output(inParts("a")), Key{Text: "k"})
			if err != nil || res.Rows != 250 {
				t.Fatal(res, err)
			}
		}
		if s.rows() != 250 || len(s.got) != 3 {
			t.Fatalf("%d rows in %d batches", s.rows(), len(s.got))
		}
		table, _ := m.Table("public", "a")
		at := int64(0)
		for _, g := range s.got {
			for i := range g.batch.Rows {
				ts, host := g.batch.Column(table.Column("ts").ID), g.batch.Column(table.Column("host").ID)
				if ts.Int(i) != at || string(host.Bytes(i)) != fmt.Sprintf("host %d", at%40) {
					t.Fatalf("row %d is %d, %s", at, ts.Int(i), host.Bytes(i))
				}
				at++
			}
		}
		// The columns have their ids when they are encoded, and these are still valid.
		b := &column.Builder{}
		ts := b.Add(*table.Column("ts"))
		for i := range 10 {
			ts.SetInt(i, int64(i))
			b.EndRow()
		}
		known := &pipeline.TableRows{
			Database: "public", Table: "a", Existing: table, Parts: []*column.Sealed{b.Seal()}, Rows: b,
		}
		if res, err := w.Write(t.Context(), output(known)); err != nil || res.Rows != 10 || s.rows() != 260 {
			t.Fatal(res, err, s.rows())
		}
	}
}

// A missing value in a column that must not be null is detected in encoded rows too.
func TestPartsNotNull(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	table := &schema.Table{ID: 7, Version: 1, Database: "public", Name: "a", Columns: []schema.Column{
		{ID: 1, Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true},
		{ID: 2, Name: "host", Type: schema.String},
		{ID: 3, Name: "late", Type: schema.Int64, NotNull: true},
	}, Placement: []schema.Placement{{Epoch: 1, ShardID: 1}}}
	table.Index()
	m.put(table)
	if _, err := newWriter(t, m, s).Write(t.Context(), output(inParts("a"))); err == nil || s.rows() != 0 {
		t.Errorf("rows without a value were stored: %v", err)
	}
}

// Rows of a table that is divided by its key are divided by partition, whether or not they are encoded.
func TestPartsAreDivided(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	table := merging(t, m, s, schema.Placement{Epoch: 1, ShardID: 1, More: []uint32{2, 3}})
	send := func() {
		out := hosts(100)
		tr := out.Tables[0]
		tr.Rows.Finish()
		tr.Parts = []*column.Sealed{tr.Rows.Seal()}
		if _, err := newWriter(t, m, s).Write(t.Context(), out); err != nil {
			t.Fatal(err)
		}
	}
	send()
	if _, err := newWriter(t, m, s).Write(t.Context(), hosts(100)); err != nil {
		t.Fatal(err)
	}
	if placed := placed(s, table); len(placed) != 200 {
		t.Errorf("%d hosts", len(placed))
	} else {
		for host, at := range placed {
			if len(at) != 2 || at[0] != at[1] {
				t.Fatalf("host %s is at %v", host, at)
			}
		}
	}
}
