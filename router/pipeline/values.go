package pipeline

import (
	"strconv"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/vrl/jsonscan"
)

// valueKind is the kind of a value of a record.
type valueKind uint8

const (
	kindNone valueKind = iota
	kindString
	kindInt
	kindFloat
	kindBool
	kindText // JSON text of an array or an object, which is a string
	kindNull
	kindTime
	kindJSON // JSON text of an array or an object, which stays JSON
	kindUint // integer beyond int64, in cell.i as the bits of a uint64
	kindBig  // integer that neither uint64 nor float64 holds exactly, as its digits
)

// columnType is the type that a value gives to a new column.
func (k valueKind) columnType() schema.Type {
	switch k {
	case kindInt:
		return schema.Int64
	case kindUint:
		return schema.Uint64
	case kindFloat:
		return schema.Float64
	case kindBool:
		return schema.Boolean
	case kindTime:
		return schema.TimestampNanosecond
	case kindJSON:
		return schema.JSON
	}
	return schema.String
}

// cell is one value of a record, on its way into a column.
type cell struct {
	kind  valueKind
	i     int64 // kindInt; kindBool: 0 or 1; kindTime: in unit
	f     float64
	bytes []byte // kindString, kindText, kindJSON; valid until the next value is read
	unit  schema.Type
}

// read reads the value at pos into r.val and returns the position after it. depth is
// the number of containers around it.
func (r *identity) read(pos, depth int) (int, error) {
	t, v := r.text, &r.val
	switch c := r.src[pos]; c {
	case '"':
		v.kind = kindString
		if end := jsonscan.StringEnd(r.src, pos+1); r.src[end] == '"' {
			v.bytes = r.src[pos+1 : end]
			return end + 1, nil
		}
		var next int
		var err error
		r.scratch, next, err = t.AppendString(r.scratch[:0], pos+1)
		if err == nil {
			r.notes.lone += t.LoneSurrogates(r.scratch, pos+1)
		}
		v.bytes = r.scratch
		return next, err
	case '{', '[':
		v.kind = kindText
		var next int
		var err error
		r.scratch, next, err = r.writer.AppendValue(r.scratch[:0], t, pos, depth)
		r.noteWriter()
		v.bytes = r.scratch
		return next, err
	case 't', 'f', 'n':
		next, err := t.Skip(pos, depth)
		v.kind, v.i = kindBool, 0
		switch c {
		case 't':
			v.i = 1
		case 'n':
			v.kind = kindNull
		}
		return next, err
	}
	next, kind, i, f := t.Number(pos)
	switch kind {
	case jsonscan.Int:
		v.kind, v.i = kindInt, i
	case jsonscan.Float:
		v.kind, v.f = kindFloat, f
		if f == 0 && jsonscan.Underflows(r.src[pos:next]) {
			r.notes.vanished++
		}
	case jsonscan.Uint:
		v.kind, v.i = kindUint, i
	case jsonscan.Inexact:
		v.kind, v.bytes = kindBig, r.src[pos:next]
	default:
		return pos, t.NumberError(pos, next)
	}
	return next, nil
}

// noteWriter notes what the writer changed in the last value.
func (r *identity) noteWriter() {
	r.notes.lone += r.writer.Lone
	r.notes.repeated += r.writer.Repeated
	r.notes.vanished += r.writer.Vanished
}

// maxColumnBytes bounds the bytes of one column, which are addressed with 32 bits.
const maxColumnBytes = 1 << 31

func (d *dest) putBytes(col *column.Col, row int, b []byte) error {
	d.texts += len(b)
	buf := col.BeginBytes(row)
	if len(buf)+len(b) > maxColumnBytes {
		return errs.New(errs.InvalidArguments, "column %q: more than %d bytes in one request; send fewer rows per request",
			col.Name, maxColumnBytes)
	}
	col.EndBytes(row, append(buf, b...))
	return nil
}

// jsonText is v as JSON.
func (s *sink) jsonText(v *cell) []byte {
	b := s.quoted[:0]
	switch v.kind {
	case kindText, kindJSON:
		return v.bytes
	case kindTime:
		b = append(b, '"')
		per := v.unit.UnitsPerSecond()
		b = time.Unix(v.i/per, v.i%per*(1e9/per)).UTC().AppendFormat(b, time.RFC3339Nano)
		b = append(b, '"')
	case kindString:
		b = jsonscan.AppendQuotedBytes(b, v.bytes)
	case kindInt:
		b = strconv.AppendInt(b, v.i, 10)
	case kindUint:
		b = strconv.AppendUint(b, uint64(v.i), 10)
	case kindBig:
		b = append(b, v.bytes...)
	case kindFloat:
		b = jsonscan.AppendFloat(b, v.f)
	case kindBool:
		b = strconv.AppendBool(b, v.i != 0)
	}
	s.quoted = b
	return b
}
