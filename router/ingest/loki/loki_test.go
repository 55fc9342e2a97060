package loki

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/s2"
	"google.golang.org/protobuf/encoding/protowire"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/ingest/httpreceiver/receivertest"
	"cordwood/router/ingest/ingesttest"
)

// pushed is an entry for a test's body.
type pushed struct {
	nanos    int64
	line     string
	metadata []string // names and values
}

// message appends a field that has bytes.
func message(to []byte, field protowire.Number, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), data)
}

func number(to []byte, field protowire.Number, v int64) []byte {
	//nolint:gosec // the varint is the same 64 bits without a sign
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), uint64(v))
}

// protobuf returns a push of one stream, before snappy.
func protobuf(labels string, entries ...pushed) []byte {
	stream := message(nil, 1, []byte(labels))
	for _, e := range entries {
		at := number(number(nil, 1, e.nanos/1e9), 2, e.nanos%1e9)
		entry := message(message(nil, 1, at), 2, []byte(e.line))
		for i := 0; i+1 < len(e.metadata); i += 2 {
			entry = message(entry, 3, message(message(nil, 1, []byte(e.metadata[i])), 2, []byte(e.metadata[i+1])))
		}
		stream = message(stream, 2, entry)
	}
	return message(nil, 1, number(stream, 3, 77)) // a hash, which is ignored
}

// receiver returns a receiver on a store in memory.
func receiver(t testing.TB) (*Receiver, *ingesttest.Store) {
	t.Helper()
	d, st := receivertest.New(t)
	return New(d), st
}

// send sends a body and returns the answer.
func send(d *Receiver, contentType string, body []byte, headers ...string) *httptest.ResponseRecorder {
	typed := append([]string{"Content-Type", contentType}, headers...)
	return receivertest.Serve(d.Push, Refuse, receivertest.Post("/loki/api/v1/push", string(body), typed...))
}

const isProtobuf = "application/x-protobuf"

var at = time.Date(2024, 1, 2, 3, 4, 5, 6, time.UTC)

func nanos(d time.Duration) string { return strconv.FormatInt(at.Add(d).UnixNano(), 10) }

