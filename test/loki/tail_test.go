package loki

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// message is a message of a tail.
type message struct {
	Streams []struct {
		Stream map[string]string `json:"stream"`
		Values [][]any           `json:"values"`
	} `json:"streams"`
}

// follow opens a tail.
func (s *server) follow(ctx context.Context, header http.Header, params ...string) (*websocket.Conn, *http.Response,
	error,
) {
	values := url.Values{}
	for i := 0; i < len(params); i += 2 {
		values.Add(params[i], params[i+1])
	}
	at := "ws" + strings.TrimPrefix(s.HTTP, "http") + "/v1/loki/api/v1/tail?" + values.Encode()
	return websocket.Dial(ctx, at, &websocket.DialOptions{HTTPHeader: header})
}

// linesOf reads n lines of a tail.
func linesOf(ctx context.Context, t *testing.T, conn *websocket.Conn, n int) []string {
	t.Helper()
	var out []string
	for len(out) < n {
		_, text, err := conn.Read(ctx)
		if err != nil {
			t.Fatalf("after %q: %v", out, err)
		}
		var m message
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, st := range m.Streams {
			for _, v := range st.Values {
				out = append(out, fmt.Sprintf("%s: %v", st.Stream["app"], v[1]))
				if len(v) > 2 {
					out[len(out)-1] += fmt.Sprintf(" %v", v[2])
				}
			}
		}
	}
	return out
}

// TestTail checks that a tail sends the newest stored entries first, and then new ones, after the pipeline.
func TestTail(t *testing.T) {
	t.Parallel()
	s := start(t)
	entry := func(line string) sent { return sent{line: line, labels: map[string]string{"app": "web"}} }
	s.push([]sent{entry("a=1 old"), entry("a=2 old"), entry("b=3 old"), entry("a=4 old")}, time.Second)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, _, err := s.follow(ctx, http.Header{"X-Loki-Response-Encoding-Flags": {"categorize-labels"}},
		"query", `{app="web"} |= "a=" | logfmt | line_format "{{.a}}"`, "limit", "2")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	want := "web: 2 map[parsed:map[a:2] structuredMetadata:map[detected_level:unknown]]|" +
		"web: 4 map[parsed:map[a:4] structuredMetadata:map[detected_level:unknown]]"
	if got := strings.Join(linesOf(ctx, t, conn, 2), "|"); got != want {
		t.Errorf("stored: %s\nwant    %s", got, want)
	}
	begin := time.Now()
	s.push([]sent{entry("b=5"), entry("a=6 ERROR")}, time.Millisecond)
	want = "web: 6 map[parsed:map[a:6] structuredMetadata:map[detected_level:error]]"
	if got := strings.Join(linesOf(ctx, t, conn, 1), "|"); got != want {
		t.Errorf("new: %s\nwant %s", got, want)
	}
	t.Logf("the line arrived %s after its push started", time.Since(begin))
	if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
}

// TestTailOfRows checks that a tail of a table without a message column sends rows as JSON.
func TestTailOfRows(t *testing.T) {
	t.Parallel()
	s := start(t)
	post := func(body string) {
		t.Helper()
		res, err := http.Post(s.HTTP+"/v1/ingest?table=rows&pipeline_name=svc_identity", "application/json",
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 200 {
			t.Fatal(res.StatusCode)
		}
	}
	post(`[{"n":1,"user":"ann","f":1.5,"ok":true}]`)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, _, err := s.follow(ctx, nil, "query", `{table="rows"} | n > 0`)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	stored := linesOf(ctx, t, conn, 1)
	post(`[{"n":1,"user":"ann","f":1.5,"ok":true}]`)
	if fresh := linesOf(ctx, t, conn, 1); fresh[0] != stored[0] || !strings.Contains(stored[0], `"n":1`) {
		t.Errorf("the line is %s when it is stored, and %s when it is new", stored[0], fresh[0])
	}
}

func TestTailRefusals(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.push([]sent{{line: "x", labels: map[string]string{"app": "web"}}}, time.Second)
	for query, want := range map[string]string{
		`rate({app="web"}[1m])`: "only a log query can be tailed",
		`{app="web"`:            "parse error",
		`{}`:                    "at least one regexp or equality matcher",
	} {
		status, body := s.get("tail", nil, "query", query)
		if status != 400 && status != 404 || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d %s, want %s", query, status, body, want)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, res, err := s.follow(ctx, nil, "query", `{table="none"}`); err == nil || res == nil || res.StatusCode != 400 ||
		res.Header.Get("X-Svc-Err-Code") != "4001" {
		t.Errorf("no table: %v %v", res, err)
	}
	if status, body := s.get("tail", nil, "query", `{app="web"}`); status != 400 || !strings.Contains(string(body),
		"websocket") {
		t.Errorf("without a websocket: %d %s", status, body)
	}
	if status, body := s.get("tail", nil, "query", `{app="web"}`, "delay_for", "9"); status != 400 {
		t.Errorf("delay_for=9: %d %s", status, body)
	}
}

// TestManyTails checks that a thousand tails at once are refused beyond the limit, that those that are open work, and
// that others can be opened when they are closed.
func TestManyTails(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.push([]sent{{line: "old", labels: map[string]string{"app": "web"}}}, time.Second)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var mu sync.Mutex
	var open []*websocket.Conn
	refused := map[int]int{}
	var wg sync.WaitGroup
	gate := make(chan struct{}, 100)
	for range 1000 {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			conn, res, err := s.follow(ctx, nil, "query", `{app="web"}`)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				open = append(open, conn)
			case res != nil:
				refused[res.StatusCode]++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	// A tail whose stored entries cannot be read in time gets 503. How many do depends on the load of the machine.
	n := len(open)
	if n == 0 || n > 64 || refused[http.StatusServiceUnavailable]+refused[http.StatusTooManyRequests] != 1000-n {
		t.Fatalf("%d tails are open, refused are %v", len(open), refused)
	}
	for _, conn := range open {
		linesOf(ctx, t, conn, 1)
	}
	s.push([]sent{{line: "new", labels: map[string]string{"app": "web"}}}, time.Second)
	for _, conn := range open {
		if got := linesOf(ctx, t, conn, 1); got[0] != "web: new" {
			t.Errorf("%q", got)
		}
		_ = conn.CloseNow() // the server notices
	}
	for {
		conn, res, err := s.follow(ctx, nil, "query", `{app="web"}`)
		if err == nil {
			_ = conn.CloseNow() // the server notices
			return
		}
		if res == nil || res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable {
			t.Fatal(err)
		}
	}
}
