package lokiapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/loki/lines"
	"cordwood/router/query"
	"cordwood/router/query/format"
	"cordwood/router/tail"
)

// store has one table without rows.
type store struct{}

func (store) Tables(context.Context, string) ([]*schema.Table, error) {
	return []*schema.Table{(&schema.Table{Database: "public", Name: "app", Columns: []schema.Column{
		{Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp},
		{Name: "message", Type: schema.String, Semantic: schema.Field},
	}}).Index()}, nil
}

func (store) Extents(context.Context, []*schema.Table) (map[uint64]*query.Extent, error) {
	return nil, nil
}

func (store) Execute(context.Context, query.Request, func(context.Context, query.Result) error) error {
	return nil
}

// follower follows a table without rows. It counts the tails that are open.
type follower struct{ open atomic.Int64 }

func (f *follower) Follow(ctx context.Context, _ tail.Followed, started func(),
	_ func(*schema.Table, format.Rows) error,
) error {
	f.open.Add(1)
	defer f.open.Add(-1)
	started()
	<-ctx.Done()
	return context.Cause(ctx)
}

// tailServer serves tails with short times. sockets gets the server's side of each tail.
func tailServer(t *testing.T, times tailTimes) (url string, f *follower, sockets chan *socket) {
	t.Helper()
	f, sockets = &follower{}, make(chan *socket, 100)
	h, err := New(Config{Source: store{}, Tail: f})
	if err != nil {
		t.Fatal(err)
	}
	h.times = times
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := &socket{h: h, w: w, r: r}
		sockets <- s
		if err := s.serve(); err != nil && s.conn == nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	t.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http") + "?query=" + "%7Btable%3D%22app%22%7D", f, sockets
}

// waitUntil waits until a condition holds.
func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(time.Minute); !holds(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("a minute has passed, and not yet: %s", what)
		}
	}
}

// half opens a tail by hand and returns its connection, from which nothing is read.
func half(t *testing.T, url string) net.Conn {
	t.Helper()
	host, query, _ := strings.Cut(strings.TrimPrefix(url, "ws://"), "?")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET /?%s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n", query, host)
	return conn
}

// TestClientThatVanishes checks that a tail ends if its client does not answer pings, although the connection is open.
func TestClientThatVanishes(t *testing.T) {
	times := usualTimes()
	times.messageTime, times.pingEvery = 100*time.Millisecond, 50*time.Millisecond
	url, f, sockets := tailServer(t, times)
	half(t, url)
	<-sockets
	waitUntil(t, "the tail is open", func() bool { return f.open.Load() == 1 })
	waitUntil(t, "the tail has ended", func() bool { return f.open.Load() == 0 })
}

// TestClientThatReadsNothing checks that a tail with much to send to a client that does not read takes bounded memory,
// and that it ends.
func TestClientThatReadsNothing(t *testing.T) {
	times := usualTimes()
	times.messageEvery, times.messageTime, times.pingEvery = time.Millisecond, 2*time.Second, time.Hour
	url, f, sockets := tailServer(t, times)
	half(t, url)
	s := <-sockets
	waitUntil(t, "the tail is open", func() bool { return f.open.Load() == 1 })
	e := &lines.Entry{
		Line: strings.Repeat("x", 100_000), Labels: map[string]string{"a": strings.Repeat("y", 10_000)},
		Metadata: map[string]string{},
	}
	pushed := 0
	for f.open.Load() == 1 {
		entry := *e
		if err := s.queue.put([]*lines.Entry{&entry}); err != nil {
			t.Fatal(err)
		}
		if pushed++; pushed%1000 == 0 {
			runtime.Gosched()
		}
		if size, _ := s.h.queues.held(); size > maxWaitingSize+maxDroppedSize+200_000 {
			t.Fatalf("after %d entries, %d bytes wait", pushed, size)
		}
	}
	if pushed < maxWaitingSize/200_000 {
		t.Errorf("the tail ended after %d entries", pushed)
	}
}

// smallEntry returns an entry with a line of some bytes.
func smallEntry(size int) *lines.Entry {
	return &lines.Entry{
		Line: strings.Repeat("x", size), Labels: map[string]string{"app": "web", "table": "app", "service_name": "web"},
		Metadata: map[string]string{"detected_level": "info"},
	}
}

