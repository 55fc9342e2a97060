package meta

import (
	"maps"
	"slices"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// This file prepares commands about databases.

// checkDatabase refuses a database that users may not change.
func checkDatabase(name string) error {
	if schema.ReservedDatabase(name) {
		return errs.New(errs.InvalidArguments, "Database `%s` is reserved for the server and cannot be changed", name)
	}
	return nil
}

func prepareCreateDatabase(d *metapb.CreateDatabase) error {
	if err := schema.CheckDatabaseName(d.Name); err != nil {
		return err
	}
	if err := checkDatabase(d.Name); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(d.Options)) {
		if schema.IsQuota(key) {
			return errs.New(errs.InvalidArguments, "Database `%s` cannot be created with option `%s`; set quotas of a database "+
				"that exists, with ALTER DATABASE", d.Name, key)
		}
		if !isDatabaseOption(key) {
			return unknownOption(d.Name, key)
		}
		normal, err := schema.DatabaseOption(key, d.Options[key])
		if err != nil {
			return err
		}
		d.Options[key] = normal
	}
	return nil
}

func prepareAlterDatabase(d *metapb.AlterDatabase) error {
	if err := checkDatabase(d.Name); err != nil {
		return err
	}
	for _, key := range append(slices.Sorted(maps.Keys(d.Set)), d.Unset...) {
		if schema.IsQuota(key) {
			if err := schema.CheckQuota(key); err != nil {
				return err
			}
			continue
		}
		if !isDatabaseOption(key) {
			return unknownOption(d.Name, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(d.Set)) {
		if schema.IsQuota(key) {
			normal, err := schema.NormalizeQuota(key, d.Set[key])
			if err != nil {
				return err
			}
			d.Set[key] = normal
			continue
		}
		normal, err := schema.DatabaseOption(key, d.Set[key])
		if err != nil {
			return err
		}
		d.Set[key] = normal
	}
	return nil
}

func isDatabaseOption(key string) bool {
	return key == schema.OptionTTL || key == schema.OptionAuditReads
}

func unknownOption(database, key string) error {
	return errs.New(errs.InvalidArguments, "Unknown option `%s` of database `%s`; known are ttl, audit.reads and the "+
		"quotas", key, database)
}

func prepareDropDatabase(d *metapb.DropDatabase) error {
	if err := checkDatabase(d.Name); err != nil {
		return err
	}
	if d.Name == schema.DefaultDatabase {
		return errs.New(errs.InvalidArguments,
			"Database `%s` is the default database and cannot be dropped; drop its tables", d.Name)
	}
	return nil
}
