package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpdoor"
)

// echoDoor is a door whose clients send lines, and which answers in capitals.
func (f *fixture) echoDoor() Door {
	routes := func(path string, settings httpdoor.Settings) []httpdoor.Route {
		d := f.door(ingest.Heroku, "echo_logs", ingest.IdentityPipeline).With(settings)
		store := func(w http.ResponseWriter, r *http.Request) {
			out, err := echo(d, r)
			switch {
			case err != nil:
				exchange.WriteError(w, r, err)
			case out.Skipped > 0:
				w.WriteHeader(http.StatusAccepted)
			default:
				w.WriteHeader(http.StatusNoContent)
			}
		}
		return []httpdoor.Route{
			{Methods: []string{"POST"}, Path: path, Needs: access.Insert, Handler: store},
			{Methods: []string{"GET"}, Path: path, Needs: access.Open, Handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }},
		}
	}
	return Door{
		Protocol: ingest.Heroku, Routes: routes("/v1/echo", httpdoor.Settings{}),
		Own: func(s httpdoor.Settings) []httpdoor.Route { return routes("/", s) },
		WriteError: func(w http.ResponseWriter, r *http.Request, err error) {
			e, status, ok := exchange.Refuse(w, r, err)
			if ok {
				http.Error(w, strings.ToUpper(exchange.Message(r, e)), status)
			}
		},
		Credentials: func(r *http.Request) {
			if user, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Echo "); ok {
				r.Header.Set("Authorization", user)
			}
		},
	}
}

// echo stores the lines of a body.
func echo(d *httpdoor.Door, r *http.Request) (*ingest.Outcome, error) {
	c, err := d.Begin(r)
	if err != nil {
		return nil, err
	}
	db, table := c.Database(""), c.Table("")
	b, err := c.Receive(db, table)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	batch := c.Batch(db, table, c.Pipeline(""), ingest.Records(func(to *ingest.Sink) error {
		for line := range strings.Lines(string(b.Data)) {
			if err := to.JSON([]byte(line)); err != nil {
				return err
			}
		}
		return nil
	}))
	batch.Key, batch.Bytes = c.Key("", b.Data), int64(len(b.Data))
	out := &c.Store(b, batch)[0]
	return out, out.Err
}

// newDoorFixture is a server with the door echo, whose users are those of byUser.
func newDoorFixture(t *testing.T) (f *fixture, user, own http.Handler) {
	t.Helper()
	f = newFixture(t, func(c *Config) { c.Auth = byUser{} })
	f.doors = []Door{f.echoDoor()}
	user, err := f.build(f.routes())
	if err != nil {
		t.Fatal(err)
	}
	own, err = f.DoorHandler(ingest.Heroku, httpdoor.Settings{Database: "shop", Table: "own"})
	if err != nil {
		t.Fatal(err)
	}
	return f, user, own
}

