package firehose

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/ingest/httpreceiver/receivertest"
	"cordwood/router/ingest/ingesttest"
)

func receiver(t testing.TB) (*Receiver, *ingesttest.Store) {
	t.Helper()
	d, st := receivertest.New(t)
	return New(d), st
}

const requestID = "ed1d787c-b9e2-4631-92dc-8e7c9d26d804"

// request returns a delivery of Firehose whose records have this data.
func request(data ...string) string {
	var records []map[string]string
	for _, one := range data {
		records = append(records, map[string]string{"data": base64.StdEncoding.EncodeToString([]byte(one))})
	}
	text, err := json.Marshal(map[string]any{"requestId": requestID, "timestamp": 1578090901599, "records": records})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// send sends a body as Firehose does; headers are further pairs of name and value.
func send(d *Receiver, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := receivertest.Post(target, body, append([]string{
		"Content-Type", "application/json", headerID, requestID, headerKey, "ann:secret",
		"X-Amz-Firehose-Protocol-Version", "1.0", "User-Agent", "Amazon Kinesis Data Firehose Agent/1.0",
		"X-Amz-Firehose-Source-Arn", "arn:aws:firehose:us-east-1:123456789:deliverystream/testStream",
	}, headers...)...)
	return receivertest.Serve(d.Deliver, Refuse, r)
}

// check checks the form of an answer, and returns its error.
func check(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var got struct {
		RequestID    string
		Timestamp    int64
		ErrorMessage string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.RequestID != requestID ||
		time.Since(time.UnixMilli(got.Timestamp)).Abs() > time.Hour || (got.ErrorMessage == "") != (w.Code == 200) ||
		w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %s %v (%v)", w.Code, w.Body, w.Header(), err)
	}
	return got.ErrorMessage
}

func gzipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(text)) // to memory
	_ = w.Close()
	return out.String()
}

// cloudwatch is a message from a subscription of CloudWatch Logs.
const cloudwatch = `{"messageType":"DATA_MESSAGE","owner":"123456789012","logGroup":"/aws/lambda/shop",` +
	`"logStream":"2024/07/04/[$LATEST]0f3a","subscriptionFilters":["all"],"logEvents":[` +
	`{"id":"0001","timestamp":1720081858123,"message":"START RequestId: 1\n"},` +
	`{"id":"0002","timestamp":1720081858124,"message":"{\"a\":1}","extractedFields":{"level":"info"}}]}`

const controlMessage = `{"messageType":"CONTROL_MESSAGE","owner":"CloudwatchLogs","logGroup":"","logStream":"",` +
	`"subscriptionFilters":[],"logEvents":[{"id":"","timestamp":1720081858123,"message":"CWL CONTROL MESSAGE: Checking ` +
	`health of destination Firehose."}]}`

func TestCloudWatch(t *testing.T) {
	at := time.UnixMilli(1720081858123).UTC()
	row := func(more ingesttest.Row) ingesttest.Row {
		more["owner"], more["logGroup"], more["logStream"] = "123456789012", "/aws/lambda/shop", "2024/07/04/[$LATEST]0f3a"
		more["subscriptionFilters"] = `["all"]`
		return more
	}
	want := []ingesttest.Row{
		row(ingesttest.Row{
			"svc_timestamp": at, "id": "0001", "timestamp": int64(1720081858123), "message": "START RequestId: 1\n",
		}),
		row(ingesttest.Row{
			"svc_timestamp": at.Add(time.Millisecond), "id": "0002", "timestamp": int64(1720081858124), "message": `{"a":1}`,
			"extractedFields.level": "info",
		}),
	}
	for name, data := range map[string][]string{
		"gzip":                {gzipped(controlMessage), gzipped(cloudwatch)},
		"several members":     {gzipped(controlMessage) + gzipped(cloudwatch)},
		"decompressed before": {controlMessage + cloudwatch},
	} {
		d, st := receiver(t)
		w := send(d, "/v1/firehose", request(data...))
		if check(t, w); w.Code != 200 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if diff := cmp.Diff(want, st.Rows("public.firehose_logs")); diff != "" {
			t.Errorf("%s: rows (-want +got):\n%s", name, diff)
		}
		for _, c := range st.Columns("public.firehose_logs") {
			if (c.Name == "logGroup" || c.Name == "logStream") != (c.Semantic == schema.Tag) {
				t.Errorf("%s: the column %s is a %s", name, c.Name, c.Semantic)
			}
		}
	}
}

