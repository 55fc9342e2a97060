package syslog

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/timefmt"
)

// The layouts of the loose rules: times with a year, and times of RFC 3164 with the year first.
var (
	isoLayout      = mustCompile("%+")
	localLayout    = mustCompile("%Y-%m-%dT%H:%M:%S%.f")
	monthLayout    = mustCompile("%Y %b %e %H:%M:%S%.f")
	yearLastLayout = mustCompile("%b %e %Y %H:%M:%S%.f")
)

func mustCompile(layout string) *timefmt.Format {
	f, err := timefmt.Compile(layout)
	if err != nil {
		panic(err)
	}
	return f
}

// looseISO parses a time of RFC 3339. If it has no offset, it is in the parser's zone.
func (p *Parser) looseISO(s string) (time.Time, bool) {
	if len(s) < 19 || s[4] != '-' {
		return time.Time{}, false
	}
	sec, nsec, ok := isoLayout.TryUnix(s, timefmt.ParseOptions{})
	if !ok {
		sec, nsec, ok = localLayout.TryUnix(s, timefmt.ParseOptions{Zone: p.Zone})
	}
	return time.Unix(sec, int64(nsec)), ok
}

// looseTime parses the time at the start of s and returns the rest: words such as "Jan _2 15:04:05", possibly with
// a year after the day, or one word of RFC 3339. Numbers may have fewer digits, and the case of month names is
// ignored. A time that does not exist or exists twice in the zone is invalid.
func (p *Parser) looseTime(s string) (t time.Time, rest string, ok bool) {
	if s == "" {
		return t, s, false
	}
	if ascii.IsDigit(s[0]) {
		word, rest := ascii.CutWord(s)
		if t, ok = p.looseISO(strings.TrimSuffix(word, ":")); !ok {
			return t, s, false
		}
		return t, rest, true
	}
	month, rest := ascii.CutWord(s)
	if len(month) != 3 {
		return t, s, false
	}
	day, rest := ascii.CutWord(ascii.SkipSpace(rest))
	clock, rest := ascii.CutWord(ascii.SkipSpace(rest))
	clock = strings.TrimSuffix(clock, ":")
	if ascii.Digits(day) != len(day) || len(day) > 2 || len(clock) > 32 {
		return t, s, false
	}
	layout := monthLayout
	var text string
	if len(clock) == 4 && ascii.Digits(clock) == 4 {
		year := clock
		clock, rest = ascii.CutWord(ascii.SkipSpace(rest))
		text = month + " " + day + " " + year + " " + strings.TrimSuffix(clock, ":")
		layout = yearLastLayout
	} else {
		text = strconv.Itoa(p.looseYear(month)) + " " + month + " " + day + " " + clock
	}
	if len(text) > 64 || !utf8.ValidString(text) {
		return t, s, false
	}
	sec, nsec, ok := layout.TryUnix(text, timefmt.ParseOptions{Zone: p.Zone})
	if !ok {
		return t, s, false
	}
	return time.Unix(sec, int64(nsec)), rest, true
}

// looseYear returns the year for a time without a year.
func (p *Parser) looseYear(month string) int {
	now := p.Now().In(p.Zone)
	if strings.EqualFold(month, "Dec") && now.Month() == time.January {
		return now.Year() - 1
	}
	return now.Year()
}
