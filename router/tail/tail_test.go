package tail

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/proto/errs"
	"cordwood/proto/rights"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// answer returns an Arrow IPC stream with the rows.
func answer(t testing.TB, rows ...string) []byte {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{{Name: "m", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendValues(rows, nil)
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(s))
	if err := w.Write(array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, int64(len(rows)))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// feed is the shard's side of a tail.
type feed struct {
	ctx     context.Context
	answers chan []byte
	end     error // the error after answers is closed
	now     *bytes.Reader
	err     error
	closed  chan struct{}
	once    sync.Once
}

func newFeed(ctx context.Context, stored []byte) *feed {
	return &feed{ctx: ctx, answers: make(chan []byte, 100), now: bytes.NewReader(stored), closed: make(chan struct{})}
}

func (f *feed) Read(p []byte) (int, error) { return f.now.Read(p) }
func (f *feed) Err() error                 { return f.err }
func (f *feed) Close()                     { f.once.Do(func() { close(f.closed) }) }

func (f *feed) Next() error {
	select {
	case data, ok := <-f.answers:
		if !ok {
			f.err = f.end
			return f.err
		}
		f.now = bytes.NewReader(data)
		return nil
	case <-f.ctx.Done():
		f.err = errs.Wrap(errs.Cancelled, f.ctx.Err(), "tail")
	case <-f.closed:
		f.err = errs.New(errs.Cancelled, "closed")
	}
	return f.err
}

// catalog has the tables public.t on two shards, public.quick with ttl instant, and
// svc_private.rejects.
type catalog struct{}

func (catalog) Database(name string) (*schemapb.Database, bool) {
	return &schemapb.Database{Name: name, Options: map[string]string{schema.OptionTTL: "7days"}}, name == "public"
}

func (catalog) Databases() []*schemapb.Database { return []*schemapb.Database{{Name: "public"}} }

func (catalog) Tables(database string) []*schema.Table {
	return []*schema.Table{{Database: database, Name: "access"}, {Database: database, Name: "orders"}}
}

func (catalog) Table(database, name string) (*schema.Table, bool) {
	t := &schema.Table{
		ID: 1, Database: database, Name: name, Version: 1, Placement: []schema.Placement{
			{Epoch: 1, ShardID: 3}, {Epoch: 2, ShardID: 4}, {Epoch: 3, ShardID: 3},
		},
		Columns: []schema.Column{{ID: 1, Name: "ts", Type: schema.TimestampMillisecond, Semantic: schema.Timestamp}},
	}
	if name == "quick" {
		t.Options = map[string]string{schema.OptionTTL: "instant"}
	}
	known := database == "public" && (name == "t" || name == "quick") ||
		database == schema.PrivateDatabase && name == "rejects"
	return t.Index(), known
}

func (c catalog) TableByID(uint64) (*schema.Table, bool) { return c.Table("public", "t") }

func (catalog) Changed() <-chan struct{} { return nil }

// renaming is a catalog in which public.t gets another name when renamed is closed. seen is closed when the session
// has noticed the change.
type renaming struct {
	catalog
	renamed, seen chan struct{}
	looks         int // accessed only by the session's own goroutine
}

func (c *renaming) TableByID(id uint64) (*schema.Table, bool) {
	t, ok := c.catalog.TableByID(id)
	if c.looks > 1 {
		t.Name = "better"
	}
	return t, ok
}

func (c *renaming) Changed() <-chan struct{} {
	switch c.looks++; c.looks {
	case 1, 2:
		return c.renamed
	case 3:
		close(c.seen)
	}
	return nil
}

// TestRenamed renames and then drops a table that is followed.
func TestRenamed(t *testing.T) {
	meta := &renaming{renamed: make(chan struct{}), seen: make(chan struct{})}
	r := newRig(t, func(c *Config) { c.Meta = meta })
	resp := r.get("table=t")
	a, _ := r.twoFeeds()
	close(meta.renamed)
	<-meta.seen
	in := bufio.NewReader(resp.Body)
	lines(t, in, 2)
	a.end = errs.New(errs.TableNotFound, "gone").WithReason(errs.TableGone)
	close(a.answers)
	rest, err := io.ReadAll(in)
	if err != nil || !strings.HasSuffix(string(rest),
		`{"error":"table public.better was dropped or truncated","code":4001}`+"\n") {
		t.Errorf("%s, %v", rest, err)
	}
}

// TestRenamedToHiddenName renames a table that is followed to a name on which the user has no right.
func TestRenamedToHiddenName(t *testing.T) {
	meta := &renaming{renamed: make(chan struct{}), seen: make(chan struct{})}
	r := newRig(t, func(c *Config) { c.Meta = meta })
	target := rights.Target{Kind: rights.Tables, Database: "public", Name: "t"}
	index := rights.NewIndex([]rights.Grant{{Target: target, Privileges: rights.Select}}, nil)
	caller := &access.Caller{Sender: access.Sender{User: "ann", Proof: "password", Grants: index}}
	r.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.h.ServeHTTP(w, req.WithContext(access.With(req.Context(), caller)))
	})
	resp := r.get("table=t")
	a, b := r.twoFeeds()
	close(meta.renamed)
	<-a.closed
	<-b.closed
	rest, err := io.ReadAll(resp.Body)
	if err != nil || !strings.HasSuffix(string(rest),
		`{"error":"table public.t was renamed, and its new name needs a right to read it","code":7005}`+"\n") {
		t.Errorf("%s, %v", rest, err)
	}
}

