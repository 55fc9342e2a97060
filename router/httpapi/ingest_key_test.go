package httpapi

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/router/write"
)

func TestIngestKey(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Auth = byUser{} })
	w := f.ingest("", `{"a":1}`, "Authorization", "rw", "Idempotency-Key", " 8e03978e-40d5 ")
	body := f.writer.key.Body
	if w.Code != 200 || body == 0 ||
		f.writer.key != (write.Key{Text: "8e03978e-40d5", User: "rw", Body: body, Params: f.writer.key.Params}) {
		t.Fatal(w.Code, w.Body, f.writer.key)
	}
	if f.ingest("", `{"a":2}`, "Authorization", "rw", "Idempotency-Key", "8e03978e-40d5"); f.writer.key.Body == body {
		t.Error("another body has the same hash")
	}
	if f.ingest("", `{"a":1}`, "Authorization", "rw"); f.writer.key != (write.Key{}) {
		t.Error(f.writer.key)
	}
	for name, keys := range map[string][]string{
		"empty": {""}, "two": {"a", "b"}, "too long": {strings.Repeat("x", 256)}, "not printable": {"a\x01b"},
		"not ASCII": {"ü"},
	} {
		headers := []string{"Authorization", "rw"}
		for _, k := range keys {
			headers = append(headers, "Idempotency-Key", k)
		}
		calls := f.writer.calls
		if text := checkError(t, f.ingest("", `{"a":1}`, headers...), 400, errs.InvalidArguments); !strings.Contains(text,
			"Idempotency-Key") || f.writer.calls != calls {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestIngestKeyKnowsParameters checks that the hash of the parameters differs if and only if the parameters produce
// other rows from the same body or store them in another table.
func TestIngestKeyKnowsParameters(t *testing.T) {
	f := newFixture(t)
	send := func(more string, headers ...string) write.Key {
		t.Helper()
		f.writer.key = write.Key{}
		if len(headers) == 0 || headers[0] != "Content-Type" {
			headers = append([]string{"Content-Type", "application/json"}, headers...)
		}
		if w := f.call("POST", ingestURL+more, `{"a":1}`, append(headers, "Idempotency-Key", "k")...); w.Code != 200 ||
			f.writer.key.Text != "k" {
			t.Fatalf("%s %q: %d %s", more, headers, w.Code, w.Body)
		}
		return f.writer.key
	}
	base := send("")
	if base.Params == 0 {
		t.Fatal("there is no hash of the parameters")
	}
	seen := map[uint64]string{base.Params: "none"}
	for _, c := range []struct {
		name, more string
		headers    []string
	}{
		{"text", "", []string{"Content-Type", "text/plain"}},
		{"NDJSON", "", []string{"Content-Type", "application/x-ndjson"}},
		{"skip_error", "&skip_error=true", nil},
		{"ignore_errors", "&ignore_errors=true", nil},
		{"max_nested_levels", "", []string{"x-svc-pipeline-params", "max_nested_levels=3"}},
		{"version", "&version=2026-01-01%2000:00:00", nil},
		{"custom_time_index", "&custom_time_index=a;epoch;s", nil},
		{"hint", "", []string{"x-svc-hints", "ttl=7d"}},
		{"hint of another value", "", []string{"x-svc-hints", "ttl=8d"}},
		{"hints", "", []string{"x-svc-hints", "ttl=7d,comment=x"}},
	} {
		key := send(c.more, c.headers...)
		if other, same := seen[key.Params]; same || key.Body != base.Body {
			t.Errorf("%s and %s have the same hash", c.name, other)
		}
		seen[key.Params] = c.name
	}
	for name, key := range map[string]write.Key{
		"the same": send(""), "the default said": send("&skip_error=false"), "the database said": send("&db=public"),
		"a charset":               send("", "Content-Type", "application/json; charset=utf-8"),
		"what becomes of rejects": send("&on_reject=store"),
	} {
		if key != base {
			t.Errorf("%s: another hash", name)
		}
	}
	if a, b := send("", "x-svc-hints", "ttl=7d,comment=x"), send("", "x-svc-hints", "comment=x,ttl=7d"); a != b {
		t.Error("hints in another order have another hash")
	}
}

// unread is a body that fails the test when it is read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// TestIngestOfABusyTable checks that requests for a busy table are refused before the body is read.
func TestIngestOfABusyTable(t *testing.T) {
	f := newFixture(t)
	r := httptest.NewRequest("POST", "/v1/ingest?table=pressed&pipeline_name=svc_identity", unread{t})
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.Handler().ServeHTTP(w, r)
	checkError(t, w, 503, errs.ShardBusy)
	if f.writer.calls != 0 {
		t.Error("it was written")
	}
}
