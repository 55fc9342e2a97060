package value

import (
	"encoding/hex"
	"strings"
)

// Stored is a value for an INSERT. INSERT accepts texts for all types, but no expressions.
type Stored struct {
	Text string
	// Bytes is true if Text has binary data. Null is true for a null.
	Bytes, Null bool
}

// SQL formats the value as a literal for INSERT.
func (s Stored) SQL() string {
	switch {
	case s.Null:
		return "NULL"
	case s.Bytes:
		return "x'" + hex.EncodeToString([]byte(s.Text)) + "'"
	}
	return quote(s.Text)
}

// Store converts a value from a client to the form that INSERT accepts.
func Store(t *Type, f Format, b []byte) (Stored, error) {
	if b == nil {
		return Stored{Null: true}, nil
	}
	if f == FormatText || t.kind == kindText || t.kind == kindJSON {
		if err := checkText(b); err != nil {
			return Stored{}, err
		}
	}
	if t.kind == kindText || f == FormatText && t.kind != kindBool && t.kind != kindBytes && t.kind != kindMoment {
		return Stored{Text: string(b)}, nil // the type of the column validates it
	}
	if f == FormatText {
		return storeText(t, string(b))
	}
	if t.Len > 0 && len(b) != int(t.Len) {
		return Stored{}, badBinary(t.Name)
	}
	return storeBinary(t, b)
}

func storeText(t *Type, s string) (Stored, error) {
	switch t.kind {
	case kindBool:
		v, ok := readBool(s)
		if !ok {
			return Stored{}, invalidText("boolean", s)
		}
		return Stored{Text: strings.ToLower(v)}, nil
	case kindBytes:
		raw, err := readBytea(s)
		return Stored{Text: string(raw), Bytes: true}, err
	}
	return storeMoment(MomentLiteral(s))
}

// storeMoment returns the text in the literal of a timestamp.
func storeMoment(literal string, err error) (Stored, error) {
	if err != nil {
		return Stored{}, err
	}
	_, text, _ := strings.Cut(literal, " ")
	return Stored{Text: strings.Trim(text, "'")}, nil
}

func storeBinary(t *Type, b []byte) (Stored, error) {
	switch t.kind {
	case kindBool:
		return Stored{Text: map[bool]string{true: "true", false: "false"}[b[0] != 0]}, nil
	case kindInt:
		return Stored{Text: string(appendInt(nil, readInt(t, b)))}, nil
	case kindFloat:
		return Stored{Text: string(appendFloat(nil, readFloat(b), 8*len(b)))}, nil
	case kindNumeric:
		s, err := readNumeric(b)
		return Stored{Text: s}, err
	case kindBytes:
		return Stored{Text: string(b), Bytes: true}, nil
	case kindMoment:
		return storeMoment(binaryTimeLiteral(t, b))
	case kindJSON:
		if t.OID == JSONB.OID {
			if len(b) == 0 || b[0] != 1 {
				return Stored{}, badBinary(t.Name)
			}
			b = b[1:]
		}
		return Stored{Text: string(b)}, nil
	case kindUUID:
		literal := uuidLiteral(b)
		return Stored{Text: literal[len("CAST('") : len(literal)-len("' AS UUID)")]}, nil
	case kindDate:
		return storeMoment(binaryTimeLiteral(t, b))
	}
	return Stored{}, &Error{"0A000", "values of type " + t.Name + " are not stored in binary format; send them as text"}
}
