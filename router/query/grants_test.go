package query

import (
	"context"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/rights"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// with returns a context for a user with grants.
func with(grants ...rights.Grant) context.Context {
	return access.With(context.Background(), &access.Caller{
		Sender: access.Sender{User: "ann", Grants: rights.NewIndex(grants, nil), Proof: "password"},
	})
}

func on(privileges rights.Set, database, name string) rights.Grant {
	return rights.Grant{
		Target: rights.Target{Kind: rights.Tables, Database: database, Name: name}, Privileges: privileges,
	}
}

// TestStatementsWithGrants runs each kind of statement with no grant, with the grant that it needs, and with all
// others on the same object. Writing is refused with the grant in the message, and reading as if nothing existed.
func TestStatementsWithGrants(t *testing.T) {
	cluster := func(s rights.Set) rights.Grant {
		return rights.Grant{Target: rights.Target{Kind: rights.Cluster}, Privileges: s}
	}
	needs := map[string]struct {
		grant  rights.Grant
		others rights.Grant
		// code is the code for a user without grants; 0: the statement is allowed to anybody.
		code errs.Code
	}{
		"Query": {}, "ShowDatabases": {}, "ShowTables": {}, "SetTimeZone": {}, "DescribeQuery": {},
		"ShowCreateTable": {
			on(rights.Select, "public", "logs"), on(rights.OfTables&^rights.Select, "public", "*"),
			errs.TableNotFound,
		},
		"Describe": {
			on(rights.Select, "public", "logs"), on(rights.OfTables&^rights.Select, "public", "*"),
			errs.TableNotFound,
		},
		"ShowCreateDatabase": {
			on(rights.Drop, "shop", "orders"), on(rights.OfTables, "other", "*"),
			errs.DatabaseNotFound,
		},
		"CreateDatabase": {on(rights.Create, "*", "*"), on(rights.OfTables, "d", "*"), errs.PermissionDenied},
		"AlterDatabase":  {on(rights.Alter, "shop", "*"), on(rights.Alter, "shop", "orders"), errs.PermissionDenied},
		"DropDatabase":   {on(rights.Drop, "sh*", "*"), on(rights.Drop, "shop", "o*"), errs.PermissionDenied},
		"CreateTable": {
			on(rights.Create, "public", "n"), on(rights.OfTables&^rights.Create, "*", "*"),
			errs.PermissionDenied,
		},
		"AlterTable": {
			on(rights.Alter, "public", "logs"), on(rights.OfTables&^rights.Alter, "*", "*"),
			errs.PermissionDenied,
		},
		"DropTable": {on(rights.Drop, "public", "logs"), on(rights.OfTables&^rights.Drop, "*", "*"), errs.PermissionDenied},
		"TruncateTable": {
			on(rights.Delete, "public", "logs"), on(rights.OfTables&^rights.Delete, "*", "*"),
			errs.PermissionDenied,
		},
		"Insert": {
			on(rights.Insert, "public", "logs"), on(rights.OfTables&^rights.Insert, "*", "*"),
			errs.PermissionDenied,
		},
		"Delete": {
			on(rights.Delete|rights.Select, "public", "logs"), on(rights.OfTables&^rights.Select, "*", "*"),
			errs.PermissionDenied,
		},
		"CreateUser":     {cluster(rights.Access), cluster(rights.OfCluster &^ rights.Access), errs.PermissionDenied},
		"AlterUser":      {cluster(rights.Access), cluster(rights.OfCluster &^ rights.Access), errs.PermissionDenied},
		"CreateRole":     {cluster(rights.Access), cluster(rights.OfCluster &^ rights.Access), errs.PermissionDenied},
		"AlterRole":      {cluster(rights.Access), cluster(rights.OfCluster &^ rights.Access), errs.PermissionDenied},
		"DropPrincipal":  {cluster(rights.Access), cluster(rights.OfCluster &^ rights.Access), errs.PermissionDenied},
		"GrantRole":      {cluster(rights.Access), cluster(rights.OfCluster &^ rights.Access), errs.PermissionDenied},
		"Grant":          {cluster(rights.Access), on(rights.OfTables, "*", "*"), errs.PermissionDenied},
		"ShowPrincipals": {cluster(rights.Access), cluster(rights.OfCluster &^ rights.Access), errs.PermissionDenied},
		"ShowAccess":     {cluster(rights.Access), cluster(rights.OfCluster &^ rights.Access), errs.PermissionDenied},
		"ShowGrants":     {},
		"ShowTokens":     {},
		"ShowQuotas":     {cluster(rights.Monitor), cluster(rights.Access | rights.Backup), errs.PermissionDenied},
		"CreateToken":    {cluster(rights.Access), cluster(rights.OfCluster &^ rights.Access), errs.PermissionDenied},
		// Tokens of others do not exist.
		"AlterToken": {cluster(rights.Access), cluster(rights.OfCluster &^ rights.Access), errs.InvalidArguments},
		"DropToken":  {cluster(rights.Access), cluster(rights.OfCluster &^ rights.Access), errs.InvalidArguments},
		"Kill":       {cluster(rights.Operate), cluster(rights.OfCluster &^ rights.Operate), errs.InvalidArguments},
	}
	for kind, text := range everyKind {
		n, ok := needs[kind]
		if !ok {
			t.Errorf("%s has no row", kind)
			continue
		}
		run := func(ctx context.Context) (error, bool) {
			w := newWorld(t)
			_, err := w.run(ctx, text)
			return err, len(w.meta.proposed) > 0 || w.writer.rounds > 0
		}
		if err, changed := run(with()); errs.CodeOf(err) != n.code && n.code != 0 || changed {
			t.Errorf("%s without grants: %v", kind, err)
		} else if n.code == 0 && errs.CodeOf(err) == errs.PermissionDenied {
			t.Errorf("%s without grants: %v", kind, err)
		} else if n.code == errs.PermissionDenied && kind != "Grant" && !strings.Contains(err.Error(), "ON ") {
			t.Errorf("%s without grants: %v", kind, err)
		}
		if n.code == 0 || kind == "Kill" {
			continue
		}
		if err, changed := run(with(n.others)); err == nil || changed {
			t.Errorf("%s with %s on %s: %v", kind, n.others.Privileges, n.others.Target, err)
		}
		if err, _ := run(with(n.grant)); errs.CodeOf(err) == errs.PermissionDenied || errs.CodeOf(err) == n.code {
			t.Errorf("%s with %s on %s: %v", kind, n.grant.Privileges, n.grant.Target, err)
		}
	}
}

// TestForbiddenIsMissing checks that a table on which the user has no privilege gives the same answer as a table that
// does not exist, in each place of a SELECT.
func TestForbiddenIsMissing(t *testing.T) {
	ctx := with(on(rights.Select, "public", "metrics"), on(rights.Insert, "shop", "orders"))
	for _, sql := range []string{
		"SELECT * FROM %s", "EXPLAIN SELECT * FROM %s", "DESCRIBE SELECT * FROM %s", "DESCRIBE %s", "SHOW CREATE TABLE %s",
		"SHOW COLUMNS FROM %s", "WITH a AS (SELECT 1) SELECT * FROM %s", "SELECT (SELECT count(*) FROM %s)",
	} {
		w := newWorld(t)
		run := func(database, table string) (string, error) {
			w.shards.reads = []*shardpb.TableName{{Database: database, Name: table}}
			return w.run(ctx, strings.ReplaceAll(sql, "%s", database+"."+table))
		}
		forbidden, err1 := run("public", "logs")
		missing, err2 := run("public", "gone")
		if err1 == nil || err2 == nil || errs.CodeOf(err1) != errs.TableNotFound || forbidden != missing ||
			strings.ReplaceAll(err1.Error(), "logs", "gone") != err2.Error() {
			t.Errorf("%s:\n%v\n%v", sql, err1, err2)
		}
		if _, err := run("shop", "orders"); errs.CodeOf(err) != errs.PermissionDenied ||
			!strings.Contains(err.Error(), "GRANT SELECT ON shop.orders TO ann") {
			t.Errorf("%s with another privilege: %v", sql, err)
		}
	}
}

// TestListsAreFiltered checks that lists and suggestions have only objects that the caller may see.
func TestListsAreFiltered(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		sql          string
		grants       []rights.Grant
		has, hasNone []string
	}{
		{"SHOW TABLES", nil, nil, []string{"logs"}},
		{"SHOW TABLES", []rights.Grant{on(rights.Insert, "public", "l*")}, []string{"logs"}, nil},
		{"SHOW DATABASES", nil, []string{"public", "information_schema"}, []string{"shop"}},
		{"SHOW DATABASES", []rights.Grant{on(rights.Insert, "shop", "x")}, []string{"shop"}, nil},
		{"SHOW TABLES FROM shop", []rights.Grant{on(rights.Select, "shop", "x")}, nil, []string{"orders"}},
		{"SHOW TABLES FROM svc_private", nil, []string{"queries"}, []string{"shards", "segments", "rejects"}},
		{
			"SHOW TABLES FROM svc_private",
			[]rights.Grant{{Target: rights.Target{Kind: rights.Cluster}, Privileges: rights.Monitor}},
			[]string{"queries", "shards", "segments"},
			nil,
		},
	} {
		got, err := w.run(with(tt.grants...), tt.sql)
		if err != nil {
			t.Errorf("%s: %v", tt.sql, err)
		}
		for _, name := range tt.has {
			if !strings.Contains(got, name) {
				t.Errorf("%s: no %s in %s", tt.sql, name, got)
			}
		}
		for _, name := range tt.hasNone {
			if strings.Contains(got, name) {
				t.Errorf("%s: %s in %s", tt.sql, name, got)
			}
		}
	}
	if _, err := w.run(with(), "DESCRIBE log"); err == nil || strings.Contains(err.Error(), "did you mean") {
		t.Error(err)
	}
}

