// Package chaos breaks clusters of real processes while clients write to them, and then compares the content of the
// cluster with the answers that the clients got.
//
// A Load is a set of clients. Each writes its own requests through several routers and records the result of every
// row. Check reads all tables and compares them with the records. The tests have two forms: a short one, which checks
// content but no durations, and a long one with CORDWOOD_CHAOS=1, which also checks durations.
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

// Manner is what a writer does after a request that was not acknowledged.
type Manner int

const (
	// Keyed repeats the same body with the same Idempotency-Key until it is acknowledged.
	Keyed Manner = iota
	// Again repeats the same body until it is acknowledged, without a key.
	Again
	// Once does not repeat the request.
	Once
)

func (m Manner) String() string { return [...]string{"keyed", "again", "once"}[m] }

// Options configures a Load.
type Options struct {
	// Routers receive the requests; a writer continues with the next one when one fails.
	Routers []*cluster.Node
	// The number of writers of each manner.
	Keyed, Again, Once int
	// Tables is the number of tables, which are written in turn; 0 means 4.
	Tables int
	// Rows is the number of rows in a request; 0 means 20.
	Rows int
	// Spread makes each request contain rows of all tables.
	Spread bool
	// Pause is the pause between two requests of a writer; 0 means 50 ms.
	Pause time.Duration
	// Timeout is how long a client waits for an answer; 0 means 15 s.
	Timeout time.Duration
	// Transport sends the requests; nil means one that keeps connections.
	Transport http.RoundTripper
}

// Load is a set of writers, and the answers that they got.
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
	// forbidden lists answers that no client should ever get.
	forbidden []string
}

// request is rows of one writer that are sent together, possibly more than once.
type request struct {
	writer string
	manner Manner
	first  int // number of the first row
	rows   int
	at     int // index for Load.table
	key    string
	acked  bool
	// maybe is the number of attempts that may have stored rows.
	maybe int
}

// gap is the time that a writer waited for an acknowledgement since the previous one.
type gap struct {
	from, to time.Time
	writer   string
}

type breakage struct {
	at   time.Time
	what string
}

// Start starts writers that write until Stop.
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

// patience is how long a writer that must succeed keeps trying after all faults were repaired.
const patience = 2 * time.Minute

// Stop ends the writers. Writers that repeat requests get two minutes for their last requests, so all faults must
// have been repaired.
func (l *Load) Stop() {
	close(l.stop)
	time.AfterFunc(patience, func() { close(l.healed) })
	l.wg.Wait()
	l.client.CloseIdleConnections()
}

// Acked returns the number of acknowledged rows.
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

// Answers counts the answers by status. "none" counts requests without an answer.
func (l *Load) Answers() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]int{}
	for k, n := range l.answers {
		out[k] = n
	}
	return out
}

// WantAnswers fails the test unless every request was answered with 200. A router retries for ten seconds, so 503 and
// missing answers depend on timing. The short form allows one in twenty, because processes may wait longer than that
// on a loaded machine.
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

// table returns the table of a row, which depends on the number of the request, or of the row.
func (l *Load) table(r *request, row int) int {
	if l.opt.Spread {
		return row % l.opt.Tables
	}
	return r.at
}

// TableName returns the name of the i-th table.
func TableName(i int) string { return fmt.Sprintf("load_%d", i) }

// payload returns the expected content of a row.
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

// write runs one writer.
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
			<-time.After(100 * time.Millisecond) // refused clients wait
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
		panic(err) // this file built the request
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
	forbidden := ""
	switch resp.StatusCode {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		if resp.Header.Get("Retry-After") == "" {
			forbidden = "no Retry-After"
		}
	case http.StatusRequestTimeout:
	default:
		forbidden = "no answer to a good request"
	}
	if forbidden != "" {
		forbidden = fmt.Sprintf("%s from %s: %d %s", forbidden, to.Name, resp.StatusCode, text)
	}
	l.note(r, fmt.Sprint(resp.StatusCode), mayHaveStored(resp, text), forbidden)
	return false
}

// mayHaveStored reports whether rows may be stored although their request got an answer other than 200. It returns
// false for answers that, according to the manual, store nothing.
func mayHaveStored(resp *http.Response, text []byte) bool {
	return resp.StatusCode == http.StatusRequestTimeout || resp.Header.Get("X-Ingest-Partial") != "" ||
		strings.Contains(string(text), "unknown") || resp.StatusCode == http.StatusInternalServerError
}

func (l *Load) note(r *request, answer string, maybe bool, forbidden string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers[answer]++
	if maybe {
		r.maybe++
	}
	if forbidden != "" {
		l.forbidden = append(l.forbidden, forbidden)
	}
}
