// Package rpcport is the one port between nodes: it tells raft's connections, calls of
// nodes of the cluster and calls of strangers apart by their first bytes, behind mutual
// TLS if that is set, and hands each to whom it is for.
//
// Life cycle: Listen opens the port; strangers are served from then on. Join lets the
// nodes of the cluster in, once this node belongs to one. Close ends everything that was
// not handed on; connections that were belong to those who took them. All may be called
// concurrently.
//
// FORMAT.md beside this file is what goes over the wire.
package rpcport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"cordwood/node/certs"
	"cordwood/proto/handshake"
)

// Config says what Listen opens. Addr is required.
type Config struct {
	// Addr is HOST:PORT.
	Addr string
	// TLS, if not nil, is the certificate of this node; only those that show one of the
	// same authority get in.
	TLS *certs.Source
	// Logger takes refused connections. The default value discards.
	Logger *slog.Logger
	// Timeout is how long a connection may take to tell what it is, its TLS handshake
	// included. The default value is 5 s.
	Timeout time.Duration
}

// maxUndecided is how many connections may be about to tell what they are. More are
// closed: nodes try again.
const maxUndecided = 256

// Port is an open port.
type Port struct {
	cfg       Config
	listener  net.Listener
	tls       *tls.Config
	strangers *handover
	calls     *handover
	undecided chan struct{}
	serving   sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	member *Member
	raft   func(net.Conn)
	conns  map[net.Conn]struct{} // not handed on yet
	closed bool
	// untold counts the connections that were refused since told, without a line in the log.
	untold int
	told   time.Time
}

// Listen opens the port.
func Listen(cfg Config) (*Port, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second
	}
	l, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		return nil, err
	}
	p := &Port{
		cfg: cfg, listener: l, strangers: newHandover(l.Addr()), calls: newHandover(l.Addr()),
		undecided: make(chan struct{}, maxUndecided), conns: map[net.Conn]struct{}{},
	}
	if cfg.TLS != nil {
		p.tls = cfg.TLS.Server("h2")
	}
	p.serving.Add(1)
	go p.accept()
	return p, nil
}

// Addr is where the port listens.
func (p *Port) Addr() net.Addr { return p.listener.Addr() }

// Strangers yields the connections of calls that began without a greeting. To close it
// ends Accept, not the port.
func (p *Port) Strangers() net.Listener { return p.strangers }

// Calls yields the connections of calls of nodes of the cluster, from Join on. To close
// it ends Accept, not the port.
func (p *Port) Calls() net.Listener { return p.calls }

// Join lets nodes of the cluster in, as me. raft is given their raft connections, each
// on a goroutine of its own, and closes them.
func (p *Port) Join(me Member, raft func(net.Conn)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.member, p.raft = &me, raft
}

// Close closes the port and all connections that were not handed on, and waits for the
// goroutines, those of raft included: what serves it must have been closed before.
func (p *Port) Close() error {
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	err := p.listener.Close()
	_ = p.strangers.Close() // never fails
	_ = p.calls.Close()
	p.serving.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (p *Port) accept() {
	defer p.serving.Done()
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			p.mu.Lock()
			closed := p.closed
			p.mu.Unlock()
			if closed {
				return
			}
			// As when there are no file descriptors left: it passes.
			p.cfg.Logger.Warn("a connection of another node could not be taken", "error", err)
			time.Sleep(50 * time.Millisecond)
			continue
		}
		select {
		case p.undecided <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		if !p.keep(conn) {
			conn.Close()
			return
		}
		p.serving.Add(1)
		go func() {
			defer p.serving.Done()
			p.serve(conn)
		}()
	}
}

func (p *Port) keep(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.conns[conn] = struct{}{}
	return true
}

func (p *Port) forget(conn net.Conn) {
	p.mu.Lock()
	delete(p.conns, conn)
	p.mu.Unlock()
}

// serve finds out what a connection is, and hands it on.
func (p *Port) serve(raw net.Conn) {
	conn, take, err := p.sort(raw)
	<-p.undecided
	p.forget(raw)
	if err != nil {
		raw.Close()
		p.refused(raw, err)
		return
	}
	take(conn)
}

// refusedEvery is how often refused connections get a line in the log, at most: who is
// refused tries again and again.
const refusedEvery = 5 * time.Second

func (p *Port) refused(conn net.Conn, err error) {
	if errors.Is(err, io.EOF) {
		return // probes connect and leave
	}
	p.mu.Lock()
	p.untold++
	count, soon := p.untold, time.Since(p.told) < refusedEvery
	if !soon {
		p.untold, p.told = 0, time.Now()
	}
	p.mu.Unlock()
	if !soon {
		p.cfg.Logger.Warn("refused a connection to the port between nodes", "from", conn.RemoteAddr().String(), "error", err, "count", count)
	}
}

// sort finds out what a connection is, and who takes it.
func (p *Port) sort(raw net.Conn) (conn net.Conn, take func(net.Conn), err error) {
	if err := raw.SetDeadline(time.Now().Add(p.cfg.Timeout)); err != nil {
		return nil, nil, err
	}
	conn = raw
	if p.tls != nil {
		secure := tls.Server(raw, p.tls)
		if err := secure.HandshakeContext(context.Background()); err != nil {
			return nil, nil, fmt.Errorf("TLS: %w", err)
		}
		conn = secure
	}
	head := make([]byte, 4)
	if _, err := io.ReadFull(conn, head); err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	member, raft := p.member, p.raft
	p.mu.Unlock()
	switch string(head) {
	case magicHTTP2:
		take = p.strangers.give
	case magicRaft:
		if raft == nil {
			return nil, nil, errors.New("a raft connection, and this node belongs to no cluster yet")
		}
		take = raft
	case magicCalls:
		g, err := readGreeting(conn)
		if err != nil {
			return nil, nil, err
		}
		version, reason := member.judge(g)
		if err := handshake.Answer(conn, magicCalls, version, reason); err != nil {
			return nil, nil, err
		}
		if version == 0 {
			return nil, nil, errors.New(reason)
		}
		return conn, p.calls.give, raw.SetDeadline(time.Time{})
	default:
		return nil, nil, notANode(conn, string(head))
	}
	return &begun{conn, head}, take, raw.SetDeadline(time.Time{})
}

// begun is a connection of which the first bytes were read already.
type begun struct {
	net.Conn
	head []byte
}

func (c *begun) Read(b []byte) (int, error) {
	if len(c.head) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.head)
	c.head = c.head[n:]
	return n, nil
}

// handover is a net.Listener of connections that were accepted elsewhere.
type handover struct {
	addr  net.Addr
	conns chan net.Conn
	quit  chan struct{}
	once  sync.Once
}

func newHandover(addr net.Addr) *handover {
	return &handover{addr: addr, conns: make(chan net.Conn), quit: make(chan struct{})}
}

func (h *handover) give(conn net.Conn) {
	select {
	case h.conns <- conn:
	case <-h.quit:
		conn.Close()
	}
}

// Accept is that of net.Listener.
func (h *handover) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.quit:
		return nil, net.ErrClosed
	}
}

// Close is that of net.Listener.
func (h *handover) Close() error {
	h.once.Do(func() { close(h.quit) })
	return nil
}

// Addr is that of net.Listener.
func (h *handover) Addr() net.Addr { return h.addr }
