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
	// tempPrefix begins the names of the processes' folders of temporary files.
	tempPrefix = "worker-"
	// endWait is how long a process may take to end when it is asked to.
	endWait = 2 * time.Second
	// lostWait is how long the end of a process is waited for whose socket has ended.
	lostWait = 2 * time.Second
)

// Why a process ended: the label of the metric of restarts.
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
	// sharedSize is the size of the file of memory that the child gets; 0: none.
	sharedSize int64

	// settled is closed when the process takes queries, or will never.
	settled chan struct{}
	// ended is closed when it is dead and the Worker knows.
	ended chan struct{}

	mu sync.Mutex // guards what follows
	child
	usage
	fate
}

// child is the process as the system has it.
type child struct {
	cmd     *exec.Cmd     // nil before it was started
	control *net.UnixConn // nil before it was started
	pid     int
	// shared is set if the child reads the shared file of memory.
	shared bool
	// limit is the memory that the system lets it have, as statusField counts; 0: unknown.
	limit int64
	// pages is what it last reported of its cache of pages.
	pages segment.CacheStats
	// parts is what it last reported of the partial results that it keeps.
	parts partial.Stats
	// examining is set while its memory is being looked at.
	examining bool
}

// usage is who uses a process.
type usage struct {
	// users counts the queries that run, stuck the queries among them that do not stop.
	users, stuck int
	// idle are connections that no query uses.
	idle []*conn
	// owner is whose query it had first, if served is set. mixed is set once it had queries of others, too.
	owner         string
	served, mixed bool
	// unused ends the process when it fires.
	unused *time.Timer
}

// fate is how a process comes to its end.
type fate struct {
	// err is why it takes no queries; errGone after its end.
	err error
	// leaving is set when new queries go to another process, ending when it was asked to end,
	// exhausted when it leaves because its memory is used up.
	leaving, ending, exhausted bool
	// reason and status say how it ended, and killed when it was killed, if it was.
	reason, status string
	killed         time.Time
	// blamed are the users against whom its end is noted.
	blamed []string
}

func newProcess(w *Worker, number int, l *lane) *process {
	p := &process{
		w: w, lane: l, settled: make(chan struct{}), ended: make(chan struct{}),
		fate: fate{err: errors.New("it is starting")},
	}
	p.output.log = w.log
	if w.cfg.TempDir != "" {
		p.tempDir = filepath.Join(w.cfg.TempDir, fmt.Sprint(tempPrefix, number))
	}
	return p
}

// run starts the process and returns when it has ended.
func (p *process) run() {
	// The system kills the child when the thread that started it ends, which no
	// thread does that a goroutine holds.
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

// start makes the process.
func (p *process) start() error {
	if p.tempDir != "" {
		err := os.MkdirAll(p.tempDir, 0o750)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			// Most queries need no temporary files, and a full disk is no reason to refuse them.
			// The engine makes the folder when it needs it, and its error then says what is wrong.
			p.w.log.Warn("query worker: no room for a folder of temporary files: queries that need them will fail", "error", err)
		} else if err != nil {
			return fmt.Errorf("make its folder of temporary files: %w", err)
		}
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make its socket: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "query worker")
	defer theirs.Close()
	control, err := socket(uintptr(fds[0]))
	if err != nil {
		return fmt.Errorf("make its socket: %w", err)
	}
	cmd := exec.Command(p.w.cfg.Command[0], p.w.cfg.Command[1:]...)
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Env = append(os.Environ(), engine.AllocatorSettings)
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

// cfg returns what holds for the process: one apart has half of the room, and gives way.
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
		// Its own bound must not be met before the one here.
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

// notReady returns the error of a child that does not answer the greeting.
func (p *process) notReady(err error) error {
	return fmt.Errorf("it ended or said nothing before it was ready%s (%w)", p.output.excerpt(), err)
}

// settle lets the process take queries, or notes in err why it takes none.
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

// use counts a user; it does not if the process takes no queries.
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

// done ends what use began. stuck: condemn was called for the query.
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
		w.log.Debug("query worker: unused; the next query starts another", "pid", p.pid)
		p.end()
	}
}

// condemn has the process replaced because a query of it does not stop. It is killed
// as soon as no other query runs on it, and in any case after Config.Drain.
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

// serve notes that a query of a user runs.
func (p *process) serve(share string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.served {
		p.owner, p.served = share, true
	}
	p.mixed = p.mixed || p.owner != share
}

// blame notes the end of the process, once, against a user whose query ran on it.
func (p *process) blame(share string) {
	p.mu.Lock()
	alone, again := !p.mixed, slices.Contains(p.blamed, share)
	if !again {
		p.blamed = append(p.blamed, share)
	}
	p.mu.Unlock()
	if !again {
		p.w.offenders.note(share, alone)
	}
}

// killIfAlone kills a process that is to go and has no queries but those that do not stop.
// p.mu is held.
func (p *process) killIfAlone() {
	if p.leaving && (p.stuck > 0 || p.exhausted) && p.users == p.stuck {
		_ = p.cmd.Process.Kill()
	}
}

// kill kills the process, if it lives.
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
		// The child reads the end of the socket; the parent's close alone is no such
		// end while another goroutine holds it.
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

// why returns the reason of the end, empty if the process was asked to end. p.mu is held.
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

// finish takes note of the end.
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
			p.w.log.Warn("query worker: temporary files of a process that has ended stay", "error", err)
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

// killedWithin reports whether the process was killed from outside so soon after the given time.
// What queries do to it ends otherwise.
func (p *process) killedWithin(since time.Time, limit time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.killed.IsZero() && p.killed.Sub(since) < limit
}

// brokeDown reports whether the process ended because of what it ran, as far as is known.
func (p *process) brokeDown() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.exhausted && (p.reason == reasonMemory || p.reason == reasonCrash && p.killed.IsZero())
}

// lost returns the error of a query that the process took along.
func (p *process) lost() error {
	select {
	case <-p.ended:
	case <-time.After(lostWait):
		p.kill() // it lives, but its socket does not
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
