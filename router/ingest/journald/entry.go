package journald

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strconv"

	"cordwood/proto/errs"
)

const (
	// maxName limits the length of the name of a field. journald allows 64 bytes.
	maxName = 256
	// maxValue and maxEntry limit the bytes of a field and of an entry that are kept, and maxFields the number of
	// fields of an entry. journald writes at most 1,024 fields. The rest is dropped.
	maxValue  = 4 << 20
	maxEntry  = 16 << 20
	maxFields = 2048
	// holdStep is the step in which memory for an entry is reserved. Smaller amounts are not counted.
	holdStep = 64 << 10
)

// entry is an entry of a journal.
type entry struct {
	data   []byte // names and values
	fields []field
	// time is the time of the entry in nanoseconds since 1970, if hasTime is set.
	time    int64
	hasTime bool
	// cursor is the position in the journal. source is the id of the journal file, and number the entry's number in
	// the file, in hexadecimal digits, if the cursor has them.
	cursor, source, number []byte
}

// field is a field of an entry, as offsets in its data.
type field struct{ name, value, end int }

func (e *entry) name(f field) []byte  { return e.data[f.name:f.value] }
func (e *entry) value(f field) []byte { return e.data[f.value:f.end] }

// size returns the approximate memory of the entry.
func (e *entry) size() int { return len(e.data) + 24*len(e.fields) + 128 }

func (e *entry) reset() { *e = entry{data: e.data[:0], fields: e.fields[:0]} }

// decoder reads entries in the journal export format, which is described at
// https://systemd.io/JOURNAL_EXPORT_FORMATS/.
type decoder struct {
	r *bufio.Reader
	// hold changes the reservation to n bytes.
	hold func(n int) error
	held int
	// cut is called for an entry that is shortened.
	cut func()

	isCut bool // whether the current entry was shortened
}

// next reads an entry. After the last one the error is io.EOF.
func (d *decoder) next(e *entry) error {
	e.reset()
	d.isCut = false
	for {
		start := len(e.data)
		whole, err := d.line(e)
		switch {
		case errors.Is(err, io.EOF) && len(e.fields) > 0: // the last entry, without an empty line after it
			return d.finish(e)
		case err != nil:
			return err
		case len(e.data) == start && whole:
			if len(e.fields) > 0 {
				return d.finish(e)
			}
			continue // there may be several empty lines between entries
		}
		if err := d.field(e, start, whole); err != nil {
			return err
		}
	}
}

// finish ends an entry.
func (d *decoder) finish(e *entry) error {
	if d.isCut {
		d.cut()
	}
	for _, f := range e.fields {
		switch string(e.name(f)) {
		case fieldCursor:
			if e.cursor == nil {
				e.cursor = e.value(f)
				e.source, e.number = placeOf(e.cursor)
			}
		case fieldTime:
			if micros, err := strconv.ParseInt(string(e.value(f)), 10, 64); err == nil && micros >= 0 && micros <= maxMicros {
				e.time, e.hasTime = micros*1000, true
			}
		}
	}
	return nil
}

// maxMicros is the last time that nanoseconds can hold.
const maxMicros = (1<<63 - 1) / 1000

// placeOf returns the values of s= and i= in a cursor. If one of them does not have the format of systemd, both are
// empty.
func placeOf(cursor []byte) (source, number []byte) {
	for part := range bytes.SplitSeq(cursor, []byte{';'}) {
		switch text := part[min(2, len(part)):]; {
		case bytes.HasPrefix(part, []byte("s=")) && len(text) == 32 && isHex(text):
			source = text
		case bytes.HasPrefix(part, []byte("i=")) && len(text) > 0 && len(text) <= 16 && isHex(text):
			number = text
		}
	}
	if source == nil || number == nil || !bytes.HasPrefix(cursor[2:], source) {
		return nil, nil
	}
	return source, number
}

