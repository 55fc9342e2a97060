package segment

import (
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

// ToProto converts m to the message that is sent between nodes and stored in backups.
func (m *Meta) ToProto() *shardpb.PinnedSegment {
	p := &shardpb.PinnedSegment{
		Id: m.ID, TableId: m.TableID, SchemaVersion: m.SchemaVersion, Order: m.Order, Rows: m.Rows, Bytes: m.Bytes,
		MinTime: m.MinTime, MaxTime: m.MaxTime, FooterCrc: m.FooterCRC, FileCrc: m.FileCRC,
	}
	for _, c := range m.Columns {
		p.Columns = append(p.Columns, &shardpb.SegmentColumn{
			Id: c.ID, FieldId: c.FieldID, Name: c.Name, Logical: c.Logical, Type: schemapb.Type(c.Type),
			Semantic: schemapb.Semantic(c.Semantic),
		})
	}
	for _, t := range m.Tables {
		p.Tables = append(p.Tables, &shardpb.SegmentTable{
			TableId: t.TableID,
			Rows:    t.Rows,
			MinTime: t.MinTime,
			MaxTime: t.MaxTime,
		})
	}
	return p
}

// FromProto returns the Meta that p describes.
func FromProto(p *shardpb.PinnedSegment) Meta {
	m := Meta{
		ID: p.Id, TableID: p.TableId, SchemaVersion: p.SchemaVersion, Order: p.Order, Rows: p.Rows, Bytes: p.Bytes,
		MinTime: p.MinTime, MaxTime: p.MaxTime, FooterCRC: p.FooterCrc, FileCRC: p.FileCrc,
	}
	for _, c := range p.Columns {
		m.Columns = append(m.Columns, Column{
			ID: c.Id, FieldID: c.FieldId, Name: c.Name, Logical: c.Logical, Type: schema.Type(c.Type),
			Semantic: schema.Semantic(c.Semantic),
		})
	}
	for _, t := range p.Tables {
		m.Tables = append(m.Tables, TableSpan{TableID: t.TableId, Rows: t.Rows, MinTime: t.MinTime, MaxTime: t.MaxTime})
	}
	return m
}
