package meta

import (
	"maps"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
)

// This file applies commands about databases.

// needDatabase returns the database, or an error if it does not exist.
func needDatabase(tx *catalog.Tx, name string) (*schemapb.Database, error) {
	d, err := tx.Databases.Get(name)
	if err == nil && d == nil {
		err = errs.New(errs.DatabaseNotFound, "Database `%s` not found", name)
	}
	return d, err
}

func applyCreateDatabase(tx *catalog.Tx, cmd *metapb.CreateDatabase, now int64, c *change) (*metapb.Result, error) {
	had, err := tx.Databases.Get(cmd.Name)
	if err != nil {
		return nil, err
	}
	if had != nil {
		if cmd.IfNotExists {
			return &metapb.Result{}, nil
		}
		return nil, errs.New(errs.DatabaseAlreadyExists, "Database `%s` already exists", cmd.Name)
	}
	if tx.Databases.Count() >= catalog.MaxDatabases {
		return nil, errs.New(errs.InvalidArguments,
			"Database `%s` cannot be created: there are %d, the most that are allowed", cmd.Name, catalog.MaxDatabases)
	}
	d := &schemapb.Database{Name: cmd.Name, Options: cmd.Options, CreatedUnixNano: now}
	if err := tx.Databases.Create(d); err != nil {
		return nil, err
	}
	c.Databases = []*schemapb.Database{d}
	return &metapb.Result{}, nil
}

// applyAlterDatabase changes options. They apply at once to tables without their own ttl.
func applyAlterDatabase(tx *catalog.Tx, cmd *metapb.AlterDatabase, c *change) (*metapb.Result, error) {
	d, err := needDatabase(tx, cmd.Name)
	if err != nil {
		return nil, err
	}
	options := maps.Clone(d.Options)
	if options == nil {
		options = map[string]string{}
	}
	maps.Copy(options, cmd.Set)
	for _, key := range cmd.Unset {
		delete(options, key)
	}
	if maps.Equal(options, d.Options) {
		return &metapb.Result{}, nil
	}
	d.Options = options
	c.Databases = []*schemapb.Database{d}
	return &metapb.Result{}, tx.Databases.Put(d)
}

// applyDropDatabase removes a database, with its tables if cascade is set.
func applyDropDatabase(tx *catalog.Tx, cmd *metapb.DropDatabase, now int64, c *change) (*metapb.Result, error) {
	had, err := tx.Databases.Get(cmd.Name)
	if err != nil {
		return nil, err
	}
	if had == nil {
		if cmd.IfExists {
			return &metapb.Result{}, nil
		}
		return nil, errs.New(errs.DatabaseNotFound, "Database `%s` not found", cmd.Name)
	}
	if !cmd.Cascade && len(tx.Tables.InDatabase(cmd.Name, 1)) > 0 {
		return nil, errs.New(errs.InvalidArguments,
			"Database `%s` has tables; drop them first, or use DROP DATABASE %s CASCADE", cmd.Name, cmd.Name)
	}
	ids := tx.Tables.InDatabase(cmd.Name, 0)
	for _, id := range ids {
		t, err := tx.Tables.ByID(id)
		if err != nil {
			return nil, err
		}
		if err := dropTable(tx, t, now, c); err != nil {
			return nil, err
		}
	}
	if err := tx.Databases.Drop(cmd.Name); err != nil {
		return nil, err
	}
	also := &consequences{}
	if err := dropGrantsIn(tx, cmd.Name, c, also); err != nil {
		return nil, err
	}
	if err := dropTokensIn(tx, cmd.Name, c, also); err != nil {
		return nil, err
	}
	c.DroppedDatabases = []string{cmd.Name}
	return &metapb.Result{DroppedTables: c.DroppedTables, Consequences: also.String()}, nil
}
