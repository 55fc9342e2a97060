package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/router/pipeline"
	"cordwood/shard"
	"cordwood/shard/segment"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// table is a table of a simulation.
type table struct {
	name string
	// merges means that rows with the same writer and number are one row.
	merges bool
	// spread is the number of shards that take its rows, if there are several.
	spread int
	// cold means that its rows are old, and go to object storage.
	cold bool
}

// columns returns the columns of a row's writer and number.
func (t table) columns() []*schemapb.Column {
	role := schemapb.Semantic_SEMANTIC_FIELD
	if t.merges {
		role = schemapb.Semantic_SEMANTIC_TAG
	}
	return []*schemapb.Column{
		{
			Name: "ts", Type: schemapb.Type_TYPE_TIMESTAMP_NANOSECOND, Semantic: schemapb.Semantic_SEMANTIC_TIMESTAMP,
			NotNull: true,
		},
		{Name: "writer", Type: schemapb.Type_TYPE_INT64, Semantic: role},
		{Name: "number", Type: schemapb.Type_TYPE_INT64, Semantic: role},
	}
}

func (t table) options() map[string]string {
	if t.merges {
		return nil
	}
	out := map[string]string{schema.OptionAppendMode: "true"}
	if t.spread > 1 {
		out[schema.OptionPartitions] = strconv.Itoa(t.spread)
	}
	return out
}

// output returns rows as the output of a pipeline.
func (t table) output(now time.Time, writer, first int64, rows int) *pipeline.Output {
	if t.cold {
		now = now.Add(-coldAge)
	}
	b := &column.Builder{}
	var cols []*column.Col
	for _, c := range t.columns() {
		of := schema.ColumnFromProto(c)
		cols = append(cols, b.Add(of))
	}
	for i := range rows {
		cols[0].SetInt(i, now.UnixNano())
		cols[1].SetInt(i, writer)
		cols[2].SetInt(i, first+int64(i))
		b.EndRow()
	}
	return &pipeline.Output{
		Tables: []*pipeline.TableRows{{Database: schema.DefaultDatabase, Table: t.name, Rows: b, Options: t.options()}},
	}
}

// read counts how often a replica has each row of a table, and returns its index.
func read(n *Node, s *shard.Shard, t *schema.Table, into map[rowID]int) (index uint64, err error) {
	v := s.ReadView(t.ID)
	if v == nil {
		return 0, errors.New("the shard is closed")
	}
	defer v.Close()
	for _, seg := range v.Segments(t.ID) {
		if err := readSegment(n.disk, &seg, t, into); err != nil {
			return 0, fmt.Errorf("segment %s: %w", seg.Path, err)
		}
	}
	for _, b := range v.Batches(t.ID) {
		count(b, t, into)
	}
	for _, x := range v.Cold(t.ID) {
		if err := n.cluster.objects.read(context.Background(), x.Object, t, into); err != nil {
			return 0, err
		}
	}
	return v.AppliedIndex(), nil
}

func readSegment(fs vfs.FS, seg *store.Segment, t *schema.Table, into map[rowID]int) error {
	r, err := segment.Open(fs, seg.Path, &seg.Meta)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	for {
		b, err := r.Next(1000)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if b.TableID == t.ID {
			count(b, t, into)
		}
	}
}

func count(b *column.Batch, t *schema.Table, into map[rowID]int) {
	writer, number := b.Column(t.Column("writer").ID), b.Column(t.Column("number").ID)
	for i := range b.Rows {
		into[rowID{writer.Int(i), number.Int(i)}]++
	}
}
