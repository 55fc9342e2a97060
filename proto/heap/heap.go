// Package heap decides when the garbage collector of this process runs.
//
// By default a collection begins when the heap has grown by as much as the last collection left. A process with few
// objects then collects very often. Each collection marks the objects again, and takes away the buffers that pools
// keep. Grow lets the heap grow to a minimum size first. During large answers, the collector runs more often than
// usual.
//
// A program that imports this package collects nothing before its heap has 16 MiB: the variables of all packages are
// initialised sooner then. Go initialises packages in the order of their paths, so this one comes before most others.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

const (
	// largePercent is the percentage of growth (GOGC) during large answers. It is a third of the usual percentage, so that
	// the process stays small.
	largePercent = 35
	// maxPercent limits the percentage for small heaps. After a collection that left much more than the one before, this
	// percentage holds for a moment.
	maxPercent = 400
	// goLeast is the size of the heap, in bytes, at which the first collection begins with a percentage of 100.
	goLeast = 4 << 20
)

// collector is the pace of the garbage collector, which belongs to the process.
var collector pace

type pace struct {
	mu sync.Mutex
	// least is the size, in bytes, to which the heap grows before a collection begins; 0 means that there is none.
	least uint64
	// usual is the percentage without least and without large answers. It is valid if least or large is not 0.
	usual int
	large int // large answers that are being sent
	set   int // the percentage that was set last
	// adjusted counts the collections after which the percentage was adjusted.
	adjusted atomic.Int64
}

func init() {
	if os.Getenv("GOGC") == "" {
		collector.grow(goLeast * maxPercent / 100)
	}
}

// Grow lets the heap grow to least bytes before each collection, or to more if GOGC's percentage is more. It does
// nothing if the environment has GOGC, because then the operator has decided.
func Grow(least int64) {
	if os.Getenv("GOGC") == "" {
		collector.grow(uint64(max(least, 0)))
	}
}

// Large makes the collector run more often until end is called. A large answer, such as an export, produces garbage
// quickly and uses most of the heap.
func Large() (end func()) {
	collector.count(1)
	return sync.OnceFunc(func() { collector.count(-1) })
}

func (p *pace) grow(least uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	watched := p.least > 0
	p.begin()
	p.least = least
	p.adjust()
	if least > 0 && !watched {
		p.watch()
	}
}

// count adds large answers.
func (p *pace) count(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin()
	p.large += n
	p.adjust()
}

// begin notes the percentage of the process, unless it has been changed here.
func (p *pace) begin() {
	if p.least == 0 && p.large == 0 {
		p.usual = read().percent
		p.set = p.usual
	}
}

// watch adjusts the percentage after each collection, until there is no minimum size.
func (p *pace) watch() {
	// The object is garbage at once, so its cleanup runs after the next collection.
	runtime.AddCleanup(new([64]byte), func(p *pace) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.least == 0 {
			return
		}
		p.adjust()
		p.adjusted.Add(1)
		p.watch()
	}, p)
}

// adjust sets the percentage. Setting it stops the process for some microseconds, so small differences are ignored.
func (p *pace) adjust() {
	want := p.percent(read())
	if want == p.set || want != p.usual && want != largePercent && abs(want-p.set) <= p.set/16 {
		return
	}
	p.set = want
	debug.SetGCPercent(want)
}

// percent returns the percentage by which the heap may grow.
func (p *pace) percent(h state) int {
	switch {
	case p.usual < 0: // the collector is off
		return p.usual
	case p.large > 0:
		return min(p.usual, largePercent)
	case h.marked() == 0 && p.least > 0: // there was no collection yet
		return max(p.usual, maxPercent)
	case h.live >= p.least || h.marked() == 0:
		return p.usual
	}
	return max(p.usual, int(min(maxPercent, (p.least-h.live)*100/h.marked())))
}

// state is the heap after the last collection.
type state struct {
	percent               int
	live, stacks, globals uint64 // bytes
}

// marked returns the bytes of which the percentage is taken.
func (s state) marked() uint64 { return s.live + s.stacks + s.globals }

func read() state {
	all := []metrics.Sample{
		{Name: "/gc/gogc:percent"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/scan/stack:bytes"},
		{Name: "/gc/scan/globals:bytes"},
	}
	metrics.Read(all)
	percent := -1 // the collector is off: the metric is the largest number
	if n := all[0].Value.Uint64(); n < 1<<31 {
		percent = int(n)
	}
	return state{percent, all[1].Value.Uint64(), all[2].Value.Uint64(), all[3].Value.Uint64()}
}

func abs(n int) int { return max(n, -n) }
