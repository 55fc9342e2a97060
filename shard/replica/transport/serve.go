package transport

import (
	"bufio"
	"errors"
	"fmt"
	"net"
)

// serveStream answers the requests of a connection. Appends wait in the inbox of their group, and
// votes in separate goroutines, so no group delays another.
func (n *Network) serveStream(conn net.Conn) error {
	var lost error
	out := newWriter(conn, 0, n.cfg.AppendTimeout, func(error) { conn.Close() })
	defer func() {
		conn.Close()
		out.stop()
	}()
	reply := func(f *frame) { out.write(f, false) }
	r := bufio.NewReaderSize(conn, 64<<10)
	for {
		f, err := readFrame(r)
		if err != nil {
			return errors.Join(lost, err)
		}
		t := n.group(f.group)
		if t == nil {
			reply(failure(f.id, fmt.Errorf("group %s: %w", f.group, errShutDown)))
			continue
		}
		switch f.kind {
		case kindHeartbeat:
			reply(t.handle(f, nil))
		case kindAppend:
			select {
			case t.inbox <- &request{frame: f, reply: reply}:
			default:
				reply(failure(f.id, fmt.Errorf("group %s: refused an append: %d appends are waiting", f.group, inboxRequests)))
			}
		case kindVote, kindPreVote, kindTimeoutNow:
			if !t.vote(f, reply) {
				reply(failure(f.id, fmt.Errorf("group %s: refused a vote request: too many are waiting", f.group)))
			}
		default:
			return fmt.Errorf("%w: kind %d as a request", errFrame, f.kind)
		}
	}
}

// vote lets the member answer f in a separate goroutine, unless too many votes are waiting.
func (t *Transport) vote(f *frame, reply func(*frame)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		reply(failure(f.id, errShutDown))
		return true
	}
	select {
	case t.votes <- struct{}{}:
	default:
		return false
	}
	t.serves.Add(1)
	go func() {
		defer t.serves.Done()
		reply(t.handle(f, nil))
		<-t.votes
	}()
	return true
}
