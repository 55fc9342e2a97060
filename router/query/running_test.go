package query

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
)

// TestRunningQueries checks that users see and end their own queries, and that users with the right rw see and end the
// queries of all users.
func TestRunningQueries(t *testing.T) {
	w := newWorld(t)
	w.shards.running = []*shardpb.RunningQuery{
		{
			QueryId: "a1", NodeId: "n1", Share: "user ann", Sql: "SELECT 1", StartedUnixNano: 5, Phase: "asking nodes", Parts: 2,
			PartsDone: 1, Bytes: 7,
		},
		{QueryId: "a1", NodeId: "n2", Share: "user ann", Part: true, Sql: "SELECT 2", StartedUnixNano: 6, Phase: "running"},
		{QueryId: "b2", NodeId: "n2", Share: "user bob", Sql: "SELECT 3", StartedUnixNano: 7, Phase: "planning"},
	}
	w.shards.reads = []*shardpb.TableName{{Database: "svc_private", Name: "queries"}}
	w.meta.nodes = []*metapb.Node{{Id: "n1", Name: "one"}}
	const anns = `a1 n1 one main user ann 5 asking nodes 2 1 7 SELECT 1
a1 n2 NULL part user ann 6 running NULL NULL 0 SELECT 2
`
	const bobs = "b2 n2 NULL main user bob 7 planning NULL NULL 0 SELECT 3\n"
	for _, test := range []struct {
		user  string
		right access.Right
		want  string
	}{
		{"ann", access.ReadOnly, anns}, {"bob", access.ReadOnly, bobs}, {"root", access.ReadWrite, anns + bobs},
	} {
		if _, err := w.run(by(test.user, test.right), "SELECT * FROM svc_private.queries"); err != nil {
			t.Fatal(err)
		}
		if got := dump(t, w.shards.queried.Tables[0].InlineBatches[0]); got != test.want {
			t.Errorf("%s sees\n%swant\n%s", test.user, got, test.want)
		}
		if len(w.shards.queried.QueryId) != 32 {
			t.Errorf("the id of a query: %q", w.shards.queried.QueryId)
		}
	}
	for _, test := range []struct {
		user  string
		right access.Right
		id    string
		share string
		want  string
	}{
		{"ann", access.ReadOnly, "a1", "user ann", ""},
		{"ann", access.ReadOnly, "b2", "user ann", `no query of yours with the id "b2" is running`},
		{"root", access.ReadWrite, "b2", "", ""},
		{"root", access.ReadWrite, "c3", "", `no query with the id "c3" is running`},
	} {
		_, err := w.run(by(test.user, test.right), "KILL '"+test.id+"'")
		if got := w.shards.killing; got.QueryId != test.id || got.Share != test.share || got.By != "user "+test.user {
			t.Errorf("%s ends %s: %v", test.user, test.id, got)
		}
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) ||
			errs.CodeOf(err) != errs.InvalidArguments) {
			t.Errorf("%s ends %s: %v, want %q", test.user, test.id, err, test.want)
		}
	}
	// A node that does not answer is reported, and the queries of other nodes are shown and ended.
	w.shards.runningErr = errors.New("node n3 is down")
	_, facts, err := w.reader.of(by("root", access.ReadWrite)).queryTables(by("root", access.ReadWrite),
		"SELECT * FROM svc_private.queries", &Request{}, w.shards.reads)
	if err != nil || len(facts.missing) != 0 || len(facts.warnings) != 1 ||
		!strings.Contains(facts.warnings[0], "node n3 is down") {
		t.Errorf("list with a node down: %v, missing %v, warnings %v", err, facts.missing, facts.warnings)
	}
	if _, err := w.run(by("root", access.ReadWrite), "KILL 'a1'"); err != nil {
		t.Errorf("end with a node down: %v", err)
	}
	if _, err := w.run(by("root", access.ReadWrite), "KILL 'c3'"); err == nil ||
		!strings.Contains(err.Error(), "n3") || !strings.Contains(err.Error(), "nodes that answered") {
		t.Errorf("end an unknown query with a node down: %v", err)
	}
}

