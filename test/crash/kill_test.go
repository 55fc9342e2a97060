// Package crash kills real servers and looks at what is left.
package crash

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cordwood/test/cluster"
)

const (
	writers     = 4
	rowsPerPost = 50
)

// ledger notes, for every request, whether it was acknowledged. A request is
// named by its writer and number; each is sent once.
type ledger struct {
	mu    sync.Mutex
	acked map[string]bool
	sent  map[string]bool
}

func (l *ledger) note(m map[string]bool, post string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m[post] = true
}

// TestKill kills the server with SIGKILL at random moments under load, starts it
// again, and finds every acknowledged row once, no row twice, no row that was
// never sent, and requests that were not acknowledged either whole or not at all.
func TestKill(t *testing.T) {
	rounds := 20
	if s := os.Getenv("CORDWOOD_CRASH_ROUNDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("CORDWOOD_CRASH_ROUNDS: %v", err)
		}
		rounds = n
	} else if testing.Short() {
		rounds = 3
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))

	// A small flush size makes flushes and log truncations part of what is killed.
	n := cluster.New(t, "--shards", "2", "--shard-flush-bytes", "1MiB", "--shard-flush-age", "1s")
	l := &ledger{acked: map[string]bool{}, sent: map[string]bool{}}
	var slowest time.Duration
	for round := range rounds {
		slowest = max(slowest, n.Start())
		before := l.count()
		loadUntilKilled(t, n, l, round, rng)
		if after := l.count(); after == before {
			t.Fatalf("round %d: nothing was acknowledged", round)
		}
		// Every few rounds; the last one is always checked.
		if round%5 == 4 || round == rounds-1 {
			slowest = max(slowest, n.Start())
			check(t, n, l)
			if round%2 == 0 {
				n.Stop()
			} else {
				n.Kill()
			}
		}
	}
	t.Logf("%d rounds, %d requests sent, %d acknowledged, slowest start %s", rounds, len(l.sent), len(l.acked), slowest)
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// loadUntilKilled writes from several connections until the server is killed,
// some acknowledgements and up to half a second later.
func loadUntilKilled(t *testing.T, n *cluster.Node, l *ledger, round int, rng *rand.Rand) {
	t.Helper()
	var acks atomic.Int64
	enough := make(chan struct{})
	want := int64(1 + rng.IntN(200))
	var wg sync.WaitGroup
	for w := range writers {
		r := rand.New(rand.NewPCG(rng.Uint64(), uint64(w)))
		wg.Go(func() {
			for seq := 0; ; seq++ {
				post := fmt.Sprintf("%d-%d-%d", round, w, seq)
				l.note(l.sent, post)
				if err := n.Ingest(tableOf(w), body(post, r)); err != nil {
					// The server was killed: whether this one counts is unknown.
					return
				}
				l.note(l.acked, post)
				if acks.Add(1) == want {
					close(enough)
				}
			}
		})
	}
	select {
	case <-enough:
	case <-time.After(30 * time.Second):
		t.Errorf("round %d: only %d of %d requests acknowledged in 30 s", round, acks.Load(), want)
	}
	<-time.After(time.Duration(rng.IntN(500)) * time.Millisecond)
	n.Kill()
	wg.Wait()
}

// tableOf puts two writers on one table, so that batches of several meet in a log entry.
func tableOf(writer int) string { return "crash_" + strconv.Itoa(writer/2) }

// body makes the rows of one request; now and then they carry a column of their own.
func body(post string, r *rand.Rand) []byte {
	var b []byte
	for i := range rowsPerPost {
		row := map[string]any{"post": post, "row": i, "payload": strconv.FormatUint(r.Uint64(), 36), "ok": i%2 == 0}
		if r.IntN(500) == 0 {
			row["extra_"+strconv.Itoa(r.IntN(20))] = r.Float64()
		}
		line, err := json.Marshal(row)
		if err != nil {
			panic(err)
		}
		b = append(append(b, line...), '\n')
	}
	return b
}

func check(t *testing.T, n *cluster.Node, l *ledger) {
	t.Helper()
	found := map[string]bool{}
	for w := 0; w < writers; w += 2 {
		table := tableOf(w)
		for _, row := range n.Rows(t, `SELECT post, count(*), count(DISTINCT "row"), count(payload), min("row"), max("row") FROM `+table+` GROUP BY post`) {
			post, ok := row[0].(string)
			if !ok || !l.sent[post] {
				t.Errorf("%s has rows of request %v, which was never sent", table, row[0])
				continue
			}
			want := []string{strconv.Itoa(rowsPerPost), strconv.Itoa(rowsPerPost), strconv.Itoa(rowsPerPost), "0", strconv.Itoa(rowsPerPost - 1)}
			for i, v := range want {
				if got := fmt.Sprint(row[i+1]); got != v {
					t.Errorf("%s, request %s: count, distinct, payloads, min, max are %v, want %v", table, post, row[1:], want)
					break
				}
			}
			found[post] = true
		}
	}
	lost := 0
	for post := range l.acked {
		if !found[post] {
			lost++
			if lost <= 5 {
				t.Errorf("request %s was acknowledged and is lost", post)
			}
		}
	}
	if lost > 0 {
		t.Fatalf("%d of %d acknowledged requests are lost", lost, len(l.acked))
	}
}
