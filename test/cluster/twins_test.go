package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// widenedTables are tables whose column n becomes wider, with its types before and after. For each there is a table
// NAME_plain that has the wider type from the beginning.
var widenedTables = []struct{ name, narrow, wide, options string }{
	{"appended", "INT", "DOUBLE", ""},
	{"larger", "TINYINT", "BIGINT", ""},
	{"single", "FLOAT", "DOUBLE", ""},
	{"latest", "BIGINT", "DOUBLE", ", PRIMARY KEY (id)) WITH (append_mode='false'"},
	{"filled", "SMALLINT", "DOUBLE", ", PRIMARY KEY (id)) WITH (append_mode='false', merge_mode='last_non_null'"},
}

// widenedChecks are statements on such a table, which is %s.
var widenedChecks = []string{
	"SELECT id, n, m FROM %s ORDER BY id, ts, n, m",
	"SELECT * FROM %s WHERE n = 3 ORDER BY id, ts, n, m",
	"SELECT n FROM %s ORDER BY ts DESC, id, n LIMIT 4",
	"SELECT id, n FROM %s WHERE n > 2.25 ORDER BY n DESC, id LIMIT 5",
	"SELECT id FROM %s WHERE n IN (1, 2.5, 7) ORDER BY ALL",
	"SELECT count(*), count(n), min(n), max(n), sum(n) FROM %s",
	"SELECT n, count(*) FROM %s GROUP BY n HAVING count(*) > 0 ORDER BY n NULLS LAST",
	"SELECT count(*) FROM %s WHERE n IS NULL OR n <> 2.5",
	"SELECT typeof(n), count(*) FROM %s GROUP BY ALL",
	"SELECT a.id, a.n FROM %[1]s a JOIN %[1]s b ON a.n = b.n AND a.id < b.id ORDER BY ALL",
}

// widenedTwins creates the tables.
func widenedTwins(t *testing.T, n *Node) {
	t.Helper()
	for _, w := range widenedTables {
		for name, typ := range map[string]string{w.name: w.narrow, w.name + "_plain": w.wide} {
			n.Rows(t, fmt.Sprintf("CREATE TABLE %s (ts TIMESTAMP(3) TIME INDEX, id STRING, n %s, m STRING%s)", name,
				typ, w.options))
		}
	}
}

// insertTwins inserts rows into the tables; only integers until they are widened.
func insertTwins(t *testing.T, n *Node, round int, widened bool) {
	t.Helper()
	for _, w := range widenedTables {
		var rows []string
		for i := range 12 {
			v := fmt.Sprint((i*7+round)%11 - 3)
			if widened && w.wide == "DOUBLE" && i%3 == 0 {
				v += ".5"
			}
			if widened && w.wide == "BIGINT" && i%3 == 0 {
				v = fmt.Sprint(1_000_000_000_000 + i)
			}
			if i%5 == 1 {
				v = "NULL"
			}
			rows = append(rows, fmt.Sprintf("(%d, 'h%d', %s, 'm%d')", time.Now().UnixMilli()/86_400_000*86_400_000-
				int64(i%4)*1000, (i+round)%6, v, i%4))
		}
		for _, name := range []string{w.name, w.name + "_plain"} {
			n.Rows(t, "INSERT INTO "+name+" VALUES "+strings.Join(rows, ", "))
		}
	}
}

// output returns a node's answer to a statement: rows and types, without the execution time.
func (n *Node) output(params, sql string) (string, error) {
	a, err := n.ask("/v1/sql?"+params, "application/x-www-form-urlencoded", "sql="+url.QueryEscape(sql))
	if err != nil {
		return "", err
	}
	var out struct{ Output json.RawMessage }
	if err := json.Unmarshal(a.Body, &out); err != nil || a.Status != http.StatusOK {
		return "", fmt.Errorf("%s: %d %s", sql, a.Status, a.Body)
	}
	return string(out.Output), nil
}

// sameTwins runs the same statements on each table and its twin, and compares the answers with
// their types.
func sameTwins(t *testing.T, what string, n *Node, params string) {
	t.Helper()
	ask := func(sql string) string {
		t.Helper()
		out, err := n.output(params, sql)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return out
	}
	for _, w := range widenedTables {
		for _, check := range widenedChecks {
			want := ask(fmt.Sprintf(check, w.name+"_plain"))
			if got := ask(fmt.Sprintf(check, w.name)); got != want {
				t.Errorf("%s: %s\n got %s\nwant %s", what, fmt.Sprintf(check, w.name), got, want)
			}
		}
	}
}

// widenTwins changes column n of the tables to its wider type.
func widenTwins(t *testing.T, n *Node) {
	t.Helper()
	for _, w := range widenedTables {
		n.Rows(t, "ALTER TABLE "+w.name+" MODIFY COLUMN n "+w.wide)
	}
}

