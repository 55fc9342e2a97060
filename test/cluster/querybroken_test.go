package cluster

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// wantNoFiles waits until no node has temporary files of queries. Files of a replaced process must
// be removed with it. The engine may keep an empty file that it could not write to.
func (s *spread) wantNoFiles(t *testing.T) {
	t.Helper()
	Eventually(t, 10*time.Second, func() error {
		for _, n := range s.Nodes {
			err := filepath.WalkDir(filepath.Join(n.Dir, "tmp"), func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return nil //nolint:nilerr // the file has just been removed
				}
				if info, err := e.Info(); err == nil && info.Size() > 0 {
					return fmt.Errorf("%s still exists", path)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// wantError checks that a statement fails through a node with status 503 and an error that contains says.
func wantError(t *testing.T, a *Answer, code int, says ...string) {
	t.Helper()
	if a.Status != http.StatusServiceUnavailable || a.Header.Get("x-svc-err-code") != strconv.Itoa(code) {
		t.Errorf("status %d, code %s, want code %d: %s", a.Status, a.Header.Get("x-svc-err-code"), code, a.Body)
	}
	for _, text := range says {
		if !strings.Contains(string(a.Body), text) {
			t.Errorf("the error does not contain %q: %s", text, a.Body)
		}
	}
}

// TestQueryProcessLostOverNodes kills the query process of a node while statements of all kinds wait for it, on a
// node that runs a part and on the coordinating node. The statements must fail with the name of the node, and succeed
// when they are repeated at once.
func TestQueryProcessLostOverNodes(t *testing.T) {
	t.Parallel()
	s := newSpread(t, 1, 360_000, "--query-threads", "1", "--query-max-concurrent", "64", "--query-kept-memory", "0",
		"--query-max-kills-per-user", "50")
	ids := idsFrom(s.rows)
	for i, victim := range s.Nodes {
		user := s.Nodes[(i+1)%len(s.Nodes)] // listing queries on a node needs its query process
		answers := s.during(t, user, victim, func() {
			for _, pid := range victim.workers() {
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Error(err)
				}
			}
		})
		for _, a := range answers {
			if a.Status != 200 {
				wantError(t, a.Answer, 1007, "on node "+victim.Name+": ", "process")
				continue
			}
			rows, err := rowsOf(a.Answer)
			if err == nil {
				err = a.statement.check(rows, ids)
			}
			if err != nil {
				t.Error(err)
			}
		}
		for i := range spreadStatements {
			if err := spreadStatements[i].check(user.Rows(t, spreadStatements[i].sql), ids); err != nil {
				t.Error(err)
			}
		}
	}
	s.awaitIdle(t)
	s.wantNoFiles(t)
}

// TestMemoryOverNodes runs statements that need more memory than one of three nodes has, for its part or for the last
// step. They must fail with the name of the node, leave no files behind, and the node must answer other statements at
// once.
func TestMemoryOverNodes(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{All: 3, Replication: 1, Shards: 6, Args: []string{"--query-threads", "1"}})
	small := c.Nodes[2]
	small.set("--query-memory", "64MiB")
	small.set("--query-temp-limit", "1MiB")
	s := fillSpread(t, c, 400_000)
	for s.rowsOn(t, small) < 200_000 {
		s.add(t, spreadBody)
	}
	for name, sql := range map[string]string{
		"groups":   "SELECT concat(m, m, m, m, m, m, m, m) AS k, count(*) FROM spread GROUP BY k ORDER BY k LIMIT 3",
		"distinct": "SELECT count(DISTINCT concat(m, m, m, m, m, m, m, m)) FROM spread",
	} {
		for _, through := range s.Nodes {
			a := through.sql(t, "", sql)
			wantError(t, a, 6000, "on node "+small.Name+": ", "memory")
			if t.Failed() {
				t.Fatalf("%s through %s", name, through.Name)
			}
		}
	}
	for i := range spreadStatements {
		st := &spreadStatements[i]
		if st.name == "fetched" || st.name == "joined" {
			continue
		}
		if err := st.check(small.Rows(t, st.sql), idsFrom(s.rows)); err != nil {
			t.Error(err)
		}
	}
	s.awaitIdle(t)
	s.wantNoFiles(t)
}

// TestSpillDiskFullOverNodes fills the disk with the temporary files of queries. Statements that need such files must
// fail with the name of the node and leave no files behind. Other statements must succeed, and so must these once
// there is free space.
func TestSpillDiskFullOverNodes(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("it mounts a file system")
	}
	s := newSpread(t, 1, 400_000, "--query-threads", "1", "--query-memory", "64MiB")
	var mounted []string
	unmount := func() {
		for _, dir := range mounted {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		}
		mounted = nil
	}
	t.Cleanup(unmount)
	for _, n := range s.Nodes {
		tmp := filepath.Join(n.Dir, "tmp")
		if err := os.MkdirAll(tmp, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("tmpfs", tmp, "tmpfs", 0, "size=1m"); err != nil {
			t.Skipf("mount: %v", err)
		}
		mounted = append(mounted, tmp)
	}
	s.renewProcesses(t)
	Eventually(t, 10*time.Second, func() error {
		for _, n := range s.Nodes {
			if _, err := n.Query("SELECT max(id) FROM spread WHERE m > 'a'"); err != nil {
				return err
			}
		}
		return nil
	})
	const fetched = "SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY m) AS r FROM spread)"
	const spilled = "SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY hash(range)) AS r FROM range(20000000)) " +
		"WHERE r > (SELECT count(*) FROM spread)"
	for _, sql := range []string{fetched, spilled} {
		for _, through := range s.Nodes {
			a := through.sql(t, "", sql)
			wantError(t, a, 6000, "on node n", "room")
			if strings.Contains(string(a.Body), s.dir) {
				t.Errorf("the error has a path of the server: %s", a.Body)
			}
		}
	}
	s.awaitIdle(t)
	s.wantNoFiles(t)
	for i := range spreadStatements {
		if st := &spreadStatements[i]; st.name != "fetched" && st.name != "joined" {
			if err := st.check(s.Nodes[0].Rows(t, st.sql), idsFrom(s.rows)); err != nil {
				t.Error(err)
			}
		}
	}
	unmount()
	s.renewProcesses(t)
	Eventually(t, 10*time.Second, func() error { // the first statement may use a process that was killed
		rows, err := s.Nodes[0].Query(fetched)
		if err == nil && fmt.Sprint(rows) != fmt.Sprintf("[[%d]]", s.rows) {
			t.Errorf("with free space: %v", rows)
		}
		return err
	})
}

// renewProcesses ends the query processes of all nodes, so that the next ones create their folders
// again.
func (s *spread) renewProcesses(t *testing.T) {
	t.Helper()
	for _, n := range s.Nodes {
		for _, pid := range n.workers() {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
}
