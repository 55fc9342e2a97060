package meta

import (
	"cordwood/meta/catalog"
	"cordwood/proto/errs"
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
	// The search stops at the limit, so a flood of refused tables costs no more with many tables.
	have := more
	if limit > 0 {
		have += uint64(len(tx.Tables.InDatabase(d.Name, int(limit))))
	}
	if have < limit {
		return nil
	}
	return errs.New(errs.RateLimited, "Table `%s` cannot be created: database `%s` has used up its quota of %d tables "+
		"(%s); drop tables, or ask an operator for a higher quota", catalog.TableName(d.Name, name), d.Name, limit,
		schema.QuotaTables)
}

// checkColumnQuota refuses a table that has grown beyond the quota of its database.
func checkColumnQuota(d *schemapb.Database, t *schemapb.Table) error {
	limit, ok := schema.Quota(d.GetOptions(), schema.QuotaColumns)
	if !ok || uint64(len(t.Columns)) <= limit {
		return nil
	}
	return errs.New(errs.RateLimited, "Table `%s` would have %d columns, and the quota of its database is %d for each "+
		"table (%s); send fewer fields, or ask an operator for a higher quota", catalog.TableName(t.Database, t.Name),
		len(t.Columns), limit, schema.QuotaColumns)
}

// columnFits refuses a table that has another column beyond the quota of its database.
func columnFits(tx *catalog.Tx, t *schemapb.Table) error {
	d, err := needDatabase(tx, t.Database)
	if err != nil {
		return err
	}
	return checkColumnQuota(d, t)
}
