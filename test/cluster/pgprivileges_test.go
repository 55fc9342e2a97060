package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestOwnPasswordOverPostgres changes the password of the user of a connection: the statement is answered, and then the
// connection ends.
func TestOwnPasswordOverPostgres(t *testing.T) {
	t.Parallel()
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, []byte("boss:rw=secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pg := FreeAddr(t)
	n := New(t, "--user-file", users, "--pg-addr", pg)
	n.Start()
	defer n.Stop()
	run := func(user, password, sql string) error {
		c, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://%s:%s@%s/public?sslmode=disable", user, password, pg))
		if err != nil {
			return err
		}
		defer func() { _ = c.Close(context.Background()) }()
		_, err = c.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		return err
	}
	if err := run("boss", "secret", "CREATE USER ann PASSWORD 'secret of ann 0'"); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		sql := fmt.Sprintf("ALTER USER CURRENT_USER PASSWORD 'secret of ann %d' OLD 'secret of ann %d'", i+1, i)
		if err := run("ann", fmt.Sprintf("secret%%20of%%20ann%%20%d", i), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// TestPrivilegeFunctions compares the answers of PostgreSQL's functions of privileges with the rights of users of the
// file and of the metadata: for the user who asks, for others, by names and OIDs, and after a right was revoked.
func TestPrivilegeFunctions(t *testing.T) {
	t.Parallel()
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, []byte("boss:rw=secret\nreads:ro=secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pg := FreeAddr(t)
	n := New(t, "--user-file", users, "--pg-addr", pg)
	n.Start()
	defer n.Stop()
	as := func(user, password string) *pgx.Conn {
		c, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://%s:%s@%s/public?sslmode=disable", user, password, pg))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		return c
	}
	boss := as("boss", "secret")
	for _, sql := range []string{
		"CREATE DATABASE shop", "CREATE TABLE app (ts TIMESTAMP(9) TIME INDEX, n BIGINT)",
		"CREATE TABLE hidden (ts TIMESTAMP(9) TIME INDEX)", "CREATE TABLE inbox (ts TIMESTAMP(9) TIME INDEX, n BIGINT)",
		"CREATE TABLE shop.orders (ts TIMESTAMP(9) TIME INDEX)",
		"CREATE USER ann PASSWORD 'secret of ann'", "CREATE ROLE team", "GRANT team TO ann", "GRANT SELECT ON app TO team",
		"GRANT INSERT ON inbox TO ann WITH GRANT OPTION", "GRANT SELECT, DELETE, CREATE ON shop.* TO ann",
	} {
		if _, err := boss.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	ann, reads := as("ann", "secret%20of%20ann"), as("reads", "secret")
	answer := func(c *pgx.Conn, sql string) string {
		var got *string
		err := c.QueryRow(t.Context(), "SELECT CAST(("+sql+") AS text)", pgx.QueryExecModeSimpleProtocol).Scan(&got)
		switch {
		case err != nil:
			text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "ERROR: "), ";")
			return text
		case got == nil:
			return "null"
		}
		return *got
	}
	list := func(c string) string {
		return "SELECT string_agg(nspname || '.' || relname, ' ' ORDER BY 1) FROM pg_class c JOIN pg_namespace n ON " +
			"n.oid = c.relnamespace WHERE relkind = 'r' AND nspname <> 'svc_private' AND " + c
	}
	for _, c := range []struct {
		conn *pgx.Conn
		sql  string
		want string
	}{
		{ann, "has_table_privilege('app', 'SELECT')", "true"},
		{ann, "has_table_privilege('app', 'INSERT')", "false"},
		{ann, "has_table_privilege('app', 'insert, select')", "true"},
		{ann, "has_table_privilege('app', 'SELECT WITH GRANT OPTION')", "false"},
		{ann, "has_table_privilege('inbox', 'INSERT WITH GRANT OPTION')", "true"},
		{ann, "has_table_privilege('inbox', 'SELECT')", "false"},
		{ann, "has_table_privilege(current_user, 'shop.orders', 'TRUNCATE')", "true"},
		{ann, "has_table_privilege('shop.orders', 'UPDATE')", "false"},
		{ann, "has_table_privilege('app'::regclass, 'SELECT')", "true"},
		{ann, "has_table_privilege('app'::regclass::oid, 'DELETE')", "false"},
		{ann, "has_table_privilege(16, 'SELECT')", "null"},
		{ann, "has_table_privilege('hidden', 'SELECT')", `relation "hidden" does not exist (SQLSTATE 42P01)`},
		{ann, "has_table_privilege('boss', 'app', 'SELECT')", `role "boss" does not exist (SQLSTATE 42704)`},
		{ann, "has_table_privilege('pg_class', 'SELECT')", "true"},
		{ann, "has_table_privilege('information_schema.tables', 'INSERT')", "false"},
		{ann, "has_any_column_privilege('app', 'SELECT')", "true"},
		{ann, "has_column_privilege('app', 'n', 'SELECT')", "true"},
		{ann, "has_column_privilege('inbox', 1::int2, 'SELECT')", "false"},
		{ann, "has_schema_privilege('shop', 'CREATE')", "true"},
		{ann, "has_schema_privilege('public', 'CREATE')", "false"},
		{ann, "has_schema_privilege('public', 'USAGE')", "true"},
		{ann, "has_schema_privilege('nosuch', 'USAGE')", `schema "nosuch" does not exist (SQLSTATE 3F000)`},
		{ann, "has_database_privilege(current_database(), 'CONNECT')", "true"},
		{ann, "has_database_privilege(current_database(), 'CREATE, TEMP')", "false"},
		{ann, "pg_has_role('team', 'MEMBER')", "true"},
		{ann, "pg_has_role('ann', 'USAGE')", "true"},
		{ann, "pg_has_role('admin', 'MEMBER')", `role "admin" does not exist (SQLSTATE 42704)`},
		{ann, list("has_table_privilege(c.oid, 'SELECT')"), "public.app shop.orders"},
		{ann, list("has_table_privilege(c.oid, 'DELETE')"), "shop.orders"},
		{
			ann, list("has_table_privilege('\"' || n.nspname || '\".\"' || c.relname || '\"', 'SELECT')"),
			"public.app shop.orders",
		},
		{ann, list("has_schema_privilege(n.nspname, 'CREATE')"), "shop.orders"},
		{ann, list("has_schema_privilege(n.oid, 'CREATE')"), "shop.orders"},
		{ann, "SELECT string_agg(p, ' ') FROM unnest(ARRAY['SELECT','INSERT','DELETE']) AS u(p) WHERE " +
			"has_table_privilege('shop.orders', p)", "SELECT DELETE"},
		{ann, "SELECT string_agg(privilege_type || ' ' || is_grantable, ',') FROM " +
			"information_schema.table_privileges WHERE table_name = 'inbox'", "INSERT YES"},
		{ann, "SELECT string_agg(privilege_type, ',' ORDER BY privilege_type) FROM " +
			"information_schema.role_table_grants WHERE table_name = 'orders'", "DELETE,SELECT,TRUNCATE"},
		{ann, "SELECT relname || relnatts FROM pg_class WHERE relname = 'inbox'", "inbox0"},
		{ann, "SELECT count(*) FROM pg_class WHERE relname = 'hidden'", "0"},
		{ann, "SELECT string_agg(tablename, ' ' ORDER BY tablename) FROM pg_tables WHERE schemaname = 'public'", "app inbox"},
		{ann, "SELECT count(*) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE relname = 'inbox'", "0"},
		{boss, "SELECT string_agg(rolname || ' ' || rolcanlogin, ',' ORDER BY rolname) FROM pg_roles " +
			"WHERE rolname IN ('team', 'ann')", "ann true,team false"},
		{reads, "has_table_privilege('hidden', 'SELECT')", "true"},
		{reads, "has_table_privilege('hidden', 'INSERT, DELETE')", "false"},
		{reads, "has_database_privilege('public', 'CREATE')", "false"},
		{boss, "has_table_privilege('hidden', 'INSERT WITH GRANT OPTION')", "true"},
		{boss, "has_table_privilege('hidden', 'UPDATE')", "false"},
		{boss, "has_table_privilege('ann', 'hidden', 'SELECT')", "false"},
		{boss, "has_table_privilege('reads', 'hidden', 'SELECT')", "true"},
		{boss, "has_table_privilege('reads', 'hidden', 'DELETE')", "false"},
		{boss, "has_table_privilege('team', 'app', 'SELECT')", "true"},
		{boss, "has_table_privilege('public', 'app', 'SELECT')", "false"},
		{boss, "has_table_privilege('eve', 'app', 'SELECT')", `role "eve" does not exist (SQLSTATE 42704)`},
		{boss, "has_table_privilege('nosuch', 'SELECT')", `relation "nosuch" does not exist (SQLSTATE 42P01)`},
		{boss, "has_table_privilege('app', 'FLY')", `unrecognized privilege type: "FLY" (SQLSTATE 22023)`},
		{boss, "pg_has_role('ann', 'team', 'MEMBER')", "true"},
		{boss, "pg_has_role('ann', 'admin', 'MEMBER')", "false"},
		{boss, "pg_has_role('boss', 'admin', 'MEMBER')", "true"},
		{boss, "SELECT string_agg(usename, ' ' ORDER BY usename) FROM pg_user WHERE has_table_privilege(usename, 'hidden', " +
			"'SELECT')", "boss reads svc"},
		{boss, "SELECT string_agg(usename, ' ' ORDER BY usename) FROM pg_user WHERE has_table_privilege(usesysid, " +
			"'shop.orders', 'DELETE')", "ann boss svc"},
	} {
		if got := answer(c.conn, c.sql); got != c.want {
			t.Errorf("%s asks %s: %s, want %s", c.conn.Config().User, c.sql, got, c.want)
		}
	}
	const sql = "SELECT has_table_privilege($1, $2)"
	var before, after bool
	if err := ann.QueryRow(t.Context(), sql, "shop.orders", "DELETE").Scan(&before); err != nil || !before {
		t.Fatalf("a prepared statement: %v, %v", before, err)
	}
	if _, err := boss.Exec(t.Context(), "REVOKE DELETE ON shop.* FROM ann"); err != nil {
		t.Fatal(err)
	}
	if err := ann.QueryRow(t.Context(), sql, "shop.orders", "DELETE").Scan(&after); err != nil || after {
		t.Errorf("after REVOKE: %v, %v", after, err)
	}
}
