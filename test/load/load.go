// Package load writes to a real server over several connections, records which rows were
// acknowledged, and afterwards compares the server's content with the record.
//
// Rows go to large tables, to small ones that share segments, and to one that merges rows. A Load
// may be stopped at any time, and run again on the same data.
package load

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cordwood/test/cluster"
)

const (
	writers     = 4
	smallTables = 8
	mergeKeys   = 16
	// RowsPerPost is the number of rows of one request.
	RowsPerPost = 50
)

// post is one request. It is sent once.
type post struct {
	table string
	acked bool
}

// version contains the numbers of the last acknowledged and the last sent version of a key of the merging table.
type version struct{ acked, sent int }

// Load records what was sent to one server.
type Load struct {
	mu     sync.Mutex
	posts  map[string]*post
	keys   [mergeKeys]version
	round  int
	acked  int
	merges bool
	cut    bool
	// Refused is the number of answers of 503 with Retry-After.
	Refused atomic.Int64
}

// New returns a Load for a server without data, or for one that only this Load wrote to.
func New() *Load { return &Load{posts: map[string]*post{}} }

// Cut marks the time of the power loss. Rows that are acknowledged between Cut and the next Run come from a machine
// that would be down, so they may be lost or stored.
func (l *Load) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
}

// Acked returns the number of acknowledged rows.
func (l *Load) Acked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked
}

// Prepare creates the table that merges rows; writes create the others.
func (l *Load) Prepare(t testing.TB, n *cluster.Node) {
	t.Helper()
	if l.merges {
		return
	}
	_,
		err := n.Query(
		`CREATE TABLE IF NOT EXISTS merged (ts TIMESTAMP(3) TIME INDEX, k STRING, v BIGINT, PRIMARY KEY (k)) WITH ` +
			`('append_mode'='false', 'merge_mode'='last_row')`)
	if err != nil && !strings.Contains(err.Error(), "results") {
		t.Fatal(err)
	}
	l.merges = true
}

// Run writes until stop is closed, or the server does not answer. It does not repeat refused
// requests, and pauses after them.
func (l *Load) Run(n *cluster.Node, seed uint64, stop <-chan struct{}) {
	l.mu.Lock()
	l.round++
	l.cut = false
	round := l.round
	l.mu.Unlock()
	var wg sync.WaitGroup
	for w := range writers {
		rng := rand.New(rand.NewPCG(seed, uint64(w)))
		wg.Go(func() {
			for seq := 0; ; seq++ {
				select {
				case <-stop:
					return
				default:
				}
				var gone bool
				if l.merges && w == 0 && seq%3 == 0 {
					gone = l.merge(n, rng.IntN(mergeKeys))
				} else {
					gone = l.post(n, fmt.Sprintf("%d-%d-%d", round, w, seq), l.table(w, rng), rng)
				}
				if gone {
					return
				}
			}
		})
	}
	wg.Wait()
}

// table assigns two writers to each table, so that a log entry can contain batches of several writers. Sometimes it
// returns a small table.
func (l *Load) table(w int, rng *rand.Rand) string {
	if rng.IntN(4) == 0 {
		return "small_" + strconv.Itoa(rng.IntN(smallTables))
	}
	return "crash_" + strconv.Itoa(w/2)
}