func TestForms(t *testing.T) {
	at := time.UnixMilli(1720081858123).UTC()
	for _, c := range []struct {
		name string
		data []string
		rows []ingesttest.Row // without the arrival time
	}{
		{
			"JSON",
			[]string{`{"a":1,"timestamp":1720081858123}`, `{"time":"2024-07-04T08:30:58.123Z","@timestamp":"soon"}`},
			[]ingesttest.Row{
				{"svc_timestamp": at, "a": int64(1), "timestamp": int64(1720081858123)},
				{"svc_timestamp": at, "time": "2024-07-04T08:30:58.123Z", "@timestamp": "soon"},
			},
		},
		{"the first field wins", []string{`{"time":1,"@timestamp":1720081858123}`}, []ingesttest.Row{
			{"svc_timestamp": at, "time": int64(1), "@timestamp": int64(1720081858123)},
		}},
		{"NDJSON, values and arrays", []string{"{\"a\":1}\n{\"a\":2}{\"a\":3}\r\n[{\"a\":4}]\n"}, []ingesttest.Row{
			{"a": int64(1)}, {"a": int64(2)}, {"a": int64(3)}, {"a": int64(4)},
		}},
		{"text", []string{"one\r\n\n[x] two\n2024-01-01 three", "\"four\"", "five\xff"}, []ingesttest.Row{
			{"message": "one"},
			{"message": "[x] two"},
			{"message": "2024-01-01 three"},
			{"message": `"four"`},
			{"message": "five\uFFFD"},
		}},
		{"gzip", []string{gzipped("one\ntwo"), gzipped(`{"a":1}`)}, []ingesttest.Row{
			{"message": "one"}, {"message": "two"}, {"a": int64(1)},
		}},
		{"JSON among text", []string{"{\"a\":\n{\"a\":1}\nx {\"a\":2}"}, []ingesttest.Row{
			{"message": `{"a":`}, {"a": int64(1)}, {"message": `x {"a":2}`},
		}},
		{"nothing", []string{"", " \n"}, nil},
		{
			"years that cannot be stored",
			[]string{`{"time":"0001-01-01T00:00:00Z"}`, `{"time":"9999-12-31T23:59:59Z"}`},
			[]ingesttest.Row{{"time": "0001-01-01T00:00:00Z"}, {"time": "9999-12-31T23:59:59Z"}},
		},
	} {
		d, st := receiver(t)
		w := send(d, "/v1/firehose", request(c.data...))
		if check(t, w); w.Code != 200 {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
		got := st.Rows("public.firehose_logs")
		for _, row := range got {
			if time.Since(row["svc_timestamp"].(time.Time)) < time.Hour {
				delete(row, "svc_timestamp")
			}
		}
		if diff := cmp.Diff(c.rows, got); diff != "" {
			t.Errorf("%s: rows (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestCommonAttributes checks that some attributes select the destination of records, and that the others become fields
// of every record that lacks them.
func TestCommonAttributes(t *testing.T) {
	d, st := receiver(t)
	const header = `{"commonAttributes":{"db":"shop","table":"my table","env":"test","a":"x"}}`
	w := send(d, "/v1/firehose?event_time=off", request(`{"a":1}`, `{}`, "text", cloudwatch), headerCommon, header)
	if check(t, w); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var got []string
	for _, row := range st.Rows("shop.my_table") {
		got = append(got, fmt.Sprint(row["env"], row["a"], row["message"]))
		if time.Since(row["svc_timestamp"].(time.Time)) > time.Hour {
			t.Errorf("its time is %s", row["svc_timestamp"])
		}
	}
	// The first value of a is a number, so a text has another type than the column.
	want := []string{"test1 <nil>"}
	if diff := cmp.Diff(want, got); diff != "" || len(st.Rows("svc_private.rejects")) != 4 {
		t.Errorf("rows (-want +got):\n%s%v", diff, st.Rows("svc_private.rejects"))
	}
	if w := send(d, "/v1/firehose?table=t", request(`{}`, "text"), headerCommon, header); w.Code != 200 ||
		len(st.Rows("shop.t")) != 2 || st.Rows("shop.t")[1]["a"] != "x" || st.Rows("shop.t")[0]["env"] != "test" {
		t.Errorf("%d %s %v", w.Code, w.Body, st.Rows("shop.t"))
	}
	st.Put("p", "version: 2\nprocessors: [{vrl: {source: '. = {\"m\": .message}'}}]\n")
	if w := send(d, "/v1/firehose", request("text"), headerCommon,
		`{"commonAttributes":{"pipeline":"p"}}`); w.Code != 200 || st.Rows("public.firehose_logs")[0]["m"] != "text" {
		t.Errorf("%d %s %v", w.Code, w.Body, st.Rows("public.firehose_logs"))
	}
	many := strings.Repeat(`"k":"v",`, maxCommon+1)
	for _, bad := range []string{
		"x", "[]", `{"commonAttributes":1}`, `{"commonAttributes":{"a":1}}`,
		`{"commonAttributes":{` + many[:len(many)-1] + `}}`,
	} {
		if w := send(d, "/v1/firehose", request("text"), headerCommon, bad); w.Code != 400 ||
			!strings.Contains(check(t, w), headerCommon) {
			t.Errorf("%s: %d %s", bad, w.Code, w.Body)
		}
	}
}

// TestRepetition checks that a request that is delivered twice is stored once.
func TestRepetition(t *testing.T) {
	d, st := receiver(t)
	for range 3 {
		if w := send(d, "/v1/firehose", request(`{"a":1}`)); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if w := send(d, "/v1/firehose", request(`{"a":2}`)); w.Code != 200 { // the id alone does not identify a request
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if n := len(st.Rows("public.firehose_logs")); n != 2 {
		t.Errorf("%d rows", n)
	}
	d, st = receiver(t)
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(request("x"))) // the id is only in the body
	if w := receivertest.Serve(d.Deliver, Refuse, r); w.Code != 200 || check(t, w) != "" || len(st.Keys()) != 1 {
		t.Errorf("%d %s %v", w.Code, w.Body, st.Keys())
	}
}

// TestBadRecords checks that records that can never be stored are kept among the rejects, and that the other records
// are stored.
func TestBadRecords(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	packed := gzipped(strings.Repeat("a line of text\n", 100))
	for _, c := range []struct {
		name, body           string
		status, rows, reject int
	}{
		{"nothing", "", 400, 0, 0},
		{"no JSON", "hello", 400, 0, 0},
		{"half", request("a", "b")[:120], 400, 0, 0},
		{"no object", `[]`, 400, 0, 0},
		{"no records", `{"requestId":"` + requestID + `"}`, 400, 0, 0},
		{"records of another type", `{"records":{}}`, 400, 0, 0},
		{"an empty list", `{"records":[]}`, 200, 0, 0},
		{"an id of another type", `{"requestId":1,"records":[]}`, 200, 0, 0},
		{
			"records that are none", `{"records":[1,{},{"data":1},{"data":"%"},{"data":"eA=="},{"data":"eA==","data":"eA=="}]}`,
			200, 2, 4,
		},
		{"half a gzip", request(packed[:len(packed)/2], "x"), 200, 1, 1},
		{"an array of texts", request(`["a",{"b":1}]`), 200, 1, 1},
		{"events that are none", request(`{"messageType":"DATA_MESSAGE","logEvents":["a",1,{"message":"m"}]}`), 200, 1, 2},
		{"nested", request(deep, "x"), 200, 2, 0},
		{"another type", request(`{"a":1}`, `{"a":"x"}`), 200, 1, 1},
		{"not UTF-8 in the body", "{\"records\":[{\"data\":\"eA==\"}],\"\xff\":1}", 200, 1, 0},
		{"too large", request(strings.Repeat("x", receivertest.MaxBytes)), 413, 0, 0},
		{"a bomb", request(gzipped(strings.Repeat("x", 4*receivertest.MaxBytes))), 413, 0, 0},
		{"many records", `{"records":[` + strings.Repeat("{},", 20_000) + `{"data":"eA=="}]}`, 200, 1, 20_000},
	} {
		d, st := receiver(t)
		w := send(d, "/v1/firehose", c.body)
		if check(t, w); w.Code != c.status {
			t.Errorf("%s: %d %.200s", c.name, w.Code, w.Body)
		}
		rows, rejects := len(st.Rows("public.firehose_logs")), len(st.Rows("svc_private.rejects"))
		if rows != c.rows || rejects != c.reject {
			t.Errorf("%s: %d rows and %d rejects, want %d and %d", c.name, rows, rejects, c.rows, c.reject)
		}
	}
}

// TestRefusals checks that temporary refusals, including quotas, have the status 503.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
	}{
		{errs.New(errs.RateLimited, "too much"), 503},
		{errs.New(errs.StorageUnavailable, "busy"), 503},
		{errs.New(errs.Internal, "broken"), 503},
		{errs.New(errs.PermissionDenied, "not yours"), 403},
		{errs.New(errs.InvalidArguments, "wrong"), 400},
	} {
		d, st := receiver(t)
		st.Refuse("public.firehose_logs", c.err)
		w := send(d, "/v1/firehose", request("x"))
		if check(t, w); w.Code != c.status || (w.Header().Get("Retry-After") != "") != (c.status == 503) {
			t.Errorf("%v: %d %v %s", c.err, w.Code, w.Header(), w.Body)
		}
	}
}

func TestCredentials(t *testing.T) {
	for key, want := range map[string]string{
		"ann:secret": "ann:secret", "YW5uOnNlY3JldA==": "ann:secret", "0123": "0123", "": "",
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set(headerKey, key)
		if got := receivertest.Credentials(Credentials(r)); got != want {
			t.Errorf("%s: %q", key, got)
		}
	}
}

// FuzzRecords checks that every record is answered with 200, and that each of its lines becomes a row or a
// reject.
func FuzzRecords(f *testing.F) {
	f.Add(cloudwatch, "")
	f.Add(gzipped(cloudwatch), "text\n{\"a\":1}")
	f.Add("[1,{\"time\":1e300}]\n{", controlMessage)
	f.Add(`{"messageType":"x","logEvents":[[],{}],"a":{"b":1}}`, "\x1f\x8b\x08")
	f.Fuzz(func(t *testing.T, first, second string) {
		d, st := receiver(t)
		w := send(d, "/v1/firehose", request(first, second), headerCommon, `{"commonAttributes":{"env":"test"}}`)
		if w.Code == http.StatusBadRequest && strings.Contains(w.Body.String(), "columns") {
			return // exceeds the limits of a table
		}
		if w.Code != 200 && w.Code != 413 {
			t.Errorf("answer %d %s", w.Code, w.Body)
		}
		if w.Code == 200 && !strings.ContainsAny(first, "{[\x1f") {
			lines := len(strings.FieldsFunc(first, func(c rune) bool { return c == '\n' }))
			if n := len(st.Rows("public.firehose_logs")) + len(st.Rows("svc_private.rejects")); second == "" &&
				strings.TrimSpace(first) != "" && !strings.Contains(first, "\r") && n < lines-blank(first) {
				t.Errorf("%q: %d rows of %d lines", first, n, lines)
			}
		}
	})
}

// blank returns the number of lines that are empty or white space.
func blank(text string) (n int) {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == "" {
			n++
		}
	}
	return n
}

// FuzzBody checks that every body gets an answer.
func FuzzBody(f *testing.F) {
	f.Add(request(cloudwatch, "x"))
	f.Add(`{"records":[{"data":"\u0065A=="},1,{}],"requestId":null}`)
	f.Add(`{"records":[],"records":[{"data":"eA"}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		d, _ := receiver(t)
		if w := send(d, "/v1/firehose", body); w.Code != 200 && w.Code != 400 && w.Code != 413 {
			t.Errorf("answer %d %s", w.Code, w.Body)
		}
	})
}

// TestRepeatedGroup checks that a short record of CloudWatch Logs cannot become any number of bytes because its events
// repeat the name of their group.
func TestRepeatedGroup(t *testing.T) {
	d, st := receiver(t)
	// The events fail, so the rows of the test need no memory.
	group := `{"messageType":"DATA_MESSAGE","logGroup":"` + strings.Repeat("g", 8<<20) + `","logEvents":[` +
		strings.Repeat(`{"":1},`, 150) + `{"":1}]}`
	w := send(d, "/v1/firehose?on_reject=drop", request(gzipped(group)))
	if check(t, w); w.Code != 413 || len(st.Tables()) > 0 {
		t.Errorf("%d %.300s, tables %v", w.Code, w.Body, st.Tables())
	}
}
