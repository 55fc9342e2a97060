package loki

import (
	"errors"
	"math"

	"cordwood/router/ingest/protowalk"
)

// pair is a label, or a piece of structured metadata.
type pair struct{ name, value []byte }

// maxPairs bounds the pairs that are kept of labels or metadata: as many as may be stored, and one more. A body
// of some megabytes may have millions, and entries with so many are refused.
const maxPairs = max(maxLabels, maxMetadata) + 1

// pairs are the labels of a stream, or the metadata of an entry.
type pairs struct {
	list []pair
	n    int // how many there are, kept or not
	// withoutHidden leaves out labels with names such as __path__, which are Loki's own.
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

// stream is the entries of one set of labels.
type stream struct {
	labels pairs
	// labelText is the labels as they came: text of the protobuf form, or a JSON object.
	labelText []byte
	// badLabels: the text of the labels could not be read, and they are none.
	badLabels bool
	// message is the stream of the protobuf form. values are the entries of the JSON form, a JSON array each.
	message []byte
	values  [][]byte
}

// entry is one line.
type entry struct {
	nanos int64
	// late or early: the time is beyond what 64 bits of nanoseconds hold.
	outOfRange bool
	line       []byte
	// raw is the entry as it came. In the protobuf form there are seconds and fraction, in nanoseconds, too.
	raw               []byte
	seconds, fraction int64
	metadata          pairs
}

var errProto = errors.New("the body is no protobuf message of logproto.PushRequest")

// next cuts the first field off a message. ok is false at its end.
func next(msg *[]byte, f *protowalk.Field) (ok bool, err error) {
	if ok, err = protowalk.Next(msg, f); err != nil {
		return false, errProto
	}
	return ok, nil
}

// readProto goes through the streams of a PushRequest. The stream is valid until each returns; what
// its slices point to, as long as the body.
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

// readProto reads a message logproto.StreamAdapter but its entries.
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

// eachEntry goes through the entries of a stream.
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

// readProto reads a message logproto.EntryAdapter. Its metadata are valid until the next one.
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

// readTime reads a message google.protobuf.Timestamp. Of several of an entry each has what those before have not.
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

// readPair reads a piece of structured metadata.
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