// TestWidened widens columns of a server with rows in files and in memory, and then queries, deletes, moves, backs
// up, restores and inspects them. The results must be the same as for tables that had the wider type from the
// beginning.
func TestWidened(t *testing.T) {
	t.Parallel()
	n := New(t, "--shards", "3")
	n.Start()
	repository := filepath.Join(t.TempDir(), "repository")
	widenedTwins(t, n)
	insertTwins(t, n, 0, false)
	backUp(t, n, repository) // so that the rows are in files
	insertTwins(t, n, 1, false)

	// The first fraction in a pipeline widens the column too, and tails receive it.
	if err := n.Ingest("app", []byte("{\"n\":1}\n{\"n\":2}\n{\"n\":3}")); err != nil {
		t.Fatal(err)
	}
	all, some := n.follow(t, "table=app&since=1h"), n.follow(t, "table=app&since=1h&where="+url.QueryEscape("n > 1.5"))
	line := func(s interface {
		Scan() bool
		Text() string
	}, want string,
	) {
		t.Helper()
		for s.Scan() {
			if s.Text() == "" {
				continue
			}
			var row struct{ N json.Number }
			if err := json.Unmarshal([]byte(s.Text()), &row); err != nil || row.N.String() != want {
				t.Errorf("the tail has %s, want n %s", s.Text(), want)
			}
			return
		}
		t.Errorf("the tail has ended, want n %s", want)
	}
	for _, want := range []string{"1", "2", "3"} {
		line(all, want)
		if want != "1" && want != "1.0" {
			line(some, want)
		}
	}
	if err := n.Ingest("app", []byte("{\"n\":1}\n{\"n\":2.5}\n{\"n\":4}")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1.0", "2.5", "4.0"} {
		line(all, want)
		if want != "1" && want != "1.0" {
			line(some, want)
		}
	}

	widenTwins(t, n)
	sameTwins(t, "widened", n, "")
	insertTwins(t, n, 2, true)
	sameTwins(t, "with wider values", n, "")
	for _, w := range widenedTables[3:] {
		for _, name := range []string{w.name, w.name + "_plain"} {
			n.Rows(t, "DELETE FROM "+name+" WHERE id IN ('h1', 'h4') AND ts < now()")
		}
	}
	sameTwins(t, "deleted", n, "")
	n.Stop()
	checkFolder(t, n)
	n.Start()
	sameTwins(t, "started again", n, "")
	backUp(t, n, repository)
	insertTwins(t, n, 3, true)
	mustCommand(t, "backup", repository, "--server", n.HTTP)
	mustCommand(t, "backup", "verify", repository, "--deep")
	for _, w := range widenedTables {
		for _, name := range []string{w.name, w.name + "_plain"} {
			mustCommand(t, "table", "set", name, "partitions=3", "--server", n.HTTP)
		}
	}
	sameTwins(t, "in three shards", n, "")
	insertTwins(t, n, 4, true)
	sameTwins(t, "and more there", n, "")
	backUp(t, n, repository)

	target := New(t, "--shards", "2")
	target.Start()
	mustCommand(t, "restore", repository, "--server", target.HTTP)
	sameTwins(t, "restored", target, "")
	for _, w := range widenedTables {
		sql := fmt.Sprintf(widenedChecks[0], w.name)
		if want, got := fmt.Sprint(n.Rows(t, sql)), fmt.Sprint(target.Rows(t, sql)); got != want {
			t.Errorf("%s was restored as %s, want %s", w.name, got, want)
		}
	}
	n.Kill()
	n.Start()
	sameTwins(t, "after a crash", n, "")
	segments, err := filepath.Glob(filepath.Join(n.Dir, "shards/*/segments/*.parquet"))
	if err != nil || len(segments) == 0 {
		t.Fatal(segments, err)
	}
	for _, file := range segments {
		mustCommand(t, "inspect", file)
	}
}

// TestWidenedReplicas widens columns while a node is down. The node must then apply the batches of
// the older definitions and the definition between them, and answer queries of its own replica.
func TestWidenedReplicas(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{All: 3, Shards: 1})
	c.Start()
	first, second, away := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	repository := filepath.Join(t.TempDir(), "repository")
	widenedTwins(t, first)
	insertTwins(t, first, 0, false)
	backUp(t, first, repository)
	away.Kill()
	insertTwins(t, second, 1, false)
	widenTwins(t, first)
	insertTwins(t, second, 2, true) // it may get the definition only now
	sameTwins(t, "one node away", second, "")
	away.Start()
	sameTwins(t, "through the node that was away", away, "")
	own := func(what string) {
		t.Helper()
		const params = "consistency=any&max_staleness=24h"
		for _, w := range widenedTables { // until it has caught up
			for _, name := range []string{w.name, w.name + "_plain"} {
				sql := fmt.Sprintf(widenedChecks[0], name)
				want, err := first.output("", sql)
				if err != nil {
					t.Fatal(err)
				}
				Eventually(t, 30*time.Second, func() error {
					got, err := away.output(params, sql)
					if err != nil {
						return err
					}
					if got != want {
						return fmt.Errorf("%s: table %s: %s, want %s", what, name, got, want)
					}
					return nil
				})
			}
		}
		sameTwins(t, what, away, params)
	}
	own("from the replicas that caught up")

	// A node that lost its replica fetches it from the others, with values of both types.
	insertTwins(t, second, 3, true)
	away.Stop()
	backUp(t, first, repository)
	insertTwins(t, second, 4, true)
	copied := filepath.Join(away.Dir, "shards", "1")
	if err := os.RemoveAll(copied); err != nil {
		t.Fatal(err)
	}
	away.Start()
	Eventually(t, time.Minute, func() error {
		_, err := os.Stat(copied)
		return err
	})
	own("from a rebuilt replica")
	c.Stop()
	for _, n := range c.Nodes {
		checkFolder(t, n)
	}
}
