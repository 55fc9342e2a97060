package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cordwood/test/cluster"
	"cordwood/test/fault"
)

// TestDamage damages files of one of three replicas at a time, of every kind, while rows are written: it changes a
// byte or truncates a file. Each time the damage must be found, with a reason. No query may lack a row or return a
// wrong one. Within a minute the replica must be rebuilt from the others.
func TestDamage(t *testing.T) {
	together(t)
	for _, part := range []struct {
		name  string
		kinds []string
	}{
		{"replica", []string{"log", "stable store", "manifest", "segment", "snapshot", "snapshot head"}},
		{"node", []string{"metadata log", "segment", "metadata state", "log", "identity", "stable store"}},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			damageOften(t, part.kinds, rounds(len(part.kinds), 100))
		})
	}
}

func damageOften(t *testing.T, kinds []string, wanted int) {
	r := dice(t)
	// Write few rows, so that all of them can be read repeatedly, but to enough files that each kind of file exists.
	c, l := start(t, cluster.Spec{All: 3, Shards: 1, Args: []string{"--shard-flush-age", "1s", "--scrub-interval", "5s"}},
		Options{Keyed: 3, Once: 1, Pause: 300 * time.Millisecond})
	d := &damages{t: t, c: c, l: l, r: r, how: map[string]int{}}
	unused := 0
	for i := 0; d.count() < wanted; i++ {
		kind := kinds[i%len(kinds)]
		found := d.damageFile(kind)
		if found == "" {
			if unused++; unused > 3*wanted {
				t.Fatalf("%d of the changed bytes have no effect", unused)
			}
		} else {
			d.how[found]++
		}
		d.checkTables()
	}
	t.Logf("%d damages, found by %v; %d more changed bytes have no effect; 0 wrong rows", d.count(), d.how, unused)
	end(t, c, l, 3)
}

// damages runs the damages of one cluster.
type damages struct {
	t   *testing.T
	c   *cluster.Cluster
	l   *Load
	r   *rand.Rand
	how map[string]int
}

func (d *damages) count() (n int) {
	for _, v := range d.how {
		n += v
	}
	return n
}

// damageFile damages a file of any node. It returns what found the damage, or "" if the byte has no meaning.
func (d *damages) damageFile(kind string) string {
	d.t.Helper()
	n := d.c.Nodes[d.r.IntN(3)]
	var files []string
	cluster.Eventually(d.t, 30*time.Second, func() error {
		if files = fault.FilesByKind(d.t, n.Dir)[kind]; len(files) == 0 {
			return fmt.Errorf("node %s has no %s", n.Name, kind)
		}
		return nil
	})
	before := d.rebuilt()
	n.Stop()
	files = fault.FilesByKind(d.t, n.Dir)[kind]
	if len(files) == 0 {
		d.t.Fatalf("node %s has no %s after it has ended", n.Name, kind)
	}
	file := files[d.r.IntN(len(files))]
	whole, err := os.ReadFile(filepath.Join(n.Dir, file))
	if err != nil {
		d.t.Fatal(err)
	}
	what := n.Name + ": " + fault.Damage(d.t, d.r, n.Dir, file)
	doctor := fault.Doctor(d.t, n.Dir).Result == "damaged"
	d.l.Fault("%s", what)
	begin := time.Now()
	if err := n.TryStart(20 * time.Second); err != nil {
		// A node without its metadata or its identity does not start, and reports the reason.
		if !fault.SaysWhy(err) {
			d.t.Errorf("%s: the node does not start and does not report why: %v", what, err)
		}
		n.Kill()
		if err := os.WriteFile(filepath.Join(n.Dir, file), whole, 0o600); err != nil {
			d.t.Fatal(err)
		}
		n.Start()
		d.awaitHealthy(what, func() error { return nil })
		d.t.Logf("%s: found by the start", what)
		return "the start"
	}
	if !doctor && (!fault.Slack(kind) || strings.Contains(what, "cut")) {
		d.t.Errorf("%s: doctor does not find the damage", what)
	}
	if !doctor {
		d.awaitHealthy(what, func() error { return nil })
		return ""
	}
	d.awaitHealthy(what, func() error {
		if now := d.rebuilt(); now == before {
			return fmt.Errorf("%s: the replica was not rebuilt", what)
		}
		return nil
	})
	d.t.Logf("%s: rebuilt after %s", what, time.Since(begin).Round(100*time.Millisecond))
	return "its node, and the replica was rebuilt"
}

