package cluster

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// spreadStatement is a statement on the table spread, with its answer for given rows.
type spreadStatement struct {
	name, sql string
	// want returns the rows of the answer, sorted if the statement does not sort them.
	want func(ids []int) [][]any
	// unsorted is set if the rows may be in any order.
	unsorted bool
}

func sum(ids []int, of func(id int) int) (n int) {
	for _, id := range ids {
		n += of(id)
	}
	return n
}

func valueOf(id int) int { return id % 1000 }

func where(ids []int, ok func(id int) bool) []int {
	return slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return !ok(id) })
}

// groups counts rows by a key, in the order of the keys.
func groups(ids []int, of func(id int) string) (out [][]any) {
	n := map[string]int{}
	for _, id := range ids {
		n[of(id)]++
	}
	for k, c := range n {
		out = append(out, []any{k, c})
	}
	slices.SortFunc(out, func(a, b []any) int { return strings.Compare(a[0].(string), b[0].(string)) })
	return out
}

func hostOf(id int) string { return fmt.Sprint("h", id%7) }

// spreadStatements contains a statement of each kind. ids are in ascending order.
var spreadStatements = []spreadStatement{
	{"aggregate", "SELECT count(*), sum(v), min(id), max(id) FROM spread", func(ids []int) [][]any {
		return [][]any{{len(ids), sum(ids, valueOf), ids[0], ids[len(ids)-1]}}
	}, false},
	{"groups", "SELECT host, count(*) FROM spread GROUP BY host ORDER BY host", func(ids []int) [][]any {
		return groups(ids, hostOf)
	}, false},
	{
		"largest groups", "SELECT length(id::VARCHAR)::VARCHAR AS n, count(*) AS c FROM spread GROUP BY n ORDER BY c DESC " +
			"LIMIT 2",
		func(ids []int) [][]any {
			all := groups(ids, func(id int) string { return fmt.Sprint(len(strconv.Itoa(id))) })
			slices.SortFunc(all, func(a, b []any) int { return b[1].(int) - a[1].(int) })
			return all[:min(2, len(all))]
		}, false,
	},
	{"newest", "SELECT id FROM spread ORDER BY ts DESC LIMIT 100", func(ids []int) (out [][]any) {
		for _, id := range slices.Backward(ids[len(ids)-100:]) {
			out = append(out, []any{id})
		}
		return out
	}, false},
	{"top", "SELECT v, id FROM spread ORDER BY v DESC, id LIMIT 20", func(ids []int) (out [][]any) {
		ids = slices.Clone(ids)
		slices.SortStableFunc(ids, func(a, b int) int { return valueOf(b) - valueOf(a) })
		for _, id := range ids[:20] {
			out = append(out, []any{valueOf(id), id})
		}
		return out
	}, false},
	{"rows", "SELECT id FROM spread WHERE v = 3", func(ids []int) (out [][]any) {
		for _, id := range where(ids, func(id int) bool { return valueOf(id) == 3 }) {
			out = append(out, []any{id})
		}
		return out
	}, true},
	{"pairs", "SELECT count(DISTINCT v), quantile_disc(id, 0) FROM spread WHERE v >= 10", func(ids []int) [][]any {
		ids = where(ids, func(id int) bool { return valueOf(id) >= 10 })
		return [][]any{{len(groups(ids, func(id int) string { return fmt.Sprint(valueOf(id)) })), ids[0]}}
	}, false},
	{"project", "SELECT string_agg(host, ',' ORDER BY id) FROM spread WHERE v = 5", func(ids []int) [][]any {
		var hosts []string
		for _, id := range where(ids, func(id int) bool { return valueOf(id) == 5 }) {
			hosts = append(hosts, hostOf(id))
		}
		return [][]any{{strings.Join(hosts, ",")}}
	}, false},
	{"distinct", "SELECT DISTINCT host FROM spread", func(ids []int) (out [][]any) {
		for _, g := range groups(ids, hostOf) {
			out = append(out, g[:1])
		}
		return out
	}, true},
	{"several", "SELECT count(*) AS n FROM spread WHERE v = 3 UNION ALL SELECT count(*) FROM spread WHERE v < 500 " +
		"ORDER BY n", func(ids []int) [][]any {
		return [][]any{
			{len(where(ids, func(id int) bool { return valueOf(id) == 3 }))},
			{len(where(ids, func(id int) bool { return valueOf(id) < 500 }))},
		}
	}, false},
	{"subquery first", "SELECT count(*) FROM spread WHERE id > 5 AND v <= " +
		"(SELECT min(v) + 7 FROM spread WHERE v >= 3)", func(ids []int) [][]any {
		return [][]any{{len(where(ids, func(id int) bool { return id > 5 && valueOf(id) <= 10 }))}}
	}, false},
	{"fetched", "SELECT count(*), sum(id) FROM spread WHERE v < 500 AND random() < 2", func(ids []int) [][]any {
		ids = where(ids, func(id int) bool { return valueOf(id) < 500 })
		return [][]any{{len(ids), sum(ids, func(id int) int { return id })}}
	}, false},
	{"joined", "SELECT count(*) FROM spread a JOIN spread b ON a.id = b.id WHERE a.v = 3", func(ids []int) [][]any {
		return [][]any{{len(where(ids, func(id int) bool { return valueOf(id) == 3 }))}}
	}, false},
}

