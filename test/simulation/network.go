package simulation

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"
)

// Network connects the nodes of a simulation in memory. Connections have a delay and can be cut. As with TCP, data
// that is sent over a cut connection is not lost: it waits until the network is repaired, or until the connection is
// closed after giveUp.
type Network struct {
	mu        sync.Mutex
	rng       *rand.Rand
	ports     map[string]func(net.Conn) // by "node/port"; nil while the node is down
	conns     map[*conn]string          // the nodes of connections
	cut       map[way]bool
	slow      map[way]time.Duration
	suspended map[string]bool // suspended nodes: data from and to them waits
	// delay and jitter apply to every connection.
	delay, jitter time.Duration
}

type way struct{ from, to string }

// giveUp is how long a connection survives a cut, like retransmissions of a real system.
const giveUp = 15 * time.Second

// NewNetwork returns a network without nodes. rng must not be used elsewhere.
func NewNetwork(rng *rand.Rand, delay, jitter time.Duration) *Network {
	return &Network{
		rng: rng, delay: delay, jitter: jitter, ports: map[string]func(net.Conn){},
		conns: map[*conn]string{}, cut: map[way]bool{}, slow: map[way]time.Duration{}, suspended: map[string]bool{},
	}
}

// Listen makes serve handle the connections to a port of a node, each in a separate goroutine.
func (n *Network) Listen(node, port string, serve func(net.Conn)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ports[node+"/"+port] = serve
}

// Down breaks all connections of a node and closes its ports.
func (n *Network) Down(node string) {
	n.mu.Lock()
	for name := range n.ports {
		if len(name) > len(node) && name[:len(node)+1] == node+"/" {
			delete(n.ports, name)
		}
	}
	var ends []*conn
	for c, on := range n.conns {
		if on == node {
			ends = append(ends, c)
		}
	}
	n.mu.Unlock()
	for _, c := range ends {
		c.reset()
	}
}

// Cut cuts the network between each of a and each of b, in both directions or, if oneWay, only from
// a to b.
func (n *Network) Cut(a, b []string, oneWay bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, x := range a {
		for _, y := range b {
			n.cut[way{x, y}] = true
			if !oneWay {
				n.cut[way{y, x}] = true
			}
		}
	}
}

// Slow adds d to the delay between two nodes.
func (n *Network) Slow(a, b string, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.slow[way{a, b}], n.slow[way{b, a}] = d, d
}

// Freeze makes all data from and to a node wait without a limit, like data of a suspended process. If still is false,
// the data is delivered again.
func (n *Network) Freeze(node string, still bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.suspended[node] = still
}

func (n *Network) isSuspended(w way) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.suspended[w.from] || n.suspended[w.to]
}

// Heal repairs the network.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
	clear(n.slow)
}

func (n *Network) isCut(w way) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut[w]
}

func (n *Network) latency(w way) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := n.delay + n.slow[w]
	if n.jitter > 0 {
		d += time.Duration(n.rng.Int64N(int64(n.jitter)))
	}
	return d
}

// Dial connects a node to a port of another node. If that node is down, it fails at once. If the network is cut, it
// waits until ctx ends.
func (n *Network) Dial(ctx context.Context, from, to, port string) (net.Conn, error) {
	for n.isCut(way{from, to}) || n.isCut(way{to, from}) {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("dial %s from %s: %w", to, from, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	serve := n.ports[to+"/"+port]
	if serve == nil {
		return nil, fmt.Errorf("dial %s from %s: connection refused", to, from)
	}
	there, back := newFlow(n, way{from, to}), newFlow(n, way{to, from})
	near := &conn{net: n, in: back, out: there, local: addr(from), remote: addr(to)}
	far := &conn{net: n, in: there, out: back, local: addr(to), remote: addr(from)}
	n.conns[near], n.conns[far] = from, to
	go serve(far)
	return near, nil
}

func (n *Network) forget(c *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.conns, c)
}

type addr string

func (addr) Network() string  { return "simulation" }
func (a addr) String() string { return string(a) }

// flowBytes is the maximum number of bytes in flight in one direction of a connection.
const flowBytes = 1 << 20

// flow is one direction of a connection.
type flow struct {
	net *Network
	way way

	mu      sync.Mutex
	waiting []chunk
	size    int
	last    time.Time // when the newest chunk arrives
	closed  bool      // the writer has sent end of file
	broken  bool
	changed chan struct{}
}

type chunk struct {
	data []byte
	at   time.Time
}

func newFlow(n *Network, w way) *flow {
	return &flow{net: n, way: w, changed: make(chan struct{})}
}

func (f *flow) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// end closes the flow after the data in flight. If broken is set, it closes the flow at once.
func (f *flow) end(broken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.broken = f.broken || broken
	f.wake()
}

// conn is one end of a connection.
type conn struct {
	net           *Network
	in, out       *flow
	local, remote addr

	mu            sync.Mutex
	read, written time.Time // deadlines
	once          sync.Once
}

var _ net.Conn = (*conn)(nil)

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.remote }

