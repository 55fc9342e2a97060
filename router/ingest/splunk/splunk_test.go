package splunk

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest/httpreceiver/receivertest"
	"cordwood/router/ingest/ingesttest"
)

func receiver(t testing.TB) (*Receiver, *ingesttest.Store) {
	t.Helper()
	d, st := receivertest.New(t)
	return New(d), st
}

// send sends a body to a handler; target is the path with its query.
func send(h http.HandlerFunc, target, body string, headers ...string) *httptest.ResponseRecorder {
	form := []string{"Content-Type", "application/x-www-form-urlencoded"} // as in splunk-logging
	return receivertest.Serve(h, Refuse, receivertest.Post(target, body, append(form, headers...)...))
}

func at(seconds, nanos int64) time.Time { return time.Unix(seconds, nanos).UTC() }

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		name, target, body string
		table              string
		want               []ingesttest.Row
	}{
		{
			"one after the other, with all keys", "/x",
			`{"time":1700000000.25,"host":"h","source":"s","sourcetype":"t","fields":{"env":"test","n":1},"event":{"a":1,` +
				`"b":{"c":"d"}}}
			 {"event":"text","time":"1700000001"}`, "public.splunk_logs",
			[]ingesttest.Row{
				{
					"svc_timestamp": at(1700000000, 250_000_000), "host": "h", "source": "s", "sourcetype": "t", "env": "test",
					"n": "1", "event.a": int64(1), "event.b.c": "d",
				},
				{"svc_timestamp": at(1700000001, 0), "event": "text"},
			},
		},
		{
			"arrays, milliseconds, other keys", "/x", `[{"event":1,"time":1700000000123,"more":true}][{"event":2,"time":-1.5}]`,
			"public.splunk_logs",
			[]ingesttest.Row{
				{"svc_timestamp": at(1700000000, 123_000_000), "event": int64(1), "more": true},
				{"svc_timestamp": at(-2, 500_000_000), "event": int64(2)},
			},
		},
		{
			"an index whose characters no table may have", "/x", `{"event":"e","index":"9 app/web","time":1}`,
			"public._9_app_web",
			[]ingesttest.Row{{"svc_timestamp": at(1, 0), "event": "e"}},
		},
		{
			"a parameter wins over the index", "/x?table=t&db=shop", `{"event":"e","index":"i","time":1}`, "shop.t",
			[]ingesttest.Row{{"svc_timestamp": at(1, 0), "event": "e"}},
		},
		{
			"numbers as host", "/x", `{"event":"e","host":7,"time":1}`, "public.splunk_logs",
			[]ingesttest.Row{{"svc_timestamp": at(1, 0), "event": "e", "host": "7"}},
		},
		{"no event time", "/x?event_time=off", `{"event":"e","time":1}`, "public.splunk_logs", nil},
	} {
		d, st := receiver(t)
		w := send(d.Event, c.target, c.body)
		if w.Code != 200 || w.Body.String() != "{\"text\":\"Success\",\"code\":0}\n" {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
		rows := st.Rows(c.table)
		if c.want == nil {
			if len(rows) != 1 || time.Since(rows[0]["svc_timestamp"].(time.Time)) > time.Minute {
				t.Errorf("%s: %v", c.name, rows)
			}
			continue
		}
		if diff := cmp.Diff(c.want, rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		for _, col := range st.Columns(c.table) {
			isTag := strings.Contains(" host source sourcetype env n ", " "+col.Name+" ")
			if (col.Semantic == schema.Tag) != isTag {
				t.Errorf("%s: column %s is %s", c.name, col.Name, col.Semantic)
			}
		}
	}
}

// An invalid event makes the whole request fail, and the answer has the number of the event.
func TestWrongEvents(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"no event", `{"event":1}{"time":1}`, `"code":12,"invalid-event-number":1`},
		{"null", `{"event":null}`, `"code":13,"invalid-event-number":0`},
		{"blank", `{"event":""}`, `"code":13`},
		{"an index that is no text", `{"event":1,"index":1}`, `"code":7,"invalid-event-number":0`},
		{"an empty index", `{"event":1,"index":""}`, `"code":7`},
		{"a wrong time", `{"event":1,"time":"noon"}`, `"code":6,"invalid-event-number":0`},
		{"a time in the year 10000", `{"event":1,"time":253402300800}`, `"code":6`},
		{"a broken text", `{"event":1}{"event":`, `"code":6,"invalid-event-number":1`},
		{"another value", `7`, `"code":6`},
		{"nothing", ` `, `"code":5`},
		{"an empty list", `[]`, `"code":5`},
		{"deep", `{"event":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, `"code":6`},
	} {
		d, st := receiver(t)
		w := send(d.Event, "/x", c.body)
		if w.Code != 400 || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
		if tables := st.Tables(); len(tables) > 0 {
			t.Errorf("%s: rows of %v", c.name, tables)
		}
	}
}

func TestPipelineBySourcetype(t *testing.T) {
	d, st := receiver(t)
	d.BySourcetype = true
	st.Put("p", "version: 2\nprocessors:\n  - vrl:\n      source: |\n        .up = upcase(string!(.event))\n        .\n")
	if w := send(d.Event, "/x", `{"event":"a","sourcetype":"p","time":1}{"event":"a","sourcetype":"q","time":1}`,
		"Idempotency-Key", "k"); w.Code != 200 { // which the batches for one table share
		t.Fatal(w.Body)
	}
	rows := st.Rows("public.splunk_logs")
	if len(rows) != 2 || (rows[0]["up"] == "A") == (rows[1]["up"] == "A") {
		t.Errorf("%v", rows)
	}
}

func TestRaw(t *testing.T) {
	for _, c := range []struct {
		target, body string
		want         []string
	}{
		{"/raw?host=h&sourcetype=t&time=5", "one\r\ntwo\n\nthree", []string{"one", "two", "three"}},
		{"/raw?linebreaker=|&time=5", "one|two\nlines|", []string{"one", "two\nlines"}},
		{"/raw?time=5", "bad \xff", []string{"bad \ufffd"}},
	} {
		d, st := receiver(t)
		if w := send(d.Raw, c.target, c.body); w.Code != 200 {
			t.Errorf("%s: %d %s", c.target, w.Code, w.Body)
		}
		var got []string
		for _, row := range st.Rows("public.splunk_logs") {
			got = append(got, row["message"].(string))
			if row["svc_timestamp"] != at(5, 0) || strings.Contains(c.target, "host=") &&
				(row["host"] != "h" || row["sourcetype"] != "t") {
				t.Errorf("%s: %v", c.target, row)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.target, diff)
		}
	}
	d, _ := receiver(t)
	if w := send(d.Raw, "/raw", " \n"); w.Code != 400 || !strings.Contains(w.Body.String(), `"code":5`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := send(d.Raw, "/raw?time=x", "a"); w.Code != 400 || !strings.Contains(w.Body.String(), `"code":6`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Refusals have the texts of the collector, and are never 429.
func TestRefusals(t *testing.T) {
	d, st := receiver(t)
	st.Press("public.splunk_logs", true)
	st.Refuse("public.other", errs.New(errs.RateLimited, "too much"))
	if w := send(d.Event, "/x?table=other", `{"event":1}`); w.Code != 503 ||
		!strings.Contains(w.Body.String(), `{"text":"Server is busy","code":9`) || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
	if w := send(d.Event, "/x?table=t&pipeline_name=nope", `{"event":1}`); w.Code != 400 ||
		!strings.Contains(w.Body.String(), `"code":6`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for scheme, want := range map[string]string{
		"Bearer x": `401 {"text":"Invalid authorization","code":3`,
		"Basic x":  `403 {"text":"Invalid token","code":4`, // the form that Splunk TOKEN was converted to
	} {
		r := httptest.NewRequest(http.MethodPost, "/x", nil)
		r.Header.Set("Authorization", scheme)
		w := httptest.NewRecorder()
		Refuse(w, r, &exchange.Refusal{Status: http.StatusUnauthorized, Code: errs.InvalidAuthHeader})
		if got := fmt.Sprint(w.Code, " ", w.Body); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", scheme, got)
		}
	}
	reader := ingesttest.Caller(access.ReadOnly)
	w := receivertest.ServeAs(reader, d.Event, Refuse,
		httptest.NewRequest(http.MethodPost, "/x?table=t", strings.NewReader(`{"event":1}`)))
	if w.Code != 403 || !strings.Contains(w.Body.String(), `"code":4`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Events that no table accepts are left out and kept. If none is left, the answer reports it.
func TestUnstorableEvents(t *testing.T) {
	d, st := receiver(t)
	st.Create("public", "t", schema.Column{
		Name: "svc_timestamp", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true,
	},
		schema.Column{Name: "event", Type: schema.Int64, Semantic: schema.Field})
	if w := send(d.Event, "/x?table=t", `{"event":1}{"event":"x"}`); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if len(st.Rows("public.t")) != 1 || len(st.Rows("svc_private.rejects")) != 1 {
		t.Errorf("%v %v", st.Rows("public.t"), st.Rows("svc_private.rejects"))
	}
	if w := send(d.Event, "/x?table=t", `{"event":"x"}`); w.Code != 400 || !strings.Contains(w.Body.String(), `"code":6`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestHealthAndAck(t *testing.T) {
	d, _ := receiver(t)
	if w := send(d.Health, "/health", ""); w.Code != 200 ||
		w.Body.String() != "{\"text\":\"HEC is healthy\",\"code\":17}\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	w := send(d.Event, "/x", `{"event":1}`, "X-Splunk-Request-Channel", "c")
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"ackId":`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := send(d.Ack, "/ack?channel=c", `{"acks":[3,4]}`); w.Code != 200 ||
		w.Body.String() != "{\"acks\":{\"3\":true,\"4\":true}}\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := send(d.Ack, "/ack", `{"acks":[3]}`); w.Code != 400 || !strings.Contains(w.Body.String(), `"code":10`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := send(d.Ack, "/ack?channel=c", `x`); w.Code != 400 || !strings.Contains(w.Body.String(), `"code":6`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestCredentials(t *testing.T) {
	for _, c := range []struct{ header, target, want string }{
		{"Splunk ann:secret", "/x", "ann:secret"},
		{"splunk YW5uOnNlY3JldA==", "/x", "ann:secret"},
		{"Basic YW5uOnNlY3JldA==", "/x", ""},
		{"", "/x?token=ann:secret", "ann:secret in URL"},
		{"Splunk a:b", "/x?token=c:d", "a:b c:d in URL"},
		{"Splunk cw_x", "/x", "cw_x"},
		{"Splunk 0000-1111", "/x", "0000-1111"},
		{"", "/x", ""},
	} {
		r := httptest.NewRequest(http.MethodPost, c.target, nil)
		r.Header.Set("Authorization", c.header)
		if got := receivertest.Credentials(Credentials(r)); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add(`{"event":{"a":1},"time":1.5,"index":"i","fields":{"k":"v"},"host":"h"}[{"event":2}]`)
	f.Fuzz(func(t *testing.T, body string) {
		d, _ := receiver(t)
		if w := send(d.Event, "/x", body); w.Code != 200 && w.Code != 400 && w.Code != 413 {
			t.Errorf("answer %d %s", w.Code, w.Body)
		}
	})
}

// TestSeveralIndexes checks that the client must resend all events if some of them may be stored later, whatever other
// errors there are. For an index that the sender may not write to, the status is 403.
func TestSeveralIndexes(t *testing.T) {
	d, st := receiver(t)
	st.Refuse("public.secret", errs.New(errs.PermissionDenied, "not yours"))
	st.Refuse("public.full", errs.New(errs.RateLimited, "too much"))
	for body, want := range map[string]string{
		`{"index":"secret","event":1}{"index":"full","event":2}`: `503 {"text":"Server is busy","code":9`,
		`{"index":"full","event":2}{"index":"secret","event":1}`: `503 {"text":"Server is busy","code":9`,
		`{"index":"secret","event":1}{"index":"fine","event":2}`: `403 {"text":"Incorrect index","code":7`,
	} {
		w := send(d.Event, "/x", body)
		if got := strconv.Itoa(w.Code) + " " + w.Body.String(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// If the events would create too many new indexes, the request is refused as a whole, with the number of the
// first event beyond the limit.
func TestNewIndexesAreBounded(t *testing.T) {
	d, st := receiver(t)
	var body strings.Builder
	for i := range 101 {
		body.WriteString(`{"event":"e"}{"event":"e","index":"new` + strconv.Itoa(i) + `"}`)
	}
	w := send(d.Event, "/x", body.String())
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "100 new tables") ||
		!strings.Contains(w.Body.String(), `"invalid-event-number":199`) || len(st.Tables()) != 0 {
		t.Errorf("%d %s, %d tables", w.Code, w.Body, len(st.Tables()))
	}
}

// TestBusyIndexKeepsOthersWaiting checks that nothing of a request is stored if the table of one index is busy, because
// the client resends all events.
func TestBusyIndexKeepsOthersWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, st := receiver(t)
		body := `{"index":"a","event":1}{"index":"b","event":2}`
		st.Press("public.b", true)
		w := send(d.Event, "/x", body)
		if w.Code != 503 || !strings.Contains(w.Body.String(), `"code":9`) || len(st.Tables()) != 0 {
			t.Errorf("%d %s, rows of %v", w.Code, w.Body, st.Tables())
		}
		st.Press("public.b", false)
		if w := send(d.Event, "/x", body); w.Code != 200 || len(st.Rows("public.a")) != 1 || len(st.Rows("public.b")) != 1 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// TestEventsWithTimesComeAgain sends a whole request again after one table has refused its events. Events with their
// own times must be stored once, unless the request disables that.
func TestEventsWithTimesComeAgain(t *testing.T) {
	for _, c := range []struct {
		body, dedupe string
		rows         int
	}{
		{`{"index":"a","event":1,"time":1}{"index":"b","event":2,"time":2}`, "", 1},
		{`{"index":"a","event":1,"time":1}{"index":"b","event":2,"time":2}`, "off", 2},
		{`{"index":"a","event":1,"time":1}{"index":"b","event":2}`, "", 2},
	} {
		d, st := receiver(t)
		st.Refuse("public.b", errs.New(errs.RateLimited, "too much"))
		if w := send(d.Event, "/x", c.body, "X-Svc-Dedupe", c.dedupe); w.Code != 503 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		st.Refuse("public.b", nil)
		w := send(d.Event, "/x", c.body, "X-Svc-Dedupe", c.dedupe)
		if w.Code != 200 || len(st.Rows("public.a")) != c.rows || len(st.Rows("public.b")) != 1 {
			t.Errorf("%+v: %d, %d and %d rows", c, w.Code, len(st.Rows("public.a")), len(st.Rows("public.b")))
		}
	}
}

// TestRawIsRepaired checks that the answer reports raw text that is not valid UTF-8.
func TestRawIsRepaired(t *testing.T) {
	d, st := receiver(t)
	w := send(d.Raw, "/raw", "a \xff line")
	if warnings := w.Header().Get("X-Svc-Warnings"); w.Code != 200 || !strings.Contains(warnings, "U+FFFD") {
		t.Errorf("%d %q", w.Code, warnings)
	}
	if rows := st.Rows("public.splunk_logs"); len(rows) != 1 || rows[0]["message"] != "a \uFFFD line" {
		t.Errorf("%v", rows)
	}
}

// TestTypeConflictOfListener checks that the listener's on_type_conflict applies to values of another type, unless the
// request sets its own.
func TestTypeConflictOfListener(t *testing.T) {
	for hint, want := range map[string]string{"": "aside", "on_type_conflict=cast": "cast", "ttl=7d": "aside"} {
		base, st := receivertest.New(t)
		base.Options = map[string]string{"on_type_conflict": "aside"}
		r := httptest.NewRequest(http.MethodPost, "/x", strings.NewReader(`{"event":{"n":1}}{"event":{"n":"x"}}`))
		r.Header.Set("X-Svc-Hints", hint)
		w := receivertest.Serve(New(base).Event, Refuse, r)
		if got := st.Options("public.splunk_logs")["on_type_conflict"]; w.Code != 200 || got != want ||
			len(st.Rows("public.splunk_logs")) != 2 {
			t.Errorf("%s: %d, the table has %q, want %q; %v", hint, w.Code, got, want, st.Rows("public.splunk_logs"))
		}
	}
}

// TestAckIDs checks that requests at the same moment have different ids.
func TestAckIDs(t *testing.T) {
	d, _ := receiver(t)
	now := time.Now()
	seen := map[int64]bool{}
	for range 100 {
		seen[d.nextAck(now)] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d ids for 100 requests", len(seen))
	}
}

// TestRepeatedHost checks that a short body cannot become any number of bytes because its lines repeat the parameters.
func TestRepeatedHost(t *testing.T) {
	d, st := receiver(t)
	w := send(d.Raw, "/raw?host="+strings.Repeat("h", 16<<20), strings.Repeat("x\n", 70))
	if w.Code != 413 || len(st.Tables()) > 0 {
		t.Errorf("%d %.300s, tables %v", w.Code, w.Body, st.Tables())
	}
}
