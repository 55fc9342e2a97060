package httpapi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
)

// suffixes returns a body whose records go to n different tables.
func suffixes(prefix string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"svc_table_suffix":"_%s%d","a":1}`, prefix, i)
	}
	return b.String()
}

// The number of tables whose names come from records is limited per request, and per user and minute.
func TestNewTablesAreBounded(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	f := newFixture(t, func(c *Config) {
		c.Auth, c.MaxNewTables, c.MaxNewTablesPerMinute = byUser{}, 10, 25
		c.Now = func() time.Time { return now }
	})
	send := func(user, body string) int { return f.ingest("", body, "Authorization", user).Code }
	text := checkError(t, f.ingest("", suffixes("a", 11), "Authorization", "rw"), 400, errs.InvalidArguments)
	if !strings.Contains(text, "10 new tables") || !strings.Contains(text, "--max-new-tables-per-request") ||
		f.writer.calls != 0 {
		t.Errorf("too many in a request: %s", text)
	}
	if w := f.ingest("&skip_error=true", suffixes("a", 11), "Authorization", "rw"); w.Code != 200 ||
		w.Header().Get("X-Svc-Skipped") != "1" {
		t.Errorf("records beyond the limit are skipped: %d %s", w.Code, w.Body)
	}
	if got := send("rw", suffixes("b", 10)); got != 200 {
		t.Fatalf("within the limits: %d", got)
	}
	w := f.ingest("", suffixes("c", 6), "Authorization", "rw")
	text = checkError(t, w, 429, errs.RateLimited)
	if !strings.Contains(text, "user rw created 20") || !strings.Contains(text, "--max-new-tables-per-minute") ||
		w.Header().Get("Retry-After") == "" {
		t.Errorf("too many in a minute: %s, %v", text, w.Header())
	}
	if got := send("wo", suffixes("d", 10)); got != 200 {
		t.Errorf("another user: %d", got)
	}
	now = now.Add(time.Minute)
	if got := send("rw", suffixes("c", 6)); got != 200 {
		t.Errorf("a minute later: %d", got)
	}
}

// wide returns a record of n fields whose names begin with prefix.
func wide(prefix string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%s%d":1`, prefix, i)
	}
	return "{" + b.String()[1:] + "}"
}

// The number of columns whose names come from records is limited per request and per table.
func TestNewColumnsAreBounded(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.MaxNewColumns, c.MaxMadeColumns = 10, 25 })
	text := checkError(t, f.ingest("", wide("a", 11)), 400, errs.InvalidArguments)
	if !strings.Contains(text, `one more than the 10 new columns`) ||
		!strings.Contains(text, "--max-new-columns-per-request") || f.writer.calls != 0 {
		t.Errorf("too many in a request: %s", text)
	}
	// The columns of a skipped record do not count for the request.
	body := wide("a", 11) + wide("b", 10)
	if w := f.ingest("&skip_error=true", body); w.Code != 200 || w.Header().Get("X-Svc-Skipped") != "1" {
		t.Errorf("records beyond the limit are skipped: %d %s", w.Code, w.Body)
	}
	if w := f.ingest("&skip_error=true", wide("a", 5)+wide("b", 6)); w.Code != 200 ||
		w.Header().Get("X-Svc-Skipped") != "1" {
		t.Errorf("records share the limit: %d %s", w.Code, w.Body)
	}
	f = newFixture(t, func(c *Config) { c.MaxMadeColumns = 25 })
	text = checkError(t, f.ingest("", wide("a", 25)), 400, errs.InvalidArguments)
	if !strings.Contains(text, "has 25 columns") || !strings.Contains(text, "ALTER TABLE") ||
		!strings.Contains(text, "--max-columns-by-ingestion") {
		t.Errorf("too many in a table: %s", text)
	}
	if w := f.ingest("", wide("a", 24)); w.Code != 200 { // plus the time index
		t.Errorf("within the limit: %d %s", w.Code, w.Body)
	}
}
