// Package rpcport is the one port between nodes. Peers prove by mutual TLS that they belong to the cluster. By their
// first bytes the package distinguishes raft connections, calls of nodes of the cluster, and calls of nodes that
// belong to no cluster yet, and passes each to its server.
//
// Life cycle: Listen opens the port. From then on, nodes without a cluster are served. Join admits the nodes of the
// cluster, once this node belongs to one. Close closes every connection that was not passed to a server; the servers
// own the others. All functions are safe for concurrent use.
//
// FORMAT.md in this folder describes the bytes on the wire.
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

// Config configures Listen. Addr is required.
type Config struct {
	// Addr is HOST:PORT.
	Addr string
	// Credentials, if not nil, are this node's credentials. Only nodes with matching credentials are admitted.
	Credentials Credentials
	// Insecure also admits connections without TLS, while a cluster changes to TLS or back.
	Insecure bool
	// Logger logs refused connections. If it is nil, they are not logged.
	Logger *slog.Logger
	// Timeout is the time limit for the first bytes of a connection, including the TLS handshake.
	// The default value is 5 s.
	Timeout time.Duration
}

// maxUndecided is the maximum number of connections that may be in their handshake or before their first bytes.
// Another one closes the oldest: nodes take only milliseconds, so the oldest is probably not a node.
const maxUndecided = 256

// Port is an open port.
type Port struct {
	cfg       Config
	listener  net.Listener
	tls       *tls.Config
	ungreeted *handover
	calls     *handover
	serving   sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	member *Member
	raft   func(conn net.Conn, node string)
	// undecided contains the connections that were not passed on yet, numbered in the order of their arrival. proven
	// contains connections that were passed on and have presented a certificate.
	undecided map[net.Conn]uint64
	proven    map[*proven]struct{}
	last      uint64
	closed    bool
	// unlogged counts the connections that were refused since the last log line.
	unlogged int
	logged   time.Time
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
		cfg: cfg, listener: l, ungreeted: newHandover(l.Addr()), calls: newHandover(l.Addr()),
		undecided: map[net.Conn]uint64{}, proven: map[*proven]struct{}{},
	}
	if cfg.Credentials != nil {
		p.tls = cfg.Credentials.Server("h2")
	}
	p.serving.Add(1)
	go p.accept()
	return p, nil
}

// Addr returns the address that the port listens on.
func (p *Port) Addr() net.Addr { return p.listener.Addr() }

// CallsWithoutGreeting returns the listener of calls that start without a greeting. Closing it ends Accept, but does
// not close the port.
func (p *Port) CallsWithoutGreeting() net.Listener { return p.ungreeted }

// Calls returns the listener of calls of nodes of the cluster, which are accepted after Join. Closing it ends Accept,
// but does not close the port.
func (p *Port) Calls() net.Listener { return p.calls }

