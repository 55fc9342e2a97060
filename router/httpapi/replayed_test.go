package httpapi

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/pipeline"
	"cordwood/router/write"
)

// TestReplayedAreNoted checks that stored records of a request are noted after their rows are stored, with a separate
// key. Records that fail again are not noted.
func TestReplayedAreNoted(t *testing.T) {
	var writes []string
	f := newFixture(t, func(c *Config) { c.Auth = byUser{} })
	f.writer.answer = func(_ context.Context, _ int, out *pipeline.Output) (write.Result, error) {
		for _, table := range out.Tables {
			text := table.Database + "." + table.Table
			for _, c := range table.Rows.Cols() {
				for row := range table.Rows.Rows() {
					if c.Name == "id" {
						text += " " + string(c.Bytes(row))
					}
				}
			}
			writes = append(writes, fmt.Sprintf("%s %q", text, f.writer.key.Text))
		}
		return write.Result{}, nil
	}
	w := f.ingest("&skip_error=true&on_reject=drop", `[{"a":1},7,{"a":2}]`, "Authorization", "rw", "Idempotency-Key", "k",
		"X-Svc-Replayed", "x, y,z")
	if got := strings.Join(writes, "; "); w.Code != 200 || got != `public.t "k"; svc_private.replayed x z "k\nreplayed"` {
		t.Errorf("%d %s: wrote %s", w.Code, w.Body, got)
	}
	if f.writer.key.User != "\nreplayed" {
		t.Errorf("the key belongs to user %q, so another user who replays the record stores it again", f.writer.key.User)
	}
	if f.writer.key.Params != 0 {
		t.Error("the key depends on the parameters, so the record is refused when another pipeline sends it again")
	}
	writes = nil
	w = f.ingest("&skip_error=true&on_reject=store", `[7,{"a":2}]`, "Authorization", "rw", "Idempotency-Key", "k",
		"X-Svc-Replayed", "x,y")
	if got := strings.Join(writes, "; "); w.Code != 200 ||
		got != `public.t "k"; svc_private.rejects "k"; svc_private.replayed x y "k\nreplayed"` {
		t.Errorf("a record that is kept again: %d %s: wrote %s, want the old reject noted too", w.Code, w.Body, got)
	}
}

// TestReplayedWhole checks that, if a replayed record becomes several rows and one of them fails, no row of the record
// is stored, even if the record is not kept again.
func TestReplayedWhole(t *testing.T) {
	f := newPipelineFixture(t)
	const source = "processors: [{vrl: {source: '.rows'}}]\ntransform: [{field: n, type: int8}]\n"
	f.put(t, "many", source)
	rows := 0
	f.writer.answer = func(_ context.Context, _ int, out *pipeline.Output) (write.Result, error) {
		for _, table := range out.Tables {
			rows += table.Rows.Rows()
		}
		return write.Result{}, nil
	}
	const query = "/v1/ingest?table=t&pipeline_name=many&skip_error=true&on_reject=drop"
	w := f.call("POST", query, `{"rows":[{"n":40},{"n":"y"},{"n":60}]}`, "Content-Type", "application/x-ndjson",
		"Idempotency-Key", "k", "X-Svc-Replayed", "x")
	if w.Code != 200 || rows != 0 {
		t.Errorf("%d %s: %d rows and notes of a record that failed again are stored, want 0", w.Code, w.Body, rows)
	}
}

// TestReplayedRefused checks that a request with wrong ids, or of a user who may only ingest, stores nothing.
func TestReplayedRefused(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Auth = byUser{} })
	for _, tt := range []struct {
		name, user, key, ids string
		status               int
		code                 errs.Code
	}{
		{"too few ids", "rw", "k", "x,y", 400, errs.InvalidArguments},
		{"one id for all", "rw", "k", "x", 400, errs.InvalidArguments},
		{"no key", "rw", "", "x,y,z", 400, errs.InvalidArguments},
		{"an empty id", "rw", "k", "x,,z", 400, errs.InvalidArguments},
		{"a long id", "rw", "k", "x,y," + strings.Repeat("z", 65), 400, errs.InvalidArguments},
		{"many ids", "rw", "k", strings.Repeat("x,", 1000) + "x", 400, errs.InvalidArguments},
		{"a user who may not delete", "wo", "k", "x,y,z", 403, errs.PermissionDenied},
	} {
		headers := []string{"Authorization", tt.user, "X-Svc-Replayed", tt.ids}
		if tt.key != "" {
			headers = append(headers, "Idempotency-Key", tt.key)
		}
		checkError(t, f.ingest("", `[{"a":1},{"a":2},{"a":3}]`, headers...), tt.status, tt.code)
	}
	if f.writer.calls != 0 {
		t.Errorf("%d writes", f.writer.calls)
	}
}

// TestReplayedNotNoted checks that, if the rows of a request are stored but the note is not, the client must send the
// request again.
func TestReplayedNotNoted(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Auth = byUser{} })
	f.writer.answer = func(_ context.Context, call int, _ *pipeline.Output) (write.Result, error) {
		if call%2 == 0 {
			return write.Result{}, errs.New(errs.ShardBusy, "full")
		}
		return write.Result{}, nil
	}
	w := f.ingest("", `{"a":1}`, "Authorization", "rw", "Idempotency-Key", "k", "X-Svc-Replayed", "x")
	if w.Code != 503 || w.Header().Get(exchange.HeaderOutcome) != "unknown" || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}
