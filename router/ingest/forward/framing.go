package forward

import (
	"errors"

	"github.com/tinylib/msgp/msgp"
)

const (
	// maxDepth is the maximum depth of records.
	maxDepth = 32
	// maxNesting is the maximum depth of a message. A record that is nested deeper than maxDepth is dropped, and its
	// chunk is acknowledged, because otherwise the client would resend it forever.
	maxNesting = 256
)

var (
	errMalformed = errors.New("the data is not MessagePack, or is nested too deep")
	errTooLarge  = errors.New("a message is longer than 64 MiB, or than a third of --http-inflight-limit")
)

// framing finds the messages in a stream. Each is one MessagePack value. When more bytes arrive, it continues where
// it stopped, so that each byte is read once.
type framing struct {
	// max is the maximum size of a message, in bytes.
	max int
	// pos is the position in the message, and open the number of values that are missing in open containers.
	pos  int
	open []int64
	// err is the reason why the stream cannot be read further.
	err error
}

// Next implements sockreceiver.Splitter.
func (f *framing) Next(data []byte, whole bool) (n int, message []byte) {
	for f.err == nil {
		size, values, err := next(data[f.pos:])
		if errors.Is(err, msgp.ErrShortBytes) || err == nil && size == 0 {
			if whole {
				if len(data) >= f.max {
					f.err = errTooLarge
				}
				return len(data), nil // an incomplete message
			}
			return 0, nil
		}
		if err != nil {
			f.err = errMalformed
			break
		}
		f.pos += size
		if values > 0 {
			f.open = append(f.open, values)
			if len(f.open) > maxNesting {
				f.err = errMalformed
				break
			}
			continue
		}
		for len(f.open) > 0 {
			last := len(f.open) - 1
			if f.open[last]--; f.open[last] > 0 {
				break
			}
			f.open = f.open[:last]
		}
		if len(f.open) == 0 {
			n, f.pos = f.pos, 0
			return n, data[:n]
		}
	}
	return len(data), nil
}

// next returns the size of a value, or of the header of a container, and how many values the container has. A size
// of 0 means that there are no bytes. If the value is incomplete, the error is msgp.ErrShortBytes.
func next(b []byte) (size int, values int64, err error) {
	if len(b) == 0 {
		return 0, 0, nil
	}
	var rest []byte
	switch kind := msgp.NextType(b); kind {
	case msgp.MapType:
		var n uint32
		n, rest, err = msgp.ReadMapHeaderBytes(b)
		values = 2 * int64(n)
	case msgp.ArrayType:
		var n uint32
		n, rest, err = msgp.ReadArrayHeaderBytes(b)
		values = int64(n)
	case msgp.InvalidType:
		return 0, 0, errMalformed
	default:
		rest, err = msgp.Skip(b)
	}
	return len(b) - len(rest), values, err
}

// skip returns the bytes after the first value of b, which may be nested up to depth.
func skip(b []byte, depth int) ([]byte, error) {
	open := make([]int64, 0, 8)
	for {
		size, values, err := next(b)
		if err != nil || size == 0 {
			return nil, errMalformed
		}
		b = b[size:]
		if values > 0 {
			if open = append(open, values); len(open) > depth {
				return nil, errMalformed
			}
			continue
		}
		for len(open) > 0 {
			last := len(open) - 1
			if open[last]--; open[last] > 0 {
				break
			}
			open = open[:last]
		}
		if len(open) == 0 {
			return b, nil
		}
	}
}
