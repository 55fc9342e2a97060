package schema

import "cordwood/proto/schemapb"

// FromProto returns the table that p describes, indexed.
func FromProto(p *schemapb.Table) *Table {
	t := &Table{
		ID: p.Id, Database: p.Database, Name: p.Name, Version: p.Version, MinWriterVersion: p.MinWriterVersion,
		NextColumnID: p.NextColumnId, Options: p.Options, CreatedUnixNano: p.CreatedUnixNano, OriginID: p.OriginId,
		Columns: make([]Column, len(p.Columns)), Placement: make([]Placement, len(p.Placement)),
	}
	for i, c := range p.Columns {
		t.Columns[i] = ColumnFromProto(c)
	}
	if r := p.Restored; r != nil {
		t.Restored = &Restored{BackupID: r.BackupId, Complete: r.Complete, Replaces: r.Replaces}
	}
	if h := p.Handoff; h != nil && len(h.ShardIds) > 0 {
		t.Handoff = &Handoff{ID: h.TableId, Shards: h.ShardIds, Incarnations: h.Incarnations}
	}
	for i, pl := range p.Placement {
		t.Placement[i] = Placement{
			Epoch: pl.Epoch, ShardID: pl.ShardId, More: pl.MoreShards, Since: pl.SinceUnixNano, Closed: pl.Closed,
			Handed: pl.Handed,
		}
	}
	return t.Index()
}

// ToProto returns the stored form of t.
func (t *Table) ToProto() *schemapb.Table {
	p := &schemapb.Table{
		Id: t.ID, Database: t.Database, Name: t.Name, Version: t.Version, MinWriterVersion: t.MinWriterVersion,
		NextColumnId: t.NextColumnID, Options: t.Options, CreatedUnixNano: t.CreatedUnixNano, OriginId: t.OriginID,
	}
	for _, c := range t.Columns {
		p.Columns = append(p.Columns, c.ToProto())
	}
	if r := t.Restored; r != nil {
		p.Restored = &schemapb.Restored{BackupId: r.BackupID, Complete: r.Complete, Replaces: r.Replaces}
	}
	if h := t.Handoff; h != nil {
		p.Handoff = &schemapb.Handoff{TableId: h.ID, ShardIds: h.Shards, Incarnations: h.Incarnations}
	}
	for _, pl := range t.Placement {
		p.Placement = append(p.Placement, &schemapb.Placement{
			Epoch: pl.Epoch, ShardId: pl.ShardID, MoreShards: pl.More, SinceUnixNano: pl.Since, Closed: pl.Closed,
			Handed: pl.Handed,
		})
	}
	return p
}

// ColumnFromProto returns the column that p describes.
func ColumnFromProto(p *schemapb.Column) Column {
	return Column{
		ID: p.Id, Name: p.Name, Type: Type(p.Type), Semantic: Semantic(p.Semantic),
		NotNull: p.NotNull, Default: p.DefaultValue, Index: indexFromProto(p.Index),
		WithinDouble: p.WithinDouble, Checking: p.Checking,
	}
}

// ToProto returns the stored form of c.
func (c Column) ToProto() *schemapb.Column {
	return &schemapb.Column{
		Id: c.ID, Name: c.Name, Type: schemapb.Type(c.Type), Semantic: schemapb.Semantic(c.Semantic),
		NotNull: c.NotNull, DefaultValue: c.Default, Index: c.Index.toProto(),
		WithinDouble: c.WithinDouble, Checking: c.Checking,
	}
}
