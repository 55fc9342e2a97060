package pgwire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime/debug"
	"sync"
	"time"
)

// ErrClosed is returned by Serve after Shutdown.
var ErrClosed = errors.New("pgwire: the server is closed")

// Server serves connections. See the package comment.
type Server struct {
	cfg     Config
	metrics *metrics
	pids    uint32 // the upper bits of process ids: a hash of the node's id

	mu        sync.Mutex // guards the fields below
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	byPID     map[uint32]*conn
	byAddress map[netip.Addr]int
	starting  int
	lastPID   uint32
	closing   bool
	refusing  int // refused connections that are being sent the reason, and those in line
	line      []*waiter
	cursors   cursors
	parked    *parked
	guessed   wrongKeys
	lineTime  time.Duration // how long a connection may wait in line
	running   sync.WaitGroup
}

// New returns a Server.
func New(cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	s := &Server{
		cfg: cfg, pids: nodeBits(cfg.Node), listeners: map[net.Listener]struct{}{}, conns: map[*conn]struct{}{},
		byPID: map[uint32]*conn{}, byAddress: map[netip.Addr]int{}, lineTime: min(maxLineTime, cfg.StartTime/2),
	}
	s.cursors.most = cfg.MaxCursors
	s.parked = newParked(&cfg)
	var err error
	s.metrics, err = newMetrics(cfg.Registerer, s.count)
	return s, err
}

// count returns the number of connections.
func (s *Server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Serve accepts connections until Shutdown, and then returns ErrClosed.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return ErrClosed
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	pause := 5 * time.Millisecond
	for {
		nc, err := l.Accept()
		if err != nil {
			if s.isClosing() {
				return ErrClosed
			}
			if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() || isTooMany(err) {
				time.Sleep(pause) // until other files are closed
				pause = min(2*pause, time.Second)
				continue
			}
			return fmt.Errorf("accept connections of PostgreSQL clients: %w", err)
		}
		pause = 5 * time.Millisecond
		s.enter(nc)
	}
}

func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// keepAlive is the time without data after which the server checks whether the client is still there.
const keepAlive = 2 * time.Minute

// enter starts to serve a connection.
func (s *Server) enter(nc net.Conn) {
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{ // the connection also works without it
			Enable: true, Idle: keepAlive, Interval: 15 * time.Second, Count: 4,
		})
	}
	c := newConn(s, nc)
	refused, room := s.admit(c)
	if refused != nil && !room {
		c.refuseAtOnce(refused)
		s.running.Done()
		return
	}
	go func() {
		defer func() { s.leave(c, refused) }()
		defer nc.Close()
		defer func() {
			if p := recover(); p != nil {
				s.cfg.Logger.Error("panic in a connection of a PostgreSQL client", "remote", c.link.address, "panic",
					fmt.Sprint(p), "stack", string(debug.Stack()))
				c.abandon()
			}
		}()
		if refused == errCrowded {
			refused = s.wait(c)
		}
		if refused != nil {
			c.refuse(refused)
			return
		}
		c.serve()
	}()
}

// Shutdown closes idle connections, waits for running statements until ctx ends, and then ends these, too.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	for l := range s.listeners {
		_ = l.Close() // the error does not matter here
	}
	open := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		open = append(open, c)
	}
	s.callLine()
	s.mu.Unlock()
	for _, c := range open {
		c.link.endWhenIdle(fatal("57P01", "terminating connection: the server is stopping"))
	}
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	for _, c := range open {
		c.link.cut(errStopping)
	}
	<-done
	return fmt.Errorf("statements of PostgreSQL clients were still under way: %w", ctx.Err())
}

// cancelRequest handles the body of a cancel request after its code. Its client gets no response.
func (s *Server) cancelRequest(from netip.Addr, body []byte) {
	if s.guessed.tooMany(from) {
		s.metrics.cancel(false)
		return
	}
	found := len(body) == 8 && s.cancelAnywhere(binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:]))
	if !found {
		s.guessed.add(from)
	}
	s.metrics.cancel(found)
}

// elsewhereTime is the time limit for asking other nodes to cancel.
const elsewhereTime = 2 * time.Second

// cancelAnywhere cancels a statement like Cancel, also on connections of other nodes. Behind a load balancer, a request
// to cancel may reach another node than the node that runs the statement.
func (s *Server) cancelAnywhere(pid, key uint32) bool {
	if s.Cancel(pid, key) {
		return true
	}
	if s.cfg.CancelElsewhere == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), elsewhereTime)
	defer cancel()
	return s.cfg.CancelElsewhere(ctx, pid, key)
}

// Cancel ends the running statement of a connection, if the key is correct, and reports whether the connection exists.
func (s *Server) Cancel(pid, key uint32) bool {
	s.mu.Lock()
	c := s.byPID[pid]
	s.mu.Unlock()
	if c == nil || !sameKey(c.key, key) {
		return false
	}
	c.link.cancelStatement(errUserCancel)
	return true
}
