package syslog

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/router/ingest/httpreceiver/receivertest"
	"cordwood/router/ingest/ingesttest"
)

func drain(t testing.TB) (*Drain, *ingesttest.Store) {
	t.Helper()
	d, st := receivertest.New(t)
	return NewDrain(d), st
}

// frame puts its length before each message, as logplex does.
func frame(messages ...string) string {
	var out strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&out, "%d %s", len(m), m)
	}
	return out.String()
}

// pour sends messages as logplex does; headers are further pairs of name and value.
func pour(d *Drain, target, body string, headers ...string) *httptest.ResponseRecorder {
	return receivertest.Serve(d.Take, RefuseDrain, receivertest.Post(target, body, append([]string{
		"Content-Type", "application/logplex-1", "Logplex-Msg-Count", "2", "User-Agent", "Logplex/v72",
		headerToken, "d.fc6b856b-3332-4546-93de-7d0ee272c3bd", headerFrame, "09C557EAFCFB6CF2740EE62F62971098",
	}, headers...)...))
}

const (
	dyno   = "<40>1 2024-07-04T08:30:58.123456+00:00 host heroku web.3 - State changed from starting to up\n"
	app    = "<190>1 2024-07-04T08:30:59+00:00 host app web.1 - [a=\"1\"] - {\"path\":\"/é\"}\n"
	modern = `<34>1 2024-07-04T08:31:00Z web su 7 ID [x@1 k="v"] done`
)

func heroku() []ingesttest.Row {
	const token = "d.fc6b856b-3332-4546-93de-7d0ee272c3bd"
	return []ingesttest.Row{
		{
			"svc_timestamp": at("2024-07-04T08:30:58.123456Z"), "hostname": "host", "appname": "heroku", "procid": "web.3",
			"facility": "syslog", "severity": "emerg", "priority": int64(40), "source": token,
			"message": "State changed from starting to up",
		},
		{
			"svc_timestamp": at("2024-07-04T08:30:59Z"), "hostname": "host", "appname": "app", "procid": "web.1",
			"facility": "local7", "severity": "info", "priority": int64(190), "source": token,
			"message": `[a="1"] - {"path":"/é"}`,
		},
	}
}

