package timefmt

import "time"

// field is a value that a text can contain.
type field uint8

const (
	fYear    field = iota
	fYearDiv       // century
	fYearMod       // year of the century
	fISOYear
	fISOYearMod
	fISOWeek
	fQuarter
	fMonth
	fDay
	fOrdinal // day of the year, from 1
	fWeekSun
	fWeekMon
	fWeekday // Monday is 0
	fHourDiv // 0 before noon, 1 after
	fHourMod // hour of 12, from 0
	fMinute
	fSecond
	fNano
	fOffset // seconds east
	fieldCount
	fTimestamp // in a variable of its own
)

// fieldSet is a set of fields.
type fieldSet uint32

func setOf(f field) fieldSet { return 1 << f }

// all reports whether s contains all fields.
func (s fieldSet) all(fields fieldSet) bool { return s&fields == fields }

const (
	dateFields = 1<<fYear | 1<<fMonth | 1<<fDay
	timeFields = 1<<fHourDiv | 1<<fHourMod | 1<<fMinute
	// plainFields are the fields that cannot contradict each other.
	plainFields = dateFields | timeFields | 1<<fSecond | 1<<fNano | 1<<fOffset
)

// determineDate reports whether the fields determine a date.
func (s fieldSet) determineDate() bool {
	if s&setOf(fTimestamp) != 0 {
		return true
	}
	year := s&(setOf(fYear)|setOf(fYearMod)) != 0
	isoYear := s&(setOf(fISOYear)|setOf(fISOYearMod)) != 0
	return year && (s.all(setOf(fMonth)|setOf(fDay)) || s.all(setOf(fOrdinal)) ||
		s.all(setOf(fWeekSun)|setOf(fWeekday)) || s.all(setOf(fWeekMon)|setOf(fWeekday))) ||
		isoYear && s.all(setOf(fISOWeek)|setOf(fWeekday))
}

// determineTime reports whether the fields determine hour and minute.
func (s fieldSet) determineTime() bool {
	return s&setOf(fTimestamp) != 0 || s.all(timeFields)
}

// parsed collects the fields of a text.
type parsed struct {
	fields    fieldSet
	v         [fieldCount]int32
	timestamp int64
}

func (p *parsed) has(f field) bool { return p.fields&setOf(f) != 0 }

// set stores a value. It returns false if the field already has a different value.
func (p *parsed) set(f field, v int32) bool {
	if p.has(f) {
		return p.v[f] == v
	}
	p.fields |= setOf(f)
	p.v[f] = v
	return true
}

// setName stores the value of a name at text[i:end].
func (p *parsed) setName(f field, v int32, end, i, length int) (int, Reason) {
	switch {
	case end == i && i+3 > length:
		return i, TooShort
	case end == i:
		return i, Invalid
	case !p.set(f, v):
		return i, Impossible
	}
	return end, ok
}

// resolve converts the fields to an instant.
func (p *parsed) resolve(o *ParseOptions) (int64, int32, Reason) {
	if o.FillTime && !p.has(fTimestamp) {
		p.fillTime()
	}
	offset := int64(0)
	if p.has(fOffset) {
		offset = int64(p.v[fOffset])
	} else if o.RequireOffset && !p.has(fTimestamp) {
		return 0, 0, NoOffset
	}
	var sec int64
	var nsec int32
	var reason Reason
	if p.fields&^plainFields == 0 && p.fields.all(dateFields|timeFields) {
		sec, nsec, reason = p.plain()
	} else {
		sec, nsec, reason = p.local(offset)
	}
	if reason != ok {
		return 0, 0, reason
	}
	if p.has(fOffset) || p.has(fTimestamp) || o.Zone == nil || o.Zone == time.UTC {
		return sec - offset, nsec, ok
	}
	sec, reason = localToUnix(sec, o.Zone, o.Local)
	return sec, nsec, reason
}

// fillTime sets hour and minute to 0 if the text has none.
func (p *parsed) fillTime() {
	if !p.has(fHourMod) && !p.has(fHourDiv) {
		p.set(fHourDiv, 0)
		p.set(fHourMod, 0)
	}
	if !p.has(fMinute) {
		p.set(fMinute, 0)
	}
}

// plain resolves year, month, day, hour and minute, if all are present and nothing can contradict them.
func (p *parsed) plain() (int64, int32, Reason) {
	y, m, d := p.v[fYear], p.v[fMonth], p.v[fDay]
	if d > daysIn(y, m) {
		return 0, 0, OutOfRange
	}
	clock, nsec, reason := p.clock()
	if reason != ok {
		return 0, 0, reason
	}
	return daysFromCivil(y, m, d)*secondsPerDay + clock, nsec, ok
}

// clock resolves the time of day in seconds.
func (p *parsed) clock() (int64, int32, Reason) {
	if !p.fields.all(timeFields) {
		return 0, 0, NotEnough
	}
	if p.has(fNano) && !p.has(fSecond) {
		return 0, 0, NotEnough
	}
	h := int64(p.v[fHourDiv]*12 + p.v[fHourMod])
	return h*3600 + int64(p.v[fMinute])*60 + int64(p.v[fSecond]), p.v[fNano], ok
}

// local resolves any set of fields to the seconds since 1970 that a clock set to UTC counts when it shows the local
// time.
func (p *parsed) local(offset int64) (int64, int32, Reason) {
	days, dateReason := p.date()
	clock, nsec, clockReason := p.clock()
	if dateReason == ok && clockReason == ok {
		sec := days*secondsPerDay + clock
		leap := p.v[fSecond] == 60 && p.timestamp == sec-1-offset
		if p.has(fTimestamp) && p.timestamp != sec-offset && !leap {
			return 0, 0, Impossible
		}
		return sec, nsec, ok
	}
	if !p.has(fTimestamp) {
		if dateReason != ok && dateReason != NotEnough || clockReason == ok {
			return 0, 0, dateReason
		}
		return 0, 0, clockReason
	}
	for _, r := range [...]Reason{dateReason, clockReason} {
		if r != ok && r != NotEnough {
			return 0, 0, r
		}
	}
	return p.fromTimestamp(offset)
}

