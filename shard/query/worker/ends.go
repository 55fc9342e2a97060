package worker

import (
	"os"
	"syscall"
	"time"

	"cordwood/proto/errs"
)

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
