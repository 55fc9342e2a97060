package forward

import (
	"encoding/binary"
	"time"

	"github.com/tinylib/msgp/msgp"
)

// message is a message from a client.
type message struct {
	tag string
	// entries are the entries in mode Forward, and count is their number. entry is the entry in mode Message: time
	// and record. packed is a stream of entries.
	entries, entry, packed []byte
	count                  uint32
	// body are the bytes that identify the records of a chunk.
	body []byte

	chunk      string
	compressed string
}

// parse parses a message. The error is errMalformed.
func parse(b []byte) (m message, err error) {
	n, b, err := msgp.ReadArrayHeaderBytes(b)
	if err != nil || n < 2 || n > 4 {
		return m, errMalformed
	}
	tag, b, err := readText(b)
	if err != nil {
		return m, errMalformed
	}
	m.tag = string(tag[:min(len(tag), maxTag)])
	start := b
	used := uint32(2)
	switch msgp.NextType(b) {
	case msgp.ArrayType:
		if m.count, m.entries, err = msgp.ReadArrayHeaderBytes(b); err == nil {
			b, err = skip(b, maxNesting)
		}
	case msgp.StrType, msgp.BinType:
		m.packed, b, err = readText(b)
	default:
		if n < 3 {
			return m, errMalformed
		}
		used = 3
		for range 2 {
			if err == nil {
				b, err = skip(b, maxNesting)
			}
		}
	}
	if err != nil {
		return m, errMalformed
	}
	m.body = start[:len(start)-len(b)]
	if used == 3 {
		m.entry = m.body
	}
	if used < n {
		err = m.options(b)
	}
	return m, err
}

// options parses the options of a message.
func (m *message) options(b []byte) error {
	if msgp.IsNil(b) {
		return nil
	}
	n, b, err := msgp.ReadMapHeaderBytes(b)
	if err != nil {
		return errMalformed
	}
	for range n {
		key, after, err := readText(b)
		if err != nil {
			return err
		}
		if b, err = skip(after, maxNesting); err != nil {
			return err
		}
		switch string(key) {
		case "chunk":
			if text, _, err := readText(after); err == nil {
				m.chunk = string(text)
			}
		case "compressed":
			if text, _, err := readText(after); err == nil {
				m.compressed = string(text)
			}
		}
	}
	return nil
}

// readText reads a text or bytes, because old and new clients differ.
func readText(b []byte) (text, rest []byte, err error) {
	switch msgp.NextType(b) {
	case msgp.StrType:
		text, rest, err = msgp.ReadStringZC(b)
	case msgp.BinType:
		text, rest, err = msgp.ReadBytesZC(b)
	default:
		return nil, b, errMalformed
	}
	if err != nil {
		err = errMalformed
	}
	return text, rest, err
}

// readTime reads the time of an entry: seconds or an EventTime. Fluent Bit may put it into an array together with
// metadata.
func readTime(b []byte) (nanos int64, rest []byte, err error) {
	if rest, err = skip(b, maxDepth); err != nil {
		return 0, nil, err
	}
	if msgp.NextType(b) == msgp.ArrayType {
		n, inner, err := msgp.ReadArrayHeaderBytes(b)
		if err != nil || n == 0 {
			return 0, nil, errMalformed
		}
		nanos, _, err = readTime(inner)
		return nanos, rest, err
	}
	if at, ok := eventTime(b); ok {
		return at, rest, nil
	}
	switch msgp.NextType(b) {
	case msgp.IntType, msgp.UintType:
		sec, _, err := msgp.ReadInt64Bytes(b)
		if err != nil || sec <= -maxSeconds || sec >= maxSeconds {
			return 0, rest, errMalformed
		}
		return sec * int64(time.Second), rest, nil
	case msgp.Float64Type:
		sec, _, err := msgp.ReadFloat64Bytes(b)
		if err != nil || !(sec > -maxSeconds && sec < maxSeconds) {
			return 0, rest, errMalformed
		}
		return int64(sec * 1e9), rest, nil
	}
	return 0, rest, errMalformed
}

// maxSeconds is the largest time in seconds that nanoseconds in 64 bits can hold.
const maxSeconds = 1<<63/1_000_000_000 - 1

// eventTime parses an EventTime, which is extension 0 with seconds and nanoseconds.
func eventTime(b []byte) (nanos int64, ok bool) {
	kind, data, ok := extension(b)
	if !ok || kind != 0 || len(data) != 8 {
		return 0, false
	}
	sec, nsec := binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])
	return int64(sec)*int64(time.Second) + int64(nsec), true
}

// extension reads the first value of b if it is an extension.
func extension(b []byte) (kind int8, data []byte, ok bool) {
	if len(b) < 2 {
		return 0, nil, false
	}
	var header, n int
	switch c := b[0]; {
	case c >= 0xd4 && c <= 0xd8:
		header, n = 1, 1<<(c-0xd4)
	case c == 0xc7:
		header, n = 2, int(b[1])
	case c == 0xc8 && len(b) >= 3:
		header, n = 3, int(binary.BigEndian.Uint16(b[1:]))
	case c == 0xc9 && len(b) >= 5:
		header, n = 5, int(binary.BigEndian.Uint32(b[1:]))
	default:
		return 0, nil, false
	}
	if len(b) < header+1 || len(b)-header-1 < n {
		return 0, nil, false
	}
	return int8(b[header]), b[header+1 : header+1+n], true //nolint:gosec // its bits
}

// readEntry reads an entry of the modes Forward and PackedForward.
func readEntry(b []byte) (nanos int64, record, rest []byte, err error) {
	rest, err = skip(b, maxNesting)
	if err != nil {
		return 0, nil, nil, err
	}
	n, inner, err := msgp.ReadArrayHeaderBytes(b)
	if err != nil || n != 2 {
		return 0, nil, rest, errMalformed
	}
	nanos, record, err = readTime(inner)
	if err != nil {
		return 0, nil, rest, err
	}
	return nanos, record[:len(record)-len(rest)], rest, nil
}