// fromTimestamp resolves Unix seconds. All other fields must agree with them.
func (p *parsed) fromTimestamp(offset int64) (int64, int32, Reason) {
	sec := p.timestamp + offset
	if p.has(fSecond) && p.v[fSecond] == 60 {
		// A leap second has the same Unix second as the second before or after it.
		switch floorMod(sec, 60) {
		case 59:
			sec++
		case 0:
		default:
			return 0, 0, Impossible
		}
		p.v[fSecond] = 59
		p.timestamp = sec - 1
		sec, nsec, reason := p.fromTimestamp(0)
		return sec + 1, nsec, reason
	}
	days, clock := floorDiv(sec, secondsPerDay), floorMod(sec, secondsPerDay)
	year, _, _ := civilFromDays(days)
	ordinal := int32(days-daysFromCivil(year, 1, 1)) + 1
	h := int32(clock / 3600)
	agrees := p.set(fYear, year) && p.set(fOrdinal, ordinal) &&
		p.set(fHourDiv, h/12) && p.set(fHourMod, h%12) &&
		p.set(fMinute, int32(clock/60%60)) && p.set(fSecond, int32(clock%60))
	if !agrees {
		return 0, 0, Impossible
	}
	if _, reason := p.date(); reason != ok {
		return 0, 0, reason
	}
	return sec, p.v[fNano], ok
}

// date resolves the date as days since 1970.
func (p *parsed) date() (int64, Reason) {
	year, haveYear, reason := p.resolveYear(fYear, fYearDiv, fYearMod)
	if reason != ok {
		return 0, reason
	}
	isoYear, haveISOYear, reason := p.resolveYear(fISOYear, fieldCount, fISOYearMod)
	if reason != ok {
		return 0, reason
	}
	var days int64
	switch {
	case haveYear && p.has(fMonth) && p.has(fDay):
		if p.v[fDay] > daysIn(year, p.v[fMonth]) {
			return 0, OutOfRange
		}
		days = daysFromCivil(year, p.v[fMonth], p.v[fDay])
	case haveYear && p.has(fOrdinal):
		days = daysFromCivil(year, 1, 1) + int64(p.v[fOrdinal]) - 1
	case haveYear && p.has(fWeekSun) && p.has(fWeekday):
		days = weekDate(year, p.v[fWeekSun], p.v[fWeekday], sunday)
	case haveYear && p.has(fWeekMon) && p.has(fWeekday):
		days = weekDate(year, p.v[fWeekMon], p.v[fWeekday], monday)
	case haveISOYear && p.has(fISOWeek) && p.has(fWeekday):
		if p.v[fISOWeek] > isoWeeksIn(isoYear) {
			return 0, OutOfRange
		}
		days = isoWeekOne(isoYear) + int64(p.v[fISOWeek]-1)*7 + int64(p.v[fWeekday])
	default:
		return 0, NotEnough
	}
	// The day of a year or a week may be outside the year. agrees checks this.
	if !p.agrees(days, year, haveYear, isoYear, haveISOYear) {
		return 0, Impossible
	}
	return days, ok
}

// resolveYear combines a year, its century and its last two digits, of which some may be missing. div is fieldCount
// if there is no field for the century.
func (p *parsed) resolveYear(whole, div, mod field) (year int32, have bool, reason Reason) {
	hasDiv := div != fieldCount && p.has(div)
	switch {
	case p.has(whole):
		year = p.v[whole]
		if (hasDiv || p.has(mod)) && year < 0 {
			return 0, false, OutOfRange
		}
		if hasDiv && p.v[div] != year/100 || p.has(mod) && p.v[mod] != year%100 {
			return 0, false, Impossible
		}
	case hasDiv && p.has(mod):
		year = p.v[div]*100 + p.v[mod]
	case hasDiv:
		return 0, false, NotEnough
	case p.has(mod):
		year = p.v[mod] + 1900
		if p.v[mod] < 70 {
			year += 100
		}
	default:
		return 0, false, ok
	}
	return year, true, ok
}

// agrees reports whether the date agrees with every field.
func (p *parsed) agrees(days int64, year int32, haveYear bool, isoYear int32, haveISOYear bool) bool {
	y, m, d := civilFromDays(days)
	if haveYear && y != year || !p.is(fMonth, m) || !p.is(fDay, d) || !p.is(fQuarter, (m+2)/3) {
		return false
	}
	if p.fields&(1<<fOrdinal|1<<fWeekSun|1<<fWeekMon) != 0 {
		ordinal := int32(days-daysFromCivil(y, 1, 1)) + 1
		wd := weekdayOf(days)
		if !p.is(fOrdinal, ordinal) || !p.is(fWeekSun, weekOfYear(ordinal, wd, sunday)) ||
			!p.is(fWeekMon, weekOfYear(ordinal, wd, monday)) {
			return false
		}
	}
	if haveISOYear || p.has(fISOWeek) {
		iy, w := isoWeekOf(days)
		if haveISOYear && iy != isoYear || !p.is(fISOWeek, w) {
			return false
		}
	}
	return !p.has(fWeekday) || p.is(fWeekday, weekdayOf(days))
}

// is reports whether the field has the value v or is missing.
func (p *parsed) is(f field, v int32) bool { return !p.has(f) || p.v[f] == v }