// largeEntry returns an entry as JSON.
func largeEntry(size int) arrived {
	value := bytes.Repeat([]byte{' '}, size)
	copy(value, `["1","x"]`)
	return arrived{stream: `{"table":"app"}`, value: value}
}

// TestManyClientsThatReadNothing checks that what many tails hold for clients that never read is bounded, with the
// messages that are being sent, and that nothing is held when the clients have left.
func TestManyClientsThatReadNothing(t *testing.T) {
	times := usualTimes()
	times.messageEvery, times.messageTime, times.pingEvery = time.Millisecond, time.Hour, time.Hour
	url, f, sockets := tailServer(t, times)
	const clients = 24
	var all []*socket
	var conns []net.Conn
	for range clients {
		conns = append(conns, half(t, url))
		all = append(all, <-sockets)
	}
	waitUntil(t, "all tails are open", func() bool { return f.open.Load() == clients })
	queues := all[0].h.queues
	for {
		for _, s := range all {
			s.queue.add(largeEntry(200_000), 0)
		}
		size, dropped := queues.held()
		if size > maxAllSize {
			t.Fatalf("%d bytes are held", size)
		}
		if dropped > 10*clients {
			if size < maxAllSize*3/4 {
				t.Errorf("entries are dropped although only %d bytes are held", size)
			}
			break
		}
	}
	for _, c := range conns {
		c.Close()
	}
	waitUntil(t, "all tails have ended", func() bool { return f.open.Load() == 0 })
	waitUntil(t, "nothing is held", func() bool { size, _ := queues.held(); return size == 0 })
}

// TestTailsShareMemory checks that the accounted memory is the memory that queues take, also of entries with many
// labels, that a tail with a short queue still gets entries when the memory is used up, and that tails that end give
// their memory back.
func TestTailsShareMemory(t *testing.T) {
	for _, labels := range []int{0, 200} {
		all := newQueues()
		var ended atomic.Int64
		var list []*queue
		for range 64 {
			list = append(list, all.join(false, func(error) { ended.Add(1) }))
		}
		entry := func() *lines.Entry {
			e := smallEntry(2000)
			e.Parsed = map[string]string{}
			for i := range labels {
				e.Parsed[fmt.Sprint("label", i)] = fmt.Sprint(i)
			}
			return e
		}
		var heap runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&heap)
		before := heap.HeapAlloc
		quiet, rest := list[0], list[1:]
		for n := 0; ; n++ {
			size, dropped := all.held()
			if size > maxAllSize {
				t.Fatalf("%d bytes are held", size)
			}
			if dropped > 2000 {
				break
			}
			for _, q := range rest {
				if err := q.put([]*lines.Entry{entry()}); err != nil {
					t.Fatal(err)
				}
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&heap)
		if more := heap.HeapAlloc - before; more < maxAllSize/2 || more > maxAllSize*5/4 {
			size, _ := all.held()
			t.Errorf("%d labels: the heap has %d MiB more, and the queues %d MiB", labels, more>>20, size>>20)
		}
		if n := ended.Load(); n > 0 {
			t.Errorf("%d tails ended although all have the same", n)
		}
		if err := quiet.put([]*lines.Entry{entry()}); err != nil || len(quiet.waiting) != 1 || len(quiet.dropped) != 0 {
			t.Errorf("a tail with an empty queue dropped an entry: %v", err)
		}
		if n := ended.Load(); n > 1 {
			t.Errorf("%d tails ended to make room for one entry", n)
		}
		for _, q := range list {
			if taken, dropped, _ := q.take(0); !q.over && (len(taken) == 0 || q != quiet && len(dropped) == 0) {
				t.Errorf("a message has %d entries, and reports %d dropped ones", len(taken), len(dropped))
			}
			q.leave()
		}
		if size, _ := all.held(); len(all.open) != 0 || size != 0 {
			t.Errorf("%d tails and %d bytes are left", len(all.open), size)
		}
	}
}

