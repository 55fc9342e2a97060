package worker

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Memory is the memory that the batches of requests lie in, if another process can
// map it. *memtable.Pool is one.
type Memory interface {
	// Share returns a descriptor of the file in memory, and its size.
	Share() (*os.File, int64, error)
	// Locate reports where in the file mem lies.
	Locate(mem []byte) (offset int64, ok bool)
}

// Config configures a Worker.
type Config struct {
	// MemoryLimit is how many bytes the engine may take for hash tables, sorts and
	// buffers of all queries together. With half as much more (at least 512 MiB) it also
	// bounds what the process has in all: what exceeds that is refused by the system,
	// and the query fails or the process ends. Default: 1 GiB.
	MemoryLimit int64
	// PartialCache is the part of MemoryLimit that partial results of segments may take which are kept; see
	// engine.Config.
	PartialCache int64
	// Threads is how many threads queries run on, all together. Default: GOMAXPROCS.
	Threads int
	// Concurrency is how many queries run at a time. Default: 4, or twice Threads if
	// that is more.
	Concurrency int
	// PerUser is how many of them are of one user. Default: three quarters.
	PerUser int
	// Waiting is how many more may wait for their turn; others are refused. Default: 64.
	Waiting int
	// MaxWait is how long one waits at most. Default: 10 s.
	MaxWait time.Duration
	// Nice is how much the process gives way to others for the CPU, 0 to 19.
	Nice int
	// TempDir is where the engine spills what exceeds MemoryLimit, a folder for each
	// process; what lies there is removed at the start. Empty: no spilling.
	TempDir string
	// TempLimit is how many bytes one process may have in TempDir. Default: 8 GiB.
	TempLimit int64
	// Dirs are the directories under which segments lie. No other file can be read.
	Dirs []string
	// Memory is where batches may lie that are read in place; others are copied.
	// Default: none is shared.
	Memory Memory

	// Grace is how long a query may continue after it was told to stop. The process is
	// replaced then. Default: 2 s.
	Grace time.Duration
	// Drain is how long the other queries of such a process may continue. Default: 1 min.
	Drain time.Duration
	// MaxKills is how many processes may end within KillWindow because of queries of one
	// user, whose queries are then refused for RefuseFor. Defaults: 5, 10 min, 5 min.
	MaxKills              int
	KillWindow, RefuseFor time.Duration
	// Idle is how long a process without queries is kept; the next query starts another.
	// Default: 5 min.
	Idle time.Duration
	// StartWait is how long a query waits for a process. Default: 10 s.
	StartWait time.Duration

	// Command is the child's. Default: this program, with the argument query-worker.
	Command []string
	// Build names what the program was built from; the child's must be the same.
	Build string

	// Logger takes what an operator should know. Default: slog.Default().
	Logger *slog.Logger
	// Registerer takes the metrics. Default: none.
	Registerer prometheus.Registerer
}

const (
	// minMemory is the least MemoryLimit, maxNice the greatest Nice.
	minMemory = 16 << 20
	maxNice   = 19
)

// Subcommand is the argument that makes the program a query worker.
const Subcommand = "query-worker"

func (c Config) withDefaults() Config {
	c.MemoryLimit = cmp.Or(c.MemoryLimit, 1<<30)
	c.Threads = cmp.Or(c.Threads, runtime.GOMAXPROCS(0))
	c.Concurrency = cmp.Or(c.Concurrency, max(4, 2*c.Threads))
	c.Waiting = cmp.Or(c.Waiting, 64)
	c.MaxWait = cmp.Or(c.MaxWait, 10*time.Second)
	c.TempLimit = cmp.Or(c.TempLimit, 8<<30)
	c.Grace = cmp.Or(c.Grace, 2*time.Second)
	c.Drain = cmp.Or(c.Drain, time.Minute)
	c.MaxKills = cmp.Or(c.MaxKills, 5)
	c.KillWindow = cmp.Or(c.KillWindow, 10*time.Minute)
	c.RefuseFor = cmp.Or(c.RefuseFor, 5*time.Minute)
	c.Idle = cmp.Or(c.Idle, 5*time.Minute)
	c.StartWait = cmp.Or(c.StartWait, 10*time.Second)
	if c.Command == nil {
		// The program that runs, even if the file of its name is another one by now.
		c.Command = []string{"/proc/self/exe", Subcommand}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Validate reports all faults of c at once.
func (c Config) Validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(c.MemoryLimit < 0 || c.MemoryLimit > 0 && c.MemoryLimit < minMemory,
		"memory limit of %d bytes: give at least %d", c.MemoryLimit, minMemory)
	fault(min(c.Threads, c.Concurrency, c.Waiting) < 0,
		"threads %d, concurrency %d, waiting %d: give positive numbers, or 0 for the default",
		c.Threads, c.Concurrency, c.Waiting)
	fault(c.TempLimit < 0, "temporary space of %d bytes: give a positive number, or 0 for the default", c.TempLimit)
	fault(c.Nice < 0 || c.Nice > maxNice, "niceness %d: give 0 to 19", c.Nice)
	fault(c.PerUser < 0 || c.PerUser > 0 && c.Concurrency > 0 && c.PerUser > c.Concurrency,
		"%d queries of one user at a time: give at most %d, which is all, or 0 for the default", c.PerUser, c.Concurrency)
	fault(c.MaxKills < 0, "%d processes ended by one user: give a positive number, or 0 for the default", c.MaxKills)
	fault(min(c.KillWindow, c.RefuseFor, c.MaxWait, c.Grace, c.Drain, c.Idle, c.StartWait) < 0,
		"waiting times must not be negative")
	return errors.Join(faults...)
}

// settings are the settings of the child.
type settings struct {
	MemoryLimit, HardLimit int64
	PartialCache           int64
	Threads, Concurrency   int
	Nice                   int
	TempDir                string
	TempLimit              int64
	Dirs                   []string
	// Shared is the size of the file of memory; 0: there is none.
	Shared int64
	// Debug has the child log what is of interest to developers.
	Debug bool
}

// hardLimit returns the memory that a process may have beyond what it starts with.
func (c Config) hardLimit() int64 {
	const stack = 8 << 20 // of each thread, by the usual limit
	threads := int64(2*c.Concurrency + c.Threads + 8)
	return c.MemoryLimit + max(c.MemoryLimit/2, 512<<20) + threads*stack
}
