package value

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"cordwood/proto/lazyregexp"
)

// Literal returns the SQL literal for the value of a parameter. A nil value is null.
func Literal(t *Type, f Format, b []byte) (string, error) {
	if t.kind == kindArray || t.kind == kindVector {
		return arrayLiteral(t, f, b)
	}
	if b == nil {
		return "CAST(NULL AS " + orVarchar(t.cast) + ")", nil
	}
	if f == FormatText {
		if err := checkText(b); err != nil {
			return "", err
		}
		return textLiteral(t, string(b))
	}
	return binaryLiteral(t, b)
}

// checkText returns an error for bytes that no text of PostgreSQL has.
func checkText(b []byte) error {
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return &Error{"22021", "invalid byte sequence for encoding \"UTF8\""}
	}
	return nil
}

func orVarchar(cast string) string {
	if cast == "" {
		return "VARCHAR"
	}
	return cast
}

// quote formats a text as a literal.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

var (
	wholeNumber = lazyregexp.New(`^[+-]?[0-9]{1,40}$`)
	anyNumber   = lazyregexp.New(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?$`)
)

// textLiteral returns the literal for a value in text format.
func textLiteral(t *Type, s string) (string, error) {
	switch t.kind {
	case kindText:
		return quote(s), nil
	case kindBool:
		v, ok := readBool(s)
		if !ok {
			return "", invalidText("boolean", s)
		}
		return v, nil
	case kindInt:
		return intLiteral(t, strings.TrimSpace(s))
	case kindNumeric:
		return numericLiteral(s)
	case kindFloat:
		return floatLiteral(t, strings.TrimSpace(s))
	case kindBytes:
		raw, err := readBytea(s)
		if err != nil {
			return "", err
		}
		return bytesLiteral(raw), nil
	case kindUUID:
		raw, err := appendUUIDBinary(nil, strings.Trim(s, "{}"))
		if err != nil {
			return "", err
		}
		return uuidLiteral(raw), nil
	case kindJSON:
		return quote(s) + "::JSON", nil
	}
	return timeLiteral(t, s)
}

// readBool parses PostgreSQL's spellings of true and false, and returns the literal.
func readBool(s string) (string, bool) {
	switch s = strings.ToLower(strings.TrimSpace(s)); s {
	case "1", "on":
		return "TRUE", true
	case "0", "off", "of":
		return "FALSE", true
	case "":
		return "", false
	}
	switch {
	case strings.HasPrefix("true", s), strings.HasPrefix("yes", s):
		return "TRUE", true
	case strings.HasPrefix("false", s), strings.HasPrefix("no", s):
		return "FALSE", true
	}
	return "", false
}

func intLiteral(t *Type, s string) (string, error) {
	if !wholeNumber.MatchString(s) {
		return "", invalidText(t.Name, s)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || t.Len < 8 && t != OID && (n < -1<<(8*t.Len-1) || n >= 1<<(8*t.Len-1)) {
		return "", &Error{"22003", fmt.Sprintf("value %q is out of range for type %s", excerpt(s), t.Name)}
	}
	return castInt(t, n), nil
}

func castInt(t *Type, n int64) string {
	return fmt.Sprintf("CAST(%s AS %s)", parenthesized(strconv.FormatInt(n, 10)), t.cast)
}

// parenthesized puts a negative number in parentheses, so that its minus sign cannot follow another minus sign.
func parenthesized(digits string) string {
	if strings.HasPrefix(digits, "-") {
		return "(" + digits + ")"
	}
	return digits
}

func floatLiteral(t *Type, s string) (string, error) {
	switch strings.ToLower(s) {
	case "nan", "infinity", "-infinity", "inf", "-inf", "+infinity", "+inf":
	default:
		if !anyNumber.MatchString(s) {
			return "", invalidText(t.Name, s)
		}
		mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
		v, err := strconv.ParseFloat(s, 8*int(t.Len))
		if err != nil || v == 0 && strings.Trim(mantissa, "+-0.") != "" {
			return "", &Error{"22003", fmt.Sprintf("%q is out of range for type %s", excerpt(s), spokenName(t))}
		}
	}
	return "CAST(" + quote(strings.TrimPrefix(s, "+")) + " AS " + t.cast + ")", nil
}

// spokenName returns the name of a type of floats in PostgreSQL's errors.
func spokenName(t *Type) string {
	if t == Float4 {
		return "real"
	}
	return "double precision"
}

func bytesLiteral(b []byte) string { return "from_hex('" + hex.EncodeToString(b) + "')" }

// readBytea parses \x followed by hexadecimal digits, or the older format with octal escapes.
func readBytea(s string) ([]byte, error) {
	if digits, ok := strings.CutPrefix(s, `\x`); ok {
		b, err := hex.DecodeString(digits)
		if err != nil {
			return nil, invalidText("bytea", s)
		}
		return b, nil
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\':
			out = append(out, s[i])
		case strings.HasPrefix(s[i+1:], `\`):
			out = append(out, '\\')
			i++
		case i+3 < len(s):
			n, err := strconv.ParseUint(s[i+1:i+4], 8, 8)
			if err != nil {
				return nil, invalidText("bytea", s)
			}
			out = append(out, byte(n))
			i += 3
		default:
			return nil, invalidText("bytea", s)
		}
	}
	return out, nil
}

func uuidLiteral(b []byte) string {
	d := hex.EncodeToString(b)
	return "CAST('" + d[:8] + "-" + d[8:12] + "-" + d[12:16] + "-" + d[16:20] + "-" + d[20:] + "' AS UUID)"
}

// binaryLiteral returns the literal for a value in binary format.
func binaryLiteral(t *Type, b []byte) (string, error) {
	if t.Len > 0 && t.kind != kindText && len(b) != int(t.Len) {
		return "", badBinary(t.Name)
	}
	switch t.kind {
	case kindText:
		return Literal(t, FormatText, b)
	case kindBool:
		if b[0] > 1 {
			return "", badBinary(t.Name)
		}
		return [...]string{"FALSE", "TRUE"}[b[0]], nil
	case kindInt:
		return castInt(t, readInt(t, b)), nil
	case kindNumeric:
		s, err := readNumeric(b)
		if err != nil {
			return "", err
		}
		return numericLiteral(s)
	case kindFloat:
		return "CAST(" + quote(string(appendFloat(nil, readFloat(b), 8*len(b)))) + " AS " + t.cast + ")", nil
	case kindBytes:
		return bytesLiteral(b), nil
	case kindUUID:
		return uuidLiteral(b), nil
	case kindJSON:
		if t == JSONB {
			if len(b) == 0 || b[0] != 1 {
				return "", badBinary(t.Name)
			}
			b = b[1:]
		}
		return Literal(t, FormatText, b)
	}
	return binaryTimeLiteral(t, b)
}

// readFloat decodes a number of 4 or 8 bytes.
func readFloat(b []byte) float64 {
	if len(b) == 4 {
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b))
}

// readInt decodes an integer of 2, 4 or 8 bytes. OIDs are unsigned.
func readInt(t *Type, b []byte) int64 {
	switch len(b) {
	case 2:
		return int64(int16(binary.BigEndian.Uint16(b)))
	case 4:
		if t == OID {
			return int64(binary.BigEndian.Uint32(b))
		}
		return int64(int32(binary.BigEndian.Uint32(b)))
	}
	return int64(binary.BigEndian.Uint64(b))
}

// Fits reports whether values of the type have can be sent as the type that was described.
func Fits(have, described *Type, f Format) bool {
	switch {
	case have.OID == described.OID, described.kind == kindText, f == FormatText:
		return true
	case described.kind == kindNumeric:
		return have.kind == kindInt || have.kind == kindNumeric
	}
	return have.kind == described.kind && have.kind != kindArray
}
