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

// Memory is the memory that contains the batches of requests, if another process can map it.
// *memtable.Pool implements it.
type Memory interface {
	// Share returns a descriptor of the file in memory, and its size.
	Share() (*os.File, int64, error)
	// Locate reports the position of mem in the file.
	Locate(mem []byte) (offset int64, ok bool)
}

// Config configures a Worker.
type Config struct {
	// MemoryLimit is the maximum number of bytes that the engine uses for hash tables, sorts and
	// buffers of all queries together. The process as a whole may have half as much more (at least
	// 512 MiB more). If it needs more than that, the system refuses the memory, and the query fails
	// or the process ends. Default: 1 GiB.
	MemoryLimit int64
	// PartialCache is the part of MemoryLimit for partial results of segments; see engine.Config.
	PartialCache int64
	// Threads is the number of threads that all queries share. Default: GOMAXPROCS.
	Threads int
	// Concurrency is how many queries run at the same time. Default: 4, or twice Threads if that is
	// more.
	Concurrency int
	// PerUser is how many of the running queries may belong to one user. Default: three quarters of
	// Concurrency.
	PerUser int
	// Waiting is how many further queries may wait for their turn; others are refused. Default: 64.
	Waiting int
	// MaxWait is how long a query may wait. Default: 10 s.
	MaxWait time.Duration
	// Nice is the niceness of the process, 0 to 19. With a higher value it leaves more CPU time to
	// other processes.
	Nice int
	// TempDir is the folder to which the engine spills what exceeds MemoryLimit. Each process has a
	// subfolder; old ones are removed at the start. If TempDir is empty, nothing is spilled.
	TempDir string
	// TempLimit is the maximum number of bytes of one process in TempDir. Default: 8 GiB.
	TempLimit int64
	// Dirs are the folders that contain the segments. The engine cannot read any other file.
	Dirs []string
	// Memory is memory whose batches the child reads in place. Batches elsewhere are copied.
	// Default: no memory is shared.
	Memory Memory

	// Grace is how long a query may continue after it was asked to stop. After that, the process is replaced.
	// Default: 2 s.
	Grace time.Duration
	// Drain is how long the other queries of such a process may continue. Default: 1 min.
	Drain time.Duration
	// MaxKills is how many processes may end within KillWindow because of queries of one user. If
	// there are more, the user's queries are refused for RefuseFor. Defaults: 5, 10 min, 5 min.
	MaxKills              int
	KillWindow, RefuseFor time.Duration
	// Idle is how long a process without queries is kept. The next query then starts a new one.
	// Default: 5 min.
	Idle time.Duration
	// StartWait is how long a query waits for a process. Default: 10 s.
	StartWait time.Duration

	// Command starts the child. Default: this program, with the argument query-worker.
	Command []string
	// Build identifies the build of the program. The child must have the same.
	Build string

	// Logger receives messages for operators. Default: slog.Default().
	Logger *slog.Logger
	// Registerer registers the metrics. Default: none.
	Registerer prometheus.Registerer
}

const (
	// minMemory is the minimum of MemoryLimit, maxNice the maximum of Nice.
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
		// Run the running program's file, even if it was replaced.
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
		"%d queries of one user at a time: give at most %d, the number of all queries, or 0 for the "+
			"default", c.PerUser, c.Concurrency)
	fault(c.MaxKills < 0, "%d processes ended by one user: give a positive number, or 0 for the default", c.MaxKills)
	fault(min(c.KillWindow, c.RefuseFor, c.MaxWait, c.Grace, c.Drain, c.Idle, c.StartWait) < 0,
		"waiting times must not be negative")
	return errors.Join(faults...)
}

// settings are sent to the child.
type settings struct {
	MemoryLimit, HardLimit int64
	PartialCache           int64
	Threads, Concurrency   int
	Nice                   int
	TempDir                string
	TempLimit              int64
	Dirs                   []string
	// Shared is the size of the shared memory file; 0 means that there is none.
	Shared int64
	// Debug makes the child write debug messages to the log.
	Debug bool
}

// hardLimit returns how much memory a process may have in addition to its memory at the start.
func (c Config) hardLimit() int64 {
	const stack = 8 << 20 // of each thread, by the usual limit
	threads := int64(2*c.Concurrency + c.Threads + 8)
	return c.MemoryLimit + max(c.MemoryLimit/2, 512<<20) + threads*stack
}