// textRows returns rows as text, sorted if the statement does not sort them.
func (st *spreadStatement) textRows(rows [][]any) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = fmt.Sprint(r)
	}
	if st.unsorted {
		slices.Sort(out)
	}
	return out
}

// check returns an error unless rows are the correct answer for a table with the rows of ids.
func (st *spreadStatement) check(rows [][]any, ids []int) error {
	got, want := st.textRows(rows), st.textRows(st.want(ids))
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s: %d rows %.300q, want %d rows %.300q", st.sql, len(got), fmt.Sprint(got), len(want),
			fmt.Sprint(want))
	}
	return nil
}

// rowsOf reads the answer to one statement.
func rowsOf(a *Answer) ([][]any, error) {
	var out struct {
		Output []struct {
			Records struct {
				Rows [][]any `json:"rows"`
			} `json:"records"`
		} `json:"output"`
	}
	dec := json.NewDecoder(strings.NewReader(string(a.Body)))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil {
		return nil, err
	}
	if len(out.Output) != 1 {
		return nil, fmt.Errorf("%d results", len(out.Output))
	}
	return out.Output[0].Records.Rows, nil
}

// idsFrom returns the numbers from 0 to n-1.
func idsFrom(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	return ids
}

// lostAnswer is the answer to a statement during which a node was lost.
type lostAnswer struct {
	statement *spreadStatement
	partial   bool // a partial answer was allowed
	took      time.Duration
	*Answer
}

// hold suspends the query processes of a node until release.
func (n *Node) hold(t testing.TB) (release func()) {
	t.Helper()
	held := n.workers()
	if len(held) == 0 {
		t.Fatalf("node %s has no query process", n.Name)
	}
	for _, pid := range held {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for _, pid := range held {
			_ = syscall.Kill(pid, syscall.SIGCONT) // the process may have ended
		}
	}
}

