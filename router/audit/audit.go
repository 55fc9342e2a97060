// Package audit makes the records of changes: who made, attempted or was refused a change, from where, and with which
// outcome. It is the only place that makes them. A record is a line in the log at level info and, through a Sink, a row
// in svc_private.audit. Reading is not recorded, except in databases with the option audit.reads.
//
// A change that is a command of the metadata group carries its record in the command (Begin), so a record exists
// exactly if the change was made. All other records go to the Sink.
//
// The keys of a line are: principal, auth, address, action,
// object_kind, database, object, statement, outcome, code, message and request_id.
// A Log may be used concurrently.
package audit

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"cordwood/meta/metaclient"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/router/access"
)

// The outcomes of a change.
const (
	OK      = "ok"
	Refused = "refused"
	Failed  = "failed"
)

// Change is a change or an attempted change.
type Change struct {
	// By is the user who made it.
	By *access.Caller
	// Need is the action and its object.
	Need access.Need
	// Statement is the text of the statement, if there is one. Record removes its comments and secrets. Whole is set if
	// the record must have all of it (CheckWhole).
	Statement string
	Whole     bool
	// Message has details of a change, for example the version of a pipeline.
	Message string
	// Unchanged is set if a statement with IF EXISTS found nothing to change.
	Unchanged bool
	// Err is the reason why the change was not made; nil if it was made.
	Err error
}

// Entry is a record with its outcome.
type Entry struct {
	Time    time.Time
	Record  *metapb.AuditRecord
	Outcome string
	Code    errs.Code
}

// Sink stores records. Add does not wait, and is called concurrently.
type Sink interface{ Add(Entry) }

// Log makes the records of changes.
type Log struct {
	log  *slog.Logger
	sink Sink
	now  func() time.Time
	// repeated limits the records of sign-ins and of attempts that changed nothing.
	repeated *repeated
}

// New returns a Log that writes lines to log, and records to sink. Either may be nil.
func New(log *slog.Logger, sink Sink) *Log {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Log{log: log, sink: sink, now: time.Now, repeated: newRepeated()}
}

// Begin returns a context for making a change. The commands that are proposed with it carry the record of the change,
// and the user who makes it, whose rights the metadata group checks again; describe returns the change as it is then.
// The caller calls Record with this context when the change has been made or has failed.
func (l *Log) Begin(ctx context.Context, describe func() Change) context.Context {
	a := &metaclient.Audited{Issuer: func() *metapb.Issuer { return describe().issuer() }}
	if l.sink != nil {
		a.Record = func() *metapb.AuditRecord { return describe().record() }
	}
	return metaclient.WithAudited(ctx, a)
}

// RecordOf returns the record of a change whose commands come from another program, and IssuerOf who makes it.
func RecordOf(c Change) *metapb.AuditRecord { return c.record() }

// IssuerOf returns who makes a change, for the metadata group.
func IssuerOf(c Change) *metapb.Issuer { return c.issuer() }

func (c Change) issuer() *metapb.Issuer {
	if c.By == nil {
		return nil
	}
	return c.By.Issuer(c.Need)
}

// Record records c.
func (l *Log) Record(ctx context.Context, c Change) {
	if more := metaclient.AuditedOf(ctx).Consequences(); c.Message == "" && c.Err == nil {
		c.Message = more
	}
	l.record(ctx, c, metaclient.AuditedOf(ctx).Stored())
}

// Committed records c, whose record the metadata group has stored if stored is set.
func (l *Log) Committed(ctx context.Context, c Change, stored bool) { l.record(ctx, c, stored) }

func (l *Log) record(ctx context.Context, c Change, stored bool) {
	e := Entry{Time: l.now(), Record: c.record(), Outcome: OK, Code: errs.CodeOf(c.Err)}
	if c.Err != nil {
		e.Outcome, e.Record.Message = Failed, text(c.Err.Error(), maxMessage)
		switch errs.From(c.Err).Status() {
		case http.StatusUnauthorized, http.StatusForbidden:
			e.Outcome = Refused
		}
	}
	if isRepeated(&e, c) && !l.repeated.admit(&e) {
		return
	}
	l.write(ctx, e, stored && c.Err == nil)
}

// write writes the line of a record, and passes it to the sink unless the metadata group has stored it.
func (l *Log) write(ctx context.Context, e Entry, stored bool) {
	r := e.Record
	l.log.InfoContext(ctx, "change", "principal", r.Principal, "auth", r.Auth, "address", r.Address,
		"action", r.Action, "object_kind", r.ObjectKind, "database", r.Database, "object", r.Object,
		"statement", r.Statement, "outcome", e.Outcome, "code", int(e.Code), "message", r.Message, "request_id", r.RequestId)
	if l.sink != nil && !stored {
		l.sink.Add(e)
	}
}

// Flush records how often sign-ins and attempts without effect were repeated in windows that have ended. It should be
// called every few seconds. If all is set, it also ends the windows that are open.
func (l *Log) Flush(all bool) {
	for _, e := range l.repeated.ended(l.now(), all) {
		l.write(context.Background(), e, false)
	}
}
