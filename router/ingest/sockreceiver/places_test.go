package sockreceiver

import (
	"net"
	"net/netip"
	"testing"
	"time"
)

// If there is no place for a new connection, it replaces a connection that has been silent for a long time.
func TestPlaces(t *testing.T) {
	now := time.Now()
	m, err := newMetrics("test", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{
		cfg: Config{MaxConnections: 2}, silentLong: 30 * time.Second, conns: map[*Conn]struct{}{}, metrics: m,
	}
	add := func(silent time.Duration) *Conn {
		c := &Conn{Server: s, nc: closed{}, active: now.Add(-silent)}
		s.conns[c] = struct{}{}
		return c
	}
	recent, old := add(29*time.Second), add(31*time.Second)
	if !s.roomFor(&Conn{active: now}) {
		t.Error("there is no room, although a connection is silent")
	}
	if _, there := s.conns[old]; there || len(s.conns) != 1 {
		t.Error("the silent connection is still there")
	}
	add(0)
	if s.roomFor(&Conn{active: now}) {
		t.Error("there is room, although no connection has been silent for long")
	}
	if _, there := s.conns[recent]; !there {
		t.Error("a connection in use was removed")
	}
}

// Senders may send again as time passes, and the senders of an IPv6 network share one rate. The number of remembered
// senders is limited.
// TestPlacesOfAddresses: one address has all places with half-sent records, and others get in. Among addresses with as
// many connections, none loses one.
func TestPlacesOfAddresses(t *testing.T) {
	now := time.Now()
	m, err := newMetrics("test", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{
		cfg: Config{MaxConnections: 6}, silentLong: 30 * time.Second, conns: map[*Conn]struct{}{}, metrics: m,
	}
	conn := func(address string, silent, partial time.Duration) *Conn {
		c := &Conn{
			Server: s, nc: closed{}, Peer: Peer{Address: netip.MustParseAddr(address)}, active: now.Add(-silent),
		}
		if partial > 0 {
			c.started = now.Add(-partial)
		}
		return c
	}
	add := func(c *Conn) bool {
		if !s.roomFor(c) {
			return false
		}
		s.conns[c] = struct{}{}
		return true
	}
	var flood []*Conn
	for i := range 6 {
		c := conn("2001:db8::1", 0, time.Duration(i)*time.Second)
		if i == 0 {
			c = conn("2001:db8::2", 20*time.Second, 0) // of the same network
		}
		if flood = append(flood, c); !add(c) {
			t.Fatalf("connection %d finds no place", i)
		}
	}
	if add(conn("2001:db8::3", 0, 0)) {
		t.Error("the address with all places replaces its own connections")
	}
	for i := range 3 {
		if !add(conn("192.0.2.1", 0, 0)) {
			t.Errorf("connection %d of another address finds no place", i)
		}
	}
	if add(conn("192.0.2.1", 0, 0)) {
		t.Error("an address gets more than the one that it replaces")
	}
	for i, want := range []bool{true, true, true, false, false, false} {
		if _, there := s.conns[flood[i]]; there != want {
			t.Errorf("connection %d is there: %t, want %t; the oldest half-sent records go first", i, there, want)
		}
	}
}

func TestSenders(t *testing.T) {
	now := time.Now()
	s := newSenders(10, func() time.Time { return now })
	pass := func(text string, n int) (passed int) {
		for range n {
			if _, ok := s.pass(netip.MustParseAddr(text), now); ok {
				passed++
			}
		}
		return passed
	}
	if n := pass("192.0.2.1", 12); n != 10 {
		t.Errorf("%d passed", n)
	}
	if n := pass("192.0.2.2", 12); n != 10 {
		t.Errorf("of another, %d passed", n)
	}
	now = now.Add(500 * time.Millisecond)
	if n := pass("192.0.2.1", 12); n != 5 {
		t.Errorf("after half a second, %d passed", n)
	}
	if n := pass("2001:db8::1", 6) + pass("2001:db8::2", 6); n != 10 {
		t.Errorf("of a network, %d passed", n)
	}
	if name, _ := s.pass(netip.MustParseAddr("2001:db8:1::7"), now); name != "2001:db8:1::7" {
		t.Errorf("name %s", name)
	}
	a := netip.MustParseAddr("10.0.0.0")
	for range 2 * maxSenders {
		a = a.Next()
		s.pass(a, now)
		if len(s.known) > maxSenders {
			t.Fatalf("%d are known", len(s.known))
		}
	}
}

// closed is a connection that can only be closed.
type closed struct{ net.Conn }

func (closed) Close() error { return nil }
