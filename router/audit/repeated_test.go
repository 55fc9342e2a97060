package audit

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/access"
)

// kept collects entries.
type collected struct{ entries []Entry }

func (c *collected) Add(e Entry) { c.entries = append(c.entries, e) }

func wrongPassword(user, address string) Change {
	return Change{
		By:   &access.Caller{Sender: access.Sender{User: user}, Address: netip.MustParseAddr(address)},
		Need: access.Need{Action: SignIn},
		Err:  errs.New(errs.UserPasswordMismatch, "wrong").WithStatus(http.StatusUnauthorized),
	}
}

// TestRepeatedSignInsAreCounted lets a user fail to sign in 10,000 times: 10 records, and one with the number of the
// others. Users and addresses are counted separately, and also the changes of a user who is not limited.
func TestRepeatedSignInsAreCounted(t *testing.T) {
	sink := &collected{}
	l := New(slog.New(slog.DiscardHandler), sink)
	now := time.Unix(1000, 0)
	l.now = func() time.Time { return now }
	for range 10_000 {
		l.Record(t.Context(), wrongPassword("ann", "192.0.2.1"))
	}
	l.Record(t.Context(), wrongPassword("ann", "192.0.2.2"))
	l.Record(t.Context(), wrongPassword("bob", "192.0.2.1"))
	if n := len(sink.entries); n != 12 {
		t.Fatalf("%d records, want 10, and one for each other pair", n)
	}
	now = now.Add(repeatedWindow - 1)
	l.Flush(false)
	if n := len(sink.entries); n != 12 {
		t.Fatalf("%d records before the minute ends", n)
	}
	now = now.Add(1)
	l.Flush(false)
	last := sink.entries[len(sink.entries)-1]
	if len(sink.entries) != 13 || last.Outcome != Refused || last.Record.Principal != "ann" ||
		!strings.HasPrefix(last.Record.Message, "9990 more since ") {
		t.Fatalf("%d records, the last one %v", len(sink.entries), last.Record)
	}
	l.Record(t.Context(), wrongPassword("ann", "192.0.2.1"))
	if len(sink.entries) != 14 {
		t.Error("no record in the next minute")
	}
	made := Change{By: &access.Caller{Sender: access.Sender{User: "ann"}}, Need: access.Need{Action: "drop table"}}
	for range 500 {
		l.Record(t.Context(), made)
	}
	if n := len(sink.entries); n != 514 {
		t.Errorf("%d of 500 changes that were made are recorded", n-14)
	}
}

// TestFailuresOfTheServerAreRecorded repeats a change whose effect is not known: each one is recorded.
func TestFailuresOfTheServerAreRecorded(t *testing.T) {
	sink := &collected{}
	l := New(nil, sink)
	unsure := Change{
		By: &access.Caller{Sender: access.Sender{User: "ann"}}, Need: access.Need{Action: "delete"},
		Err: errs.New(errs.Internal, "the leader was lost"),
	}
	for range 500 {
		l.Record(t.Context(), unsure)
	}
	if n := len(sink.entries); n != 500 {
		t.Errorf("%d of 500 records", n)
	}
}

// TestManyNamesAreBounded tries more names than are counted: the records are bounded, and the others are counted.
func TestManyNamesAreBounded(t *testing.T) {
	sink := &collected{}
	l := New(slog.New(slog.DiscardHandler), sink)
	const n, each = maxRepeated + 5000, 100 // each address uses a window for itself, and one for each name
	for i := range n {
		l.Record(t.Context(), wrongPassword(fmt.Sprintf("u%d", i), fmt.Sprintf("192.0.2.%d", i/each)))
	}
	got := len(sink.entries)
	if got > maxRepeated+maxSignIns || got < maxRepeated-maxRepeated/each {
		t.Fatalf("%d records of %d names", got, n)
	}
	if len(l.repeated.byKey) > maxRepeated+1 {
		t.Errorf("%d keys are counted", len(l.repeated.byKey))
	}
	l.Flush(true)
	last := sink.entries[len(sink.entries)-1].Record
	if !strings.HasPrefix(last.Message, fmt.Sprintf("%d more of several users or addresses", n-got)) {
		t.Errorf("the last record: %v", last)
	}
}

// TestNamesOfAnAddressAreBounded tries thousands of names from one address: 300 records, and one with the number of the
// others. A user at another address is not affected.
func TestNamesOfAnAddressAreBounded(t *testing.T) {
	sink := &collected{}
	l := New(slog.New(slog.DiscardHandler), sink)
	for i := range 6000 {
		l.Record(t.Context(), wrongPassword(fmt.Sprintf("u%d", i), "192.0.2.1"))
	}
	if got := len(sink.entries); got != maxFailedSignIns {
		t.Fatalf("%d records of 6000 names", got)
	}
	if n := len(l.repeated.byKey); n > maxFailedSignIns+1 {
		t.Errorf("%d keys are counted", n)
	}
	l.Record(t.Context(), wrongPassword("ann", "192.0.2.2"))
	l.Flush(true)
	if got := len(sink.entries); got != maxFailedSignIns+2 {
		t.Fatalf("%d records with ann's", got)
	}
	last := sink.entries[maxFailedSignIns+1].Record
	if !strings.HasPrefix(last.Message, "5700 more of several users since ") {
		t.Errorf("the last record: %v", last)
	}
}

// TestRecordsAreBounded makes records of huge and strange texts.
func TestRecordsAreBounded(t *testing.T) {
	big := strings.Repeat("n\n\"\x00\xff", 300_000)
	c := Change{
		By: &access.Caller{Sender: access.Sender{User: big, Token: big, Proof: "password"}, RequestID: big},
		Need: access.Need{
			Action: "drop table", Object: access.Object{Kind: access.Table, Database: big, Name: big},
		},
		Statement: "CREATE USER x PASSWORD '" + big, Message: big,
	}
	r := c.record()
	if n := len(r.String()); n > 16<<10 {
		t.Errorf("the record has %d bytes", n)
	}
	if r.Statement != "CREATE USER x PASSWORD '…'" {
		t.Errorf("the statement is %.100q", r.Statement)
	}
	for _, s := range []string{r.Principal, r.Object, r.Database, r.TokenId, r.RequestId} {
		if len(s) > maxName || !strings.HasPrefix(s, "n\n") {
			t.Errorf("a name of %d bytes: %.20q", len(s), s)
		}
	}
}
