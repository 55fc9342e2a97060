package pipeline

import (
	"cordwood/proto/schema"
	"cordwood/router/pipeline/processor"
	"cordwood/router/vrl/value"
)

// listed is one column of a transform list.
type listed struct {
	in     processor.Name
	column schema.Column
	// typed reports whether the type of the column is known. If it is not, faults that would follow are not reported.
	typed     bool
	onFailure onFailure
	// def is the value for a missing field, and, if onFailure is default, for a field that cannot be converted. kindNone
	// means that there is no such value.
	def cell
	now bool // a missing field gets the time of processing
	// at is the column's index among the columns of the list, without the time index.
	at int
}

// onFailure decides what happens to a value that cannot be converted.
type onFailure uint8

const (
	failRecord onFailure = iota
	failToNull
	failToDefault
)

// read reads the column's value from a record. k.loss is what was lost. A cell of kindNone is null.
func (c *listed) read(out *cell, rec *processor.Record, k *converter) error {
	k.loss = lossNone
	v, ok := rec.Get(c.in)
	switch {
	case ok && !v.IsNull():
		if k.convert(out, v, c.column.Type) {
			return nil
		}
		return c.failed(out, rec, v)
	case ok:
		out.kind = kindNone // null stays null
	default:
		*out = c.def
	}
	return nil
}

func (c *listed) failed(out *cell, rec *processor.Record, v value.Value) error {
	switch c.onFailure {
	case failToNull:
		out.kind = kindNone
		return nil
	case failToDefault:
		if zero, ok := c.zero(); ok {
			*out = zero
			return nil
		}
	}
	if rec.Quiet {
		return errQuiet
	}
	why := "expected " + c.column.Type.String() + ", found " + v.Kind().String()
	if c.column.Type.IsTimestamp() {
		why += timeAdvice(v, c.column.Type)
	}
	return &transformError{c.in.Text, c.column.Name, processor.Describe(v), why}
}

// zero returns the value that on_failure: default stores if the column has no default.
func (c *listed) zero() (cell, bool) {
	switch t := c.column.Type; {
	case c.def.kind != kindNone:
		return c.def, true
	case t == schema.String:
		return cell{kind: kindString}, true
	case t.IsFloat():
		return cell{kind: kindFloat}, true
	case t.IsInteger():
		return cell{kind: kindInt}, true
	case t == schema.Boolean:
		return cell{kind: kindBool}, true
	}
	return cell{}, false
}

// transformError is the error for a field that cannot be converted to the type of its column.
type transformError struct {
	field, column, value, reason string
}

func (e *transformError) Error() string {
	s := "Transform of field " + quoted(e.field)
	if e.column != e.field {
		s += " to column " + quoted(e.column)
	}
	s += ": " + e.reason
	if e.value != "" {
		s += ": " + e.value
	}
	return s
}

// errQuiet replaces a transform error if its text is not needed.
var errQuiet = &transformError{reason: "failed"}

// timeAdvice returns advice on how to convert a value to a time of type t.
func timeAdvice(v value.Value, t schema.Type) string {
	switch v.Kind() {
	case value.Timestamp:
		return ", out of the range, which is " + t.TimeSpan()
	case value.String:
		return "; add a `date` processor for the field, with the formats of its texts"
	case value.Int, value.Float:
		return "; add an `epoch` processor for the field, with its resolution"
	}
	return ""
}

func quoted(s string) string { return `"` + processor.Cut(s) + `"` }
