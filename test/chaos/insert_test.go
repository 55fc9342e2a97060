package chaos

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// inserter is a user or a script that stores rows with 'cordwood sql'.
type inserter struct {
	binary  string
	servers string
	name    string
	// insists means that it repeats a failed command, with the same key, until it succeeds. Other inserters do not
	// repeat it, and do not learn whether the rows are stored.
	insists bool

	acked map[int]bool // by the number of the statement
	sent  int
}

// insertRows is the number of rows of a statement.
const insertRows = 5

// insertStatement returns the nth statement of a writer.
func insertStatement(name string, n int) string {
	var rows []string
	for i := range insertRows {
		rows = append(rows, fmt.Sprintf("('%s', %d)", name, n*insertRows+i))
	}
	return "INSERT INTO inserted (w, s) VALUES " + strings.Join(rows, ", ")
}

// run writes until stop is closed. An inserter that insists ends when its last statement is stored,
// or when ctx ends.
func (w *inserter) run(ctx context.Context, stop <-chan struct{}, acked *atomic.Int64) {
	for ; !closed(stop); w.sent++ {
		args := []string{"sql", insertStatement(w.name, w.sent), "--server", w.servers, "--timeout", "20s"}
		if w.insists {
			args = append(args, "--idempotency-key", fmt.Sprintf("%s-%d", w.name, w.sent))
		}
		for ctx.Err() == nil {
			if exec.CommandContext(ctx, w.binary, args...).Run() == nil {
				w.acked[w.sent] = true
				acked.Add(insertRows)
				break
			}
			if !w.insists {
				break
			}
		}
	}
}

// check compares the stored rows of the writer. The rows of a successful command must be stored once, and other rows
// at most once.
func (w *inserter) check(n *cluster.Node) error {
	rows, err := n.Query("SELECT s, count(*) FROM inserted WHERE w = '" + w.name + "' GROUP BY s")
	if err != nil {
		return err
	}
	count := map[string]string{}
	for _, row := range rows {
		count[fmt.Sprint(row[0])] = fmt.Sprint(row[1])
	}
	var wrong []error
	for s := range w.sent * insertRows {
		got := count[fmt.Sprint(s)]
		delete(count, fmt.Sprint(s))
		acked := w.acked[s/insertRows]
		if acked && got == "" || got != "" && got != "1" {
			wrong = append(wrong, fmt.Errorf("row %d of %s (acknowledged: %t) is stored %q times", s, w.name, acked, got))
		}
	}
	if len(count) > 0 {
		wrong = append(wrong, fmt.Errorf("rows that %s did not send: %v", w.name, count))
	}
	return errors.Join(wrong[:min(len(wrong), 5)]...)
}

// TestInsertByCommand stores rows with the command line, which retries by itself, while nodes are killed, shards
// change their leaders, and the table is moved and spread. Each row must be stored once.
func TestInsertByCommand(t *testing.T) {
	together(t)
	r := dice(t)
	c := cluster.NewCluster(t, cluster.Spec{All: 3, Shards: 2})
	c.Start()
	c.Nodes[0].Rows(t, "CREATE TABLE inserted (ts TIMESTAMP(9) TIME INDEX, w STRING, s BIGINT) WITH (append_mode='true')")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stop := make(chan struct{})
	var acked atomic.Int64
	var wg sync.WaitGroup
	var writers []*inserter
	for i := range 4 {
		// Each inserter starts with a different node, and continues with the next one if its node is killed.
		var servers []string
		for j := range c.Nodes {
			servers = append(servers, c.Nodes[(i+j)%len(c.Nodes)].HTTP)
		}
		w := &inserter{
			binary: cluster.Binary(t), servers: strings.Join(servers, ","), name: fmt.Sprint("writer", i),
			insists: i%2 == 0, acked: map[int]bool{},
		}
		writers = append(writers, w)
		wg.Go(func() { w.run(ctx, stop, &acked) })
	}
	await := func(more int64) {
		t.Helper()
		want := acked.Load() + more
		cluster.Eventually(t, 2*time.Minute, func() error {
			if have := acked.Load(); have < want {
				return fmt.Errorf("%d of %d rows are acknowledged", have, want)
			}
			return nil
		})
	}
	await(20)
	for i := range rounds(3, 40) {
		n := c.Nodes[r.IntN(3)]
		n.Kill()
		pause(r, 100*time.Millisecond, 2*time.Second)
		n.Launch()
		c.AwaitReady(time.Minute)
		shards := anyStatus(t, c).Shards
		to := []uint32{shards[i%len(shards)].Id}
		if i%3 == 2 {
			to = append(to, shards[(i+1)%len(shards)].Id)
		}
		run(t, c.Nodes[r.IntN(3)], operation{Kind: "table-move", Table: "public.inserted", ToShards: to})
		await(20)
	}
	close(stop)
	time.AfterFunc(patience, cancel)
	wg.Wait()
	for _, n := range c.Nodes {
		for _, w := range writers {
			if err := w.check(n); err != nil {
				t.Errorf("%s: %v", n.Name, err)
			}
			if w.insists && len(w.acked) != w.sent {
				t.Errorf("%d of %d statements of %s were acknowledged", len(w.acked), w.sent, w.name)
			}
		}
	}
	for _, w := range writers {
		t.Logf("%s: %d statements, %d acknowledged", w.name, w.sent, len(w.acked))
	}
}
