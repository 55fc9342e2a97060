// Package rpcport is the one port between nodes. Peers prove by mutual TLS that they belong to the
// cluster. By their first bytes the package distinguishes raft's connections, calls of nodes of
// the cluster, and calls of nodes that belong to no cluster yet, and hands each to its server.
//
// Life cycle: Listen opens the port; nodes of no cluster are served from then on. Join lets the
// nodes of the cluster in, once this node belongs to one. Close ends everything that was
// not handed on; connections that were belong to their takers. All may be called
// concurrently.
//
// FORMAT.md beside this file is what goes over the wire.
package rpcport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"cordwood/proto/handshake"
)

// Config says what Listen opens. Addr is required.
type Config struct {
	// Addr is HOST:PORT.
	Addr string
	// Credentials, if not nil, are this node's credentials; only nodes with such credentials get in.
	Credentials Credentials
	// Insecure also admits connections without TLS, while a cluster changes to TLS or back.
	Insecure bool
	// Logger takes refused connections. The default value discards.
	Logger *slog.Logger
	// Timeout is how long a connection may take to send its first bytes, including the TLS handshake.
	// The default value is 5 s.
	Timeout time.Duration
}

// maxUndecided is how many connections may be in their handshake or before their first bytes. With
// one more the oldest is closed: a node takes milliseconds, so the oldest is the least likely
// one.
const maxUndecided = 256

// Port is an open port.
type Port struct {
	cfg       Config
	listener  net.Listener
	tls       *tls.Config
	strangers *handover
	calls     *handover
	serving   sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	member *Member
	raft   func(conn net.Conn, node string)
	// undecided are the connections that were not handed on yet, with their numbers in the
	// order in which they came; proven are connections that were handed on, and have shown a certificate.
	undecided map[net.Conn]uint64
	proven    map[*proven]struct{}
	last      uint64
	closed    bool
	// unlogged counts the connections that were refused since told, without a line in the log.
	unlogged int
	told     time.Time
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
		undecided: map[net.Conn]uint64{}, proven: map[*proven]struct{}{},
	}
	if cfg.Credentials != nil {
		p.tls = cfg.Credentials.Server("h2")
	}
	p.serving.Add(1)
	go p.accept()
	return p, nil
}

// Addr returns where the port listens.
func (p *Port) Addr() net.Addr { return p.listener.Addr() }

// Strangers yields the connections of calls that began without a greeting. To close it
// ends Accept, not the port.
func (p *Port) Strangers() net.Listener { return p.strangers }

// Calls yields the connections of calls of nodes of the cluster, from Join on. To close
// it ends Accept, not the port.
func (p *Port) Calls() net.Listener { return p.calls }

