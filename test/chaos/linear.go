package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/test/cluster"
	"cordwood/test/linear"
)

// register is a table of one shard, with clients that write rows one by one and read all of them through any router,
// to check linearizability: each read must return all rows that were acknowledged before it started, no read may
// return fewer rows than an earlier one, and every row must be stored once.
type register struct {
	routers []*cluster.Node
	client  *http.Client
	began   time.Time
	stop    chan struct{}
	clients sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	rows  map[rowID]*sent
	acked int
	reads []answered
	// stale lists reads from any replica, which may lag behind.
	stale   []answered
	answers map[string]int // counts of answers to reads
	wrong   []string       // answers that a valid request must not get
}

// sent is the state of a row. acked is Never if it is unknown.
type sent struct {
	begun, acked time.Duration
	refused      bool
}

type answered struct {
	who          string
	begun, ended time.Duration
	rows         map[rowID]int
}

const (
	registerTable = "register"
	// maxStaleness is the maximum age of the state that any replica may show. deposedFor is how long a deposed leader
	// may continue before it notices: see docs/sql.md.
	maxStaleness = 2 * time.Second
	deposedFor   = 2 * time.Second
	// noAnswer is how long clients wait for an answer.
	noAnswer = 15 * time.Second
)

// newRegister starts writers and readers that use the routers until check.
func newRegister(t testing.TB, routers []*cluster.Node, writers, readers int) *register {
	t.Helper()
	g := &register{
		routers: routers, client: &http.Client{Timeout: noAnswer, Transport: &http.Transport{MaxIdleConnsPerHost: 16}},
		began: time.Now(), stop: make(chan struct{}), rows: map[rowID]*sent{}, answers: map[string]int{},
	}
	t.Cleanup(func() {
		if !closed(g.stop) { // the test ended before check
			close(g.stop)
			g.clients.Wait()
		}
	})
	cluster.Eventually(t, time.Minute, func() error {
		if !g.write("first", 0, g.routers[0]) {
			return fmt.Errorf("nothing is stored: %v", g.answers)
		}
		return nil
	})
	for i := range writers {
		g.clients.Go(func() {
			at := i
			for row := int64(0); !closed(g.stop); row++ {
				if stored := g.write(fmt.Sprint("w", i), row, g.routers[at%len(g.routers)]); !stored || row%7 == 6 {
					at++
				}
				<-time.After(20 * time.Millisecond)
			}
		})
	}
	for i := range readers {
		g.clients.Go(func() {
			for n := i; !closed(g.stop); n++ {
				g.read(g.routers[n%len(g.routers)], i == 0)
				<-time.After(30 * time.Millisecond)
			}
		})
	}
	return g
}

// now returns the time since the start.
func (g *register) now() time.Duration { return time.Since(g.began) }

// write sends a row once, records the result, and reports whether it was acknowledged.
func (g *register) write(writer string, row int64, to *cluster.Node) bool {
	s := &sent{begun: g.now(), acked: linear.Never}
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.rows[rowID{writer, row}] = s
		if s.acked != linear.Never {
			g.acked++
		}
	}()
	req, err := http.NewRequest(http.MethodPost, to.HTTP+"/v1/ingest?pipeline_name=svc_identity&table="+registerTable,
		strings.NewReader(fmt.Sprintf(`{"w":%q,"s":%d}`, writer, row)))
	if err != nil {
		panic(err) // this file built the request
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	resp, err := g.client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
	case resp.StatusCode == http.StatusOK:
		s.acked = g.now()
		return true
	default:
		s.refused = !mayHaveStored(resp, text)
	}
	return false
}

