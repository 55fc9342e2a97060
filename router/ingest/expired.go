package ingest

import (
	"math"

	"cordwood/proto/schema"
	"cordwood/router/pipeline"
)

// maxExpiredTables limits the number of tables with expired rows that one answer lists.
const maxExpiredTables = 4

// ExpiredRows returns the number of rows of a batch that are older than the ttl of their table, and warnings for
// the client, because queries will not find these rows.
func ExpiredRows(out *pipeline.Output) (n int, warnings []string) {
	for _, t := range out.Tables {
		if t.Expired == 0 || t.Discard {
			continue
		}
		if n += t.Expired; len(warnings) < maxExpiredTables {
			warnings = append(warnings, t.ExpiredWarning())
		}
	}
	return n, warnings
}

// columnQuota returns the number of columns that a database allows for each table; 0 if there is no limit.
func columnQuota(catalog Catalog, name string) int {
	db, ok := catalog.Database(name)
	if !ok {
		return 0
	}
	limit, _ := schema.Quota(db.Options, schema.QuotaColumns)
	return int(min(limit, math.MaxInt32))
}

// DatabaseTTL returns the ttl of a database, or "" if there is none.
func DatabaseTTL(catalog Catalog, name string) string {
	if db, ok := catalog.Database(name); ok {
		return db.Options[schema.OptionTTL]
	}
	return ""
}
