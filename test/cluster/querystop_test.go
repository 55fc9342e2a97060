package cluster

import (
	"bytes"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// slowly is an expression on the table spread that takes some ten microseconds per row. The engine checks whether it
// has to stop after each batch of rows, which takes some 20 ms.
const slowly = "length(regexp_replace(regexp_replace(left(m, 16), '.', 'abc', 'g'), '.', 'de', 'g'))"

// TestStopOverNodes ends long statements on three nodes: the client disconnects, the time limit is exceeded, or KILL
// is run. All nodes must remove the statement from their lists, and their query processes may continue for at most
// 100 ms.
func TestStopOverNodes(t *testing.T) {
	t.Parallel()
	s := newSpread(t, 1, 900_000, "--query-threads", "1")
	user := s.Nodes[0]
	if got := fmt.Sprint(user.Rows(t, "SELECT count(*), max("+slowly+") FROM spread WHERE id < 1000")); got !=
		fmt.Sprintf("[[1000 %d]]", 16*3*2) {
		t.Fatalf("rows %s", got)
	}
	processes := fmt.Sprint(user.workers(), s.Nodes[1].workers(), s.Nodes[2].workers())
	// Each function ends a statement, and returns the client's answer, if there is one.
	ways := map[string]func(t *testing.T, sql string, running func(t *testing.T) string, now func()) *Answer{
		"client leaves": func(t *testing.T, sql string, running func(*testing.T) string, now func()) *Answer {
			leave := user.leaving(t, sql)
			running(t)
			now()
			leave()
			return nil
		},
		"KILL": func(t *testing.T, sql string, running func(*testing.T) string, now func()) *Answer {
			answer := user.later(t, sql)
			id := running(t)
			now()
			a, err := s.Nodes[1].Do("POST", "/v1/sql?sql="+url.QueryEscape("KILL '"+id+"'"), nil)
			if err != nil || a.Status != 200 {
				t.Fatalf("KILL: %v, %v", a, err)
			}
			return <-answer
		},
		"time is up": func(t *testing.T, sql string, _ func(*testing.T) string, now func()) *Answer {
			a, err := user.Do("POST", "/v1/sql", strings.NewReader(sql), "Content-Type", "application/sql",
				"x-svc-timeout", "1s")
			if err != nil {
				t.Fatal(err)
			}
			now()
			return a
		},
	}
	for kind, sql := range map[string]string{
		"aggregate": "SELECT max(" + slowly + ") FROM spread",
		"pairs":     "SELECT host, median(" + slowly + ") FROM spread GROUP BY host",
		"rows":      "SELECT id FROM spread WHERE " + slowly + " < 0",
		"top":       "SELECT id, " + slowly + " FROM spread ORDER BY 2, 1 LIMIT 10",
		"hauled":    "SELECT max(" + slowly + ") FROM spread WHERE random() < 2",
	} {
		for way, end := range ways {
			if way == "time is up" && kind != "pairs" {
				continue // it would end the same calls
			}
			t.Run(kind+", "+way, func(t *testing.T) {
				nodes, other := map[string]int{"hauled": 0, "rows": 1}[kind]
				if !other {
					nodes = 3
				}
				before, ended := 0, time.Time{}
				a := end(t, sql, func(t *testing.T) string { return s.awaitWork(t, user, nodes) }, func() {
					before, ended = s.ticks(), time.Now()
				})
				s.awaitIdle(t)
				used := time.Duration(s.ticks()-before) * 10 * time.Millisecond
				t.Logf("all idle after %s, and %s of CPU", time.Since(ended), used)
				if used > 3*100*time.Millisecond {
					t.Errorf("the query processes continued for %s", used)
				}
				if way == "KILL" {
					wantFailure(t, a, 400, 1005, "killed by")
				}
				if way == "time is up" {
					wantFailure(t, a, 408, 3005, "time was up")
				}
			})
		}
	}
	t.Run("KILL of a command's statement", func(t *testing.T) {
		cmd := exec.Command(Binary(t), "sql", "--server", user.HTTP, "SELECT max("+slowly+") FROM spread")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		user.Rows(t, "KILL '"+s.awaitWork(t, user, 3)+"'")
		if err := cmd.Wait(); err == nil || !strings.Contains(out.String(), "killed by ") {
			t.Errorf("the command ended with %v: %s", err, &out)
		}
		s.awaitIdle(t)
	})
	if got := fmt.Sprint(user.workers(), s.Nodes[1].workers(), s.Nodes[2].workers()); got != processes {
		t.Errorf("processes %s, before the statements: %s", got, processes)
	}
}
