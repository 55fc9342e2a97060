package journald

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"cordwood/router/body"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
)

const (
	// pieceEntries limits the number of entries of a piece. A piece ends at an entry number that is divisible by it.
	pieceEntries = 1000
	// pieceBytes limits the size of a piece.
	pieceBytes = 8 << 20
	// pieceStep is the step in which memory for a piece is reserved.
	pieceStep = 256 << 10
	// keepBytes is the size up to which the memory of an entry is reused.
	keepBytes = 64 << 10
)

// upload is one request.
type upload struct {
	receiver *Receiver
	call     *httpreceiver.Call
	target   httpreceiver.Target
	stream   *body.Stream
	piece    piece
	found    map[string]stored // the stored part of each source
	// pieces counts the stored pieces, and storing how long that took.
	pieces  int
	storing time.Duration
	// failed is the reason why reading ended. It is set before the channel of entries is closed.
	failed error
}

// piece has entries that are stored together. They have the same source, and ascending numbers with the same number
// of digits.
type piece struct {
	entries []*entry
	bytes   int
	started time.Time
	held    *body.Body // nil if no memory is reserved yet
	holds   int
}

var entryPool = sync.Pool{New: func() any { return &entry{} }}

// free makes an entry available for reuse.
func (e *entry) free() {
	if cap(e.data) <= keepBytes {
		entryPool.Put(e)
	}
}

// run reads and stores all entries.
func (u *upload) run() error {
	entries, stop := make(chan *entry), make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		u.read(entries, stop)
	}()
	err := u.store(entries)
	close(stop)
	if err != nil {
		u.stream.Stop()
	}
	<-done
	u.stream.Close()
	u.piece.release()
	return err
}

// read reads entries until the end of the body, an error, or stop.
func (u *upload) read(entries chan<- *entry, stop <-chan struct{}) {
	defer close(entries)
	var held *body.Body
	defer func() {
		if held != nil {
			held.Release()
		}
	}()
	d := &decoder{
		r: bufio.NewReaderSize(u.stream, 64<<10), cut: func() { u.receiver.Ingestion.Cut(u.receiver.Protocol) },
		hold: func(n int) (err error) {
			held, err = u.hold(held, n)
			return err
		},
	}
	for {
		e := entryPool.Get().(*entry)
		if err := d.next(e); err != nil {
			if !errors.Is(err, io.EOF) {
				u.failed = err
			}
			return
		}
		select {
		case entries <- e:
		case <-stop:
			return
		}
	}
}

// hold changes a reservation, which is nil at first, to n bytes.
func (u *upload) hold(held *body.Body, n int) (*body.Body, error) {
	if held == nil {
		return u.call.Hold(int64(n))
	}
	return held, u.call.Grow(held, int64(n))
}

// store stores the entries in pieces.
func (u *upload) store(entries <-chan *entry) error {
	silence := time.NewTimer(u.receiver.silence)
	defer silence.Stop()
	for {
		select {
		case e, more := <-entries:
			if !more {
				if err := u.flush(); err != nil {
					return err
				}
				if u.failed != nil {
					return u.call.Refuse(u.failed)
				}
				return nil
			}
			if err := u.add(e); err != nil {
				return err
			}
			silence.Reset(u.receiver.silence)
		case <-silence.C:
			if err := u.flush(); err != nil {
				return err
			}
		}
	}
}

// add adds an entry to the piece. If the piece ends before or after the entry, it is stored.
func (u *upload) add(e *entry) error {
	p := &u.piece
	if len(p.entries) > 0 &&
		(!p.continues(e) || p.bytes+e.size() > pieceBytes || time.Since(p.started) > u.receiver.longest) {
		if err := u.flush(); err != nil {
			return err
		}
	}
	if len(p.entries) == 0 {
		p.started = time.Now()
	}
	p.entries, p.bytes = append(p.entries, e), p.bytes+e.size()
	if p.bytes > p.holds {
		var err error
		if p.held, err = u.hold(p.held, p.bytes+pieceStep); err != nil {
			return err
		}
		p.holds = p.bytes + pieceStep
	}
	if len(p.entries) == pieceEntries || e.isLast() {
		return u.flush()
	}
	return nil
}

// isLast reports whether a piece ends after the entry.
func (e *entry) isLast() bool {
	n, err := strconv.ParseUint(string(e.number), 16, 64)
	return err == nil && n%pieceEntries == 0
}

// continues reports whether the entry can be added to the piece.
func (p *piece) continues(e *entry) bool {
	last := p.entries[len(p.entries)-1]
	return string(last.source) == string(e.source) && len(last.number) == len(e.number) &&
		(len(e.number) == 0 || string(last.number) < string(e.number))
}

func (p *piece) release() {
	for _, e := range p.entries {
		e.free()
	}
	clear(p.entries)
	if p.held != nil {
		p.held.Release()
	}
	*p = piece{entries: p.entries[:0]}
}

// flush stores the piece.
func (u *upload) flush() error {
	p := &u.piece
	if len(p.entries) == 0 {
		return nil
	}
	start := time.Now()
	defer func() {
		p.release()
		took := time.Since(start)
		u.storing += took
		u.stream.Waited(took)
	}()
	entries, err := u.unstored(p.entries)
	if err != nil || len(entries) == 0 {
		return err
	}
	b := u.call.Batch(u.target)
	u.setKey(b, entries)
	if b.OnReject == "" {
		b.OnReject = ingest.StoreRejects // the answer cannot say which entries were refused
	}
	b.Bytes = 0
	for _, e := range entries {
		b.Bytes += int64(len(e.data))
	}
	in := &input{entries: entries, arrival: u.call.X.Start.UnixNano()}
	if b.Pipeline == "" {
		b.Input = ingest.Columns{Layout: layout, Fill: in.fill, Text: in.text}
	} else {
		b.Input = ingest.Records(in.give)
	}
	u.pieces++
	return u.call.StorePart(b, p.held, int64(p.bytes)).Err
}

// setKey sets the key of a piece: the source, the numbers, and all cursors, because copies of a machine have the same
// source. Without cursors, the key is derived from the request's key, if there is one, and the content of the piece.
func (u *upload) setKey(b *ingest.Batch, entries []*entry) {
	hash := sha256.New()
	first, last := entries[0], entries[len(entries)-1]
	cursors := first.source != nil // then all entries have one
	for _, e := range entries {
		text := e.cursor
		if !cursors {
			text = e.data
		}
		_, _ = fmt.Fprintf(hash, "%d:%s", len(text), text) // writing to a hash does not fail
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	switch {
	case cursors:
		u.call.SetKey(b, fmt.Sprintf("s=%s;i=%s-%s;%s", first.source, first.number, last.number, sum))
	case b.Key != "":
		u.call.SetKey(b, fmt.Sprintf("%s;%d;%s", u.call.Key, u.pieces, sum))
	}
}
