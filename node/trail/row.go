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
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/router/audit"
)

// MetadataNode is the node in the rows of the metadata log.
const MetadataNode = "(metadata)"

// Row is a row of svc_private.audit.
type Row struct {
	// Time is in nanoseconds of Unix time. The ids of a node increase; for the metadata log they are indexes of
	// commands.
	Time       int64  `json:"ts"`
	Node       string `json:"node"`
	ID         int64  `json:"id"`
	Principal  string `json:"principal"`
	Auth       string `json:"auth"`
	TokenID    string `json:"token_id"`
	Address    string `json:"address"`
	Action     string `json:"action"`
	ObjectKind string `json:"object_kind"`
	Database   string `json:"database"`
	Object     string `json:"object"`
	Statement  string `json:"statement"`
	Outcome    string `json:"outcome"`
	Code       int64  `json:"code"`
	Message    string `json:"message"`
	RequestID  string `json:"request_id"`
	// Chain is the hexadecimal SHA-256 of the chain of the node's row before, and of this row.
	Chain string `json:"chain"`
}

func newRow(at time.Time, r *metapb.AuditRecord) Row {
	return Row{
		Time: at.UnixNano(), Principal: r.GetPrincipal(), Auth: r.GetAuth(), TokenID: r.GetTokenId(),
		Address: r.GetAddress(), Action: r.GetAction(), ObjectKind: r.GetObjectKind(), Database: r.GetDatabase(),
		Object: r.GetObject(), Statement: r.GetStatement(), Message: r.GetMessage(), RequestID: r.GetRequestId(),
		Outcome: audit.OK,
	}
}

// Link returns the chain value of r after a row with the chain value before. The first row of a node has before "".
func (r Row) Link(before string) string {
	r.Chain = before
	text, err := json.Marshal(r)
	if err != nil {
		return "" // never happens: the fields are texts and numbers
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// size is about how many bytes r needs in memory.
func (r *Row) size() int {
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

// values returns the values of r in the order of columns: texts and integers.
func (r *Row) values() []any {
	return []any{
		r.Time, r.Node, r.ID, r.Principal, r.Auth, r.TokenID, r.Address, r.Action, r.ObjectKind, r.Database, r.Object,
		r.Statement, r.Outcome, r.Code, r.Message, r.RequestID, r.Chain,
	}
}