// TestDescribeQuery returns the columns of a query from the definitions of its tables.
func TestDescribeQuery(t *testing.T) {
	w := newWorld(t)
	w.shards.reads = []*shardpb.TableName{
		{Database: "public", Name: "logs"}, {Database: "svc_private", Name: "queries"},
	}
	got, err := w.run(by("ann", access.ReadOnly), "DESCRIBE WITH a AS (SELECT 1) SELECT * FROM logs -- all")
	if err != nil || got != "Column,Type\nn,BIGINT\n" {
		t.Errorf("got %q, %v", got, err)
	}
	asked := w.shards.described
	if !strings.HasPrefix(asked.Sql, "WITH a AS") || len(asked.Tables) != 2 || asked.Tables[0].Table.Id != 1 ||
		asked.Tables[0].ShardId != 0 || len(asked.Tables[1].Table.Columns) != len(queriesTable.columns) ||
		w.shards.queried != nil {
		t.Errorf("asked %v", asked)
	}
	w.shards.reads = []*shardpb.TableName{{Database: "public", Name: "nowhere"}}
	if _, err := w.run(by("ann", access.ReadOnly), "DESC SELECT * FROM nowhere"); errs.CodeOf(err) != errs.TableNotFound {
		t.Errorf("a table that does not exist: %v", err)
	}
}

// TestClientSessions checks who sees which sessions of PostgreSQL clients, and which users.
func TestClientSessions(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		c.Users = func() []access.Sender { return []access.Sender{{User: "ann"}, {User: "bob"}} }
		c.Sessions = func(_ context.Context, all bool) ([]*metapb.ClientSession, error) {
			list := []*metapb.ClientSession{{
				NodeId: "n1", Pid: 7, Share: "user ann", Principal: "ann", Address: "192.0.2.1", ApplicationName: "psql",
				Database: "public", SinceUnixNano: 5, State: "active", QueryId: "a1", Query: "SELECT 1", QueryUnixNano: 6,
			}}
			if !all {
				return list, nil
			}
			other := &metapb.ClientSession{NodeId: "n2", Pid: 8, Share: "user bob", Principal: "bob", State: "idle"}
			return append(list, other), errors.New("node n3 is down")
		}
	})
	w.meta.nodes = []*metapb.Node{{Id: "n1", Name: "alpha"}}
	const ann, bob = "n1 alpha 7 ann 192.0.2.1 psql public 5 active a1\n", "n2 NULL 8 bob \"\" \"\" \"\" 0 idle NULL\n"
	const activity = "2200 public 7 NULL 1965673496 ann psql 192.0.2.1 NULL NULL 5 NULL 6 NULL NULL NULL active NULL " +
		"NULL NULL SELECT 1 client backend\n"
	for _, test := range []struct {
		user                      string
		right                     access.Right
		sessions, activity, users string
	}{
		{"ann", access.ReadOnly, ann, activity, "svc ann reader"},
		{"bob", access.ReadOnly, bob, "", "svc bob reader"},
		{"root", access.ReadWrite, ann + bob, activity, "svc ann bob root admin chiefs operator reader team writer"},
	} {
		rows := func(database, table string) string {
			t.Helper()
			w.shards.reads = []*shardpb.TableName{{Database: database, Name: table}}
			if _, err := w.run(by(test.user, test.right), "SELECT * FROM "+database+"."+table); err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, batch := range w.shards.queried.Tables[0].InlineBatches {
				b.WriteString(dump(t, batch))
			}
			return b.String()
		}
		if got := rows("svc_private", "pg_sessions"); got != test.sessions {
			t.Errorf("%s sees\n%swant\n%s", test.user, got, test.sessions)
		}
		if got := rows("pg_catalog", "pg_stat_activity"); got != test.activity {
			t.Errorf("%s sees\n%swant\n%s", test.user, got, test.activity)
		}
		var users []string
		for line := range strings.Lines(rows("pg_catalog", "pg_roles")) {
			name, _, _ := strings.Cut(line, " ")
			users = append(users, name)
		}
		if got := strings.Join(users, " "); got != test.users {
			t.Errorf("%s sees the users and roles %s, want %s", test.user, got, test.users)
		}
		if list := rows("pg_catalog", "pg_user"); strings.Contains(list, "reader") {
			t.Errorf("%s sees roles among the users:\n%s", test.user, list)
		}
	}
	// Who sees all sessions, but not all users by SHOW USERS, does not see them here either.
	monitor := rights.Grant{Target: rights.Target{Kind: rights.Cluster}, Privileges: rights.Monitor}
	w.shards.reads = []*shardpb.TableName{{Database: "pg_catalog", Name: "pg_user"}}
	if _, err := w.run(with(monitor), "SELECT * FROM pg_catalog.pg_user"); err != nil {
		t.Fatal(err)
	}
	if list := dump(t, w.shards.queried.Tables[0].InlineBatches[0]); strings.Contains(list, "bob") {
		t.Errorf("a user with MONITOR sees the users\n%s", list)
	}
}
