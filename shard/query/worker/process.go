package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cordwood/shard/query/engine"
	"cordwood/shard/query/partial"
	"cordwood/shard/segment"
)

const (
	// tempPrefix is the prefix of the names of the processes' temporary folders.
	tempPrefix = "worker-"
	// endWait is how long a process may take to end when it is asked to.
	endWait = 2 * time.Second
	// lostWait is how long to wait for the end of a process whose socket was closed.
	lostWait = 2 * time.Second
)

// The reasons for the end of a process: values of the reason label of the restarts metric.
const (
	reasonCrash  = "crash"
	reasonMemory = "memory"
	reasonStuck  = "stuck"
	reasonStart  = "start"
)

// errGone is the error of a process that has ended.
var errGone = errors.New("the query worker has ended")

// process is a child process of the server, from its start to its end.
type process struct {
	w       *Worker
	lane    *lane
	tempDir string
	output  output
	// sharedSize is the size of the shared memory file; 0 means none.
	sharedSize int64

	// settled is closed when the process takes queries, or when it is certain that it never will.
	settled chan struct{}
	// ended is closed when the process is dead and the Worker has recorded it.
	ended chan struct{}

	cpu cpuMeter

	mu sync.Mutex // guards the fields below
	child
	usage
	fate
}

// child is the operating system's process.
type child struct {
	cmd     *exec.Cmd     // nil before it was started
	control *net.UnixConn // nil before it was started
	pid     int
	// shared is set if the child reads the shared file of memory.
	shared bool
	// limit is the maximum memory of the process, as statusField counts; 0 means unknown.
	limit int64
	// pages are the last counters that it reported for its page cache.
	pages segment.CacheStats
	// parts are the last counters that it reported for its cache of partial results.
	parts partial.Stats
	// examining is set while its memory is being checked.
	examining bool
}

// usage counts who uses a process.
type usage struct {
	// users counts the running queries. stuck counts the queries among them that do not stop.
	users, stuck int
	// idle are connections that no query uses.
	idle []*conn
	// owner is the user of its first query, if served is set. mixed is set once it had queries of
	// other users.
	owner         string
	served, mixed bool
	// unused is a timer that ends the process.
	unused *time.Timer
}

func newProcess(w *Worker, number int, l *lane) *process {
	p := &process{
		w: w, lane: l, settled: make(chan struct{}), ended: make(chan struct{}),
		fate: fate{err: errors.New("it is starting")},
	}
	p.output.log = w.log
	p.cpu = cpuMeter{usage: w.usage, read: p.readCPU}
	if w.cfg.TempDir != "" {
		p.tempDir = filepath.Join(w.cfg.TempDir, fmt.Sprint(tempPrefix, number))
	}
	return p
}

// run starts the process and returns when it has ended.
func (p *process) run() {
	// The system kills the child when the thread that started it ends. A thread that is locked to a
	// goroutine does not end before the goroutine.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := time.Now()
	wasReady := false
	err := p.start()
	if err == nil {
		handshake := make(chan error, 1)
		go func() {
			err := p.greet()
			if err != nil {
				_ = p.cmd.Process.Kill()
			} else {
				p.w.log.Debug("query worker is ready", "pid", p.pid, "took", time.Since(begin))
			}
			p.settle(err)
			handshake <- err
		}()
		werr := p.cmd.Wait()
		p.output.wait()
		_ = p.control.Close()
		err = <-handshake
		wasReady = err == nil
		if err == nil {
			err = werr
		}
	} else {
		p.settle(err)
	}
	p.finish(wasReady, err)
}

