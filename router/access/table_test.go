package access

import (
	"reflect"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/proto/shardpb"
)

// TestCallsHaveRows checks that the table has a row for each call of the services that the tunnel serves.
func TestCallsHaveRows(t *testing.T) {
	methods := map[string]bool{}
	for _, s := range []grpc.ServiceDesc{metapb.Meta_ServiceDesc, shardpb.ShardService_ServiceDesc} {
		for _, m := range s.Methods {
			methods["/"+s.ServiceName+"/"+m.MethodName] = true
		}
		for _, m := range s.Streams {
			methods["/"+s.ServiceName+"/"+m.StreamName] = true
		}
	}
	for m := range methods {
		if row, ok := calls[m]; !ok || row.Privilege == Undeclared {
			t.Errorf("%s has no row in the table of calls: say who may make it, perhaps Nobody", m)
		}
	}
	for m := range calls {
		if !methods[m] {
			t.Errorf("%s has a row, and is not a call", m)
		}
	}
	if n, _ := OfCall("/other/Call"); (&Sender{Right: ReadWrite}).May(n) {
		t.Error("a call without a row is allowed")
	}
}

// TestCommandsHaveRows checks that the table has a row for each command of the metadata.
func TestCommandsHaveRows(t *testing.T) {
	oneof := (&metapb.Command{}).ProtoReflect().Descriptor().Oneofs().ByName("op").Fields()
	for i := range oneof.Len() {
		cmd := &metapb.Command{}
		field := oneof.Get(i)
		cmd.ProtoReflect().Set(field, cmd.ProtoReflect().NewField(field))
		if row, ok := commands[reflect.TypeOf(cmd.GetOp())]; !ok || row.Privilege == Undeclared {
			t.Errorf("command %s has no row: say who may propose it through the tunnel, perhaps Nobody", field.Name())
		}
		OfCommand(cmd) // find the object of an empty command
	}
	if oneof.Len() != len(commands) {
		t.Errorf("%d commands have rows, and there are %d", len(commands), oneof.Len())
	}
	if n, _ := OfCommand(&metapb.Command{}); (&Sender{Right: ReadWrite}).May(n) {
		t.Error("an empty command is allowed")
	}
}

// TestRights checks that each privilege is given to the rights in the documentation, and to no others.
func TestRights(t *testing.T) {
	want := map[Privilege]string{
		Undeclared: "", Open: "none rw ro wo", SignedIn: "rw ro wo", Query: "rw ro", Select: "rw ro", Insert: "rw wo",
		IngestCreate: "rw wo", Create: "rw", PipelineUse: "rw wo", PipelineTry: "rw ro", ManageAccess: "rw",
		ReadAudit: "rw",
		Alter:     "rw", Drop: "rw",
		Delete: "rw", PipelineRead: "rw ro", PipelineWrite: "rw", Monitor: "rw ro", Operate: "rw", Backup: "rw ro",
		Restore: "rw", Nobody: "",
	}
	if len(want) != len(privilegeNames) {
		t.Fatalf("%d privileges are tested, and there are %d", len(want), len(privilegeNames))
	}
	for p, may := range want {
		var got []string
		for _, r := range []Right{NoRight, ReadWrite, ReadOnly, WriteOnly} {
			s := Sender{User: "ann", Right: r}
			n := Need{Privilege: p, Action: "drop table", Object: Object{Kind: Table, Database: "d", Name: "t"}}
			err := s.Require(n)
			if s.May(n) != (err == nil) {
				t.Errorf("%s, %s: %v", p, r, err)
			}
			if err == nil {
				got = append(got, r.String())
				continue
			}
			e := errs.From(err)
			if e.Code != errs.PermissionDenied || e.Status() != 403 ||
				!strings.HasPrefix(e.Msg, "User is not authorized to perform this action: ") ||
				!strings.Contains(e.Msg, "drop table d.t") {
				t.Errorf("%s, %s: %v", p, r, err)
			}
		}
		if strings.Join(got, " ") != may {
			t.Errorf("%s is given to %v, want %s", p, got, may)
		}
	}
	err := (&Sender{User: "ship", Right: WriteOnly}).Require(Need{
		Privilege: Drop,
		Action:    "drop table",
		Object:    Object{Table, "public", "t"},
	})
	if !strings.Contains(err.Error(),
		"ship has the right wo and may only ingest; drop table public.t needs the right rw") {
		t.Error(err)
	}
}

// TestIngestOnly checks that a sender who may only ingest has no other privilege, whatever the grants contain.
func TestIngestOnly(t *testing.T) {
	s := Sender{User: "cw_x", Token: "x", IngestOnly: true, Grants: rights.NewIndex(nil, []string{rights.AdminRole})}
	may := map[Privilege]bool{Open: true, SignedIn: true, Insert: true, IngestCreate: true, PipelineUse: true}
	for p := range privilegeNames {
		n := Need{Privilege: Privilege(p), Object: Object{Kind: Table, Database: "d", Name: "t"}}
		want := may[n.Privilege]
		if got := s.May(n); got != want {
			t.Errorf("%s: %t", n.Privilege, got)
		}
		if err := s.Require(n); (err == nil) != want || err != nil && !strings.Contains(err.Error(), "may only ingest") {
			t.Errorf("%s: %v", n.Privilege, err)
		}
	}
}

// TestTokenWithoutTables checks the advice for a token whose scope has the privilege on no table: nothing can be
// granted to a token.
func TestTokenWithoutTables(t *testing.T) {
	for _, c := range []struct{ user, token, want, lack string }{
		{"cw_x", "x", "the scope of the token does not contain INSERT on any table", "grant"},
		{"ann", "", "ann has INSERT on no table; an administrator can grant it", "scope"},
	} {
		err := (&Sender{User: c.user, Token: c.token, Grants: rights.NewIndex(nil, nil)}).Require(
			Need{Privilege: Insert, Action: "ingest"})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), c.lack) {
			t.Errorf("%s: %v, want %q and not %q", c.user, err, c.want, c.lack)
		}
	}
}
