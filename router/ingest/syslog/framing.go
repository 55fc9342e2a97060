package syslog

import (
	"bytes"

	"cordwood/router/vrl/ascii"
)

const (
	// maxDigits bounds the digits of a length: what has more is not a length.
	maxDigits = 9
	// maxPrefix is the most bytes before a message that say how long it is.
	maxPrefix = maxDigits + 1
)

// framing finds the messages in a stream. Each is framed by its length if it begins with digits, a
// space and "<", and otherwise ends at a line feed or a NUL.
type framing struct {
	max int
	// cut is called for a message whose end is cut off.
	cut func()
	// skip is how many bytes of a message that is too long are still to be dropped; toLineEnd: all to the end of the line.
	skip      int
	toLineEnd bool
	// seen are the bytes of an unfinished line that have no end.
	seen int
}

// Next implements sockdoor.Splitter.
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
		return 1, nil // an empty line, or the line end that some send after a message with its length
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

// octets reads the length of a message. prefix is how many bytes it takes; 0: there is none. unsure: so far it looks
// like one.
func octets(data []byte) (prefix, length int, unsure bool) {
	for prefix < len(data) && prefix <= maxDigits && ascii.IsDigit(data[prefix]) {
		length = length*10 + int(data[prefix]-'0')
		prefix++
	}
	switch {
	case prefix == 0 || prefix > maxDigits || data[0] == '0': // a length begins with no zero
		return 0, 0, false
	case prefix == len(data) || data[prefix] == ' ' && prefix+1 == len(data):
		return 0, 0, true
	case data[prefix] == ' ' && data[prefix+1] == '<':
		return prefix + 1, length, false
	}
	return 0, 0, false
}

// counted returns a message whose length is known.
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

// line returns a message that ends where its line does.
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

// lineEnd returns where the line ends that data begins with; -1: it does not.
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
