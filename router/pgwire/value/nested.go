package value

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/router/query/format"
)

// nestedOf returns the type of lists of lists whose innermost elements are those of an array type. It is JSON, because
// the inner lists may have different lengths, which arrays of PostgreSQL cannot have.
func nestedOf(array *Type) *Type {
	t := *JSON
	t.nested = array
	return &t
}

// Nested returns the array type for a type of lists of lists, or nil for other types.
func (t *Type) Nested() *Type { return t.nested }

// matrix encodes lists of lists as an array with several dimensions.
type matrix struct {
	levels []elements // from the outermost list to the innermost
	cell   Cell
	elem   *Type
	nulls  bool
}

// matrixOf returns the levels of a column of lists of lists. ok is false if its elements are no lists.
func matrixOf(a arrow.Array, t *Type, f Format) (m *matrix, ok bool) {
	m = &matrix{elem: t.elem}
	for {
		e, isList := elementsOf(a)
		if !isList {
			break
		}
		m.levels = append(m.levels, e)
		a = e.values
	}
	if len(m.levels) < 2 {
		return nil, false
	}
	m.cell = CellOf(a, t.elem, f)
	return m, true
}

// sizes returns the lengths of the lists of a row, from the outermost to the innermost, or nil for an empty array. It
// fails if lists of a level differ in length.
func (m *matrix) sizes(row int) ([]int, error) {
	var sizes []int
	from, to := m.levels[0].span(row)
	for level := 0; ; level++ {
		count := to - from
		for _, n := range sizes {
			if n > 0 {
				count /= n
			}
		}
		if sizes = append(sizes, count); level+1 == len(m.levels) {
			return sizes, nil
		}
		if from == to {
			return nil, nil
		}
		first, last, length := 0, 0, -1
		for i := from; i < to; i++ {
			a, b := m.levels[level+1].span(i)
			if length >= 0 && b-a != length || format.IsNull(m.levels[level].values, i) {
				return nil, &Error{"2202E", "multidimensional arrays must have array expressions with matching dimensions"}
			}
			if length < 0 {
				first = a
			}
			length, last = b-a, b
		}
		from, to = first, last
	}
}

// text appends the lists of a row at a level as {{1,2},{3,4}}.
func (m *matrix) text(dst []byte, level, row int) ([]byte, error) {
	e := m.levels[level]
	if level+1 == len(m.levels) {
		return arrayText(e, m.cell)(dst, row)
	}
	from, to := e.span(row)
	dst = append(dst, '{')
	for i := from; i < to; i++ {
		if i > from {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = m.text(dst, level+1, i); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// binary appends the elements of the lists of a row at a level.
func (m *matrix) binary(dst []byte, level, row int) ([]byte, error) {
	e := m.levels[level]
	from, to := e.span(row)
	for i := from; i < to; i++ {
		var err error
		switch {
		case level+1 < len(m.levels):
			dst, err = m.binary(dst, level+1, i)
		case format.IsNull(e.values, i):
			m.nulls = true
			dst = append(dst, 0xff, 0xff, 0xff, 0xff)
		default:
			dst, err = appendSized(dst, m.cell, i)
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// matrixCell formats lists of lists as an array with several dimensions.
func matrixCell(m *matrix, f Format) Cell {
	return func(dst []byte, row int) ([]byte, error) {
		sizes, err := m.sizes(row)
		switch {
		case len(sizes) > maxDimensions:
			return dst, tooManyDimensions(len(sizes))
		case err != nil:
			return dst, err
		case sizes == nil && f == FormatText:
			return append(dst, "{}"...), nil
		case f == FormatText:
			return m.text(dst, 0, row)
		case sizes == nil:
			return appendArrayHead(dst, 0, false, m.elem.OID, false), nil
		}
		at := len(dst)
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(sizes)))
		dst = binary.BigEndian.AppendUint32(dst, 0)
		dst = binary.BigEndian.AppendUint32(dst, m.elem.OID)
		for _, n := range sizes {
			dst = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(dst, uint32(n)), 1)
		}
		m.nulls = false
		if dst, err = m.binary(dst, 0, row); err != nil {
			return dst, err
		}
		if m.nulls {
			binary.BigEndian.PutUint32(dst[at+4:], 1)
		}
		return dst, nil
	}
}
