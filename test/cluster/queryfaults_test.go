package cluster

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	faultSeed   = flag.Uint64("faults.seed", 0, "seed of TestAnswersUnderFaults; 0: any")
	faultRounds = flag.Int("faults.rounds", 1, "rounds of TestAnswersUnderFaults")
)

// These are the rows of the table grown: writer w writes the rows k = 0, 1, 2 and so on, at ascending times.
const (
	grownWriters = 4
	grownBatch   = 300
)

// grown is a table to which several writers append while faults occur.
type grown struct {
	*Cluster
	// acked and sent are the numbers of acknowledged and of sent rows of each writer.
	acked, sent [grownWriters]atomic.Int64
	// away is a node that gets no requests for a while.
	away atomic.Pointer[Node]
	stop chan struct{}
	wg   sync.WaitGroup
}

// one returns a random node that is not away.
func (g *grown) one(r *rand.Rand) *Node {
	for {
		if n := g.Nodes[r.IntN(len(g.Nodes))]; n != g.away.Load() {
			return n
		}
	}
}

// write appends rows of one writer until stop is closed. It repeats a batch until it is
// acknowledged.
func (g *grown) write(t *testing.T, w int, seed uint64) {
	r := rand.New(rand.NewPCG(seed, uint64(w))) //nolint:gosec // small
	for batch := 0; ; batch++ {
		var body bytes.Buffer
		first := g.sent[w].Load()
		for k := first; k < first+grownBatch; k++ {
			fmt.Fprintf(&body, `{"ts":%d,"w":%d,"k":%d,"v":%d,"m":"%016x"}`+"\n", spreadTime(int(k)), w, k, k%100, r.Uint64())
		}
		g.sent[w].Store(first + grownBatch)
		for {
			a, err := g.one(r).Do("POST", "/v1/ingest?pipeline_name=svc_identity&table=grown&custom_time_index=ts;epoch;ms",
				bytes.NewReader(body.Bytes()), "Content-Type", "application/x-ndjson",
				"Idempotency-Key", fmt.Sprint("writer ", w, " batch ", batch), "x-svc-timeout", "5s")
			if err == nil && a.Status == 200 {
				break
			}
			if err == nil && a.Status < 500 && a.Status != 429 && a.Status != 408 {
				t.Errorf("writer %d: %d %s", w, a.Status, a.Body)
				return
			}
			select {
			case <-g.stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
		g.acked[w].Store(first + grownBatch)
		select {
		case <-g.stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// bounds is the minimum and maximum number of rows of each writer in an answer.
type bounds struct{ least, most [grownWriters]int64 }

// grownStatement is a statement on the table, and the check of its answer.
type grownStatement struct {
	sql   string
	check func(rows [][]any, b *bounds) error
}

func numberIn(v any) int64 {
	n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// within returns an error unless a number of rows is within its bounds.
func within(what string, n, least, most int64) error {
	if n < least || n > most {
		return fmt.Errorf("%s is %d, and must be %d to %d", what, n, least, most)
	}
	return nil
}

func (b *bounds) sum() (least, most int64) {
	for w := range grownWriters {
		least, most = least+b.least[w], most+b.most[w]
	}
	return least, most
}

// totals checks an answer of one number of rows.
func totals(rows [][]any, b *bounds) error {
	if len(rows) != 1 {
		return fmt.Errorf("%d rows", len(rows))
	}
	least, most := b.sum()
	return within("the count", numberIn(rows[0][0]), least, most)
}

// byWriter checks an answer with a row for each writer: number, rows, smallest k, largest k.
func byWriter(rows [][]any, b *bounds) error {
	seen := [grownWriters]bool{}
	for _, r := range rows {
		w, n := numberIn(r[0]), numberIn(r[1])
		if w < 0 || w >= grownWriters || seen[w] {
			return fmt.Errorf("writer %v is listed twice or does not exist", r[0])
		}
		seen[w] = true
		if err := within(fmt.Sprint("the count of writer ", w), n, b.least[w], b.most[w]); err != nil {
			return err
		}
		if err := within("the greatest k", numberIn(r[3]), max(b.least[w]-1, 0), b.most[w]-1); err != nil {
			return err
		}
		if numberIn(r[2]) != 0 && b.least[w] > 0 {
			return fmt.Errorf("the least k of writer %d is %v", w, r[2])
		}
	}
	for w := range grownWriters {
		if !seen[w] && b.least[w] > 0 {
			return fmt.Errorf("writer %d is missing", w)
		}
	}
	return nil
}

// newestOf checks the newest k of a writer, in descending order without gaps among the acknowledged
// ones.
func newestOf(w, limit int64) func(rows [][]any, b *bounds) error {
	return func(rows [][]any, b *bounds) error {
		have := map[int64]bool{}
		last := b.most[w]
		for _, r := range rows {
			k := numberIn(r[0])
			if k >= last {
				return fmt.Errorf("%d comes after %d", k, last)
			}
			last, have[k] = k, true
		}
		for k := b.least[w] - 1; k >= max(0, b.most[w]-limit); k-- {
			if !have[k] {
				return fmt.Errorf("%d is missing among the newest rows", k)
			}
		}
		return nil
	}
}

// eachOf checks that an answer has each k of a writer that meets a condition, once.
func eachOf(w int64, meets func(k int64) bool) func(rows [][]any, b *bounds) error {
	return func(rows [][]any, b *bounds) error {
		have := map[int64]bool{}
		for _, r := range rows {
			k := numberIn(r[0])
			if have[k] || !meets(k) || k >= b.most[w] {
				return fmt.Errorf("%d is listed twice, or should not be listed", k)
			}
			have[k] = true
		}
		for k := range b.least[w] {
			if meets(k) && !have[k] {
				return fmt.Errorf("%d is missing", k)
			}
		}
		return nil
	}
}

// statement returns a random statement.
func (g *grown) statement(r *rand.Rand) grownStatement {
	w := r.Int64N(grownWriters)
	v := r.Int64N(100)
	switch r.IntN(9) {
	case 0:
		return grownStatement{"SELECT count(*) FROM grown", totals}
	case 1:
		return grownStatement{"SELECT count(DISTINCT concat(w, '-', k)) FROM grown", totals}
	case 2:
		return grownStatement{"SELECT count(*) FROM grown WHERE random() < 2", totals}
	case 3:
		return grownStatement{"SELECT w, count(*), min(k), max(k) FROM grown GROUP BY w", byWriter}
	case 4:
		return grownStatement{"SELECT w, count(DISTINCT k), min(k), max(k), median(v) FROM grown GROUP BY w", byWriter}
	case 5:
		return grownStatement{
			fmt.Sprintf("SELECT w, sum(n), min(a), max(b) FROM (SELECT w, v, count(*) AS n, min(k) AS a, max(k) AS b "+
				"FROM grown GROUP BY w, v) GROUP BY w ORDER BY w LIMIT %d", grownWriters), byWriter,
		}
	case 6:
		return grownStatement{
			fmt.Sprintf("SELECT k FROM grown WHERE w = %d ORDER BY ts DESC LIMIT 700", w), newestOf(w, 700),
		}
	case 7:
		return grownStatement{
			fmt.Sprintf("SELECT a.k FROM grown a JOIN grown b ON a.w = b.w AND a.k = b.k WHERE a.w = %d AND b.v = %d", w, v),
			eachOf(w, func(k int64) bool { return k%100 == v }),
		}
	}
	return grownStatement{
		fmt.Sprintf("SELECT k FROM grown WHERE w = %d AND v = %d", w, v), eachOf(w, func(k int64) bool { return k%100 == v }),
	}
}

// ask runs statements until stop is closed, and counts those with an answer.
func (g *grown) ask(t *testing.T, seed uint64, answered, partial *atomic.Int64) {
	r := rand.New(rand.NewPCG(seed, 99))
	for {
		select {
		case <-g.stop:
			return
		default:
		}
		st, n := g.statement(r), g.one(r)
		b := &bounds{}
		for w := range grownWriters {
			b.least[w] = g.acked[w].Load()
		}
		a, err := n.Do("POST", fmt.Sprintf("/v1/sql?allow_partial=%t&sql=%s", r.IntN(2) == 0, url.QueryEscape(st.sql)), nil,
			"x-svc-timeout", "10s")
		for w := range grownWriters {
			b.most[w] = g.sent[w].Load()
		}
		switch {
		case err != nil: // the node was killed or suspended under the request
		case a.Status == 200 && a.Header.Get("x-svc-partial") != "":
			partial.Add(1)
		case a.Status == 200:
			rows, err := rowsOf(a)
			if err == nil {
				err = st.check(rows, b)
			}
			if err != nil {
				t.Errorf("seed %d, through %s: %s: %v", seed, n.Name, st.sql, err)
			}
			answered.Add(1)
		case a.Status != 503 && a.Status != 408 && a.Status != 504 && a.Status != 429:
			t.Errorf("%s: %d %s", st.sql, a.Status, a.Body)
		}
	}
}

// TestAnswersUnderFaults runs statements of all kinds while writers append, nodes are killed and suspended, and the
// table gets other shards and columns. Each answer that is not partial must have all rows that were acknowledged
// before the request, and no row that was not sent. If the program was built with the race detector, it must not
// report a race.
func TestAnswersUnderFaults(t *testing.T) {
	t.Parallel()
	seed := *faultSeed
	if seed == 0 {
		seed = rand.Uint64() >> 32
	}
	t.Logf("repeat with: -faults.seed %d", seed)
	g := &grown{
		Cluster: NewCluster(t, Spec{All: 3, Replication: 3, Shards: 6, Args: []string{
			"--query-threads", "1", "--query-max-concurrent", "16", "--shard-flush-age", "2s",
		}}),
		stop: make(chan struct{}),
	}
	// A suspended node answers nothing, also to the requests that it has when it is suspended. Without a limit, the three
	// goroutines that run statements could all wait for it.
	for _, n := range g.Nodes {
		n.Client = &http.Client{Timeout: Generous(10 * time.Second)}
	}
	g.Start()
	g.Nodes[0].Rows(t, "CREATE TABLE grown (ts TIMESTAMP(3) TIME INDEX, w BIGINT, k BIGINT, v BIGINT, m STRING) "+
		"WITH (append_mode='true', partitions='3')")
	r := rand.New(rand.NewPCG(seed, 1))
	var answered, partial atomic.Int64
	for w := range grownWriters {
		g.wg.Go(func() { g.write(t, w, seed) })
	}
	for i := range 3 {
		g.wg.Go(func() { g.ask(t, seed+uint64(i), &answered, &partial) }) //nolint:gosec // small
	}
	defer func() {
		close(g.stop)
		g.wg.Wait()
		t.Logf("%d answers, and %d partial ones", answered.Load(), partial.Load())
		for _, n := range g.Nodes {
			if _, race, found := strings.Cut(n.Log(), "WARNING: DATA RACE"); found {
				t.Errorf("%s: a data race: %.4000s", n.Name, race)
			}
		}
	}()
	more := func(n int64) {
		t.Helper()
		from := answered.Load()
		Eventually(t, 40*time.Second, func() error {
			if have := answered.Load() - from; have < n && !t.Failed() {
				return fmt.Errorf("%d statements were answered, want %d", have, n)
			}
			return nil
		})
	}
	alter := func(sql string) {
		t.Helper()
		Eventually(t, 30*time.Second, func() error {
			_, err := g.one(r).Query(sql)
			return err
		})
	}
	more(10)
	faults := []func(round int){
		func(int) { // killed
			n := g.Nodes[r.IntN(len(g.Nodes))]
			g.away.Store(n)
			n.Kill()
			more(12)
			n.Launch()
			g.AwaitReady(time.Minute)
			g.away.Store(nil)
		},
		func(int) { // stopped
			n := g.Nodes[r.IntN(len(g.Nodes))]
			g.away.Store(n)
			n.Pause()
			more(12)
			n.Continue()
			g.AwaitReady(time.Minute)
			g.away.Store(nil)
		},
		func(int) { alter(fmt.Sprintf("ALTER TABLE grown SET 'partitions'='%d'", 2+r.IntN(5))) },
		func(round int) {
			name := fmt.Sprint("extra_", round)
			alter("ALTER TABLE grown ADD COLUMN IF NOT EXISTS " + name + " BIGINT")
			more(5)
			alter("ALTER TABLE grown DROP COLUMN " + name)
		},
		func(int) { // kills the query process of a node
			for _, pid := range g.Nodes[r.IntN(len(g.Nodes))].workers() {
				if p, err := os.FindProcess(pid); err == nil {
					_ = p.Kill() // the process may have ended
				}
			}
		},
	}
	for round := range *faultRounds {
		for _, i := range r.Perm(len(faults)) {
			faults[i](round)
			more(10)
			if t.Failed() {
				return
			}
		}
	}
}
