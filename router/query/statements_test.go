package query

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"testing"

	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// TestStatementsHaveRows finds all types of statements in the source of package statement and checks that each
// has a row.
func TestStatementsHaveRows(t *testing.T) {
	//nolint:staticcheck // one package, no build tags
	packages, err := parser.ParseDir(token.NewFileSet(), "statement", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]kind{}
	for typ, k := range kinds {
		rows[typ.Elem().Name()] = k
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
			if row, ok := rows[name]; !ok || row.Privilege == access.Undeclared || row.Action == "" || row.run == nil {
				t.Errorf("statement.%s has no row in the table of statements: add one with its right and its function", name)
			}
		}
	}
	if found != len(kinds) || found < 15 {
		t.Errorf("%d types of statement were found, but %d have rows", found, len(kinds))
	}
}

// TestChangesAreLogged checks that each statement that changes something, except INSERT, is logged. Statements that
// only read are not logged.
func TestChangesAreLogged(t *testing.T) {
	for typ, k := range kinds {
		row, st := k.Row, reflect.New(typ.Elem()).Interface().(statement.Statement)
		_, insert := st.(*statement.Insert)
		switch st.(type) {
		case *statement.SetTimeZone, *statement.Kill:
			continue // they have no lasting effect
		case *statement.ShowPrincipals, *statement.ShowGrants, *statement.ShowTokens, *statement.ShowAccess,
			*statement.ShowQuotas:
			continue // they have their own rights
		}
		if _, ok := st.(*statement.CreateToken); ok {
			if !row.Changes {
				t.Error("a new token is not logged")
			}
			continue // its answer has rows
		}
		if row.Changes != (!st.Rows() && !insert) {
			t.Errorf("%s: logged is %t", typ, row.Changes)
		}
		if row.Changes && row.Object == access.NoObject {
			t.Errorf("%s: the changed object has no kind", typ)
		}
		if st.Rows() != (row.Privilege == access.Query) {
			t.Errorf("%s needs %s", typ, row.Privilege)
		}
	}
}

// TestObjects checks that names without a database belong to the request's database.
func TestObjects(t *testing.T) {
	for text, want := range map[string]access.Object{
		"DROP TABLE t":                    {Kind: access.Table, Database: "app", Name: "t"},
		"TRUNCATE TABLE other.t":          {Kind: access.Table, Database: "other", Name: "t"},
		"DROP DATABASE d":                 {Kind: access.Database, Database: "d"},
		"ALTER DATABASE d SET 'ttl'='1d'": {Kind: access.Database, Database: "d"},
		"DELETE FROM t WHERE a = 1":       {Kind: access.Table, Database: "app", Name: "t"},
		"SELECT 1":                        {},
		"SHOW TABLES":                     {Kind: access.Database, Database: "app"},
		"DESCRIBE x.y":                    {Kind: access.Table, Database: "x", Name: "y"},
	} {
		parsed, err := statement.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := NeedOf(parsed[0], "app"); n.Object != want {
			t.Errorf("%s: %+v, want %+v", text, n.Object, want)
		}
	}
}

// TestActions checks that audit records distinguish what statements of one type do.
func TestActions(t *testing.T) {
	for text, want := range map[string][2]string{
		"GRANT SELECT ON app.* TO ann":                   {"grant", "user"},
		"REVOKE SELECT ON app.* FROM ann":                {"revoke", "user"},
		"REVOKE GRANT OPTION FOR SELECT ON app.* FROM b": {"revoke", "user"},
		"GRANT team TO ann":                              {"grant role", "user"},
		"REVOKE team FROM ann":                           {"revoke role", "user"},
		"CREATE USER ann":                                {"create user", "user"},
		"CREATE ROLE team":                               {"create role", "role"},
		"DROP USER ann":                                  {"drop user", "user"},
		"DROP ROLE team":                                 {"drop role", "role"},
		"ALTER TOKEN t ROTATE":                           {"rotate token", "token"},
		"ALTER TOKEN t SET NOTE 'n'":                     {"alter token", "token"},
		"ALTER DATABASE d SET 'ttl'='1d'":                {"alter database", "database"},
		"ALTER DATABASE d SET 'quota.tables'='1'":        {"change quotas of", "database"},
	} {
		parsed, err := statement.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		n, changes := NeedOf(parsed[0], "app")
		if n.Action != want[0] || string(n.Object.Kind) != want[1] || !changes {
			t.Errorf("%s: action %q on a %s, want %q; logged is %t", text, n.Action, n.Object.Kind, want, changes)
		}
	}
}
