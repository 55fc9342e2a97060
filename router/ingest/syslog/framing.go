package syslog

import (
	"bytes"

	"cordwood/router/vrl/ascii"
)

const (
	// maxDigits limits the number of digits of a length. A longer number is not a length.
	maxDigits = 9
	// maxPrefix is the longest length prefix of a message, in bytes.
	maxPrefix = maxDigits + 1
)

// framing finds the messages in a stream. If a message starts with digits, a space and "<", the digits are its
// length. Otherwise it ends at a line feed or a NUL.
type framing struct {
	max int
	// cut is called for a message that is shortened.
	cut func()
	// skip is how many bytes of a message that is too long must still be skipped. If toLineEnd is set, the rest of the
	// line must be skipped.
	skip      int
	toLineEnd bool
	// seen is how many bytes of an incomplete line are known to have no line end.
	seen int
}

// Next implements sockreceiver.Splitter.
func (f *framing) Next(data []byte, whole bool) (n int, message []byte) {
	switch {
	case f.skip > 0:
		n = min(f.skip, len(data))
		f.skip -= n
		return n, nil
	case f.toLineEnd:
		if n = lineEnd(data); n < 0 {
			return len(data), nil
		}
		f.toLineEnd = false
		return n + 1, nil
	}
	if c := data[0]; c == '\n' || c == '\r' || c == 0 {
		return 1, nil // an empty line, or a line end after a message with a length
	}
	if f.seen == 0 {
		prefix, length, unsure := octets(data)
		if unsure && !whole {
			return 0, nil
		}
		if prefix > 0 {
			return f.counted(data, prefix, length, whole)
		}
	}
	return f.line(data, whole)
}

// octets reads the length of a message. prefix is how many bytes the length takes; 0 if there is none. unsure means
// that the data so far may be the start of a length.
func octets(data []byte) (prefix, length int, unsure bool) {
	for prefix < len(data) && prefix <= maxDigits && ascii.IsDigit(data[prefix]) {
		length = length*10 + int(data[prefix]-'0')
		prefix++
	}
	switch {
	case prefix == 0 || prefix > maxDigits || data[0] == '0': // a length has no leading zero
		return 0, 0, false
	case prefix == len(data) || data[prefix] == ' ' && prefix+1 == len(data):
		return 0, 0, true
	case data[prefix] == ' ' && data[prefix+1] == '<':
		return prefix + 1, length, false
	}
	return 0, 0, false
}

// counted returns a message with a known length.
func (f *framing) counted(data []byte, prefix, length int, whole bool) (int, []byte) {
	kept := min(length, f.max)
	if len(data) < prefix+kept {
		if !whole {
			return 0, nil
		}
		return len(data), data[prefix:]
	}
	if kept < length {
		f.cut()
		f.skip = length - kept
	}
	return prefix + kept, data[prefix : prefix+kept]
}

// line returns a message that ends at the end of its line.
func (f *framing) line(data []byte, whole bool) (int, []byte) {
	end := lineEnd(data[f.seen:])
	if end >= 0 {
		end += f.seen
	}
	switch {
	case end >= 0 && end <= f.max:
		f.seen = 0
		return end + 1, data[:end]
	case end < 0 && len(data) <= f.max && !whole:
		f.seen = len(data)
		return 0, nil
	case end < 0 && len(data) <= f.max:
		f.seen = 0
		return len(data), data
	}
	f.seen, f.toLineEnd = 0, true
	f.cut()
	return f.max, data[:f.max]
}

// lineEnd returns the end of the first line in data; -1: it is incomplete.
func lineEnd(data []byte) int {
	end := bytes.IndexByte(data, '\n')
	line := data
	if end >= 0 {
		line = data[:end]
	}
	if zero := bytes.IndexByte(line, 0); zero >= 0 {
		return zero
	}
	return end
}
