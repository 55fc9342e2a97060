package gelf

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/ingest/httpreceiver/receivertest"
	"cordwood/router/ingest/ingesttest"
	"cordwood/router/ingest/sockreceiver"
	"cordwood/router/ingest/sockreceiver/socktest"
	"cordwood/router/vrl/value"
)

// server returns a server on a store in memory.
func server(t testing.TB, change ...func(*sockreceiver.Config)) (*Server, *socktest.Fixture) {
	t.Helper()
	f := socktest.New(t)
	for _, c := range change {
		c(&f.Config)
	}
	s, err := New(f.Config)
	if err != nil {
		t.Fatal(err)
	}
	return s, f
}

// docker is what Docker's driver gelf sends for a line.
const docker = `{"version":"1.1","host":"box","short_message":"GET / 200","timestamp":1720081858.123,"level":6,` +
	`"_command":"nginx -g 'daemon off;'","_container_id":"0f3a9c","_container_name":"web",` +
	`"_created":"2024-07-04T08:00:00.1Z","_image_id":"sha256:1","_image_name":"nginx","_tag":"0f3a9c"}`

// pygelf is what pygelf sends for a record of Python's logging with extra fields.
const pygelf = `{"version": "1.1", "short_message": "hello", "timestamp": 1720081858.5, "level": 4, "host": "box", ` +
	`"_line": 3, "_took": 1.5, "_ok": true, "_none": null, "_id": "a", "_host": "other", "_obj": {"a": [1]}, ` +
	`"full_message": "hello\nworld"}`

var (
	dockerRow = ingesttest.Row{
		"svc_timestamp": time.UnixMilli(1720081858123).UTC(), "host": "box", "level": int64(6), "message": "GET / 200",
		"command": "nginx -g 'daemon off;'", "container_id": "0f3a9c", "container_name": "web",
		"created": "2024-07-04T08:00:00.1Z", "image_id": "sha256:1", "image_name": "nginx", "tag": "0f3a9c",
	}
	pygelfRow = ingesttest.Row{
		"svc_timestamp": time.UnixMilli(1720081858500).UTC(), "host": "box", "level": int64(4), "message": "hello",
		"full_message": "hello\nworld", "line": int64(3), "took": 1.5, "ok": true, "id": "a", "_host": "other",
		"obj": `{"a":[1]}`,
	}
)

func packed(t testing.TB, w io.WriteCloser, to *bytes.Buffer, text string) []byte {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return to.Bytes()
}

func gzipped(t testing.TB, text string) []byte {
	var out bytes.Buffer
	return packed(t, gzip.NewWriter(&out), &out, text)
}

func zlibbed(t testing.TB, text string) []byte {
	var out bytes.Buffer
	return packed(t, zlib.NewWriter(&out), &out, text)
}

// chunk returns a chunk of a message.
func chunk(id string, number, count int, data []byte) []byte {
	return append(append([]byte("\x1e\x0f"+id), byte(number), byte(count)), data...)
}

