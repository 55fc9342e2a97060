package value

import (
	"fmt"
	"sync"
)

// MaxJSONDepth is the deepest nesting of containers that ParseJSON reads.
const MaxJSONDepth = 128

// A JSONError describes a fault in a JSON text and its position.
type JSONError struct {
	// Problem is a short description of the fault.
	Problem string
	// Line and Column start at 1. Column counts bytes.
	Line, Column int
}

func (e *JSONError) Error() string {
	return fmt.Sprintf("%s at line %d column %d", e.Problem, e.Line, e.Column)
}

// BigInteger is the problem of a text with an integer that JSONOptions.Exact refuses.
const BigInteger = "an integer beyond -9223372036854775808 to 9223372036854775807"

// JSONOptions has the options for parsing a JSON text. The zero value parses all of it.
type JSONOptions struct {
	// MaxDepth, if not 0, is the depth at which containers start to stay text.
	MaxDepth int
	// Strict refuses invalid UTF-8. Otherwise it is kept unchanged.
	Strict bool
	// Exact refuses integers outside int64. Otherwise they become floats.
	Exact bool
	// Rounded, if not nil, receives the number of integers that became a float with another value.
	Rounded *int
	// Repeated, if not nil, receives the number of repeated keys in objects. The last value of a key wins.
	Repeated *int
	// Vanished, if not nil, receives the number of nonzero numbers that became the float 0.
	Vanished *int
}

// ParseJSON parses s, which must be one JSON text. Strings without escapes, and keys, are parts of s and not
// copied. A number becomes an integer if it has no fraction and no exponent and fits, otherwise a float. The error
// is a *JSONError.
func ParseJSON(s string, o JSONOptions) (Value, error) {
	d := readers.Get().(*jsonReader)
	defer d.release()
	d.src, d.opt, d.pos, d.problem = s, o, 0, ""
	d.space()
	v := d.value(1)
	if d.problem == "" {
		d.space()
		if d.pos < len(s) {
			d.fail("trailing characters")
		}
	}
	if d.problem == "" {
		return v, nil
	}
	d.used.values, d.used.fields = max(d.used.values, len(d.values)), max(d.used.fields, len(d.fields))
	e := &JSONError{Problem: d.problem, Line: 1, Column: 1}
	if d.pos >= len(s) {
		e.Column = 0 // the position of the last byte
	}
	for i := 0; i < d.pos && i < len(s); i++ {
		e.Column++
		if s[i] == '\n' {
			e.Line, e.Column = e.Line+1, 1
		}
	}
	return Value{}, e
}

// readers keeps jsonReaders for reuse, because of their memory.
var readers = sync.Pool{New: func() any { return new(jsonReader) }}

type jsonReader struct {
	src     string
	pos     int
	opt     JSONOptions
	problem string
	values  []Value // elements of the arrays being read
	fields  []Field // fields of the objects being read
	// orders has the sort orders of the keys of recent objects, by their position. The objects of a stream are usually
	// alike.
	orders [16][]uint8
	used   struct{ values, fields int }
}

// release prepares d for the next text and drops all references to the last one.
func (d *jsonReader) release() {
	d.src = ""
	const keep = 1 << 12
	if cap(d.values) > keep || cap(d.fields) > keep {
		d.values, d.fields = nil, nil
	}
	clear(d.values[:min(d.used.values, cap(d.values))])
	clear(d.fields[:min(d.used.fields, cap(d.fields))])
	d.values, d.fields = d.values[:0], d.fields[:0]
	d.used.values, d.used.fields = 0, 0
	readers.Put(d)
}

// sorted returns the fields sorted by key.
func (d *jsonReader) sorted(fields []Field) []Field {
	n := len(fields)
	list := make([]Field, n)
	if n > maxOrder {
		copy(list, fields)
		o := Fields{list: list}
		o.Sort()
		return o.list
	}
	slot := &d.orders[n%len(d.orders)]
	if !inOrder(fields, *slot) {
		order := (*slot)[:0]
		for i := range fields {
			j := len(order)
			order = append(order, 0)
			for ; j > 0 && fields[order[j-1]].Key > fields[i].Key; j-- {
				order[j] = order[j-1]
			}
			order[j] = uint8(i)
		}
		*slot = order
		for i := range order {
			list[i] = fields[order[i]]
		}
		// Equal keys are possible here. The last one stays.
		o := Fields{list: list}
		o.Sort()
		return o.list
	}
	for i, at := range *slot {
		list[i] = fields[at]
	}
	return list
}

