package query

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// ALTER TABLE … MODIFY COLUMN.

// modifiedIndex returns the change that MODIFY COLUMN … SET or UNSET … INDEX makes.
func (n names) modifiedIndex(t *schema.Table, m *statement.ModifyColumn) (*metapb.ModifyIndex, error) {
	c := t.Column(m.Name)
	if c == nil {
		return nil, n.columnNotFound(t, m.Name)
	}
	change := &metapb.ModifyIndex{Name: m.Name}
	if m.SetIndex != nil {
		x, err := newIndex(m.SetIndex, c.Type)
		if err != nil {
			return nil, errs.Wrap(errs.InvalidArguments, err, "column %q", c.Name)
		}
		made := *c
		made.Index = x
		change.Index = made.ToProto().Index
		return change, nil
	}
	kind, _ := schema.ParseIndexKind(m.UnsetIndex)
	switch {
	case c.Index == nil:
		return nil, errs.New(errs.InvalidArguments, "column %q of table %s.%s has no index", c.Name, t.Database, t.Name)
	case c.Index.Kind != kind:
		return nil, errs.New(errs.InvalidArguments, "column %q of table %s.%s has no %s index; its index is %s",
			c.Name, t.Database, t.Name, kind, c.Index.Kind)
	}
	return change, nil
}

// modifyType changes a column to a wider type. If the metadata does not know that all its integers fit, all rows
// are checked. catalog.ModifyColumn explains why none is missed.
func (s *Service) modifyType(ctx context.Context, st *statement.AlterTable, database string) error {
	t, err := s.names.of(ctx).writable(st.Name, database)
	if err != nil {
		return err
	}
	c := t.Column(st.Modify.Name)
	if c == nil {
		return s.names.of(ctx).columnNotFound(t, st.Modify.Name)
	}
	to, err := schema.ParseType(st.Modify.Type)
	switch {
	case err != nil:
		return errs.Wrap(errs.InvalidSyntax, err, "column %q", c.Name)
	case to == c.Type:
		return nil
	case c.Type.Widens(to) == schema.WidensNever:
		return cannotBecome(t, c, to)
	case t.Handoff != nil || t.Writable().Closed:
		return errs.New(errs.TableUnavailable,
			"the rows of table %s.%s are being handed over to other shards; try again when that is done", t.Database,
			t.Name).WithRetryAfter(time.Second)
	}
	change := &metapb.ModifyColumn{Name: c.Name, Id: c.ID, Type: schemapb.Type(to)}
	if c.Type.Widens(to) == schema.WidensAlways || c.WithinDouble {
		_, err = s.modify(ctx, t, change, metapb.ModifyColumn_STEP_UNSPECIFIED)
		return err
	}
	started, err := s.modify(ctx, t, change, metapb.ModifyColumn_STEP_BEGIN)
	if err != nil {
		return err
	}
	// From here on, shards only accept rows from writers that announce values which would not fit.
	for _, shard := range started.Shards() {
		if err := s.cfg.Shards.DefineTables(ctx, shard, []*schemapb.Table{started.ToProto()}); err != nil {
			return errs.Wrap(errs.TableUnavailable, err, "inform shard %d of the change", shard)
		}
	}
	found, beyond, err := s.reader.beyondDouble(ctx, started, c.Name)
	switch {
	case err != nil:
		return errs.Wrap(errs.Internal, err, "check the rows of column %q", c.Name)
	case beyond:
		return errs.New(errs.InvalidArguments,
			"column %q of table %s.%s cannot become %s: it has the integer %s, and %s would round integers beyond 2^53", c.Name,
			t.Database, t.Name, to, found, to)
	}
	_, err = s.modify(ctx, started, change, metapb.ModifyColumn_STEP_FINISH)
	return err
}

// cannotBecome returns the error for a type that is not wider. It lists the wider types.
func cannotBecome(t *schema.Table, c *schema.Column, to schema.Type) error {
	wider := ""
	for _, w := range schema.Types() {
		if w != c.Type && c.Type.Widens(w) != schema.WidensNever {
			wider += ", " + w.SQL()
		}
	}
	if wider == "" {
		return errs.New(errs.InvalidArguments,
			"column %q of table %s.%s cannot become %s: no other type has all values of %s; add another column", c.Name,
			t.Database, t.Name, to, c.Type)
	}
	return errs.New(errs.InvalidArguments,
		"column %q of table %s.%s cannot become %s: a column can only get a wider type, and the types wider than %s "+
			"are%s", c.Name,
		t.Database, t.Name, to, c.Type, wider[1:])
}

// modify makes one step, and returns the table after it.
func (s *Service) modify(ctx context.Context, t *schema.Table, change *metapb.ModifyColumn,
	step metapb.ModifyColumn_Step,
) (*schema.Table, error) {
	change = proto.CloneOf(change)
	change.Step = step
	result, err := s.cfg.Meta.Propose(ctx, &metapb.Command{
		TimeUnixNano: s.cfg.Now().UnixNano(),
		Op: &metapb.Command_AlterTable{AlterTable: &metapb.AlterTable{
			Database: t.Database, Name: t.Name, Change: &metapb.AlterTable_ModifyColumn{ModifyColumn: change},
		}},
	})
	if err != nil {
		return nil, err
	}
	if len(result.GetTables()) != 1 {
		return nil, errs.New(errs.Internal, "alter table: %d tables answered", len(result.GetTables()))
	}
	return schema.FromProto(result.Tables[0]), nil
}

// beyondDouble checks all rows, including expired ones, for an integer that a Float64 cannot hold exactly.
func (r *reader) beyondDouble(ctx context.Context, t *schema.Table,
	name string,
) (found string, beyond bool, err error) {
	leave, err := r.gate.Enter(ctx, access.From(ctx).Share())
	if err != nil {
		return "", false, err
	}
	defer leave()
	qt := r.queryTable(&shardpb.TableName{Database: t.Database, Name: t.Name}, t, t.ToProto())
	qt.ExpiredBefore = nil
	column := schema.QuoteIdent(name)
	stream, err := r.ask(ctx, &shardpb.QueryRequest{
		Sql: "SELECT min(" + column + "), max(" + column + ") FROM " + schema.QuoteIdent(t.Database) + "." +
			schema.QuoteIdent(t.Name),
		Database: t.Database, Tables: []*shardpb.QueryTable{qt}, Share: access.From(ctx).KnownShare(),
	})
	if err != nil {
		return "", false, err
	}
	defer stream.close()
	for stream.Next() {
		for _, a := range stream.RecordBatch().Columns() {
			if a.Len() == 1 && !a.IsNull(0) && !exact(a) {
				found, beyond = a.ValueStr(0), true
			}
		}
	}
	return found, beyond, stream.Err()
}

// exact reports whether a Float64 can hold the single integer of an answer exactly.
func exact(a arrow.Array) bool {
	switch a := a.(type) {
	case *array.Int64:
		return schema.Int64.Exact(a.Value(0))
	case *array.Uint64:
		return schema.Uint64.Exact(int64(a.Value(0)))
	}
	return false
}