// TestSlowestTailEnds checks which tail ends to make room for one that has less than its share: the one with more than
// its share that has waited longest for its client to take a message. The error says why.
func TestSlowestTailEnds(t *testing.T) {
	all := newQueues()
	clock := time.Unix(0, 0)
	all.now = func() time.Time { return clock }
	reasons := map[int]error{}
	var list []*queue
	for i := range 12 {
		list = append(list, all.join(false, func(err error) { reasons[i] = err }))
	}
	fill := func(q *queue, most int) {
		for range most {
			q.add(largeEntry(1<<20), 0)
		}
	}
	for _, q := range list[:8] {
		fill(q, 7)
	}
	for _, i := range []int{5, 2} { // the clients of these take no message; that of 5 has taken none for a longer time
		list[i].next(0)
		clock = clock.Add(time.Second)
	}
	fill(list[11], 1)
	fill(list[9], 2)
	if len(reasons) != 0 {
		t.Fatalf("%d tails ended although there was room: %v", len(reasons), reasons)
	}
	fill(list[10], 1)
	var why *errs.Error
	if err := reasons[5]; len(reasons) != 1 || !errors.As(err, &why) || why.Code != errs.RateLimited ||
		!strings.Contains(why.Msg, "too slow") {
		t.Fatalf("%d tails ended: %v", len(reasons), reasons)
	}
	if len(list[10].waiting) != 1 {
		t.Error("the entry for which there was room then was dropped")
	}
	fill(list[5], 1)
	if len(list[5].waiting) != 0 {
		t.Error("a tail that has ended takes entries")
	}
}

// TestMessagesAreSmall checks that much that waits is sent in several messages, with all entries and in their order.
func TestMessagesAreSmall(t *testing.T) {
	url, f, sockets := tailServer(t, usualTimes())
	conn, _, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	conn.SetReadLimit(4 << 20)
	s := <-sockets
	var list []*lines.Entry
	const n = 70
	for i := range n {
		list = append(list, &lines.Entry{Nanos: int64(i), Line: strings.Repeat("x", 100_000), Metadata: map[string]string{}})
	}
	waitUntil(t, "the tail is open", func() bool { return f.open.Load() == 1 })
	if err := s.queue.put(list); err != nil {
		t.Fatal(err)
	}
	next := 0
	for messages := 0; next < n; messages++ {
		_, text, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			Streams []struct{ Values [][2]string }
		}
		if err := json.Unmarshal(text, &m); err != nil || len(text) > maxMessageSize+200_000 {
			t.Fatalf("a message of %d bytes: %v", len(text), err)
		}
		for _, v := range m.Streams[0].Values {
			if v[0] != fmt.Sprint(next) {
				t.Fatalf("entry %s after %d", v[0], next-1)
			}
			next++
		}
	}
}

// TestTailRefusesEarly checks that a tail is refused before it reads anything if the client asks for no websocket, or
// if its regular expressions take much memory for as long as it is open.
func TestTailRefusesEarly(t *testing.T) {
	url, f, _ := tailServer(t, usualTimes())
	res, err := http.Get("http" + strings.TrimPrefix(url, "ws"))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	_, refused, err := websocket.Dial(t.Context(), url+"+%7C%7E+%22%28ab%7Cc%29%7B900%7D%22+%7C%7E+%22"+
		strings.Repeat("%5Cd%7B1000%7D", 25)+"%22", nil)
	if err == nil || refused == nil || refused.StatusCode != http.StatusBadRequest || res.StatusCode != 400 {
		t.Errorf("%v, %v; %d", err, refused, res.StatusCode)
	}
	if n := f.open.Load(); n != 0 {
		t.Errorf("%d tails", n)
	}
}

// TestClientThatTalks checks that a client that sends what no tail expects is disconnected.
func TestClientThatTalks(t *testing.T) {
	url, f, _ := tailServer(t, usualTimes())
	conn, _, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	var closed websocket.CloseError
	if _, _, err := conn.Read(t.Context()); !errors.As(err, &closed) || closed.Code != websocket.StatusPolicyViolation {
		t.Error(err)
	}
	waitUntil(t, "the tail has ended", func() bool { return f.open.Load() == 0 })
}
