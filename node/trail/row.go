// Package trail stores the records of audit in the table svc_private.audit.
//
// A Trail stores the records that a node makes: it takes them into a queue, appends them to files below
// DATA_DIR/audit/, and writes them from there to the table. A Keeper stores the records that the commands of the
// metadata log carry, on the node of the group's leader. Neither makes any request wait. If the table cannot be
// written, records remain in the files, up to a limit; beyond it they are lost and counted.
//
// The time and the id of a record are fixed before it is first written, and rows of the table with the same node, id
// and time replace each other. So a record can be written again when the outcome of a write is unknown, and is in the
// table once.
package trail

import (
	"time"

	"cordwood/proto/auditrow"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/router/audit"
)

// MetadataNode is the node in the rows of the metadata log.
const MetadataNode = "(metadata)"

// Row is a row of the table.
type Row = auditrow.Row

func newRow(at time.Time, r *metapb.AuditRecord) Row {
	return Row{
		Time: at.UnixNano(), Principal: r.GetPrincipal(), Auth: r.GetAuth(), TokenID: r.GetTokenId(),
		Address: r.GetAddress(), Action: r.GetAction(), ObjectKind: r.GetObjectKind(), Database: r.GetDatabase(),
		Object: r.GetObject(), Statement: r.GetStatement(), Message: r.GetMessage(), RequestID: r.GetRequestId(),
		Outcome: audit.OK,
	}
}

// sizeOf is about how many bytes r needs in memory.
func sizeOf(r *Row) int {
	return 256 + len(r.Statement) + len(r.Message) + len(r.Principal) + len(r.Object) + len(r.Database) + len(r.RequestID)
}

// columns are the columns of the table, in the order of fields.
var columns = []schema.Column{
	{Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true},
	{Name: "node", Type: schema.String, Semantic: schema.Tag},
	{Name: "id", Type: schema.Int64, Semantic: schema.Tag},
	{Name: "principal", Type: schema.String, Semantic: schema.Field},
	{Name: "auth", Type: schema.String, Semantic: schema.Field},
	{Name: "token_id", Type: schema.String, Semantic: schema.Field},
	{Name: "address", Type: schema.String, Semantic: schema.Field},
	{Name: "action", Type: schema.String, Semantic: schema.Field},
	{Name: "object_kind", Type: schema.String, Semantic: schema.Field},
	{Name: "database", Type: schema.String, Semantic: schema.Field},
	{Name: "object", Type: schema.String, Semantic: schema.Field},
	{Name: "statement", Type: schema.String, Semantic: schema.Field},
	{Name: "outcome", Type: schema.String, Semantic: schema.Field},
	{Name: "code", Type: schema.Int64, Semantic: schema.Field},
	{Name: "message", Type: schema.String, Semantic: schema.Field},
	{Name: "request_id", Type: schema.String, Semantic: schema.Field},
	{Name: "chain", Type: schema.String, Semantic: schema.Field},
}

// valuesOf returns the values of r in the order of columns: texts and integers.
func valuesOf(r *Row) []any {
	return []any{
		r.Time, r.Node, r.ID, r.Principal, r.Auth, r.TokenID, r.Address, r.Action, r.ObjectKind, r.Database, r.Object,
		r.Statement, r.Outcome, r.Code, r.Message, r.RequestID, r.Chain,
	}
}
