package write

import (
	"context"
	"errors"
	"time"

	"cordwood/meta/metaclient"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/tracing"
	"cordwood/proto/turns"
)

// change sends all missing tables and columns of the targets through the metadata log, as one atomic command.
func (w *Writer) change(ctx context.Context, lacking []*target) error {
	demands, first, err := mergeDemands(lacking)
	if err != nil {
		return err
	}
	if w.cfg.ClusterVersion() < metapb.ProtocolWidening { // an older node refuses fields that it does not know
		for _, d := range demands {
			for _, c := range d.Columns {
				c.WithinDouble = false
			}
		}
	}
	turns.Leave(ctx)
	ctx, span := tracing.Start(ctx, "ensure schema")
	tables, err := w.schemas.ensure(ctx, demands)
	span.End(err)
	if err != nil {
		return w.refused(lacking, err)
	}
	for i, t := range lacking {
		t.table = tables[first[i]]
	}
	return nil
}

// command combines all changes to tables into one command. It returns the tables in order.
func (w *Writer) command(ctx context.Context, demands []*metapb.TableDemand) ([]*schema.Table, error) {
	begin := time.Now()
	defer func() { w.metrics.ensure.Observe(time.Since(begin).Seconds()) }()
	result, err := w.cfg.Meta.Propose(ctx, &metapb.Command{
		TimeUnixNano: time.Now().UnixNano(),
		Op:           &metapb.Command_EnsureSchema{EnsureSchema: &metapb.EnsureSchema{Tables: demands}},
	})
	w.metrics.schemas.WithLabelValues(schemaResult(err)).Inc()
	if err != nil {
		return nil, err
	}
	if len(result.Tables) != len(demands) {
		return nil, errs.New(errs.Internal, "ensure schema: %d tables were requested, %d were returned", len(demands),
			len(result.Tables))
	}
	tables := make([]*schema.Table, len(demands))
	for i, p := range result.Tables {
		tables[i] = schema.FromProto(p)
	}
	return tables, nil
}

// mergeDemands creates one demand for each table, and returns which demand each target belongs to.
func mergeDemands(lacking []*target) (demands []*metapb.TableDemand, index []int, err error) {
	type key struct{ database, name string }
	at := map[key]int{}
	for _, t := range lacking {
		k := key{t.rows.Database, t.rows.Table}
		i, ok := at[k]
		if !ok {
			i = len(demands)
			at[k] = i
			demands = append(demands, &metapb.TableDemand{
				Database: k.database, Name: k.name, Options: t.rows.Options, NoCreate: true, Internal: t.rows.Internal,
			})
		}
		index = append(index, i)
		d := demands[i]
		// If some records may create the table, it is created for all records.
		d.NoCreate = d.NoCreate && t.rows.NoCreate
		if err := t.addColumns(d); err != nil {
			return nil, nil, err
		}
	}
	return demands, index, nil
}

// addColumns adds the target's columns to the demand.
func (t *target) addColumns(d *metapb.TableDemand) error {
	var have map[string]*schemapb.Column
	if len(d.Columns) > 0 {
		have = make(map[string]*schemapb.Column, len(d.Columns))
		for _, c := range d.Columns {
			have[c.Name] = c
		}
	}
	rule := schema.ConflictRuleOf(d.Options)
	if t.table != nil {
		rule = schema.ConflictRuleOf(t.table.Options)
	}
	for _, c := range t.rows.Rows.Cols() {
		want := neededColumn(c)
		if t.table != nil {
			if old := t.table.Column(c.Name); old != nil {
				want.Semantic, want.NotNull, want.Default = old.Semantic, old.NotNull, old.Default
			}
		}
		if other := have[c.Name]; other != nil {
			o := schema.ColumnFromProto(other)
			made, ok := o.For(want, rule)
			if !ok || o.Semantic != want.Semantic {
				return conflictError(t.rows.Database, t.rows.Table, &o, &want)
			}
			other.Type, other.WithinDouble = schemapb.Type(made.Type), made.WithinDouble
			continue
		}
		d.Columns = append(d.Columns, want.ToProto())
	}
	return nil
}

func schemaResult(err error) string {
	conflict := (*metaclient.ConflictError)(nil)
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &conflict):
		return "conflict"
	}
	return "error"
}

// refused converts a refusal by the metadata group into the error for the request. The local view has caught up with
// the refusal. If the pipeline used an older view, another run may produce other rows.
func (w *Writer) refused(lacking []*target, err error) error {
	e := errs.From(err)
	if conflict := (*metaclient.ConflictError)(nil); errors.As(err, &conflict) && len(conflict.Conflicts) > 0 {
		c := conflict.Conflicts[0]
		var have, given *schema.Column
		if c.Existing != nil {
			have = new(schema.ColumnFromProto(c.Existing))
		}
		if c.Wanted != nil {
			given = new(schema.ColumnFromProto(c.Wanted))
		}
		e = conflictError(c.Database, c.Table, have, given)
	}
	if e.Status() >= 500 {
		return errs.Wrap(errs.ShardNotReady, err, "ensure the schema of %s", lacking[0].name())
	}
	for _, t := range lacking {
		table, ok := w.cfg.Meta.Table(t.rows.Database, t.rows.Table)
		seen := t.rows.Existing
		if ok != (seen != nil) || ok && (table.ID != seen.ID || table.Version != seen.Version) {
			return t.changing(e.Error())
		}
	}
	for _, t := range lacking {
		if w.cfg.NoAutoCreate && t.table == nil {
			return errs.New(errs.InvalidArguments,
				"Table `%s` does not exist, and auto_create_table is disabled by configuration", t.rows.Table)
		}
	}
	return e
}

// adopt gives the target's columns the ids of the table's columns.
func (t *target) adopt() error {
	if t.identified() {
		return nil // compare found no conflict
	}
	for _, c := range t.rows.Rows.Cols() {
		if isDeletedColumn(c) {
			continue
		}
		have := t.table.Column(c.Name)
		if have != nil && have.Type == schema.Float64 && c.Type.IsInteger() && !c.Wide() {
			c.ToFloat()
		}
		if have == nil || have.Type != c.Type {
			// The table changed after the check.
			return t.conflict(have, &c.Column)
		}
		c.ID = have.ID
	}
	if err := t.checkDefaults(); err != nil {
		return err
	}
	return t.checkNotNull()
}
