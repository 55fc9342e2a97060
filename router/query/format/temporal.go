package format

import (
	"strconv"

	"cordwood/proto/schema"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// temporalCell returns the cell of dates, times, timestamps and intervals, or nil.
func temporalCell(a arrow.Array, s style) cell {
	switch a := a.(type) {
	case *array.Timestamp:
		unit := a.DataType().(*arrow.TimestampType).Unit
		v := a.TimestampValues()
		if !s.times && s.safe {
			return quoteUnsafe(intCell(v))
		}
		if !s.times {
			return intCell(v)
		}
		return s.quoted(func(dst []byte, i int) []byte { return appendTimestamp(dst, int64(v[i]), unit) })
	case *array.Date32:
		v := a.Date32Values()
		return s.quoted(func(dst []byte, i int) []byte { return appendDate(dst, int64(v[i])) })
	case *array.Date64:
		v := a.Date64Values()
		return s.quoted(func(dst []byte, i int) []byte { return appendDate(dst, schema.FloorDiv(int64(v[i]), 86400e3)) })
	case *array.Time32:
		unit := a.DataType().(*arrow.Time32Type).Unit
		v := a.Time32Values()
		return s.quoted(func(dst []byte, i int) []byte { return appendClock(dst, int64(v[i]), unit) })
	case *array.Time64:
		unit := a.DataType().(*arrow.Time64Type).Unit
		v := a.Time64Values()
		return s.quoted(func(dst []byte, i int) []byte { return appendClock(dst, int64(v[i]), unit) })
	case *array.Duration:
		return intCell(a.DurationValues())
	case *array.MonthInterval:
		return s.quoted(func(dst []byte, i int) []byte { return appendInterval(dst, int64(a.Value(i)), 0, 0) })
	case *array.DayTimeInterval:
		return s.quoted(func(dst []byte, i int) []byte {
			v := a.Value(i)
			return appendInterval(dst, 0, int64(v.Days), int64(v.Milliseconds)*1e6)
		})
	case *array.MonthDayNanoInterval:
		return s.quoted(func(dst []byte, i int) []byte {
			v := a.Value(i)
			return appendInterval(dst, int64(v.Months), int64(v.Days), v.Nanoseconds)
		})
	}
	return nil
}

// perSecond returns the number of units in a second.
func perSecond(u arrow.TimeUnit) int64 {
	switch u {
	case arrow.Second:
		return 1
	case arrow.Millisecond:
		return 1e3
	case arrow.Microsecond:
		return 1e6
	}
	return 1e9
}

// appendTimestamp writes RFC 3339 in UTC with the shortest exact of 0, 3, 6 or 9 fraction digits. Years beyond
// 9999 have a sign, as in ISO 8601.
func appendTimestamp(dst []byte, v int64, u arrow.TimeUnit) []byte {
	per := perSecond(u)
	sec := schema.FloorDiv(v, per)
	frac := (v - sec*per) * (1e9 / per)
	day := schema.FloorDiv(sec, 86400)
	dst = append(appendDate(dst, day), 'T')
	return append(appendSeconds(dst, sec-day*86400, frac), 'Z')
}

func appendClock(dst []byte, v int64, u arrow.TimeUnit) []byte {
	per := perSecond(u)
	sec := schema.FloorDiv(v, per)
	return appendSeconds(dst, sec, (v-sec*per)*(1e9/per))
}

// appendSeconds writes seconds of a day and nanoseconds as 15:04:05.999.
func appendSeconds(dst []byte, sec, nanos int64) []byte {
	dst = append(append2(dst, sec/3600), ':')
	dst = append(append2(dst, sec/60%60), ':')
	dst = append2(dst, sec%60)
	if nanos == 0 {
		return dst
	}
	digits := 9
	for digits > 3 && nanos%1000 == 0 {
		nanos /= 1000
		digits -= 3
	}
	dst = append(dst, '.')
	at := len(dst)
	dst = append(dst, "000000000"[:digits]...)
	for i := at + digits - 1; nanos > 0; i-- {
		dst[i] = byte('0' + nanos%10)
		nanos /= 10
	}
	return dst
}

// append2 writes 0 ≤ v < 100 with two digits, and larger numbers unchanged.
func append2(dst []byte, v int64) []byte {
	if v >= 100 {
		return strconv.AppendInt(dst, v, 10)
	}
	return append(dst, byte('0'+v/10), byte('0'+v%10))
}

// appendDate writes the day, counted from 1970-01-01, in the Gregorian calendar.
func appendDate(dst []byte, day int64) []byte {
	// Days are counted from 0000-03-01 in eras of 400 years. A year starts in March, so that the leap day is its last
	// day.
	z := day + 719468
	era := schema.FloorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	m := (5*doy + 2) / 153
	d := doy - (153*m+2)/5 + 1
	year, month := yoe+era*400, m+3
	if month > 12 {
		month -= 12
		year++
	}
	switch {
	case year > 9999:
		dst = append(dst, '+')
	case year < 0:
		dst, year = append(dst, '-'), -year
	}
	for limit := int64(1000); limit > year && limit > 1; limit /= 10 {
		dst = append(dst, '0')
	}
	dst = append(strconv.AppendInt(dst, year, 10), '-')
	dst = append(append2(dst, month), '-')
	return append2(dst, d)
}

// appendInterval writes an interval as 1 year 2 months 3 days 04:05:06.
func appendInterval(dst []byte, months, days, nanos int64) []byte {
	from := len(dst)
	for _, p := range []struct {
		n    int64
		name string
	}{{months / 12, "year"}, {months % 12, "month"}, {days, "day"}} {
		if p.n == 0 {
			continue
		}
		if len(dst) > from {
			dst = append(dst, ' ')
		}
		dst = append(append(strconv.AppendInt(dst, p.n, 10), ' '), p.name...)
		if p.n != 1 && p.n != -1 {
			dst = append(dst, 's')
		}
	}
	if nanos == 0 && len(dst) > from {
		return dst
	}
	if len(dst) > from {
		dst = append(dst, ' ')
	}
	abs := uint64(nanos)
	if nanos < 0 {
		dst, abs = append(dst, '-'), -abs
	}
	return appendSeconds(dst, int64(abs/1e9), int64(abs%1e9))
}