// rig is a handler with fake shards behind a real server.
type rig struct {
	t      *testing.T
	h      *Handler
	server *httptest.Server
	feeds  chan *feed
	reqs   chan *shardpb.TailRequest
}

func newRig(t *testing.T, change func(*Config)) *rig {
	r := &rig{t: t, feeds: make(chan *feed, 100), reqs: make(chan *shardpb.TailRequest, 100)}
	cfg := Config{
		Meta: catalog{}, Heartbeat: time.Hour, Now: func() time.Time { return time.UnixMilli(1_000_000) },
		Follow: func(ctx context.Context, req *shardpb.TailRequest) (Reader, error) {
			if req.Where == "bad" {
				return nil, errs.New(errs.ColumnNotFound, "no column bad")
			}
			f := newFeed(ctx, answer(t, fmt.Sprint("stored", req.ShardId)))
			r.reqs <- req
			r.feeds <- f
			return f, nil
		},
		Analyze: func(_ context.Context, req *shardpb.AnalyzeRequest) (*shardpb.AnalyzeResponse, error) {
			switch req.Sql {
			case statement.Alone("hidden"):
				return &shardpb.AnalyzeResponse{Tables: []*shardpb.TableName{{Database: "public", Name: "t"}}}, nil
			case statement.Alone("escapes"):
				return nil, errs.New(errs.InvalidSyntax, "syntax error (position 15)")
			}
			return &shardpb.AnalyzeResponse{}, nil
		},
		WriteError: func(w http.ResponseWriter, _ *http.Request, err error) {
			e := errs.From(err)
			w.WriteHeader(e.Status())
			fmt.Fprintf(w, "%d %s", e.Code, e.Msg)
		},
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if r.h, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		caller := &access.Caller{Sender: access.Everybody()}
		r.h.ServeHTTP(w, req.WithContext(access.With(req.Context(), caller)))
	}))
	t.Cleanup(func() { r.h.Close(); r.server.Close() })
	return r
}

