package loki

import (
	"errors"
	"math"

	"cordwood/router/ingest/protowalk"
)

// pair is a label or an item of structured metadata.
type pair struct{ name, value []byte }

// maxPairs limits the number of labels or metadata that are kept: one more than may be stored. A body of some
// megabytes may have millions, and entries with so many are refused.
const maxPairs = max(maxLabels, maxMetadata) + 1

// pairs has the labels of a stream, or the metadata of an entry.
type pairs struct {
	list []pair
	n    int // number of pairs, including those not kept
	// withoutHidden leaves out labels that are internal to Loki, such as __path__.
	withoutHidden bool
}

func (p *pairs) empty() { p.list, p.n = p.list[:0], 0 }

func (p *pairs) add(one pair) {
	if p.withoutHidden && hidden(one.name) {
		return
	}
	if p.n++; p.n <= maxPairs {
		p.list = append(p.list, one)
	}
}

// stream has the entries with one set of labels.
type stream struct {
	labels pairs
	// labelText is the original form of the labels: a text in the protobuf form, or a JSON object.
	labelText []byte
	// badLabels is set if the labels could not be parsed. They are empty then.
	badLabels bool
	// message is the stream in protobuf form. values has the entries in JSON form, each a JSON array.
	message []byte
	values  [][]byte
}

// entry is one line.
type entry struct {
	nanos int64
	// outOfRange is set if the time does not fit into 64 bits of nanoseconds.
	outOfRange bool
	line       []byte
	// raw is the original entry. In the protobuf form, seconds and fraction have its time too; the fraction is in
	// nanoseconds.
	raw               []byte
	seconds, fraction int64
	metadata          pairs
}

var errProto = errors.New("the body is not a protobuf message of logproto.PushRequest")

// next removes the first field from a message. At the end of the message, ok is false.
func next(msg *[]byte, f *protowalk.Field) (ok bool, err error) {
	if ok, err = protowalk.Next(msg, f); err != nil {
		return false, errProto
	}
	return ok, nil
}

// readProto reads the streams of a PushRequest. A stream is valid until each returns. The data in its slices is
// valid as long as the body.
func readProto(body []byte, each func(s *stream) error) error {
	s := stream{labels: pairs{withoutHidden: true}}
	var f protowalk.Field
	for {
		ok, err := next(&body, &f)
		if err != nil || !ok {
			return err
		}
		if !f.IsBytes(1) {
			continue
		}
		if err := s.readProto(f.Data); err != nil {
			return err
		}
		if err := each(&s); err != nil {
			return err
		}
	}
}

// readProto reads a message logproto.StreamAdapter, except its entries.
func (s *stream) readProto(msg []byte) error {
	s.labels.empty()
	s.labelText, s.badLabels, s.message = nil, false, msg
	var f protowalk.Field
	for {
		ok, err := next(&msg, &f)
		if err != nil || !ok {
			return err
		}
		if !f.IsBytes(1) {
			continue
		}
		s.labels.empty()
		s.labelText, s.badLabels = f.Data, false
		if parseLabels(f.Data, s.labels.add) != nil {
			s.labels.empty()
			s.badLabels = true
		}
	}
}

// eachEntry reads the entries of a stream.
func (s *stream) eachEntry(e *entry, each func() error) error {
	msg := s.message
	var f protowalk.Field
	for {
		ok, err := next(&msg, &f)
		if err != nil || !ok {
			return err
		}
		if !f.IsBytes(2) {
			continue
		}
		if err := e.readProto(f.Data); err != nil {
			return err
		}
		if err := each(); err != nil {
			return err
		}
	}
}

// readProto reads a message logproto.EntryAdapter. Its metadata is valid until the next entry is read.
func (e *entry) readProto(msg []byte) error {
	e.line, e.raw = nil, msg
	e.metadata.empty()
	e.setTime(0, 0)
	var f protowalk.Field
	for {
		ok, err := next(&msg, &f)
		if err != nil || !ok {
			return err
		}
		switch {
		case f.IsBytes(1):
			err = e.readTime(f.Data)
		case f.IsBytes(2):
			e.line = f.Data
		case f.IsBytes(3):
			var p pair
			p, err = readPair(f.Data)
			e.metadata.add(p)
		}
		if err != nil {
			return err
		}
	}
}

// readTime reads a message google.protobuf.Timestamp. If an entry has several, their fields are merged.
func (e *entry) readTime(msg []byte) error {
	seconds, nanos := e.seconds, e.fraction
	var f protowalk.Field
	for {
		ok, err := next(&msg, &f)
		if err != nil {
			return err
		}
		if !ok {
			e.setTime(seconds, nanos)
			return nil
		}
		switch {
		case f.IsVarint(1):
			seconds = int64(f.Bits) //nolint:gosec // it is how protobuf writes an int64
		case f.IsVarint(2):
			nanos = int64(f.Bits) //nolint:gosec // the same
		}
	}
}

// readPair reads an item of structured metadata.
func readPair(msg []byte) (p pair, err error) {
	var f protowalk.Field
	for {
		ok, err := next(&msg, &f)
		if err != nil || !ok {
			return p, err
		}
		switch {
		case f.IsBytes(1):
			p.name = f.Data
		case f.IsBytes(2):
			p.value = f.Data
		}
	}
}

// setTime sets the time from seconds and nanoseconds since 1970.
func (e *entry) setTime(seconds, nanos int64) {
	const most = math.MaxInt64/1_000_000_000 - 2
	e.outOfRange = seconds > most || seconds < -most || nanos < 0 || nanos > 999_999_999
	e.nanos = seconds*1_000_000_000 + nanos
	e.seconds, e.fraction = seconds, nanos
}
