package query

import (
	"maps"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/rights"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
)

// TestQuotasNeedOperate: the right to alter a database does not include its quotas, and the right to change quotas
// does not include the database.
func TestQuotasNeedOperate(t *testing.T) {
	operator := rights.Grant{Target: rights.Target{Kind: rights.Cluster}, Privileges: rights.Operate}
	owner := on(rights.OfTables, "shop", "*")
	for _, tt := range []struct {
		sql   string
		grant rights.Grant
		code  errs.Code
	}{
		{"ALTER DATABASE shop SET 'quota.tables'='5'", operator, errs.Success},
		{"ALTER DATABASE shop SET 'Quota.Tables'='5', 'quota.columns'='7'", operator, errs.Success},
		{"ALTER DATABASE shop UNSET 'quota.tables'", operator, errs.Success},
		{"ALTER DATABASE shop SET 'quota.tables'='5'", owner, errs.PermissionDenied},
		{"ALTER DATABASE shop UNSET 'quota.tables'", owner, errs.PermissionDenied},
		{"ALTER DATABASE shop SET 'ttl'='1d', 'QUOTA.tables'='5'", owner, errs.PermissionDenied},
		{"ALTER DATABASE shop SET 'ttl'='1d'", operator, errs.PermissionDenied},
		{"ALTER DATABASE shop SET 'ttl'='1d', 'quota.tables'='5'", operator, errs.InvalidArguments},
		{"ALTER DATABASE shop UNSET 'ttl', 'quota.tables'", operator, errs.InvalidArguments},
		{"ALTER DATABASE shop SET 'quota.tabels'='5'", operator, errs.InvalidArguments},
		{"ALTER DATABASE shop UNSET 'quota.tabels'", operator, errs.InvalidArguments},
		{"ALTER DATABASE shop SET 'quota.tables'='many'", operator, errs.InvalidArguments},
		{"ALTER DATABASE shop SET 'quota.tables'='5', 'QUOTA.TABLES'='6'", operator, errs.InvalidArguments},
		{"ALTER DATABASE missing SET 'quota.tables'='5'", operator, errs.DatabaseNotFound},
		{"ALTER DATABASE svc_private SET 'quota.tables'='5'", operator, errs.Unsupported},
		{"CREATE DATABASE d WITH ('quota.tables'='5')", on(rights.Create, "*", "*"), errs.InvalidArguments},
	} {
		w := newWorld(t)
		_, err := w.run(with(tt.grant), tt.sql)
		if errs.CodeOf(err) != tt.code || (err == nil) != (len(w.meta.proposed) == 1) {
			t.Errorf("%s with %s: %v, %d commands", tt.sql, tt.grant.Privileges, err, len(w.meta.proposed))
		}
	}
	w := newWorld(t)
	if _, err := w.run(with(operator), "ALTER DATABASE shop SET 'QUOTA.Tables'='05'"); err != nil {
		t.Fatal(err)
	}
	got := w.meta.proposed[0].GetAlterDatabase()
	if got.Name != "shop" || !maps.Equal(got.Set, map[string]string{"quota.tables": "5"}) {
		t.Errorf("proposed %v", got)
	}
}

// TestShowQuotas checks the values, and that SHOW CREATE DATABASE has a statement that can be executed.
func TestShowQuotas(t *testing.T) {
	w := newWorld(t)
	w.meta.databases[0].Options = map[string]string{"quota.columns": "9"}
	w.meta.databases[1].Options = map[string]string{"ttl": "7days", "quota.tables": "3", "quota.columns": "0"}
	got, err := w.run(t.Context(), "SHOW QUOTAS")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimSpace(got), "\n")[1:]
	if len(all) != 3 || !strings.Contains(all[0], "public") || !strings.Contains(all[0], "quota.columns") {
		t.Errorf("SHOW QUOTAS: %q", all)
	}
	got, err = w.run(t.Context(), "SHOW QUOTAS LIKE 'sh%' LIMIT 1 OFFSET 1")
	if err != nil || strings.Contains(got, "public") || !strings.Contains(got, "quota.tables") {
		t.Errorf("the second row of shop: %q, %v", got, err)
	}
	got, err = w.run(t.Context(), "SHOW CREATE DATABASE shop")
	if err != nil || strings.Contains(got, "quota") || !strings.Contains(got, "ttl='7days'") {
		t.Errorf("SHOW CREATE DATABASE: %q, %v", got, err)
	}
}

// TestQuotasAreHidden: a user who may not list quotas does not see them in information_schema either.
func TestQuotasAreHidden(t *testing.T) {
	monitor := rights.Grant{Target: rights.Target{Kind: rights.Cluster}, Privileges: rights.Monitor}
	for _, sees := range []bool{false, true} {
		w := newWorld(t)
		w.meta.databases[1].Options = map[string]string{"quota.tables": "3"}
		w.shards.reads = []*shardpb.TableName{{Database: "information_schema", Name: "schemata"}}
		grants := []rights.Grant{on(rights.Select, "shop", "*")}
		if sees {
			grants = append(grants, monitor)
		}
		if _, err := w.run(with(grants...), "SELECT * FROM information_schema.schemata"); err != nil {
			t.Fatal(err)
		}
		got := dump(t, w.shards.queried.Tables[0].InlineBatches[0])
		if !strings.Contains(got, "svc shop") || strings.Contains(got, "'quota.tables'='3'") != sees {
			t.Errorf("with MONITOR %v: %s", sees, got)
		}
	}
}

