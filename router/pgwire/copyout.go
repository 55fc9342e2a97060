package pgwire

import (
	"bytes"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/router/pgwire/value"
)

// binaryHead is the header of the binary format: a signature, no flags, and no extension.
const binaryHead = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// copyOut sends rows in a format of COPY.
type copyOut struct {
	f    *copyFormat
	rows *cursor
	buf  []byte // a value
	// forced are the columns whose values are always quoted.
	forced []bool
}

func (o *copyOut) send(e *executor) error {
	cur := o.rows
	codes := make([]uint16, len(cur.columns))
	o.forced = make([]bool, len(cur.columns))
	for i, col := range cur.columns {
		codes[i] = uint16(o.f.code())
		o.forced[i] = o.f.forceAll || slices.Contains(o.f.forceQuote, col.name)
	}
	cur.formats = []value.Format{o.f.code()}
	e.say.send(&pgproto3.CopyOutResponse{OverallFormat: byte(o.f.code()), ColumnFormatCodes: codes})
	head := ""
	if o.f.name == "binary" {
		head = binaryHead // in the message of the first row or the trailer, as psycopg expects
	}
	if o.f.header && o.f.name != "binary" {
		e.say.send(&pgproto3.CopyData{Data: o.head()})
	}
	stop := e.link.reading(cur.x)
	n := int64(0)
	var err error
	for cur.next() {
		at := e.link.out.Begin('d')
		var dst []byte
		dst, err = o.appendRow(append(e.link.out.Buffer(), head...))
		e.link.out.Replace(dst)
		if err != nil {
			e.link.out.Drop(at)
			break
		}
		e.link.out.End(at)
		head = ""
		if e.link.out.Err() != nil {
			err = errGone
			break
		}
		n++
	}
	stop()
	if err == nil {
		err = cur.rows.Err()
	}
	if err = cur.end(err); err != nil {
		return err
	}
	e.runner.setCurrent(nil)
	if o.f.name == "binary" {
		e.say.send(&pgproto3.CopyData{Data: append([]byte(head), 0xff, 0xff)})
	}
	e.say.send(&pgproto3.CopyDone{})
	e.say.warnings(cur.warnings)
	e.say.complete("COPY %d", n)
	return nil
}

// head returns the line with the column names.
func (o *copyOut) head() []byte {
	var dst []byte
	for i, col := range o.rows.columns {
		if i > 0 {
			dst = append(dst, o.f.delimiter)
		}
		dst = o.appendField(dst, []byte(col.name), false)
	}
	return append(dst, '\n')
}

func (o *copyOut) appendRow(dst []byte) ([]byte, error) {
	if o.f.name == "binary" {
		return o.rows.appendRow(dst)
	}
	for i := range o.rows.columns {
		if i > 0 {
			dst = append(dst, o.f.delimiter)
		}
		var null bool
		var err error
		o.buf, null, err = o.rows.appendValue(o.buf[:0], i)
		if err != nil {
			return dst, err
		}
		if null {
			dst = append(dst, o.f.null...)
			continue
		}
		dst = o.appendField(dst, o.buf, o.forced[i])
	}
	return append(dst, '\n'), nil
}

// appendField appends a value with the quotes or escapes of the format.
func (o *copyOut) appendField(dst, v []byte, forced bool) []byte {
	if o.f.name == "text" {
		return o.appendEscaped(dst, v)
	}
	if !forced && string(v) != o.f.null && string(v) != `\.` && bytes.IndexByte(v, o.f.delimiter) < 0 &&
		bytes.IndexByte(v, o.f.quote) < 0 && !bytes.ContainsAny(v, "\r\n") {
		return append(dst, v...)
	}
	dst = append(dst, o.f.quote)
	for _, b := range v {
		if b == o.f.quote || b == o.f.escape {
			dst = append(dst, o.f.escape)
		}
		dst = append(dst, b)
	}
	return append(dst, o.f.quote)
}

// escapes maps the bytes that the text format escapes to the letters after the backslash.
var escapes = map[byte]byte{'\\': '\\', '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f', '\v': 'v'}

func (o *copyOut) appendEscaped(dst, v []byte) []byte {
	for _, b := range v {
		switch {
		case b <= '\r' || b == '\\':
			dst = appendControl(dst, b)
		case b == o.f.delimiter:
			dst = append(dst, '\\', b)
		default:
			dst = append(dst, b)
		}
	}
	return dst
}

func appendControl(dst []byte, b byte) []byte {
	if letter, ok := escapes[b]; ok {
		return append(dst, '\\', letter)
	}
	return append(dst, b)
}
