package value

import (
	"encoding/binary"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/router/query/format"
)

// maxElements is the maximum number of elements in an array.
const maxElements = 65_535

// elements appends one element of a list. from and to are the range of a row's elements.
type elements struct {
	values arrow.Array
	span   func(row int) (from, to int)
}

// elementsOf returns the elements of a list column. ok is false for other columns.
func elementsOf(a arrow.Array) (e elements, ok bool) {
	l, ok := a.(array.ListLike)
	if !ok {
		return e, false
	}
	return elements{l.ListValues(), func(row int) (int, int) {
		from, to := l.ValueOffsets(row)
		return int(from), int(to)
	}}, true
}

func arrayCell(a arrow.Array, t *Type, f Format) Cell {
	e, ok := elementsOf(a)
	if !ok {
		return listText(a, t, f)
	}
	if m, ok := matrixOf(a, t, f); ok {
		return matrixCell(m, f)
	}
	cell := CellOf(e.values, t.elem, f)
	if t.kind == kindVector && f == FormatText {
		return vectorCell(e, cell)
	}
	if f == FormatText {
		return arrayText(e, cell)
	}
	return func(dst []byte, row int) ([]byte, error) {
		from, to := e.span(row)
		nulls := false
		for i := from; i < to && !nulls; i++ {
			nulls = format.IsNull(e.values, i)
		}
		dst = appendArrayHead(dst, to-from, nulls, t.elem.OID, t.kind == kindVector)
		for i := from; i < to; i++ {
			if format.IsNull(e.values, i) {
				dst = append(dst, 0xff, 0xff, 0xff, 0xff)
				continue
			}
			var err error
			if dst, err = appendSized(dst, cell, i); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}
}

// appendSized appends the length of a value, followed by the value.
func appendSized(dst []byte, cell Cell, row int) ([]byte, error) {
	at := len(dst)
	dst, err := cell(append(dst, 0, 0, 0, 0), row)
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst, err
}

func appendArrayHead(dst []byte, n int, nulls bool, elem uint32, vector bool) []byte {
	dimensions, flags := uint32(1), uint32(0)
	if n == 0 && !vector {
		dimensions = 0
	}
	if nulls {
		flags = 1
	}
	dst = binary.BigEndian.AppendUint32(dst, dimensions)
	dst = binary.BigEndian.AppendUint32(dst, flags)
	dst = binary.BigEndian.AppendUint32(dst, elem)
	if dimensions == 0 {
		return dst
	}
	first := uint32(1)
	if vector {
		first = 0
	}
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, uint32(n)), first)
}

// vectorCell formats numbers separated by spaces.
func vectorCell(e elements, cell Cell) Cell {
	return func(dst []byte, row int) ([]byte, error) {
		from, to := e.span(row)
		for i := from; i < to; i++ {
			if i > from {
				dst = append(dst, ' ')
			}
			var err error
			if dst, err = cell(dst, i); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}
}

// arrayText formats an array as {1,NULL,"a,b"}.
func arrayText(e elements, cell Cell) Cell {
	var buf []byte
	return func(dst []byte, row int) ([]byte, error) {
		from, to := e.span(row)
		dst = append(dst, '{')
		for i := from; i < to; i++ {
			if i > from {
				dst = append(dst, ',')
			}
			if format.IsNull(e.values, i) {
				dst = append(dst, "NULL"...)
				continue
			}
			var err error
			if buf, err = cell(buf[:0], i); err != nil {
				return dst, err
			}
			dst = appendElement(dst, string(buf))
		}
		return append(dst, '}'), nil
	}
}

// appendElement appends an element, quoted if necessary.
func appendElement(dst []byte, s string) []byte {
	if s != "" && !strings.EqualFold(s, "NULL") && !strings.ContainsAny(s, "{},\"\\ \t\n\r\v\f") {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return append(dst, '"')
}

// listText formats a list that the engine sends as text, such as [a, b, NULL]. The elements have no commas or quotes.
func listText(a arrow.Array, t *Type, f Format) Cell {
	return fromText(a, t, func(dst []byte, text string) ([]byte, error) {
		inner, ok := strings.CutPrefix(text, "[")
		inner, ok2 := strings.CutSuffix(inner, "]")
		if !ok || !ok2 {
			return dst, invalidText(t.Name, text)
		}
		var parts []string
		if inner != "" {
			parts = strings.Split(inner, ", ")
		}
		if f == FormatText {
			return appendTextList(dst, parts, t.elem)
		}
		return appendBinaryList(dst, parts, t)
	})
}

func appendTextList(dst []byte, parts []string, elem *Type) ([]byte, error) {
	dst = append(dst, '{')
	for i, p := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		if p == "NULL" {
			dst = append(dst, p...)
			continue
		}
		if elem.kind == kindInterval {
			v, err := readSpan(p)
			if err != nil {
				return dst, err
			}
			p = string(v.append(nil))
		}
		dst = appendElement(dst, p)
	}
	return append(dst, '}'), nil
}

func appendBinaryList(dst []byte, parts []string, t *Type) ([]byte, error) {
	encode := appendUUIDBinary
	if t.elem.kind == kindInterval {
		encode = appendIntervalBinary
	}
	nulls := false
	for _, p := range parts {
		nulls = nulls || p == "NULL"
	}
	dst = appendArrayHead(dst, len(parts), nulls, t.elem.OID, false)
	for _, p := range parts {
		if p == "NULL" {
			dst = append(dst, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		at := len(dst)
		var err error
		if dst, err = encode(append(dst, 0, 0, 0, 0), p); err != nil {
			return dst, err
		}
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst, nil
}
