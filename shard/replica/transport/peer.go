package transport

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// peer is this node's state for another node: a stream of each class, and the windows.
type peer struct {
	net     *Network
	id      string
	control stream
	entries stream

	mu      sync.Mutex // guards the fields below
	total   int64      // bytes of unanswered entries
	byGroup map[string]int64
	freed   chan struct{} // closed, and replaced, when some entries are answered
}

func newPeer(n *Network, id string) *peer {
	p := &peer{net: n, id: id, byGroup: map[string]int64{}, freed: make(chan struct{})}
	p.control = stream{net: n, node: id, class: control}
	p.entries = stream{net: n, node: id, class: entries}
	return p
}

func (p *peer) close() {
	p.control.close()
	p.entries.close()
}

// reserve waits until the window has room for size bytes of the group's entries.
func (p *peer) reserve(ctx context.Context, group string, size int64) error {
	for {
		p.mu.Lock()
		mine := p.byGroup[group]
		if (mine == 0 || mine+size <= p.net.cfg.GroupWindow) && (p.total == 0 || p.total+size <= p.net.cfg.PeerWindow) {
			p.byGroup[group] = mine + size
			p.total += size
			p.mu.Unlock()
			return nil
		}
		freed := p.freed
		p.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return fmt.Errorf("raft network: node %s: group %s waited for room in its window: %w", p.id, group,
				context.Cause(ctx))
		}
	}
}

// release gives back the bytes that reserve took.
func (p *peer) release(group string, size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byGroup[group] -= size; p.byGroup[group] <= 0 {
		delete(p.byGroup, group)
	}
	p.total -= size
	close(p.freed)
	p.freed = make(chan struct{})
}

// stream is a connection of one class to a node. It is opened again when it breaks.
type stream struct {
	net   *Network
	node  string
	class class

	mu      sync.Mutex // guards the fields below
	link    *link
	dialing chan struct{} // closed when the running dial has ended
	ended   bool
	links   sync.WaitGroup // the running dial, and the goroutines of all links
}

// errBroken is the error of calls whose connection broke. The other side may or may not have
// received them.
var errBroken = errors.New("the connection broke")

// call sends a request and waits for its answer. If the request fails on a connection that existed
// before the call, it is sent once more on a new one, because the old connection may have been dead
// for a long time. All of raft's requests may be repeated.
func (s *stream) call(ctx context.Context, f *frame) (*frame, error) {
	for attempt := 0; ; attempt++ {
		l, fresh, err := s.get(ctx)
		if err != nil {
			return nil, err
		}
		c := l.send(f)
		answer, err := c.wait(ctx)
		if err == nil || fresh || attempt > 0 || !errors.Is(err, errBroken) || ctx.Err() != nil {
			return answer, err
		}
	}
}

// get returns the connection of the stream. fresh means that it was opened for this call.
func (s *stream) get(ctx context.Context) (l *link, fresh bool, err error) {
	for {
		s.mu.Lock()
		switch {
		case s.ended:
			s.mu.Unlock()
			return nil, false, errClosed
		case s.link != nil && s.link.alive():
			l := s.link
			s.mu.Unlock()
			return l, false, nil
		case s.dialing == nil:
			done := make(chan struct{})
			s.dialing = done
			s.links.Add(1)
			s.mu.Unlock()
			l, err := s.dial(ctx)
			s.mu.Lock()
			s.dialing = nil
			switch {
			case err != nil:
				s.links.Done()
			case s.ended:
				l.fail(errClosed)
			default:
				s.link = l
			}
			s.mu.Unlock()
			close(done)
			return l, true, err
		}
		dialing := s.dialing
		s.mu.Unlock()
		select {
		case <-dialing:
		case <-ctx.Done():
			return nil, false, fmt.Errorf("raft network: node %s: %w", s.node, context.Cause(ctx))
		}
		// The other call's dial may have failed by its own deadline, so try again.
	}
}

func (s *stream) dial(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.net.ctx, cancel)()
	conn, err := s.net.dial(ctx, s.node, s.class)
	if err != nil {
		return nil, err
	}
	pause := time.Duration(0)
	if s.class == control {
		pause = s.net.cfg.Coalesce
	}
	return newLink(conn, s.node, s.net.cfg.Prompt, pause, s.net.cfg.AppendTimeout, s.links.Done), nil
}

func (s *stream) close() {
	s.mu.Lock()
	s.ended = true
	l := s.link
	s.mu.Unlock()
	if l != nil {
		l.fail(errClosed)
	}
	s.links.Wait()
}