func TestStream(t *testing.T) {
	s, f := server(t)
	socktest.Send(t, socktest.TCP(t, s), docker+"\x00"+pygelf+"\n\x00\x00"+
		`{"message":"m","facility":"f","timestamp":"soon","level":"3","_a":1,"a":2}`)
	want := []ingesttest.Row{
		dockerRow, pygelfRow,
		{
			"svc_timestamp": ingesttest.Now, "host": "127.0.0.1", "level": int64(3), "_message": "m", "facility": "f",
			"timestamp": "soon", "_a": int64(1), "a": int64(2),
		},
	}
	if diff := socktest.Diff(want, f.Rows(t, "public.gelf_logs", 3)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// Messages are plain, compressed, or in chunks in any order and with duplicates.
func TestDatagrams(t *testing.T) {
	s, f := server(t)
	c := socktest.Dial(t, "udp", socktest.UDP(t, s))
	var want []ingesttest.Row
	send := func(row ingesttest.Row, datagrams ...[]byte) {
		for _, d := range datagrams {
			socktest.Write(t, c, string(d))
		}
		want = append(want, row)
	}
	zip := gzipped(t, docker)
	send(dockerRow, []byte(docker))
	send(dockerRow, zip)
	send(pygelfRow, zlibbed(t, pygelf))
	send(pygelfRow, chunk("12345678", 0, 1, []byte(pygelf)))
	send(
		dockerRow,
		chunk("abcdefgh", 2, 3, zip[200:]), chunk("abcdefgh", 0, 3, zip[:100]), chunk("abcdefgh", 0, 3, zip[:100]),
		chunk("12345678", 1, 2, []byte("x")), chunk("abcdefgh", 1, 3, zip[100:200]),
	)
	if diff := socktest.Diff(want, f.Rows(t, "public.gelf_logs", len(want))); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// Invalid datagrams are counted.
func TestBadDatagrams(t *testing.T) {
	s, f := server(t)
	c := socktest.Dial(t, "udp", socktest.UDP(t, s))
	long := strings.Repeat("a", MaxBytes)
	for _, d := range [][]byte{
		[]byte("\x1e\x0f"), []byte("\x1e\x0f12345678"), chunk("12345678", 0, 0, nil), chunk("12345678", 2, 2, nil),
		chunk("12345678", 0, 129, nil), chunk("abcdefgh", 0, 2, nil), chunk("abcdefgh", 1, 3, nil),
		[]byte("\x1f\x8bgarbage"), zlibbed(t, docker)[:20], gzipped(t, docker)[:30],
		gzipped(t, long+"x"), zlibbed(t, long+"x"),
	} {
		socktest.Write(t, c, string(d))
	}
	socktest.Write(t, c, docker)
	if diff := cmp.Diff([]ingesttest.Row{dockerRow}, f.Rows(t, "public.gelf_logs", 1)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	bad := f.Metric(t, "cordwood_gelf_dropped_total", "malformed")
	large := f.Metric(t, "cordwood_gelf_dropped_total", "too_large")
	if bad != 9 || large != 2 {
		t.Errorf("%v malformed, %v too large", bad, large)
	}
}

// A message that is too long is skipped, and the next one is stored.
func TestLong(t *testing.T) {
	s, f := server(t)
	text := strings.Repeat("b", MaxBytes-30)
	socktest.Send(t, socktest.TCP(t, s), strings.Repeat("a", 3*MaxBytes)+"\x00"+docker+"\x00"+
		`{"short_message":"`+text+`"}`)
	want := []string{"GET / 200", text}
	if diff := cmp.Diff(want, socktest.Texts(f.Rows(t, "public.gelf_logs", 2), "message")); diff != "" {
		t.Errorf("messages (-want +got):\n%.1000s", diff)
	}
	if n := f.Metric(t, "cordwood_gelf_dropped_total", "too_large"); n != 1 {
		t.Errorf("%v too large", n)
	}
	socktest.Stop(t, s)
	if n := f.Config.Bodies.InFlight(); n != 0 {
		t.Errorf("%d bytes are still held", n)
	}
}

// Invalid messages are kept among the rejects.
func TestRejects(t *testing.T) {
	s, f := server(t)
	socktest.Send(t, socktest.TCP(t, s), "hello\x00[1]\x00"+docker+"\x00{\"short_message\":\x00")
	f.Rows(t, "public.gelf_logs", 1)
	got := socktest.Texts(f.Rows(t, "svc_private.rejects", 3), "record")
	want := []string{`{"raw":"[1]"}`, `{"raw":"hello"}`, `{"raw":"{\"short_message\":"}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rejects (-want +got):\n%s", diff)
	}
}

func TestPipeline(t *testing.T) {
	s, f := server(t, func(c *sockreceiver.Config) { c.Target = httpreceiver.Target{Table: "t", Pipeline: "p"} })
	f.Store.Put("p", "version: 2\nprocessors:\n  - vrl:\n      source: |\n        . = {\"got\": encode_json(.)}\n")
	socktest.Send(t, socktest.TCP(t, s), pygelf+"\x00")
	const want = `{"_host":"other","full_message":"hello\nworld","host":"box","id":"a","level":4,"line":3,` +
		`"message":"hello",` +
		`"obj":{"a":[1]},"ok":true,"svc_timestamp":"2024-07-04T08:30:58.500Z","took":1.5}`
	if diff := cmp.Diff(want, f.Rows(t, "public.t", 1)[0]["got"]); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestHTTP(t *testing.T) {
	for _, c := range []struct {
		name, body, encoding string
		status, rows         int
	}{
		{"one", docker, "", 202, 1},
		{"pretty", strings.ReplaceAll(docker, ",\"", ",\n \""), "", 202, 1},
		{"gzip", string(gzipped(t, docker)), "gzip", 202, 1},
		{"graypy", string(zlibbed(t, docker)), "gzip,deflate", 202, 1},
		{"lines", docker + "\n" + pygelf + "\r\n\n" + docker, "", 202, 3},
		{"an array", "[" + docker + "," + pygelf + "]", "", 202, 2},
		{"a bad line", docker + "\n{\"a\":\n" + docker + "\n", "", 202, 2},
		{"nothing", " ", "", 400, 0},
		{"half an array", "[" + docker, "", 400, 0},
		{"two arrays", "[][]", "", 400, 0},
		{"only bad ones", "hello", "", 400, 0},
	} {
		d, st := receivertest.New(t)
		r := httptest.NewRequest(http.MethodPost, "/v1/gelf", strings.NewReader(c.body))
		if c.encoding != "" {
			r.Header.Set("Content-Encoding", c.encoding)
		}
		w := receivertest.Serve(NewReceiver(d).Push, Refuse, r)
		if w.Code != c.status || (w.Body.Len() > 0) != (c.status == 400) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
		if n := len(st.Rows("public.gelf_logs")); n != c.rows {
			t.Errorf("%s: %d rows, want %d", c.name, n, c.rows)
		}
	}
}

// TestGone checks that a message is stored although its sender closes the connection without waiting for the answer.
func TestGone(t *testing.T) {
	d, st := receivertest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/gelf", strings.NewReader(docker))
	if w := receivertest.Serve(NewReceiver(d).Push, Refuse, r); w.Code != 202 || len(st.Rows("public.gelf_logs")) != 1 {
		t.Errorf("%d %s, %d rows", w.Code, w.Body, len(st.Rows("public.gelf_logs")))
	}
}

// Chunks of messages that are never completed take limited memory, and are dropped after some time.
func TestAssembly(t *testing.T) {
	a := newAssembly()
	now := time.Now()
	a.now = func() time.Time { return now }
	dropped := map[sockreceiver.Reason]int{}
	drop := func(_ netip.Addr, why sockreceiver.Reason) { dropped[why]++ }
	from := netip.MustParseAddrPort("192.0.2.1:7")
	data := make([]byte, 60_000)
	for i := range 5000 {
		a.message(from, chunk(fmt.Sprintf("%08d", i), 0, 2, data), drop)
		if a.bytes > maxOpenBytes+len(data) {
			t.Fatalf("%d bytes are kept", a.bytes)
		}
	}
	if n := dropped[incomplete]; n != 5000-len(a.open) || n < 3000 {
		t.Errorf("%d messages were dropped, %d are incomplete", n, len(a.open))
	}
	for i := range 2 * maxOpen {
		a.message(from, chunk(fmt.Sprintf("s%07d", i), 0, 2, nil), drop)
	}
	if len(a.open) > maxOpen || len(a.order) > maxOpen+1 {
		t.Errorf("%d are open, %d known", len(a.open), len(a.order))
	}
	now = now.Add(chunkTime + time.Second)
	if got := a.message(from, chunk("s0019999", 1, 2, []byte(docker)), drop); got != nil {
		t.Errorf("a message was completed after its time: %s", got)
	}
	if len(a.open) != 1 || a.bytes != len(docker) {
		t.Errorf("%d are open, with %d bytes", len(a.open), a.bytes)
	}
	if got := a.message(from, chunk("s0019999", 0, 2, []byte("{")), drop); string(got) != "{"+docker {
		t.Errorf("completed: %q", got)
	}
	if len(a.open) != 0 || a.bytes != 0 {
		t.Errorf("%d are open, with %d bytes", len(a.open), a.bytes)
	}
}

// FuzzDatagram checks that the server survives any datagrams, and that the size of messages is limited.
func FuzzDatagram(f *testing.F) {
	zip := gzipped(f, docker)
	f.Add([]byte(docker), []byte(pygelf))
	f.Add(zip, zlibbed(f, pygelf))
	f.Add(chunk("12345678", 0, 2, zip[:50]), chunk("12345678", 1, 2, zip[50:]))
	f.Add(chunk("12345678", 1, 2, zip[50:]), chunk("12345678", 0, 3, zip[:50]))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		a := newAssembly()
		for _, d := range [][]byte{first, second, first} {
			got := a.message(netip.MustParseAddrPort("192.0.2.1:7"), d, func(netip.Addr, sockreceiver.Reason) {})
			if len(got) > MaxBytes && len(got) > len(d) {
				t.Errorf("a message of %d bytes", len(got))
			}
			m := message{data: got}
			fields, _, err := m.fields(nil)
			if err == nil && len(fields) == 0 {
				t.Error("a message without fields, and without an error")
			}
		}
	})
}

// FuzzFraming checks that messages do not depend on how the bytes are split, and that the framing continues.
func FuzzFraming(f *testing.F) {
	f.Add([]byte(docker+"\x00"+pygelf+"\x00"), uint8(7))
	f.Add([]byte("\x00 \x00aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\x00b"), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		if len(data) > 10_000 {
			return
		}
		whole := socktest.Split(&framing{max: 40, tooLong: func() {}}, data, len(data)+1, 41)
		if diff := cmp.Diff(whole, socktest.Split(&framing{max: 40, tooLong: func() {}}, data, int(step)+1, 41)); diff != "" {
			t.Errorf("whole and in pieces (-, +):\n%s", diff)
		}
	})
}

// TestValuesThatCannotBeKept checks that no value is changed without a warning.
func TestValuesThatCannotBeKept(t *testing.T) {
	for _, c := range []struct{ name, body, text, warning string }{
		{"an integer beyond 64 bits", `{"short_message":"a","_n":9223372036854775808}`, value.BigInteger, ""},
		{"a key twice", `{"short_message":"a","_n":1,"_n":2}`, "", "1 key occurred more than once"},
		{"no UTF-8", "{\"short_message\":\"a\xff\"}", "", "not valid UTF-8"},
	} {
		base, _ := receivertest.New(t)
		d := NewReceiver(base)
		w := receivertest.Serve(d.Push, Refuse, httptest.NewRequest(http.MethodPost, "/gelf", strings.NewReader(c.body)))
		if (w.Code == http.StatusAccepted) != (c.text == "") || !strings.Contains(w.Body.String(), c.text) ||
			!strings.Contains(w.Header().Get("X-Svc-Warnings"), c.warning) {
			t.Errorf("%s: %d %s %v", c.name, w.Code, w.Body, w.Header())
		}
	}
}

// TestLevels checks that a level is stored as a syslog number, even if it is given by its name. Any other value is kept
// in another column. No message is refused because of the type of a fixed field.
func TestLevels(t *testing.T) {
	for level, want := range map[string][2]any{
		`3`: {int64(3), nil}, `"4"`: {int64(4), nil}, `6.0`: {int64(6), nil}, `"Error"`: {int64(3), "Error"},
		`"WARNING"`: {int64(4), "WARNING"}, `"odd"`: {nil, "odd"}, `1.5`: {nil, "1.5"}, `{"a":1}`: {nil, `{"a":1}`},
		`99999999999`: {nil, "99999999999"},
	} {
		base, st := receivertest.New(t)
		body := `{"short_message":{"a":[1]},"host":7,"level":` + level + `}`
		r := httptest.NewRequest(http.MethodPost, "/gelf", strings.NewReader(body))
		w := receivertest.Serve(NewReceiver(base).Push, Refuse, r)
		rows := st.Rows("public.gelf_logs")
		if w.Code != http.StatusAccepted || len(rows) != 1 {
			t.Errorf("%s: %d %s", level, w.Code, w.Body)
			continue
		}
		got := rows[0]
		if got["level"] != want[0] || got["level_name"] != want[1] || got["host"] != "7" || got["message"] != `{"a":[1]}` {
			t.Errorf("%s: %v", level, got)
		}
	}
}

// TestOtherTypes checks that a message is stored although a field has another type than its column, unless the listener
// forbids it.
func TestOtherTypes(t *testing.T) {
	const messages = `{"host":"h","_n":1}` + "\x00" + `{"host":"h","_n":"x"}` + "\x00" + `{"host":"h","_n":2}`
	s, f := server(t)
	socktest.Send(t, socktest.TCP(t, s), messages)
	got := socktest.Texts(f.Rows(t, "public.gelf_logs", 3), "n_conflict")
	if diff := cmp.Diff([]string{"", "", "x"}, got); diff != "" {
		t.Errorf("values that were put aside (-want +got):\n%s", diff)
	}
	if got := f.Store.Options("public.gelf_logs")["on_type_conflict"]; got != "aside" {
		t.Errorf("the table has on_type_conflict=%q", got)
	}
	s, f = server(t, func(c *sockreceiver.Config) { c.OnTypeConflict = "widen" })
	socktest.Send(t, socktest.TCP(t, s), messages)
	f.Rows(t, "public.gelf_logs", 2)
	f.Rows(t, "svc_private.rejects", 1)
}

// TestManyMessages checks that the list of messages counts towards the memory for bodies, and that malformed lines take
// linear time.
func TestManyMessages(t *testing.T) {
	base, _ := receivertest.New(t)
	d := NewReceiver(base)
	body := strings.Repeat("1 ", receivertest.MaxBytes/2) // each message takes 24 times its length
	w := receivertest.Serve(d.Push, Refuse, httptest.NewRequest(http.MethodPost, "/gelf", strings.NewReader(body)))
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	large, _ := receivertest.NewLarge(t, 256<<20)
	d = NewReceiver(large)
	body = "\xff\n" + strings.Repeat("x\n", 300_000)
	r := httptest.NewRequest(http.MethodPost, "/gelf?on_reject=drop", strings.NewReader(body))
	w = receivertest.Serve(d.Push, Refuse, r)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "no message of the request could be stored") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
