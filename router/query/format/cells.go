package format

import (
	"bytes"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// maxSafe is the largest integer up to which a double, and so every JSON reader, represents all integers exactly.
const maxSafe = 1<<53 - 1

// Cell appends the JSON of the value of a row.
type Cell func(dst []byte, row int) []byte

// SafeCell returns the cell of a column, for readers whose numbers are doubles: integers beyond ±(2^53−1), decimals
// with more than 15 significant digits, NaN and infinities are texts, and times are RFC 3339. The row must not be null.
func SafeCell(a arrow.Array) Cell {
	return Cell(cellOf(a, style{quote: true, times: true, safe: true}))
}

// IsNull reports whether a value is null.
func IsNull(a arrow.Array, row int) bool { return isNull(a, row) }

// Text returns a function that returns the texts of a column; nil if it has none.
func Text(a arrow.Array) func(row int) string {
	switch a := a.(type) {
	case *array.String:
		return a.Value
	case *array.LargeString:
		return a.Value
	case *array.StringView:
		return a.Value
	case *array.Dictionary:
		if values := Text(a.Dictionary()); values != nil {
			return func(row int) string { return values(a.GetValueIndex(row)) }
		}
	}
	return nil
}

// quoteUnsafe writes the integers and decimals of c that are not safe as texts.
func quoteUnsafe(c cell) cell {
	return func(dst []byte, i int) []byte {
		from := len(dst)
		dst = c(dst, i)
		const digits = 15 // numbers with so few significant digits are always safe
		if len(dst)-from <= digits {
			return dst
		}
		n, err := strconv.ParseInt(string(dst[from:]), 10, 64)
		if err == nil && n >= -maxSafe && n <= maxSafe || significant(dst[from:]) <= digits {
			return dst
		}
		dst = append(dst, 0, '"')
		copy(dst[from+1:], dst[from:len(dst)-2])
		dst[from] = '"'
		dst[len(dst)-1] = '"'
		return dst
	}
}

// significant returns the number of significant digits of a decimal with a fraction, or of all digits of an integer.
func significant(number []byte) int {
	number = bytes.TrimPrefix(number, []byte("-"))
	if bytes.IndexByte(number, '.') < 0 {
		return len(number)
	}
	number = bytes.TrimLeft(bytes.TrimRight(number, "0"), "0.")
	return len(number) - bytes.Count(number, []byte("."))
}

// appendNotFinite writes NaN and infinities as texts.
func appendNotFinite(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case f > 0:
		return append(dst, `"Infinity"`...)
	}
	return append(dst, `"-Infinity"`...)
}

// JSONCell returns a function that appends values of a column as JSON: integers exactly, times in RFC 3339, NaN and
// infinities as null. The row must not be null.
func JSONCell(a arrow.Array) Cell { return Cell(cellOf(a, style{quote: true, times: true})) }

// TextCell returns the cell of a column as plain text, without quotes. The row must not be null.
func TextCell(a arrow.Array) Cell { return Cell(cellOf(a, style{times: true})) }
