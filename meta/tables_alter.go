package meta

import (
	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// setOptions sets options of a table. Clusters with old versions cannot give several shards to
// every kind of table.
func setOptions(tx *catalog.Tx, t *schemapb.Table, options map[string]string) (changed bool, err error) {
	changed, err = catalog.SetOptions(t, options)
	if err == nil && tx.ClusterVersion() < metapb.ProtocolHandoff {
		if err = schema.CheckPartitions(t.Options); err != nil {
			err = errs.Wrap(errs.InvalidArguments, err, "table `%s`", schema.TableLabel(t.Database, t.Name))
		}
	}
	return changed, err
}

func applyAlterTable(tx *catalog.Tx, cmd *metapb.AlterTable, c *change) (*metapb.Result, error) {
	t, err := needTable(tx, cmd.Database, cmd.Name)
	if err != nil {
		return nil, err
	}
	changed := true
	switch alter := cmd.Change.(type) {
	case *metapb.AlterTable_AddColumn:
		markNew(tx, []*schemapb.Column{alter.AddColumn})
		if err = catalog.AddColumn(t, alter.AddColumn); err == nil {
			err = columnFits(tx, t)
		}
	case *metapb.AlterTable_DropColumn:
		err = catalog.DropColumn(t, alter.DropColumn)
	case *metapb.AlterTable_SetOptions:
		changed, err = setOptions(tx, t, alter.SetOptions.GetOptions())
	case *metapb.AlterTable_UnsetOptions:
		changed, err = catalog.UnsetOptions(t, alter.UnsetOptions.GetKeys())
	case *metapb.AlterTable_RenameTo:
		return applyRename(tx, t, alter.RenameTo, c)
	case *metapb.AlterTable_RenameColumn:
		err = catalog.RenameColumn(t, alter.RenameColumn.GetFrom(), alter.RenameColumn.GetTo())
	case *metapb.AlterTable_ModifyColumn:
		changed, err = catalog.ModifyColumn(t, alter.ModifyColumn)
	case *metapb.AlterTable_ModifyIndex:
		changed, err = catalog.ModifyIndex(t, alter.ModifyIndex.GetName(), alter.ModifyIndex.GetIndex())
	case *metapb.AlterTable_RestoreComplete:
		changed, err = completeRestore(t, alter.RestoreComplete)
	default:
		return nil, errs.New(errs.InvalidArguments, "Alter table `%s`: no change is given", cmd.Name)
	}
	if err != nil {
		return nil, err
	}
	result := &metapb.Result{Tables: []*schemapb.Table{t}}
	if !changed {
		return result, nil
	}
	t.Version++
	c.Tables = result.Tables
	return result, tx.Tables.Put(t)
}

// completeRestore records that a restored table has all its rows.
func completeRestore(t *schemapb.Table, complete bool) (changed bool, err error) {
	if t.Restored == nil {
		return false, errs.New(errs.InvalidArguments, "Table `%s` is not being restored",
			schema.TableLabel(t.Database, t.Name))
	}
	changed = t.Restored.Complete != complete
	t.Restored.Complete = complete
	return changed, nil
}

func applyRename(tx *catalog.Tx, t *schemapb.Table, name string, c *change) (*metapb.Result, error) {
	had, err := tx.Tables.ByName(t.Database, name)
	if err != nil {
		return nil, err
	}
	if had != nil {
		return nil, errs.New(errs.TableAlreadyExists, "Table `%s` already exists", schema.TableLabel(t.Database, name))
	}
	oldName := t.Name
	t.Name = name
	if t.Restored.GetReplaces() != "" {
		t.Restored.Replaces = "" // a user who renames it considers it a separate table
	}
	t.Version++
	c.Tables = []*schemapb.Table{t}
	return &metapb.Result{Tables: c.Tables}, tx.Tables.Rename(t, oldName)
}

func applyDropTable(tx *catalog.Tx, cmd *metapb.DropTable, now int64, c *change) (*metapb.Result, error) {
	t, err := needTable(tx, cmd.Database, cmd.Name)
	if code := errs.CodeOf(err); cmd.IfExists && (code == errs.TableNotFound || code == errs.DatabaseNotFound) {
		return &metapb.Result{}, nil
	}
	if err != nil {
		return nil, err
	}
	err = dropTable(tx, t, now, c)
	return &metapb.Result{DroppedTables: c.DroppedTables}, err
}

// applyTruncateTable drops the table and creates it again unchanged, with a new id and on the same
// shard. Batches for the old id are refused like batches for a dropped table.
func applyTruncateTable(tx *catalog.Tx, cmd *metapb.TruncateTable, now int64, c *change) (*metapb.Result, error) {
	t, err := needTable(tx, cmd.Database, cmd.Name)
	if err != nil {
		return nil, err
	}
	if err := dropTable(tx, t, now, c); err != nil {
		return nil, err
	}
	if t.Id, err = tx.Tables.NextID(); err != nil {
		return nil, err
	}
	reopen(t, now)
	t.OriginId, t.Placement = 0, t.Placement[len(t.Placement)-1:]
	if t.Restored.GetReplaces() != "" {
		t.Restored.Complete = false // the restore that created it fills it again
	} else if t.Restored.GetComplete() {
		t.Restored = nil // its rows no longer come from the backup
	}
	c.Tables = []*schemapb.Table{t}
	return &metapb.Result{Tables: c.Tables, DroppedTables: c.DroppedTables}, tx.Tables.Create(t)
}
