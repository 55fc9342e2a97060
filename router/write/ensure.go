package write

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/turns"
)

// ensure makes sure that every pending target has a table with all its columns, and gives the columns of the rows
// their ids. Everything that is missing goes into one command. If nothing is missing, ensure only compares.
func (w *Writer) ensure(ctx context.Context, req *request) error {
	pending := req.pending()
	lacking, err := w.lacking(pending)
	if err != nil {
		return err
	}
	if len(lacking) > 0 {
		before := make([]*schema.Table, len(lacking))
		for i, t := range lacking {
			before[i] = t.table
		}
		if err := w.change(ctx, lacking); err != nil {
			return err
		}
		for i, t := range lacking {
			w.noteWidened(req, before[i], t)
		}
	}
	for _, t := range pending {
		if err := t.checkRestoring(); err != nil {
			return err
		}
		if err := t.adopt(); err != nil {
			return err
		}
		switch {
		case t.rows.Internal || len(req.warnings) >= maxWarnings:
		case t.existed:
			req.warnOptions(t)
		default:
			req.warnNoKey(t)
		}
	}
	return nil
}

// lacking returns the targets whose tables are missing or lack columns, by the current copy of the metadata.
func (w *Writer) lacking(pending []*target) (list []*target, err error) {
	for _, t := range pending {
		table, ok := w.cfg.Meta.Table(t.rows.Database, t.rows.Table)
		if t.table == nil {
			t.existed = ok
		}
		t.table = table
		if !ok {
			list = append(list, t)
			continue
		}
		missing, err := t.compare()
		if err != nil {
			return nil, err
		}
		if missing {
			list = append(list, t)
		}
	}
	return list, nil
}

// checkRestoring returns an error if the table is being restored. A repeated restore empties the table, and in a table
// that merges rows, the backup's rows would replace newer ones.
func (t *target) checkRestoring() error {
	r := t.table.Restored
	if r == nil || r.Complete && r.Replaces == "" {
		return nil
	}
	return errs.New(errs.TableUnavailable, "table %s is being restored from backup %s and accepts no rows until it is "+
		"complete; if the restore failed, run it again, or drop the table", t.name(), r.BackupID).
		WithRetryAfter(10 * time.Second)
}

// noteWidened notes the columns that became Float64 because of the target.
func (w *Writer) noteWidened(req *request, before *schema.Table, t *target) {
	if before == nil || t.rows.Internal {
		return
	}
	for _, c := range before.Columns {
		now := t.table.Column(c.Name)
		if c.Type == schema.Float64 || now == nil || now.ID != c.ID || now.Type != schema.Float64 {
			continue
		}
		text := fmt.Sprintf("column %s of table %s became Float64: it was %s, and a value has a fraction", c.Name,
			t.name(), c.Type)
		if slices.Contains(req.warnings, text) {
			continue // because of another target of the request
		}
		w.metrics.types.WithLabelValues("widened").Inc()
		if len(req.warnings) < maxWarnings {
			req.warnings = append(req.warnings, text)
		}
	}
}

// maxWarnings limits the number of warnings of one answer.
const maxWarnings = 8

// compare compares the target's columns with its table. It returns an error if they are incompatible.
func (t *target) compare() (missing bool, err error) {
	if t.identified() {
		return false, t.checkNotNull()
	}
	for _, c := range t.rows.Rows.Cols() {
		if isDeletedColumn(c) {
			continue
		}
		have := t.table.Column(c.Name)
		switch {
		case have == nil && c.Semantic == schema.Timestamp:
			return false, t.conflict(t.table.TimeIndex(), &c.Column)
		case have == nil:
			missing = true
		case (have.Semantic == schema.Timestamp) != (c.Semantic == schema.Timestamp),
			c.Semantic == schema.Tag && have.Semantic != schema.Tag:
			return false, t.conflict(have, &c.Column)
		case have.Type != c.Type || c.Wide():
			made, ok := have.For(neededColumn(c), schema.ConflictRuleOf(t.table.Options))
			if !ok {
				return false, t.conflict(have, &c.Column)
			}
			missing = missing || made != *have
		}
	}
	if err := t.checkDefaults(); err != nil {
		return false, err
	}
	return missing, t.checkNotNull()
}

// checkDefaults requests another run of the pipeline if it did not know a default of the table, because its rows
// lack the default values.
func (t *target) checkDefaults() error {
	if t.deletes || t.checked() {
		return nil
	}
	for i := range t.table.Columns {
		c := &t.table.Columns[i]
		if c.Default == nil || t.columnOf(c.Name) != nil {
			continue
		}
		if seen := t.rows.Existing; seen != nil && seen.ID == t.table.ID {
			if had := seen.Column(c.Name); had != nil && had.ID == c.ID && had.Default != nil && *had.Default == *c.Default {
				continue // the default is NULL
			}
		}
		return t.changing(fmt.Sprintf("column %q has a default", c.Name))
	}
	return nil
}

// checked reports whether the pipeline checked the rows against the current definition of the table.
func (t *target) checked() bool {
	seen := t.rows.Existing
	return seen != nil && seen.ID == t.table.ID && seen.Version == t.table.Version
}

// identified reports whether all columns already have the ids of the current table, so that nothing is missing.
func (t *target) identified() bool {
	if !t.checked() {
		return false
	}
	for _, c := range t.rows.Rows.Cols() {
		if c.ID == 0 || c.Widened() {
			return false
		}
		if c.Wide() {
			if have := t.table.Column(c.Name); have == nil || have.WithinDouble || have.Checking {
				return false
			}
		}
	}
	return true
}

