package chaos

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// A run counts only if the load before the first fault is at least this heavy.
const (
	validRows = 1000
	validRate = 100 // per second
)

// Warm waits until the load is heavy enough for a run to count.
func (l *Load) Warm(t testing.TB) {
	t.Helper()
	l.AwaitAcked(t, validRows)
	from, begin := l.Acked(), time.Now()
	l.AwaitAcked(t, validRows/2)
	rate := float64(l.Acked()-from) / time.Since(begin).Seconds()
	t.Logf("%d rows acknowledged, %.0f a second", l.Acked(), rate)
	if rate < validRate && long() {
		t.Fatalf("only %.0f rows a second are acknowledged before the first fault, want %d: this run would show "+
			"nothing", rate, validRate)
	}
}

// Fault records the start of a fault.
func (l *Load) Fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, breakage{time.Now(), fmt.Sprintf(format, args...)})
}

// Gaps returns, for each fault, the longest wait of any writer between it and the next fault,
// sorted.
func (l *Load) Gaps() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []time.Duration
	for i, f := range l.faults {
		end := time.Now()
		if i+1 < len(l.faults) {
			end = l.faults[i+1].at
		}
		longest := time.Duration(0)
		for _, g := range l.gaps {
			if g.to.After(f.at) && g.from.Before(end) {
				longest = max(longest, g.to.Sub(g.from))
			}
		}
		out = append(out, longest)
	}
	slices.Sort(out)
	return out
}

// Report logs the measured times. In the long form it fails the test if writes stopped for longer than p99 and most;
// 0 means no limit.
func (l *Load) Report(t testing.TB, p99, most time.Duration) {
	t.Helper()
	gaps := l.Gaps()
	t.Logf("%d rows acknowledged in %s, %d faults, answers %v", l.Acked(), time.Since(l.began).Round(time.Second),
		len(gaps), l.Answers())
	if len(gaps) == 0 {
		return
	}
	got99, gotMost := gaps[(len(gaps)*99+99)/100-1], gaps[len(gaps)-1]
	t.Logf("longest wait of a writer, by fault: median %s, p99 %s, most %s",
		gaps[len(gaps)/2].Round(time.Millisecond), got99.Round(time.Millisecond), gotMost.Round(time.Millisecond))
	if !long() {
		return
	}
	if p99 > 0 && got99 > p99 {
		t.Errorf("writes stopped for %s (p99), want at most %s", got99, p99)
	}
	if most > 0 && gotMost > most {
		t.Errorf("writes stopped for %s, want at most %s", gotMost, most)
	}
}