// maxOrder is the number of fields up to which an order is remembered.
const maxOrder = 64

// inOrder reports whether the keys are strictly ascending in the order.
func inOrder(fields []Field, order []uint8) bool {
	if len(order) != len(fields) {
		return false
	}
	for i := 1; i < len(order); i++ {
		if fields[order[i-1]].Key >= fields[order[i]].Key {
			return false
		}
	}
	return true
}

func (d *jsonReader) fail(problem string) Value {
	if d.problem == "" {
		d.problem = problem
	}
	return Value{}
}

func (d *jsonReader) space() {
	for d.pos < len(d.src) {
		switch d.src[d.pos] {
		case ' ', '\n', '\r', '\t':
			d.pos++
		default:
			return
		}
	}
}

func (d *jsonReader) peek() byte {
	if d.pos < len(d.src) {
		return d.src[d.pos]
	}
	return 0
}

func (d *jsonReader) literal(word string, v Value) Value {
	for i := range len(word) {
		if d.pos >= len(d.src) {
			return d.fail("EOF while parsing a value")
		}
		if d.src[d.pos] != word[i] {
			return d.fail("expected ident")
		}
		d.pos++
	}
	return v
}

// value reads a value. A container read here is at the given depth.
func (d *jsonReader) value(depth int) Value {
	if d.pos >= len(d.src) {
		return d.fail("EOF while parsing a value")
	}
	switch c := d.src[d.pos]; c {
	case '"':
		return NewString(d.str())
	case '{', '[':
		if depth > MaxJSONDepth {
			return d.fail("recursion limit exceeded")
		}
		start := d.pos
		var v Value
		if c == '{' {
			v = d.object(depth)
		} else {
			v = d.array(depth)
		}
		if d.opt.MaxDepth > 0 && depth > d.opt.MaxDepth && d.problem == "" {
			return NewString(d.src[start:d.pos])
		}
		return v
	case 't':
		return d.literal("true", NewBool(true))
	case 'f':
		return d.literal("false", NewBool(false))
	case 'n':
		return d.literal("null", Value{})
	default:
		if c == '-' || c >= '0' && c <= '9' {
			return d.number()
		}
	}
	return d.fail("expected value")
}

func (d *jsonReader) array(depth int) Value {
	d.pos++
	base := len(d.values)
	d.space()
	if d.peek() == ']' {
		d.pos++
		return NewArray(nil)
	}
	for {
		v := d.value(depth + 1)
		if d.problem != "" {
			return v
		}
		d.values = append(d.values, v)
		d.space()
		switch d.peek() {
		case ',':
			d.pos++
			d.space()
			continue
		case ']':
			d.pos++
			list := make([]Value, len(d.values)-base)
			copy(list, d.values[base:])
			d.used.values = max(d.used.values, len(d.values))
			d.values = d.values[:base]
			return NewArray(list)
		}
		return d.end("a list", "expected `,` or `]`")
	}
}

// end is fail for a position at which the text may also have ended.
func (d *jsonReader) end(what, problem string) Value {
	if d.pos >= len(d.src) {
		problem = "EOF while parsing " + what
	}
	return d.fail(problem)
}

func (d *jsonReader) object(depth int) Value {
	d.pos++
	base := len(d.fields)
	d.space()
	if d.peek() == '}' {
		d.pos++
		return NewObject(&Fields{})
	}
	for {
		if d.peek() != '"' {
			return d.end("an object", "key must be a string")
		}
		key := d.str()
		d.space()
		if d.problem == "" && d.peek() != ':' {
			return d.end("an object", "expected `:`")
		}
		d.pos++
		d.space()
		v := d.value(depth + 1)
		if d.problem != "" {
			return v
		}
		d.fields = append(d.fields, Field{Key: key, Value: v})
		d.space()
		switch d.peek() {
		case ',':
			d.pos++
			d.space()
			continue
		case '}':
			d.pos++
			o := &Fields{list: d.sorted(d.fields[base:])}
			if again := len(d.fields) - base - len(o.list); again > 0 && d.opt.Repeated != nil {
				*d.opt.Repeated += again
			}
			d.used.fields = max(d.used.fields, len(d.fields))
			d.fields = d.fields[:base]
			return NewObject(o)
		}
		return d.end("an object", "expected `,` or `}`")
	}
}
