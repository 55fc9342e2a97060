package heap

import (
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"
)

// percentOf returns the percentage of the process.
func percentOf() int { return read().percent }

// TestPercent checks the percentage that is set for a state of the heap.
func TestPercent(t *testing.T) {
	const mb = 1 << 20
	for _, test := range []struct {
		name         string
		usual, large int
		least        uint64
		heap         state
		want         int
	}{
		{"no minimum", 100, 0, 0, state{live: mb}, 100},
		{"a small heap", 100, 0, 64 * mb, state{live: 16 * mb}, 300},
		{"stacks and globals", 100, 0, 64 * mb, state{live: 16 * mb, stacks: 4 * mb, globals: 4 * mb}, 200},
		{"half of the minimum", 100, 0, 64 * mb, state{live: 32 * mb}, 100},
		{"more than half", 100, 0, 64 * mb, state{live: 33 * mb}, 100},
		{"more than the minimum", 100, 0, 64 * mb, state{live: 65 * mb}, 100},
		{"a very small heap", 100, 0, 64 * mb, state{live: mb}, maxPercent},
		{"nothing was collected yet", 100, 0, 64 * mb, state{}, maxPercent},
		{"nothing was collected yet, no minimum", 100, 0, 0, state{}, 100},
		{"a large answer", 100, 1, 64 * mb, state{live: mb}, largePercent},
		{"a large answer with little memory", 20, 1, 64 * mb, state{live: mb}, 20},
		{"the collector is off", -1, 0, 64 * mb, state{live: mb}, -1},
		{"the collector is off during a large answer", -1, 1, 64 * mb, state{live: mb}, -1},
	} {
		p := pace{least: test.least, usual: test.usual, large: test.large}
		if got := p.percent(test.heap); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

// TestLarge checks that the collector runs more often during large answers, and as before afterwards.
func TestLarge(t *testing.T) {
	Grow(0)
	defer debug.SetGCPercent(debug.SetGCPercent(90))
	for _, before := range []int{90, 20, -1} {
		debug.SetGCPercent(before)
		during := min(before, largePercent)
		a, b := Large(), Large()
		if got := percentOf(); got != during {
			t.Errorf("with large answers: %d, want %d", got, during)
		}
		a()
		a()
		if got := percentOf(); got != during {
			t.Errorf("with one large answer left: %d, want %d", got, during)
		}
		b()
		if got := percentOf(); got != before {
			t.Errorf("afterwards: %d, want %d", got, before)
		}
	}
}

// kept keeps the memory of TestGrow in use.
var kept []byte

// TestGrow checks in a process of its own that the percentage follows the heap.
func TestGrow(t *testing.T) {
	const child = "CORDWOOD_TEST_HEAP"
	if os.Getenv(child) == "" {
		for _, percent := range []string{"", "150"} {
			cmd := exec.Command(os.Args[0], "-test.run=^TestGrow$", "-test.v")
			cmd.Env = append(os.Environ(), child+"=1", "GOGC="+percent)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("with GOGC=%s: %v\n%s", percent, err, out)
			}
		}
		return
	}
	var start runtime.MemStats
	runtime.ReadMemStats(&start)
	if os.Getenv("GOGC") == "" && (start.NumGC > 0 || percentOf() != maxPercent) {
		t.Errorf("at the start: %d collections, %d %%", start.NumGC, percentOf())
	}
	const least = 128 << 20
	Grow(least)
	if os.Getenv("GOGC") != "" {
		if got := percentOf(); got != 150 {
			t.Errorf("GOGC is 150, but the percentage was set to %d", got)
		}
		return
	}
	collector.collect()
	if got := percentOf(); got != maxPercent {
		t.Errorf("with a very small heap: %d, want %d", got, maxPercent)
	}
	kept = make([]byte, least/4)
	collector.collect()
	if got := percentOf(); got < 250 || got > 320 {
		t.Errorf("with a quarter of the minimum: %d, want about 300", got)
	}
	kept = make([]byte, least)
	collector.collect()
	if got := percentOf(); got != 100 {
		t.Errorf("with the minimum in use: %d, want 100", got)
	}
	end := Large()
	kept = nil
	collector.collect()
	if got := percentOf(); got != largePercent {
		t.Errorf("with a large answer: %d, want %d", got, largePercent)
	}
	end()
	if got := percentOf(); got != maxPercent {
		t.Errorf("after the large answer: %d, want %d", got, maxPercent)
	}
	Grow(0)
	if got := percentOf(); got != 100 {
		t.Errorf("without a minimum: %d, want 100", got)
	}
	runtime.KeepAlive(kept)
}

// collect collects garbage and waits until the pace was adjusted.
func (p *pace) collect() {
	before := p.adjusted.Load()
	runtime.GC()
	for p.adjusted.Load() == before {
		runtime.Gosched()
	}
}
