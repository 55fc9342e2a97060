// Package chaos breaks clusters of real processes while clients write to them, and then
// compares what the cluster has with what the clients were told.
//
// A Load is the clients: each writes requests of its own through several routers and notes
// what became of every row. Check reads all tables and holds them against the notes. The
// tests are in two forms: a short one, which asserts what the cluster holds and never how
// long anything took, and, with CORDWOOD_CHAOS=1, a long one, which asserts times too.
package chaos

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// Manner is what a writer does about a request that was not acknowledged.
type Manner int

const (
	// Keyed sends the same body with the same Idempotency-Key until it is acknowledged.
	Keyed Manner = iota
	// Again sends the same body until it is acknowledged, without a key.
	Again
	// Once lets it be.
	Once
)

func (m Manner) String() string { return [...]string{"keyed", "again", "once"}[m] }

// Options say what a Load does.
type Options struct {
	// Routers take the requests; a writer continues to the next one when one fails.
	Routers []*cluster.Node
	// Writers of each manner.
	Keyed, Again, Once int
	// Tables are written to in turn; 0: 4.
	Tables int
	// Rows in a request; 0: 20.
	Rows int
	// Spread has each request hold rows of all tables.
	Spread bool
	// Pause is between two requests of a writer; 0: 50 ms.
	Pause time.Duration
	// Timeout is how long a client waits for an answer; 0: 15 s.
	Timeout time.Duration
	// Transport carries the requests; nil: one that keeps connections.
	Transport http.RoundTripper
}

// Load is writers, and what they were told.
type Load struct {
	opt    Options
	client *http.Client
	stop   chan struct{}
	healed chan struct{}
	wg     sync.WaitGroup
	acked  atomic.Int64

	mu       sync.Mutex
	requests []*request
	answers  map[string]int
	faults   []breakage
	gaps     []gap
	began    time.Time
	// rude are answers that no client should ever get.
	rude []string
}

// request is rows of one writer that were sent together, and perhaps again.
type request struct {
	writer string
	manner Manner
	first  int // number of the first row
	rows   int
	at     int // of Load.table
	key    string
	acked  bool
	// maybe counts the sendings that may have stored rows.
	maybe int
}

// gap is how long a writer waited for an acknowledgement, from the one before.
type gap struct {
	from, to time.Time
	writer   string
}

type breakage struct {
	at   time.Time
	what string
}

// Start has writers write until Stop.
func Start(opt Options) *Load {
	for _, d := range []struct {
		field *int
		value int
	}{{&opt.Tables, 4}, {&opt.Rows, 20}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if opt.Pause == 0 {
		opt.Pause = 50 * time.Millisecond
	}
	if opt.Timeout == 0 {
		opt.Timeout = 15 * time.Second
	}
	if opt.Transport == nil {
		opt.Transport = &http.Transport{MaxIdleConnsPerHost: 16}
	}
	l := &Load{
		opt: opt, answers: map[string]int{}, began: time.Now(),
		stop: make(chan struct{}), healed: make(chan struct{}),
		client: &http.Client{Timeout: opt.Timeout, Transport: opt.Transport},
	}
	n := 0
	for _, kind := range []struct {
		manner Manner
		count  int
	}{{Keyed, opt.Keyed}, {Again, opt.Again}, {Once, opt.Once}} {
		for i := range kind.count {
			name, router := fmt.Sprintf("%s%d", kind.manner, i), n
			l.wg.Go(func() { l.write(name, kind.manner, router) })
			n++
		}
	}
	return l
}

// patience is how long, after everything was mended, a writer that must get through tries.
const patience = 2 * time.Minute

// Stop ends the writers. Those that send again until they get an answer have two minutes for
// what is under way: everything must be mended by now.
func (l *Load) Stop() {
	close(l.stop)
	time.AfterFunc(patience, func() { close(l.healed) })
	l.wg.Wait()
	l.client.CloseIdleConnections()
}

// Acked returns how many rows were acknowledged.
func (l *Load) Acked() int { return int(l.acked.Load()) }

// AwaitAcked waits until the given number of further rows is acknowledged.
func (l *Load) AwaitAcked(t testing.TB, more int) {
	t.Helper()
	want := l.Acked() + more
	cluster.Eventually(t, 2*time.Minute, func() error {
		if have := l.Acked(); have < want {
			return fmt.Errorf("%d of %d rows are acknowledged; answers: %v", have, want, l.Answers())
		}
		return nil
	})
}

// Answers counts the answers by status; "none" had none.
func (l *Load) Answers() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]int{}
	for k, n := range l.answers {
		out[k] = n
	}
	return out
}

