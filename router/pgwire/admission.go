package pgwire

import (
	"net/netip"
	"slices"
	"time"

	"cordwood/router/access"
)

// maxLineTime is the longest time that a connection waits for a place to sign in.
const maxLineTime = 5 * time.Second

// errCrowded is the error if too many connections have not signed in yet. Programs open many connections at once, so
// connections wait in line for a while before they are refused.
var errCrowded = fatal("53300", "too many connections have not signed in yet; try again")

// waiter is a connection in line for a place to sign in.
type waiter struct {
	c *conn
	// turn gets the result of register, once.
	turn chan *Error
}

// admit registers a connection, or returns the reason why it is refused, and whether there is room for it to wait: in
// line if the reason is errCrowded, and until it has been sent the reason.
func (s *Server) admit(c *conn) (refused *Error, room bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running.Add(1)
	if refused = s.register(c); refused == nil {
		return nil, true
	}
	if room = s.refusing < maxRefusing; room {
		s.refusing++
	}
	return refused, room
}

// register registers a connection, or returns the reason why it is refused. s.mu must be held.
func (s *Server) register(c *conn) *Error {
	host := access.Network(c.link.address)
	switch {
	case s.closing:
		return fatal("57P01", "the server is stopping")
	case len(s.conns)-s.starting >= s.cfg.MaxConnections:
		return fatal("53300", "sorry, too many clients already; there may be %d (--pg-max-connections)",
			s.cfg.MaxConnections)
	case s.byAddress[host] >= s.cfg.MaxPerAddress:
		return fatal("53300", "too many connections from your address; there may be %d", s.cfg.MaxPerAddress)
	case s.starting >= maxStarting && !s.replace(host):
		return errCrowded
	}
	s.conns[c] = struct{}{}
	s.byAddress[host]++
	s.starting++
	c.starting = true
	for {
		s.lastPID++
		c.pid = s.pids | s.lastPID&(1<<countedBits-1)
		if s.byPID[c.pid] == nil {
			break
		}
	}
	s.byPID[c.pid] = c
	return nil
}

// wait waits in line until a connection is registered. It returns the reason if it is refused.
func (s *Server) wait(c *conn) *Error {
	w := &waiter{c, make(chan *Error, 1)}
	s.mu.Lock()
	s.line = append(s.line, w)
	s.callLine() // a place may have become free since the connection was refused
	over := time.NewTimer(s.lineTime)
	s.mu.Unlock()
	defer over.Stop()
	select {
	case refused := <-w.turn:
		return refused
	case <-over.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.Index(s.line, w); at >= 0 {
		s.line = slices.Delete(s.line, at, at+1)
		return errCrowded
	}
	return <-w.turn
}

// callLine registers the first connections in line while there are places. s.mu must be held.
func (s *Server) callLine() {
	for len(s.line) > 0 && (s.starting < maxStarting || s.closing) {
		w := s.line[0]
		s.line = slices.Delete(s.line, 0, 1)
		refused := s.register(w.c)
		if refused == nil {
			s.refusing--
		}
		w.turn <- refused
	}
}

// replace closes a connection that has not signed in yet to make room for one of another address, and reports whether
// it did: the oldest one of the address that has the most of them. That address must have at least two more than the
// new connection's, so that clients that connect at the same time do not close each other's connections. s.mu must be
// held.
func (s *Server) replace(host netip.Addr) bool {
	count := map[netip.Addr]int{}
	for c := range s.conns {
		if c.starting {
			count[access.Network(c.link.address)]++
		}
	}
	var oldest *conn
	most := count[host] + 1
	for c := range s.conns {
		switch n := count[access.Network(c.link.address)]; {
		case !c.starting || n <= count[host]+1 || n < most:
		case n > most || oldest == nil || c.accepted.Before(oldest.accepted):
			most, oldest = n, c
		}
	}
	if oldest == nil {
		return false
	}
	oldest.starting = false
	s.starting--
	oldest.link.giveUp()
	return true
}

// started marks a connection as signed in, which frees a place for another one.
func (s *Server) started(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.starting {
		s.starting--
		c.starting = false
		s.callLine()
	}
}

func (s *Server) leave(c *conn, refused *Error) {
	defer s.running.Done()
	if refused != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refusing--
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	delete(s.byPID, c.pid)
	host := access.Network(c.link.address)
	if s.byAddress[host]--; s.byAddress[host] == 0 {
		delete(s.byAddress, host)
	}
	if c.starting {
		s.starting--
		c.starting = false
		s.callLine()
	}
}
