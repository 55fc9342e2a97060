package timefmt

import "time"

const (
	secondsPerDay = 86400

	// The range of years, and the Unix seconds of its bounds.
	minYear = -262143
	maxYear = 262142
	minUnix = -8334601228800
	maxUnix = 8210266876799
)

// Weekdays, counted from Monday.
const (
	monday int32 = 0
	sunday int32 = 6
)

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

func isLeap(y int32) bool { return y%4 == 0 && (y%100 != 0 || y%400 == 0) }

var monthDays = [...]int32{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// daysIn returns the number of days in a month, 1 to 12.
func daysIn(y, m int32) int32 {
	if m == 2 && isLeap(y) {
		return 29
	}
	return monthDays[m]
}

// daysFromCivil counts the days from 1970-01-01 to a date in the proleptic Gregorian calendar. It starts years in
// March, so that the leap day is the last day.
func daysFromCivil(y, m, d int32) int64 {
	yy := int64(y)
	if m <= 2 {
		yy--
		m += 12
	}
	era := yy / 400
	if yy < 0 {
		era = (yy - 399) / 400
	}
	yoe := yy - era*400
	doy := int64(153*(m-3)+2)/5 + int64(d) - 1
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

// civilFromDays returns the inverse of daysFromCivil.
func civilFromDays(days int64) (y, m, d int32) {
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = int32(doy-(153*mp+2)/5) + 1
	m = int32(mp) + 3
	y = int32(yoe + era*400)
	if m > 12 {
		m -= 12
		y++
	}
	return y, m, d
}

// weekdayOf returns the weekday of a day; 1970-01-01 was a Thursday.
func weekdayOf(days int64) int32 { return int32(floorMod(days+3, 7)) }

// since counts the days from weekday b to the next weekday a, 0 to 6.
func since(a, b int32) int32 { return (a - b + 7) % 7 }

// weekOfYear returns the week number of a day of the year. The first full week is week 1.
func weekOfYear(ordinal, weekday, first int32) int32 {
	return (ordinal - since(weekday, first) + 6) / 7
}

// weekDate returns the day with a weekday in a week of the year. It may be outside the year.
func weekDate(year, week, weekday, first int32) int64 {
	newYear := daysFromCivil(year, 1, 1)
	return newYear + int64(since(first, weekdayOf(newYear))+(week-1)*7+since(weekday, first))
}

// isoWeekOne returns the Monday of week 1 of an ISO 8601 year: the week of January 4th.
func isoWeekOne(year int32) int64 {
	d := daysFromCivil(year, 1, 4)
	return d - int64(weekdayOf(d))
}

func isoWeeksIn(year int32) int32 { return int32(isoWeekOne(year+1)-isoWeekOne(year)) / 7 }

// isoWeekOf returns the ISO 8601 year and week of a day.
func isoWeekOf(days int64) (year, week int32) {
	thursday := days - int64(weekdayOf(days)) + 3
	year, _, _ = civilFromDays(thursday)
	return year, int32(thursday-daysFromCivil(year, 1, 1))/7 + 1
}

// zoneReach limits the distance between a local time, taken as UTC, and the change of clocks that affects it. An
// offset is less than a day, so this is more than enough.
const zoneReach = 26 * 3600

// localToUnix converts seconds of the local clock in a zone to Unix seconds.
//
// It considers only the nearest change of clocks on each side of the time, because no zone has changed its clocks
// twice within that many hours.
func localToUnix(local int64, zone *time.Location, policy LocalPolicy) (int64, Reason) {
	t := time.Unix(local, 0).In(zone)
	_, seconds := t.Zone()
	off := int64(seconds)
	start, end := t.ZoneBounds()
	if !start.IsZero() && local < start.Unix()+zoneReach {
		_, seconds := start.Add(-1).Zone()
		before := int64(seconds)
		if local < start.Unix()+max(before, off) {
			return nearChange(local, start.Unix(), before, off, policy)
		}
	}
	if !end.IsZero() && local >= end.Unix()-zoneReach {
		_, seconds := end.Zone()
		after := int64(seconds)
		if local >= end.Unix()+min(off, after) {
			return nearChange(local, end.Unix(), off, after, policy)
		}
	}
	return local - off, ok
}

// nearChange does what localToUnix does, for a time close to one change of the clocks.
func nearChange(local, change, before, after int64, policy LocalPolicy) (int64, Reason) {
	switch {
	case local < change+min(before, after):
		return local - before, ok
	case local >= change+max(before, after):
		return local - after, ok
	case policy == LocalEarlier:
		return local - before, ok
	case before < after:
		return 0, SkippedLocal
	default:
		return 0, AmbiguousLocal
	}
}