// start starts the process.
func (p *process) start() error {
	if p.tempDir != "" {
		err := os.MkdirAll(p.tempDir, 0o750)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			// Most queries need no temporary files, so a full disk is no reason to refuse queries.
			// The engine creates the folder when it needs it, and reports a fault then.
			p.w.log.Warn("query worker: no room for a folder of temporary files: queries that need them will fail", "error", err)
		} else if err != nil {
			return fmt.Errorf("create its folder of temporary files: %w", err)
		}
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("create its socket: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "query worker")
	defer theirs.Close()
	control, err := socket(uintptr(fds[0]))
	if err != nil {
		return fmt.Errorf("create its socket: %w", err)
	}
	cmd := exec.Command(p.w.cfg.Command[0], p.w.cfg.Command[1:]...)
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Env = append(environment(os.Environ()), engine.AllocatorSettings)
	if m := p.w.cfg.Memory; m != nil {
		if f, size, err := m.Share(); err == nil {
			defer f.Close()
			p.sharedSize = size
			cmd.ExtraFiles = append(cmd.ExtraFiles, f)
		}
	}
	stderr, err := p.output.pipe()
	if err != nil {
		_ = control.Close()
		return err
	}
	defer stderr.Close()
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		_ = control.Close()
		return fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.control, p.pid = cmd, control, cmd.Process.Pid
	return nil
}

// cfg returns the configuration of this process. A separate process has half of the memory and a
// lower priority.
func (p *process) cfg() Config {
	cfg := p.w.cfg
	if p.lane.apart {
		cfg.MemoryLimit = max(cfg.MemoryLimit/2, minMemory)
		cfg.TempLimit = max(cfg.TempLimit/2, 1)
		cfg.Nice = min(cfg.Nice+apartNice, maxNice)
	}
	return cfg
}

// greet sends the child its settings and waits until it is ready.
func (p *process) greet() error {
	cfg := p.cfg()
	set := settings{
		MemoryLimit: cfg.MemoryLimit, HardLimit: cfg.hardLimit(), Threads: cfg.Threads,
		// The child's own limit must be larger than the limit here.
		Concurrency:  2*cfg.Concurrency + 8,
		PartialCache: cfg.PartialCache,
		Nice:         cfg.Nice, TempDir: p.tempDir, TempLimit: cfg.TempLimit, Dirs: cfg.Dirs,
		Shared: p.sharedSize, Debug: cfg.Logger.Enabled(context.Background(), slog.LevelDebug),
	}
	_ = p.control.SetDeadline(time.Now().Add(cfg.StartWait))
	if _, err := p.control.Write(newHello(hello{Types: messageTypes(), Build: cfg.Build, Settings: set})); err != nil {
		return p.notReady(err)
	}
	buf := make([]byte, 64<<10)
	n, err := p.control.Read(buf)
	if err == nil && n < headerSize {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return p.notReady(err)
	}
	_ = p.control.SetDeadline(time.Time{})
	d := &decoder{src: string(buf[headerSize:n])}
	if frameKind(buf[4]) != frameReady {
		f, err := decode[failure](d)
		if err != nil {
			return fmt.Errorf("it gave an answer of kind %d: %w", buf[4], err)
		}
		return f.err()
	}
	r, err := decode[ready](d)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.shared, p.limit = r.Shared, r.Limit
	p.mu.Unlock()
	return nil
}

// notReady returns the error for a child that does not answer the greeting.
func (p *process) notReady(err error) error {
	return fmt.Errorf("it ended before it was ready, or did not answer%s (%w)", p.output.excerpt(), err)
}

// settle marks the process as ready for queries, or records in err why it cannot take any.
func (p *process) settle(err error) {
	p.mu.Lock()
	p.err = err
	p.mu.Unlock()
	close(p.settled)
}

// failure returns why the process takes no queries.
func (p *process) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// use counts a user. It fails if the process takes no queries.
func (p *process) use() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil || p.leaving {
		return false
	}
	p.users++
	if p.unused != nil {
		p.unused.Stop()
	}
	return true
}

// done ends a use. stuck means that condemn was called for the query.
func (p *process) done(stuck bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users--
	if stuck {
		p.stuck--
	}
	p.killIfAlone()
	if p.users == 0 && !p.leaving && p.err == nil {
		if p.unused == nil {
			p.unused = time.AfterFunc(p.w.cfg.Idle, p.retire)
		} else {
			p.unused.Reset(p.w.cfg.Idle)
		}
	}
}

// retire ends a process that has not been used for a while.
func (p *process) retire() {
	w := p.w
	w.mu.Lock()
	p.mu.Lock()
	unused := p.users == 0 && !p.leaving && p.err == nil
	if unused {
		p.leaving = true
		w.leaves(p, false)
	}
	p.mu.Unlock()
	w.mu.Unlock()
	if unused {
		w.log.Debug("query worker: stopped an idle process; the next query starts a new one", "pid", p.pid)
		p.end()
	}
}

// condemn replaces the process because one of its queries does not stop. The process is killed as
// soon as no other query runs on it, and after Config.Drain at the latest.
func (p *process) condemn() {
	p.w.replace(p)
	p.mu.Lock()
	p.stuck++
	first := !p.leaving
	if first {
		p.leaving = true
		p.w.log.Warn("query worker: a query does not stop; the process is replaced", "pid", p.pid, "others", p.users-p.stuck)
	}
	p.killIfAlone()
	p.mu.Unlock()
	if first {
		p.w.drain(p)
	}
}

// serve records that a query of a user runs.
func (p *process) serve(share string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.served {
		p.owner, p.served = share, true
	}
	p.mixed = p.mixed || p.owner != share
}

// blame records the end of the process, once, for a user whose query ran on it.
func (p *process) blame(share string) {
	if alone, first := p.endsFor(share); first {
		p.w.userEnds.recordEnd(share, alone)
	}
}

// left records the end of the process, once, for a user whose query did not stop when its client left.
func (p *process) left(share string) {
	if _, first := p.endsFor(share); first {
		p.w.userEnds.recordLeft(share)
	}
}

// endsFor notes that the end of the process is recorded for a user. first reports whether it is for the first time, and
// alone whether the process never had queries of any other user.
func (p *process) endsFor(share string) (alone, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Contains(p.blamed, share) {
		return !p.mixed, false
	}
	p.blamed = append(p.blamed, share)
	return !p.mixed, true
}

// killIfAlone kills a process that is being replaced if all its queries are stuck. p.mu must be
// held.
func (p *process) killIfAlone() {
	if p.leaving && (p.stuck > 0 || p.exhausted) && p.users == p.stuck {
		_ = p.cmd.Process.Kill()
	}
}

// secrets are the prefixes of environment variables with credentials. The process that runs the statements of users
// does not get them.
var secrets = []string{"AWS_", "MINIO_", "CORDWOOD_"}

// environment returns the variables of the query process.
func environment(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(variable string) bool {
		return slices.ContainsFunc(secrets, func(prefix string) bool { return strings.HasPrefix(variable, prefix) })
	})
}