// limitedQuotas has a limit for the queries of the database shop.
type limitedQuotas struct{ n int }

func (limitedQuotas) Take(string, int64, int64) error { return nil }

func (limitedQuotas) GiveBack(string, int64, int64) {}

func (q limitedQuotas) QueryLimit(database string) (int, bool) { return q.n, database == "shop" }

func (limitedQuotas) OverQueries(database string) error {
	return errs.OverQuota(errs.Quota{Database: database, Name: "quota.query_concurrency"}, time.Second, "over")
}

func (limitedQuotas) QueryReady(database string) error {
	if database != "busy" {
		return nil
	}
	return errs.OverQuota(errs.Quota{Database: database, Name: "quota.query_cpu"}, time.Second, "over")
}

func (limitedQuotas) QueryTime(string) (time.Duration, bool) { return 0, false }

// shortQuotas has a time limit for the queries of the database shop.
type shortQuotas struct{ limitedQuotas }

func (shortQuotas) QueryTime(database string) (time.Duration, bool) {
	return time.Millisecond, database == "shop"
}

func (limitedQuotas) Value(string, string) (uint64, bool) { return 7, true }

// TestQueriesCountForTheirTables: a query counts for the database of its tables, whatever database the request names,
// and waits or is refused beyond its quota. Others are not affected.
func TestQueriesCountForTheirTables(t *testing.T) {
	for _, tt := range []struct {
		database string
		reads    []*shardpb.TableName
		limit    int
		refused  bool
	}{
		{"public", []*shardpb.TableName{{Database: "public", Name: "logs"}}, 0, false},
		{"shop", []*shardpb.TableName{{Database: "shop", Name: "orders"}}, 0, true},
		{"public", []*shardpb.TableName{{Database: "shop", Name: "orders"}}, 0, true},
		{"public", []*shardpb.TableName{{Database: "shop", Name: "orders"}}, 1, false},
		{"public", []*shardpb.TableName{{Database: "public", Name: "logs"}, {Database: "shop", Name: "orders"}}, 0, true},
		{"public", []*shardpb.TableName{{Database: "public", Name: "logs"}, {Database: "busy", Name: "orders"}}, 1, true},
	} {
		w := newWorld(t, func(c *Config) { c.Quotas, c.MaxWait = limitedQuotas{tt.limit}, time.Millisecond })
		w.shards.reads = tt.reads
		_, err := w.run(t.Context(), "SELECT 1", func(r *Request) { r.Database = tt.database })
		refused := err != nil && errs.From(err).Quota != nil
		if refused != tt.refused || !refused && err != nil {
			t.Errorf("%+v: %v", tt, err)
		}
		w.Running(func(database string, running, waiting int) {
			t.Errorf("%+v: %d queries of %s run and %d wait", tt, running, database, waiting)
		})
	}
}

// TestQuotasTable reads svc_private.quotas.
func TestQuotasTable(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Quotas = limitedQuotas{} })
	w.meta.databases[1].Options = map[string]string{
		"ttl": "7days", "quota.columns": "9", "quota.ingest_burst": "1m30s", "quota.stored_bytes": "1000",
	}
	w.shards.reads = []*shardpb.TableName{{Database: "svc_private", Name: "quotas"}}
	monitor := rights.Grant{Target: rights.Target{Kind: rights.Cluster}, Privileges: rights.Monitor}
	if _, err := w.run(with(monitor), "SELECT * FROM svc_private.quotas"); err != nil {
		t.Fatal(err)
	}
	const want = "shop quota.columns 9 1 columns\nshop quota.ingest_burst 90 7 seconds\n" +
		"shop quota.stored_bytes 1000 7 bytes\n"
	if got := dump(t, w.shards.queried.Tables[0].InlineBatches[0]); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	_, err := w.run(with(on(rights.OfTables, "*", "*")), "SELECT * FROM svc_private.quotas")
	if errs.CodeOf(err) != errs.PermissionDenied {
		t.Errorf("without MONITOR: %v", err)
	}
}

// TestTimeOfQueries: a query ends when the time limit of a database of its tables is over, with the figures, and others
// do not.
func TestTimeOfQueries(t *testing.T) {
	for _, limited := range []bool{true, false} {
		w := newWorld(t, func(c *Config) { c.Quotas = shortQuotas{limitedQuotas{1}} })
		w.shards.reads = []*shardpb.TableName{{Database: "public", Name: "logs"}}
		if limited {
			w.shards.reads = append(w.shards.reads, &shardpb.TableName{Database: "shop", Name: "orders"})
		}
		w.shards.block = make(chan struct{})
		if !limited {
			close(w.shards.block)
		}
		_, err := w.run(t.Context(), "SELECT 1")
		if limited != (err != nil) {
			t.Errorf("limited %t: %v", limited, err)
		}
		if err == nil {
			continue
		}
		if e := errs.From(err); e.Code != errs.QueryTimeout || e.Status() != 400 || e.Quota == nil || e.Quota.Limit != 1 {
			t.Errorf("%v", e)
		}
	}
}

