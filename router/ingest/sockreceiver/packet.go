package sockreceiver

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"cordwood/router/access"
)

const (
	// socketBuffer is the size of the kernel's buffer for datagrams, in bytes.
	socketBuffer = 4 << 20
	// maxDatagram is the largest possible datagram.
	maxDatagram = 64 << 10
	// askAgain is how long datagrams are dropped before the sender's right is checked again.
	askAgain = time.Second
)

// ServePacket receives datagrams from p until Shutdown. It closes p, and returns ErrClosed or the error of p.
func (s *Server) ServePacket(p net.PacketConn) error {
	if !s.open(p, &s.serving) {
		_ = p.Close()
		return ErrClosed
	}
	defer s.closed(p, &s.serving)
	if buffered, ok := p.(interface{ SetReadBuffer(n int) error }); ok {
		_ = buffered.SetReadBuffer(socketBuffer) // the system may allow less
	}
	r := packets{s: s}
	buf := make([]byte, maxDatagram)
	for wait := time.Duration(0); ; {
		n, from, err := readFrom(p, buf)
		switch {
		case err == nil:
			wait = 0
			r.take(from, buf[:n])
		case s.isClosing():
			return ErrClosed
		case errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrDeadlineExceeded):
			return err
		default:
			// The socket stays usable after an error such as ECONNREFUSED.
			wait = min(max(2*wait, time.Millisecond), time.Second)
			select {
			case <-time.After(wait):
			case <-s.ctx.Done():
			}
		}
	}
}

// readFrom reads a datagram.
func readFrom(p net.PacketConn, buf []byte) (int, netip.AddrPort, error) {
	if u, ok := p.(*net.UDPConn); ok {
		n, from, err := u.ReadFromUDPAddrPort(buf)
		return n, netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), err
	}
	n, from, err := p.ReadFrom(buf)
	if err != nil {
		return n, netip.AddrPort{}, err
	}
	return n, netip.AddrPortFrom(addressOf(from), 0), nil
}

// packets receives the datagrams of one socket.
type packets struct {
	s     *Server
	queue *queue // nil if nobody may send
	asked time.Time
}

// take stores the record in a datagram, or counts it as dropped.
func (r *packets) take(from netip.AddrPort, data []byte) {
	s := r.s
	now := s.cfg.Now()
	name, ok := s.senders.pass(from.Addr(), now)
	if !ok {
		s.DropFrom(from.Addr(), Rate)
		return
	}
	if s.receiver.Packet != nil {
		data = s.receiver.Packet(from, data)
	}
	if len(data) == 0 {
		return
	}
	if !r.allowed() {
		s.DropFrom(from.Addr(), Forbidden)
		return
	}
	n, err := r.queue.add([]Record{{data, name, now.UnixNano()}}, false)
	switch {
	case err != nil:
		r.queue = nil
		s.DropFrom(from.Addr(), Forbidden)
	case n == 0:
		s.DropFrom(from.Addr(), Busy)
	}
}

// allowed reports whether datagrams may be stored.
func (r *packets) allowed() bool {
	if r.queue != nil {
		return true
	}
	if now := time.Now(); now.Sub(r.asked) > askAgain {
		r.asked = now
		caller, err := r.s.caller(r.s.ctx, Peer{})
		if err != nil {
			r.s.say("datagrams are dropped, because the listener's user may not store rows: check the user, its password in "+
				"token-file, and its rights", netip.Addr{}, "error", err)
			return false
		}
		r.queue = r.s.queueFor(caller, Peer{})
	}
	return r.queue != nil
}

// DropFrom counts a dropped datagram, and logs this once a minute for each sender.
func (s *Server) DropFrom(from netip.Addr, why Reason) {
	s.Drop(why, 1)
	if n := s.senders.dropped(from); n > 0 {
		s.cfg.Logger.Warn("datagrams of a sender were dropped",
			"protocol", s.receiver.Protocol, "remote", from, "reason", string(why), "messages", n)
	}
}

// senders remembers the senders of datagrams, limits the rate of each, and counts its dropped datagrams.
type senders struct {
	rate float64
	now  func() time.Time

	mu    sync.Mutex // guards the fields below
	known map[netip.Addr]*sender
}

type sender struct {
	name    string
	tokens  float64 // datagrams that it may send now
	at      time.Time
	dropped int
	said    time.Time // when its drops were last logged
}

// maxSenders limits the number of senders that are remembered.
const maxSenders = 10_000

func newSenders(rate int, now func() time.Time) senders {
	return senders{rate: float64(rate), now: now, known: map[netip.Addr]*sender{}}
}

// find returns a sender. All IPv6 addresses of a network count as one sender. s.mu must be held.
func (s *senders) find(a netip.Addr, now time.Time) *sender {
	k := access.Network(a)
	one, ok := s.known[k]
	if !ok {
		if len(s.known) >= maxSenders {
			s.forget(now)
		}
		one = &sender{name: a.String(), tokens: s.rate, at: now}
		s.known[k] = one
	}
	return one
}

// forget removes senders that have sent nothing for a minute. If there are none, it removes all.
func (s *senders) forget(now time.Time) {
	for a, one := range s.known {
		if now.Sub(one.at) > time.Minute {
			delete(s.known, a)
		}
	}
	if len(s.known) >= maxSenders {
		clear(s.known)
	}
}

// pass reports whether a sender may send one more datagram, and returns its address as a text.
func (s *senders) pass(a netip.Addr, now time.Time) (name string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.find(a, now)
	one.tokens = min(s.rate, one.tokens+now.Sub(one.at).Seconds()*s.rate)
	one.at = now
	if one.tokens < 1 {
		return "", false
	}
	one.tokens--
	if a.Is6() && access.Network(a) != a {
		return a.String(), true
	}
	return one.name, true
}

// dropped counts a dropped datagram of a sender. Once a minute, it returns the number of datagrams that were dropped
// since the last time, and otherwise 0.
func (s *senders) dropped(a netip.Addr) int {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.find(a, now)
	one.dropped++
	if now.Sub(one.said) < logEvery {
		return 0
	}
	n := one.dropped
	one.dropped, one.said = 0, now
	return n
}