// TestSystemTablesDeclareNeeds checks that each system table says who may read it, and refuses others.
func TestSystemTablesDeclareNeeds(t *testing.T) {
	for _, st := range systemTables {
		if st.needs == access.Undeclared {
			t.Errorf("%s.%s does not say who may read it", st.database, st.name)
		}
		err := st.permit(access.From(with()))
		if open := st.needs == access.Query; open != (err == nil) {
			t.Errorf("%s.%s: %v", st.database, st.name, err)
		}
	}
	for name, st := range catalogTables {
		if st.needs == access.Undeclared {
			t.Errorf("pg_catalog.%s does not say who may read it", name)
		}
	}
}

// TestSystemTablesAreFiltered checks that system tables are listed and described only to callers who may read them.
func TestSystemTablesAreFiltered(t *testing.T) {
	monitor := rights.Grant{Target: rights.Target{Kind: rights.Cluster}, Privileges: rights.Monitor}
	audits := rights.Grant{Target: rights.Target{Kind: rights.Cluster}, Privileges: rights.Audit}
	reader := access.With(t.Context(), &access.Caller{Sender: access.Sender{User: "r", Right: access.ReadOnly}})
	for _, table := range []string{
		"information_schema.tables", "information_schema.columns", "pg_catalog.pg_class", "pg_catalog.pg_attribute",
	} {
		database, name, _ := strings.Cut(table, ".")
		list := func(ctx context.Context) string {
			w := newWorld(t)
			w.addAudit()
			w.shards.reads = []*shardpb.TableName{{Database: database, Name: name}}
			if _, err := w.run(ctx, "SELECT * FROM "+table); err != nil {
				t.Fatal(err)
			}
			return dump(t, w.shards.queried.Tables[0].InlineBatches[0])
		}
		// One column or name for each: of nodes, of audit records, and of queries, which have rows for everybody.
		of := map[string][3]string{
			"information_schema.tables": {" cluster_nodes ", " audit ", " queries "}, "pg_catalog.pg_class": {
				" cluster_nodes ", " audit ", " queries ",
			},
			"information_schema.columns": {" rpc_addr ", " token_id ", " query_id "}, "pg_catalog.pg_attribute": {
				" rpc_addr ", " token_id ", " query_id ",
			},
		}[table]
		for _, tt := range []struct {
			ctx           context.Context
			nodes, audits bool
		}{
			{with(), false, false},
			{with(monitor), true, false},
			{with(audits), false, true},
			{with(on(rights.Select, "*", "*")), false, false},
			{reader, true, false},
		} {
			rows := list(tt.ctx)
			if strings.Contains(rows, of[0]) != tt.nodes || strings.Contains(rows, of[1]) != tt.audits ||
				!strings.Contains(rows, of[2]) {
				t.Errorf("%s for %+v: %s", table, access.From(tt.ctx).Sender, rows)
			}
		}
	}
	for _, sql := range []string{
		"DESCRIBE svc_private.cluster_nodes", "SHOW COLUMNS FROM svc_private.cluster_nodes",
		"DESCRIBE SELECT * FROM svc_private.cluster_nodes", "DESCRIBE svc_private.audit",
		"SHOW CREATE TABLE svc_private.audit",
	} {
		w := newWorld(t)
		w.addAudit()
		w.shards.reads = []*shardpb.TableName{{Database: "svc_private", Name: "cluster_nodes"}}
		if _, err := w.run(with(), sql); errs.CodeOf(err) != errs.PermissionDenied {
			t.Errorf("%s: %v", sql, err)
		}
		if _, err := w.run(with(monitor, audits), sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	_, err := newWorld(t).run(with(), "DESCRIBE svc_private.nosuch")
	if errs.CodeOf(err) != errs.TableNotFound || strings.Contains(err.Error(), "shards") {
		t.Error(err)
	}
}

// addAudit adds a table like that of the audit records.
func (w *world) addAudit() {
	w.meta.databases = append(w.meta.databases, &schemapb.Database{Name: schema.PrivateDatabase})
	t := &schema.Table{
		ID: 77, Database: schema.PrivateDatabase, Name: schema.AuditTable, Version: 1, NextColumnID: 3,
		Columns: []schema.Column{
			{ID: 1, Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true},
			{ID: 2, Name: "token_id", Type: schema.String, Semantic: schema.Field},
		},
	}
	w.meta.tables = append(w.meta.tables, t.Index())
}

// TestRename checks that renaming a table needs rights on both names, and gives the caller no new privilege on the
// rows.
func TestRename(t *testing.T) {
	parsed, err := statement.Parse("ALTER TABLE logs RENAME TO mine")
	if err != nil {
		t.Fatal(err)
	}
	st := parsed[0].(*statement.AlterTable)
	old, later := rights.Alter|rights.Drop, rights.Create
	for _, tt := range []struct {
		on, to rights.Set
		may    bool
	}{
		{old, later, false},
		{old | later, later, true},
		{rights.OfTables, rights.OfTables, true},
		{rights.Alter | later, later, false},
		{old | later, rights.Select | later, false},
		{old, 0, false},
	} {
		caller := access.From(with(on(tt.on, "public", "logs"), on(tt.to, "public", "mine")))
		if err := permitRename(caller, st, "public"); tt.may != (err == nil) {
			t.Errorf("%s, %s: %v", tt.on, tt.to, err)
		}
	}
}

// TestNoColumnsForAlterers checks that ALTER suggests columns only to callers who may read the table.
func TestNoColumnsForAlterers(t *testing.T) {
	for _, sql := range []string{
		"ALTER TABLE logs DROP COLUMN hosts", "ALTER TABLE logs RENAME COLUMN hosts TO x",
		"ALTER TABLE logs MODIFY COLUMN hosts SET INVERTED INDEX", "ALTER TABLE logs MODIFY COLUMN hosts BIGINT",
	} {
		for privileges, suggests := range map[rights.Set]bool{rights.Alter: false, rights.Alter | rights.Select: true} {
			_, err := newWorld(t).run(with(on(privileges, "public", "logs")), sql)
			if errs.CodeOf(err) != errs.ColumnNotFound || strings.Contains(err.Error(), `"host"`) != suggests {
				t.Errorf("%s with %s: %v", sql, privileges, err)
			}
		}
	}
}

// TestSizesNeedSelect checks that the sizes of a table are shown only to callers who may read it.
func TestSizesNeedSelect(t *testing.T) {
	for privileges, shown := range map[rights.Set]bool{rights.Insert: false, rights.Select: true} {
		w := newWorld(t)
		w.shards.stats = []*shardpb.ShardStats{{
			ShardId: 2, State: "Leader", Tables: []*shardpb.TableStats{{TableId: 1, Rows: 4711, SegmentBytes: 50}},
		}}
		w.shards.reads = []*shardpb.TableName{{Database: "information_schema", Name: "tables"}}
		if _, err := w.run(with(on(privileges, "public", "logs")), "SELECT * FROM information_schema.tables"); err != nil {
			t.Fatal(err)
		}
		rows := dump(t, w.shards.queried.Tables[0].InlineBatches[0])
		if !strings.Contains(rows, " logs ") || strings.Contains(rows, "4711") != shown {
			t.Errorf("with %s: %s", privileges, rows)
		}
	}
}
