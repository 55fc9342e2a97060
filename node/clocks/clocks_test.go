package clocks

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"cordwood/proto/metapb"
)

// metadata returns the clocks of nodes, their errors, and the ages of their reports.
type metadata struct {
	now     func() time.Time
	off     map[string]time.Duration
	down    map[string]bool
	unfresh error
}

func (m *metadata) Fresh(context.Context) error { return m.unfresh }

func (m *metadata) Status(context.Context) (*metapb.StatusResponse, error) {
	r := &metapb.StatusResponse{}
	for id, off := range m.off {
		n := &metapb.NodeStatus{Node: &metapb.Node{Id: id}, SilentNanos: int64(time.Second)}
		n.Report = &metapb.ReportRequest{TimeUnixNano: m.now().Add(off - time.Second).UnixNano()}
		if m.down[id] {
			n.Report, n.Down = nil, true
		}
		r.Nodes = append(r.Nodes, n)
	}
	return r, nil
}

func TestAgreed(t *testing.T) {
	const year = 365 * 24 * time.Hour
	day := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	unknown := time.Duration(-1 << 62)
	for _, c := range []struct {
		name string
		off  map[string]time.Duration
		down map[string]bool
		want time.Duration
	}{
		{"alone", map[string]time.Duration{"me": year}, nil, year},
		{"two, the earlier one", map[string]time.Duration{"me": year, "b": 0}, nil, 0},
		{"this one is ahead", map[string]time.Duration{"me": year, "b": 0, "c": time.Second}, nil, time.Second},
		{"this one is behind", map[string]time.Duration{"me": -year, "b": 0, "c": time.Second}, nil, 0},
		{"another one is behind", map[string]time.Duration{"me": 0, "b": -year, "c": time.Second}, nil, 0},
		{"one is down", map[string]time.Duration{"me": year, "b": 0, "c": 0}, map[string]bool{"c": true}, 0},
		{
			"most are down",
			map[string]time.Duration{"me": year, "b": 0, "c": 0},
			map[string]bool{"b": true, "c": true},
			unknown,
		},
		{"half are down", map[string]time.Duration{"me": year, "b": 0}, map[string]bool{"b": true}, unknown},
	} {
		elapsed := time.Duration(0)
		m := &metadata{now: func() time.Time { return day.Add(elapsed) }, off: c.off, down: c.down}
		k, err := New(Config{
			Meta: m, NodeID: "me", Now: func() time.Time {
				return m.now().Add(c.off["me"])
			}, Monotonic: func() time.Duration { return elapsed },
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Agreed(t.Context()); err == nil {
			t.Errorf("%s: a time is known before any request", c.name)
		}
		k.ask(t.Context())
		elapsed = 30 * time.Second
		got, err := k.Agreed(t.Context())
		if (err != nil) != (c.want == unknown) || err == nil && !got.Equal(day.Add(c.want+elapsed)) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, day.Add(c.want+elapsed))
		}
		m.unfresh = errors.New("the metadata do not answer")
		k.ask(t.Context())
		if _, again := k.Agreed(t.Context()); (again != nil) != (err != nil) {
			t.Errorf("%s: the time of half a minute ago is no longer known: %v", c.name, again)
		}
		elapsed = 2 * time.Minute
		if _, err := k.Agreed(t.Context()); err == nil {
			t.Errorf("%s: an answer of two minutes ago is used", c.name)
		}
	}
}

// TestSeen checks that the next process reads the recorded time of the clock, unless this process
// started with a clock far ahead of it.
func TestSeen(t *testing.T) {
	day := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	file := filepath.Join(t.TempDir(), "CLOCK")
	start := func(at time.Time, up time.Duration) time.Time {
		t.Helper()
		elapsed := time.Duration(0)
		now := func() time.Time { return at.Add(elapsed) }
		k, err := New(Config{
			Meta: &metadata{now: now, off: map[string]time.Duration{"me": 0}}, NodeID: "me", File: file, Now: now,
			Monotonic: func() time.Duration { return elapsed },
		})
		if err != nil {
			t.Fatal(err)
		}
		elapsed = up
		k.ask(t.Context())
		return k.Seen()
	}
	for i, c := range []struct {
		at   time.Time
		up   time.Duration
		want time.Time // the time that the previous process recorded
	}{
		{day, time.Minute, time.Time{}},
		{day.AddDate(1, 0, 0), time.Minute, day.Add(time.Minute)}, // is not recorded
		{day.Add(time.Hour), time.Minute, day.Add(time.Minute)},
		{day.AddDate(1, 0, 0), 2 * time.Hour, day.Add(time.Hour + time.Minute)}, // is recorded
		{day, 0, day.AddDate(1, 0, 0).Add(2 * time.Hour)},
		{day, 0, day},
	} {
		if got := start(c.at, c.up); !got.Equal(c.want) {
			t.Errorf("start %d: the clock was seen at %v, want %v", i, got, c.want)
		}
	}
}
