package query

import (
	"context"
	"net/http"
	"slices"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/audit"
	"cordwood/router/query/statement"
)

// recordRead records that a statement reads a table of a database with the option audit.reads, or was refused to. There
// is one record for each statement, with the first such table. err is the error for the table named last.
func (r *reader) recordRead(ctx context.Context, sql string, req *Request, names []*shardpb.TableName, err error) {
	if req.readRecorded || err != nil && errs.From(err).Status() != http.StatusForbidden {
		return
	}
	for _, name := range names {
		d, ok := r.meta.Database(name.Database)
		if !ok || d.GetOptions()[schema.OptionAuditReads] != "true" {
			continue
		}
		req.readRecorded = true
		r.changes.Record(ctx, audit.Change{
			By: access.From(ctx), Need: reads(name.Database, name.Name), Statement: sql, Err: err,
		})
		return
	}
}

// endsReads reports whether a statement ends the records of reads of a database. The owner of the database needs
// readsNeed for it, because the records are about the owner, too.
func endsReads(st *statement.AlterDatabase) bool {
	for _, o := range st.Set {
		if key := optionKey(o.Key); key == schema.OptionAuditReads {
			if value, err := schema.DatabaseOption(key, o.Value); err != nil || value != "true" {
				return true
			}
		}
	}
	return slices.ContainsFunc(st.Unset, func(key string) bool { return optionKey(key) == schema.OptionAuditReads })
}

func readsNeed(database string) access.Need {
	return access.Need{
		Privilege: access.ReadAudit, Action: "end the records of reads (" + schema.OptionAuditReads + ") of",
		Object: access.Object{Kind: access.Database, Database: database},
	}
}
