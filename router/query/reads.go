package query

import (
	"context"
	"net/http"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/audit"
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
