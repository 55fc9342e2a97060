package access

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
	"cordwood/router/query/statement"
)

// TestStatementsHaveRows reads which types of statement there are from their source.
func TestStatementsHaveRows(t *testing.T) {
	packages, err := parser.ParseDir(token.NewFileSet(), "../query/statement", nil, 0) //nolint:staticcheck // one package, no build tags
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]Row{}
	for typ, row := range statements {
		rows[typ.Elem().Name()] = row
	}
	found := 0
	for _, file := range packages["statement"].Files {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "Rows" {
				continue
			}
			star, ok := f.Recv.List[0].Type.(*ast.StarExpr)
			if !ok {
				t.Fatalf("%s has a method Rows with a value as receiver", f.Recv.List[0].Type)
			}
			found++
			name := star.X.(*ast.Ident).Name
			if row, ok := rows[name]; !ok || row.Privilege == Undeclared || row.Action == "" {
				t.Errorf("statement.%s has no row in the table of statements: say who may run it", name)
			}
		}
	}
	if found != len(statements) || found < 15 {
		t.Errorf("%d types of statement were found, and %d have rows", found, len(statements))
	}
}

// TestChangesAreLogged has each statement that changes something, but INSERT, logged, and
// each that only reads not.
func TestChangesAreLogged(t *testing.T) {
	for typ, row := range statements {
		st := reflect.New(typ.Elem()).Interface().(statement.Statement)
		_, insert := st.(*statement.Insert)
		if _, set := st.(*statement.SetTimeZone); set {
			continue // it changes nothing that lasts
		}
		if row.Changes != (!st.Rows() && !insert) {
			t.Errorf("%s: logged is %t", typ, row.Changes)
		}
		if row.Changes && row.Object == NoObject {
			t.Errorf("%s: what is changed has no kind", typ)
		}
		if st.Rows() != (row.Privilege == Select) {
			t.Errorf("%s needs %s", typ, row.Privilege)
		}
	}
}

// TestCallsHaveRows has a row for each call of the services that the tunnel serves.
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
			t.Errorf("%s has a row, and is no call", m)
		}
	}
	if n, _ := OfCall("/other/Call"); (Sender{Right: ReadWrite}).May(n) {
		t.Error("a call without a row is allowed")
	}
}

// TestCommandsHaveRows has a row for each command of the metadata.
func TestCommandsHaveRows(t *testing.T) {
	oneof := (&metapb.Command{}).ProtoReflect().Descriptor().Oneofs().ByName("op").Fields()
	for i := range oneof.Len() {
		cmd := &metapb.Command{}
		field := oneof.Get(i)
		cmd.ProtoReflect().Set(field, cmd.ProtoReflect().NewField(field))
		if row, ok := commands[reflect.TypeOf(cmd.GetOp())]; !ok || row.Privilege == Undeclared {
			t.Errorf("command %s has no row: say who may propose it through the tunnel, perhaps Nobody", field.Name())
		}
		OfCommand(cmd) // finds the object of an empty command
	}
	if oneof.Len() != len(commands) {
		t.Errorf("%d commands have rows, and there are %d", len(commands), oneof.Len())
	}
	if n, _ := OfCommand(&metapb.Command{}); (Sender{Right: ReadWrite}).May(n) {
		t.Error("an empty command is allowed")
	}
}

// TestRights has every privilege given to whom the documentation says.
func TestRights(t *testing.T) {
	want := map[Privilege]string{
		Undeclared: "", Open: "none rw ro wo", SignedIn: "rw ro wo", Select: "rw ro", Insert: "rw wo", Create: "rw", Alter: "rw", Drop: "rw",
		Delete: "rw", PipelineRead: "rw ro", PipelineWrite: "rw", Monitor: "rw ro", Operate: "rw", Backup: "rw ro", Restore: "rw", Nobody: "",
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
			if e.Code != errs.PermissionDenied || e.Status() != 403 || !strings.HasPrefix(e.Msg, "User is not authorized to perform this action: ") || !strings.Contains(e.Msg, "drop table d.t") {
				t.Errorf("%s, %s: %v", p, r, err)
			}
		}
		if strings.Join(got, " ") != may {
			t.Errorf("%s is given to %v, want %s", p, got, may)
		}
	}
	err := Sender{User: "ship", Right: WriteOnly}.Require(Need{Privilege: Drop, Action: "drop table", Object: Object{Table, "public", "t"}})
	if !strings.Contains(err.Error(), "ship has the right wo and may only ingest; drop table public.t needs the right rw") {
		t.Error(err)
	}
}

// TestObjects has names without a database belong to that of the request.
func TestObjects(t *testing.T) {
	for text, want := range map[string]Object{
		"DROP TABLE t":                    {Table, "app", "t"},
		"TRUNCATE TABLE other.t":          {Table, "other", "t"},
		"DROP DATABASE d":                 {Database, "d", ""},
		"ALTER DATABASE d SET 'ttl'='1d'": {Database, "d", ""},
		"DELETE FROM t WHERE a = 1":       {Table, "app", "t"},
		"SELECT 1":                        {},
		"SHOW TABLES":                     {Database, "app", ""},
		"DESCRIBE x.y":                    {Table, "x", "y"},
	} {
		parsed, err := statement.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := OfStatement(parsed[0], "app"); n.Object != want {
			t.Errorf("%s: %+v, want %+v", text, n.Object, want)
		}
	}
}
