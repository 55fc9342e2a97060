package meta

import (
	"fmt"
	"strings"
	"testing"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// auditedCreate is a command that creates a database, with a record.
func auditedCreate(name string) *metapb.Command {
	return &metapb.Command{
		TimeUnixNano: 1, Audit: &metapb.AuditRecord{Principal: "ann", Action: "create database", Database: name},
		Op: &metapb.Command_CreateDatabase{CreateDatabase: &metapb.CreateDatabase{Name: name}},
	}
}

func proposeAudited(t *testing.T, m *Meta, cmd *metapb.Command) *metapb.ProposeResponse {
	t.Helper()
	r, err := m.Propose(t.Context(), &metapb.ProposeRequest{Command: cmd})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func auditState(t *testing.T, m *Meta) AuditState {
	t.Helper()
	s, err := m.Audit(catalog.MaxAudit)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openAudited(t *testing.T) *Meta {
	t.Helper()
	m := mustOpen(t, Config{})
	propose(t, m, fmt.Sprintf("bootstrap c1 shards=1 version=%d", metapb.ProtocolAudit))
	return m
}

// TestRecordIfAndOnlyIfApplied proposes commands that are applied, refused and repeated: the state has one record for
// each applied command, with its index, and MarkAudit removes it.
func TestRecordIfAndOnlyIfApplied(t *testing.T) {
	m := openAudited(t)
	made := auditedCreate("a")
	made.Id = []byte("0123456789abcdef")
	r := proposeAudited(t, m, made)
	if !r.Result.GetAudited() {
		t.Error("the result does not say that the record is stored")
	}
	if again := proposeAudited(t, m, made); again.Result.ErrorCode != 0 || !again.Result.GetAudited() {
		t.Errorf("the repeated command: %v", again.Result)
	}
	if refused := proposeAudited(t, m, auditedCreate("a")); refused.Result.ErrorCode == 0 || refused.Result.Audited {
		t.Errorf("a database that exists: %v", refused.Result)
	}
	plain := auditedCreate("b")
	plain.Audit = nil
	if r := proposeAudited(t, m, plain); r.Result.Audited {
		t.Error("a command without a record is audited")
	}
	s := auditState(t, m)
	if len(s.Entries) != 1 || s.Entries[0].Index != r.Index || s.Entries[0].Record.GetDatabase() != "a" || s.Waiting != 1 {
		t.Fatalf("the state %+v, want one record of command %d", s, r.Index)
	}
	select {
	case <-m.Audited():
	default:
		t.Error("nobody is told of the record")
	}
	mark := &metapb.Command{TimeUnixNano: 1, Op: &metapb.Command_MarkAudit{MarkAudit: &metapb.MarkAudit{
		Through: r.Index, Chain: []byte{1, 2},
	}}}
	proposeAudited(t, m, mark)
	if s = auditState(t, m); len(s.Entries) != 0 || s.Waiting != 0 || s.Head.GetThrough() != r.Index {
		t.Errorf("after the mark: %+v", s)
	}
	mark.GetMarkAudit().Through--
	proposeAudited(t, m, mark)
	if s = auditState(t, m); s.Head.GetThrough() != r.Index {
		t.Errorf("an earlier mark replaces a later one: %+v", s)
	}
}

// TestRecordsAreBounded makes more records than the state holds: the oldest are lost and counted.
func TestRecordsAreBounded(t *testing.T) {
	m := openAudited(t)
	const more = 20
	text := strings.Repeat("x", 12<<10)
	n := catalog.MaxAuditBytes/len(text) + more
	for i := range n {
		cmd := auditedCreate(fmt.Sprintf("d%d", i))
		cmd.Audit.Statement = text
		proposeAudited(t, m, cmd)
	}
	s := auditState(t, m)
	if s.Lost < more || s.Waiting+s.Lost != uint64(n) || len(s.Entries) != int(s.Waiting) {
		t.Fatalf("%d records wait, %d are listed, %d are lost, of %d", s.Waiting, len(s.Entries), s.Lost, n)
	}
	if first := s.Entries[0].Record.GetDatabase(); first != fmt.Sprintf("d%d", s.Lost) {
		t.Errorf("the first record is of %s, and not the oldest that is left", first)
	}
	huge := auditedCreate("huge")
	huge.Audit.Statement = strings.Repeat("x", maxAuditRecord)
	if r := proposeAudited(t, m, huge); errs.Code(r.Result.ErrorCode) != errs.InvalidArguments {
		t.Errorf("a record of more than %d bytes: %v", maxAuditRecord, r.Result)
	}
}

// TestNoRecordsForOlderMembers removes records from commands while there may be members that do not know them.
func TestNoRecordsForOlderMembers(t *testing.T) {
	cmd := auditedCreate("a")
	if err := prepareAudit(cmd, metapb.ProtocolAudit); err != nil || cmd.Audit == nil {
		t.Errorf("version %d: %v, %v", metapb.ProtocolAudit, cmd.Audit, err)
	}
	if err := prepareAudit(cmd, metapb.ProtocolAudit-1); err != nil || cmd.Audit != nil {
		t.Errorf("version %d: %v, %v", metapb.ProtocolAudit-1, cmd.Audit, err)
	}
}

// TestTheTableOfRecordsCannotBeChanged tries every change of svc_private.audit: only a ttl of 30 days or more is
// possible.
func TestTheTableOfRecordsCannotBeChanged(t *testing.T) {
	of := func(change *metapb.AlterTable) *metapb.Command {
		change.Database, change.Name = schema.PrivateDatabase, schema.AuditTable
		return alter(change)
	}
	set := func(options map[string]string) *metapb.Command {
		return of(&metapb.AlterTable{Change: &metapb.AlterTable_SetOptions{SetOptions: &metapb.SetOptions{Options: options}}})
	}
	for _, ttl := range []string{"30d", "2y", "forever"} {
		if err := prepare(set(map[string]string{"ttl": ttl})); err != nil {
			t.Errorf("ttl %s: %v", ttl, err)
		}
	}
	for what, cmd := range map[string]*metapb.Command{
		"29 days": set(map[string]string{"ttl": "29d"}), "instant": set(map[string]string{"ttl": "instant"}),
		"another option":  set(map[string]string{"append_mode": "true"}),
		"two options":     set(map[string]string{"ttl": "30d", "append_mode": "true"}),
		"no ttl":          of(&metapb.AlterTable{Change: &metapb.AlterTable_UnsetOptions{}}),
		"another name":    of(&metapb.AlterTable{Change: &metapb.AlterTable_RenameTo{RenameTo: "b"}}),
		"one column less": of(&metapb.AlterTable{Change: &metapb.AlterTable_DropColumn{DropColumn: "chain"}}),
		"DROP TABLE": {Op: &metapb.Command_DropTable{DropTable: &metapb.DropTable{
			Database: schema.PrivateDatabase, Name: schema.AuditTable,
		}}},
		"TRUNCATE TABLE": {Op: &metapb.Command_TruncateTable{TruncateTable: &metapb.TruncateTable{
			Database: schema.PrivateDatabase, Name: schema.AuditTable,
		}}},
		"DROP DATABASE": {Op: &metapb.Command_DropDatabase{DropDatabase: &metapb.DropDatabase{Name: schema.PrivateDatabase}}},
	} {
		if err := prepare(cmd); err == nil {
			t.Errorf("%s: the change is not refused", what)
		}
	}
}
