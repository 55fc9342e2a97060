package query

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// everyKind has a text with each type of statement.
var everyKind = map[string]string{
	"Query": "SELECT 1", "ShowDatabases": "SHOW DATABASES", "ShowTables": "SHOW TABLES",
	"ShowCreateTable": "SHOW CREATE TABLE logs",
	"SetTimeZone":     "SET TIME ZONE '+01:00'", "ShowCreateDatabase": "SHOW CREATE DATABASE shop",
	"ShowQuotas":     "SHOW QUOTAS",
	"Describe":       "DESCRIBE logs",
	"CreateDatabase": "CREATE DATABASE d", "AlterDatabase": "ALTER DATABASE shop SET 'ttl'='1d'",
	"DropDatabase": "DROP DATABASE shop",
	"CreateTable":  "CREATE TABLE n (ts TIMESTAMP TIME INDEX)", "AlterTable": "ALTER TABLE logs ADD COLUMN x STRING",
	"DropTable":     "DROP TABLE logs",
	"TruncateTable": "TRUNCATE TABLE logs", "Insert": "INSERT INTO logs (ts) VALUES (1)",
	"Delete":        "DELETE FROM logs WHERE host = 'a'",
	"DescribeQuery": "DESCRIBE SELECT 1", "Kill": "KILL QUERY 'abc'",
	"CreateUser": "CREATE USER bob PASSWORD 'a long password'", "AlterUser": "ALTER USER bob DISABLED",
	"AlterRole":  "ALTER ROLE web SET GROUPS ('devs')",
	"CreateRole": "CREATE ROLE team", "DropPrincipal": "DROP USER bob", "Grant": "GRANT SELECT ON logs TO bob",
	"GrantRole": "GRANT team TO bob", "ShowPrincipals": "SHOW USERS", "ShowGrants": "SHOW GRANTS",
	"CreateToken": "CREATE TOKEN tk FOR USER bob NOTE 'cw_0123456789_secret'", "AlterToken": "ALTER TOKEN ship ROTATE",
	"DropToken": "DROP TOKEN ship", "ShowTokens": "SHOW TOKENS", "ShowAccess": "SHOW ACCESS TO logs",
}

// TestEveryKindOfStatement runs each kind of statement with each right. A user who may only write may only
// insert.
func TestEveryKindOfStatement(t *testing.T) {
	for kind, text := range everyKind {
		parsed, err := statement.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := reflect.TypeOf(parsed[0]).Elem().Name(); got != kind {
			t.Errorf("%s is a %s", text, got)
		}
		for _, right := range []access.Right{access.NoRight, access.ReadOnly, access.WriteOnly, access.ReadWrite} {
			may := right == access.ReadWrite || right == access.ReadOnly && parsed[0].Rows() && kind != "ShowPrincipals" &&
				kind != "ShowAccess" &&
				kind != "CreateToken" || right == access.ReadOnly && (kind == "DropToken" || kind == "Kill") ||
				right == access.WriteOnly && kind == "Insert" ||
				right != access.NoRight && (kind == "SetTimeZone" || kind == "ShowGrants")
			w := newWorld(t)
			_, err := w.run(by("ann", right), text)
			if refused := errs.CodeOf(err) == errs.PermissionDenied; refused == may {
				t.Errorf("%s as %s: %v", text, right, err)
			}
			if !may && (len(w.meta.proposed) > 0 || w.writer.rounds > 0) {
				t.Errorf("%s as %s was refused, but executed", text, right)
			}
		}
	}
	var source []byte
	files, err := filepath.Glob("statement/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		part, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, part...)
	}
	kinds := regexp.MustCompile(`func \((?:s )?\*(\w+)\) Rows\(\)`).FindAllSubmatch(source, -1)
	for _, k := range kinds {
		if everyKind[string(k[1])] == "" {
			t.Errorf("statement.%s is not tested", k[1])
		}
	}
	if len(kinds) != len(everyKind) {
		t.Errorf("%d kinds of statement are tested, but %d exist", len(everyKind), len(kinds))
	}
}

// TestNothingOfARefusedText checks that no statement of a text runs if the sender may not run all of them.
func TestNothingOfARefusedText(t *testing.T) {
	w := newWorld(t)
	_, err := w.run(by("ship", access.WriteOnly), "INSERT INTO logs (ts) VALUES (1); DROP TABLE logs")
	if errs.CodeOf(err) != errs.PermissionDenied ||
		!strings.Contains(err.Error(), "drop table public.logs needs the right rw") || w.writer.rounds > 0 {
		t.Errorf("%v", err)
	}
}

// TestNoNamesForWriters checks that errors suggest names only to users who may read them.
func TestNoNamesForWriters(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		sql, database string
		code          errs.Code
	}{
		{"INSERT INTO log (ts) VALUES (1)", "", errs.TableNotFound},
		{"INSERT INTO logs (hosts) VALUES ('a')", "", errs.ColumnNotFound},
		{"INSERT INTO shup.orders (ts) VALUES (1)", "", errs.DatabaseNotFound},
		{"INSERT INTO orders (ts) VALUES (1)", "shup", errs.DatabaseNotFound},
	} {
		for right, suggests := range map[access.Right]bool{access.WriteOnly: false, access.ReadWrite: true} {
			_, err := w.run(by("ship", right), tt.sql, func(r *Request) { r.Database = tt.database })
			if errs.CodeOf(err) != tt.code || strings.Contains(err.Error(), "did you mean") != suggests {
				t.Errorf("%s, database %q, right %s: %v", tt.sql, tt.database, right, err)
			}
		}
	}
}

// TestNoCallerIsRefused checks that a call without a caller is refused.
func TestNoCallerIsRefused(t *testing.T) {
	w := newWorld(t)
	ctx := access.With(t.Context(), access.From(t.Context()))
	if _, err := w.run(ctx, "SELECT 1"); errs.CodeOf(err) != errs.AuthHeaderNotFound {
		t.Error(err)
	}
}

// expiring allows n actions and then nothing.
type expiring struct{ n int }

func (*expiring) End() {}

func (e *expiring) Require(access.Need) error {
	if e.n--; e.n < 0 {
		return errs.New(errs.AccessDenied, "the right was taken away")
	}
	return nil
}

// TestRightLostBetweenStatements checks that a text of several statements ends at the first statement for which its
// sender no longer has the right.
func TestRightLostBetweenStatements(t *testing.T) {
	w := newWorld(t)
	ctx := access.With(t.Context(), &access.Caller{Sender: access.Everybody(), Work: &expiring{n: 3 + 1}})
	_, err := w.run(ctx, "CREATE DATABASE a; CREATE DATABASE b; CREATE DATABASE c")
	if errs.CodeOf(err) != errs.AccessDenied || len(w.meta.proposed) != 1 {
		t.Errorf("%v, %s", err, fmt.Sprint(w.meta.proposed))
	}
}

// by returns a context for a user with a right.
func by(user string, right access.Right) context.Context {
	return access.With(context.Background(), &access.Caller{
		Sender: access.Sender{User: user, Right: right, Proof: "password"},
	})
}