// TestDrain checks that Heroku's messages become rows like other syslog messages, and that each frame is stored once.
func TestDrain(t *testing.T) {
	d, st := drain(t)
	for range 3 {
		if w := pour(d, "/v1/heroku", frame(dyno, app)); w.Code != http.StatusNoContent || w.Body.Len() > 0 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if diff := cmp.Diff(heroku(), st.Rows("public.syslog")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if w := pour(d, "/v1/heroku", frame(app)); w.Code != 204 || len(st.Rows("public.syslog")) != 3 {
		t.Errorf("other messages of that frame: %d, %d rows", w.Code, len(st.Rows("public.syslog")))
	}
	if w := pour(d, "/v1/heroku?table=app&db=shop", frame(app), headerFrame, ""); w.Code != 204 ||
		len(st.Rows("shop.app")) != 1 {
		t.Errorf("%d %v", w.Code, st.Tables())
	}
}

// TestDrainForms checks that bodies that are not from Heroku are read like other syslog messages, and that no message
// is refused because of its format.
func TestDrainForms(t *testing.T) {
	for _, c := range []struct {
		name, body, contentType string
		messages                []string
	}{
		{"a standard message", modern, "text/plain", []string{"done"}},
		{"lines", modern + "\n\n" + modern + "\r\n", "", []string{"done", "done"}},
		{"nothing", "", typeLogplex, nil},
		{"line ends", "\n\r\n\x00", typeLogplex, nil},
		{"no syslog", "hello", typeLogplex, []string{"hello"}},
		{"a wrong length", "9999 " + dyno, typeLogplex, []string{"State changed from starting to up"}},
		{"a short length", "20 " + dyno, typeLogplex, []string{"1 2024-07-04T08:", "30:58.123456+00:00 host heroku web.3 - " +
			"State changed from starting to up"}},
		{
			"half a header", frame("<40>1 2024-07-04T08:30:58Z host heroku"), typeLogplex,
			[]string{"1 2024-07-04T08:30:58Z host heroku"},
		},
		{"not UTF-8", frame("<40>1 2024-07-04T08:30:58Z h a p - x\xffy"), typeLogplex, []string{"x\uFFFDy"}},
		{
			"years that cannot be stored",
			frame("<40>1 0001-01-01T00:00:00Z h a p - x", "<40>1 9999-12-31T23:59:59Z h a p - y"), typeLogplex,
			[]string{"x", "y"},
		},
		{
			"a long message", frame("<40>1 - h a p - " + strings.Repeat("x", 2*MaxBytes)), typeLogplex,
			[]string{strings.Repeat("x", 2*MaxBytes)},
		},
	} {
		d, st := drain(t)
		w := pour(d, "/v1/heroku", c.body, "Content-Type", c.contentType)
		if w.Code != http.StatusNoContent {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
		var got []string
		for _, row := range st.Rows("public.syslog") {
			got = append(got, row["message"].(string))
		}
		if diff := cmp.Diff(c.messages, got); diff != "" {
			t.Errorf("%s: messages (-want +got):\n%.500s", c.name, diff)
		}
	}
}

func TestDrainPipeline(t *testing.T) {
	d, st := drain(t)
	st.Put("p", "version: 2\nprocessors: [{vrl: {source: '. = {\"m\": .message, \"r\": .raw, \"p\": .procid}'}}]\n")
	if w := pour(d, "/v1/heroku?pipeline_name=p", frame(dyno)); w.Code != 204 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	want := []ingesttest.Row{{
		"svc_timestamp": at("2024-07-04T08:30:58.123456Z"), "m": "State changed from starting to up", "r": dyno, "p": "web.3",
	}}
	if diff := cmp.Diff(want, st.Rows("public.syslog")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// TestDrainRefusals checks that quotas are answered with 503, like all temporary errors, because logplex drops messages
// that are answered with 4xx.
func TestDrainRefusals(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
	}{
		{errs.New(errs.RateLimited, "too much"), 503},
		{errs.New(errs.StorageUnavailable, "busy"), 503},
		{errs.New(errs.PermissionDenied, "not yours"), 403},
		{errs.New(errs.InvalidArguments, "wrong"), 400},
	} {
		d, st := drain(t)
		st.Refuse("public.syslog", c.err)
		if w := pour(d, "/v1/heroku", frame(dyno)); w.Code != c.status || w.Body.Len() < 4 ||
			(w.Header().Get("Retry-After") != "") != (c.status == 503) {
			t.Errorf("%v: %d %s", c.err, w.Code, w.Body)
		}
	}
	d, st := drain(t)
	if w := pour(d, "/v1/heroku", strings.Repeat("x", receivertest.MaxBytes+1)); w.Code != 413 || len(st.Tables()) > 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := pour(d, "/v1/heroku", strings.Repeat("x\n", receivertest.MaxBytes/2)); w.Code != 413 || len(st.Tables()) > 0 {
		t.Errorf("%d %s: the messages exceed the memory", w.Code, w.Body)
	}
}

// FuzzDrain checks that every body is accepted, and that none of its text is lost.
func FuzzDrain(f *testing.F) {
	f.Add(frame(dyno, app), true)
	f.Add("20 "+dyno+modern, false)
	f.Add("3 <1>\n<40>1 - - - - - ", true)
	f.Fuzz(func(t *testing.T, body string, logplex bool) {
		d, st := drain(t)
		contentType := "text/plain"
		if logplex {
			contentType = typeLogplex
		}
		w := pour(d, "/v1/heroku", body, "Content-Type", contentType)
		if w.Code != 204 && w.Code != 413 {
			t.Errorf("answer %d %s", w.Code, w.Body)
		}
		rows := st.Rows("public.syslog")
		if w.Code == 204 && len(rows) == 0 && strings.Trim(body, "\r\n\x00") != "" && !strings.ContainsAny(body, " ") {
			t.Errorf("%q makes no row", body)
		}
	})
}

// BenchmarkDrain takes bodies as logplex sends them. records/cpu-s counts all processor time of the process.
func BenchmarkDrain(b *testing.B) {
	messages := make([]string, 1000)
	for i := range messages {
		messages[i] = fmt.Sprintf("<190>1 2024-07-04T08:30:%02d.%06d+00:00 host app web.%d - GET /api/v1/orders/%d 200 5316 "+
			"\"curl/8.5.0\" 203.0.113.7", i%60, i, i%8, i)
	}
	body := frame(messages...)
	d, _ := drain(b)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	start := ingesttest.CPU(b)
	for b.Loop() {
		if w := pour(d, "/v1/heroku", body); w.Code != http.StatusNoContent {
			b.Fatal(w.Code, w.Body)
		}
	}
	b.ReportMetric(float64(b.N)*float64(len(messages))/(ingesttest.CPU(b)-start).Seconds(), "records/cpu-s")
}
