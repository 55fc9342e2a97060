package forward

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/tinylib/msgp/msgp"

	"cordwood/router/ingest/sockreceiver"
)

const (
	// batchRecords limits the number of records that are passed on at a time, so that a message with many small ones
	// takes little memory.
	batchRecords = 10_000
	// ackTime is the time for which the server tries to store a chunk. After that time the connection is closed, and the
	// client sends the chunk again.
	ackTime = 2 * time.Minute
	// maxChunk limits the length of the name of a chunk, in bytes.
	maxChunk = 1024
)

// stream is a connection from a client.
type stream struct {
	*sockreceiver.Conn
	framing framing
	hello   *handshake // nil if the client has proved that it knows the key, or need not
	records []sockreceiver.Record
}

// serve reads the messages of a connection.
func (s *Server) serve(c *sockreceiver.Conn) error {
	st := &stream{Conn: c, framing: framing{max: s.maxBytes}}
	if s.cfg.SharedKey != "" {
		st.hello = newHandshake(s.cfg.SharedKey, s.cfg.Name)
		if _, err := c.Write(st.hello.helo()); err != nil {
			return err
		}
		c.SetPartial(1) // so that the time limit for the client's answer applies
	}
	return c.Split(&st.framing, s.maxBytes, st.take)
}

// errForbidden is the error for a client that knows the key but may not send. The log has the reason.
var errForbidden = errors.New("the user of this listener may not store records")

// refuse tells a client in the handshake that it may not send. For other clients, the connection just ends.
func (s *Server) refuse(c *sockreceiver.Conn) {
	if s.cfg.SharedKey == "" {
		return
	}
	hello := newHandshake(s.cfg.SharedKey, s.cfg.Name)
	if _, err := c.Write(hello.helo()); err != nil {
		return
	}
	c.SetPartial(1)
	_ = c.Split(&framing{max: s.maxBytes}, s.maxBytes, func(messages []sockreceiver.Record) error {
		if len(messages) == 0 {
			return nil
		}
		_, _ = c.Write(hello.pong("", errForbidden)) // the connection is closed in any case
		return errForbidden
	})
}

// take stores the records of messages, and acknowledges them if the client requests it.
func (st *stream) take(messages []sockreceiver.Record) error {
	for i := range messages {
		if err := st.message(&messages[i]); err != nil {
			return err
		}
	}
	if err := st.framing.err; err != nil {
		why := malformed
		if errors.Is(err, errTooLarge) {
			why = tooLarge
		}
		st.Drop(why, 1)
		return err
	}
	return nil
}

// message handles one message.
func (st *stream) message(r *sockreceiver.Record) error {
	if msgp.IsNil(r.Data) {
		return nil // a heartbeat
	}
	if st.hello != nil {
		pong, err := st.hello.ping(r.Data)
		if _, failed := st.Write(pong); err == nil {
			err = failed
		} else {
			st.Drop(sockreceiver.Forbidden, 1)
		}
		st.hello = nil
		return err
	}
	m, err := parse(r.Data)
	if err != nil {
		st.Drop(malformed, 1)
		return fmt.Errorf("a message does not conform to the forward protocol: %w", err)
	}
	if len(m.chunk) > maxChunk {
		st.Drop(malformed, 1)
		return errors.New("a message has a chunk with a name of more than 1,024 bytes")
	}
	if err := st.entries(&m); err != nil || m.chunk == "" {
		return err
	}
	ack := msgp.AppendString(msgp.AppendString(msgp.AppendMapHeader(nil, 1), "ack"), m.chunk)
	_, err = st.Write(ack)
	return err
}

// entries stores the entries of a message.
func (st *stream) entries(m *message) error {
	out := &sender{st: st, m: m}
	switch {
	case m.packed != nil:
		packed, release, err := st.inflate(m)
		if err != nil {
			return st.refused(err)
		}
		defer release()
		for len(packed) > 0 {
			next, err := out.entry(packed)
			if err != nil {
				return err
			}
			if next == nil {
				break // the following entries cannot be separated
			}
			packed = next
		}
	case m.entries != nil:
		rest := m.entries
		for range m.count {
			next, err := out.entry(rest)
			if err != nil {
				return err
			}
			rest = next
		}
	default:
		at, record, err := readTime(m.entry)
		if err != nil {
			out.bad()
			return nil
		}
		if err := out.add(at, record); err != nil {
			return err
		}
	}
	return out.flush()
}

// refused counts a message whose records cannot be read. If the fault lies in the message, it is acknowledged, so
// that it is not sent again.
func (st *stream) refused(err error) error {
	switch {
	case errors.Is(err, errInflated):
		st.Drop(tooLarge, 1)
	case errors.Is(err, errPacked):
		st.Drop(malformed, 1)
	default:
		return err
	}
	st.Say("a message was dropped", "error", err)
	return nil
}

