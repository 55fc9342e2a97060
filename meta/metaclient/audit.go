package metaclient

import (
	"context"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/metapb"
)

// Audited is a change that is proposed as one or more commands. Each command carries the record of the change, which
// the metadata group stores together with the effect of the command, and who makes the change, whose rights the
// metadata group checks again.
type Audited struct {
	// Record returns the record, and Issuer who makes the change; both may be nil. They are called when a command is
	// proposed.
	Record           func() *metapb.AuditRecord
	Issuer           func() *metapb.Issuer
	stored, proposed atomic.Bool
	consequences     atomic.Pointer[string]
}

// Stored reports whether the metadata group has stored the record.
func (a *Audited) Stored() bool { return a != nil && a.stored.Load() }

// Consequences returns what the commands took away in consequence of the change, as their record says.
func (a *Audited) Consequences() string {
	if a == nil {
		return ""
	}
	if text := a.consequences.Load(); text != nil {
		return *text
	}
	return ""
}

// Proposed reports whether a command was proposed. It is true for a nil a, whose commands are not counted.
func (a *Audited) Proposed() bool { return a == nil || a.proposed.Load() }

type auditedKey struct{}

// WithAudited returns a context whose proposals belong to a.
func WithAudited(ctx context.Context, a *Audited) context.Context {
	return context.WithValue(ctx, auditedKey{}, a)
}

// AuditedOf returns the change to which the proposals of a context belong, or nil.
func AuditedOf(ctx context.Context) *Audited {
	a, _ := ctx.Value(auditedKey{}).(*Audited)
	return a
}

// withRecord returns cmd with the record of the change.
func (a *Audited) withRecord(cmd *metapb.Command) *metapb.Command {
	if a == nil || cmd.GetEnsureSchema() != nil {
		return cmd
	}
	a.proposed.Store(true)
	cmd = proto.CloneOf(cmd)
	if a.Record != nil {
		cmd.Audit = a.Record()
	}
	if a.Issuer != nil {
		more := cmd.GetIssuer().GetNeeds()
		if cmd.Issuer = a.Issuer(); cmd.Issuer != nil {
			cmd.Issuer.Needs = append(cmd.Issuer.Needs, more...)
		}
	}
	return cmd
}

// note takes note of the result of a command.
func (a *Audited) note(r *metapb.Result) {
	if a != nil && r.GetAudited() {
		a.stored.Store(true)
		if text := r.GetConsequences(); text != "" {
			a.consequences.Store(&text)
		}
	}
}
