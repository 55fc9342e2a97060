package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// again lists the kinds of requests that are retried after each failure: c changes something, r reads, k has a key.
// The table is independent of the client's table, so that a mistake in one is noticed.
var again = map[string]string{
	"no connection": "crk",
	"no answer":     "rk",
	"408":           "k", "408 partial": "k", "408 unknown": "k",
	"429": "crk", "429 partial": "rk", "429 unknown": "rk",
	"502": "rk", "502 partial": "rk", "502 unknown": "rk",
	"503": "crk", "503 partial": "rk", "503 unknown": "rk",
	"504": "rk", "504 partial": "rk", "504 unknown": "rk",
}

// requests returns a request of each kind.
func requests() map[string]Request {
	return map[string]Request{
		"c": {Method: http.MethodPost, Path: "/x", Body: []byte("b")},
		"r": {Method: http.MethodPost, Path: "/x", Body: []byte("b"), Reads: true},
		"k": {Method: http.MethodPost, Path: "/x", Body: []byte("b"), Header: http.Header{keyHeader: {"key"}}},
	}
}

// TestEveryFailure fails each kind of request once with every failure, and counts the attempts. All
// attempts must have the same key and body.
func TestEveryFailure(t *testing.T) {
	var name atomic.Value
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 1 {
			return
		}
		status, header, _ := strings.Cut(name.Load().(string), " ")
		switch header {
		case "partial":
			w.Header().Set("X-Ingest-Partial", "1/2")
		case "unknown":
			w.Header().Set("X-Svc-Outcome", "unknown")
		case "answer":
			panic(http.ErrAbortHandler)
		}
		code := 0
		_, _ = fmt.Sscan(status, &code)
		w.WriteHeader(code)
	}))
	defer s.Close()
	names := []string{"no answer"}
	for status := 400; status < 520; status++ {
		if status > 431 && status < 500 {
			continue // these combinations do not occur
		}
		names = append(names, fmt.Sprint(status), fmt.Sprint(status, " partial"), fmt.Sprint(status, " unknown"))
	}
	met := map[string]bool{"no connection": true} // see TestNoConnection
	for _, failure := range names {
		name.Store(failure)
		for letter, r := range requests() {
			asked.Store(0)
			c, err := New(Config{
				Servers:  []string{s.URL},
				Attempts: 3,
				Wait:     func(context.Context, time.Duration) error { return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.Do(t.Context(), r)
			if err == nil {
				resp.Body.Close()
			}
			want := int64(1)
			if strings.Contains(again[failure], letter) {
				want = 2
			}
			if asked.Load() != want || (err == nil) != (want == 2) {
				t.Errorf("%s, kind %s: sent %d times, want %d: %v", failure, letter, asked.Load(), want, err)
			}
			met[failure] = true
		}
	}
	for name := range again {
		if !met[name] {
			t.Errorf("%q was not tried", name)
		}
	}
	if len(rules) != len(again)-5 { // the headers share rows
		t.Errorf("the client has %d rules, this test knows %d", len(rules), len(again)-5)
	}
}

// TestNoConnection checks that a request of any kind goes to the next server at once if no connection
// can be made, and that later requests go there too.
func TestNoConnection(t *testing.T) {
	s, asked := scripted(t, answer{200, nil, ""})
	for letter, r := range requests() {
		*asked = nil
		var waits []time.Duration
		c := newClient(t, Config{Servers: []string{"127.0.0.1:1", "127.0.0.1:2", s.URL}}, &waits)
		for range 2 {
			resp, err := c.Do(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		if len(*asked) != 2 || len(waits) != 0 || c.Server() != s.URL {
			t.Errorf("kind %s: %d requests, waits %v, first server %s", letter, len(*asked), waits, c.Server())
		}
	}
}

// TestNextServer checks after which failures the next server is tried.
func TestNextServer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first answer
		kinds string // of the requests that the second server receives
		waits int
	}{
		{"502", answer{502, nil, ""}, "rk", 0},
		{"503", answer{503, map[string]string{"Retry-After": "3"}, ""}, "crk", 1},
		{"408", answer{408, nil, ""}, "k", 1},
		{"400", answer{400, nil, ""}, "", 0},
	} {
		for letter, r := range requests() {
			first, _ := scripted(t, tt.first)
			second, asked := scripted(t, answer{200, nil, ""})
			var waits []time.Duration
			resp, err := newClient(t, Config{Servers: []string{first.URL, second.URL}}, &waits).Do(t.Context(), r)
			if err == nil {
				resp.Body.Close()
			}
			if want := strings.Contains(tt.kinds, letter); (len(*asked) == 1) != want || want && len(waits) != tt.waits {
				t.Errorf("%s, kind %s: the second server had %d requests after %d waits", tt.name, letter, len(*asked), len(waits))
			}
		}
	}
}

// clock is a clock that advances only during waits.
type clock struct{ at time.Time }

func (c *clock) wait(_ context.Context, d time.Duration) error {
	c.at = c.at.Add(d)
	return nil
}

func timed(t *testing.T, clock *clock, cfg Config) *Client {
	t.Helper()
	clock.at = time.Unix(1_700_000_000, 0)
	cfg.Now, cfg.Wait = func() time.Time { return clock.at }, clock.wait
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestWithin checks that Request.Within limits all attempts together, even if the server requests
// longer waits.
func TestWithin(t *testing.T) {
	for _, after := range []string{"1", "4", "30", "600"} {
		s, asked := scripted(t, answer{503, map[string]string{"Retry-After": after}, `{"code":4008,"error":"no leader"}`})
		var k clock
		c := timed(t, &k, Config{Servers: []string{s.URL}})
		start := k.at
		_, err := c.Do(t.Context(), Request{
			Method: http.MethodPost, Path: "/x", Within: 30 * time.Second, Limit: 30 * time.Second,
			Header: http.Header{keyHeader: {"k"}},
		})
		if took := k.at.Sub(start); took >= 30*time.Second || after == "1" && took < 20*time.Second {
			t.Errorf("Retry-After %s: %d tries in %s, want them within 30 s", after, len(*asked), took)
		}
		if err == nil || !strings.Contains(err.Error(), "no leader") ||
			len(*asked) > 1 && !strings.Contains(err.Error(), "given up after") {
			t.Errorf("Retry-After %s: %v", after, err)
		}
		for i, r := range *asked {
			limit, err := time.ParseDuration(r.Header.Get("X-Svc-Timeout"))
			if i > 0 && (err != nil || limit <= 0 || limit >= 30*time.Second) {
				t.Errorf("try %d has the limit %q", i+1, r.Header.Get("X-Svc-Timeout"))
			}
		}
	}
}

// TestReadsAreRepeated checks that a read is retried until its time limit, and that its error contains
// the cause rather than the timeout.
func TestReadsAreRepeated(t *testing.T) {
	lost := answer{
		503,
		map[string]string{"Retry-After": "2", "X-Svc-Outcome": "unknown"},
		`{"code":5003,"error":"shard 2 has no leader"}`,
	}
	s, asked := scripted(t, lost, lost, lost, lost, answer{408, nil, `{"code":3005,"error":"its time was up"}`})
	var k clock
	c := timed(t, &k, Config{Servers: []string{s.URL}})
	_, err := c.Do(t.Context(), Request{
		Method: http.MethodPost, Path: "/x", Reads: true, Within: 20 * time.Second, Limit: 20 * time.Second,
	})
	if len(*asked) != 5 || err == nil || !strings.Contains(err.Error(), "shard 2 has no leader") ||
		!strings.Contains(err.Error(), "given up after 5 tries in ") {
		t.Errorf("%d tries: %v", len(*asked), err)
	}
}

// TestSlowFailures checks that attempts that fail slowly end within the time limit of the request,
// although only the server limits the first one.
func TestSlowFailures(t *testing.T) {
	var k clock
	var limits []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := r.Header.Get("X-Svc-Timeout")
		limits = append(limits, text)
		limit, err := time.ParseDuration(text)
		if err != nil {
			limit = time.Hour
		}
		k.at = k.at.Add(min(limit, 8*time.Second))
		w.Header().Set("Retry-After", "1")
		if limit < 8*time.Second {
			w.WriteHeader(http.StatusRequestTimeout)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"code":5003,"error":"shard 2 has no leader"}`)
	}))
	defer s.Close()
	c := timed(t, &k, Config{Servers: []string{s.URL}})
	start := k.at
	_, err := c.Do(t.Context(), Request{Method: http.MethodPost, Path: "/x", Reads: true, Within: 30 * time.Second})
	if took := k.at.Sub(start); took > 30*time.Second || err == nil || !strings.Contains(err.Error(), "no leader") {
		t.Errorf("%d tries took %s, want at most 30 s: %v", len(limits), took, err)
	}
	if len(limits) < 3 || limits[0] != "" || limits[1] == "" {
		t.Errorf("the tries had the limits %q, want none for the first one", limits)
	}
}

// TestLimitOfASilentServer checks that the wait for a server that never answers is limited.
func TestLimitOfASilentServer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	c, err := New(Config{Servers: []string{silent.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.send(t.Context(), Request{Method: http.MethodGet, Path: "/x"}, 0, time.Millisecond)
	if !errors.Is(err, context.DeadlineExceeded) || failureOf(err).status != noAnswer {
		t.Errorf("%v, want no answer in time", err)
	}
}

// TestForgottenKeys checks that a request that may have been executed is not retried once servers may
// have forgotten its key, and that any other request is.
func TestForgottenKeys(t *testing.T) {
	for _, tt := range []struct {
		first answer
		done  bool
	}{
		{answer{503, map[string]string{"X-Svc-Outcome": "unknown"}, ""}, true},
		{answer{503, nil, ""}, false},
	} {
		s, asked := scripted(t, tt.first, answer{503, nil, ""})
		var k clock
		c := timed(t, &k, Config{Servers: []string{s.URL}, Attempts: 1000})
		start := k.at
		_, err := c.Do(t.Context(), Request{Method: http.MethodPost, Path: "/x", Header: http.Header{keyHeader: {"k"}}})
		took := k.at.Sub(start)
		if tt.done != (took < 15*time.Minute) || MayBeDone(err) != tt.done || !tt.done && len(*asked) != 1000 {
			t.Errorf("first %v: given up after %s and %d tries; may be done: %v", tt.first, took, len(*asked), MayBeDone(err))
		}
	}
}

// TestMayBeDone checks for which errors a request may have been executed.
func TestMayBeDone(t *testing.T) {
	unknown := answer{503, map[string]string{"X-Svc-Outcome": "unknown"}, ""}
	for _, tt := range []struct {
		script []answer
		want   bool
	}{
		{[]answer{{400, nil, ""}}, false},
		{[]answer{{503, nil, ""}}, false},
		{[]answer{unknown}, true},
		{[]answer{unknown, {503, nil, ""}}, true},
		{[]answer{unknown, {422, nil, ""}}, true},
		{[]answer{{503, nil, ""}, {400, nil, ""}}, false},
	} {
		s, _ := scripted(t, tt.script...)
		var waits []time.Duration
		_, err := newClient(t, Config{Servers: []string{s.URL}, Attempts: 3}, &waits).Do(t.Context(), requests()["k"])
		if err == nil || MayBeDone(err) != tt.want {
			t.Errorf("%v: %v, may be done: %v, want %v", tt.script, err, MayBeDone(err), tt.want)
		}
	}
}