// post sends one request. gone means that the server no longer answers.
func (l *Load) post(n *cluster.Node, name, table string, rng *rand.Rand) (gone bool) {
	p := &post{table: table}
	l.mu.Lock()
	l.posts[name] = p
	l.mu.Unlock()
	a, err := n.Do("POST", "/v1/ingest?pipeline_name=svc_identity&table="+table, strings.NewReader(body(name, rng)),
		"Content-Type", "application/x-ndjson")
	if err != nil {
		return true // the outcome of this request is unknown
	}
	if a.Status != 200 {
		l.refused(a)
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.cut {
		p.acked = true
		l.acked += RowsPerPost
	}
	return false
}

func (l *Load) refused(a *cluster.Answer) {
	if a.Status == 503 && a.Header.Get("Retry-After") != "" {
		l.Refused.Add(1)
	}
	time.Sleep(20 * time.Millisecond) // refused clients wait
}

// merge writes the next version of a key. Only one writer does this.
func (l *Load) merge(n *cluster.Node, key int) (gone bool) {
	l.mu.Lock()
	l.keys[key].sent++
	v := l.keys[key].sent
	l.mu.Unlock()
	a, err := n.Do("POST", "/v1/sql",
		strings.NewReader(fmt.Sprintf("INSERT INTO merged VALUES (%d, 'k%d', %d)", 1_700_000_000_000+key, key, v)),
		"Content-Type", "application/sql")
	if err != nil {
		return true
	}
	if a.Status != 200 {
		l.refused(a)
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.cut {
		l.keys[key].acked = v
		l.acked++
	}
	return false
}

// body returns the rows of one request, sometimes with a new column.
func body(name string, rng *rand.Rand) string {
	var b strings.Builder
	for i := range RowsPerPost {
		row := map[string]any{"post": name, "row": i, "payload": strconv.FormatUint(rng.Uint64(), 36), "ok": i%2 == 0}
		if rng.IntN(500) == 0 {
			row["extra_"+strconv.Itoa(rng.IntN(20))] = rng.Float64()
		}
		line, err := json.Marshal(row)
		if err != nil {
			panic(err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// Result is the result of Compare.
type Result struct{ Lost, Doubled, Unknown int }

// Check compares the server's content with the acknowledged rows. It fails the test unless every acknowledged row is
// stored once, and requests that were not acknowledged are stored completely or not at all.
func (l *Load) Check(t testing.TB, n *cluster.Node) {
	t.Helper()
	r, err := l.Compare(n)
	if err != nil {
		t.Fatal(err)
	}
	if r != (Result{}) {
		t.Fatalf("of %d acknowledged rows %d are lost, %d are doubled or wrong, and %d were never sent", l.Acked(),
			r.Lost, r.Doubled, r.Unknown)
	}
}

// Compare compares the server's content with the sent rows. The error is the error of a query.
func (l *Load) Compare(n *cluster.Node) (r Result, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tables := map[string]bool{}
	ackedTables := map[string]bool{}
	for _, p := range l.posts {
		tables[p.table] = true
		ackedTables[p.table] = ackedTables[p.table] || p.acked
	}
	found := map[string]bool{}
	want := fmt.Sprint([]any{RowsPerPost, RowsPerPost, RowsPerPost, 0, RowsPerPost - 1})
	for table := range tables {
		rows,
			err := n.Query(
			`SELECT post, count(*), count(DISTINCT "row"), count(payload), min("row"), max("row") FROM ` + table +
				` GROUP BY post`)
		if err != nil {
			if !ackedTables[table] && strings.Contains(err.Error(), "does not exist") {
				continue
			}
			return r, err
		}
		for _, row := range rows {
			name, _ := row[0].(string)
			if p := l.posts[name]; p == nil || p.table != table {
				r.Unknown++
				continue
			}
			if fmt.Sprint(row[1:]) != want {
				r.Doubled++
			}
			found[name] = true
		}
	}
	for name, p := range l.posts {
		if p.acked && !found[name] {
			r.Lost += RowsPerPost
		}
	}
	return l.compareMerged(n, r)
}

// compareMerged checks that there is one row for each key, with a version between the last acknowledged and the last
// sent one.
func (l *Load) compareMerged(n *cluster.Node, r Result) (Result, error) {
	if !l.merges {
		return r, nil
	}
	rows, err := n.Query(`SELECT k, count(*), min(v), max(v) FROM merged GROUP BY k`)
	if err != nil {
		return r, err
	}
	seen := map[int]bool{}
	for _, row := range rows {
		key, err := strconv.Atoi(strings.TrimPrefix(fmt.Sprint(row[0]), "k"))
		if err != nil || key >= mergeKeys {
			r.Unknown++
			continue
		}
		seen[key] = true
		v, _ := strconv.Atoi(fmt.Sprint(row[3]))
		switch {
		case fmt.Sprint(row[1]) != "1":
			r.Doubled++
		case v < l.keys[key].acked:
			r.Lost++
		case v > l.keys[key].sent:
			r.Unknown++
		}
	}
	for key, v := range l.keys {
		if v.acked > 0 && !seen[key] {
			r.Lost++
		}
	}
	return r, nil
}
