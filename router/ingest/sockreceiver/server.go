package sockreceiver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"cordwood/router/access"
)

// Server serves a protocol on one or several sockets. See the package comment.
type Server struct {
	cfg      Config
	receiver Receiver
	metrics  *metrics
	limiter  logLimiter
	senders  senders
	// silentLong is how long a connection must have been silent before a new connection may replace it.
	silentLong time.Duration

	// ctx ends when data that is not stored yet must be dropped.
	ctx    context.Context
	giveUp context.CancelFunc
	// slots has a place for each batch that is being filled or stored, and storing for each batch that is being
	// stored.
	slots, storing chan struct{}
	stores         sync.WaitGroup

	mu sync.Mutex // guards the fields below
	// closing is set after Shutdown was called, and draining when no more connections are accepted.
	closing, draining bool
	sockets           map[io.Closer]struct{}
	conns             map[*Conn]struct{}
	queues            map[access.Sender]*queue
	accepting         sync.WaitGroup // calls of Serve in progress
	serving           sync.WaitGroup // open connections, and calls of ServePacket in progress
	stopped           chan struct{}  // nil before Shutdown; closed when Shutdown has finished
}

// ErrClosed is returned by Serve and ServePacket after Shutdown.
var ErrClosed = errors.New("the server is closed")

// New returns a server for a protocol.
func New(cfg Config, receiver Receiver) (*Server, error) {
	cfg, err := cfg.withDefaults(&receiver)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", receiver.Protocol, err)
	}
	m, err := newMetrics(string(receiver.Protocol), cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", receiver.Protocol, err)
	}
	s := &Server{
		cfg: cfg, receiver: receiver, metrics: m, limiter: logLimiter{now: cfg.Now}, senders: newSenders(cfg.Rate, cfg.Now),
		silentLong: 30 * time.Second,
		slots:      make(chan struct{}, cfg.MaxBatches), storing: make(chan struct{}, parallelStores),
		sockets: map[io.Closer]struct{}{}, conns: map[*Conn]struct{}{}, queues: map[access.Sender]*queue{},
	}
	s.ctx, s.giveUp = context.WithCancel(context.Background())
	return s, nil
}

// Config returns the settings, with the defaults.
func (s *Server) Config() Config { return s.cfg }

// Drop counts n dropped messages.
func (s *Server) Drop(why Reason, n int) {
	s.metrics.dropped.WithLabelValues(string(why)).Add(float64(n))
}

// Serve accepts connections from l until Shutdown. It closes l, and returns ErrClosed or the error of l.
func (s *Server) Serve(l net.Listener) error {
	if !s.open(l, &s.accepting) {
		l.Close()
		return ErrClosed
	}
	defer s.closed(l, &s.accepting)
	if s.cfg.TLS != nil {
		l = tls.NewListener(l, s.cfg.TLS)
	}
	for wait := time.Duration(0); ; {
		nc, err := l.Accept()
		if err != nil && s.isClosing() {
			return ErrClosed
		}
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return err
			}
			// If there is no free file descriptor, Accept fails until there is one.
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			s.cfg.Logger.Warn("accepting a connection failed", "protocol", s.receiver.Protocol, "error", err)
			select {
			case <-time.After(wait):
			case <-s.ctx.Done():
			}
			continue
		}
		wait = 0
		s.accept(nc)
	}
}

