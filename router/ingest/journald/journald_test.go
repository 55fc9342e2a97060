package journald

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/body"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/ingest/httpreceiver/receivertest"
	"cordwood/router/ingest/ingesttest"
	"cordwood/router/ingest/sockreceiver/socktest"
)

const (
	source = "194ddbe8d7f848e9995f7ad1a7e15e07"
	boot   = "244db8534d604ed19cec810eca75a70f"
	start  = 1764200000000000
)

// cursor returns the cursor of entry i, as systemd writes it.
func cursor(i int) string {
	return fmt.Sprintf("s=%s;i=%x;b=%s;m=%x;t=%x;x=%016x", source, i, boot, i, start+i, i)
}

// exported returns entry i as systemd-journal-upload sends it.
func exported(i int) string {
	return fmt.Sprintf("__CURSOR=%s\n__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=%s\n_HOSTNAME=web-1\n"+
		"SYSLOG_IDENTIFIER=shop\nPRIORITY=6\nMESSAGE=entry %d\n_PID=7\n_UID=0\n\n", cursor(i), start+i, i, boot, i)
}

func entriesOf(first, last int) string {
	var b strings.Builder
	for i := first; i <= last; i++ {
		b.WriteString(exported(i))
	}
	return b.String()
}

// binaryField returns a field with its length.
func binaryField(name, value string) string {
	return name + "\n" + string(binary.LittleEndian.AppendUint64(nil, uint64(len(value)))) + value + "\n"
}

func newReceiver(t testing.TB, change ...func(*httpreceiver.Receiver)) (*Receiver, *ingesttest.Store) {
	t.Helper()
	d, st := receivertest.New(t)
	for _, c := range change {
		c(&d)
	}
	return New(d), st
}

// post uploads a body, as the client does.
func post(d *Receiver, body io.Reader, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/upload", body)
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Accept", "text/plain")
	for _, c := range change {
		c(r)
	}
	return receivertest.Serve(d.Upload, Refuse, r)
}

func TestUpload(t *testing.T) {
	d, st := newReceiver(t)
	// Recorded from systemd-journal-upload 252, with repeated fields.
	body := "__CURSOR=" + cursor(1) + "\n__REALTIME_TIMESTAMP=1764200000000001\n__MONOTONIC_TIMESTAMP=1000\n_BOOT_ID=" +
		boot + "\n_MACHINE_ID=a4f1606152314255aa4d3642d52c12d2\n_HOSTNAME=web-1\nPRIORITY=6\nSYSLOG_IDENTIFIER=shop\n" +
		"_PID=7\n_UID=0\n" +
		"_COMM=shop\n_SYSTEMD_UNIT=shop.service\n_TRANSPORT=journal\n" +
		binaryField("MESSAGE", "a record mark=0\nsecond=line") +
		"MARK=0\nOBJECT=a=b\nOBJECT=c\n" + binaryField("BLOB", "\xff\x00\n") + "EMPTY=\n\n" +
		"__REALTIME_TIMESTAMP=soon\nPRIORITY=high\nMESSAGE=caf\xe9\nMESSAGE=twice\n"
	w := post(d, strings.NewReader(body))
	if w.Code != http.StatusAccepted || w.Body.String() != "OK.\n" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	want := []ingesttest.Row{
		{
			"svc_timestamp": time.UnixMicro(1764200000000001).UTC(), "hostname": "web-1", "syslog_identifier": "shop",
			"priority": int64(6), "message": "a record mark=0\nsecond=line", "pid": int64(7), "uid": int64(0), "comm": "shop",
			"systemd_unit": "shop.service", "transport": "journal", "boot_id": boot, "cursor": cursor(1),
			"fields": `{"BLOB":{"base64":"/wAK"},"EMPTY":"","MARK":"0","OBJECT":["a=b","c"],` +
				`"_MACHINE_ID":"a4f1606152314255aa4d3642d52c12d2","__MONOTONIC_TIMESTAMP":"1000"}`,
		},
		{
			"svc_timestamp": ingesttest.Now, "message": "caf\uFFFD",
			"fields": `{"MESSAGE":"twice","PRIORITY":"high","__REALTIME_TIMESTAMP":"soon"}`,
		},
	}
	if diff := cmp.Diff(want, st.Rows("public.journald")); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	tags, full := "", ""
	for _, c := range st.Columns("public.journald") {
		if c.Semantic == schema.Tag {
			tags += c.Name + " "
		}
		if c.Index != nil && c.Index.Kind == schema.FulltextIndex {
			full += c.Name
		}
	}
	if tags != "hostname syslog_identifier " || full != "message" {
		t.Errorf("tags %q, full-text index %q", tags, full)
	}
}