// sender passes the records of a message on.
type sender struct {
	st   *stream
	m    *message
	sent int
	hash string
}

// entry handles the first entry of b and returns the bytes after it, or nil if its end is unknown.
func (s *sender) entry(b []byte) ([]byte, error) {
	at, record, rest, err := readEntry(b)
	if err != nil {
		s.bad()
		return rest, nil
	}
	return rest, s.add(at, record)
}

// bad counts an entry that does not conform to the protocol.
func (s *sender) bad() {
	s.st.Drop(malformed, 1)
	s.st.Say("entries of messages do not conform to the forward protocol, and were dropped", "tag", s.m.tag)
}

// add adds a record to the records that flush passes on.
func (s *sender) add(at int64, record []byte) error {
	st := s.st
	st.records = append(st.records, sockreceiver.Record{Data: record, From: s.m.tag, At: at})
	if len(st.records) < batchRecords {
		return nil
	}
	return s.flush()
}

// flush passes the records on. When it returns, the records of a chunk are stored, and other records are in a
// batch.
func (s *sender) flush() error {
	st := s.st
	records := st.records
	st.records = records[:0]
	defer clear(records)
	switch {
	case len(records) == 0:
		return nil
	case s.m.chunk == "":
		return st.Add(records)
	}
	if s.hash == "" {
		// Another body with the same name is another chunk.
		s.hash = strconv.FormatUint(xxhash.Sum64(s.m.body), 16)
	}
	s.sent++
	key := s.m.chunk + "-" + s.hash + "-" + hex.EncodeToString([]byte(s.m.tag)) + "-" + strconv.Itoa(s.sent)
	ctx, cancel := context.WithTimeout(context.Background(), ackTime)
	defer cancel()
	return st.Store(ctx, key, records)
}

var (
	errInflated = errors.New(
		"the decompressed entries of a message are larger than 64 MiB, or than a third of --http-inflight-limit")
	errPacked = errors.New("the entries of a message cannot be decompressed")
)

// inflate decompresses the packed entries of a message. release frees their memory.
func (st *stream) inflate(m *message) (packed []byte, release func(), err error) {
	if m.compressed == "" || m.compressed == "text" {
		return m.packed, func() {}, nil
	}
	guess := min(max(guessRatio*len(m.packed), 64<<10), st.framing.max)
	packed, release, err = st.inflateTo(m, guess)
	if !errors.Is(err, errInflated) || guess == st.framing.max {
		return packed, release, err
	}
	// All memory is reserved in one step, so that a message does not wait for its own memory.
	size, err := inflatedSize(m, st.framing.max)
	if err != nil {
		return nil, nil, err
	}
	return st.inflateTo(m, size)
}

// guessRatio is the usual compression ratio of logs.
const guessRatio = 8

// inflateTo decompresses the packed entries of a message. If they have more than size bytes, it returns
// errInflated.
func (st *stream) inflateTo(m *message, size int) (packed []byte, release func(), err error) {
	r, end, err := decompressor(m)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	if release, err = st.Hold(size); err != nil {
		return nil, nil, err
	}
	packed = make([]byte, size)
	n, err := io.ReadFull(r, packed)
	switch {
	case err == nil && !ended(r):
		err = errInflated
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF) && ended(r):
		err = nil
	case err != nil:
		err = errPacked
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return packed[:n], release, nil
}

// inflatedSize returns the decompressed size of the packed entries, or errInflated.
func inflatedSize(m *message, most int) (int, error) {
	r, end, err := decompressor(m)
	if err != nil {
		return 0, err
	}
	defer end()
	n, err := io.Copy(io.Discard, io.LimitReader(r, int64(most)+1))
	switch {
	case err != nil:
		return 0, errPacked
	case n > int64(most):
		return 0, errInflated
	}
	return int(n), nil
}

// decompressor returns a reader of the decompressed entries.
func decompressor(m *message) (r io.Reader, end func(), err error) {
	switch m.compressed {
	case "gzip":
		if r, err = gzip.NewReader(bytes.NewReader(m.packed)); err == nil {
			return r, func() {}, nil
		}
	case "zstd":
		d, err := zstd.NewReader(bytes.NewReader(m.packed),
			zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8<<20))
		if err == nil {
			return d, d.Close, nil
		}
	}
	return nil, nil, errPacked
}

// ended reports whether a stream is at its end.
func ended(r io.Reader) bool {
	var one [1]byte
	n, err := r.Read(one[:])
	return n == 0 && errors.Is(err, io.EOF)
}
