package worker

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cordwood/proto/turns"
)

// cpuUsage counts the CPU time of queries by their databases, over the last minute.
//
// The threads of a process work for all its queries, so the system counts the time of a process only. Whenever a query
// begins or ends, and whenever the usage is read, the time since the last count is divided equally among the queries
// that ran meanwhile. The sum is exact; what one of several queries at a time used is an estimate.
type cpuUsage struct {
	now func() time.Time

	mu sync.Mutex // guards the rest
	// lead is how far the clock has been set back in all, and seen is when it was read last. Without them, time that was
	// used before the clock was set back would count until the clock comes there again.
	lead time.Duration
	seen time.Time
	of   map[string]*cpuMinute
}

// cpuMinute is the CPU time of a database in the last seconds.
type cpuMinute struct {
	seconds [cpuSeconds]time.Duration // by the second modulo cpuSeconds
	last    int64                     // the newest second
}

// cpuSeconds is the length of the period, in seconds.
const cpuSeconds = 60

func newCPUUsage(now func() time.Time) *cpuUsage {
	return &cpuUsage{now: now, of: map[string]*cpuMinute{}}
}

// time returns the time by a clock that is never set back. u.mu must be held.
func (u *cpuUsage) time() time.Time {
	now := u.now().Round(0) // without the monotonic clock, by which Unix does not go
	if now.Before(u.seen) {
		u.lead += u.seen.Sub(now)
	}
	u.seen = now
	return now.Add(u.lead)
}

// add counts CPU time of a database.
func (u *cpuUsage) add(database string, d time.Duration) {
	if database == "" || d <= 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	m := u.of[database]
	if m == nil {
		m = &cpuMinute{}
		u.of[database] = m
	}
	second := m.advance(u.time())
	m.seconds[second%cpuSeconds] += d
}

// advance forgets what is older than a minute, and returns the present second.
func (m *cpuMinute) advance(now time.Time) int64 {
	second := max(now.Unix(), m.last)
	for s := max(m.last, second-cpuSeconds) + 1; s <= second; s++ {
		m.seconds[s%cpuSeconds] = 0
	}
	m.last = second
	return second
}

// lastMinute returns the CPU time of each database in the last minute.
func (u *cpuUsage) lastMinute() map[string]time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	now, out := u.time(), map[string]time.Duration{}
	for database, m := range u.of {
		m.advance(now)
		sum := time.Duration(0)
		for _, d := range m.seconds {
			sum += d
		}
		if sum == 0 {
			delete(u.of, database)
			continue
		}
		out[database] = sum
	}
	return out
}

// cpuMeter divides the CPU time of a process among the databases whose queries run on it.
type cpuMeter struct {
	usage *cpuUsage
	// read returns the CPU time of the process since its start.
	read func() (time.Duration, bool)

	mu      sync.Mutex // guards the rest
	running map[string]int
	n       int
	last    time.Duration
}

// begin counts a query that begins; "" stands for other work.
func (m *cpuMeter) begin(database string) { m.change(database, 1) }

// end counts a query that ends.
func (m *cpuMeter) end(database string) { m.change(database, -1) }

// charge counts the time of the running queries so far.
func (m *cpuMeter) charge() { m.change("", 0) }

func (m *cpuMeter) change(database string, by int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if total, ok := m.read(); ok {
		used := total - m.last
		m.last = total
		for d, n := range m.running {
			m.usage.add(d, used*time.Duration(n)/time.Duration(m.n))
		}
	}
	if by == 0 {
		return
	}
	if m.running == nil {
		m.running = map[string]int{}
	}
	m.n += by
	if m.running[database] += by; m.running[database] == 0 {
		delete(m.running, database)
	}
}

// processCPU returns the CPU time of a process by the system's clock for it.
func processCPU(pid int) (time.Duration, bool) {
	const schedulerClock = 2 // CPUCLOCK_SCHED in Linux
	var ts unix.Timespec
	clock := ^int32(pid)<<3 | schedulerClock //nolint:gosec // Linux encodes the clock of a process in this way
	if err := unix.ClockGettime(clock, &ts); err != nil {
		return 0, false // it has ended
	}
	return time.Duration(ts.Nano()), true
}

// readCPU returns the CPU time of the process, if it runs.
func (p *process) readCPU() (time.Duration, bool) {
	p.mu.Lock()
	pid := p.pid
	p.mu.Unlock()
	if pid == 0 {
		return 0, false
	}
	return processCPU(pid)
}

// charged returns the database whose CPU time the request uses; "" for a statement that is only parsed, because its
// tables are not known yet. A query without tables counts for the database that it names.
func (x *exchange) charged() string {
	if x.query == nil || x.emit == nil {
		return ""
	}
	return turns.DatabaseOf(x.ctx)
}

// QueryCPU returns the CPU time of the queries of each database in the last minute.
func (w *Worker) QueryCPU() map[string]time.Duration {
	for _, p := range w.processes() {
		p.cpu.charge()
	}
	return w.usage.lastMinute()
}