func TestPipeline(t *testing.T) {
	d, st := newReceiver(t)
	st.Put("p", "version: 2\nprocessors:\n  - vrl:\n      source: |\n        .got = encode_json(.)\n        . "+
		"= {\"got\": .got}\n")
	body := exported(1)[:len(exported(1))-1] + "EXTRA=x\n\n"
	w := post(d, strings.NewReader(body), func(r *http.Request) { r.URL.RawQuery = "db=shop&table=boxes&pipeline_name=p" })
	if w.Code != http.StatusAccepted {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	row := st.Rows("shop.boxes")[0]
	want := `{"boot_id":"` + boot + `","cursor":"` + cursor(1) + `","fields":{"EXTRA":"x","__MONOTONIC_TIMESTAMP":"1"},` +
		`"hostname":"web-1","message":"entry 1","pid":7,"priority":6,"svc_timestamp":"2025-11-26T23:33:20.000001Z",` +
		`"syslog_identifier":"shop","uid":0}`
	if row["got"] != want || row["svc_timestamp"] != time.UnixMicro(start+1).UTC() {
		t.Errorf("got %v\nwant %s", row, want)
	}
}

// cursors returns the number of times that each entry is stored.
func cursors(st *ingesttest.Store) map[string]int {
	out := map[string]int{}
	for _, row := range st.Rows("public.journald") {
		out[row["cursor"].(string)]++
	}
	return out
}

func checkOnce(t *testing.T, st *ingesttest.Store, first, last int) {
	t.Helper()
	have := cursors(st)
	for i := first; i <= last; i++ {
		if have[cursor(i)] != 1 {
			t.Fatalf("entry %d is stored %d times", i, have[cursor(i)])
		}
	}
	if len(have) != last-first+1 {
		t.Errorf("%d entries, want %d", len(have), last-first+1)
	}
}

func TestPieces(t *testing.T) {
	d, st := newReceiver(t)
	if w := post(d, strings.NewReader(entriesOf(900, 5500))); w.Code != http.StatusAccepted {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	checkOnce(t, st, 900, 5500)
	// 900-1000, -2000, -3000, -4000, -4095 (the last number of three digits), -5000, -5500.
	if st.Writes() != 7 || len(st.Keys()) != 7 || st.Lookups() != 1 {
		t.Errorf("%d writes, %d keys, %d look-ups", st.Writes(), len(st.Keys()), st.Lookups())
	}
	for _, k := range st.Keys() {
		if k.User != "ann" || !strings.HasPrefix(k.Text, "journald-") {
			t.Errorf("key %+v", k)
		}
	}
}

// An uploader whose answer was lost sends everything again from another position in the journal, together with new
// entries.
func TestAgain(t *testing.T) {
	d, st := newReceiver(t)
	for _, body := range []string{
		entriesOf(100, 1500), entriesOf(100, 1500), entriesOf(1200, 1700), entriesOf(50, 120), entriesOf(50, 2300),
	} {
		if w := post(d, strings.NewReader(body)); w.Code != http.StatusAccepted {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	checkOnce(t, st, 50, 2300)
}

// A piece whose write failed is not acknowledged. Pieces before it are not stored again.
func TestWriteFails(t *testing.T) {
	d, st := newReceiver(t)
	st.Refuse("public.journald", errs.New(errs.ShardUnreachable, "shard 1 is gone"))
	w := post(d, strings.NewReader(entriesOf(1, 10)))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	st.Refuse("public.journald", nil)
	broken := io.MultiReader(strings.NewReader(entriesOf(1, 1010)), iotestErr{errors.New("gone")})
	if w := post(d, broken); w.Code != http.StatusBadRequest {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	checkOnce(t, st, 1, 1010)
	if w := post(d, strings.NewReader(entriesOf(1, 1100))); w.Code != http.StatusAccepted {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	checkOnce(t, st, 1, 1100)
}

type iotestErr struct{ err error }

func (r iotestErr) Read([]byte) (int, error) { return 0, r.err }

// Entries are stored after a silence, while the request continues.
func TestSilence(t *testing.T) {
	d, st := newReceiver(t)
	d.silence = time.Millisecond
	in, out := io.Pipe()
	done := make(chan *httptest.ResponseRecorder)
	go func() { done <- post(d, in) }()
	if _, err := io.WriteString(out, entriesOf(1, 3)); err != nil {
		t.Fatal(err)
	}
	socktest.Await(t, "the first rows", func() bool { return len(st.Rows("public.journald")) == 3 })
	if _, err := io.WriteString(out, entriesOf(4, 5)); err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	if w := <-done; w.Code != http.StatusAccepted {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	checkOnce(t, st, 1, 5)
}

// Copies of a virtual machine have the same source and numbers.
func TestCopies(t *testing.T) {
	d, st := newReceiver(t)
	other := strings.ReplaceAll(entriesOf(1, 20), ";x=0", ";x=f")
	for _, body := range []string{entriesOf(1, 20), other, other} {
		if w := post(d, strings.NewReader(body)); w.Code != http.StatusAccepted {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if n := len(st.Rows("public.journald")); n != 40 {
		t.Errorf("%d rows", n)
	}
}

// TestNoCursor checks that entries without a cursor use the idempotency key of their request, if it has one.
func TestNoCursor(t *testing.T) {
	for _, c := range []struct {
		key  string
		rows int
	}{{"", 8000}, {"k", 4000}} {
		d, st := newReceiver(t)
		var b strings.Builder
		for i := range 4000 {
			_, _ = fmt.Fprintf(&b, "MESSAGE=%d\n\n", i)
		}
		for range 2 {
			w := post(d, strings.NewReader(b.String()), func(r *http.Request) {
				if c.key != "" {
					r.Header.Set("Idempotency-Key", c.key)
				}
			})
			if w.Code != http.StatusAccepted {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
		}
		if n := len(st.Rows("public.journald")); n != c.rows {
			t.Errorf("key %q: %d rows, want %d", c.key, n, c.rows)
		}
	}
}

func TestRefusals(t *testing.T) {
	d, st := newReceiver(t)
	st.Press("public.busy", false)
	for _, c := range []struct {
		name, body, contentType, query string
		right                          access.Right
		status                         int
		text                           string
		rows                           int
	}{
		{"no entries", "", contentType, "", access.ReadWrite, 202, "OK.", 0},
		{"empty lines", "\n\n\n", contentType, "", access.ReadWrite, 202, "OK.", 0},
		{"no content type", exported(1), "", "table=a", access.ReadWrite, 202, "OK.", 1},
		{"another content type", exported(1), "application/json", "", access.ReadWrite, 415, contentType, 0},
		{"a reader", exported(1), contentType, "", access.ReadOnly, 403, "not authorized", 0},
		{"no database", exported(1), contentType, "db=none", access.ReadWrite, 400, "none", 0},
		{"no pipeline", exported(1), contentType, "pipeline_name=none", access.ReadWrite, 400, "none", 0},
		{"half an entry", exported(2) + "MESSAGE=half", contentType, "table=b", access.ReadWrite, 400, "ends within", 1},
		{"half a length", exported(2) + "MESSAGE\n\x05\x00", contentType, "table=c", access.ReadWrite, 400, "ends within", 1},
		{
			"a length that lies", exported(2) + "MESSAGE\n\xff\xff\xff\xff\xff\xff\xff\xffx", contentType, "table=d",
			access.ReadWrite, 400, "ends within", 1,
		},
		{
			"no line end after bytes", exported(2) + "MESSAGE\n\x01\x00\x00\x00\x00\x00\x00\x00xy", contentType, "table=e",
			access.ReadWrite, 400, "no line end", 1,
		},
		{
			"no fields", exported(2) + strings.Repeat("x", 100_000) + "\n", contentType, "table=f", access.ReadWrite, 400,
			"is not a field", 1,
		},
		{
			"a long name", exported(2) + strings.Repeat("x", 1000) + "=y\n", contentType, "table=g", access.ReadWrite, 400,
			"at most 256", 1,
		},
	} {
		r := httptest.NewRequest(http.MethodPost, "/upload?"+c.query, strings.NewReader(c.body))
		if c.contentType != "" {
			r.Header.Set("Content-Type", c.contentType)
		}
		w := receivertest.ServeAs(ingesttest.Caller(c.right), d.Upload, Refuse, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.text) ||
			!strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
		table := "public." + strings.TrimPrefix(c.query, "table=")
		if n := len(st.Rows(table)); strings.HasPrefix(c.query, "table=") && n != c.rows {
			t.Errorf("%s: %d rows", c.name, n)
		}
	}
}

// Long values are cut, and data beyond the limits of an entry is dropped. The entry is stored.
func TestLong(t *testing.T) {
	d, st := newReceiver(t, func(d *httpreceiver.Receiver) {
		var err error
		if d.Bodies, err = body.New(body.Config{}); err != nil {
			t.Fatal(err)
		}
	})
	long := strings.Repeat("x", maxValue+10)
	text := "MESSAGE=" + long + "\nPRIORITY=5\n\n" + binaryField("MESSAGE", long) + "PRIORITY=5\n\n"
	if w := post(d, strings.NewReader(text)); w.Code != http.StatusAccepted {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for _, row := range st.Rows("public.journald") {
		if len(row["message"].(string)) != maxValue || row["priority"] != int64(5) {
			t.Errorf("a message of %d bytes, priority %v", len(row["message"].(string)), row["priority"])
		}
	}
	var e entry
	many := strings.Repeat("A=1\n", maxFields+5) + "\n" +
		strings.Repeat("B="+long+"\n"+binaryField("B", long), 3) + "C=1\n\n"
	cut := 0
	dec := newDecoder(strings.NewReader(many), &cut)
	for i, want := range []int{maxFields, 4} {
		if err := dec.next(&e); err != nil || len(e.fields) != want || cut != i+1 || len(e.data) > maxEntry+maxName+1 {
			t.Errorf("entry %d: %d fields, %d bytes, %d cut: %v", i, len(e.fields), len(e.data), cut, err)
		}
	}
}

// If memory for bodies is lacking, a request waits, and is finally refused with 503.
func TestMemory(t *testing.T) {
	d, st := newReceiver(t)
	held, err := d.Bodies.Hold(t.Context(), nil)
	if err == nil {
		err = held.Reserve(t.Context(), 8*receivertest.MaxBytes-1)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	r := httptest.NewRequest(http.MethodPost, "/upload", strings.NewReader(exported(1)))
	w := receivertest.Serve(d.Upload, Refuse, r)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || len(st.Tables()) > 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestExpect checks that a client that expects 100 Continue gets it, or is refused before it sends the body.
func TestExpect(t *testing.T) {
	d, st := newReceiver(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := receivertest.Serve(d.Upload, Refuse, r)
		w.WriteHeader(out.Code)
	}))
	defer s.Close()
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	for _, c := range []struct {
		contentType string
		status      int
		read        bool
	}{{contentType, 202, true}, {"text/plain", 415, false}} {
		body := &noted{r: bytes.NewReader([]byte(entriesOf(1, 20)))}
		// The request is chunked, because the length of its body is not known.
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", c.contentType)
		r.Header.Set("Expect", "100-continue")
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.status || body.read != c.read {
			t.Errorf("%s: %d, body read: %v", c.contentType, resp.StatusCode, body.read)
		}
	}
	checkOnce(t, st, 1, 20)
}

type noted struct {
	r    io.Reader
	read bool
}

func (n *noted) Read(p []byte) (int, error) {
	n.read = true
	return n.r.Read(p)
}