// Join lets nodes of the cluster in, as me. raft is given their raft connections, each
// on a goroutine of its own, and closes them. node is the id that the other side has proved to
// have; empty if it has not.
func (p *Port) Join(me Member, raft func(conn net.Conn, node string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.member, p.raft = &me, raft
}

// Close closes the port and all connections that were not handed on, and waits for the
// goroutines, raft's included: what serves it must have been closed before.
func (p *Port) Close() error {
	p.mu.Lock()
	p.closed = true
	for c := range p.undecided {
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

// keep notes a connection whose first bytes have not come. It returns false once the port is closed.
func (p *Port) keep(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	if len(p.undecided) >= maxUndecided {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(p.undecided)), func(a, b net.Conn) int {
			return cmp.Compare(p.undecided[a], p.undecided[b])
		})
		delete(p.undecided, oldest)
		oldest.Close()
	}
	p.last++
	p.undecided[conn] = p.last
	return true
}

// decided forgets a connection whose first bytes have come. It returns false if it was closed to make
// room for others.
func (p *Port) decided(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, kept := p.undecided[conn]
	delete(p.undecided, conn)
	return kept
}

// serve finds out what a connection is, and hands it on.
func (p *Port) serve(raw net.Conn) {
	conn, take, err := p.sort(raw)
	if !p.decided(raw) {
		err = fmt.Errorf("%d connections have not told yet what they are: the oldest of them is closed", maxUndecided)
	}
	if err != nil {
		if conn != nil {
			conn.Close()
		}
		raw.Close()
		p.refused(raw, err)
		return
	}
	take(conn)
}

// refusedEvery is how often refused connections get a line in the log, at most: a refused peer
// tries again and again.
const refusedEvery = 5 * time.Second

func (p *Port) refused(conn net.Conn, err error) {
	if errors.Is(err, io.EOF) {
		return // probes connect and leave
	}
	p.mu.Lock()
	p.unlogged++
	count, soon := p.unlogged, time.Since(p.told) < refusedEvery
	if !soon {
		p.unlogged, p.told = 0, time.Now()
	}
	p.mu.Unlock()
	if !soon {
		p.cfg.Logger.Warn("refused a connection to the port between nodes", "from", conn.RemoteAddr().String(),
			"error", err, "count", count)
	}
}

// sort finds out what a connection is, and which handler takes it.
func (p *Port) sort(raw net.Conn) (conn net.Conn, take func(net.Conn), err error) {
	if err := raw.SetDeadline(time.Now().Add(p.cfg.Timeout)); err != nil {
		return nil, nil, err
	}
	conn, head, node, err := p.prove(raw)
	if err != nil {
		return conn, nil, err
	}
	p.mu.Lock()
	member, raft := p.member, p.raft
	p.mu.Unlock()
	switch head {
	case magicHTTP2:
		take = p.strangers.give
	case magicRaft:
		if raft == nil {
			return conn, nil, errors.New("a raft connection, and this node belongs to no cluster yet")
		}
		take = func(conn net.Conn) { raft(conn, node) }
	case magicCalls:
		g, err := readGreeting(conn)
		if err != nil {
			return conn, nil, err
		}
		version, reason := member.judge(g, node)
		if err := handshake.Answer(conn, magicCalls, version, reason); err != nil {
			return conn, nil, err
		}
		if version == 0 {
			return conn, nil, errors.New(reason)
		}
		return conn, p.calls.give, raw.SetDeadline(time.Time{})
	default:
		return conn, nil, notANode(conn, head)
	}
	return &begun{conn, []byte(head)}, take, raw.SetDeadline(time.Time{})
}

// recordHandshake is the byte that TLS begins with.
const recordHandshake = 0x16

// prove has the other side of a connection prove that it belongs to the cluster. head is what it
// says first, and node the id that it has proved to have, if any.
func (p *Port) prove(raw net.Conn) (conn net.Conn, head, node string, err error) {
	begin, err := readHead(raw)
	if err != nil {
		return nil, "", "", err
	}
	switch isTLS := begin[0] == recordHandshake; {
	case p.tls == nil && isTLS:
		return nil, "", "", errors.New(reasonTLS)
	case !isTLS && p.tls != nil && !p.cfg.Insecure:
		return nil, "", "", tellPlain(raw, begin)
	case !isTLS:
		return raw, begin, "", nil
	}
	secure := tls.Server(&begun{raw, []byte(begin)}, p.tls)
	if err := secure.HandshakeContext(context.Background()); err != nil {
		return nil, "", "", fmt.Errorf("TLS: %w", explain(err, p.cfg.Credentials, false))
	}
	node = p.cfg.Credentials.Node(secure.ConnectionState())
	conn = p.watch(secure, node)
	// The secret may have changed since the handshake, before Recheck knew of the connection.
	if err := p.cfg.Credentials.Trusts(secure.ConnectionState()); err != nil {
		return conn, "", node, err
	}
	head, err = readHead(conn)
	return conn, head, node, err
}

func readHead(conn net.Conn) (string, error) {
	head := make([]byte, len(magicCalls))
	_, err := io.ReadFull(conn, head)
	return string(head), err
}

// proven is a connection whose other side has shown a certificate.
type proven struct {
	*tls.Conn
	port *Port
	addr nodeAddr
}

// watch keeps a connection, so that it ends when its certificate is not good any more.
func (p *Port) watch(secure *tls.Conn, node string) *proven {
	c := &proven{secure, p, nodeAddr{secure.RemoteAddr(), node}}
	p.mu.Lock()
	p.proven[c] = struct{}{}
	p.mu.Unlock()
	return c
}

// RemoteAddr implements net.Conn, with the id of the node.
func (c *proven) RemoteAddr() net.Addr { return c.addr }

// Close implements net.Conn.
func (c *proven) Close() error {
	c.port.mu.Lock()
	delete(c.port.proven, c)
	c.port.mu.Unlock()
	return c.Conn.Close()
}

// Recheck closes the connections whose certificates are not good any more, as after a change of
// the cluster's secret. Nodes connect again.
func (p *Port) Recheck() {
	p.mu.Lock()
	all := slices.Collect(maps.Keys(p.proven))
	p.mu.Unlock()
	for _, c := range all {
		if err := p.cfg.Credentials.Trusts(c.ConnectionState()); err != nil {
			p.cfg.Logger.Warn("closed a connection of another node", "from", c.addr.String(), "node", c.addr.node, "error", err)
			_ = c.Close() // its reader sees the end
		}
	}
}

// begun is a connection whose first bytes were read already.
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

// Accept implements net.Listener.
func (h *handover) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.quit:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *handover) Close() error {
	h.once.Do(func() { close(h.quit) })
	return nil
}

// Addr implements net.Listener.
func (h *handover) Addr() net.Addr { return h.addr }