// during sends all statements at once through a node, with and without partial answers. While the victim works on
// them it calls broken. Then it returns the answers.
func (s *spread) during(t *testing.T, user, victim *Node, broken func()) (out []lostAnswer) {
	t.Helper()
	for _, st := range spreadStatements { // start the processes, and fill the caches of statements
		user.Rows(t, st.sql)
	}
	release := victim.hold(t)
	defer release()
	var mu sync.Mutex
	var wg sync.WaitGroup
	send := func(st *spreadStatement) {
		for _, partial := range []bool{false, true} {
			wg.Go(func() {
				begin := time.Now()
				a, err := user.Do("POST", fmt.Sprintf("/v1/sql?allow_partial=%t&sql=%s", partial, url.QueryEscape(st.sql)), nil,
					"x-svc-timeout", "3m")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				out = append(out, lostAnswer{st, partial, time.Since(begin), a})
			})
		}
	}
	last, same := "", 0
	// await waits until the given number of statements run, and nothing has changed in the given number of checks.
	await := func(statements, looks int) {
		Eventually(t, 20*time.Second, func() error {
			all := s.listed(t, user)
			main := 0
			for _, q := range all {
				if q.role == "main" {
					main++
				}
			}
			slices.SortFunc(all, func(a, b listed) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			if text := fmt.Sprint(all); text != last {
				last, same = text, 0
			}
			if same++; main < statements || same < looks {
				mu.Lock()
				defer mu.Unlock()
				early := ""
				for _, a := range out {
					early += fmt.Sprintf("; %s: %d %.100s", a.statement.name, a.Status, a.Body)
				}
				return fmt.Errorf("%d statements are running: %v; answered: %s", main, all, early)
			}
			return nil
		})
	}
	// A node that does not answer a statement for the newest rows gets it again, and its process is replaced if it
	// does not stop the first one. So this statement is sent last.
	for i := range spreadStatements {
		if spreadStatements[i].name != "newest" {
			send(&spreadStatements[i])
		}
	}
	await(2*len(spreadStatements)-2, 5)
	for i := range spreadStatements {
		if spreadStatements[i].name == "newest" {
			send(&spreadStatements[i])
		}
	}
	await(2*len(spreadStatements), 1)
	broken()
	wg.Wait()
	return out
}

// TestNodeLostDuringQueries kills or suspends a node while statements of all kinds wait for it.
// With three replicas, other nodes must answer. With one replica, the statements must fail with the
// id of a shard, or return a partial answer, marked as partial, if that was requested.
func TestNodeLostDuringQueries(t *testing.T) {
	t.Parallel()
	for _, replication := range []int{1, 3} {
		t.Run(fmt.Sprint(replication, " replicas"), func(t *testing.T) {
			t.Parallel()
			// On a slow machine rows are flushed meanwhile, and a node would return answers that it keeps.
			s := newSpread(t, replication, 360_000, "--query-threads", "1", "--query-max-concurrent", "64",
				"--query-kept-memory", "0")
			user, all := s.Nodes[0], idsFrom(s.rows)
			for _, way := range []string{"killed", "stopped"} {
				victim := s.leading(t, user)
				answers := s.during(t, user, victim, func() {
					if way == "killed" {
						victim.Kill()
					} else {
						victim.Pause()
					}
				})
				longest := time.Duration(0)
				for _, a := range answers {
					longest = max(longest, a.took)
				}
				t.Logf("%s %s: the last of %d answers came after %s", victim.Name, way, len(answers), longest)
				if replication > 1 {
					checkWhole(t, answers, all)
				} else {
					checkLost(t, answers, s.remainingIDs(t, user))
				}
				if way == "killed" {
					victim.Launch()
				} else {
					victim.Continue()
				}
				s.AwaitReady(time.Minute)
				Eventually(t, 20*time.Second, func() error {
					for i := range spreadStatements {
						rows, err := user.Query(spreadStatements[i].sql)
						if err != nil {
							return err
						}
						if err := spreadStatements[i].check(rows, all); err != nil {
							t.Error(err)
						}
					}
					return nil
				})
			}
		})
	}
}

// checkWhole checks for complete answers. An answer may be partial if that was allowed and other statements have
// found that a shard has had no leader for longer than usual. But most answers must be complete.
func checkWhole(t *testing.T, answers []lostAnswer, ids []int) {
	t.Helper()
	partial := 0
	defer func() {
		if partial > len(spreadStatements)/2 {
			t.Errorf("%d answers are partial", partial)
		}
	}()
	for _, a := range answers {
		if lacks := a.Header.Get("x-svc-partial"); a.partial && strings.Contains(lacks, "shard") {
			partial++
			t.Logf("%s: partial: %.200s", a.statement.name, lacks)
			continue
		}
		if a.Status != 200 || a.Header.Get("x-svc-partial") != "" {
			t.Errorf("%s: status %d, partial %q: %.300s", a.statement.sql, a.Status, a.Header.Get("x-svc-partial"), a.Body)
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
}

// checkLost checks for errors with the id of a shard, or answers over the rows of ids with a text
// that others are missing.
func checkLost(t *testing.T, answers []lostAnswer, ids []int) {
	t.Helper()
	for _, a := range answers {
		if !a.partial {
			wantFailure(t, a.Answer, 503, 5003, "shard")
			continue
		}
		if a.Status != 200 || !strings.Contains(a.Header.Get("x-svc-partial"), "shard") {
			t.Errorf("%s: status %d, partial %q: %.300s", a.statement.sql, a.Status, a.Header.Get("x-svc-partial"), a.Body)
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
}

// leading returns the node that leads the most shards, except the given one.
func (s *spread) leading(t *testing.T, but *Node) (most *Node) {
	t.Helper()
	leads := map[string]int{}
	Eventually(t, 20*time.Second, func() error {
		clear(leads)
		for _, r := range but.Rows(t, "SELECT leader FROM svc_private.shards") {
			leads[fmt.Sprint(r[0])]++
		}
		highest := 0
		for _, n := range s.Nodes {
			id, err := n.Identity()
			if err != nil {
				return err
			}
			if n != but && leads[id.NodeID] > highest {
				most, highest = n, leads[id.NodeID]
			}
		}
		if most == nil {
			return fmt.Errorf("no other node leads a shard: %v", leads)
		}
		return nil
	})
	return most
}

// remainingIDs returns the ids of the rows that can be read through another node while a node is down.
func (s *spread) remainingIDs(t *testing.T, user *Node) (ids []int) {
	t.Helper()
	a, err := user.Do("POST", "/v1/sql?allow_partial=true&sql="+url.QueryEscape("SELECT id FROM spread"), nil)
	if err != nil || a.Status != 200 {
		t.Fatalf("remaining rows: %v, %v", a, err)
	}
	rows, err := rowsOf(a)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		id, err := strconv.Atoi(fmt.Sprint(r[0]))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	if len(ids) == 0 || len(ids) >= s.rows {
		t.Fatalf("%d of %d rows remain", len(ids), s.rows)
	}
	return ids
}

// TestTableReplacedDuringQueries drops a table and creates another one with its name while
// statements wait for a node, and then kills the node, so that the rows are requested again. Each
// answer must be the answer of one of the two tables, or an error.
func TestTableReplacedDuringQueries(t *testing.T) {
	t.Parallel()
	s := newSpread(t, 3, 240_000, "--query-threads", "1", "--query-max-concurrent", "64", "--query-kept-memory", "0")
	user := s.Nodes[0]
	before, after := idsFrom(s.rows), idsFrom(5000)
	victim := s.leading(t, user)
	answers := s.during(t, user, victim, func() {
		user.Rows(t, "DROP TABLE spread")
		user.Rows(t, spreadTable)
		s.rows = 0
		s.addThrough(t, user, len(after))
		victim.Kill()
	})
	ofFirst, ofSecond, failed := 0, 0, 0
	for _, a := range answers {
		if a.Status != 200 || a.Header.Get("x-svc-partial") != "" {
			failed++
			if a.Status != 200 && a.Status != 503 && a.Header.Get("x-svc-err-code") != "4001" {
				t.Errorf("%s: %d %.300s", a.statement.sql, a.Status, a.Body)
			}
			continue
		}
		rows, err := rowsOf(a.Answer)
		if err != nil {
			t.Fatal(err)
		}
		switch first, second := a.statement.check(rows, before), a.statement.check(rows, after); {
		case second == nil:
			ofSecond++
		case first == nil:
			ofFirst++
		default:
			t.Errorf("the answer belongs to neither table: %v; %v", first, second)
		}
	}
	t.Logf("%d answers belong to the first table, %d to the second, and %d are errors or "+
		"partial", ofFirst, ofSecond, failed)
	if ofFirst+ofSecond == 0 {
		t.Error("no statement was answered")
	}
}