// get starts a tail.
func (r *rig) get(query string, header ...string) *http.Response {
	r.t.Helper()
	req, err := http.NewRequest(http.MethodGet, r.server.URL+"?"+query, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// twoFeeds returns the feeds of the two shards of table t.
func (r *rig) twoFeeds() (a, b *feed) { return <-r.feeds, <-r.feeds }

func lines(t *testing.T, in *bufio.Reader, n int) []string {
	t.Helper()
	var out []string
	for range n {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("after %q: %v", out, err)
		}
		out = append(out, strings.TrimSuffix(line, "\n"))
	}
	return out
}

func TestNDJSON(t *testing.T) {
	r := newRig(t, nil)
	resp := r.get("table=t&where=" + url.QueryEscape("m = 'x'") + "&since=10s")
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || ct != "application/x-ndjson" {
		t.Fatalf("status %d, type %s", resp.StatusCode, ct)
	}
	a, b := r.twoFeeds()
	for range 2 {
		if req := <-r.reqs; req.Where != "m = 'x'" || req.GetSince() != 990_000 || req.TtlNanos != int64(7*24*time.Hour) ||
			req.Name.Name != "t" {
			t.Errorf("the shards received %v", req)
		}
	}
	in := bufio.NewReader(resp.Body)
	got := lines(t, in, 3)
	if s := strings.Join(got, "|"); s != `{"m":"stored3"}|{"m":"stored4"}|` && s != `{"m":"stored4"}|{"m":"stored3"}|` {
		t.Errorf("stored rows are %q, want those of both shards and then an empty line", got)
	}
	a.answers <- answer(t)
	a.answers <- answer(t, "one", "two")
	if s := strings.Join(lines(t, in, 2), "|"); s != `{"m":"one"}|{"m":"two"}` {
		t.Errorf("rows are %q", s)
	}
	b.end = errs.New(errs.TableNotFound, "shard 4: table id 1 was dropped").WithReason(errs.TableGone)
	close(b.answers)
	rest, err := io.ReadAll(in)
	if err != nil || string(rest) != `{"error":"table public.t was dropped or truncated","code":4001}`+"\n" {
		t.Errorf("the end is %q, %v", rest, err)
	}
	<-a.closed
	<-b.closed
}

// TestSearch checks that the search and the parameter where become one condition.
func TestSearch(t *testing.T) {
	for query, want := range map[string]string{
		"search=ts:*":                       "ts IS NOT NULL",
		"search=-ts:*&where=ts>1+--+or+not": "(ts IS NULL) AND (ts>1 -- or not\n)",
		"search=&where=ts>1":                "ts>1",
	} {
		r := newRig(t, nil)
		r.get("table=t&" + query)
		if req := <-r.reqs; req.Where != want {
			t.Errorf("%s: the shards received %q, want %q", query, req.Where, want)
		}
	}
}

func TestEvents(t *testing.T) {
	r := newRig(t, nil)
	resp := r.get("table=t", "Accept", "text/html, text/event-stream;q=0.9", "Accept-Encoding", "gzip")
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" || resp.Header.Get("Content-Encoding") != "" {
		t.Fatalf("type %s, encoding %q", ct, resp.Header.Get("Content-Encoding"))
	}
	in := bufio.NewReader(resp.Body)
	lines(t, in, 6) // the stored rows, and the comment after them
	a, _ := r.twoFeeds()
	a.answers <- answer(t, "one", "a\nb")
	if s := strings.Join(lines(t, in, 4), "|"); s != `data: {"m":"one"}||data: {"m":"a\nb"}|` {
		t.Errorf("events are %q", s)
	}
	r.h.Close()
	rest, err := io.ReadAll(in)
	if want := "event: error\ndata: " + `{"error":"the server is stopping; follow again in a moment","code":4008}` +
		"\n\n"; err != nil || string(rest) != want {
		t.Errorf("the end is %q, %v", rest, err)
	}
	if resp := r.get("table=t"); resp.StatusCode != 503 {
		t.Errorf("a closed handler answers %d", resp.StatusCode)
	}
}

// TestNearestNames checks that the error for a table that does not exist suggests the most similar name, as for
// queries.
func TestNearestNames(t *testing.T) {
	r := newRig(t, nil)
	for query, want := range map[string]string{
		"table=oders":         `public.oders does not exist; did you mean "orders"?`,
		"table=t&db=pubic":    `"pubic" does not exist; did you mean "public"?`,
		"table=nothing+alike": "does not exist",
	} {
		resp := r.get(query)
		body, err := io.ReadAll(resp.Body)
		if err != nil || !strings.Contains(strings.ReplaceAll(string(body), `\"`, `"`), want) {
			t.Errorf("%s: %s, %v, want %s", query, body, err, want)
		}
	}
}

func TestRefused(t *testing.T) {
	r := newRig(t, nil)
	for _, test := range []struct {
		query string
		want  errs.Code
	}{
		{"", errs.InvalidArguments},
		{"table=t&table=t", errs.InvalidArguments},
		{"table=nope", errs.TableNotFound},
		{"table=t&db=nope", errs.DatabaseNotFound},
		{"table=tables&db=information_schema", errs.Unsupported},
		{"table=quick", errs.InvalidArguments},
		{"table=t&since=soon", errs.InvalidArguments},
		{"table=t&since=-5s", errs.InvalidArguments},
		{"table=t&where=" + url.QueryEscape("a = 1; DROP TABLE t"), errs.InvalidSyntax},
		{"table=t&where=" + url.QueryEscape("a = 1) OR (1 = 1"), errs.InvalidSyntax},
		{"table=t&where=" + url.QueryEscape("(a = 1"), errs.InvalidSyntax},
		{"table=t&where=" + url.QueryEscape("m = 'x"), errs.InvalidSyntax},
		{"table=t&where=" + url.QueryEscape("a IN (SELECT 1)"), errs.Unsupported},
		{"table=t&where=hidden", errs.Unsupported},
		{"table=t&where=escapes", errs.InvalidSyntax},
		{"table=t&where=bad", errs.ColumnNotFound},
		{"table=t&search=%28a", errs.InvalidSyntax},
		{"table=t&search=nope:a", errs.ColumnNotFound},
		{"table=t&search=a&search=b", errs.InvalidArguments},
	} {
		resp := r.get(test.query)
		text, _ := io.ReadAll(resp.Body)
		if !strings.HasPrefix(string(text), fmt.Sprint(int(test.want), " ")) {
			t.Errorf("%s: answer is %d %s, want code %d", test.query, resp.StatusCode, text, test.want)
		}
	}
	if n := r.h.Open(); n != 0 {
		t.Errorf("%d tails are open", n)
	}
	if resp := r.get("table=rejects&db=svc_private"); resp.StatusCode != 200 {
		t.Errorf("svc_private.rejects: status %d", resp.StatusCode)
	}
}

