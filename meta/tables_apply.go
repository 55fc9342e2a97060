package meta

import (
	"fmt"
	"slices"
	"strconv"

	"cordwood/meta/catalog"
	"cordwood/meta/placement"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// This file applies commands about tables.

// maxConflicts is the maximum number of conflicts in an answer.
const maxConflicts = 64

// conflictError is the error for columns that disagree with the columns of a table.
type conflictError struct {
	refusal   *errs.Error
	conflicts []*metapb.Conflict
}

func (e *conflictError) Error() string { return e.refusal.Msg }
func (e *conflictError) Unwrap() error { return e.refusal }

func newConflictError(conflicts []*metapb.Conflict) *conflictError {
	text := catalog.ConflictText(conflicts[0])
	if n := len(conflicts); n > 1 {
		text += fmt.Sprintf(" (and %d more)", n-1)
	}
	return &conflictError{
		refusal:   errs.New(errs.InvalidArguments, "Column type or semantic mismatch, %s", text),
		conflicts: conflicts[:min(len(conflicts), maxConflicts)],
	}
}

// draft is a table that a command is about to create or change.
type draft struct {
	table   *schemapb.Table
	created bool
	changed bool
}

// ensure collects the changes of an EnsureSchema in memory. Nothing is written before all demands
// have been found possible.
type ensure struct {
	tx     *catalog.Tx
	now    int64
	loads  []placement.Load
	byName map[string]*draft
	order  []*draft
	made   uint64
	limit  uint64 // maximum number of tables
	// databases are the databases of the demands, and madeIn the numbers of new tables in them.
	databases map[string]*schemapb.Database
	madeIn    map[string]uint64
	// private means that the database svc_private has to be created.
	private bool
}

func newEnsure(tx *catalog.Tx, now int64, limit uint64, loads []placement.Load) *ensure {
	return &ensure{
		tx: tx, now: now, limit: limit, loads: loads, byName: map[string]*draft{},
		databases: map[string]*schemapb.Database{}, madeIn: map[string]uint64{},
	}
}

// applyEnsureSchema creates the missing tables and adds the missing columns of all demands, or
// refuses them all.
func applyEnsureSchema(
	tx *catalog.Tx, cmd *metapb.EnsureSchema, limit uint64, now int64, c *change,
) (*metapb.Result, error) {
	shards, err := loads(tx)
	if err != nil {
		return nil, err
	}
	e := newEnsure(tx, now, limit, shards)
	result, err := e.all(cmd)
	if err != nil {
		return nil, err
	}
	if e.private {
		db := &schemapb.Database{Name: schema.PrivateDatabase, CreatedUnixNano: now}
		if err := tx.Databases.Create(db); err != nil {
			return nil, err
		}
		c.Databases = []*schemapb.Database{db}
	}
	for _, d := range e.order {
		switch {
		case d.created:
			id, err := tx.Tables.NextID()
			if err != nil {
				return nil, err
			}
			d.table.Id = id
			if err := tx.Tables.Create(d.table); err != nil {
				return nil, err
			}
		case d.changed:
			d.table.Version++
			if err := tx.Tables.Put(d.table); err != nil {
				return nil, err
			}
		default:
			continue
		}
		c.Tables = append(c.Tables, d.table)
	}
	return result, nil
}

// all drafts the changes that a command demands. Its result has the drafts.
func (e *ensure) all(cmd *metapb.EnsureSchema) (*metapb.Result, error) {
	result := &metapb.Result{}
	var conflicts []*metapb.Conflict
	for _, d := range cmd.Tables {
		draft, clash, err := e.demand(d)
		if err != nil {
			return nil, err
		}
		conflicts = append(conflicts, clash...)
		if draft != nil {
			result.Tables = append(result.Tables, draft.table)
		}
	}
	if len(conflicts) > 0 {
		return nil, newConflictError(conflicts)
	}
	return result, nil
}

// demand changes the draft of one table as demanded.
func (e *ensure) demand(d *metapb.TableDemand) (*draft, []*metapb.Conflict, error) {
	key := demandKey(d)
	t := e.byName[key]
	if t == nil {
		if err := e.database(d); err != nil {
			return nil, nil, err
		}
		table, err := e.tx.Tables.ByName(d.Database, d.Name)
		if err != nil {
			return nil, nil, err
		}
		if table == nil {
			if table, err = e.create(d); err != nil {
				return nil, nil, err
			}
			t = &draft{table: table, created: true}
		} else {
			t = &draft{table: table}
		}
		e.byName[key] = t
		e.order = append(e.order, t)
	}
	had := len(t.table.Columns)
	added, changed, conflicts := catalog.Grow(t.table, d.Columns, e.tx.ClusterVersion() >= metapb.ProtocolWidening)
	if len(conflicts) > 0 {
		return nil, conflicts, nil
	}
	if added > 0 {
		if d.NoCreate {
			return nil, nil,
				errs.New(errs.InvalidArguments,
					"Column `%s` of table `%s` does not exist, and `auto_create_table` hint is disabled",
					t.table.Columns[had].Name, schema.TableLabel(d.Database, d.Name))
		}
	}
	t.changed = t.changed || changed
	if err := catalog.CheckColumnCount(t.table); err != nil {
		return nil, nil, err
	}
	if added > 0 || t.created {
		err := checkColumnQuota(e.databases[d.Database], t.table)
		return t, nil, err
	}
	return t, nil, nil
}

// database refuses a demand for a database that does not exist. The database of the server's own
// tables is created with its first table.
func (e *ensure) database(d *metapb.TableDemand) error {
	if e.databases[d.Database] != nil {
		return nil
	}
	had, err := e.tx.Databases.Get(d.Database)
	switch {
	case err != nil:
		return err
	case had != nil:
		e.databases[d.Database] = had
		return nil
	case d.Internal && d.Database == schema.PrivateDatabase:
		e.private = true
		return nil
	}
	return errs.New(errs.DatabaseNotFound, "Database `%s` not found", d.Database)
}

// create drafts a table that is missing.
func (e *ensure) create(d *metapb.TableDemand) (*schemapb.Table, error) {
	if d.NoCreate {
		return nil, errs.New(errs.InvalidArguments,
			"Table `%s` does not exist, and `auto_create_table` hint is disabled", d.Name)
	}
	if err := catalog.CheckColumns(d.Database, d.Name, d.Columns, true); err != nil {
		return nil, err
	}
	if err := checkTableCount(e.tx, e.made, e.limit, d.Database, d.Name); err != nil {
		return nil, err
	}
	if err := checkTableQuota(e.tx, e.databases[d.Database], e.madeIn[d.Database], d.Name); err != nil {
		return nil, err
	}
	t := catalog.NewTable(d.Database, d.Name, d.Columns, d.Options, e.now)
	if err := place(t, e.loads); err != nil {
		return nil, err
	}
	e.made++
	e.madeIn[d.Database]++
	return t, nil
}

// checkTableCount refuses a table beyond the limit. more tables are drafted already.
func checkTableCount(tx *catalog.Tx, more, limit uint64, database, name string) error {
	if tx.Tables.Count()+more >= limit {
		return errs.New(errs.InvalidArguments, "Table `%s` cannot be created: there are %d tables, the maximum "+
			"(--max-tables); drop some, or write to fewer",
			schema.TableLabel(database, name), limit)
	}
	return nil
}

// tableLimit returns the maximum number of tables after the command. The command contains it, so
// that a setting of one member does not make it decide differently from the others.
func tableLimit(cmd *metapb.Command) uint64 {
	if cmd.MaxTables > 0 {
		return uint64(cmd.MaxTables)
	}
	return catalog.MaxTables
}

// place assigns a new table to its shards and counts it there: to one, or to the number in its
// option partitions, as far as they exist.
func place(t *schemapb.Table, loads []placement.Load) error {
	first, ok := placement.Pick(loads, t.Database, t.Name)
	if !ok {
		return errs.New(errs.ShardNotReady, "Table `%s` cannot be created yet: the cluster has no shard and waits "+
			"for shard nodes; start them, and try again", schema.TableLabel(t.Database, t.Name))
	}
	p := &schemapb.Placement{Epoch: 1, ShardId: first}
	rest := loads
	for want, _ := strconv.Atoi(t.Options[schema.OptionPartitions]); want > 1; want-- { // auto: one
		last := catalog.LastShard(p)
		rest = slices.DeleteFunc(slices.Clone(rest), func(l placement.Load) bool { return l.ShardID == last })
		next, ok := placement.Pick(rest, t.Database, t.Name)
		if !ok {
			break
		}
		p.MoreShards = append(p.MoreShards, next)
	}
	t.Placement = []*schemapb.Placement{p}
	for i := range loads {
		if slices.Contains(catalog.Writable(t), loads[i].ShardID) {
			loads[i].Tables++
		}
	}
	return nil
}

// needTable returns the table, or an error if it does not exist.
func needTable(tx *catalog.Tx, database, name string) (*schemapb.Table, error) {
	if _, err := needDatabase(tx, database); err != nil {
		return nil, err
	}
	t, err := tx.Tables.ByName(database, name)
	if err == nil && t == nil {
		err = errs.New(errs.TableNotFound, "Table `%s` not found", schema.TableLabel(database, name))
	}
	return t, err
}

func applyCreateTable(
	tx *catalog.Tx, cmd *metapb.CreateTable, limit uint64, now int64, c *change,
) (*metapb.Result, error) {
	database, name := cmd.Table.Database, cmd.Table.Name
	d, err := needDatabase(tx, database)
	if err != nil {
		return nil, err
	}
	had, err := tx.Tables.ByName(database, name)
	if err != nil {
		return nil, err
	}
	if had != nil {
		if cmd.IfNotExists {
			return &metapb.Result{Tables: []*schemapb.Table{had}}, nil
		}
		return nil, errs.New(errs.TableAlreadyExists, "Table `%s` already exists", schema.TableLabel(database, name))
	}
	if err := checkTableCount(tx, 0, limit, database, name); err != nil {
		return nil, err
	}
	if cmd.Table.Restored == nil { // the marks of a restored table come from the backup
		markNew(tx, cmd.Table.Columns)
	}
	if err := checkTableQuota(tx, d, 0, name); err != nil {
		return nil, err
	}
	t := catalog.NewTable(database, name, cmd.Table.Columns, cmd.Table.Options, now)
	if err := checkColumnQuota(d, t); err != nil {
		return nil, err
	}
	if r := cmd.Table.Restored; r != nil {
		t.Restored = &schemapb.Restored{BackupId: r.BackupId, Replaces: r.Replaces}
	}
	shards, err := loads(tx)
	if err != nil {
		return nil, err
	}
	if err := place(t, shards); err != nil {
		return nil, err
	}
	if t.Id, err = tx.Tables.NextID(); err != nil {
		return nil, err
	}
	c.Tables = []*schemapb.Table{t}
	return &metapb.Result{Tables: c.Tables}, tx.Tables.Create(t)
}

// markNew marks columns without rows as WithinDouble where possible.
func markNew(tx *catalog.Tx, columns []*schemapb.Column) {
	if tx.ClusterVersion() < metapb.ProtocolWidening {
		return
	}
	for _, c := range columns {
		c.WithinDouble = true
	}
}