// Both forms of a body give the same rows.
func TestForms(t *testing.T) {
	want := []ingesttest.Row{
		{"svc_timestamp": at, "line": "one", "structured_metadata": `{"trace":"1"}`, "app": "web", "env": `te"st`},
		{"svc_timestamp": at.Add(1), "line": "two\n", "structured_metadata": `{}`, "app": "web", "env": `te"st`},
	}
	for name, c := range map[string]struct {
		contentType string
		body        []byte
	}{
		"protobuf": {isProtobuf, s2.EncodeSnappy(nil, protobuf(`{app="web", env="te\"st",__path__="/x",}`,
			pushed{at.UnixNano(), "one", []string{"trace", "1"}}, pushed{at.UnixNano() + 1, "two\n", nil}))},
		"json": {
			"application/json; charset=utf-8",
			[]byte(`{"other":[1],"streams":[{"stream":{"app":"web","env":"te\"st","__path__":"/x"},"values":[["` + nanos(0) +
				`","one",{"trace":"1"}],[` + nanos(1) + `,"two\n"]]}]}`),
		},
	} {
		d, st := receiver(t)
		w := send(d, c.contentType, c.body, "Content-Encoding", map[bool]string{true: "gzip"}[name == "protobuf"])
		if w.Code != http.StatusNoContent || w.Body.Len() > 0 {
			t.Errorf("%s: answer %d %s", name, w.Code, w.Body)
		}
		if diff := cmp.Diff(want, st.Rows("public.loki_logs")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		semantics := map[string]schema.Semantic{}
		for _, col := range st.Columns("public.loki_logs") {
			semantics[col.Name] = col.Semantic
		}
		if semantics["app"] != schema.Tag || semantics["env"] != schema.Tag || semantics["line"] != schema.Field {
			t.Errorf("%s: columns %v", name, semantics)
		}
	}
}

func TestLabels(t *testing.T) {
	many := make([]string, 0, maxTags+2)
	for i := range maxTags + 2 {
		many = append(many, "l"+strconv.Itoa(i)+`="v"`)
	}
	for _, c := range []struct {
		name, labels string
		headers      []string
		want         map[string]any // of the row, except line, metadata and time
		warning      string
	}{
		{
			"names of fixed columns", `{line="a",structured_metadata="b",svc_timestamp="c"}`, nil,
			map[string]any{"label_line": "a", "label_structured_metadata": "b", "label_svc_timestamp": "c"},
			"",
		},
		{"none", `{}`, nil, map[string]any{}, ""},
		{"unreadable", `{a=}`, nil, map[string]any{}, "labels that could not be read"},
		{
			"together", `{b="2",a="1"}`,
			[]string{"x-svc-loki-labels", "json"},
			map[string]any{"labels": `{"b":"2","a":"1"}`},
			"",
		},
		{"backticks, and a name in quotes", "{a=`x\"y`, \"b.c\"=\"z\"}", nil, map[string]any{"a": `x"y`, "b.c": "z"}, ""},
	} {
		d, st := receiver(t)
		w := send(d, isProtobuf, s2.EncodeSnappy(nil, protobuf(c.labels, pushed{at.UnixNano(), "x", nil})), c.headers...)
		if w.Code != http.StatusNoContent || !strings.Contains(w.Header().Get("X-Svc-Warnings"), c.warning) {
			t.Errorf("%s: %d %s %v", c.name, w.Code, w.Body, w.Header())
			continue
		}
		row := st.Rows("public.loki_logs")[0]
		for _, fixed := range []string{"svc_timestamp", "line", "structured_metadata"} {
			delete(row, fixed)
		}
		if diff := cmp.Diff(ingesttest.Row(c.want), row); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	d, st := receiver(t)
	if w := send(d, isProtobuf, s2.EncodeSnappy(nil,
		protobuf("{"+strings.Join(many, ",")+"}", pushed{at.UnixNano(), "x", nil}))); w.Code != http.StatusNoContent {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	tags := 0
	for _, c := range st.Columns("public.loki_logs") {
		if c.Semantic == schema.Tag {
			tags++
		}
	}
	if tags != maxTags {
		t.Errorf("%d tags", tags)
	}
}

func TestPipeline(t *testing.T) {
	d, st := receiver(t)
	st.Put("p", "version: 2\nprocessors:\n  - vrl:\n      source: "+
		"|\n        .up = upcase(string!(.loki_line))\n        .\n")
	w := send(d, isProtobuf, s2.EncodeSnappy(nil, protobuf(`{app="web"}`, pushed{
		at.UnixNano(), "one", []string{"trace", "1"},
	})),
		"x-svc-pipeline-name", "p", "x-svc-log-table-name", "other", "x-svc-db-name", "shop")
	if w.Code != http.StatusNoContent {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	want := []ingesttest.Row{
		{"svc_timestamp": at, "loki_line": "one", "up": "ONE", "loki_label_app": "web", "loki_metadata_trace": "1"},
	}
	if diff := cmp.Diff(want, st.Rows("shop.other")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Entries that can never be stored are left out, reported, and kept among the rejects. If all entries are bad, the
// answer is 400.
func TestBadEntries(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		rows, kept int
		text       string
	}{
		{
			"some",
			`{"streams":[{"stream":{},"values":[["x","a"],["1"],7,["1","b"],[1.5,"c"],["99999999999999999999","d"],["2",` +
				`"e",7]]}]}`,
			204, 2, 5, "",
		},
		{"all", `{"streams":[{"stream":{},"values":[["x","a"]]}]}`, 400, 0, 1, "no entry of the request could be stored"},
		{"nothing", `{"streams":[]}`, 204, 0, 0, ""},
		{"no streams", `{"stream":[]}`, 400, 0, 0, `no list "streams"`},
		{"a broken text", `{"streams":[{"stream":{},"values":[["1","a"]`, 400, 0, 0, "','"},
		{"another type", `{"streams":{}}`, 400, 0, 0, "an array"},
		{"a stream that is none", `{"streams":[1]}`, 400, 0, 0, "a stream"},
		{
			"too many labels",
			`{"streams":[{"stream":{` + strings.TrimSuffix(strings.Repeat(`"x":"1",`, maxLabels+1), ",") +
				`},"values":[["1","a"]]},{"stream":{},"values":[["1","b"]]}]}`,
			204, 1, 1, "",
		},
		{
			"labels of Loki's own, which do not count",
			`{"streams":[{"stream":{` + strings.Repeat(`"__x__":"`+strings.Repeat("y", maxValueBytes+1)+`",`, maxLabels) +
				`"x":"1"},"values":[["1","a"]]}]}`,
			204, 1, 0, "",
		},
		{
			"a long value",
			`{"streams":[{"stream":{"a":"` + strings.Repeat("x", maxValueBytes+1) + `"},"values":[["1","a"]]}]}`, 400, 0,
			1, "the value of the label",
		},
	} {
		d, st := receiver(t)
		w := send(d, "application/json", []byte(c.body))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s: answer %d %s", c.name, w.Code, w.Body)
		}
		if rows, kept := len(st.Rows("public.loki_logs")), len(st.Rows("svc_private.rejects")); rows != c.rows ||
			kept != c.kept {
			t.Errorf("%s: %d rows and %d rejects", c.name, rows, kept)
		}
	}
}

func TestBadBodies(t *testing.T) {
	good := s2.EncodeSnappy(nil, protobuf(`{a="b"}`, pushed{at.UnixNano(), "x", nil}))
	huge := protowire.AppendVarint(nil, 1<<31)
	for _, c := range []struct {
		name, contentType string
		body              []byte
		status            int
		text              string
	}{
		{"no snappy", isProtobuf, []byte("hello"), 400, "snappy"},
		{"a snappy block that claims 2 GiB", isProtobuf, append(huge, 0), 400, "cannot become"},
		{"cut off", isProtobuf, good[:len(good)-3], 400, "snappy"},
		{"no protobuf", isProtobuf, s2.EncodeSnappy(nil, []byte("\x0a\xff")), 400, "protobuf"},
		{"another type", "text/plain", good, 400, "Content-Type is \"text/plain\""},
		{"too large", "application/json", bytes.Repeat([]byte(" "), 2<<20), 413, ""},
	} {
		d, st := receiver(t)
		w := send(d, c.contentType, c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.text) ||
			!strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("%s: answer %d %s %v", c.name, w.Code, w.Body, w.Header())
		}
		if len(st.Tables()) > 0 {
			t.Errorf("%s: rows of %v", c.name, st.Tables())
		}
	}
}

func TestAnswers(t *testing.T) {
	d, st := receiver(t)
	body := []byte(`{"streams":[{"stream":{},"values":[["1","a"]]}]}`)
	if w := send(d, "application/json", body, "Accept", "application/json"); w.Code != http.StatusOK ||
		!strings.HasPrefix(w.Body.String(), `{"output":[{"affectedrows":1}],`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := send(d, "application/json", body, "Accept", "*/*"); w.Code != http.StatusNoContent {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	st.Refuse("public.loki_logs", errs.New(errs.ShardNotReady, "no leader"))
	if w := send(d, "application/json", body); w.Code != http.StatusServiceUnavailable ||
		w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "no leader") {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
}

// A repeated request with a key is recognised.
func TestKeys(t *testing.T) {
	d, st := receiver(t)
	body := []byte(`{"streams":[{"stream":{},"values":[["1","a"]]}]}`)
	send(d, "application/json", body, "Idempotency-Key", "k")
	send(d, "application/json", body, "x-svc-dedupe", "body")
	send(d, "application/json", body)
	if keys := st.Keys(); len(keys) != 2 {
		t.Errorf("keys %v", keys)
	}
}

func FuzzProto(f *testing.F) {
	f.Add(protobuf(`{a="b"}`, pushed{1, "x", []string{"k", "v"}}))
	f.Add([]byte("\x0a\xff"))
	f.Add(protobuf(`{a="b",a="c",__x__="d",line="e",label_line="f"}`,
		pushed{1, "x", []string{"k", "v", "__k__", "", "k", "w"}}))
	f.Add(protobuf(`{`+strings.Repeat(`a="",`, maxPairs+2)+`}`, pushed{1, "\xff", nil}))
	f.Add(message(nil, 1, message(message(message(nil, 1, []byte(`{a=}`)), 2, nil), 1, []byte(`{b="c"}`))))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, _ := receiver(t)
		if w := send(d, isProtobuf, s2.EncodeSnappy(nil, data)); w.Code != 204 && w.Code != 400 && w.Code != 413 {
			t.Errorf("answer %d %s", w.Code, w.Body)
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"streams":[{"stream":{"a":"b"},"values":[["1","x",{"k":"v"}],[2,"y"]]}]}`))
	f.Add([]byte(`{"streams":[{"values":[["1","x",{"k":"v","k":"w"}]],"stream":{"a":1,"a":null},"values":[7],` +
		`"stream":{}}]}`))
	f.Add([]byte(`{"streams":[{"stream":{` + strings.Repeat(`"a":"\ud800",`, maxPairs+2) +
		`"b":{}},"values":[[1,"x"]]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, _ := receiver(t)
		if w := send(d, "application/json", data); w.Code != 204 && w.Code != 400 && w.Code != 413 {
			t.Errorf("answer %d %s", w.Code, w.Body)
		}
	})
}

func BenchmarkPush(b *testing.B) {
	entries := make([]pushed, 1000)
	for i := range entries {
		entries[i] = pushed{at.UnixNano() + int64(i), strings.Repeat("GET /index.html 200 ", 8), nil}
	}
	body := s2.EncodeSnappy(nil, protobuf(`{app="web",env="test"}`, entries...))
	d, _ := receiver(b)
	b.ReportAllocs()
	for b.Loop() {
		if w := send(d, isProtobuf, body); w.Code != http.StatusNoContent {
			b.Fatal(w.Code, w.Body)
		}
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "lines/s")
}

// TestRejectsAreWhole checks that a refused entry is kept as a push request with its labels, time and metadata.
func TestRejectsAreWhole(t *testing.T) {
	const year2300 = 10_413_792_000
	proto := message(nil, 1, message(message(nil, 1, []byte(`{app="web"}`)), 2,
		message(message(message(nil, 1, number(number(nil, 1, year2300), 2, 7)), 2, []byte("a \"line\"")), 3,
			message(message(nil, 1, []byte("k")), 2, []byte("v")))))
	for _, c := range []struct {
		contentType string
		body        []byte
	}{
		{isProtobuf, s2.EncodeSnappy(nil, proto)},
		{
			"application/json",
			[]byte(`{"streams":[{"stream":{"app":"web"},"values":[["10413792000000000007","a \"line\"",{"k":"v"}]]}]}`),
		},
	} {
		d, st := receiver(t)
		send(d, c.contentType, c.body)
		rejects := st.Rows("svc_private.rejects")
		const want = `{"streams":[{"stream":{"app":"web"},"values":[["10413792000000000007","a \"line\"",{"k":"v"}]]}]}`
		if len(rejects) != 1 || rejects[0]["format"] != "loki" || rejects[0]["record"] != want {
			t.Errorf("%s: rejects %v", c.contentType, rejects)
		}
	}
}

// TestReplayedRejects checks that an entry that is sent again is noted when it is stored, and not if it fails again.
func TestReplayedRejects(t *testing.T) {
	d, st := receiver(t)
	again := func(id, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/loki/api/v1/push?on_reject=drop", strings.NewReader(body))
		for name, value := range map[string]string{
			"Content-Type":    "application/json",
			"Idempotency-Key": id,
			"X-Svc-Replayed":  id,
		} {
			r.Header.Set(name, value)
		}
		return receivertest.Serve(d.Push, Refuse, r)
	}
	again("id1", `{"streams":[{"stream":{},"values":[["x","a"]]}]}`)
	if notes := st.Rows("svc_private.replayed"); len(notes) != 0 {
		t.Errorf("an entry that failed again is noted as stored: %v", notes)
	}
	w := again("id2", `{"streams":[{"stream":{},"values":[["1","a"]]}]}`)
	if notes := st.Rows("svc_private.replayed"); len(notes) != 1 || notes[0]["id"] != "id2" {
		t.Errorf("%d %s: notes %v", w.Code, w.Body, notes)
	}
}

// TestManyPairs checks that very many labels and metadata take linear time and memory, whether their entries are stored
// or not.
func TestManyPairs(t *testing.T) {
	const n = 300_000
	labels, metadata, fields := []byte("{"), []byte("{"), []byte(nil)
	for i := range n {
		if i > 0 {
			labels, metadata = append(labels, ','), append(metadata, ',')
		}
		labels = append(strconv.AppendInt(append(labels, 'l'), int64(i), 10), `="v"`...)
		metadata = append(strconv.AppendInt(append(metadata, `"m`...), int64(i), 10), `":"v"`...)
		fields = message(fields, 3, message(message(nil, 1, strconv.AppendInt(nil, int64(i), 10)), 2, []byte("v")))
	}
	labels, metadata = append(labels, '}'), append(metadata, '}')
	for _, c := range []struct {
		name, contentType string
		body              []byte
		kept              int
	}{
		{"labels in protobuf", isProtobuf, s2.EncodeSnappy(nil, protobuf(string(labels), pushed{1, "x", nil})), n},
		{
			"labels in JSON", "application/json",
			[]byte(`{"streams":[{"stream":` + string(metadata) + `,"values":[["1","x"]]}]}`), n,
		},
		{
			"metadata in protobuf", isProtobuf,
			s2.EncodeSnappy(nil, message(nil, 1, message(message(nil, 1, []byte("{}")), 2, fields))), n,
		},
		{
			"metadata in JSON", "application/json",
			[]byte(`{"streams":[{"stream":{},"values":[["1","x",` + string(metadata) + `]]}]}`), n,
		},
	} {
		for _, headers := range [][]string{nil, {"x-svc-loki-labels", "json"}} {
			d, records := receivertest.NewLarge(t, 64<<20)
			w := send(New(d), c.contentType, c.body, headers...)
			if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "no entry of the request") {
				t.Errorf("%s: answer %d %s", c.name, w.Code, w.Body)
			}
			rejects := records.Rows("svc_private.rejects")
			if len(rejects) != 1 || strings.Count(rejects[0]["record"].(string), `":"v"`) != c.kept {
				t.Errorf("%s: the reject is incomplete", c.name)
			}
			if columns := len(records.Columns("public.loki_logs")); columns != 0 {
				t.Errorf("%s: %d columns of a refused entry", c.name, columns)
			}
		}
	}
}

// TestRepeatedNames checks that the last value of a repeated name is stored, and that the answer reports the
// repetition. Metadata named like a label that is internal to Loki is stored.
func TestRepeatedNames(t *testing.T) {
	metadata := []string{"a", "1", "__b__", "2", "a", "3"}
	for name, c := range map[string]struct {
		contentType string
		body        []byte
	}{
		"protobuf": {isProtobuf, s2.EncodeSnappy(nil, protobuf(`{}`, pushed{1, "x", metadata}))},
		"json": {
			"application/json",
			[]byte(`{"streams":[{"stream":{},"values":[["1","x",{"a":"1","__b__":"2","a":"3"}]]}]}`),
		},
	} {
		for _, pipeline := range []string{"", "p"} {
			d, st := receiver(t)
			st.Put("p", "version: 2\nprocessors:\n  - vrl:\n      source: |\n        .structured_metadata = "+
				"encode_json({\"__b__\": .loki_metadata___b__, \"a\": .loki_metadata_a})\n        .\n")
			w := send(d, c.contentType, c.body, "x-svc-pipeline-name", pipeline)
			rows := st.Rows("public.loki_logs")
			if w.Code != http.StatusNoContent || len(rows) != 1 || rows[0]["structured_metadata"] != `{"__b__":"2","a":"3"}` ||
				!strings.Contains(strings.Join(w.Header().Values("X-Svc-Warnings"), " "), "1 key occurred more than once") {
				t.Errorf("%s with pipeline %q: %d %s %v %v", name, pipeline, w.Code, w.Body, w.Header(), rows)
			}
		}
	}
}

// TestManyEntries checks that millions of entries take no memory besides their rows, because they are read one by one.
func TestManyEntries(t *testing.T) {
	const n = 200_000
	one := message(nil, 1, []byte(`{a="b"}`))
	for range n {
		one = message(one, 2, nil)
	}
	body := message(nil, 1, one)
	count := 0
	before := new(runtime.MemStats)
	runtime.ReadMemStats(before)
	err := readProto(body, func(s *stream) error {
		var e entry
		return s.eachEntry(&e, func() error { count++; return nil })
	})
	after := new(runtime.MemStats)
	runtime.ReadMemStats(after)
	if took := after.TotalAlloc - before.TotalAlloc; err != nil || count != n || took > 1<<20 {
		t.Errorf("%d entries, %d bytes, %v", count, took, err)
	}
}

// TestRejectsTakeMemory checks that rejects that repeat the labels of their stream count towards the memory for bodies,
// and that the request ends when the limit is exceeded.
func TestRejectsTakeMemory(t *testing.T) {
	body := []byte(`{"streams":[{"stream":{`)
	for i := range 60 {
		body = append(strconv.AppendInt(append(body, `"l`...), int64(i), 10), `":"`...)
		body = append(body, strings.Repeat("v", 2000)+`",`...)
	}
	body = append(body[:len(body)-1], `},"values":[`+strings.Repeat("1,", 100_000)+`1]}]}`...)
	d, st := receiver(t)
	w := send(d, "application/json", body)
	if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "both together may take") {
		t.Errorf("answer %d %s", w.Code, w.Body)
	}
	if len(st.Tables()) > 0 {
		t.Errorf("rows of %v", st.Tables())
	}
}

// TestUnknownForms checks that fields of the wrong type are skipped, like unknown fields.
func TestUnknownForms(t *testing.T) {
	moment := number(number(message(message(nil, 1, nil), 2, []byte("x")), 1, 7), 2, 8)
	moment = message(message(moment, 1, []byte("y")), 2, nil)
	one := number(number(message(message(nil, 1, []byte("k")), 2, []byte("v")), 1, 3), 2, 4)
	entry := number(message(message(message(nil, 1, moment), 2, []byte("line")), 3, one), 2, 5)
	d, st := receiver(t)
	body := message(nil, 1, message(number(message(nil, 1, []byte("{}")), 1, 6), 2, entry))
	w := send(d, isProtobuf, s2.EncodeSnappy(nil, body))
	want := []ingesttest.Row{{
		"svc_timestamp": time.Unix(7, 8).UTC(), "line": "line", "structured_metadata": `{"k":"v"}`,
	}}
	if diff := cmp.Diff(want, st.Rows("public.loki_logs")); w.Code != http.StatusNoContent || diff != "" {
		t.Errorf("%d %s (-want +got):\n%s", w.Code, w.Body, diff)
	}
}

// TestLoneSurrogates checks that the answer reports escapes that became U+FFFD.
func TestLoneSurrogates(t *testing.T) {
	d, st := receiver(t)
	body := `{"streams":[{"stream":{"a":"\ud83d\ude00"},"values":[["1","x \ud800",{"k":"\uDFFF"}]]}]}`
	w := send(d, "application/json", []byte(body))
	if warnings := w.Header().Get("X-Svc-Warnings"); w.Code != 204 || !strings.HasPrefix(warnings, "2 escapes") {
		t.Errorf("%d %q", w.Code, warnings)
	}
	rows := st.Rows("public.loki_logs")
	if len(rows) != 1 || rows[0]["line"] != "x \uFFFD" || rows[0]["a"] != "\U0001F600" {
		t.Errorf("%v", rows)
	}
}

// TestBlocksAreTheirOwn checks that a block that is decoded into the memory of an earlier block contains none of the
// earlier data.
func TestBlocksAreTheirOwn(t *testing.T) {
	d, st := receiver(t)
	for i, line := range []string{strings.Repeat("long ", 1000), "short"} {
		body := s2.EncodeSnappy(nil, protobuf(`{a="b"}`, pushed{nanos: int64(i) + 1, line: line}))
		if w := send(d, isProtobuf, body); w.Code != 204 {
			t.Fatal(w.Body)
		}
	}
	rows := st.Rows("public.loki_logs")
	if len(rows) != 2 || rows[0]["line"] != strings.Repeat("long ", 1000) || rows[1]["line"] != "short" {
		t.Errorf("%v", rows)
	}
}
