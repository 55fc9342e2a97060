package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// answer is an answer of a scripted server.
type answer struct {
	status int
	header map[string]string
	body   string
}

// scripted starts a server that gives the scripted answers in order and repeats the last one. It
// records the requests.
func scripted(t *testing.T, script ...answer) (*httptest.Server, *[]*http.Request) {
	t.Helper()
	var asked []*http.Request
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		a := script[min(len(asked), len(script)-1)]
		asked = append(asked, r)
		for k, v := range a.header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	}))
	t.Cleanup(s.Close)
	return s, &asked
}

func newClient(t *testing.T, cfg Config, waits *[]time.Duration) *Client {
	t.Helper()
	cfg.Wait = func(_ context.Context, d time.Duration) error {
		*waits = append(*waits, d)
		return nil
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDoSendsWhatItIsGiven(t *testing.T) {
	s, asked := scripted(t, answer{200, nil, "fine"})
	var waits []time.Duration
	c := newClient(t, Config{Servers: []string{s.URL + "/"}, User: "ann:p:w", UserAgent: "cordwood/test"}, &waits)
	resp, err := c.Do(context.Background(), Request{
		Method: http.MethodPost, Path: "/v1/ingest", Query: url.Values{"a": {"x y"}},
		Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte("hello"),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	r := (*asked)[0]
	sent, _ := io.ReadAll(r.Body)
	user, password, _ := r.BasicAuth()
	got := []string{
		r.Method, r.URL.String(), r.Header.Get("Content-Type"), r.UserAgent(), user, password, string(sent),
		string(body),
	}
	want := []string{"POST", "/v1/ingest?a=x+y", "text/plain", "cordwood/test", "ann", "p:w", "hello", "fine"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDoRetries(t *testing.T) {
	busy := answer{503, map[string]string{"Retry-After": "7"}, `{"code":4009,"error":"busy"}`}
	limited := answer{429, nil, `{"code":6001,"error":"slow down"}`}
	for _, tt := range []struct {
		name   string
		script []answer
		sent   int
		err    string
	}{
		{"busy, then fine", []answer{busy, limited, {200, nil, ""}}, 3, ""},
		{"busy for ever", []answer{busy}, 4, "busy (server answered 503, code 4009)"},
		{
			"other errors are final",
			[]answer{{400, nil, `{"code":1004,"error":"no"}`}},
			1,
			"no (server answered 400, code 1004)",
		},
		{"internal errors are final", []answer{{500, nil, ""}}, 1, "Internal Server Error (server answered 500)"},
		{
			"a part was stored",
			[]answer{{503, map[string]string{"X-Ingest-Partial": "1/2"}, `{"code":5003,"error":"lost"}`}},
			1,
			"lost (server answered 503, code 5003); 1/2 of its parts were stored",
		},
		{
			"unauthorized",
			[]answer{{401, nil, `{"code":7003,"error":"who?"}`}},
			1,
			"no user or token was sent (server answered 401, code 7003); give --user NAME:PASSWORD or --token TOKEN, " +
				"or set CORDWOOD_USER or CORDWOOD_TOKEN",
		},
		{
			"plain text",
			[]answer{{404, map[string]string{"x-svc-err-code": "7"}, " page not found\n"}},
			1,
			"page not found (server answered 404, code 7)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, asked := scripted(t, tt.script...)
			var waits []time.Duration
			reported := 0
			c := newClient(t, Config{
				Servers:  []string{s.URL},
				Attempts: 4,
				OnRetry:  func(error, time.Duration) { reported++ },
			}, &waits)
			resp, err := c.Do(context.Background(), Request{Method: http.MethodPost, Path: "/x", Body: []byte("abc")})
			if err == nil {
				resp.Body.Close()
			}
			if got := fmt.Sprint(err); err != nil && got != tt.err || err == nil && tt.err != "" {
				t.Errorf("got %v", err)
			}
			if len(*asked) != tt.sent || len(waits) != tt.sent-1 || reported != len(waits) {
				t.Errorf("%d requests, %d waits, %d reported", len(*asked), len(waits), reported)
			}
			for i, r := range *asked {
				if body, _ := io.ReadAll(r.Body); string(body) != "abc" {
					t.Errorf("request %d carries %q", i, body)
				}
			}
			if len(waits) > 0 && tt.script[0].status == 503 && (waits[0] < 7*time.Second || waits[0] > maxWait) {
				t.Errorf("waited %v although the server asked for 7 s", waits[0])
			}
		})
	}
}

// TestDoRetriesWhatHasAKey checks that a request that may have been executed is retried only if it has
// an idempotency key.
func TestDoRetriesWhatHasAKey(t *testing.T) {
	for _, first := range []answer{
		{503, map[string]string{"X-Ingest-Partial": "1/2"}, `{"code":5003,"error":"lost"}`},
		{
			503,
			map[string]string{"X-Svc-Outcome": "unknown", "Retry-After": "1"},
			`{"code":5003,"error":"the outcome is unknown: lost"}`,
		},
		{408, nil, `{"code":3001,"error":"late"}`},
		{504, nil, "the balancer saw no answer"},
	} {
		for key, sent := range map[string]int{"": 1, "k1": 2} {
			s, asked := scripted(t, first, answer{200, nil, ""})
			var waits []time.Duration
			r := Request{Method: http.MethodPost, Path: "/x", Header: http.Header{}}
			if key != "" {
				r.Header.Set("Idempotency-Key", key)
			}
			resp, err := newClient(t, Config{Servers: []string{s.URL}}, &waits).Do(context.Background(), r)
			if err == nil {
				resp.Body.Close()
			}
			if len(*asked) != sent || (err == nil) != (sent == 2) {
				t.Errorf("%d with the key %q: %d requests, %v", first.status, key, len(*asked), err)
			}
			for _, r := range *asked {
				if got := r.Header.Get("Idempotency-Key"); got != key {
					t.Errorf("the key %q went as %q", key, got)
				}
			}
		}
	}
}

// TestDoForever checks that Config.Forever waits for a server for any time.
func TestDoForever(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	waits := 0
	c, err := New(Config{
		Servers: []string{s.URL}, Forever: true, Attempts: 2,
		Wait: func(context.Context, time.Duration) error {
			if waits++; waits == 50 {
				return context.Canceled
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(context.Background(), Request{Method: http.MethodGet, Path: "/"}); err == nil || waits != 50 {
		t.Errorf("%d waits, %v", waits, err)
	}
}

func TestDoWithoutServer(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	var waits []time.Duration
	c := newClient(t, Config{Servers: []string{s.URL}, Attempts: 3}, &waits)
	_, err := c.Do(context.Background(), Request{Method: http.MethodGet, Path: "/"})
	if err == nil || !strings.HasPrefix(err.Error(), "no server at http://127.0.0.1") || len(waits) != 2 {
		t.Errorf("%d waits, %v", len(waits), err)
	}
}

func TestDoStopsWithItsContext(t *testing.T) {
	s, asked := scripted(t, answer{503, nil, ""})
	ctx, cancel := context.WithCancel(context.Background())
	c, err := New(Config{Servers: []string{s.URL}, OnRetry: func(error, time.Duration) { cancel() }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Do(ctx, Request{Method: http.MethodGet, Path: "/"})
	if e := (*Error)(nil); !errors.As(err, &e) || len(*asked) != 1 {
		t.Errorf("%d requests, %v", len(*asked), err)
	}
}

func TestNew(t *testing.T) {
	for server, want := range map[string]string{
		"http://h:1":        "http://h:1",
		"h:4000":            "http://h:4000",
		"https://h/base/":   "https://h/base",
		"http://u:p@h":      "http://h",
		"":                  "",
		"ftp://h":           "",
		"http://":           "",
		"http://h:notaport": "",
	} {
		c, err := New(Config{Servers: []string{server}})
		if want == "" {
			if err == nil {
				t.Errorf("%q is accepted", server)
			}
			continue
		}
		if err != nil || c.Server() != want {
			t.Errorf("%q: %v, %v", server, c, err)
		}
	}
	for _, user := range []string{"ann", ":x", "ann:"} {
		if _, err := New(Config{Servers: []string{"h"}, User: user}); err == nil {
			t.Errorf("user %q is accepted", user)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "-3": 0, "99999999999999": maxWait, "x": 0,
		"Mon, 01 Jan 2024 00:00:05 GMT": 5 * time.Second,
		"Mon, 01 Jan 2023 00:00:05 GMT": 0,
	} {
		if got := retryAfter(v, now); got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
}
