package pgwire

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"cordwood/router/pgwire/wire"
)

// link is the connection to the client: its messages in both directions, and what ends the connection or its statement
// from outside. Only the goroutine of the connection uses it, except for the fields that mu guards.
type link struct {
	cfg     *Config
	address netip.Addr
	raw     net.Conn // without TLS; it may be closed at any time
	net     net.Conn
	tls     *tls.Conn // nil without TLS
	in      *wire.Reader
	out     *wire.Writer
	taking  *stalling // the writer below out
	// large has the memory of a large message until it was handled.
	large holding

	mu      sync.Mutex              // guards the fields below
	current context.CancelCauseFunc // ends the running statement; nil if none runs
	ending  *Error                  // why the connection ends once it is idle
	idle    bool                    // the connection waits for the client
	signed  bool                    // the client has signed in
}

func newLink(cfg *Config, nc net.Conn) *link {
	l := &link{cfg: cfg, raw: nc, address: addressOf(nc), large: holding{cfg: cfg}}
	l.use(nc)
	return l
}

// use makes nc the connection for reading and writing messages.
func (l *link) use(nc net.Conn) {
	taking := &stalling{Conn: nc, most: l.cfg.StallTime}
	in, out := wire.NewReader(nc), wire.NewWriter(taking)
	in.Large = l.large.grow
	l.mu.Lock()
	defer l.mu.Unlock()
	l.net, l.in, l.out, l.taking = nc, in, out, taking
}

// useTLS makes a TLS connection the connection for reading and writing messages.
func (l *link) useTLS(t *tls.Conn) {
	l.tls = t
	l.use(t)
}

// begin sets the deadline for signing in. The server may have begun to stop since it registered the connection: then
// the earlier deadline remains.
func (l *link) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending != nil {
		return nil
	}
	return l.net.SetDeadline(time.Now().Add(l.cfg.StartTime))
}

// signedIn removes the deadline for signing in.
func (l *link) signedIn() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.signed = true; l.ending != nil {
		return l.ending
	}
	return l.net.SetDeadline(time.Time{})
}

// endWhenIdle ends the connection as soon as no statement runs. A client that has not signed in gets one more second.
func (l *link) endWhenIdle(why *Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending == nil {
		l.ending = why
	}
	switch { // it fails if the connection has ended
	case l.idle:
		_ = l.net.SetReadDeadline(time.Unix(1, 0))
	case !l.signed:
		_ = l.net.SetDeadline(time.Now().Add(time.Second))
	}
}

// giveUp closes the connection of a client that has not signed in.
func (l *link) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending == nil {
		l.ending = fatal("53300", "too many connections have not signed in yet; try again")
	}
	_ = l.raw.Close() // the goroutine of the connection ends
}

// cut closes the connection and ends the running statement.
func (l *link) cut(cause error) {
	l.cancelStatement(cause)
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.net.SetDeadline(time.Now().Add(time.Second)) // it fails if the connection has ended
}

// cancelStatement ends the running statement.
func (l *link) cancelStatement(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil {
		l.current(cause)
	}
}

// setCancel sets the function that ends the running statement.
func (l *link) setCancel(cancel context.CancelCauseFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = cancel
	if cancel != nil && l.ending != nil && l.ending.State == "28000" {
		cancel(l.ending)
	}
}

// isIdle reports whether the connection waits for the client.
func (l *link) isIdle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.idle
}

// errIdle is the error of next if no message came in time.
var errIdle = errors.New("no message came in time")

// await waits for the next message. The connection may be idle for any time if most is 0.
func (l *link) await(most time.Duration) error {
	l.mu.Lock()
	why := l.ending
	l.idle = true
	if why == nil && most > 0 {
		_ = l.net.SetReadDeadline(time.Now().Add(most)) // it fails if the connection has ended
	}
	l.mu.Unlock()
	if why != nil {
		return why
	}
	_, err := l.in.Peek()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = false
	if l.ending != nil {
		return l.ending
	}
	if late := net.Error(nil); most > 0 && errors.As(err, &late) && late.Timeout() {
		_ = l.net.SetReadDeadline(time.Time{})
		return errIdle
	}
	if err != nil {
		return err
	}
	return l.net.SetReadDeadline(time.Now().Add(l.cfg.StallTime))
}

// next reads the next message.
func (l *link) next() (kind byte, body []byte, err error) { return l.nextWithin(0) }

// nextWithin reads the next message. If it does not begin within a time, the error is errIdle.
func (l *link) nextWithin(most time.Duration) (kind byte, body []byte, err error) {
	l.in.Forget()
	l.large.release()
	if err := l.await(most); err != nil {
		return 0, nil, err
	}
	if kind, body, err = l.in.Next(); err != nil {
		return 0, nil, err
	}
	return kind, body, l.net.SetReadDeadline(time.Time{})
}

// watch calls cancel when the client disconnects. stop ends the watching.
func (l *link) watch(cancel context.CancelCauseFunc) (stop func()) {
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		err := l.in.Watch()
		if errors.Is(err, wire.ErrFull) && !l.awaitDeparture(stopped) {
			return
		}
		if err != nil {
			cancel(errGone)
		}
	}()
	return func() {
		close(stopped)
		_ = l.net.SetReadDeadline(time.Unix(1, 0)) // it fails if the connection has ended
		<-ended
		_ = l.net.SetReadDeadline(time.Time{})
	}
}

// awaitDeparture waits until the client has ended its side of the connection, and returns true, or until stopped is
// closed.
func (l *link) awaitDeparture(stopped <-chan struct{}) bool {
	check := time.NewTicker(checkDeparted)
	defer check.Stop()
	for {
		select {
		case <-stopped:
			return false
		case <-check.C:
			if departed(l.raw) {
				return true
			}
		}
	}
}

// reading watches the client while rows are read and sent. At the statement's timeout, it closes the connection if the
// client does not read. stop ends the watching.
func (l *link) reading(x *execution) (stop func()) {
	if x == nil {
		return func() {}
	}
	unwatch := l.watch(x.cancel)
	over := make(chan struct{})
	forget := context.AfterFunc(x.running, func() {
		defer close(over)
		if !errors.Is(context.Cause(x.ctx), errUserCancel) {
			l.taking.endAt(time.Now().Add(lastWrite))
		}
	})
	return func() {
		if !forget() {
			<-over
		}
		l.taking.endAt(time.Time{})
		unwatch()
	}
}

// lastWrite is the time that a client has, after its statement has ended, to read the data being written.
const lastWrite = time.Second

// addressOf returns the address of a client.
func addressOf(nc net.Conn) netip.Addr {
	if from, err := netip.ParseAddrPort(nc.RemoteAddr().String()); err == nil {
		return from.Addr().Unmap()
	}
	return netip.Addr{}
}

// stalling writes to a connection whose client has to read some data in time.
type stalling struct {
	net.Conn
	most time.Duration

	mu   sync.Mutex // guards last and the write deadline
	last time.Time  // the end of all writing; zero means no end
}

// Write writes within the time limit.
func (s *stalling) Write(p []byte) (int, error) {
	if err := s.setDeadline(); err != nil {
		return 0, err
	}
	return s.Conn.Write(p)
}

func (s *stalling) setDeadline() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	until := time.Now().Add(s.most)
	if !s.last.IsZero() && s.last.Before(until) {
		until = s.last
	}
	return s.SetWriteDeadline(until)
}

// endAt ends all writing at a time; zero removes the limit.
func (s *stalling) endAt(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last = at; !at.IsZero() {
		_ = s.SetWriteDeadline(at) // it fails if the connection has ended
	}
}
