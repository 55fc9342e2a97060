package simulation

import (
	"errors"
	"fmt"
	"io"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// definition is the table of a simulation: who wrote a row, and its number.
func definition(id uint64, placement ...*schemapb.Placement) *schemapb.Table {
	return &schemapb.Table{
		Id: id, Database: "public", Name: fmt.Sprint("t", id), Version: 1, MinWriterVersion: 1, NextColumnId: 4,
		Options: map[string]string{schema.OptionAppendMode: "true"}, Placement: placement,
		Columns: []*schemapb.Column{
			{Id: 1, Name: "ts", Type: schemapb.Type_TYPE_TIMESTAMP_NANOSECOND, Semantic: schemapb.Semantic_SEMANTIC_TIMESTAMP, NotNull: true},
			{Id: 2, Name: "writer", Type: schemapb.Type_TYPE_INT64, Semantic: schemapb.Semantic_SEMANTIC_FIELD},
			{Id: 3, Name: "number", Type: schemapb.Type_TYPE_INT64, Semantic: schemapb.Semantic_SEMANTIC_FIELD},
		},
	}
}

// read counts how often a replica has each row of a table.
func read(fs vfs.FS, s *shard.Shard, table uint64, into map[rowID]int) error {
	v := s.ReadView(table)
	if v == nil {
		return errors.New("the shard is closed")
	}
	defer v.Close()
	for _, seg := range v.Segments(table) {
		if err := readSegment(fs, &seg, table, into); err != nil {
			return fmt.Errorf("segment %s: %w", seg.Path, err)
		}
	}
	for _, b := range v.Batches(table) {
		count(b, into)
	}
	return nil
}

func readSegment(fs vfs.FS, seg *shard.Segment, table uint64, into map[rowID]int) error {
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
		if b.TableID == table {
			count(b, into)
		}
	}
}

func count(b *column.Batch, into map[rowID]int) {
	writer, number := b.Column(2), b.Column(3)
	for i := range b.Rows {
		into[rowID{writer.Int(i), number.Int(i)}]++
	}
}