// usedQuotas has no CPU time left for the database shop.
type usedQuotas struct{ limitedQuotas }

func (q usedQuotas) QueryReady(database string) error {
	if database != "shop" {
		return nil
	}
	return q.limitedQuotas.QueryReady("busy")
}

// TestQuotasWithoutTables: the quotas of the database that a request names hold for a query without tables.
func TestQuotasWithoutTables(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Quotas = shortQuotas{limitedQuotas{1}} })
	w.shards.reads, w.shards.block = nil, make(chan struct{})
	_, err := w.run(t.Context(), "SELECT count(*) FROM generate_series(1, 1000000000000)", func(r *Request) {
		r.Database = "shop"
	})
	if e := errs.From(err); e.Code != errs.QueryTimeout || e.Quota == nil {
		t.Errorf("no time limit: %v", err)
	}
	w = newWorld(t, func(c *Config) { c.Quotas = usedQuotas{limitedQuotas{1}} })
	w.shards.reads = nil
	_, err = w.run(t.Context(), "SELECT 1", func(r *Request) { r.Database = "shop" })
	if e := errs.From(err); err == nil || e.Quota == nil {
		t.Errorf("admitted without CPU time: %v", err)
	}
}

// TestQuotasWithSystemTables: a query of system tables alone, such as a cross join of them, counts for the database
// that the request names. A database of the server in the request is no way around the quotas.
func TestQuotasWithSystemTables(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Quotas = usedQuotas{limitedQuotas{1}} })
	w.shards.reads = []*shardpb.TableName{
		{Database: "information_schema", Name: "tables"}, {Database: "information_schema", Name: "columns"},
	}
	const sql = "SELECT count(*) FROM information_schema.tables, information_schema.columns"
	_, err := w.run(t.Context(), sql, func(r *Request) { r.Database = "shop" })
	if e := errs.From(err); err == nil || e.Quota == nil {
		t.Errorf("admitted without CPU time: %v", err)
	}
	if _, err := w.run(t.Context(), sql, func(r *Request) { r.Database = "public" }); err != nil {
		t.Errorf("a database with CPU time: %v", err)
	}
	for _, named := range []string{"information_schema", "SVC_PRIVATE", "pg_catalog"} {
		if got := (&reader{}).payer(&access.Caller{}, named); got != "public" {
			t.Errorf("with %s the query counts for %s", named, got)
		}
	}
	own := append([]*shardpb.TableName{}, w.shards.reads...)
	own = append(own, &shardpb.TableName{Database: "shop", Name: "orders"})
	if got := charged(own, "public"); len(got) != 1 || got[0].Database != "shop" {
		t.Errorf("with a table of shop, the query counts for %v", got)
	}
}

// TestPayer: a query without tables of users counts for a database in which the sender has a privilege, whichever
// database the request names.
func TestPayer(t *testing.T) {
	r := &reader{names: names{meta: &fakeMeta{databases: []*schemapb.Database{
		{Name: "public"}, {Name: "web"}, {Name: "team_b"}, {Name: "team_a"},
	}}}}
	on := func(database string) rights.Grant {
		return rights.Grant{
			Target: rights.Target{Kind: rights.Tables, Database: database, Name: "*"}, Privileges: rights.Select,
		}
	}
	for _, tt := range []struct {
		grants          []rights.Grant
		database, named string
		want            string
	}{
		{[]rights.Grant{on("web")}, "", "web", "web"},
		{[]rights.Grant{on("web")}, "", "public", "web"},
		{[]rights.Grant{on("web")}, "", "information_schema", "web"},
		{[]rights.Grant{on("web"), on("public")}, "", "public", "public"},
		{[]rights.Grant{on("team_*"), on("web")}, "", "public", "team_a"},
		{[]rights.Grant{on("team_*"), on("web")}, "web", "public", "web"},
		{[]rights.Grant{on("team_*")}, "web", "public", "team_a"},
		{[]rights.Grant{on("team_*"), on("public")}, "team_b", "PG_CATALOG", "team_b"},
		{[]rights.Grant{on("*")}, "", "svc_private", "public"},
		{nil, "", "public", "public"},
	} {
		caller := &access.Caller{Sender: access.Sender{
			User: "ann", Proof: "password", Database: tt.database, Grants: rights.NewIndex(tt.grants, nil),
		}}
		if got := r.payer(caller, tt.named); got != tt.want {
			t.Errorf("%v, default %q: a query in %s counts for %s, want %s", tt.grants, tt.database, tt.named, got, tt.want)
		}
	}
}
