package value

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

func appendHex(dst, b []byte) []byte { return hex.AppendEncode(dst, b) }

// appendFloat appends the shortest decimal number that is parsed as the same value, as PostgreSQL does.
func appendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	most := 1e15
	if bits == 32 {
		most = 1e6
	}
	if size := math.Abs(v); size != 0 && (size < 1e-4 || size >= most) {
		return strconv.AppendFloat(dst, v, 'e', -1, bits)
	}
	return strconv.AppendFloat(dst, v, 'f', -1, bits)
}

// numericCell formats a number with any number of digits.
func numericCell(a arrow.Array, t *Type, f Format) Cell {
	digits := digitsOf(a)
	if digits == nil {
		if text := textCell(a); f == FormatText {
			return text
		}
		return fromText(a, t, appendNumeric)
	}
	if f == FormatText {
		return plain(digits)
	}
	var buf []byte
	return func(dst []byte, row int) ([]byte, error) {
		buf = digits(buf[:0], row)
		return appendNumeric(dst, string(buf))
	}
}

// digitsOf returns a function that formats the numbers of a column, or nil if the column has none.
func digitsOf(a arrow.Array) func(dst []byte, row int) []byte {
	switch a := a.(type) {
	case *array.Uint64:
		return func(dst []byte, row int) []byte { return strconv.AppendUint(dst, a.Value(row), 10) }
	case *array.Float64:
		return func(dst []byte, row int) []byte { return appendFloatDigits(dst, a.Value(row)) }
	case *array.Decimal128:
		scale := a.DataType().(arrow.DecimalType).GetScale()
		return func(dst []byte, row int) []byte { return appendDecimal(dst, a.Value(row).BigInt(), scale) }
	case *array.Decimal256:
		scale := a.DataType().(arrow.DecimalType).GetScale()
		return func(dst []byte, row int) []byte { return appendDecimal(dst, a.Value(row).BigInt(), scale) }
	}
	if n := number(a); n != nil {
		return func(dst []byte, row int) []byte { return appendInt(dst, n(row)) }
	}
	return nil
}

// appendDecimal appends n / 10^scale with all decimals.
func appendDecimal(dst []byte, n *big.Int, scale int32) []byte {
	if n.Sign() < 0 {
		dst = append(dst, '-')
		n = new(big.Int).Neg(n)
	}
	digits := n.String()
	if scale <= 0 {
		return append(dst, digits...)
	}
	if missing := int(scale) + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	at := len(digits) - int(scale)
	dst = append(append(dst, digits[:at]...), '.')
	return append(dst, digits[at:]...)
}

// The values of the sign field in the binary format of numeric.
const (
	numericNegative = 0x4000
	numericNaN      = 0xC000
	numericInf      = 0xD000
	numericNegInf   = 0xF000
)

// numericSpecial has the sign fields of values that have no digits.
var numericSpecial = map[string]uint16{"NaN": numericNaN, "Infinity": numericInf, "-Infinity": numericNegInf}

// appendNumeric encodes a decimal number in the binary format of numeric.
func appendNumeric(dst []byte, text string) ([]byte, error) {
	if sign, ok := numericSpecial[text]; ok {
		return append(dst, 0, 0, 0, 0, byte(sign>>8), byte(sign), 0, 0), nil
	}
	sign := uint16(0)
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		sign, text = numericNegative, rest
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if strings.Trim(whole+fraction, "0123456789") != "" || whole+fraction == "" {
		return dst, invalidText("numeric", text)
	}
	scale := len(fraction)
	whole = strings.TrimLeft(whole, "0")
	whole = strings.Repeat("0", (4-len(whole)%4)%4) + whole
	fraction += strings.Repeat("0", (4-len(fraction)%4)%4)
	all, weight := whole+fraction, len(whole)/4-1
	for strings.HasPrefix(all, "0000") {
		all, weight = all[4:], weight-1
	}
	for strings.HasSuffix(all, "0000") {
		all = all[:len(all)-4]
	}
	if all == "" {
		weight, sign = 0, 0
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(all)/4))
	dst = binary.BigEndian.AppendUint16(dst, uint16(int16(weight)))
	dst = binary.BigEndian.AppendUint16(dst, sign)
	dst = binary.BigEndian.AppendUint16(dst, uint16(scale))
	for i := 0; i < len(all); i += 4 {
		n, err := strconv.ParseUint(all[i:i+4], 10, 16)
		if err != nil {
			return dst, err
		}
		dst = binary.BigEndian.AppendUint16(dst, uint16(n))
	}
	return dst, nil
}

// readNumeric decodes the binary format of numeric.
func readNumeric(b []byte) (string, error) {
	if len(b) < 8 {
		return "", badBinary("numeric")
	}
	n, weight := int(binary.BigEndian.Uint16(b)), int(int16(binary.BigEndian.Uint16(b[2:])))
	sign, scale := binary.BigEndian.Uint16(b[4:]), int(binary.BigEndian.Uint16(b[6:]))
	switch sign {
	case 0, numericNegative:
	case numericNaN:
		return "NaN", nil
	case numericInf:
		return "Infinity", nil
	case numericNegInf:
		return "-Infinity", nil
	default:
		return "", badBinary("numeric")
	}
	if len(b) != 8+2*n {
		return "", badBinary("numeric")
	}
	if 4*(weight+1) > maxDigits+4 || scale > maxDigits || weight < -maxDigits {
		return "", outOfRange("numeric")
	}
	for i := range n {
		if binary.BigEndian.Uint16(b[8+2*i:]) > 9999 {
			return "", badBinary("numeric")
		}
	}
	// group returns the digits of 10000^w.
	group := func(w int) string {
		if i := weight - w; i >= 0 && i < n {
			return pad4(binary.BigEndian.Uint16(b[8+2*i:]))
		}
		return "0000"
	}
	var whole, fraction strings.Builder
	for w := weight; w >= 0; w-- {
		whole.WriteString(group(w))
	}
	for w := -1; 4*(-1-w) < scale; w-- {
		fraction.WriteString(group(w))
	}
	digits := strings.TrimLeft(whole.String(), "0")
	if digits == "" {
		digits = "0"
	}
	if scale > 0 {
		digits += "." + fraction.String()[:scale]
	}
	if len(digits) > 2*maxDigits+1 {
		return "", outOfRange("numeric")
	}
	if sign == numericNegative {
		digits = "-" + digits
	}
	return digits, nil
}

func pad4(v uint16) string {
	s := strconv.Itoa(int(v))
	return "0000"[len(s):] + s
}
