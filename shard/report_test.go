package shard

import (
	"testing"

	"cordwood/proto/column"
	"cordwood/shard/rules"
)

// TestReportOfKeysAndReaders checks that a report contains for how long the shard remembers keys,
// and how many readers it has. The shard must not be retired before both are zero.
func TestReportOfKeysAndReaders(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	s.mustPut(batch(head(1, 9, 1), "x"))
	if r := s.Report(); r.KeysNanos != 0 || r.Pins != 0 {
		t.Fatalf("keys are remembered for %d ns and there are %d readers, though there was no key and no reader",
			r.KeysNanos, r.Pins)
	}
	s.mustPut(batch(head(1, column.KeyedBit|1, 7), "m"))
	first := s.Report().KeysNanos
	if first <= 0 || first > int64(rules.KeyTTL) {
		t.Errorf("keys are remembered for %d ns, want up to %d", first, rules.KeyTTL)
	}
	if later := s.Report().KeysNanos; later > first {
		t.Errorf("keys are remembered for %d ns, and a moment later for %d", first, later)
	}
	s = s.reopen()
	if left := s.Report().KeysNanos; left <= 0 || left > int64(rules.KeyTTL) {
		t.Errorf("after a restart keys are remembered for %d ns, want up to %d", left, rules.KeyTTL)
	}

	view := s.ReadView(1)
	pin, err := s.Pin(wait(t))
	if err != nil {
		t.Fatal(err)
	}
	state, err := s.PinState(wait(t), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		close func()
		left  uint32
	}{{func() {}, 2}, {view.Close, 1}, {view.Close, 1}, {state.Close, 1}, {pin.Close, 0}, {pin.Close, 0}} {
		step.close()
		if got := s.Report().Pins; got != step.left {
			t.Errorf("%d readers, want %d", got, step.left)
		}
	}
}
