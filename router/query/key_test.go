package query

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/write"
)

func keyed(r *Request) { r.Key = write.Key{Text: "k", Body: 7} }

// TestInsertKeys checks that the rows of each INSERT of a text have a separate key with the user's name. The first has
// the key of the request, like a request of another kind.
func TestInsertKeys(t *testing.T) {
	w := newWorld(t)
	const text = "INSERT INTO logs (ts) VALUES (1); CREATE DATABASE IF NOT EXISTS shop; " +
		"INSERT INTO logs (ts) VALUES (1); INSERT INTO logs (ts) VALUES (1)"
	if _, err := w.run(by("ann", access.ReadWrite), text, keyed); err != nil {
		t.Fatal(err)
	}
	if len(w.writer.keys) != 3 {
		t.Fatalf("keys %+v", w.writer.keys)
	}
	if first := (write.Key{Text: "k", User: "ann", Body: 7}); w.writer.keys[0] != first {
		t.Errorf("the first key is %+v, want %+v", w.writer.keys[0], first)
	}
	seen := map[string]bool{}
	for _, key := range w.writer.keys {
		if seen[key.Text] || key.User != "ann" || key.Body != 7 {
			t.Errorf("keys %+v: want distinct keys of ann with the body's hash", w.writer.keys)
		}
		seen[key.Text] = true
	}
	// No client can give such a key.
	if !strings.Contains(w.writer.keys[1].Text, "\n") {
		t.Errorf("the key %q could be a client's", w.writer.keys[1].Text)
	}
	w.writer.keys = nil
	if _, err := w.run(by("ann", access.ReadWrite), "INSERT INTO logs (ts) VALUES (1)"); err != nil ||
		w.writer.keys[0] != (write.Key{}) {
		t.Errorf("without a key: %+v, %v", w.writer.keys, err)
	}
	w.writer.keys, w.writer.err = nil, &fakeChange{}
	_, _ = w.run(context.Background(), "INSERT INTO logs (ts) VALUES (1)", keyed)
	if len(w.writer.keys) != insertRounds || w.writer.keys[0] != w.writer.keys[insertRounds-1] {
		t.Errorf("rounds have the keys %+v, want the same", w.writer.keys)
	}
}

// fakeChange is the error of a writer that the table has changed.
type fakeChange struct{}

func (*fakeChange) Error() string { return "changed" }

func (*fakeChange) Unwrap() []error {
	return []error{write.ErrSchemaChanged, errs.New(errs.InvalidArguments, "changed")}
}

// TestUnknownAfterStatements checks that clients retry a request that failed with 503 and no reason, so such a request
// must not have stored rows by an earlier statement.
func TestUnknownAfterStatements(t *testing.T) {
	busy := errs.New(errs.ShardBusy, "full")
	for _, tt := range []struct {
		name, sql string
		err       error
		reason    errs.Reason
		status    int
	}{
		{"the first", "INSERT INTO logs (ts) VALUES (1)", busy, "", http.StatusServiceUnavailable},
		{
			"a later one", "INSERT INTO shop.gone VALUES (1); INSERT INTO logs (ts) VALUES (1)", busy,
			errs.OutcomeUnknown, http.StatusServiceUnavailable,
		},
		{"after one without rows", "SHOW TABLES; INSERT INTO logs (ts) VALUES (1)", busy, "", http.StatusServiceUnavailable},
		{
			"a mistake", "INSERT INTO shop.gone VALUES (1); INSERT INTO logs (ts) VALUES (1)",
			errs.New(errs.InvalidArguments, "no"), "", http.StatusBadRequest,
		},
		{
			"unknown itself", "INSERT INTO shop.gone VALUES (1); INSERT INTO logs (ts) VALUES (1)",
			busy.WithReason(errs.OutcomeUnknown), errs.OutcomeUnknown, http.StatusServiceUnavailable,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.writer.err = tt.err // shop.gone discards its rows
			_, err := w.run(t.Context(), tt.sql)
			if errs.ReasonOf(err) != tt.reason || errs.From(err).Status() != tt.status {
				t.Errorf("%v: reason %q, status %d; want %q, %d", err, errs.ReasonOf(err), errs.From(err).Status(),
					tt.reason, tt.status)
			}
		})
	}
}
