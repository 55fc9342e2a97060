package syslog

import (
	"strings"
	"time"

	"cordwood/router/vrl/ascii"
)

// time5424 parses the time in a header of RFC 5424, which has the format of RFC 3339. By the loose rules the offset
// may be missing.
func (p *Parser) time5424(s string) (time.Time, bool) {
	if p.Loose {
		return p.looseISO(s)
	}
	t, err := time.Parse(time.RFC3339, s)
	return t, err == nil
}

// time3164 parses the time at the start of s: in the format of RFC 3164, with or without a year and a fraction, or
// of RFC 3339. looseTime has the loose rules.
func (p *Parser) time3164(s string) (t time.Time, rest string, ok bool) {
	if p.Loose {
		return p.looseTime(s)
	}
	if ascii.Digits(s) == 4 {
		return p.timeISO(s)
	}
	d := clock{rest: s}
	month := d.month()
	d.spaces()
	day := d.number(1, 2)
	d.spaces()
	year := 0
	if ascii.Digits(d.rest) == 4 {
		year = d.number(4, 4)
		d.spaces()
	}
	d.time()
	if d.failed || day == 0 {
		return t, s, false
	}
	t, ok = p.date(year, month, day, &d)
	return t, d.rest, ok
}

// date returns the instant for a date and a clock time. If year is 0, date determines it.
func (p *Parser) date(year int, month time.Month, day int, d *clock) (time.Time, bool) {
	if year == 0 {
		year = p.Year
	}
	if year != 0 {
		t := d.on(year, month, day, p.Zone)
		return t, t.Day() == day || d.second == 60
	}
	latest := p.Now().Add(24 * time.Hour)
	// in nine years there is always a 29 February
	for year, last := latest.Year()+1, latest.Year()-8; year >= last; year-- {
		t := d.on(year, month, day, p.Zone)
		if !t.After(latest) && (t.Day() == day || d.second == 60) {
			return t, true
		}
	}
	return time.Time{}, false
}

// timeISO parses a time of RFC 3339. The T may be a space, and the offset may be missing.
func (p *Parser) timeISO(s string) (t time.Time, rest string, ok bool) {
	d := clock{rest: s}
	year := d.number(4, 4)
	d.take('-')
	month := time.Month(d.number(2, 2))
	d.take('-')
	day := d.number(2, 2)
	if d.rest == "" || d.rest[0] != 'T' && d.rest[0] != ' ' {
		return t, s, false
	}
	d.rest = d.rest[1:]
	d.time()
	if d.failed || year == 0 || month < 1 || month > 12 || day == 0 {
		return t, s, false
	}
	if t, ok = p.date(year, month, day, &d); !ok {
		return t, s, false
	}
	switch {
	case strings.HasPrefix(d.rest, "Z"):
		d.rest = d.rest[1:]
		t = d.on(year, month, day, time.UTC)
	case strings.HasPrefix(d.rest, "+"), strings.HasPrefix(d.rest, "-"):
		t = d.on(year, month, day, time.UTC).Add(-d.offset())
	}
	return t, d.rest, !d.failed
}

// clock parses the parts of a time one after another.
type clock struct {
	rest                        string
	failed                      bool
	hour, minute, second, nanos int
}

// on returns the instant at which clocks in a zone show d on a date.
func (d *clock) on(year int, month time.Month, day int, zone *time.Location) time.Time {
	return time.Date(year, month, day, d.hour, d.minute, d.second, d.nanos, zone)
}

func (d *clock) take(c byte) {
	if d.rest == "" || d.rest[0] != c {
		d.failed = true
		return
	}
	d.rest = d.rest[1:]
}

func (d *clock) spaces() {
	before := len(d.rest)
	for d.rest != "" && d.rest[0] == ' ' {
		d.rest = d.rest[1:]
	}
	d.failed = d.failed || before == len(d.rest)
}

// number parses a number of least to most digits.
func (d *clock) number(least, most int) int {
	n := ascii.Digits(d.rest)
	if n < least || n > most {
		d.failed = true
		return 0
	}
	v := number(d.rest[:n])
	d.rest = d.rest[n:]
	return v
}

// month reads the short name of a month.
func (d *clock) month() time.Month {
	const months = "JanFebMarAprMayJunJulAugSepOctNovDec"
	if len(d.rest) >= 3 {
		if i := strings.Index(months, d.rest[:3]); i >= 0 && i%3 == 0 {
			d.rest = d.rest[3:]
			return time.Month(i/3 + 1)
		}
	}
	d.failed = true
	return 0
}

// time reads hh:mm:ss with an optional fraction.
func (d *clock) time() {
	d.hour = d.number(1, 2)
	d.take(':')
	d.minute = d.number(2, 2)
	d.take(':')
	d.second = d.number(2, 2)
	if d.hour > 23 || d.minute > 59 || d.second > 60 {
		d.failed = true
	}
	if len(d.rest) < 2 || d.rest[0] != '.' && d.rest[0] != ',' {
		return
	}
	n := ascii.Digits(d.rest[1:])
	for i := range 9 {
		d.nanos *= 10
		if i < n {
			d.nanos += int(d.rest[1+i] - '0')
		}
	}
	if n > 0 {
		d.rest = d.rest[1+n:]
	}
}

// offset reads an offset such as +01:30 or -0130.
func (d *clock) offset() time.Duration {
	unit := time.Minute
	if d.rest[0] == '-' {
		unit = -time.Minute
	}
	d.rest = d.rest[1:]
	hours := d.number(2, 2)
	d.rest = strings.TrimPrefix(d.rest, ":")
	return unit * time.Duration(60*hours+d.number(2, 2))
}
