package meta

import (
	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// This file prepares commands about tables.

// maxDemands is the maximum number of tables in one EnsureSchema.
const maxDemands = 10_000

// checkTable refuses a name that a table cannot have.
func checkTable(database, name string) error {
	if err := checkDatabase(database); err != nil {
		return err
	}
	return schema.CheckTableName(name)
}

// checkDemand is checkTable for a demand, which may also be for one of the server's own tables.
func checkDemand(d *metapb.TableDemand) error {
	if d.Internal && d.Database == schema.PrivateDatabase {
		return schema.CheckTableName(d.Name)
	}
	return checkTable(d.Database, d.Name)
}

// prepareEnsureSchema checks single columns, since the state machine may add any of them, and
// completes the options of tables that may be created.
func prepareEnsureSchema(e *metapb.EnsureSchema) error {
	e.Parts = nil
	if len(e.Tables) > maxDemands {
		return errs.New(errs.InvalidArguments,
			"%d tables in one request, at most %d are allowed; send fewer rows at once", len(e.Tables), maxDemands)
	}
	for _, d := range e.Tables {
		if err := checkDemand(d); err != nil {
			return err
		}
		if err := catalog.CheckColumns(d.Database, d.Name, d.Columns, false); err != nil {
			return err
		}
		options, err := schema.StoredOptions(d.Options, true)
		if err != nil {
			return err
		}
		for _, name := range schema.StatementOptions {
			if _, set := options[name]; set {
				return errs.New(errs.InvalidArguments, "table `%s`: %s is set by a statement, and not with a write",
					schema.TableLabel(d.Database, d.Name), name)
			}
		}
		d.Options = options
	}
	return nil
}

func prepareCreateTable(c *metapb.CreateTable) error {
	t := c.Table
	if t == nil {
		return errs.New(errs.InvalidArguments, "Create a table: the request has no table")
	}
	if err := checkTable(t.Database, t.Name); err != nil {
		return err
	}
	if err := catalog.CheckColumns(t.Database, t.Name, t.Columns, true); err != nil {
		return err
	}
	if r := t.Restored; r != nil {
		if err := checkText("backup id", r.BackupId, true); err != nil {
			return err
		}
		if r.Replaces != "" {
			if err := schema.CheckTableName(r.Replaces); err != nil {
				return err
			}
		}
	}
	options, err := schema.StoredOptions(t.Options, false)
	if err != nil {
		return err
	}
	t.Options = options
	return catalog.CheckColumnOptions(t)
}

func prepareAlterTable(a *metapb.AlterTable) error {
	if a.GetDatabase() == schema.PrivateDatabase && a.GetName() == schema.AuditTable {
		return prepareAuditTTL(a)
	}
	if err := checkDatabase(a.Database); err != nil {
		return err
	}
	switch change := a.Change.(type) {
	case *metapb.AlterTable_AddColumn:
		if change.AddColumn == nil {
			return errs.New(errs.InvalidArguments, "Alter table `%s`: no column is given", a.Name)
		}
		return catalog.CheckColumn(change.AddColumn)
	case *metapb.AlterTable_DropColumn:
		return nil
	case *metapb.AlterTable_SetOptions:
		return normalizeOptions(change.SetOptions.GetOptions())
	case *metapb.AlterTable_UnsetOptions:
		for _, key := range change.UnsetOptions.GetKeys() {
			if err := checkStored(key); err != nil {
				return err
			}
		}
		return nil
	case *metapb.AlterTable_RenameTo:
		return schema.CheckTableName(change.RenameTo)
	case *metapb.AlterTable_RenameColumn:
		return schema.CheckColumnName(change.RenameColumn.GetTo())
	case *metapb.AlterTable_ModifyColumn:
		m := change.ModifyColumn
		if t := schema.Type(m.GetType()); m.GetType() < 0 || m.GetType() > 255 || !t.Valid() {
			return errs.New(errs.InvalidArguments, "Column `%s`: %d is not a valid type", m.GetName(), m.GetType())
		}
		return nil
	case *metapb.AlterTable_ModifyIndex:
		if x := change.ModifyIndex.GetIndex(); x != nil && !schema.IndexKind(x.Kind).Valid() {
			return errs.New(errs.InvalidArguments, "Column `%s`: %d is not a valid index",
				change.ModifyIndex.GetName(), x.Kind)
		}
		return nil
	case *metapb.AlterTable_RestoreComplete:
		return nil
	}
	return errs.New(errs.InvalidArguments, "Alter table `%s`: no change is given", a.Name)
}

// normalizeOptions normalises the values of options that are to be set.
func normalizeOptions(options map[string]string) error {
	for key, value := range options {
		if err := checkStored(key); err != nil {
			return err
		}
		normal, err := schema.NormalizeOption(key, value)
		if err != nil {
			return err
		}
		options[key] = normal
	}
	return nil
}

// checkStored refuses an unknown option, or one that is not a property of a table.
func checkStored(key string) error {
	if key == schema.OptionAutoCreateTable {
		return errs.New(errs.InvalidArguments, "Option `%s` is given with a write and cannot be set on a table", key)
	}
	if known, ok := schema.OptionName(key); !ok || known != key {
		return errs.New(errs.InvalidArguments, "Unknown table option, key: %s", key)
	}
	return nil
}
