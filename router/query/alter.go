package query

import (
	"fmt"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/router/query/statement"
)

func (s *Service) alterTable(st *statement.AlterTable, database string) (*metapb.Command, error) {
	t, err := s.writable(st.Name, database)
	if err != nil {
		return nil, err
	}
	a := &metapb.AlterTable{Database: t.Database, Name: t.Name}
	switch {
	case st.Add != nil:
		if t.Column(st.Add.Name) != nil && st.AddIfNotExists {
			return nil, nil
		}
		c, err := addedColumn(t, st.Add)
		if err != nil {
			return nil, err
		}
		if len(t.Columns) >= s.cfg.MaxColumns {
			return nil, errs.New(errs.InvalidArguments, "table %s.%s has %d columns, which is as many as a table can have (--max-columns)",
				t.Database, t.Name, len(t.Columns))
		}
		a.Change = &metapb.AlterTable_AddColumn{AddColumn: c.ToProto()}
	case st.Drop != "":
		if t.Column(st.Drop) == nil {
			if st.DropIfExists {
				return nil, nil
			}
			return nil, columnNotFound(t, st.Drop)
		}
		a.Change = &metapb.AlterTable_DropColumn{DropColumn: st.Drop}
	case st.Set != nil:
		options, err := optionMap(st.Set)
		if err != nil {
			return nil, err
		}
		for key, value := range options {
			if err := changeable(key); err != nil {
				return nil, err
			}
			if options[key], err = schema.NormalizeOption(key, value); err != nil {
				return nil, err
			}
		}
		if _, set := options[schema.OptionMergeMode]; !set && options[schema.OptionAppendMode] == "true" && t.MergeMode() != schema.MergeLastRow {
			// A table that keeps every row merges none.
			options[schema.OptionMergeMode] = schema.MergeLastRow
		}
		a.Change = &metapb.AlterTable_SetOptions{SetOptions: &metapb.SetOptions{Options: options}}
	case st.Unset != nil:
		keys := make([]string, len(st.Unset))
		for i, key := range st.Unset {
			keys[i] = optionKey(key)
			if err := changeable(keys[i]); err != nil {
				return nil, err
			}
		}
		a.Change = &metapb.AlterTable_UnsetOptions{UnsetOptions: &metapb.UnsetOptions{Keys: keys}}
	case st.RenameColumn != "":
		if t.Column(st.RenameColumn) == nil {
			return nil, columnNotFound(t, st.RenameColumn)
		}
		if err := schema.CheckColumnName(st.RenameColumnTo); err != nil {
			return nil, err
		}
		a.Change = &metapb.AlterTable_RenameColumn{RenameColumn: &metapb.RenameColumn{From: st.RenameColumn, To: st.RenameColumnTo}}
	case st.Modify != nil:
		change, err := modifiedIndex(t, st.Modify)
		if err != nil {
			return nil, err
		}
		a.Change = &metapb.AlterTable_ModifyIndex{ModifyIndex: change}
	default:
		if err := schema.CheckTableName(st.RenameTo); err != nil {
			return nil, err
		}
		a.Change = &metapb.AlterTable_RenameTo{RenameTo: st.RenameTo}
	}
	return &metapb.Command{Op: &metapb.Command_AlterTable{AlterTable: a}}, nil
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
		return c, errs.New(errs.InvalidArguments, "table %s.%s has its time index already: %q", t.Database, t.Name, t.TimeIndex().Name)
	case c.NotNull && c.Default == nil:
		return c, errs.New(errs.InvalidArguments, "column %q cannot be added as NOT NULL without a DEFAULT: the rows that exist have no value for it", c.Name)
	case c.NotNull && !showsDefault(&c, def):
		return c, errs.New(errs.InvalidArguments, "column %q cannot be added as NOT NULL: the rows that exist cannot show a default in a tag, a TIMESTAMP or a BINARY; add it without NOT NULL", c.Name)
	}
	if def.PrimaryKey {
		c.Semantic = schema.Tag
	}
	if c.Default != nil && !def.Null && showsDefault(&c, def) {
		// The rows that exist are to show the default. In segments they are told from others by having no value, so
		// that no later row may be null.
		c.NotNull = true
	}
	return c, nil
}

// showsDefault tells whether rows that are older than a column can show its default.
func showsDefault(c *schema.Column, def *statement.ColumnDef) bool {
	return !def.PrimaryKey && !c.Type.IsTimestamp() && c.Type != schema.Binary
}

// defaultWarnings says that the rows that exist do not show the default of a column that is added.
func defaultWarnings(t *schema.Table, def *statement.ColumnDef) []string {
	c, err := addedColumn(t, def)
	if err != nil || c.Default == nil || c.NotNull {
		return nil
	}
	why := "it may be NULL"
	if !showsDefault(&c, def) {
		why = "a tag, a TIMESTAMP and a BINARY cannot show another value"
	}
	return []string{fmt.Sprintf("rows that exist in table %s.%s are null in column %s, not %s: %s", t.Database, t.Name, c.Name, *c.Default, why)}
}

// changeable refuses options that are no property of a table.
func changeable(key string) error {
	if key == schema.OptionAutoCreateTable {
		return errs.New(errs.InvalidArguments, "%s is said with a write; it is no property of a table", key)
	}
	if _, ok := schema.OptionName(key); !ok {
		_, err := schema.NormalizeOption(key, "")
		return err
	}
	return nil
}

func columnNotFound(t *schema.Table, name string) error { return findNoColumn(t, name, true) }

// findNoColumn is columnNotFound for a sender who may get suggestions, or not.
func findNoColumn(t *schema.Table, name string, suggest bool) error {
	var names []string
	if suggest {
		for _, c := range t.Columns {
			names = append(names, c.Name)
		}
	}
	return errs.New(errs.ColumnNotFound, "table %s.%s has no column %q%s", t.Database, t.Name, name, didYouMean(name, names))
}
