package meta

import (
	"cordwood/meta/catalog"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// This file compares new tables and columns with the quotas of their database. The state machine does this when it
// applies a command, so the values are exact, however many routers ask at once. A quota that is lower than the present
// value removes nothing: it refuses only what would be new.

// checkTableQuota refuses a new table beyond the quota of its database. more tables of the database are drafted
// already.
func checkTableQuota(tx *catalog.Tx, d *schemapb.Database, more uint64, name string) error {
	limit, ok := schema.Quota(d.GetOptions(), schema.QuotaTables)
	if !ok {
		return nil
	}
	if have := more + tx.Tables.CountIn(d.Name); have >= limit {
		return schema.TooManyTables(d.Name, name, limit, have)
	}
	return nil
}

// checkColumnQuota refuses a table that has grown beyond the quota of its database.
func checkColumnQuota(d *schemapb.Database, t *schemapb.Table) error {
	limit, ok := schema.Quota(d.GetOptions(), schema.QuotaColumns)
	if !ok || uint64(len(t.Columns)) <= limit {
		return nil
	}
	return schema.TooManyColumns(d.Name, t.Name, limit, uint64(len(t.Columns)))
}

// columnFits refuses a table that has another column beyond the quota of its database.
func columnFits(tx *catalog.Tx, t *schemapb.Table) error {
	d, err := needDatabase(tx, t.Database)
	if err != nil {
		return err
	}
	return checkColumnQuota(d, t)
}
