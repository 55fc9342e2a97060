package meta

import (
	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// This file handles tables that a restore fills under temporary names and that then replace other
// tables.

// prepareReplaceTables refuses, before the log, requests that are wrong in every state, such as a
// name that occurs twice. It also ensures that applyReplaceTables checks all tables before one
// changes.
func prepareReplaceTables(r *metapb.ReplaceTables) error {
	if len(r.Tables) > maxDemands {
		return errs.New(errs.InvalidArguments,
			"Replace %d tables at once, at most %d are allowed; restore fewer at a time, by --database or --table",
			len(r.Tables), maxDemands)
	}
	if err := checkText("backup id", r.BackupId, true); err != nil {
		return err
	}
	named := map[string]bool{}
	for _, t := range r.Tables {
		if err := checkTable(t.Database, t.Name); err != nil {
			return err
		}
		if err := checkTable(t.Database, t.From); err != nil {
			return err
		}
		for _, name := range []string{t.Name, t.From} {
			full := schema.TableLabel(t.Database, name)
			if named[full] {
				return errs.New(errs.InvalidArguments, "Replace tables: `%s` is given twice", full)
			}
			named[full] = true
		}
	}
	return nil
}

// replacement is a table that gets its final name, and the table that has this name until then, or
// nil.
type replacement struct {
	as      string
	table   *schemapb.Table
	dropped *schemapb.Table
	done    bool // by an earlier proposal
}

// checkReplacement determines what a replacement changes, or refuses it.
func checkReplacement(tx *catalog.Tx, cmd *metapb.ReplaceTables, r *metapb.TableReplacement) (*replacement, error) {
	had, err := tx.Tables.ByName(r.Database, r.Name)
	if err != nil {
		return nil, err
	}
	t, err := tx.Tables.ByName(r.Database, r.From)
	if err != nil {
		return nil, err
	}
	full, from := schema.TableLabel(r.Database, r.Name), schema.TableLabel(r.Database, r.From)
	switch {
	case had != nil && schema.OriginOf(had) == r.FromId:
		return &replacement{as: r.Name, table: had, done: true}, nil
	case t == nil:
		return nil, errs.New(errs.TableNotFound, "Table `%s` not found: `%s` stays as it is", from, full)
	case schema.OriginOf(t) != r.FromId || t.Restored.GetBackupId() != cmd.BackupId || t.Restored.Replaces != r.Name ||
		!t.Restored.Complete && !cmd.WithoutRows:
		return nil, errs.New(errs.InvalidArguments,
			"Table `%s` is not a complete copy of `%s` from backup %s: `%s` stays as it is", from, full, cmd.BackupId, full)
	case had != nil && schema.OriginOf(had) != r.ReplacedId:
		return nil, errs.New(errs.TableAlreadyExists,
			"Table `%s` was created or truncated while the backup was restored, so it is not replaced; drop it and try "+
				"again", full)
	}
	return &replacement{as: r.Name, table: t, dropped: had}, nil
}

// applyReplaceTables drops the tables whose names the restored ones get, and renames the restored
// ones: all of them or none.
func applyReplaceTables(tx *catalog.Tx, cmd *metapb.ReplaceTables, now int64, c *change) (*metapb.Result, error) {
	var all []*replacement
	for _, t := range cmd.Tables {
		r, err := checkReplacement(tx, cmd, t)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	result := &metapb.Result{}
	for _, r := range all {
		result.Tables = append(result.Tables, r.table)
		if r.done {
			continue
		}
		if r.dropped != nil {
			if err := dropTable(tx, r.dropped, now, c); err != nil {
				return nil, err
			}
		}
		from := r.table.Name
		r.table.Name = r.as
		r.table.Version++
		r.table.Restored.Replaces = ""
		if cmd.WithoutRows {
			r.table.Restored = nil
		}
		if err := tx.Tables.Rename(r.table, from); err != nil {
			return nil, err
		}
		c.Tables = append(c.Tables, r.table)
	}
	result.DroppedTables = c.DroppedTables
	return result, nil
}
