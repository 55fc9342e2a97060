package gelf

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"

	"cordwood/router/ingest/sockreceiver"
)

const (
	// chunkHeader is the length of a chunk's header: 0x1e 0x0f, eight bytes of an id, the number of the chunk, and
	// the number of chunks.
	chunkHeader = 12
	maxChunks   = 128
	// chunkTime is the time in which all chunks of a message must arrive.
	chunkTime = 5 * time.Second
	// maxOpenBytes limits the size of the chunks of incomplete messages, and maxOpen the number of these messages.
	maxOpenBytes = 64 << 20
	maxOpen      = 10_000
)

// assembly assembles messages from chunks, which arrive as datagrams.
type assembly struct {
	now func() time.Time

	mu    sync.Mutex // guards the fields below
	open  map[chunkedID]*chunked
	order []*chunked // by the time of the first chunk; may include complete messages
	bytes int
}

// chunkedID identifies a message. Senders choose ids at random, so the sender's address is part of it.
type chunkedID struct {
	from netip.AddrPort
	id   [8]byte
}

// chunked is an incomplete message.
type chunked struct {
	id    chunkedID
	began time.Time
	parts [][]byte
	have  int
	bytes int
	done  bool
}

func newAssembly() *assembly { return &assembly{now: time.Now, open: map[chunkedID]*chunked{}} }

// message returns the message in a datagram, or the message that the datagram completes, or nil if there is none. It
// calls drop for dropped messages.
func (a *assembly) message(from netip.AddrPort, data []byte, drop func(netip.Addr, sockreceiver.Reason)) []byte {
	if len(data) >= 2 && data[0] == 0x1e && data[1] == 0x0f {
		var why sockreceiver.Reason
		if data, why = a.add(from, data, drop); why != "" {
			drop(from.Addr(), why)
		}
		if data == nil {
			return nil
		}
	}
	out, err := inflate(data)
	switch {
	case errors.Is(err, errTooLarge):
		drop(from.Addr(), tooLarge)
		return nil
	case err != nil:
		drop(from.Addr(), malformed)
		return nil
	}
	return out
}

// add adds a chunk and returns the message that it completes, or nil if there is none. why is the reason if a message
// is dropped.
func (a *assembly) add(
	from netip.AddrPort, data []byte, drop func(netip.Addr, sockreceiver.Reason),
) (_ []byte, why sockreceiver.Reason) {
	if len(data) < chunkHeader {
		return nil, malformed
	}
	number, count := int(data[10]), int(data[11])
	if count == 0 || count > maxChunks || number >= count {
		return nil, malformed
	}
	id := chunkedID{from: from, id: [8]byte(data[2:10])}
	data = data[chunkHeader:]
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	a.forget(now, drop)
	m, ok := a.open[id]
	if !ok {
		m = &chunked{id: id, began: now, parts: make([][]byte, count)}
		a.open[id] = m
		a.order = append(a.order, m)
	}
	if len(m.parts) != count {
		a.remove(m)
		return nil, malformed
	}
	if m.parts[number] != nil {
		return nil, "" // a duplicate from the network
	}
	m.parts[number] = append(make([]byte, 0, max(len(data), 1)), data...)
	m.have++
	m.bytes += len(data)
	a.bytes += len(data)
	if m.bytes > MaxBytes { // exceeds the limit even before decompression
		a.remove(m)
		return nil, tooLarge
	}
	if m.have < count {
		return nil, ""
	}
	a.remove(m)
	return bytes.Join(m.parts, nil), ""
}

// forget drops expired messages, and the oldest ones if there are too many. a.mu must be held.
func (a *assembly) forget(now time.Time, drop func(netip.Addr, sockreceiver.Reason)) {
	n := 0
	for _, m := range a.order {
		crowded := a.bytes >= maxOpenBytes || len(a.open) >= maxOpen
		if !m.done && now.Sub(m.began) <= chunkTime && !crowded {
			break
		}
		n++
		if !m.done {
			a.remove(m)
			drop(m.id.from.Addr(), incomplete)
		}
	}
	clear(a.order[:n]) // free the memory
	a.order = a.order[n:]
}

// remove removes a message. a.mu must be held.
func (a *assembly) remove(m *chunked) {
	m.done = true
	a.bytes -= m.bytes
	delete(a.open, m.id)
}

var (
	errTooLarge = errors.New("the message is too large")
	gzips       = sync.Pool{New: func() any { return new(gzip.Reader) }}
	zlibs       sync.Pool
)

// inflate decompresses a message. Data without a compression header is returned unchanged.
func inflate(data []byte) ([]byte, error) {
	switch {
	case len(data) >= 2 && data[0] == 0x1f && data[1] == 0x8b:
		r := gzips.Get().(*gzip.Reader)
		defer gzips.Put(r)
		if err := r.Reset(bytes.NewReader(data)); err != nil {
			return nil, err
		}
		return readAll(r)
	case len(data) >= 2 && data[0]&0x0f == 8 && (int(data[0])<<8|int(data[1]))%31 == 0:
		r, ok := zlibs.Get().(io.ReadCloser)
		if !ok {
			var err error
			if r, err = zlib.NewReader(bytes.NewReader(data)); err != nil {
				return nil, err
			}
		} else if err := r.(zlib.Resetter).Reset(bytes.NewReader(data), nil); err != nil {
			return nil, err
		}
		defer zlibs.Put(r)
		return readAll(r)
	}
	return data, nil
}

// readAll reads a message to its end, of MaxBytes at most.
func readAll(r io.Reader) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err == nil && len(out) > MaxBytes {
		err = errTooLarge
	}
	return out, err
}