func isHex(text []byte) bool {
	for _, c := range text {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// line appends a line without its end to the data of an entry, up to the size limit. whole reports whether the whole
// line was appended. At the end of the stream the error is io.EOF.
func (d *decoder) line(e *entry) (whole bool, err error) {
	start := len(e.data)
	for whole = true; ; {
		part, err := d.r.ReadSlice('\n')
		got := len(part) > 0
		if err == nil {
			part = part[:len(part)-1]
		}
		room := maxName + 1 + max(0, min(maxValue, maxEntry-start)) - (len(e.data) - start)
		if len(part) > room {
			part, whole, d.isCut = part[:max(room, 0)], false, true
		}
		if failed := d.append(e, part); failed != nil {
			return false, failed
		}
		switch {
		case err == nil:
			return whole, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && (got || len(e.data) > start || !whole):
			return false, malformed("it ends within an entry")
		default:
			return false, err
		}
	}
}

// append appends to the data of an entry.
func (d *decoder) append(e *entry, part []byte) error {
	if n := len(e.data) + len(part); n > max(d.held, holdStep) {
		n += holdStep
		if err := d.hold(n); err != nil {
			return err
		}
		d.held = n
	}
	e.data = append(e.data, part...)
	return nil
}

// field makes a field from a line. The value is in the line, or in the bytes after it.
func (d *decoder) field(e *entry, start int, whole bool) error {
	line := e.data[start:]
	f := field{name: start}
	if at := bytes.IndexByte(line, '='); at >= 0 {
		if at > maxName {
			return malformed("the name of a field has %d bytes: at most %d are possible", at, maxName)
		}
		copy(line[at:], line[at+1:])
		e.data = e.data[:len(e.data)-1]
		f.value = start + at
	} else {
		if len(line) > maxName || !whole {
			return malformed("a line of %d bytes is not a field: it has no =, and is too long for a name", len(line))
		}
		f.value = len(e.data)
		if err := d.bytes(e); err != nil {
			return err
		}
	}
	f.end = len(e.data)
	if over := f.end - f.value - maxValue; over > 0 {
		f.end, e.data, d.isCut = f.end-over, e.data[:len(e.data)-over], true
	}
	if len(e.fields) == maxFields || f.value >= maxEntry-maxName {
		e.data, d.isCut = e.data[:start], true
		return nil
	}
	e.fields = append(e.fields, f)
	return nil
}

// bytes appends the value of a field that has its length before it.
func (d *decoder) bytes(e *entry) error {
	var length [8]byte
	if _, err := io.ReadFull(d.r, length[:]); err != nil {
		return atEnd(err)
	}
	left := binary.LittleEndian.Uint64(length[:])
	keep := min(left, maxValue, uint64(max(0, maxEntry-len(e.data))))
	for left -= keep; keep > 0; {
		part, err := d.r.Peek(int(min(keep, uint64(d.r.Size()))))
		if len(part) == 0 {
			return atEnd(err)
		}
		if err := d.append(e, part); err != nil {
			return err
		}
		keep -= uint64(len(part))
		_, _ = d.r.Discard(len(part)) // the bytes are in the buffer
	}
	for d.isCut = d.isCut || left > 0; left > 0; {
		n, err := d.r.Discard(int(min(left, 1<<20)))
		if err != nil {
			return atEnd(err)
		}
		left -= uint64(n) //nolint:gosec // it is not negative
	}
	end, err := d.r.ReadByte()
	if err != nil {
		return atEnd(err)
	}
	if end != '\n' {
		return malformed("there is no line end after the bytes of a field")
	}
	return nil
}

// atEnd returns the error for a stream that ends inside a field.
func atEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && errs.CodeOf(err) == errs.Unknown {
		return malformed("it ends within an entry")
	}
	return err
}

// malformed returns the error for a body that is not in the export format.
func malformed(format string, args ...any) error {
	return errs.New(errs.InvalidArguments, "the body cannot be read as entries of a journal: "+format+
		"; the entries before it are stored", args...)
}
