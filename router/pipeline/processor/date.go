package processor

import (
	"errors"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones must be known on hosts without a zone database

	"cordwood/router/pipeline/document"
	"cordwood/router/vrl/timefmt"
	"cordwood/router/vrl/value"
)

// The limits of a date processor.
const (
	maxTimeFormats     = 100
	maxTimeFormatBytes = 1024
)

// defaultTimeFormats are ISO 8601 with an optional fraction, and with an offset, Z or neither.
var defaultTimeFormats = []string{"%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M:%S%.f"}

// compileDate: date parses strings as timestamps.
//
//	formats: list of strftime patterns, tried in order; none or an empty list: ISO 8601
//	timezone: IANA name of the zone of texts that give no offset; default UTC
//	locale: has no effect
//
// A pattern without hour and minute means midnight. If a change of the clocks makes a local time ambiguous or skips
// it, the offset before the change is used. A pattern without a year, as in old syslog messages, gives the latest
// such time that is at most a day after the current time.
func compileDate(o *Options) Apply { return compileDateAt(o, time.Now) }

func compileDateAt(o *Options, now func() time.Time) Apply {
	fields := o.Fields()
	o.DeclareTimes(fields, int64(time.Second))
	formats := timeFormats(o)
	zone := time.UTC
	if n := o.Get("timezone"); n != nil {
		zone = timeZone(n)
	}
	o.String("locale", "")
	opt := timefmt.ParseOptions{Zone: zone, FillTime: true, Local: timefmt.LocalEarlier}
	return fields.EachString(func(rec *Record, fl *Field, s string) error {
		for i := range formats {
			if v, ok := formats[i].parse(rec, s, opt, now); ok {
				rec.Set(fl.Out, v)
				return nil
			}
		}
		if rec.Quiet {
			return errQuiet
		}
		why, place := whyNoTime(formats, s, opt)
		failed := rec.Fail(fl.In.Text, value.NewString(s), "failed to parse%s", why)
		if e := (*Error)(nil); errors.As(failed, &e) {
			e.Place = place
		}
		return failed
	})
}

// timeFormat is a pattern of a date processor.
type timeFormat struct {
	format *timefmt.Format
	// yearless is set if only the year is missing for a date. format is then the pattern with %Y and a space before
	// it.
	yearless bool
}

func timeFormats(o *Options) []timeFormat {
	var formats []timeFormat
	n := o.Get("formats")
	if n == nil || n.IsList() && len(n.List()) == 0 {
		for _, p := range defaultTimeFormats {
			f, err := timefmt.Compile(p)
			if err != nil {
				panic("default time format: " + err.Error())
			}
			formats = append(formats, timeFormat{f, false})
		}
		return formats
	}
	list := n.List()
	if len(list) > maxTimeFormats {
		n.Fault("%d patterns, at most %d are allowed", len(list), maxTimeFormats)
		return nil
	}
	dated := false
	for _, e := range list {
		f, ok := readTimeFormat(e)
		if !ok {
			return nil
		}
		dated = dated || f.format.HasDate()
		formats = append(formats, f)
	}
	if !dated {
		n.Fault("no text can match: a pattern needs a date, such as %%Y-%%m-%%d, or Unix seconds, %%s")
	}
	return formats
}

// readTimeFormat compiles a pattern. ok is false if it reported a fault.
func readTimeFormat(n *document.Node) (f timeFormat, ok bool) {
	p, ok := n.String()
	if !ok {
		return timeFormat{}, false
	}
	if len(p) > maxTimeFormatBytes {
		n.Fault("the pattern has %d bytes, at most %d are allowed", len(p), maxTimeFormatBytes)
		return timeFormat{}, false
	}
	compiled, err := timefmt.Compile(p)
	if err != nil {
		n.Fault("%s", timePatternText(err))
		return timeFormat{}, false
	}
	if CountsNanoseconds(p) {
		n.Warn("%s", NanosecondsAdvice(p))
	}
	if !compiled.HasDate() {
		if y, err := timefmt.Compile("%Y " + p); err == nil && y.HasDate() {
			return timeFormat{y, true}, true
		}
	}
	return timeFormat{compiled, false}, true
}