// accept serves a connection, if there is a place for it.
func (s *Server) accept(nc net.Conn) {
	c := &Conn{Server: s, nc: nc, Peer: Peer{Address: addressOf(nc.RemoteAddr())}, active: time.Now()}
	s.mu.Lock()
	if s.draining || !s.roomFor(c) {
		s.mu.Unlock()
		s.Drop(Full, 1)
		s.say("too many connections: one was refused", c.Peer.Address, "max", s.cfg.MaxConnections)
		nc.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.serving.Add(1)
	s.mu.Unlock()
	s.metrics.connections.Inc()
	go func() {
		defer s.serving.Done()
		defer s.metrics.connections.Dec()
		defer s.remove(c)
		c.serve()
	}()
}

// roomFor reports whether there is a place for one more connection. If necessary, it closes another one: one that has
// been silent for long, or else one of an address that has at least two more than the new one's address. So the
// connections of one address cannot keep others out, whether they send nothing or never complete a record. s.mu must be
// held.
func (s *Server) roomFor(c *Conn) bool {
	if len(s.conns) < s.cfg.MaxConnections {
		return true
	}
	var silent *Conn
	counts := map[netip.Addr]int{}
	for other := range s.conns {
		counts[access.Network(other.Peer.Address)]++
		if silent == nil || other.lastActive().Before(silent.lastActive()) {
			silent = other
		}
	}
	if silent == nil || c.active.Sub(silent.lastActive()) < s.silentLong {
		if silent = s.ofCrowd(counts, counts[access.Network(c.Peer.Address)]); silent == nil {
			return false
		}
		s.Drop(Crowded, 1)
	}
	delete(s.conns, silent)
	silent.nc.Close()
	return true
}

// ofCrowd returns the connection to close for a new one of an address that has mine connections: of the address with
// the most, the one whose record has been incomplete for longest, or else the one that has been silent for longest. It
// returns nil if no address has at least two connections more. s.mu must be held.
func (s *Server) ofCrowd(counts map[netip.Addr]int, mine int) (worst *Conn) {
	most := 0
	for _, n := range counts {
		most = max(most, n)
	}
	if most < mine+2 {
		return nil
	}
	var waits time.Time
	unfinished := false
	for c := range s.conns {
		if counts[access.Network(c.Peer.Address)] < most {
			continue
		}
		since, partial := c.waitsSince()
		if worst == nil || partial && !unfinished || partial == unfinished && since.Before(waits) {
			worst, waits, unfinished = c, since, partial
		}
	}
	return worst
}

// remove removes a connection from the list.
func (s *Server) remove(c *Conn) {
	c.nc.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// queueFor returns the queue for the records of a caller who may store rows now. There are few users, so queues are
// never removed.
func (s *Server) queueFor(caller *access.Caller, from Peer) *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := caller.Sender
	key.Grants = nil // they are replaced when they change
	q, ok := s.queues[key]
	if !ok {
		q = &queue{s: s, from: from}
		s.queues[key] = q
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forbidden = nil
	return q
}

// open registers a socket that is being served. After Shutdown it returns false.
func (s *Server) open(socket io.Closer, calls *sync.WaitGroup) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.sockets[socket] = struct{}{}
	calls.Add(1)
	return true
}

// closed closes a socket that is no longer served.
func (s *Server) closed(socket io.Closer, calls *sync.WaitGroup) {
	_ = socket.Close()
	s.mu.Lock()
	delete(s.sockets, socket)
	s.mu.Unlock()
	calls.Done()
}

func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// Shutdown closes the listeners, reads what clients have already sent for at most Config.Drain, and stores what was
// read. When ctx ends, data that is not stored yet is dropped and counted, and Shutdown returns the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	first := !s.closing
	s.closing = true
	if first {
		s.stopped = make(chan struct{})
		for socket := range s.sockets {
			end(socket)
		}
		go func() {
			s.accepting.Wait()
			s.drain()
			s.serving.Wait()
			s.flush()
			s.stores.Wait()
			close(s.stopped)
		}()
	}
	stopped := s.stopped
	s.mu.Unlock()
	select {
	case <-stopped:
		s.giveUp()
		return nil
	case <-ctx.Done():
	}
	s.giveUp()
	s.mu.Lock()
	for c := range s.conns {
		c.nc.Close()
	}
	s.mu.Unlock()
	<-stopped
	return ctx.Err()
}

// lastOnes is the time for which Shutdown continues to accept connections and datagrams that wait in the kernel.
// Their data would be lost otherwise.
const lastOnes = 50 * time.Millisecond

// end ends the goroutine of a socket when no connection or datagram waits there any more. The goroutine closes the
// socket.
func end(socket io.Closer) {
	until := time.Now().Add(lastOnes)
	var err error
	switch socket := socket.(type) {
	case interface{ SetReadDeadline(t time.Time) error }: // net.PacketConn
		err = socket.SetReadDeadline(until)
	case interface{ SetDeadline(t time.Time) error }: // *net.TCPListener
		err = socket.SetDeadline(until)
	default:
		err = errors.ErrUnsupported
	}
	if err != nil {
		_ = socket.Close()
	}
}

// drain ends all connections. No more connections are accepted.
func (s *Server) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	for c := range s.conns {
		c.drain(s.cfg.Drain)
	}
}

// addressOf returns the address of a peer. It is zero if there is none, for example for pipes in tests.
func addressOf(a net.Addr) netip.Addr {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort().Addr().Unmap()
	}
	if p, err := netip.ParseAddrPort(a.String()); err == nil {
		return p.Addr().Unmap()
	}
	return netip.Addr{}
}

// Say logs a warning about a client, once a minute for each address and text.
func (c *Conn) Say(what string, args ...any) { c.say(what, c.Peer.Address, args...) }

// say logs a warning, once a minute for each address and text.
func (s *Server) say(what string, from netip.Addr, args ...any) {
	if s.limiter.allow(what + from.String()) {
		s.cfg.Logger.Warn(what, append([]any{"protocol", s.receiver.Protocol, "remote", from}, args...)...)
	}
}

// logLimiter allows each text once a minute.
type logLimiter struct {
	now  func() time.Time
	mu   sync.Mutex // guards last
	last map[string]time.Time
}

const (
	logEvery  = time.Minute
	maxSeldom = 1000
)

func (s *logLimiter) allow(text string) bool {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.last[text]; ok && now.Sub(at) < logEvery {
		return false
	}
	if len(s.last) >= maxSeldom || s.last == nil {
		s.last = map[string]time.Time{}
	}
	s.last[text] = now
	return true
}
