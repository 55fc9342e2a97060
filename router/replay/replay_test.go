package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/proto/rights"
)

// fake is a server with rejects. It refuses records that contain "bad".
type fake struct {
	mu      sync.Mutex
	rejects []Reject
	none    bool                  // the table of rejects does not exist
	noted   map[string]bool       // ids of records that are stored
	stored  map[string]int        // the number of times each line was stored
	first   map[Destination]int   // records that are stored or being stored, by destination
	alone   map[Destination]bool  // whether the first record was sent alone
	broken  map[Destination]error // the result of Store
}

func newFake(records ...string) *fake {
	f := &fake{
		noted: map[string]bool{}, stored: map[string]int{}, first: map[Destination]int{}, alone: map[Destination]bool{},
	}
	for i, r := range records {
		f.rejects = append(f.rejects, Reject{
			At: time.Unix(1, 0).UTC(), DB: "public", Table: "t", Pipeline: "p", Index: int64(i), Kind: "parse", Format: "json",
			Record: r,
		})
	}
	return f
}

func (f *fake) Rows(_ context.Context, sql string) (io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	switch {
	case f.none:
		return nil, nil
	case strings.HasPrefix(sql, "SELECT count(*)"):
		fmt.Fprintf(&out, "{\"n\":%d}\n", len(f.rejects))
	case strings.HasPrefix(sql, "SELECT id "):
		for id := range f.noted {
			if strings.Contains(sql, rights.QuoteText(id)) {
				fmt.Fprintf(&out, "{\"id\":%q}\n", id)
			}
		}
	default:
		for i := range f.rejects {
			_ = enc.Encode(&f.rejects[i])
		}
	}
	return io.NopCloser(&out), nil
}