// TestLostRight checks that, when a user may no longer read, the final event of the tail says why it ends.
func TestLostRight(t *testing.T) {
	for accept, want := range map[string]string{
		"":                  `{"error":"the user ann was removed","code":7002}` + "\n",
		"text/event-stream": "event: error\ndata: " + `{"error":"the user ann was removed","code":7002}` + "\n\n",
	} {
		r := newRig(t, nil)
		cancels := make(chan context.CancelCauseFunc, 1)
		inner := r.h
		r.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			ctx, cancel := context.WithCancelCause(access.With(req.Context(), &access.Caller{Sender: access.Everybody()}))
			cancels <- cancel
			inner.ServeHTTP(w, req.WithContext(ctx))
		})
		resp := r.get("table=t", "Accept", accept)
		a, b := r.twoFeeds()
		in := bufio.NewReader(resp.Body)
		lines(t, in, 1)
		(<-cancels)(errs.New(errs.UserPasswordMismatch, "the user ann was removed"))
		a.answers <- answer(t, "secret")
		rest, err := io.ReadAll(in)
		if err != nil || !strings.HasSuffix(string(rest), want) || strings.Contains(string(rest), "secret") {
			t.Errorf("the end is %q, %v", rest, err)
		}
		<-a.closed
		<-b.closed
	}
}

// TestTooManyOfOneUser checks that the limit for one user leaves tails for other users.
func TestTooManyOfOneUser(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxOpen = 4 })
	inner := r.h
	r.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		caller := &access.Caller{
			Sender: access.Sender{User: req.Header.Get("User"), Right: access.ReadOnly, Proof: "password"},
		}
		inner.ServeHTTP(w, req.WithContext(access.With(req.Context(), caller)))
	})
	for i, want := range []struct {
		user   string
		status int
	}{{"greedy", 200}, {"greedy", 200}, {"greedy", 429}, {"ann", 200}, {"ann", 200}, {"bob", 429}} {
		resp := r.get("table=t", "User", want.user)
		if resp.StatusCode != want.status {
			t.Fatalf("tail %d, of %s: %d", i+1, want.user, resp.StatusCode)
		}
		if want.user != "greedy" || want.status == 200 {
			continue
		}
		if text, _ := io.ReadAll(resp.Body); !strings.Contains(string(text), "6001 2 tails of this user are open") {
			t.Errorf("%s", text)
		}
	}
}

func TestTooMany(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxOpen = 1 })
	first := r.get("table=t")
	resp := r.get("table=t")
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != 429 ||
		!strings.HasPrefix(string(text), "6001 1 tail is open, and") {
		t.Errorf("the second is answered %d %s", resp.StatusCode, text)
	}
	a, b := r.twoFeeds()
	_ = first.Body.Close() // a client that disconnects frees its tail
	<-a.closed
	<-b.closed
	deadline := time.Now().Add(10 * time.Second)
	for r.h.Open() > 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if resp := r.get("table=t"); resp.StatusCode != 200 {
		t.Errorf("after the first left: status %d", resp.StatusCode)
	}
}

func TestHeartbeat(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Heartbeat = 2 * time.Millisecond })
	resp := r.get("table=t")
	lines(t, bufio.NewReader(resp.Body), 2+1+3) // the stored rows, the seam, and heartbeats
}

// TestTimeout checks that a tail with a limit of a tenth of a second ends without an error, even on a busy machine.
func TestTimeout(t *testing.T) {
	r := newRig(t, nil)
	resp := r.get("table=t", "x-svc-timeout", "100ms")
	rest, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 || strings.Contains(string(rest), "error") {
		t.Errorf("a tail whose time is up ends with %d %q, %v; want no error", resp.StatusCode, rest, err)
	}
}

