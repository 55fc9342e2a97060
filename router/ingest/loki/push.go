package loki

import (
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
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

// fields goes through the fields of a message. each gets the bytes of a field of bytes, or the
// number of a varint; fields of other forms are passed over.
func fields(msg []byte, each func(field protowire.Number, data []byte, number uint64) error) error {
	for len(msg) > 0 {
		num, typ, n := protowire.ConsumeTag(msg)
		if n < 0 {
			return errProto
		}
		msg = msg[n:]
		var err error
		switch typ {
		case protowire.BytesType:
			data, n := protowire.ConsumeBytes(msg)
			if n < 0 {
				return errProto
			}
			msg = msg[n:]
			err = each(num, data, 0)
		case protowire.VarintType:
			number, n := protowire.ConsumeVarint(msg)
			if n < 0 {
				return errProto
			}
			msg = msg[n:]
			err = each(num, nil, number)
		default:
			n := protowire.ConsumeFieldValue(num, typ, msg)
			if n < 0 {
				return errProto
			}
			msg = msg[n:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readProto goes through the streams of a PushRequest. The stream is valid until each returns; what
// its slices point to, as long as the body.
func readProto(body []byte, each func(s *stream) error) error {
	s := stream{labels: pairs{withoutHidden: true}}
	return fields(body, func(field protowire.Number, data []byte, _ uint64) error {
		if field != 1 || data == nil {
			return nil
		}
		s.labels.empty()
		s.labelText, s.badLabels, s.message = nil, false, data
		err := fields(data, func(field protowire.Number, data []byte, _ uint64) error {
			if field == 1 && data != nil {
				s.labels.empty()
				s.labelText, s.badLabels = data, false
				if parseLabels(data, s.labels.add) != nil {
					s.labels.empty()
					s.badLabels = true
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return each(&s)
	})
}

// eachEntry goes through the entries of a stream.
func (s *stream) eachEntry(e *entry, each func() error) error {
	return fields(s.message, func(field protowire.Number, data []byte, _ uint64) error {
		if field != 2 || data == nil {
			return nil
		}
		if err := e.readProto(data); err != nil {
			return err
		}
		return each()
	})
}

// readProto reads a message logproto.EntryAdapter. Its metadata are valid until the next one.
func (e *entry) readProto(msg []byte) error {
	var seconds, nanos int64
	e.line, e.raw = nil, msg
	e.metadata.empty()
	err := fields(msg, func(field protowire.Number, data []byte, _ uint64) error {
		if data == nil {
			return nil
		}
		switch field {
		case 1:
			return fields(data, func(field protowire.Number, data []byte, number uint64) error {
				switch {
				case data != nil: // it is of another form, and so unknown
				case field == 1:
					seconds = int64(number) //nolint:gosec // it is how protobuf writes an int64
				case field == 2:
					nanos = int64(number) //nolint:gosec // the same
				}
				return nil
			})
		case 2:
			e.line = data
		case 3:
			p, err := readPair(data)
			e.metadata.add(p)
			return err
		}
		return nil
	})
	e.setTime(seconds, nanos)
	return err
}

// readPair reads a piece of structured metadata.
func readPair(msg []byte) (p pair, err error) {
	err = fields(msg, func(field protowire.Number, data []byte, _ uint64) error {
		switch {
		case data == nil: // it is of another form, and so unknown
		case field == 1:
			p.name = data
		case field == 2:
			p.value = data
		}
		return nil
	})
	return p, err
}

// setTime sets the time from seconds and nanoseconds since 1970.
func (e *entry) setTime(seconds, nanos int64) {
	const most = math.MaxInt64/1_000_000_000 - 2
	e.outOfRange = seconds > most || seconds < -most || nanos < 0 || nanos > 999_999_999
	e.nanos = seconds*1_000_000_000 + nanos
	e.seconds, e.fraction = seconds, nanos
}
