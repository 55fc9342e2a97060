package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link is one connection to a node: requests are sent, and answers arrive in any order.
type link struct {
	conn net.Conn
	node string
	out  *writer
	// prompt is the group whose heartbeats are sent without delay.
	prompt string

	mu      sync.Mutex // guards the fields below
	pending map[uint64]*call
	last    uint64 // id of the last request
	err     error  // why the link failed; nil while it works

	heard atomic.Int64 // frames received
}

// call is a request in flight.
type call struct {
	link   *link
	id     uint64
	heard  int64         // frames that the link had received when the call was sent
	done   chan struct{} // closed when answer or err is set
	answer *frame
	err    error
}

// newLink starts a link on a connection after the handshake. stopped is called when all its
// goroutines have ended, some time after fail.
func newLink(conn net.Conn, node, prompt string, pause, deadline time.Duration, stopped func()) *link {
	l := &link{conn: conn, node: node, prompt: prompt, pending: map[uint64]*call{}}
	l.out = newWriter(conn, pause, deadline, l.fail)
	go func() {
		defer stopped()
		l.read()
		l.out.stop()
	}()
	return l
}

func (l *link) alive() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err == nil
}

// send queues a request. wait returns its error.
func (l *link) send(f *frame) *call {
	c := &call{link: l, heard: l.heard.Load(), done: make(chan struct{})}
	l.mu.Lock()
	if l.err != nil {
		c.err = l.err
		l.mu.Unlock()
		close(c.done)
		return c
	}
	l.last++
	c.id = l.last
	l.pending[c.id] = c
	l.mu.Unlock()
	numbered := *f
	numbered.id = c.id
	l.out.write(&numbered, f.kind == kindHeartbeat && f.group != l.prompt)
	return c
}

// wait returns the answer. If a call is abandoned, the connection stays open, unless no frame at
// all arrived on it before the deadline: then it is considered dead.
func (c *call) wait(ctx context.Context) (*frame, error) {
	select {
	case <-c.done:
	case <-ctx.Done():
		c.giveUp()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && c.link.heard.Load() == c.heard {
			c.link.fail(errors.New("no answer before the deadline"))
		}
		return nil, fmt.Errorf("raft network: node %s: no answer: %w", c.link.node, context.Cause(ctx))
	}
	if c.err != nil {
		return nil, c.err
	}
	if c.answer.kind == kindFailure {
		return nil, fmt.Errorf("raft network: node %s: %s", c.link.node, c.answer.payload)
	}
	return c.answer, nil
}

func (c *call) giveUp() {
	c.link.mu.Lock()
	delete(c.link.pending, c.id)
	c.link.mu.Unlock()
}

// read receives answers until the connection breaks.
func (l *link) read() {
	r := bufio.NewReaderSize(l.conn, 32<<10)
	for {
		f, err := readFrame(r)
		if err == nil && f.kind != kindAnswer && f.kind != kindFailure {
			err = fmt.Errorf("%w: kind %d as an answer", errFrame, f.kind)
		}
		if err != nil {
			l.fail(err)
			return
		}
		l.heard.Add(1)
		l.mu.Lock()
		c := l.pending[f.id]
		delete(l.pending, f.id)
		l.mu.Unlock()
		if c != nil { // c is nil if the call was abandoned
			c.answer = f
			close(c.done)
		}
	}
}

// fail ends the link: all calls in flight fail, and later calls fail too.
func (l *link) fail(err error) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return
	}
	l.err = fmt.Errorf("raft network: node %s: %w: %w", l.node, errBroken, err)
	calls := l.pending
	l.pending = nil
	l.mu.Unlock()
	l.conn.Close()
	for _, c := range calls {
		c.err = l.err
		close(c.done)
	}
}