func (f *fake) Store(_ context.Context, r *Record) (Outcome, error) {
	f.mu.Lock()
	f.first[r.To]++
	alone := f.alone[r.To]
	n := f.first[r.To]
	f.mu.Unlock()
	if !alone && n > 1 {
		return Outcome{}, errors.New("a second record was sent before the first one had created the table")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.alone[r.To] = true
	if err := f.broken[r.To]; err != nil {
		return Outcome{}, err
	}
	if strings.Contains(string(r.Line), "bad") {
		return Outcome{Failed: "it is bad"}, nil
	}
	f.noted[r.ID] = true
	f.stored[strings.TrimSpace(string(r.Line))]++
	return Outcome{Rows: 1}, nil
}

func (f *fake) Try(_ context.Context, _ Destination, lines []byte) (failed int64, reasons []string, err error) {
	for range strings.Count(string(lines), "bad") {
		reasons = append(reasons, "it is bad")
	}
	return int64(len(reasons)), reasons, nil
}

func run(t *testing.T, f *fake, req Request) End {
	t.Helper()
	if err := req.Check(); err != nil {
		t.Fatal(err)
	}
	end, err := NewJob(&req, f, nil).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if end.Done != end.Stored+end.Failed+end.Before+end.Untried+end.Forbidden {
		t.Errorf("the counts of %+v do not add up", end)
	}
	return end
}

func TestReplay(t *testing.T) {
	records := make([]string, 0, 1003)
	for i := range 1000 {
		records = append(records, fmt.Sprintf(`{"n":%d}`, i))
	}
	records = append(records, `{"bad":1}`, `{"bad":2}`, ` `)
	f := newFake(records...)
	dry := run(t, f, Request{DryRun: true})
	if dry.Stored != 1000 || dry.Failed != 3 || len(f.stored) != 0 || dry.Of != 1003 {
		t.Errorf("dry run: %+v, %d stored", dry, len(f.stored))
	}
	if got := run(t, f, Request{Limit: 10}); got.Stored != 10 || got.Of != 10 {
		t.Errorf("limit: %+v", got)
	}
	got := run(t, f, Request{})
	if got.Stored != 990 || got.Before != 10 || got.Failed != 3 || got.Rows != 990 {
		t.Errorf("all: %+v", got)
	}
	if len(got.Reasons) != 2 || got.Reasons[0].Count+got.Reasons[1].Count != 3 {
		t.Errorf("reasons: %+v", got.Reasons)
	}
	if again := run(t, f, Request{}); again.Stored != 0 || again.Before != 1000 {
		t.Errorf("a second time: %+v", again)
	}
	for line, n := range f.stored {
		if n != 1 {
			t.Fatalf("%s is stored %d times", line, n)
		}
	}
	if again := run(t, f, Request{Again: true}); again.Stored != 1000 {
		t.Errorf("with Again: %+v", again)
	}
}

// TestForbidden checks that records whose senders may not store them are sent only if the request selects them.
func TestForbidden(t *testing.T) {
	f := newFake("{}", `{"n":1}`, `{"n":2}`)
	f.rejects[1].Kind = "permission"
	var ids IDs
	ids.Of(&f.rejects[0])
	id := ids.Of(&f.rejects[1])
	for _, dry := range []bool{true, false} {
		got := run(t, f, Request{DryRun: dry})
		if got.Stored != 2 || got.Forbidden != 1 || got.Done != 3 || got.Of != 3 || len(f.stored) > 2 {
			t.Errorf("dry run %t: %+v", dry, got)
		}
	}
	if got := run(t, f, Request{IDs: []string{id}}); got.Stored != 1 || got.Forbidden != 0 {
		t.Errorf("by its id: %+v", got)
	}
	f = newFake("{}")
	f.rejects[0].Kind = "permission"
	if got := run(t, f, Request{Kind: "permission"}); got.Stored != 1 || got.Forbidden != 0 {
		t.Errorf("by its kind: %+v", got)
	}
}

// Identical records have different ids, and a request can select records by id.
func TestIDs(t *testing.T) {
	f := newFake("{}", "{}", "{}")
	for i := range f.rejects {
		f.rejects[i].Index = 0
	}
	var ids IDs
	seen := map[string]bool{}
	var last string
	for i := range f.rejects {
		last = ids.Of(&f.rejects[i])
		seen[last] = true
	}
	if len(seen) != 3 {
		t.Fatalf("%d ids of 3 records", len(seen))
	}
	got := run(t, f, Request{IDs: []string{last}, ToPipeline: "svc_identity", ToTable: "other"})
	if got.Stored != 1 || got.Of != 1 || !f.noted[last] {
		t.Errorf("one by its id: %+v", got)
	}
	if f.first[Destination{DB: "public", Table: "other", Pipeline: "svc_identity", Format: "json"}] != 1 {
		t.Errorf("it went to %v", f.first)
	}
}

func TestNoRejects(t *testing.T) {
	f := newFake()
	f.none = true
	if got := run(t, f, Request{}); got.Until != nil || got.Of != 0 {
		t.Errorf("without a table: %+v", got)
	}
}

// A record that cannot be sent ends the replay, which reports its progress up to then.
func TestReplayEnds(t *testing.T) {
	f := newFake("{}", "{}")
	to := Destination{DB: "public", Table: "t", Pipeline: "p", Format: "json"}
	f.broken = map[Destination]error{to: errors.New("the disk is full")}
	end, err := NewJob(&Request{}, f, nil).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "to table t through p: the disk is full") || !end.End ||
		end.Until == nil {
		t.Errorf("%+v, %v", end, err)
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		req  Request
		want string
	}{
		{Request{Kind: "procesor"}, "kind procesor: use "},
		{Request{OnReject: "keep"}, "use drop or store"},
		{Request{Limit: -1}, "want 0 or more"},
		{Request{Since: "soon"}, `since: "soon" is not a time`},
		{Request{IDs: make([]string, MaxIDs+1)}, "at most 1000"},
		{Request{ToTable: "9"}, "9"},
	} {
		if err := tt.req.Check(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %s", tt.req, err, tt.want)
		}
	}
	req := Request{Pipeline: "a'b", Until: "2024-07-04T08:31:00.5Z"}
	where, err := req.Where()
	want := "true AND pipeline = 'a''b' AND rejected_at < TIMESTAMP_NS '2024-07-04 08:31:00.500000000'"
	if where != want || err != nil {
		t.Errorf("%s, %v", where, err)
	}
}