// WantAnswers fails the test unless every request was answered 200. A router tries for ten
// seconds, so a 503, and no answer, tell how long something took: the short form, on a machine whose
// processes may wait longer than that, allows one in twenty.
func (l *Load) WantAnswers(t testing.TB, during string) {
	t.Helper()
	all, late := 0, 0
	for status, count := range l.Answers() {
		all += count
		switch {
		case status == "200":
		case !long() && (status == "503" || status == "none"):
			late += count
			t.Logf("%d requests were answered %s while %s", count, status, during)
		default:
			t.Errorf("%d requests were answered %s while %s", count, status, during)
		}
	}
	if 20*late > all {
		t.Errorf("%d of %d requests were not answered in time while %s", late, all, during)
	}
}

// table returns the table of a row: the number of the request counts, or of the row.
func (l *Load) table(r *request, row int) int {
	if l.opt.Spread {
		return row % l.opt.Tables
	}
	return r.at
}

// TableName returns the name of the i-th table.
func TableName(i int) string { return fmt.Sprintf("load_%d", i) }

// payload returns what a row must hold: anything else is not what was sent.
func payload(writer string, row int) string {
	sum := uint64(14695981039346656037)
	for _, b := range []byte(fmt.Sprintf("%s/%d", writer, row)) {
		sum = (sum ^ uint64(b)) * 1099511628211
	}
	return strings.Repeat(fmt.Sprintf("%016x", sum), 1+int(sum%5))
}

func (l *Load) body(r *request) string {
	var b strings.Builder
	for row := r.first; row < r.first+r.rows; row++ {
		fmt.Fprintf(&b, `{"w":%q,"s":%d,"p":%q`, r.writer, row, payload(r.writer, row))
		if l.opt.Spread {
			fmt.Fprintf(&b, `,"svc_table_suffix":"_%d"`, l.table(r, row))
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// write is the life of one writer.
func (l *Load) write(name string, manner Manner, router int) {
	last := time.Now()
	for i := 0; !closed(l.stop); i++ {
		r := &request{writer: name, manner: manner, first: i * l.opt.Rows, rows: l.opt.Rows, at: (i + router) % l.opt.Tables}
		if manner == Keyed {
			r.key = fmt.Sprintf("%d-%s-%d", l.began.UnixNano(), name, i)
		}
		l.mu.Lock()
		l.requests = append(l.requests, r)
		l.mu.Unlock()
		for {
			done := l.send(r, l.opt.Routers[router%len(l.opt.Routers)])
			if !done {
				router++ // as a load balancer does
			}
			if done || manner == Once || closed(l.healed) {
				break
			}
			<-time.After(100 * time.Millisecond) // a client that is refused does not hammer
		}
		if r.acked {
			l.mu.Lock()
			l.gaps = append(l.gaps, gap{last, time.Now(), name})
			l.mu.Unlock()
			last = time.Now()
		}
		select {
		case <-l.stop:
		case <-time.After(l.opt.Pause):
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// send sends a request once; done means that it was acknowledged.
func (l *Load) send(r *request, to *cluster.Node) (done bool) {
	table := "load"
	if !l.opt.Spread {
		table = TableName(r.at)
	}
	req, err := http.NewRequest(http.MethodPost, to.HTTP+"/v1/ingest?pipeline_name=svc_identity&table="+table,
		strings.NewReader(l.body(r)))
	if err != nil {
		panic(err) // of what this file put together
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	resp, err := l.client.Do(req)
	if err != nil {
		l.note(r, "none", true, "")
		return false
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		l.note(r, "none", true, "")
		return false
	}
	if resp.StatusCode == http.StatusOK {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.answers["200"]++
		r.maybe++
		r.acked = true
		l.acked.Add(int64(r.rows))
		return true
	}
	rude := ""
	switch resp.StatusCode {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		if resp.Header.Get("Retry-After") == "" {
			rude = "no Retry-After"
		}
	case http.StatusRequestTimeout:
	default:
		rude = "no answer to a good request"
	}
	if rude != "" {
		rude = fmt.Sprintf("%s from %s: %d %s", rude, to.Name, resp.StatusCode, text)
	}
	l.note(r, fmt.Sprint(resp.StatusCode), mayHaveStored(resp, text), rude)
	return false
}

// mayHaveStored reports whether rows may be stored whose request got an answer other than 200. What the manual
// promises to have stored nothing must have stored nothing.
func mayHaveStored(resp *http.Response, text []byte) bool {
	return resp.StatusCode == http.StatusRequestTimeout || resp.Header.Get("X-Ingest-Partial") != "" ||
		strings.Contains(string(text), "unknown") || resp.StatusCode == http.StatusInternalServerError
}

func (l *Load) note(r *request, answer string, maybe bool, rude string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers[answer]++
	if maybe {
		r.maybe++
	}
	if rude != "" {
		l.rude = append(l.rude, rude)
	}
}