func (c *conn) SetDeadline(t time.Time) error {
	return c.setDeadlines(&t, &t)
}
func (c *conn) SetReadDeadline(t time.Time) error  { return c.setDeadlines(&t, nil) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(nil, &t) }

func (c *conn) setDeadlines(read, written *time.Time) error {
	c.mu.Lock()
	if read != nil {
		c.read = *read
	}
	if written != nil {
		c.written = *written
	}
	c.mu.Unlock()
	for _, f := range []*flow{c.in, c.out} {
		f.mu.Lock()
		f.wake()
		f.mu.Unlock()
	}
	return nil
}

func (c *conn) deadline(write bool) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if write {
		return c.written
	}
	return c.read
}

// wait waits for a change of f, until a time or the deadline of this end.
func (c *conn) wait(f *flow, changed chan struct{}, until time.Time, write bool) error {
	dl := c.deadline(write)
	if !dl.IsZero() && !time.Now().Before(dl) {
		return os.ErrDeadlineExceeded
	}
	if !dl.IsZero() && (until.IsZero() || dl.Before(until)) {
		until = dl
	}
	if until.IsZero() {
		<-changed
		return nil
	}
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	}
	return nil
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	f := c.in
	stalled := time.Time{}
	for {
		f.mu.Lock()
		changed := f.changed
		until := time.Time{}
		switch {
		case f.broken:
			f.mu.Unlock()
			return 0, io.ErrUnexpectedEOF
		case len(f.waiting) > 0 && f.net.isSuspended(f.way):
			until = time.Now().Add(20 * time.Millisecond)
		case len(f.waiting) > 0 && f.net.isCut(f.way):
			if stalled.IsZero() {
				stalled = time.Now()
			}
			if time.Since(stalled) >= giveUp {
				f.mu.Unlock()
				c.reset()
				continue
			}
			until = time.Now().Add(50 * time.Millisecond)
		case len(f.waiting) > 0 && !time.Now().Before(f.waiting[0].at):
			head := &f.waiting[0]
			n := copy(p, head.data)
			if head.data = head.data[n:]; len(head.data) == 0 {
				f.waiting = f.waiting[1:]
			}
			f.size -= n
			f.wake()
			f.mu.Unlock()
			return n, nil
		case len(f.waiting) > 0:
			until = f.waiting[0].at
		case f.closed:
			f.mu.Unlock()
			return 0, io.EOF
		}
		f.mu.Unlock()
		if err := c.wait(f, changed, until, false); err != nil {
			return 0, err
		}
	}
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	f := c.out
	for done := 0; ; {
		f.mu.Lock()
		if f.closed || f.broken {
			f.mu.Unlock()
			return done, io.ErrClosedPipe
		}
		changed := f.changed
		if room := flowBytes - f.size; room > 0 && done < len(p) {
			n := min(room, len(p)-done)
			at := time.Now().Add(f.net.latency(f.way))
			if at.Before(f.last) {
				at = f.last // in order
			}
			f.last = at
			f.waiting = append(f.waiting, chunk{append([]byte(nil), p[done:done+n]...), at})
			f.size += n
			done += n
			f.wake()
		}
		f.mu.Unlock()
		if done == len(p) {
			return done, nil
		}
		if err := c.wait(f, changed, time.Time{}, true); err != nil {
			return done, err
		}
	}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.once.Do(func() {
		c.out.end(false)
		c.in.end(true)
		c.net.forget(c)
	})
	return nil
}

// reset breaks both directions.
func (c *conn) reset() {
	c.out.end(true)
	c.in.end(true)
	_ = c.Close()
}
