package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// follow starts a tail and returns its lines.
func (n *Node) follow(t *testing.T, query string) *bufio.Scanner {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	var resp *http.Response
	Eventually(t, 20*time.Second, func() error { // the query process may take long to start
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.HTTP+"/v1/tail?"+query, nil)
		if err != nil {
			return err
		}
		if resp, err = http.DefaultClient.Do(req); err != nil {
			return err
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		if resp.StatusCode == http.StatusServiceUnavailable {
			text, _ := io.ReadAll(resp.Body) // as much as arrives
			return fmt.Errorf("tail %s: status %d: %s", query, resp.StatusCode, text)
		}
		return nil
	})
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("tail %s: status %d", query, resp.StatusCode)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return lines
}

// TestTail follows a table from several start times while rows are written and flushed. Every tail must return every
// row once, both stored and new rows.
func TestTail(t *testing.T) {
	t.Parallel()
	n := New(t, "--shard-flush-age", "1s")
	n.Start()
	if err := n.Ingest("app", []byte(`{"i":-1,"even":true}`)); err != nil {
		t.Fatal(err)
	}
	const writers, each = 3, 150
	total := writers*each + 1
	var wg sync.WaitGroup
	begun := make(chan struct{}, total)
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				number := w*each + i
				if err := n.Ingest("app", fmt.Appendf(nil, `{"i":%d,"even":%t}`, number, number%2 == 0)); err != nil {
					t.Error(err)
				}
				begun <- struct{}{}
			}
		})
	}
	// A tail whose client never reads must not delay others.
	stalled, err := net.Dial("tcp", strings.TrimPrefix(n.HTTP, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer stalled.Close()
	fmt.Fprint(stalled, "GET /v1/tail?table=app&since=1h HTTP/1.1\r\nHost: localhost\r\n\r\n")
	for k := range 4 {
		for range total / 6 {
			<-begun
		}
		query, want := "table=app&since=1h", total
		if k%2 == 1 {
			query, want = query+"&where=even", (total+1)/2
		}
		lines := n.follow(t, query)
		wg.Go(func() {
			seen := map[int]int{}
			for len(seen) < want && lines.Scan() {
				var row struct{ I *int }
				if len(lines.Bytes()) > 0 && (json.Unmarshal(lines.Bytes(), &row) != nil || row.I == nil) {
					t.Errorf("tail %d: %s", k, lines.Text())
					return
				}
				if row.I != nil {
					if seen[*row.I]++; seen[*row.I] > 1 {
						t.Errorf("tail %d: row %d is repeated", k, *row.I)
					}
				}
			}
			if len(seen) != want {
				t.Errorf("tail %d: %d rows, want %d; %v", k, len(seen), want, lines.Err())
			}
		})
	}
	wg.Wait()
}

// TestTailEnds checks that DROP TABLE and the stop of a server end tails at once, with an error.
func TestTailEnds(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	for _, table := range []string{"a", "b"} {
		if err := n.Ingest(table, []byte(`{"m":"x"}`)); err != nil {
			t.Fatal(err)
		}
	}
	last := func(lines *bufio.Scanner) string {
		text := ""
		for lines.Scan() {
			text = lines.Text()
		}
		return text
	}
	a, b := n.follow(t, "table=a"), n.follow(t, "table=b")
	n.Rows(t, "DROP TABLE a")
	if text := last(a); text != `{"error":"table public.a was dropped or truncated","code":4001}` {
		t.Errorf("a dropped table ends with %s", text)
	}
	begin := time.Now()
	n.Stop()
	if text := last(b); !strings.Contains(text, `"code":4008`) {
		t.Errorf("a server that stops ends with %s", text)
	}
	if took := time.Since(begin); took > 25*time.Second { // --shutdown-grace is 30 s
		t.Errorf("the server took %s to stop with a tail open", took)
	}
}

// TestTailCommand follows a table with the command, across a restart of the server.
func TestTailCommand(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	if err := n.Ingest("app", []byte(`{"m":"one"}`)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(n.bin, "tail", "app", "--since", "1h", "--where", "m <> 'no'", "--server", n.HTTP)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	expect := func(m string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), `"m":"`+m+`"`) {
			t.Fatalf("printed %q, want the row %s", lines.Text(), m)
		}
	}
	expect("one")
	n.Stop()
	n.Start()
	for _, m := range []string{"no", "two"} {
		if err := n.Ingest("app", fmt.Appendf(nil, `{"m":%q}`, m)); err != nil {
			t.Fatal(err)
		}
	}
	expect("two")
}

// TestDelete deletes rows across flushes, compactions and restarts.
func TestDelete(t *testing.T) {
	t.Parallel()
	n := New(t, "--shard-flush-age", "1s")
	n.Start()
	n.Rows(t, "CREATE TABLE d (ts TIMESTAMP(3) TIME INDEX, host STRING PRIMARY KEY, v INT)")
	insert := func(from, to int) {
		t.Helper()
		var rows []string
		for i := from; i < to; i++ {
			rows = append(rows, fmt.Sprintf("(%d, 'h%d', %d)", 1_700_000_000_000+i, i%3, i))
		}
		n.Rows(t, "INSERT INTO d VALUES "+strings.Join(rows, ","))
	}
	count := func(want string) {
		t.Helper()
		if got := fmt.Sprint(n.Rows(t, "SELECT count(*), coalesce(sum(v), 0) FROM d")); got != want {
			t.Errorf("count and sum are %s, want %s", got, want)
		}
	}
	affected := func(sql, want string) {
		t.Helper()
		if a := n.sql(t, "", sql); !strings.Contains(string(a.Body), `"affectedrows":`+want+"}") {
			t.Errorf("%s: %s, want %s rows", sql, a.Body, want)
		}
	}
	flushed := func(files int) {
		t.Helper()
		for deadline := time.Now().Add(Generous(20 * time.Second)); ; time.Sleep(20 * time.Millisecond) {
			rows := n.Rows(t, "SELECT count(*) FROM svc_private.operations WHERE kind = 'flush' AND state = 'done'")
			if done, _ := rows[0][0].(json.Number).Int64(); int(done) >= files {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("no flush within 20 s")
			}
		}
	}
	insert(0, 900)
	flushed(1)
	affected("DELETE FROM d WHERE host = 'h1'", "300")
	count("[[600 269700]]")
	affected("DELETE FROM d WHERE host = 'h1'", "0")
	affected("DELETE FROM d WHERE ts >= TIMESTAMP '2023-11-14 22:13:20.600'", "200")
	insert(601, 602) // one of the deleted rows again
	count("[[401 120401]]")
	n.Stop() // flushes
	n.Start()
	count("[[401 120401]]")
	n.Kill()
	n.Start()
	count("[[401 120401]]")
	affected("DELETE FROM d WHERE true", "401")
	count("[[0 0]]")
	if a := n.sql(t, "", "DELETE FROM d WHERE v > 1"); !strings.Contains(string(a.Body),
		`column \"v\" is not a key column`) {
		t.Errorf("a condition on a field: %s", a.Body)
	}
}
