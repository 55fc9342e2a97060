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
	if w.Code != 200 || body == 0 || f.writer.key != (write.Key{Text: "8e03978e-40d5", User: "rw", Body: body}) {
		t.Fatal(w.Code, w.Body, f.writer.key)
	}
	if f.ingest("", `{"a":2}`, "Authorization", "rw", "Idempotency-Key", "8e03978e-40d5"); f.writer.key.Body == body {
		t.Error("another body has the same hash")
	}
	if f.ingest("", `{"a":1}`, "Authorization", "rw"); f.writer.key != (write.Key{}) {
		t.Error(f.writer.key)
	}
	for name, keys := range map[string][]string{
		"empty": {""}, "two": {"a", "b"}, "too long": {strings.Repeat("x", 256)}, "not printable": {"a\x01b"}, "not ASCII": {"ü"},
	} {
		headers := []string{"Authorization", "rw"}
		for _, k := range keys {
			headers = append(headers, "Idempotency-Key", k)
		}
		calls := f.writer.calls
		if text := checkError(t, f.ingest("", `{"a":1}`, headers...), 400, errs.InvalidArguments); !strings.Contains(text, "Idempotency-Key") || f.writer.calls != calls {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// unread fails the test when it is read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// TestIngestOfABusyTable: it is refused before the body is read.
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
