// Package audit logs changes with their users: one line at level info for each change that a user made, attempted,
// or was refused. Reading is not logged.
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
	"cordwood/router/access/token"
)

const (
	// maxStatement limits the text of a statement in a line, in bytes.
	maxStatement = 4 << 10
	// maxMessage limits the length of an error in a line, in bytes.
	maxMessage = 1 << 10
)

// The outcomes of a change.
const (
	outcomeOK      = "ok"
	outcomeRefused = "refused"
	outcomeFailed  = "failed"
)

// Change is a change or an attempted change.
type Change struct {
	// By is the user who made it.
	By *access.Caller
	// Need is the action and its object.
	Need access.Need
	// Statement is the text of the statement, if there is one. Record removes its secrets.
	Statement string
	// Message has details of a change, for example the version of a pipeline.
	Message string
	// Err is the reason why the change was not made; nil if it was made.
	Err error
}

// Log logs changes.
type Log struct{ log *slog.Logger }

// New returns a Log that writes to log; nil discards everything.
func New(log *slog.Logger) *Log {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Log{log}
}

// Record logs c.
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
		"action", c.Need.Action, "object_kind", string(o.Kind), "database", token.Hide(o.Database),
		"object", token.Hide(o.Name),
		"statement", WithoutSecrets(cut(c.Statement, maxStatement)), "outcome", outcome, "code", int(errs.CodeOf(c.Err)),
		"message", WithoutSecrets(cut(message, maxMessage)), "request_id", token.Hide(c.By.RequestID))
}

// cut shortens a text to at most most bytes, without splitting a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const more = "…"
	return strings.ToValidUTF8(text[:most-len(more)], "") + more
}

// secret matches a literal after a word that introduces a secret. The literal may be incomplete.
var secret = regexp.MustCompile(
	`(?is)\b(password|old|secret|token|access_key|secret_key)(['"]?\s*=?\s*)'(?:[^']|'')*(?:'|$)`)

// WithoutSecrets replaces the secrets in a statement.
func WithoutSecrets(text string) string {
	return token.Hide(secret.ReplaceAllString(text, "$1$2'…'"))
}
