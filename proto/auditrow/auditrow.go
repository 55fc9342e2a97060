// Package auditrow has the form of a row of svc_private.audit, and the hash that links it to the row before. Changing
// either changes a format: see node/trail/FORMAT.md.
package auditrow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

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
