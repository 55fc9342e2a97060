package value

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

const (
	microsPerDay = 24 * 60 * 60 * 1_000_000
	// epochDays and epochMicros are PostgreSQL's epoch, 2000-01-01, relative to 1970-01-01.
	epochDays   = 10957
	epochMicros = epochDays * microsPerDay
)

// The range of PostgreSQL's dates, in days since 1970-01-01: 4714-11-24 BC to the end of the year 5874897. Its
// timestamps end with the year 294276, which is beyond 64 bits of microseconds.
const (
	firstDay    = -2440588
	lastDateDay = 2145042905
)

// timeCell formats timestamps, dates and times of day.
func timeCell(a arrow.Array, t *Type, f Format) Cell {
	switch t.kind {
	case kindMoment:
		return momentCell(a, t, f)
	case kindDate:
		return dateCell(a, f)
	case kindTime:
		return clockCell(a, t, f)
	}
	if f == FormatText {
		return spokenCell(a, t)
	}
	switch t.kind {
	case kindInterval:
		return fromText(a, t, appendIntervalBinary)
	case kindTimeTZ:
		return fromText(a, t, appendTimeTZBinary)
	default:
		return fromText(a, t, appendUUIDBinary)
	}
}

// fromText encodes the binary format of a value that the engine sends as text.
func fromText(a arrow.Array, t *Type, encode func(dst []byte, text string) ([]byte, error)) Cell {
	inner := textCell(a)
	var buf []byte
	return func(dst []byte, row int) ([]byte, error) {
		var err error
		if buf, err = inner(buf[:0], row); err != nil {
			return dst, err
		}
		out, err := encode(dst, string(buf))
		if err != nil {
			return dst, errs.Wrap(errs.Internal, err, "write %q as %s", buf, t.Name)
		}
		return out, nil
	}
}

// micros returns the timestamps of a column in microseconds since 1970, rounded down.
func micros(a *array.Timestamp) func(row int) int64 {
	unit := a.DataType().(*arrow.TimestampType).Unit
	return func(row int) int64 {
		v := int64(a.Value(row))
		if v == math.MaxInt64 || v == -math.MaxInt64 || v == math.MinInt64 {
			return v
		}
		switch unit {
		case arrow.Second:
			return times(v, 1_000_000)
		case arrow.Millisecond:
			return times(v, 1_000)
		case arrow.Nanosecond:
			return schema.FloorDiv(v, 1_000)
		}
		return v
	}
}

// outside stands for a timestamp beyond PostgreSQL's range. It is one itself.
const outside = math.MinInt64 + 2

func times(v, by int64) int64 {
	if v > math.MaxInt64/by || v < math.MinInt64/by {
		return outside
	}
	return v * by
}

// infinite returns 1 for infinity, -1 for -infinity, and otherwise 0.
func infinite(v int64) int {
	switch v {
	case math.MaxInt64:
		return 1
	case -math.MaxInt64, math.MinInt64:
		return -1
	}
	return 0
}

func momentCell(a arrow.Array, t *Type, f Format) Cell {
	ts, ok := a.(*array.Timestamp)
	if !ok {
		return textCell(a)
	}
	value := micros(ts)
	zone := ""
	if t.OID == TimestampTZ.OID {
		zone = "+00"
	}
	return func(dst []byte, row int) ([]byte, error) {
		v := value(row)
		if sign := infinite(v); sign != 0 {
			return appendInfinity(dst, sign, f, 8), nil
		}
		if day := schema.FloorDiv(v, microsPerDay); v == outside || day < firstDay {
			return dst, errs.New(errs.InvalidArguments, "date out of range: a moment outside of 4713 BC to 294276 AD")
		}
		if f == FormatBinary {
			return binary.BigEndian.AppendUint64(dst, uint64(v-epochMicros)), nil
		}
		return appendMoment(dst, v, zone), nil
	}
}

func appendInfinity(dst []byte, sign int, f Format, size int) []byte {
	switch {
	case f == FormatText && sign > 0:
		return append(dst, "infinity"...)
	case f == FormatText:
		return append(dst, "-infinity"...)
	case size == 4 && sign > 0:
		return binary.BigEndian.AppendUint32(dst, math.MaxInt32)
	case size == 4:
		return binary.BigEndian.AppendUint32(dst, 1<<31)
	case sign > 0:
		return binary.BigEndian.AppendUint64(dst, math.MaxInt64)
	}
	return binary.BigEndian.AppendUint64(dst, 1<<63)
}

// appendMoment formats microseconds since 1970 as 2026-01-05 10:00:00.5, followed by the zone.
func appendMoment(dst []byte, v int64, zone string) []byte {
	day := schema.FloorDiv(v, microsPerDay)
	dst, before := appendDay(dst, day)
	dst = appendClock(append(dst, ' '), v-day*microsPerDay)
	dst = append(dst, zone...)
	if before {
		dst = append(dst, " BC"...)
	}
	return dst
}

// appendDay formats a day since 1970-01-01, and reports whether it is before the year 1.
func appendDay(dst []byte, day int64) (out []byte, before bool) {
	year, month, dom := civil(day)
	if before = year <= 0; before {
		year = 1 - year
	}
	for most := int64(1000); most > 1 && year < most; most /= 10 {
		dst = append(dst, '0')
	}
	dst = appendInt(dst, year)
	dst = append(dst, '-', byte('0'+month/10), byte('0'+month%10), '-', byte('0'+dom/10), byte('0'+dom%10))
	return dst, before
}

