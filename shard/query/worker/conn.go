package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cordwood/proto/errs"
	"cordwood/proto/turns"
	"cordwood/shard/query"
)

// conn is a connection to a process, for one request at a time.
type conn struct {
	p *process
	c *net.UnixConn
	r *bufio.Reader
}

// connect returns a connection that no other request uses. If it fails, the caller is no longer
// counted as a user of the process.
func (p *process) connect() (c *conn, err error) {
	defer func() {
		if err != nil {
			p.done(false)
		}
	}()
	p.mu.Lock()
	if p.err != nil {
		p.mu.Unlock()
		return nil, errGone
	}
	if n := len(p.idle); n > 0 {
		c = p.idle[n-1]
		p.idle = p.idle[:n-1]
	}
	p.mu.Unlock()
	if c != nil {
		if c.closed() {
			_ = c.c.Close()
			// The process is probably ending. If it is not, try again.
			select {
			case <-p.ended:
			case <-time.After(lostWait):
				p.kill()
			}
			return nil, errGone
		}
		return c, nil
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	ours, err := socket(uintptr(fds[0]))
	if err != nil {
		_ = unix.Close(fds[1])
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	head := make([]byte, headerSize)
	putHeader(head, frameConnect, 0)
	_, _, err = p.control.WriteMsgUnix(head, unix.UnixRights(fds[1]), nil)
	_ = unix.Close(fds[1])
	if err != nil {
		_ = ours.Close()
		select {
		case <-p.ended:
		case <-time.After(lostWait):
			p.kill()
		}
		return nil, errGone
	}
	return &conn{p: p, c: ours, r: bufio.NewReaderSize(ours, 16<<10)}, nil
}

// closed reports whether the other end is closed.
func (c *conn) closed() bool {
	raw, err := c.c.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		gone = !errors.Is(err, unix.EAGAIN) || n > 0
	})
	return err != nil || gone
}

// exchange is a request and its answer.
type exchange struct {
	ctx context.Context
	// share is the user of the request. leave returns its slot among the running requests.
	share string
	leave func()
	// slot is the slot, if the request may lend it while it waits for object storage.
	slot *turns.Slot
	// locate is Config.Memory.Locate.
	locate func([]byte) (int64, bool)

	query *query.Request
	emit  func(ipc []byte) error
	// If needs is set, the answer is what the query needs. The query is not run.
	needs *[]query.Need
	// If split is set, the answer is the split query. The query is not run.
	split *query.Split
	// If described is set, the answer is the query's description. The query is not run.
	described *query.Description
	// If analysis is set, the answer is the analysis of this statement.
	analyze  analyzeRequest
	analysis *query.Analysis

	c *conn
	// sent is when the request was sent. answered means that some data was received.
	sent     time.Time
	answered bool
	// blamed means that the process ended while the request ran, and that neither another request
	// nor the node ended it, nor was the request cancelled.
	blamed bool
	// emitErr is the error that emit returned.
	emitErr error
	stopping
}

// run sends the request on c, reads the answer, and gives c back. It returns errGone if the process
// ended before it began the request; then the request can be sent to another process.
func (x *exchange) run(c *conn) error {
	x.c = c
	charged := x.charged()
	c.p.cpu.begin(charged)
	defer c.p.cpu.end(charged)
	_ = c.c.SetDeadline(time.Time{})
	// When the context ends, wake the goroutine that waits for the socket.
	woken := make(chan struct{})
	stop := context.AfterFunc(x.ctx, func() {
		_ = c.c.SetDeadline(time.Unix(1, 0))
		close(woken)
	})
	err := x.send()
	if err == nil {
		err = x.receive()
	}
	if !stop() {
		<-woken
	}
	return x.finish(err)
}

// errBroken means that the connection broke, errStuck that the query does not stop, and errUnsent
// that the request did not reach the child.
var (
	errBroken = errors.New("the connection to the query worker broke")
	errStuck  = errors.New("the query does not stop")
	errUnsent = errors.New("the request was not sent")
)

// notBegun is the time after a request within which the process must have been killed for the
// request to be sent again. It is not zero because a killed process lives for a moment.
const notBegun = 100 * time.Millisecond

func (x *exchange) send() error {
	e := newEncoder()
	defer e.free()
	kind := frameQuery
	if x.query != nil {
		if x.c.p.shared {
			e.locate = x.locate
		}
		e.encode(x.query)
		if x.needs != nil {
			kind = frameNeeds
		}
		if x.split != nil {
			kind = frameSplit
		}
		if x.described != nil {
			kind = frameDescribe
		}
	} else {
		kind = frameAnalyze
		e.encode(x.analyze)
	}
	x.sent = time.Now()
	err := writeRequest(x.c.c, kind, e)
	switch own := (*errs.Error)(nil); {
	case err == nil || errors.As(err, &own):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errUnsent
	}
	return errBroken
}

// finish gives the connection back and converts the error for the caller.
func (x *exchange) finish(err error) error {
	p := x.c.p
	switch {
	case errors.Is(err, errStuck):
		x.stuck()
		p.condemn()
		if x.leave != nil {
			x.leave() // further queries run on another process
		}
		if x.emit != nil {
			x.gone() // until then the child reads the request's memory
		} else {
			p.w.users.Go(x.gone)
		}
	case errors.Is(err, errBroken):
		_ = x.c.c.Close()
		lost := p.lost()
		early := !x.answered && p.killedWithin(x.sent, notBegun)
		if p.brokeDown() {
			x.blame()
		}
		p.done(false)
		if x.emitErr == nil && x.ctx.Err() == nil {
			if early {
				return errGone
			}
			return lost
		}
	case errors.Is(err, errUnsent):
		_ = x.c.c.Close()
		p.done(false)
	default:
		p.giveBack(x.c)
		p.done(false)
		if x.emitErr == nil && (!x.stopped || isStop(err)) {
			return err
		}
	}
	if x.emitErr != nil {
		return x.emitErr
	}
	return contextError(x.ctx)
}

// gone waits until the process that does not stop has ended.
func (x *exchange) gone() {
	<-x.c.p.ended
	_ = x.c.c.Close()
	x.c.p.done(true)
}

// blame records that the process ended because of this request, or may have ended because of it.
func (x *exchange) blame() {
	x.blamed = true
	x.log("query worker: this statement did not stop, or was running when the process ended")
	sql, database := x.statement()
	x.c.p.w.suspects.blame(sql, database)
	x.c.p.blame(x.share)
}

// log logs a warning about the statement.
func (x *exchange) log(text string) {
	sql, database := x.statement()
	x.c.p.w.log.Warn(text, "pid", x.c.p.pid, "user", x.share, "database", database,
		"statement", strings.ToValidUTF8(sql[:min(len(sql), loggedSQL)], ""))
}

// statement returns the text of the request's statement.
func (x *exchange) statement() (sql, database string) {
	if x.query != nil {
		return x.query.SQL, x.query.Database
	}
	return x.analyze.SQL, x.analyze.Database
}

// isStop reports whether err is the error of a query that was cancelled.
func isStop(err error) bool {
	code := errs.CodeOf(err)
	return code == errs.QueryTimeout || code == errs.Cancelled
}

// giveBack returns a connection whose request has ended to the process, for the next request.
func (p *process) giveBack(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil || p.leaving || len(p.idle) >= p.w.cfg.Concurrency {
		_ = c.c.Close()
		return
	}
	p.idle = append(p.idle, c)
}

// loggedSQL is how many bytes of a statement are logged.
const loggedSQL = 4 << 10
