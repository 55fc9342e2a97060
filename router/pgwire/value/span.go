package value

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// span is an interval.
type span struct {
	months, days int32
	micros       int64
}

// spokenCell formats values that the engine sends as text: intervals, times with a zone, UUIDs.
func spokenCell(a arrow.Array, t *Type) Cell {
	if m, ok := a.(*array.MonthDayNanoInterval); ok {
		return plain(func(dst []byte, row int) []byte {
			v := m.Value(row)
			return span{v.Months, v.Days, v.Nanoseconds / 1000}.append(dst)
		})
	}
	if t.kind != kindInterval {
		return textCell(a)
	}
	return fromText(a, t, func(dst []byte, text string) ([]byte, error) {
		v, err := readSpan(text)
		return v.append(dst), err
	})
}

// appendPart appends one part of an interval, with a plus sign if the part before it was negative.
func appendPart(dst []byte, n int64, unit string, before *bool, empty bool) []byte {
	if !empty {
		dst = append(dst, ' ')
	}
	if n > 0 && *before {
		dst = append(dst, '+')
	}
	dst = append(append(appendInt(dst, n), ' '), unit...)
	if n != 1 {
		dst = append(dst, 's')
	}
	*before = n < 0
	return dst
}

// append formats an interval as PostgreSQL does.
func (v span) append(dst []byte) []byte {
	from, before := len(dst), false
	for _, part := range []struct {
		n    int64
		unit string
	}{{int64(v.months) / 12, "year"}, {int64(v.months) % 12, "mon"}, {int64(v.days), "day"}} {
		if part.n != 0 {
			dst = appendPart(dst, part.n, part.unit, &before, len(dst) == from)
		}
	}
	if v.micros == 0 && len(dst) > from {
		return dst
	}
	if len(dst) > from {
		dst = append(dst, ' ')
	}
	micros := v.micros
	switch {
	case micros < 0:
		dst, micros = append(dst, '-'), -micros
	case before:
		dst = append(dst, '+')
	}
	if hours := micros / 3_600_000_000; hours >= 100 {
		dst = appendInt(dst, hours)
		clock := appendClock(nil, micros%3_600_000_000)
		return append(dst, clock[2:]...)
	}
	return appendClock(dst, micros)
}

// The units of intervals in the engine's text and in PostgreSQL's.
var (
	unitMonths = map[string]int64{"year": 12, "mon": 1, "month": 1}
	unitDays   = map[string]int64{"day": 1, "week": 7}
	unitMicros = map[string]int64{
		"hour": 3_600_000_000, "minute": 60_000_000, "min": 60_000_000, "second": 1_000_000, "sec": 1_000_000,
		"millisecond": 1000, "microsecond": 1,
	}
)

// readSpan parses an interval such as 1 year 2 months 3 days 04:05:06.5.
func readSpan(text string) (v span, err error) {
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		if strings.Contains(words[i], ":") {
			sign := int64(1)
			clock := strings.TrimPrefix(words[i], "+")
			if rest, negative := strings.CutPrefix(clock, "-"); negative {
				sign, clock = -1, rest
			}
			micros, err := readHours(clock)
			if err != nil {
				return v, err
			}
			v.micros += sign * micros
			continue
		}
		n, err := strconv.ParseInt(words[i], 10, 64)
		if err != nil || i+1 == len(words) {
			return v, invalidText("interval", text)
		}
		i++
		unit := strings.TrimSuffix(words[i], "s")
		switch {
		case unitMonths[unit] != 0:
			v.months += int32(n * unitMonths[unit])
		case unitDays[unit] != 0:
			v.days += int32(n * unitDays[unit])
		case unitMicros[unit] != 0:
			v.micros += n * unitMicros[unit]
		default:
			return v, invalidText("interval", text)
		}
	}
	return v, nil
}

// readHours parses hours with any number of digits, minutes and seconds. It returns microseconds.
func readHours(text string) (int64, error) {
	hours, rest, _ := strings.Cut(text, ":")
	h, err := strconv.ParseInt(hours, 10, 32)
	if err != nil || h < 0 {
		return 0, invalidText("interval", text)
	}
	nanos, left, err := readClock("00:" + rest)
	if err != nil || left != "" {
		return 0, invalidText("interval", text)
	}
	return h*3_600_000_000 + nanos/1000, nil
}

func appendIntervalBinary(dst []byte, text string) ([]byte, error) {
	v, err := readSpan(text)
	if err != nil {
		return dst, err
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(v.micros))
	dst = binary.BigEndian.AppendUint32(dst, uint32(v.days))
	return binary.BigEndian.AppendUint32(dst, uint32(v.months)), nil
}

// appendTimeTZBinary encodes a time with an offset. PostgreSQL counts the seconds of the offset to the west.
func appendTimeTZBinary(dst []byte, text string) ([]byte, error) {
	nanos, rest, err := readClock(text)
	if err != nil || rest == "" {
		return dst, invalidText("timetz", text)
	}
	seconds, err := readOffset(rest)
	if err != nil {
		return dst, err
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(nanos/1000))
	return binary.BigEndian.AppendUint32(dst, uint32(int32(-seconds))), nil
}

// readOffset parses +02, -05:30 or Z, and returns seconds to the east.
func readOffset(text string) (int64, error) {
	if text == "Z" || text == "z" {
		return 0, nil
	}
	if text == "" || text[0] != '+' && text[0] != '-' {
		return 0, invalidText("time zone", text)
	}
	seconds, unit := int64(0), int64(3600)
	for part := range strings.SplitSeq(text[1:], ":") {
		n, err := strconv.ParseUint(part, 10, 16)
		if len(part) == 4 && unit == 3600 { // +0200
			n = n/100*60 + n%100
			unit = 60
		}
		if err != nil || unit == 0 {
			return 0, invalidText("time zone", text)
		}
		seconds += int64(n) * unit
		unit /= 60
	}
	if seconds > 16*3600 {
		return 0, invalidText("time zone", text)
	}
	if text[0] == '-' {
		return -seconds, nil
	}
	return seconds, nil
}

func appendUUIDBinary(dst []byte, text string) ([]byte, error) {
	digits := strings.ReplaceAll(text, "-", "")
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != 16 {
		return dst, invalidText("uuid", text)
	}
	return append(dst, b...), nil
}

// Error is an error about the value of a parameter or column.
type Error struct {
	// State is the SQLSTATE.
	State string
	// Text is the message.
	Text string
}

func (e *Error) Error() string { return e.Text }

// excerpt shortens client text that is returned in an error.
func excerpt(s string) string {
	const most = 100
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func invalidText(typ, text string) error {
	return &Error{"22P02", "invalid input syntax for type " + typ + ": " + strconv.Quote(excerpt(text))}
}

// invalidMoment is invalidText for dates and times, which have a SQLSTATE of their own.
func invalidMoment(typ, text string) error {
	return &Error{"22007", "invalid input syntax for type " + typ + ": " + strconv.Quote(excerpt(text))}
}

func badBinary(typ string) error {
	return &Error{"22P03", "incorrect binary data format for type " + typ}
}

func outOfRange(typ string) error { return &Error{"22003", "value out of range for type " + typ} }
