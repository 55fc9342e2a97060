package meta

import (
	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// Commands carry records for svc_private.audit. A record is stored in the same transaction as the effect of its
// command, so there is one for each applied command, and none for others. The leader's node writes the records to the
// table and proposes MarkAudit, which removes them.

const (
	// maxAuditRecord is the maximum size of a record, in bytes.
	maxAuditRecord = 32 << 10
	// maxAuditSource is the maximum length of the id of a node in MarkAudit, in bytes.
	maxAuditSource = 128
)

// prepareAudit checks the record of a command. It removes the record if older members would not know it, and from
// commands of ingestion, which are combined.
func prepareAudit(cmd *metapb.Command, version uint32) error {
	if version < metapb.ProtocolAudit || cmd.GetEnsureSchema() != nil {
		cmd.Audit = nil
	}
	if cmd.Audit != nil {
		cmd.Audit.Consequences = version >= metapb.ProtocolConsequences
	}
	if n := proto.Size(cmd.GetAudit()); n > maxAuditRecord {
		return errs.New(errs.InvalidArguments, "%s: its audit record has %d bytes; at most %d are possible", opName(cmd), n,
			maxAuditRecord)
	}
	return nil
}

func prepareMarkAudit(cmd *metapb.MarkAudit) error {
	if len(cmd.GetSource()) > maxAuditSource || len(cmd.GetChain()) > maxAuditSource {
		return errs.New(errs.InvalidArguments, "Mark audit: the source or the chain value is too long")
	}
	return nil
}

// prepareAuditTTL permits only one change of svc_private.audit: of its ttl, which cannot be short.
func prepareAuditTTL(a *metapb.AlterTable) error {
	options := a.GetSetOptions().GetOptions()
	text, ok := options[schema.OptionTTL]
	if !ok || len(options) != 1 {
		return errs.New(errs.InvalidArguments, "Table `%s.%s` cannot be changed, except its ttl", a.GetDatabase(),
			a.GetName())
	}
	if err := schema.CheckAuditTTL(text); err != nil {
		return err
	}
	return normalizeOptions(options)
}

// audit stores the record of an applied command.
func audit(tx *catalog.Tx, cmd *metapb.Command, index uint64, result *metapb.Result) error {
	if !cmd.GetAudit().GetConsequences() {
		result.Consequences = "" // as in members with older programs
	}
	if cmd.Audit == nil {
		return nil
	}
	record := cmd.Audit
	if result.Consequences != "" {
		record = proto.CloneOf(record)
		record.Message = joinMessages(record.Message, result.Consequences)
	}
	result.Audited = true
	return tx.Audit.Add(&metapb.AuditEntry{Index: index, TimeUnixNano: cmd.TimeUnixNano, Record: record})
}

// joinMessages returns the message of a record with what its command took away in consequence.
func joinMessages(message, consequences string) string {
	if message == "" {
		return consequences
	}
	return message + "; " + consequences
}

func applyMarkAudit(tx *catalog.Tx, cmd *metapb.MarkAudit, now int64) (*metapb.Result, error) {
	room, err := tx.Audit.Mark(&metapb.AuditHead{
		Source: cmd.Source, Through: cmd.Through, Chain: cmd.Chain, Lost: cmd.Lost, TimeUnixNano: now,
	})
	if err == nil && !room {
		err = errs.New(errs.InvalidArguments, "Mark audit: too many nodes have marks")
	}
	if err != nil {
		return nil, err
	}
	return &metapb.Result{}, nil
}

// AuditState is what is not yet in svc_private.audit.
type AuditState struct {
	// Entries are the oldest records of applied commands.
	Entries []*metapb.AuditEntry
	// Head says how far the records of the metadata log are in the table; nil if none is.
	Head *metapb.AuditHead
	// Waiting is the number of records that are not in the table. Lost is how many had to be removed without it.
	Waiting, Lost uint64
}

// Audit returns at most limit records of commands that are not yet in svc_private.audit.
func (m *Meta) Audit(limit int) (s AuditState, err error) {
	err = m.catalog.View(func(tx *catalog.Tx) error {
		n := tx.Audit.Totals()
		s.Waiting, s.Lost = n.Count, n.Lost
		var err error
		if s.Head, err = tx.Audit.Head(""); err != nil {
			return err
		}
		s.Entries, err = tx.Audit.First(limit)
		return err
	})
	return s, err
}

// Audited returns a channel that receives a value after commands with records were applied. It is for one receiver.
func (m *Meta) Audited() <-chan struct{} { return m.machine.audited }
