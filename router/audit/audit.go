// Package audit logs changes with their users: one line, at level info, for each change that a
// user made, tried to make, or was refused. Reading is never written down.
//
// The keys of a line are: principal, auth, address, action,
// object_kind, database, object, statement, outcome, code, message and request_id.
// A Log may be used concurrently.
package audit

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"strings"

	"cordwood/proto/errs"
	"cordwood/router/access"
)

const (
	// maxStatement bounds the text of a statement in a line, in bytes.
	maxStatement = 4 << 10
	// maxMessage bounds the text of an error in a line, in bytes.
	maxMessage = 1 << 10
)

// The outcomes of a change.
const (
	outcomeOK      = "ok"
	outcomeRefused = "refused"
	outcomeFailed  = "failed"
)

// Change is a change, or the try of one.
type Change struct {
	// By is the user who made it.
	By *access.Caller
	// Need is the action and its object.
	Need access.Need
	// Statement is the text of the statement, if there is one. Its secrets are cut out.
	Statement string
	// Message says more of a change that was made, as the version of a pipeline.
	Message string
	// Err is why it was not made; nil: it was.
	Err error
}

// Log takes changes.
type Log struct{ log *slog.Logger }

// New returns a Log that writes to log; nil discards everything.
func New(log *slog.Logger) *Log {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Log{log}
}

// Record writes c down.
func (l *Log) Record(ctx context.Context, c Change) {
	outcome, message := outcomeOK, c.Message
	if c.Err != nil {
		outcome, message = outcomeFailed, c.Err.Error()
		switch errs.From(c.Err).Status() {
		case http.StatusUnauthorized, http.StatusForbidden:
			outcome = outcomeRefused
		}
	}
	address := ""
	if c.By.Address.IsValid() {
		address = c.By.Address.String()
	}
	o := c.Need.Object
	l.log.InfoContext(ctx, "change", "principal", c.By.User, "auth", c.By.Proof, "address", address,
		"action", c.Need.Action, "object_kind", string(o.Kind), "database", o.Database, "object", o.Name,
		"statement", withoutSecrets(cut(c.Statement, maxStatement)), "outcome", outcome, "code", int(errs.CodeOf(c.Err)),
		"message", withoutSecrets(cut(message, maxMessage)), "request_id", c.By.RequestID)
}

// cut bounds a text, at the end of a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const more = "…"
	return strings.ToValidUTF8(text[:most-len(more)], "") + more
}

// secret is a literal after a word that says that it is one. The literal may be cut off.
var secret = regexp.MustCompile(
	`(?is)\b(password|old|secret|token|access_key|secret_key)(['"]?\s*=?\s*)'(?:[^']|'')*(?:'|$)`)

// withoutSecrets puts a sign in the place of secrets in a statement.
func withoutSecrets(text string) string { return secret.ReplaceAllString(text, "$1$2'…'") }