// read reads all rows through a router, from any replica that is not too old if lagging is set.
func (g *register) read(from *cluster.Node, lagging bool) {
	form := url.Values{"sql": {"SELECT w, s, count(*) FROM " + registerTable + " GROUP BY w, s"}}
	if lagging {
		form.Set("consistency", "any")
		form.Set("max_staleness", maxStaleness.String())
	}
	a := answered{who: "through " + from.Name, begun: g.now(), rows: map[rowID]int{}}
	resp, err := g.client.PostForm(from.HTTP+"/v1/sql", form)
	if err != nil {
		g.answered("none")
		return
	}
	defer resp.Body.Close()
	var out struct {
		Output []struct {
			Records struct {
				Rows [][]any `json:"rows"`
			} `json:"records"`
		} `json:"output"`
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		g.answered("none")
		return
	}
	if resp.StatusCode != http.StatusOK {
		g.answered(fmt.Sprint(resp.StatusCode))
		g.mu.Lock()
		defer g.mu.Unlock()
		switch resp.StatusCode {
		case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusGatewayTimeout:
		default:
			if lagging && strings.Contains(string(text), "does not exist") {
				return // the node answers from its own copy of the metadata
			}
			g.wrong = append(g.wrong, fmt.Sprintf("a read through %s at %s: %d %s", from.Name, a.begun, resp.StatusCode, text))
		}
		return
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil || len(out.Output) != 1 {
		g.answered("cut off")
		return
	}
	a.ended = g.now()
	for _, row := range out.Output[0].Records.Rows {
		w, _ := row[0].(string)
		s, _ := row[1].(json.Number)
		count, _ := row[2].(json.Number)
		number, err1 := s.Int64()
		n, err2 := count.Int64()
		if err1 != nil || err2 != nil {
			number = -1 // a row that was not sent
		}
		a.rows[rowID{w, number}] += int(n)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answers["200"]++
	if lagging {
		a.begun -= maxStaleness + deposedFor
		g.stale = append(g.stale, a)
	} else {
		g.reads = append(g.reads, a)
	}
}

func (g *register) answered(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answers[what]++
}

// progress waits until more rows have been acknowledged, and more reads answered.
func (g *register) progress(t testing.TB) {
	t.Helper()
	count := func() (acked, reads int) {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.acked, len(g.reads)
	}
	acked, reads := count()
	cluster.Eventually(t, 2*time.Minute, func() error {
		if a, r := count(); a < acked+20 || r < reads+6 {
			return fmt.Errorf("%d rows are acknowledged and %d reads answered, want %d and %d", a, r, acked+20, reads+6)
		}
		return nil
	})
}

// check stops the clients and fails the test unless all their answers are linearizable. It reads once more through
// every router, so that no acknowledged row may be missing at the end.
func (g *register) check(t testing.TB) {
	t.Helper()
	close(g.stop)
	g.clients.Wait()
	for _, n := range g.routers {
		before := len(g.reads)
		cluster.Eventually(t, time.Minute, func() error {
			if g.read(n, false); len(g.reads) == before {
				return fmt.Errorf("%s cannot be read: %v", n.Name, g.answers)
			}
			return nil
		})
	}
	var set, lagging linear.Set[rowID]
	for row, s := range g.rows {
		for _, set := range []*linear.Set[rowID]{&set, &lagging} {
			if s.refused {
				set.Refuse(row)
			} else {
				set.Add(row, s.begun, s.acked)
			}
		}
	}
	for _, r := range g.reads {
		set.Read(r.who, r.begun, r.ended, r.rows)
	}
	lagging.Apart = true
	for _, r := range g.stale {
		lagging.Read("of any replica "+r.who, r.begun, r.ended, r.rows)
	}
	for _, text := range g.wrong[:min(3, len(g.wrong))] {
		t.Error(text)
	}
	for _, fault := range set.Check() {
		t.Error(fault)
	}
	for _, fault := range lagging.Check() {
		t.Errorf("max_staleness=%s: %s", maxStaleness, fault)
	}
	t.Logf("%d rows, %d of them acknowledged; answers to reads: %v, %d from any replica", len(g.rows), g.acked, g.answers,
		len(g.stale))
}
