package audit

import (
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/lazyregexp"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/router/access/token"
	"cordwood/router/query/statement"
)

// The maximum lengths of texts in a record, in bytes.
const (
	maxStatement = 4 << 10
	maxWhole     = 16 << 10
	maxMessage   = 1 << 10
	maxName      = 256
)

// CheckWhole returns an error if a statement is too long for a record that has all of it, without its comments.
func CheckWhole(sql string) error {
	if n := len(statementText(sql, maxWhole+1)); n > maxWhole {
		return errs.New(errs.InvalidArguments, "the statement is longer than %d bytes without its comments, and its record "+
			"in %s.%s would not have all of it: use several statements", maxWhole, schema.PrivateDatabase, schema.AuditTable)
	}
	return nil
}

// StatementText returns the text of a statement as its record has it, if the record has all of it.
func StatementText(sql string) string { return statementText(sql, maxWhole) }

// statementText returns the text of a statement for a record: without comments and secrets.
func statementText(sql string, most int) string {
	return text(statement.WithoutComments(sql, most), most)
}

// record returns the record of a change, without secrets.
func (c Change) record() *metapb.AuditRecord {
	address := ""
	if c.By.Address.IsValid() {
		address = c.By.Address.String()
	}
	o, most := c.Need.Object, maxStatement
	if c.Whole {
		most = maxWhole
	}
	return &metapb.AuditRecord{
		Principal: name(c.By.User), Auth: c.By.Proof, TokenId: name(c.By.Token), Address: address,
		Action: c.Need.Action, ObjectKind: string(o.Kind), Database: name(o.Database), Object: name(o.Name),
		Statement: statementText(c.Statement, most), Message: text(c.Message, maxMessage), RequestId: name(c.By.RequestID),
	}
}

// name returns a name of a client's for a record.
func name(s string) string { return strings.ToValidUTF8(cut(token.Hide(s), maxName), "�") }

// text returns a text for a record, shortened and without secrets. Removing secrets may make it longer.
func text(s string, most int) string {
	return cut(strings.ToValidUTF8(WithoutSecrets(cut(s, most)), "�"), most)
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
var secret = lazyregexp.New(
	`(?is)\b(password|old|secret|token|access_key|secret_key)(['"]?\s*=?\s*)'(?:[^']|'')*(?:'|$)`)

// WithoutSecrets replaces the secrets in a statement, or in a message with a part of one. Only the pattern finds those
// after a quote of a message, which does not begin a text.
func WithoutSecrets(text string) string {
	return token.Hide(secret.ReplaceAllString(statement.HideSecrets(text), "$1$2'…'"))
}
