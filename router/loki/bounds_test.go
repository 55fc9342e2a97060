package loki

import (
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/router/loki/lines"
	"cordwood/router/loki/translate"
)

// A query of one step may have millions of numbers, but not millions of series with long labels.
func TestSeriesAreBounded(t *testing.T) {
	for length, most := range map[int]int{0: 600_000, 1000: 120_000, 1 << 20: 200} {
		e, key := &tally{}, strings.Repeat("x", length)
		n := 0
		for e.count(key, 1) == nil {
			if n++; n > most {
				t.Fatalf("more than %d series with labels of %d bytes", most, length)
			}
		}
		if err := e.count(key, 1); errs.CodeOf(err) != errs.InvalidArguments || !strings.Contains(err.Error(), "MiB") {
			t.Error(err)
		}
	}
	e := &tally{}
	for range 200 {
		if err := e.count("x", 10_000); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.count("x", 10_000); err == nil || !strings.Contains(err.Error(), "maximum number of series (200)") {
		t.Error(err)
	}
}

// TestStoredEntriesArriveOnce checks that a tail drops a new entry only as often as it has sent the same one as stored.
func TestStoredEntriesArriveOnce(t *testing.T) {
	sent := 0
	h := &handover{opened: make(chan struct{}), take: func(list []*lines.Entry) error {
		sent += len(list)
		return nil
	}}
	entry := func(nanos int64) *lines.Entry { return &lines.Entry{Nanos: nanos, Line: "a"} }
	if err := h.open([]*lines.Entry{entry(1), entry(1), entry(2)}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{3, 3, 4, 4, 5} { // entries of the times 1, 1, 1, 2 and 3
		if err := h.fresh(t.Context(), []*lines.Entry{entry([]int64{1, 1, 1, 2, 3}[i])}); err != nil || sent != want {
			t.Errorf("after new entry %d there are %d entries, want %d: %v", i, sent, want, err)
		}
	}
	if len(h.seen) != 0 {
		t.Errorf("%d keys are left", len(h.seen))
	}
}

// TestAttributesWithOneLabel checks which of two attributes is used if their names become the same label: it must
// always be the same attribute.
func TestAttributesWithOneLabel(t *testing.T) {
	for range 50 {
		e := &lines.Entry{Metadata: map[string]string{}}
		attributes(`{"a_b":"2","a.b":"1","a-b":"0"}`, e)
		if got := e.Metadata["a_b"]; got != "0" {
			t.Fatalf("the label is %q", got)
		}
	}
}

// TestMemoryOfAllQueries checks that metric queries share memory, and that small ones need none of it.
func TestMemoryOfAllQueries(t *testing.T) {
	all := &shared{most: 10 << 20}
	start := func() *evaluator { return &evaluator{steps: translate.Steps{N: 1}, memory: all.holding()} }
	large, second, small := start(), start(), start()
	fill := func(e *evaluator) (err error) {
		for i := 0; err == nil && i < 1000; i++ {
			_, err = e.group(map[string]*group{}, strings.Repeat("x", 10_000), func() map[string]string { return nil })
		}
		return err
	}
	if err := fill(large); errs.CodeOf(err) != errs.RateLimited || !strings.Contains(err.Error(), "10 MiB") {
		t.Errorf("20 MiB in one query: %v", err)
	}
	if err := fill(second); errs.CodeOf(err) != errs.RateLimited {
		t.Errorf("in another one: %v", err)
	}
	for range freeSize / partSize {
		if err := small.countPart(); err != nil {
			t.Fatalf("a small query: %v", err)
		}
	}
	large.memory.release()
	second.memory.release()
	if err := small.countPart(); err != nil {
		t.Errorf("after the others have ended: %v", err)
	}
	small.memory.release()
	if n := all.used.Load(); n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}
