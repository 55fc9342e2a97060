package query

import (
	"context"
	"strconv"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/router/query/statement"
)

// definer converts the statements that define databases and tables to metadata commands.
type definer struct {
	names
	maxColumns int
}

// of returns a definer for the caller in ctx.
func (d definer) of(ctx context.Context) definer {
	d.names = d.names.of(ctx)
	return d
}

func (d definer) createDatabase(st *statement.CreateDatabase, _ string) (*metapb.Command, error) {
	if schema.ReservedDatabase(st.Database) {
		if st.IfNotExists {
			return nil, nil
		}
		return nil, errs.New(errs.DatabaseAlreadyExists, "database %q exists already; it belongs to the server", st.Database)
	}
	if err := schema.CheckDatabaseName(st.Database); err != nil {
		return nil, err
	}
	options, err := databaseOptions(st.Options)
	if err != nil {
		return nil, err
	}
	return &metapb.Command{Op: &metapb.Command_CreateDatabase{CreateDatabase: &metapb.CreateDatabase{
		Name: st.Database, IfNotExists: st.IfNotExists, Options: options,
	}}}, nil
}

// databaseOptions checks the options of a database.
func databaseOptions(list []statement.Option) (map[string]string, error) {
	options, err := optionMap(list)
	if err != nil {
		return nil, err
	}
	for key, value := range options {
		if options[key], err = schema.DatabaseOption(key, value); err != nil {
			return nil, err
		}
	}
	return options, nil
}

func (d definer) alterDatabase(st *statement.AlterDatabase, _ string) (*metapb.Command, error) {
	if schema.ReservedDatabase(st.Database) {
		return nil, reserved(st.Database)
	}
	if changesQuotas(st) {
		return d.alterQuotas(st)
	}
	if err := d.checkDatabase(st.Database); err != nil {
		return nil, err
	}
	a := &metapb.AlterDatabase{Name: st.Database}
	var err error
	if a.Set, err = databaseOptions(st.Set); err != nil {
		return nil, err
	}
	for _, key := range st.Unset {
		key = optionKey(key)
		if key != schema.OptionTTL && key != schema.OptionAuditReads {
			_, err := schema.DatabaseOption(key, "")
			return nil, err
		}
		a.Unset = append(a.Unset, key)
	}
	return &metapb.Command{Op: &metapb.Command_AlterDatabase{AlterDatabase: a}}, nil
}

func (d definer) dropDatabase(st *statement.DropDatabase, _ string) (*metapb.Command, error) {
	if schema.ReservedDatabase(st.Database) {
		return nil, reserved(st.Database)
	}
	return &metapb.Command{Op: &metapb.Command_DropDatabase{DropDatabase: &metapb.DropDatabase{
		Name: st.Database, IfExists: st.IfExists, Cascade: st.Cascade,
	}}}, nil
}

// target resolves the database of a table to be created, which must exist.
func (d definer) target(name statement.Name, database string) (string, error) {
	if name.Database != "" {
		database = name.Database
	}
	if schema.ReservedDatabase(database) {
		return "", reserved(database)
	}
	return database, d.checkDatabase(database)
}

func (d definer) createTable(st *statement.CreateTable, database string) (*metapb.Command, error) {
	database, err := d.target(st.Name, database)
	if err != nil {
		return nil, err
	}
	if err := schema.CheckTableName(st.Name.Table); err != nil {
		return nil, err
	}
	if len(st.Columns) > d.maxColumns {
		return nil, errs.New(errs.InvalidArguments, "CREATE TABLE %s: %d columns exceed the maximum of %d",
			st.Name.Table, len(st.Columns), d.maxColumns)
	}
	t := &schema.Table{Database: database, Name: st.Name.Table}
	if t.Columns, err = tableColumns(st); err != nil {
		return nil, err
	}
	options, err := optionMap(st.Options)
	if err != nil {
		return nil, err
	}
	if t.Options, err = schema.StoredOptions(options, false); err != nil {
		return nil, err
	}
	if t.Options[schema.OptionAppendMode] == "" {
		// Without a primary key, rows of the same time are different rows.
		t.Options[schema.OptionAppendMode] = strconv.FormatBool(len(t.Tags()) == 0)
	}
	return &metapb.Command{Op: &metapb.Command_CreateTable{CreateTable: &metapb.CreateTable{
		Table: t.ToProto(), IfNotExists: st.IfNotExists,
	}}}, nil
}

func (d definer) dropTable(st *statement.DropTable, database string) (*metapb.Command, error) {
	t, err := d.writable(st.Name, database)
	switch code := errs.CodeOf(err); {
	case st.IfExists && (code == errs.TableNotFound || code == errs.DatabaseNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &metapb.Command{Op: &metapb.Command_DropTable{DropTable: &metapb.DropTable{
		Database: t.Database, Name: t.Name, IfExists: st.IfExists,
	}}}, nil
}

func (d definer) truncateTable(st *statement.TruncateTable, database string) (*metapb.Command, error) {
	t, err := d.writable(st.Name, database)
	if err != nil {
		return nil, err
	}
	return &metapb.Command{Op: &metapb.Command_TruncateTable{TruncateTable: &metapb.TruncateTable{
		Database: t.Database, Name: t.Name,
	}}}, nil
}