// Join admits nodes of the cluster. me describes this node. raft receives the raft connections, each on its own
// goroutine, and closes them. node is the authenticated id of the other side, or empty.
func (p *Port) Join(me Member, raft func(conn net.Conn, node string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.member, p.raft = &me, raft
}

// Close closes the port and all connections that were not passed on. It waits for the goroutines, including those of
// raft, so the servers must have been closed before.
func (p *Port) Close() error {
	p.mu.Lock()
	p.closed = true
	for c := range p.undecided {
		c.Close()
	}
	p.mu.Unlock()
	err := p.listener.Close()
	_ = p.ungreeted.Close() // never fails
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
			// A lack of file descriptors, for example, is temporary.
			p.cfg.Logger.Warn("cannot accept a connection of another node", "error", err)
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

// keep records a connection until its first bytes arrive. It returns false once the port is closed.
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

// decided removes the record of a connection after its first bytes. It returns false if the connection was closed to
// make room for others.
func (p *Port) decided(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, kept := p.undecided[conn]
	delete(p.undecided, conn)
	return kept
}

// serve determines the kind of a connection, and passes it on.
func (p *Port) serve(raw net.Conn) {
	conn, take, err := p.sort(raw)
	if !p.decided(raw) {
		err = fmt.Errorf("%d connections have not sent their first bytes yet: the oldest one is closed", maxUndecided)
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

// refusedEvery is the minimum interval between log lines about refused connections, since refused peers retry.
const refusedEvery = 5 * time.Second

func (p *Port) refused(conn net.Conn, err error) {
	if errors.Is(err, io.EOF) {
		return // probes connect and disconnect
	}
	p.mu.Lock()
	p.unlogged++
	count, soon := p.unlogged, time.Since(p.logged) < refusedEvery
	if !soon {
		p.unlogged, p.logged = 0, time.Now()
	}
	p.mu.Unlock()
	if !soon {
		p.cfg.Logger.Warn("refused a connection to the port between nodes", "from", conn.RemoteAddr().String(),
			"error", err, "count", count)
	}
}

// sort determines the kind of a connection, and the handler for it.
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
		take = p.ungreeted.give
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

// recordHandshake is the first byte of a TLS connection.
const recordHandshake = 0x16

// prove authenticates the other side of a connection. head is its first message, and node its
// authenticated id, if any.
func (p *Port) prove(raw net.Conn) (conn net.Conn, head, node string, err error) {
	begin, err := readHead(raw)
	if err != nil {
		return nil, "", "", err
	}
	switch isTLS := begin[0] == recordHandshake; {
	case p.tls == nil && isTLS:
		return nil, "", "", errors.New(reasonTLS)
	case !isTLS && p.tls != nil && !p.cfg.Insecure:
		return nil, "", "", answerPlain(raw, begin)
	case !isTLS:
		return raw, begin, "", nil
	}
	secure := tls.Server(&begun{raw, []byte(begin)}, p.tls)
	if err := secure.HandshakeContext(context.Background()); err != nil {
		return nil, "", "", fmt.Errorf("TLS: %w", explain(err, p.cfg.Credentials, false))
	}
	node = p.cfg.Credentials.Node(secure.ConnectionState())
	conn = p.watch(secure, node)
	// The secret may have changed after the handshake and before Recheck knew the connection.
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

// proven is a connection whose other side has presented a certificate.
type proven struct {
	*tls.Conn
	port *Port
	addr nodeAddr
}

// watch records a connection, so that Recheck can close it when its certificate is no longer valid.
func (p *Port) watch(secure *tls.Conn, node string) *proven {
	c := &proven{secure, p, nodeAddr{secure.RemoteAddr(), node}}
	p.mu.Lock()
	p.proven[c] = struct{}{}
	p.mu.Unlock()
	return c
}

// RemoteAddr returns the address together with the id of the node.
func (c *proven) RemoteAddr() net.Addr { return c.addr }

func (c *proven) Close() error {
	c.port.mu.Lock()
	delete(c.port.proven, c)
	c.port.mu.Unlock()
	return c.Conn.Close()
}

// Recheck closes the connections whose certificates are no longer valid, for example after a change
// of the cluster's secret. Nodes connect again.
func (p *Port) Recheck() {
	p.mu.Lock()
	all := slices.Collect(maps.Keys(p.proven))
	p.mu.Unlock()
	for _, c := range all {
		if err := p.cfg.Credentials.Trusts(c.ConnectionState()); err != nil {
			p.cfg.Logger.Warn("closed a connection of another node", "from", c.addr.String(), "node", c.addr.node, "error", err)
			_ = c.Close() // its reader gets an error
		}
	}
}

// begun is a connection whose first bytes have been read.
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

// handover is a net.Listener for connections that were accepted by another listener.
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

func (h *handover) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.quit:
		return nil, net.ErrClosed
	}
}

func (h *handover) Close() error {
	h.once.Do(func() { close(h.quit) })
	return nil
}

func (h *handover) Addr() net.Addr { return h.addr }
