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

	"cordwood/proto/errs"
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

// fate records how a process ends.
type fate struct {
	// err is why it takes no queries; it is errGone after its end.
	err error
	// leaving is set when new queries go to another process, ending when the process was asked to
	// end, and exhausted when it leaves because its memory is used up.
	leaving, ending, exhausted bool
	// reason and status describe how it ended. killed is when it was killed, if it was.
	reason, status string
	killed         time.Time
	// blamed are the users for whom its end has been recorded.
	blamed []string
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

// kill kills the process if it is alive.
func (p *process) kill() {
	select {
	case <-p.ended:
	default:
		_ = p.cmd.Process.Kill()
	}
}

// end asks the process to end, and waits until it has.
func (p *process) end() {
	p.mu.Lock()
	p.ending = true
	p.mu.Unlock()
	<-p.settled
	p.mu.Lock()
	control := p.control
	p.mu.Unlock()
	if control != nil {
		// The child has to read the end of the socket. Closing is not enough while another
		// goroutine uses the socket.
		_ = control.CloseWrite()
		select {
		case <-p.ended:
			return
		case <-time.After(endWait):
			p.kill()
		}
	}
	<-p.ended
}

// why returns the reason for the end. It is empty if the process was asked to end. p.mu must be held.
func (p *process) why(wasReady bool) string {
	switch {
	case p.ending:
		return ""
	case p.exhausted && p.stuck == 0:
		return reasonMemory
	case p.leaving:
		return reasonStuck
	case !wasReady:
		return reasonStart
	case p.output.outOfMemory():
		return reasonMemory
	}
	return reasonCrash
}

// finish records the end of the process.
func (p *process) finish(wasReady bool, err error) {
	p.mu.Lock()
	p.reason = p.why(wasReady)
	p.status = "it ended by itself"
	if err != nil {
		p.status = err.Error()
	}
	if p.err == nil {
		p.err = errGone
	}
	if p.reason == reasonCrash && p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		p.killed = time.Now()
	}
	for _, c := range p.idle {
		_ = c.c.Close()
	}
	p.idle = nil
	if p.unused != nil {
		p.unused.Stop()
	}
	reason, pid, users := p.reason, p.pid, p.users
	p.mu.Unlock()

	if p.tempDir != "" {
		if err := os.RemoveAll(p.tempDir); err != nil {
			p.w.log.Warn("query worker: could not remove the temporary files of a process that has ended", "error", err)
		}
	}
	switch reason {
	case "":
	case reasonStart:
		p.w.log.Error("query worker: the process cannot start; queries fail", "pid", pid, "error", err, "output",
			p.output.text())
	case reasonMemory:
		p.w.log.Warn("query worker: ended a process that ran out of memory", "pid", pid, "queries", users, "status",
			p.status, "output", p.output.text())
	case reasonStuck:
		p.w.log.Warn("query worker: killed a process with a query that did not stop", "pid", pid, "queries", users)
	default:
		p.w.log.Error("query worker: the process ended and is replaced; queries that it ran have failed",
			"pid", pid, "reason", reason, "status", p.status, "queries", users, "output", p.output.text())
	}
	p.w.over(p, wasReady, reason)
	close(p.ended)
}

// killedWithin reports whether the process was killed from outside soon after the given time. A
// process that ends because of a query ends in another way.
func (p *process) killedWithin(since time.Time, limit time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.killed.IsZero() && p.killed.Sub(since) < limit
}

// brokeDown reports whether the process ended because of a query, as far as is known.
func (p *process) brokeDown() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.exhausted && (p.reason == reasonMemory || p.reason == reasonCrash && p.killed.IsZero())
}

// lost returns the error of a query whose process has ended.
func (p *process) lost() error {
	select {
	case <-p.ended:
	case <-time.After(lostWait):
		p.kill() // it is alive, but its socket is closed
		<-p.ended
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.exhausted && p.reason == reasonMemory:
		return errs.New(errs.External,
			"the query worker (process %d) was replaced because other queries had used up its memory; nothing was changed: "+
				"send the query again", p.pid).WithRetryAfter(time.Second)
	case p.reason == reasonMemory:
		return errs.New(errs.RuntimeResourcesExhausted,
			"the query worker (process %d) ran out of memory while the query ran, and was replaced; "+
				"narrow its time range or group by fewer values, or try again when fewer queries run",
			p.pid).WithRetryAfter(time.Second)
	case p.reason == reasonStuck:
		return errs.New(errs.External,
			"the query worker (process %d) was killed because another query could not be stopped; send the query again",
			p.pid).WithRetryAfter(time.Second)
	}
	return errs.New(errs.External,
		"the query worker (process %d) ended while the query ran (%s), and was replaced; nothing was changed: "+
			"send the query again", p.pid, p.status).WithRetryAfter(time.Second)
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