// CountsNanoseconds reports whether a pattern has %f without a dot or a number of digits. Such a pattern reads a number
// of nanoseconds, but its author nearly always meant a fraction of a second.
func CountsNanoseconds(pattern string) bool {
	for i := 0; i+1 < len(pattern); i++ {
		if pattern[i] != '%' {
			continue
		}
		i++
		if strings.IndexByte("-_0", pattern[i]) >= 0 && i+1 < len(pattern) { // padding
			i++
		}
		if pattern[i] == 'f' {
			return true
		}
	}
	return false
}

// NanosecondsAdvice describes the effect of a pattern for which CountsNanoseconds is true, and the alternative.
func NanosecondsAdvice(pattern string) string {
	return "%f in " + strconv.Quote(Cut(pattern)) + " is a number of nanoseconds, so that .5 becomes 5 ns; " +
		"write %.f instead of .%f, or %3f for a fraction of three digits without a dot"
}

func timePatternText(err error) string {
	if e := (*timefmt.PatternError)(nil); errors.As(err, &e) {
		c := *e
		c.Pattern = Cut(c.Pattern)
		return c.Error()
	}
	return err.Error()
}

// timeZone returns the zone whose IANA name is at n.
func timeZone(n *document.Node) *time.Location {
	name, ok := n.String()
	if !ok {
		return nil
	}
	zone := timefmt.Zone(name)
	if zone == nil {
		n.Fault("unknown time zone %q, expected an IANA name such as Europe/Berlin", Cut(name))
		return nil
	}
	return zone
}

// parse parses s with the pattern. It returns false if it does not match.
func (f *timeFormat) parse(rec *Record, s string, o timefmt.ParseOptions, now func() time.Time) (value.Value, bool) {
	if f.yearless {
		return f.parseYearless(rec, s, o, now())
	}
	sec, nsec, ok := f.format.TryUnix(s, o)
	return value.NewUnix(sec, uint32(nsec)), ok
}

// leapYears is more than the years from one 29 February to the next.
const leapYears = 9

// parseYearless tries the years backwards from tomorrow's year, because not every year has a 29 February or the
// weekday in the text.
func (f *timeFormat) parseYearless(rec *Record, s string, o timefmt.ParseOptions, now time.Time) (value.Value, bool) {
	if len(s) > maxTimeFormatBytes {
		return value.None, false
	}
	latest := now.Add(24 * time.Hour)
	year := latest.In(o.Zone).Year()
	for y := year; y > year-leapYears && y >= 1000 && y <= 9999; y-- {
		b := append(rec.Scratch[:0], byte('0'+y/1000), byte('0'+y/100%10), byte('0'+y/10%10), byte('0'+y%10), ' ')
		b = append(b, s...)
		rec.Scratch = b
		sec, nsec, ok := f.format.TryUnix(bytesAsString(b), o)
		if ok && sec <= latest.Unix() {
			return value.NewUnix(sec, uint32(nsec)), true
		}
	}
	return value.None, false
}

// whyNoTime describes a failure in detail if there is only one pattern, with the byte, counted from 1, at which
// parsing ended.
func whyNoTime(formats []timeFormat, s string, o timefmt.ParseOptions) (why string, place int) {
	if len(formats) != 1 || formats[0].yearless {
		return "", 0
	}
	_, _, err := formats[0].format.ParseUnix(s, o)
	e := (*timefmt.ParseError)(nil)
	if !errors.As(err, &e) {
		return "", 0
	}
	why = " by " + Cut(e.Pattern) + ", " + e.Reason.String()
	if e.Spec != "" {
		why += " at byte " + itoa(e.Pos) + " (" + strings.TrimSpace(Cut(e.Spec)) + ")"
	}
	if rest := e.Rest(); rest != "" {
		why += " " + strconv.Quote(rest) + " at byte " + itoa(e.Pos)
	}
	return why + e.Advice(), e.Pos + 1
}
