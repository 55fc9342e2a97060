package pipeline

import (
	"math"
	"strconv"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/ingest/jsonscan"
	"cordwood/router/pipeline/processor"
	vrl "cordwood/router/vrl/value"
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
		if f == 0 && vrl.Underflows(r.src[pos:next]) {
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

// put writes v, which is not null, to the column. The table's own columns take what
// they can hold without loss; columns of this batch take their first value's type only.
//
// A column of this batch with no integer below 0 becomes UInt64 with the first that is beyond
// int64.
func (d *dest) put(col *column.Col, row int, v *cell) error {
	if v.kind == kindBig && col.Type != schema.JSON {
		return d.rangeError(col, v)
	}
	switch col.Type {
	case schema.String:
		if v.kind == kindString || v.kind == kindText {
			return d.putBytes(col, row, v.bytes)
		}
	case schema.Int64:
		if v.kind == kindInt {
			col.SetInt(row, v.i)
			return nil
		}
		if v.kind == kindUint && col.ID == 0 && !col.Negative() {
			col.Type = schema.Uint64
			d.unsigned = append(d.unsigned, col)
			d.s.top().retyped = true
			col.SetInt(row, v.i)
			return nil
		}
	case schema.Boolean:
		if v.kind == kindBool {
			col.SetInt(row, v.i)
			return nil
		}
	case schema.Float64:
		if v.kind == kindFloat {
			col.SetFloat(row, v.f)
			return nil
		}
		if v.kind == kindInt && col.ID != 0 {
			if v.i < -1<<53 || v.i > 1<<53 {
				return d.lossError(col, v)
			}
			col.SetFloat(row, float64(v.i))
			return nil
		}
		if v.kind == kindUint && col.ID != 0 {
			return d.lossError(col, v)
		}
	case schema.Float32:
		f := v.f
		switch v.kind {
		case kindInt:
			f = float64(v.i)
			if v.i < -1<<53 || v.i > 1<<53 || float64(float32(f)) != f {
				return d.lossError(col, v)
			}
		case kindFloat:
			if !fitsFloat32(f) {
				return d.lossError(col, v)
			}
		default:
			return d.typeError(col, v)
		}
		col.SetFloat(row, f)
		return nil
	case schema.Int8, schema.Int16, schema.Int32, schema.Uint8, schema.Uint16, schema.Uint32, schema.Uint64:
		if v.kind == kindUint && col.Type == schema.Uint64 {
			col.SetInt(row, v.i)
			return nil
		}
		if v.kind == kindUint {
			return d.lossError(col, v)
		}
		if v.kind != kindInt {
			break
		}
		if lo, hi := col.Type.IntRange(); v.i < lo || v.i > hi {
			return d.lossError(col, v)
		}
		col.SetInt(row, v.i)
		return nil
	case schema.JSON:
		return d.putBytes(col, row, d.s.jsonText(v))
	case schema.TimestampSecond, schema.TimestampMillisecond, schema.TimestampMicrosecond, schema.TimestampNanosecond:
		if v.kind != kindTime {
			break
		}
		t, ok := convertTime(v.i, v.unit, col.Type)
		if !ok {
			return d.lossError(col, v)
		}
		if finer(v.i, v.unit, col.Type) {
			d.s.top().notes.cut++
		}
		col.SetInt(row, t)
		return nil
	}
	return d.typeError(col, v)
}

func (d *dest) putBytes(col *column.Col, row int, b []byte) error {
	d.texts += len(b)
	buf := col.BeginBytes(row)
	if len(buf)+len(b) > maxColumnBytes {
		return errs.New(errs.InvalidArguments, "column %q: more than %d bytes in one request; send fewer rows per request", col.Name, maxColumnBytes)
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
		b = jsonscan.AppendQuoted(b, v.bytes)
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

// fitsFloat32 tells whether f keeps its value as a float32: exactly, or as the decimal
// number that it was written as, so that 0.1 may go to a FLOAT column.
func fitsFloat32(f float64) bool {
	n := float32(f)
	if float64(n) == f {
		return true
	}
	if math.IsInf(float64(n), 0) {
		return false
	}
	var a, b [32]byte
	return string(strconv.AppendFloat(a[:0], f, 'e', -1, 64)) == string(strconv.AppendFloat(b[:0], float64(n), 'e', -1, 32))
}

// valueError is the error of a record whose value does not go into a column.
type valueError struct {
	column, value string // the value as Cut shows it
	err           error
}

func (e *valueError) Error() string { return e.err.Error() }
func (e *valueError) Unwrap() error { return e.err }

func (d *dest) typeError(col *column.Col, v *cell) error {
	if d.s.quiet() {
		return errSkipped
	}
	shown := processor.Cut(string(d.s.jsonText(v)))
	var err error
	if col.ID != 0 {
		err = errs.New(errs.InvalidArguments, "column %q of table %q: expected %s, actual %s: %s", col.Name, d.table, col.Type, v.kind.columnType(), shown)
	} else {
		err = errs.New(errs.InvalidArguments, "column %q: expected %s as in an earlier record, actual %s: %s", col.Name, col.Type, v.kind.columnType(), shown)
	}
	return &kindError{SkipType, &valueError{col.Name, shown, err}}
}

// rangeError is the error for an integer that no column holds exactly.
func (d *dest) rangeError(col *column.Col, v *cell) error {
	if d.s.quiet() {
		return errSkipped
	}
	shown := processor.Cut(string(v.bytes))
	return &kindError{SkipType, &valueError{col.Name, shown, errs.New(errs.InvalidArguments,
		"column %q: the integer %s is beyond -9223372036854775808 to 18446744073709551615, and no 64-bit float holds it exactly; send it as text", col.Name, shown)}}
}

func (d *dest) lossError(col *column.Col, v *cell) error {
	if d.s.quiet() {
		return errSkipped
	}
	shown := processor.Cut(string(d.s.jsonText(v)))
	return &kindError{SkipType, &valueError{col.Name, shown, errs.New(errs.InvalidArguments,
		"column %q of table %q: expected %s, actual %s %s, which it cannot hold without loss", col.Name, d.table, col.Type, v.kind.columnType(), shown)}}
}
