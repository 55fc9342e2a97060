package worker

import (
	"maps"
	"os"
	"testing"
	"time"

	"cordwood/proto/turns"
	"cordwood/shard/query"
)

// TestCPUIsDivided: the time of a process counts for the databases whose queries run, and is forgotten after a minute.
func TestCPUIsDivided(t *testing.T) {
	now, total := time.Unix(1_000_000, 0), time.Hour
	u := newCPUUsage(func() time.Time { return now })
	m := cpuMeter{usage: u, last: total, read: func() (time.Duration, bool) { return total, true }}
	use := func(d time.Duration) { total += d; now = now.Add(d) }
	want := func(what string, want map[string]time.Duration) {
		t.Helper()
		if got := u.lastMinute(); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	use(time.Second) // nobody's
	m.begin("a")
	use(2 * time.Second)
	m.begin("b")
	m.begin("b")
	m.begin("") // a statement that is parsed
	use(4 * time.Second)
	m.charge()
	want("while they run", map[string]time.Duration{"a": 3 * time.Second, "b": 2 * time.Second})
	m.end("a")
	use(3 * time.Second)
	m.end("b")
	m.end("")
	use(time.Second)
	m.end("b")
	use(time.Second)
	m.charge()
	want("at the end", map[string]time.Duration{"a": 3 * time.Second, "b": 5 * time.Second})
	now = now.Add(55 * time.Second)
	want("after a minute", map[string]time.Duration{"b": 3 * time.Second})
	now = now.Add(time.Hour)
	want("after an hour", map[string]time.Duration{})
	if len(u.of) != 0 || len(m.running) != 0 || m.n != 0 {
		t.Errorf("%d databases and %d queries are left", len(u.of), m.n)
	}
}

// TestClockIsSetBack: time that was used before the clock was set back is forgotten after a minute too.
func TestClockIsSetBack(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	u := newCPUUsage(func() time.Time { return now })
	u.add("a", 9*time.Second)
	now = now.Add(-time.Hour)
	u.add("a", time.Second)
	if got := u.lastMinute()["a"]; got != 10*time.Second {
		t.Errorf("%s after the clock was set back, want 10s", got)
	}
	now = now.Add(time.Minute)
	if got := u.lastMinute(); len(got) != 0 {
		t.Errorf("%v a minute later", got)
	}
}

// TestChargedWithoutTables: a query without tables counts for the database that it names, and parsing for none.
func TestChargedWithoutTables(t *testing.T) {
	x := &exchange{ctx: turns.WithDatabase(t.Context(), "app"), query: &query.Request{}}
	if got := x.charged(); got != "" {
		t.Errorf("parsing is charged to %q", got)
	}
	x.emit = func([]byte) error { return nil }
	if got := x.charged(); got != "app" {
		t.Errorf("a query without tables is charged to %q", got)
	}
}

// TestProcessCPU: the clock of a process counts its CPU time. No process has a number as high as 2²³.
func TestProcessCPU(t *testing.T) {
	begin, ok := processCPU(os.Getpid())
	if !ok {
		t.Fatal("the clock of this process cannot be read")
	}
	for end := begin; end < begin+20*time.Millisecond; {
		if end, ok = processCPU(os.Getpid()); !ok {
			t.Fatal("the clock of this process cannot be read")
		}
	}
	if _, ok := processCPU(1 << 23); ok {
		t.Error("a process that does not exist has a clock")
	}
}
