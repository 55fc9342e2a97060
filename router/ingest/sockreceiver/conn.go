package sockreceiver

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"cordwood/proto/turns"
	"cordwood/router/access"
)

// Conn is a connection of a client. Only the goroutine of Receiver.Stream uses it.
type Conn struct {
	*Server
	Peer Peer

	nc    net.Conn
	queue *queue
	// database is the database of the sender's records.
	database string

	mu sync.Mutex // guards the fields below
	// active is the time when the client last sent something. started is the time when the current record began to
	// arrive; it is zero if there is none.
	active, started time.Time
	size            int       // bytes of the current record so far
	until           time.Time // the end of reading after Shutdown; zero before
}

// waitsSince returns since when the connection waits for the rest of a record, or, if partial is false, for a record.
func (c *Conn) waitsSince() (since time.Time, partial bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.started.IsZero() {
		return c.started, true
	}
	return c.active, false
}

func (c *Conn) lastActive() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active
}

// serve reads the connection until it ends.
func (c *Conn) serve() {
	if t, ok := c.nc.(*tls.Conn); ok {
		ctx, cancel := context.WithTimeout(c.ctx, handshakeTime)
		err := t.HandshakeContext(ctx)
		cancel()
		if err != nil {
			c.say("the TLS handshake failed", c.Peer.Address, "error", err)
			return
		}
		state := t.ConnectionState()
		c.Peer.TLS = &state
	}
	caller, err := c.caller(c.ctx, c.Peer)
	if err != nil {
		c.forbid(c.Peer, err, 1)
		if c.receiver.Forbidden != nil {
			c.receiver.Forbidden(c)
		}
		return
	}
	c.queue, c.database = c.queueFor(caller, c.Peer), c.target(caller, "").Database
	switch err := c.receiver.Stream(c); {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, errDrained):
	case errors.Is(err, os.ErrDeadlineExceeded):
		if c.unfinished() {
			c.Drop(Slow, 1)
			c.say("a connection was closed because a message was not complete in time", c.Peer.Address)
		}
	default:
		c.say("a connection was closed", c.Peer.Address, "error", err)
	}
}

// caller returns the caller for whom the records of a peer are stored, if that caller may store any.
func (s *Server) caller(ctx context.Context, from Peer) (*access.Caller, error) {
	caller, err := s.cfg.Sender(ctx, from)
	if err != nil {
		return nil, err
	}
	return caller, caller.Require(access.Need{Privilege: access.Insert, Action: "ingest"})
}

// forbid logs and counts n messages, or a connection, of a peer that may not send.
func (s *Server) forbid(from Peer, err error, n int) {
	s.Drop(Forbidden, n)
	s.say("records of a sender are dropped, because their user may not store rows: check the user, its password in "+
		"token-file, and its rights", from.Address, "error", err)
}

// errDrained is returned by Read when a connection ends because of Shutdown.
var errDrained = errors.New("the server is stopping")

// Read implements io.Reader, with the time limits of the settings. After Shutdown, it returns errDrained when no
// more bytes arrive.
func (c *Conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	deadline := c.until
	switch {
	case !deadline.IsZero():
	case c.started.IsZero():
		deadline = c.active.Add(c.cfg.Idle)
	default:
		deadline = c.started.Add(c.cfg.Patience + time.Duration(c.size/bytesPerSecond)*time.Second)
	}
	_ = c.nc.SetReadDeadline(deadline)
	c.mu.Unlock()
	n, err := c.nc.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 {
		c.active = time.Now()
		return n, nil // the next read returns the error again
	}
	if err != nil && !c.until.IsZero() {
		err = errDrained
	}
	return n, err
}

// Write implements io.Writer. A client must accept an answer within Config.Patience.
func (c *Conn) Write(p []byte) (int, error) {
	_ = c.nc.SetWriteDeadline(time.Now().Add(c.cfg.Patience))
	return c.nc.Write(p)
}

// SetPartial sets the number of bytes of an incomplete record that have arrived; 0 if there is no incomplete record.
func (c *Conn) SetPartial(size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size = size
	switch {
	case size == 0:
		c.started = time.Time{}
	case c.started.IsZero():
		c.started = c.active
	}
}

func (c *Conn) unfinished() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.started.IsZero()
}

// drain ends reads after no more bytes have arrived within the given time.
func (c *Conn) drain(within time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Now().Add(within)
	_ = c.nc.SetReadDeadline(c.until)
	if !c.receiver.HalfClose {
		return
	}
	if half, ok := c.nc.(interface{ CloseWrite() error }); ok {
		_ = c.nc.SetWriteDeadline(c.until)
		_ = half.CloseWrite()
	}
}

// Add copies records into batches. While rows cannot be stored, it waits, and nothing is read from the client. It
// returns an error if the sender may not store rows, or if the server had to stop.
func (c *Conn) Add(records []Record) error {
	n, err := c.queue.add(records, true)
	if err != nil {
		c.Drop(Stopped, len(records)-n)
	}
	return err
}

// Splitter finds records in a stream.
type Splitter interface {
	// Next returns the next record in data, and the number of bytes of the record with its framing, or 0 if the
	// record is incomplete. If whole is set, no more bytes will arrive, or there is no room for more. Then Next
	// returns the incomplete record. A nil record is skipped.
	Next(data []byte, whole bool) (n int, record []byte)
}

const (
	firstBuffer = 8 << 10
	readBuffer  = 64 << 10
)

// Hold reserves n bytes of the memory for bodies, for a record that does not fit into a connection's buffer. It
// waits for them if necessary. release frees them.
func (c *Conn) Hold(n int) (release func(), err error) {
	held, err := c.cfg.Bodies.Hold(turns.WithDatabase(c.ctx, c.database), nil)
	if err != nil {
		return nil, err
	}
	if err := held.Reserve(c.ctx, int64(n)); err != nil {
		held.Release()
		return nil, err
	}
	return held.Release, nil
}

// Split reads the records that a Splitter finds until the connection ends, and passes them to take after each read.
// room limits the number of bytes of a record with its framing. The records are valid until take returns.
func (c *Conn) Split(find Splitter, room int, take func([]Record) error) error {
	buf := make([]byte, firstBuffer)
	have, release := 0, func() {}
	defer func() { release() }()
	from := c.Peer.Address.String()
	var records []Record
	for {
		n, ended := c.Read(buf[have:])
		full := have+n == len(buf)
		have += n
		rest, at := buf[:have], c.cfg.Now().UnixNano()
		records = records[:0]
		for len(rest) > 0 {
			n, record := find.Next(rest, ended != nil || full && have >= room && len(rest) == have)
			if n == 0 {
				break
			}
			if len(record) > 0 {
				records = append(records, Record{record, from, at})
			}
			rest = rest[n:]
		}
		if err := take(records); err != nil {
			return err
		}
		if ended != nil {
			return ended
		}
		c.SetPartial(len(rest))
		if full && (len(buf) < readBuffer || len(rest) == len(buf)) {
			n := min(2*len(buf), max(room, readBuffer))
			if n > readBuffer {
				release()
				var err error
				if release, err = c.Hold(n); err != nil {
					release = func() {}
					return err
				}
			}
			grown := make([]byte, n)
			have = copy(grown, rest)
			buf = grown
			continue
		}
		if len(buf) > readBuffer && len(rest) <= readBuffer/2 {
			small := make([]byte, readBuffer)
			have = copy(small, rest)
			buf = small
			release()
			release = func() {}
			continue
		}
		have = copy(buf, rest)
	}
}
