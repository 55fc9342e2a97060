package query

import (
	"context"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// alterTable changes a table.
func (s *Service) alterTable(ctx context.Context, st *statement.AlterTable, req *Request) (res Result, err error) {
	d := s.definer.of(ctx)
	if st.RenameTo != "" {
		if err := permitRename(access.From(ctx), st, req.Database); err != nil {
			return res, err
		}
	}
	res.Warnings = d.alterTableWarnings(st, req.Database)
	if st.Modify != nil && st.Modify.Type != "" {
		return res, s.modifyType(ctx, st, req.Database)
	}
	cmd, err := d.alterTable(st, req.Database)
	if err != nil {
		return res, err
	}
	if st.RenameTo != "" {
		cmd.Issuer = access.From(ctx).Issuer(renameNeeds(st, req.Database)...)
	}
	return res, s.propose(ctx, cmd)
}

// renameNeeds returns what ALTER TABLE … RENAME TO needs besides ALTER.
func renameNeeds(st *statement.AlterTable, database string) []access.Need {
	from := objectOf(st, database)
	from.Kind = access.Table
	to := from
	to.Name = st.RenameTo
	return []access.Need{
		{Privilege: access.Drop, Action: "rename table", Object: from},
		{Privilege: access.Create, Action: "rename a table to", Object: to},
	}
}

// permitRename returns an error if the caller may not give a table another name. That needs DROP on the old name and
// CREATE on the new one, and the caller must not gain a privilege on the rows.
func permitRename(caller *access.Caller, st *statement.AlterTable, database string) error {
	needs := renameNeeds(st, database)
	from, to := needs[0].Object, needs[1].Object
	for _, need := range needs {
		if err := caller.Require(need); err != nil {
			return err
		}
	}
	if g := caller.Grants; g != nil {
		more := g.OnTable(to.Database, to.Name) &^ g.OnTable(from.Database, from.Name)
		if more != 0 {
			return errs.New(errs.PermissionDenied, "%s may not rename table %s to %s: %s would gain %s on its rows", caller.User,
				from, to, caller.User, more)
		}
	}
	return nil
}

// alterTable returns the command of ALTER TABLE, but not of MODIFY COLUMN with a type.
func (d definer) alterTable(st *statement.AlterTable, database string) (*metapb.Command, error) {
	if name := objectOf(st, database); access.IsAudit(name.Database, name.Name) {
		return d.alterAudit(st)
	}
	t, err := d.writable(st.Name, database)
	if err != nil {
		return nil, err
	}
	a := &metapb.AlterTable{Database: t.Database, Name: t.Name}
	switch {
	case st.Add != nil:
		if t.Column(st.Add.Name) != nil && st.AddIfNotExists {
			return nil, nil
		}
		err = d.addColumn(a, t, st.Add)
	case st.Drop != "":
		if t.Column(st.Drop) == nil && st.DropIfExists {
			return nil, nil
		}
		err = d.dropColumn(a, t, st.Drop)
	case st.Set != nil:
		err = setOptions(a, t, st.Set)
	case st.Unset != nil:
		err = unsetOptions(a, t, st.Unset)
	case st.RenameColumn != "":
		err = d.renameColumn(a, t, st.RenameColumn, st.RenameColumnTo)
	case st.Modify != nil:
		change, failed := d.modifiedIndex(t, st.Modify)
		a.Change, err = &metapb.AlterTable_ModifyIndex{ModifyIndex: change}, failed
	default:
		a.Change, err = &metapb.AlterTable_RenameTo{RenameTo: st.RenameTo}, schema.CheckTableName(st.RenameTo)
	}
	if err != nil {
		return nil, err
	}
	if u := a.GetUnsetOptions(); u != nil && len(u.Keys) == 0 {
		return nil, nil // all have their defaults
	}
	return &metapb.Command{Op: &metapb.Command_AlterTable{AlterTable: a}}, nil
}

// alterAudit returns the command that changes the ttl of the table with the audit records. Nothing else of it can be
// changed.
func (d definer) alterAudit(st *statement.AlterTable) (*metapb.Command, error) {
	options, err := optionMap(st.Set)
	if err != nil {
		return nil, err
	}
	ttl, ok := options[schema.OptionTTL]
	if !ok || len(options) != 1 {
		return nil, errs.New(errs.Unsupported, "only the ttl of %s.%s can be changed: ALTER TABLE %s.%s SET 'ttl' = '730d'",
			schema.PrivateDatabase, schema.AuditTable, schema.PrivateDatabase, schema.AuditTable)
	}
	if err := schema.CheckAuditTTL(ttl); err != nil {
		return nil, err
	}
	if _, ok := d.meta.Table(schema.PrivateDatabase, schema.AuditTable); !ok {
		return nil, errs.New(errs.TableNotFound, "table %s.%s does not exist yet: the first record creates it",
			schema.PrivateDatabase, schema.AuditTable)
	}
	return &metapb.Command{Op: &metapb.Command_AlterTable{AlterTable: &metapb.AlterTable{
		Database: schema.PrivateDatabase, Name: schema.AuditTable,
		Change: &metapb.AlterTable_SetOptions{SetOptions: &metapb.SetOptions{
			Options: map[string]string{schema.OptionTTL: ttl},
		}},
	}}}, nil
}

func (d definer) addColumn(a *metapb.AlterTable, t *schema.Table, def *statement.ColumnDef) error {
	c, err := addedColumn(t, def)
	if err != nil {
		return err
	}
	if len(t.Columns) >= d.maxColumns {
		return errs.New(errs.InvalidArguments,
			"table %s.%s has %d columns, which is the maximum (--max-columns)",
			t.Database, t.Name, len(t.Columns))
	}
	a.Change = &metapb.AlterTable_AddColumn{AddColumn: c.ToProto()}
	return nil
}

func (d definer) dropColumn(a *metapb.AlterTable, t *schema.Table, name string) error {
	if t.Column(name) == nil {
		return d.columnNotFound(t, name)
	}
	a.Change = &metapb.AlterTable_DropColumn{DropColumn: name}
	return nil
}

func (d definer) renameColumn(a *metapb.AlterTable, t *schema.Table, from, to string) error {
	if t.Column(from) == nil {
		return d.columnNotFound(t, from)
	}
	a.Change = &metapb.AlterTable_RenameColumn{RenameColumn: &metapb.RenameColumn{From: from, To: to}}
	return schema.CheckColumnName(to)
}

func setOptions(a *metapb.AlterTable, t *schema.Table, set []statement.Option) error {
	options, err := optionMap(set)
	if err != nil {
		return err
	}
	for key, value := range options {
		if err := changeable(key); err != nil {
			return err
		}
		if options[key], err = schema.NormalizeOption(key, value); err != nil {
			return err
		}
	}
	if _, set := options[schema.OptionMergeMode]; !set && options[schema.OptionAppendMode] == "true" &&
		t.MergeMode() != schema.MergeLastRow {
		// A table that keeps every row does not merge rows.
		options[schema.OptionMergeMode] = schema.MergeLastRow
	}
	a.Change = &metapb.AlterTable_SetOptions{SetOptions: &metapb.SetOptions{Options: options}}
	return nil
}

func unsetOptions(a *metapb.AlterTable, t *schema.Table, unset []string) error {
	var keys []string
	for _, key := range unset {
		key = optionKey(key)
		if err := changeable(key); err != nil {
			return err
		}
		if key != schema.OptionAppendMode || len(t.Tags()) > 0 {
			keys = append(keys, key)
			continue
		}
		// A table without a primary key keeps all rows by default.
		switch {
		case t.Options[key] == "true":
		case len(unset) > 1:
			return errs.New(errs.Unsupported, "UNSET of append_mode and of other options is not available in one statement "+
				"for this table; send a statement for each")
		default:
			return setOptions(a, t, []statement.Option{{Key: key, Value: "true"}})
		}
	}
	a.Change = &metapb.AlterTable_UnsetOptions{UnsetOptions: &metapb.UnsetOptions{Keys: keys}}
	return nil
}

// addedColumn checks a column for a table that has rows already.
func addedColumn(t *schema.Table, def *statement.ColumnDef) (schema.Column, error) {
	c, err := newColumn(def)
	switch {
	case err != nil:
		return c, err
	case t.Column(c.Name) != nil:
		return c, errs.New(errs.ColumnExists, "table %s.%s has a column %q already", t.Database, t.Name, c.Name)
	case def.TimeIndex:
		return c, errs.New(errs.InvalidArguments, "table %s.%s has its time index already: %q",
			t.Database, t.Name, t.TimeIndex().Name)
	case c.NotNull && c.Default == nil:
		return c, errs.New(errs.InvalidArguments,
			"column %q cannot be added as NOT NULL without a DEFAULT: the existing rows have no value for it", c.Name)
	case c.NotNull && !showsDefault(&c, def):
		return c, errs.New(errs.InvalidArguments,
			"column %q cannot be added as NOT NULL: existing rows cannot show a default in a tag, a TIMESTAMP or a "+
				"BINARY; add it without NOT NULL", c.Name)
	}
	if def.PrimaryKey {
		c.Semantic = schema.Tag
	}
	if c.Default != nil && !def.Null && showsDefault(&c, def) {
		// Existing rows must show the default. In segments they are recognised by having no value, so later rows
		// must not be null.
		c.NotNull = true
	}
	return c, nil
}

// showsDefault reports whether rows that are older than a column can show its default.
func showsDefault(c *schema.Column, def *statement.ColumnDef) bool {
	return !def.PrimaryKey && !c.Type.IsTimestamp() && c.Type != schema.Binary
}

// changeable refuses options that are not properties of a table.
func changeable(key string) error {
	if key == schema.OptionAutoCreateTable {
		return errs.New(errs.InvalidArguments, "%s is not an option of a table: a request or a pipeline sets it "+
			"with its rows, by x-svc-hints: auto_create_table=false or svc_auto_create_table", key)
	}
	if _, ok := schema.OptionName(key); !ok {
		_, err := schema.NormalizeOption(key, "")
		return err
	}
	return nil
}

// columnNotFound returns the error for a column that does not exist. It suggests names to callers who may read the
// table.
func (n names) columnNotFound(t *schema.Table, name string) error {
	return findNoColumn(t, name, n.by().May(reads(t.Database, t.Name)))
}

// findNoColumn returns the error for a column that does not exist, with suggestions if suggest is set.
func findNoColumn(t *schema.Table, name string, suggest bool) error {
	var names []string
	if suggest {
		for _, c := range t.Columns {
			names = append(names, c.Name)
		}
	}
	return errs.New(errs.ColumnNotFound, "table %s.%s has no column %q%s",
		t.Database, t.Name, name, didYouMean(name, names))
}