// neededColumn returns the column that a table needs for a column of rows.
func neededColumn(c *column.Col) schema.Column {
	want := c.Column
	want.ID, want.Checking = 0, false
	want.WithinDouble = want.Marked() && !c.Wide()
	return want
}

// columnOf returns the column of the rows with that name, or nil.
func (t *target) columnOf(name string) *column.Col {
	for _, c := range t.rows.Rows.Cols() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// checkNotNull returns an error if the rows lack a value for a column that must not be null.
func (t *target) checkNotNull() error {
	for i := range t.table.Columns {
		must := &t.table.Columns[i]
		if !must.NotNull || t.deletes && must.Semantic == schema.Field {
			continue
		}
		switch c := t.columnOf(must.Name); {
		case c == nil:
			return t.misfit(errs.New(errs.InvalidArguments,
				"table %s: missing column %q: it must not be null and has no value in the request", t.name(), must.Name))
		case c.Nulls()+c.PastNulls() > 0:
			return t.misfit(errs.New(errs.InvalidArguments,
				"table %s: column %q must not be null, but %d of %d records have no value for it",
				t.name(), must.Name, c.Nulls()+c.PastNulls(), t.rows.Count()))
		}
	}
	return nil
}

// conflict returns the error for a column that does not fit the table.
func (t *target) conflict(have, given *schema.Column) error {
	return t.misfit(conflictError(t.rows.Database, t.rows.Table, have, given))
}

// misfit returns the error for rows that do not fit their table. If the pipeline did not use the current definition
// of the table, another run may drop, convert or add values so that the rows fit.
func (t *target) misfit(e *errs.Error) error {
	if t.checked() {
		return e
	}
	return t.changing(e.Error())
}

// changing requests another run of the pipeline, because the table has changed since the first run. If the caller
// does not run it again, or the table changes each time, the client may retry.
func (t *target) changing(why string) error {
	return &schemaChanged{final: errs.New(errs.TableUnavailable,
		"table %s has just been created or changed, and the rows are for its earlier definition; retry: %s", t.name(), why).
		WithRetryAfter(time.Second)}
}

// conflictError returns an error with the table, the column and both types.
func conflictError(database, table string, have, given *schema.Column) *errs.Error {
	switch {
	case given == nil:
		given = &schema.Column{}
		fallthrough
	case have == nil:
		return errs.New(errs.InvalidArguments, "table %s.%s: column %q does not fit: given %s", database, table, given.Name,
			describe(given))
	case have.Name != given.Name:
		return errs.New(errs.InvalidArguments,
			"table %s.%s: its time index is %q, expected %s; a second time index %q is not possible", database, table, have.Name,
			describe(have), given.Name)
	}
	return errs.New(errs.InvalidArguments,
		"table %s.%s: column %q: expected %s, given %s; send the expected type, or skip such records with skip_error=true",
		database, table, given.Name, describe(have), describe(given))
}

func describe(c *schema.Column) string {
	if c.Semantic == schema.Field {
		return c.Type.String()
	}
	return c.Type.String() + " " + c.Semantic.String()
}

// awaitNewer waits until the local view has a newer table for a target that failed. Other targets that failed in
// the same call may be unchanged.
func (w *Writer) awaitNewer(ctx context.Context, req *request) error {
	timer := time.NewTimer(w.cfg.RefreshWait)
	defer timer.Stop()
	for {
		changed := w.cfg.Meta.Changed()
		stale, newer := w.stale(req)
		if newer {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return errs.New(errs.TableUnavailable, "table %s has changed and this node has an older definition; retry", stale).
				WithRetryAfter(time.Second)
		case <-ctx.Done():
			return errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "wait for the new schema of %s", stale)
		}
	}
}

// awaitOpen waits while no shard takes writes for a table, because its rows are being handed over. It reports whether
// it waited. If it did, tables must be looked up again.
func (w *Writer) awaitOpen(ctx context.Context, req *request) (waited bool, err error) {
	var timer *time.Timer
	for {
		changed := w.cfg.Meta.Changed()
		closed := ""
		for _, t := range req.pending() {
			if !t.table.Writable().Closed {
				continue
			}
			if now, ok := w.cfg.Meta.Table(t.rows.Database, t.rows.Table); ok && now.Writable().Closed {
				closed = t.name()
			}
			waited = true
		}
		if closed == "" {
			return waited, nil
		}
		turns.Leave(ctx)
		if timer == nil {
			timer = time.NewTimer(w.cfg.ClosedWait)
			defer timer.Stop()
		}
		select {
		case <-changed:
		case <-timer.C:
			return true, errs.New(errs.TableUnavailable, "the rows of table %s are being handed over to other shards; retry",
				closed).WithRetryAfter(time.Second)
		case <-ctx.Done():
			return true, errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(),
				"the rows of table %s are being handed over to other shards", closed)
		}
	}
}

// stale returns the name of a table to which writing failed, and whether the definition of such a table has changed
// since its rows were sent. It looks at all targets that failed.
func (w *Writer) stale(req *request) (name string, newer bool) {
	for _, t := range req.pending() {
		if !slices.ContainsFunc(t.jobs, func(j *job) bool { return j.err != nil }) {
			continue
		}
		name = t.name()
		now, ok := w.cfg.Meta.Table(t.rows.Database, t.rows.Table)
		if !ok || now.ID != t.table.ID || now.Version != t.table.Version || now.Writable().Epoch != t.table.Writable().Epoch {
			return name, true
		}
	}
	return name, false
}