// rebuilt returns the number of replicas that were rebuilt.
func (d *damages) rebuilt() (done int) {
	d.t.Helper()
	cluster.Eventually(d.t, 30*time.Second, func() error {
		var all struct {
			Operations []struct{ Kind, State string }
		}
		if err := ask(d.c, "/v1/cluster/operations", &all); err != nil {
			return err
		}
		done = 0
		for _, op := range all.Operations {
			if op.Kind == "replica-rebuild" && op.State == "done" {
				done++
			}
		}
		return nil
	})
	return done
}

// awaitHealthy waits up to a minute until the cluster reports no problem and more returns nil.
func (d *damages) awaitHealthy(what string, more func() error) {
	d.t.Helper()
	cluster.Eventually(d.t, time.Minute, func() error {
		if err := more(); err != nil {
			return err
		}
		var status struct {
			Problems []struct{ Severity, Text string }
			Shards   []struct{ State string }
		}
		if err := ask(d.c, "/v1/cluster", &status); err != nil {
			return err
		}
		for _, p := range status.Problems {
			// The disk of this machine may be filling up.
			if p.Severity != "info" && !strings.HasPrefix(p.Text, "disks are filling up") {
				return fmt.Errorf("%s: the cluster reports: %s", what, p.Text)
			}
		}
		if len(status.Shards) != 1 || status.Shards[0].State != "ok" {
			return fmt.Errorf("%s: the cluster reports %+v", what, status.Shards)
		}
		return nil
	})
}

// checkTables reads all tables through every node while rows are written. All rows that were acknowledged before
// must be there, and no row that was not sent.
func (d *damages) checkTables() {
	d.t.Helper()
	for _, n := range d.c.Nodes {
		before := d.l.ackedRows()
		var s *Stored
		cluster.Eventually(d.t, 30*time.Second, func() (err error) {
			s, err = d.l.ReadAll(n)
			return err
		})
		if len(s.strange) > 0 {
			d.t.Fatalf("%s shows %d rows with content that nobody sent, such as %s", n.Name, len(s.strange), s.strange[0])
		}
		for row, table := range before {
			if got := s.tables[table][row]; got != 1 {
				d.t.Fatalf("%s shows row %d of writer %s %d times", n.Name, row.row, row.writer, got)
			}
		}
	}
	d.l.AwaitAcked(d.t, 100)
}

// ackedRows returns the rows that were acknowledged so far, with their tables, of writers whose
// rows are stored once.
func (l *Load) ackedRows() map[rowID]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[rowID]int{}
	for _, r := range l.requests {
		if !r.acked || r.manner == Again {
			continue
		}
		for row := r.first; row < r.first+r.rows; row++ {
			out[rowID{r.writer, int64(row)}] = l.table(r, row)
		}
	}
	return out
}

// ask reads a page from any node that answers.
func ask(c *cluster.Cluster, path string, into any) (err error) {
	for _, n := range c.Routers {
		if !n.Running() {
			continue
		}
		var a *cluster.Answer
		if a, err = n.Do(http.MethodGet, path, nil); err == nil && a.Status != http.StatusOK {
			err = fmt.Errorf("%s of %s: %d %s", path, n.Name, a.Status, a.Body)
		}
		if err == nil {
			return json.Unmarshal(a.Body, into)
		}
	}
	return err
}