func sendTo(h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// A door has users, rights and limits before it, and answers all errors in its own words.
func TestDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, user, own := newDoorFixture(t)
		for _, c := range []struct {
			name        string
			handler     http.Handler
			target      string
			body        string
			headers     []string
			status      int
			text, table string
		}{
			{"no user", user, "/v1/echo", `{"a":1}`, nil, 401, "NOT FOUND HTTP", ""},
			{"no right", user, "/v1/echo", `{"a":1}`, []string{"Authorization", "ro"}, 403, "NOT AUTHORIZED", ""},
			{"credentials of its own", user, "/v1/echo?unknown=1", `{"a":1}`, []string{"Authorization", "Echo wo", "X-Svc-Unknown", "1"}, 204, "", "public.echo_logs"},
			{"the query string", user, "/v1/echo?db=shop&table=q", `{"a":1}`, []string{"Authorization", "rw"}, 204, "", "shop.q"},
			{"headers first", user, "/v1/echo?db=shop&table=q", `{"a":1}`, []string{"Authorization", "rw", "X-Svc-Db-Name", "public", "X-Svc-Log-Table-Name", "h"}, 204, "", "public.h"},
			{"a listener's settings", own, "/", `{"a":1}`, []string{"Authorization", "rw"}, 204, "", "shop.own"},
			{"before the settings", own, "/?table=q", `{"a":1}`, []string{"Authorization", "rw"}, 204, "", "shop.q"},
			{"a bad record", user, "/v1/echo", `{"a":1}` + "\n?", []string{"Authorization", "rw"}, 202, "", "public.echo_logs"},
			{"no bad record wanted", user, "/v1/echo", "?", []string{"Authorization", "rw", "X-Svc-Pipeline-Params", "skip_error=false"}, 400, "NO VALID JSON", ""},
			{"an unknown database", user, "/v1/echo?db=none", `{"a":1}`, []string{"Authorization", "rw"}, 400, "FAILED TO FIND DATABASE", ""},
			{"an unknown pipeline", user, "/v1/echo?pipeline_name=none", `{"a":1}`, []string{"Authorization", "rw"}, 400, "PIPELINE NOT FOUND", ""},
			{"busy shards", user, "/v1/echo?table=pressed", `{"a":1}`, []string{"Authorization", "rw"}, 503, "ARE BUSY", ""},
			{"an encoding", user, "/v1/echo", `{"a":1}`, []string{"Authorization", "rw", "Content-Encoding", "x"}, 415, "ENCODING", ""},
		} {
			f.writer.tables = nil
			w := sendTo(c.handler, "POST", c.target, c.body, c.headers...)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.text) || strings.Join(f.writer.tables, " ") != c.table {
				t.Errorf("%s: %d %s, tables %v", c.name, w.Code, w.Body, f.writer.tables)
			}
			if w.Code >= 400 && w.Header().Get("X-Svc-Err-Code") == "" || w.Code == 503 && w.Header().Get("Retry-After") == "" {
				t.Errorf("%s: headers %v", c.name, w.Header())
			}
			time.Sleep(2 * time.Second) // not held
		}
		if w := sendTo(user, "GET", "/v1/echo", ""); w.Code != 200 {
			t.Errorf("a question of everybody: %d", w.Code)
		}
		if w := sendTo(own, "POST", "/v1/echo", "{}", "Authorization", "rw"); w.Code != 404 {
			t.Errorf("another path on the door's own port: %d", w.Code)
		}
	})
}

// From the third refusal of a second on a sender waits for a second.
func TestRefusalsAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, user, _ := newDoorFixture(t)
		for i, want := range []time.Duration{0, 0, time.Second, 0, 0, time.Second} {
			begin := time.Now()
			if w := sendTo(user, "POST", "/v1/echo", "{}"); w.Code != 401 || time.Since(begin) != want {
				t.Errorf("refusal %d: %d after %s, want %s", i, w.Code, time.Since(begin), want)
			}
		}
	})
}

// The same body under the same key has the same key again; another body has another.
func TestDoorKeys(t *testing.T) {
	f, user, _ := newDoorFixture(t)
	var keys []string
	for _, c := range [][3]string{{"k", "", "{}"}, {"k", "", "{}"}, {"k", "", `{"a":1}`}, {"", "", "{}"}, {"", "body", "{}"}} {
		var headers []string
		for i, name := range []string{"Idempotency-Key", "X-Svc-Dedupe"} {
			if c[i] != "" {
				headers = append(headers, name, c[i])
			}
		}
		if w := sendTo(user, "POST", "/v1/echo", c[2], append(headers, "Authorization", "rw")...); w.Code != 204 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		keys = append(keys, f.writer.key.Text)
	}
	if keys[0] != keys[1] || keys[0] == keys[2] || keys[0] == "" || keys[3] != "" || keys[4] == "" || keys[4] == keys[0] {
		t.Errorf("keys %q", keys)
	}
	if w := f.call("GET", "/metrics", ""); !strings.Contains(w.Body.String(), `cordwood_ingest_repeated_bodies_total{protocol="heroku"} 3`) {
		t.Errorf("repeated bodies are not counted: %s", w.Body)
	}
}

// Errors of our own paths stay ours.
func TestDoorsLeaveOthersAlone(t *testing.T) {
	f, user, _ := newDoorFixture(t)
	w := sendTo(user, "POST", "/v1/ingest?table=t", "{}", "Authorization", "rw")
	checkError(t, w, 400, errs.InvalidArguments)
	if f.writer.calls != 0 {
		t.Error("something was stored")
	}
}