// civil returns the Gregorian date of a day since 1970-01-01. Year 0 is the year before 1.
func civil(day int64) (year int64, month, dom int) {
	const era = 146097 // days in 400 years
	z := day + 719468
	n := schema.FloorDiv(z, era)
	doe := z - n*era
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	dom = int(doy - (153*mp+2)/5 + 1)
	month = int(mp) + 3
	year = yoe + n*400
	if month > 12 {
		month, year = month-12, year+1
	}
	return year, month, dom
}

// appendClock formats microseconds since midnight.
func appendClock(dst []byte, v int64) []byte {
	s := v / 1_000_000
	two := func(n int64) { dst = append(dst, byte('0'+n/10), byte('0'+n%10)) }
	two(s / 3600)
	dst = append(dst, ':')
	two(s / 60 % 60)
	dst = append(dst, ':')
	two(s % 60)
	return appendFraction(dst, v%1_000_000)
}

// appendFraction formats microseconds after a decimal point, without trailing zeros.
func appendFraction(dst []byte, micros int64) []byte {
	if micros == 0 {
		return dst
	}
	dst = append(dst, '.')
	for most := int64(100_000); micros > 0; most /= 10 {
		dst = append(dst, byte('0'+micros/most))
		micros %= most
	}
	return dst
}

func dateCell(a arrow.Array, f Format) Cell {
	var day func(row int) int64
	switch a := a.(type) {
	case *array.Date32:
		day = func(row int) int64 { return int64(a.Value(row)) }
	case *array.Date64:
		day = func(row int) int64 { return schema.FloorDiv(int64(a.Value(row)), 86_400_000) }
	default:
		return textCell(a)
	}
	return func(dst []byte, row int) ([]byte, error) {
		d := day(row)
		switch {
		case d == math.MaxInt32:
			return appendInfinity(dst, 1, f, 4), nil
		case d == -math.MaxInt32 || d == math.MinInt32:
			return appendInfinity(dst, -1, f, 4), nil
		case d < firstDay || d > lastDateDay:
			return dst, errs.New(errs.InvalidArguments, "date out of range: a date outside of 4713 BC to 5874897 AD")
		case f == FormatBinary:
			return binary.BigEndian.AppendUint32(dst, uint32(int32(d-epochDays))), nil
		}
		dst, before := appendDay(dst, d)
		if before {
			dst = append(dst, " BC"...)
		}
		return dst, nil
	}
}

func clockCell(a arrow.Array, t *Type, f Format) Cell {
	var value func(row int) int64
	switch a := a.(type) {
	case *array.Time64:
		value = func(row int) int64 { return int64(a.Value(row)) }
		if a.DataType().(*arrow.Time64Type).Unit == arrow.Nanosecond {
			value = func(row int) int64 { return int64(a.Value(row)) / 1000 }
		}
	case *array.Time32:
		by := int64(1000)
		if a.DataType().(*arrow.Time32Type).Unit == arrow.Second {
			by = 1_000_000
		}
		value = func(row int) int64 { return int64(a.Value(row)) * by }
	default:
		return clockText(a, t, f)
	}
	if f == FormatBinary {
		return plain(func(dst []byte, row int) []byte { return binary.BigEndian.AppendUint64(dst, uint64(value(row))) })
	}
	return plain(func(dst []byte, row int) []byte { return appendClock(dst, value(row)) })
}

// clockText formats a time of day that the engine sends as text, such as one with nanoseconds.
func clockText(a arrow.Array, t *Type, f Format) Cell {
	return fromText(a, t, func(dst []byte, text string) ([]byte, error) {
		v, rest, err := readClock(text)
		if err != nil || rest != "" {
			return dst, invalidText(t.Name, text)
		}
		if f == FormatBinary {
			return binary.BigEndian.AppendUint64(dst, uint64(v/1000)), nil
		}
		return appendClock(dst, v/1000), nil
	})
}

// readClock parses HH:MM:SS with up to nine decimals. It returns nanoseconds and the rest of the text.
func readClock(text string) (nanos int64, rest string, err error) {
	part := func(most int64) int64 {
		n, digits := int64(0), 0
		for digits < len(text) && digits < 2 && text[digits] >= '0' && text[digits] <= '9' {
			n = n*10 + int64(text[digits]-'0')
			digits++
		}
		if digits == 0 || n > most {
			err = invalidMoment("time", text)
			return 0
		}
		text = text[digits:]
		return n
	}
	colon := func() bool {
		if text == "" || text[0] != ':' {
			return false
		}
		text = text[1:]
		return true
	}
	nanos = part(24) * int64(time.Hour)
	if !colon() {
		return 0, text, invalidMoment("time", text)
	}
	nanos += part(59) * int64(time.Minute)
	if colon() {
		nanos += part(60) * int64(time.Second)
	}
	if text != "" && text[0] == '.' {
		text = text[1:]
		digit := int64(100_000_000)
		for text != "" && text[0] >= '0' && text[0] <= '9' {
			nanos += digit * int64(text[0]-'0')
			digit /= 10
			text = text[1:]
		}
	}
	if nanos > 24*int64(time.Hour) {
		err = invalidMoment("time", text)
	}
	return nanos, text, err
}