// TestShardKeepsTheTime checks that, if the shard is the first to notice that the client's time limit has passed, the
// tail ends without an error. Without such a limit the end is an error.
func TestShardKeepsTheTime(t *testing.T) {
	for header, want := range map[string]string{"90ms": "", "1h": `"code":1008`, "": `"code":1008`} {
		r := newRig(t, nil)
		resp := r.get("table=t", "x-svc-timeout", header)
		a, _ := r.twoFeeds()
		a.end = errs.New(errs.DeadlineExceeded, "stream terminated by RST_STREAM")
		close(a.answers)
		rest, err := io.ReadAll(resp.Body)
		if err != nil || strings.Contains(string(rest), `"error"`) != (want != "") || !strings.Contains(string(rest), want) {
			t.Errorf("x-svc-timeout %q: %v: %s", header, err, rest)
		}
	}
}

// A client that does not read soon receives no more rows, and gets the error when it reads again.
func TestStalledReader(t *testing.T) {
	r := newRig(t, func(c *Config) { c.StallAfter = 20 * time.Millisecond })
	conn, err := net.Dial("tcp", r.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /?table=t HTTP/1.1\r\nHost: x\r\n\r\n")
	a, b := r.twoFeeds()
	big := answer(t, strings.Repeat("x", 1<<20))
	for sent := 0; ; sent++ {
		select {
		case a.answers <- big:
			if sent < 1000 {
				continue
			}
			t.Fatal("a client that does not read was sent 1,000 MB")
		case <-a.closed: // the shard is let go while the client still does not read
		}
		break
	}
	<-b.closed
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.TrimSpace(data)
	last := string(data[bytes.LastIndexByte(data, '\n')+1:])
	if !strings.Contains(last, `"code":6001`) || !strings.Contains(last, "too slow") {
		t.Errorf("the last line is %.200q", last)
	}
}

func TestShardLosesTheReader(t *testing.T) {
	r := newRig(t, nil)
	resp := r.get("table=t")
	a, _ := r.twoFeeds()
	a.end = errs.New(errs.RateLimited, "too slow")
	close(a.answers)
	data, err := io.ReadAll(resp.Body)
	if err != nil || !strings.HasSuffix(string(data), `{"error":"too slow","code":6001}`+"\n") {
		t.Errorf("answer is %q, %v", data, err)
	}
}

func TestBrokenAnswer(t *testing.T) {
	r := newRig(t, nil)
	resp := r.get("table=t")
	a, _ := r.twoFeeds()
	a.answers <- []byte("no arrow")
	data, _ := io.ReadAll(resp.Body)
	if !strings.Contains(string(data), `"code":1003`) || strings.Contains(string(data), "arrow") {
		t.Errorf("answer is %q, want a masked internal error", data)
	}
}

func TestConfig(t *testing.T) {
	if _, err := New(Config{}); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("an empty Config gives %v", err)
	}
}

// moving is a catalog in which public.t gets another shard when moved is closed.
type moving struct {
	catalog
	moved chan struct{}
}

func (c *moving) TableByID(id uint64) (*schema.Table, bool) {
	t, ok := c.catalog.TableByID(id)
	select {
	case <-c.moved:
		t.Placement = append(t.Placement, schema.Placement{Epoch: 4, ShardID: 9})
	default:
	}
	return t, ok
}

func (c *moving) Changed() <-chan struct{} {
	select {
	case <-c.moved:
		return nil
	default:
		return c.moved
	}
}

// TestMovedTable checks that a shard that takes over the table's writes is followed too, with all rows that it already
// has.
func TestMovedTable(t *testing.T) {
	meta := &moving{moved: make(chan struct{})}
	r := newRig(t, func(c *Config) { c.Meta = meta })
	resp := r.get("table=t")
	r.twoFeeds()
	for range 2 {
		if req := <-r.reqs; req.Since != nil {
			t.Errorf("the request asks for stored rows of shard %d", req.ShardId)
		}
	}
	in := bufio.NewReader(resp.Body)
	close(meta.moved)
	if req := <-r.reqs; req.ShardId != 9 || req.Since == nil || len(req.Table.Placement) != 4 {
		t.Errorf("followed %v", req)
	}
	got := strings.Join(lines(t, in, 4), "\n")
	if !strings.Contains(got, "stored9") {
		t.Errorf("got %s", got)
	}
}
