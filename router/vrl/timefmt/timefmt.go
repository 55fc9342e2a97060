// Package timefmt parses and writes times with strftime patterns such as "%d/%b/%Y:%T %z". It supports the
// specifiers and rules of the chrono library, which many log tools use.
//
// A pattern is compiled once into a flat list of steps. Parsing allocates no memory if it succeeds. All fields of a
// text are collected first and then resolved together. So redundant fields (a weekday beside a date, a Unix time
// beside a clock time) must agree, and a date may be given by month and day, by day of the year, or by week and
// weekday.
//
// # Specifiers
//
//	%Y %C %y       year; century; two digits (00–69 are 2000s, 70–99 are 1900s)
//	%G %g %V       year, two-digit year and week of the ISO 8601 week date
//	%q %m %d %e %j quarter, month, day, day padded with a space, day of the year
//	%b %h %B       month name, short (two spellings) and long
//	%a %A %w %u    weekday name, short and long; number from Sunday = 0; from Monday = 1
//	%U %W          week of the year, weeks starting on Sunday, on Monday
//	%H %k %I %l    hour of 24, padded with a space; hour of 12, padded with a space
//	%p %P          AM or PM, written in upper, in lower case
//	%M %S          minute, second (60, a leap second, is read as the next minute's 0)
//	%f             nanoseconds as an integer
//	%.f %.3f %.6f %.9f   fraction of a second with its dot; optional when reading
//	%3f %6f %9f    that many digits of a fraction, without a dot
//	%z %:z %::z %:::z    offset +0930, +09:30, +09:30:00, +09
//	%#z            reading only: as %z, also Z, and the minutes may be missing
//	%Z             zone name; skipped when reading
//	%s             Unix seconds
//	%D %x %F %v %R %T %X %r %c   %m/%d/%y, the same, %Y-%m-%d, %e-%b-%Y, %H:%M,
//	               %H:%M:%S, the same, %I:%M:%S %p, %a %b %e %T %Y
//	%+             RFC 3339
//	%n %t %%       newline, tab, percent sign
//
// In a number, a '-', '_' or '0' after the percent sign selects padding with nothing, spaces or zeros for writing.
// It is ignored for parsing.
//
// # Parsing
//
// Names match in any case, short or long. A number has at most its usual number of digits, and white space before
// it is skipped. White space in the pattern matches any white space, or none. Everything else must match exactly,
// and no text may be left over. A pattern may omit seconds. It must have date, hour and minute, unless
// ParseOptions.FillTime is set.
//
// The package does not depend on the rest of the program and keeps no state. A Format is immutable and may be used
// by any number of goroutines.
package timefmt

import (
	"fmt"
	"math"
	"time"
)

// Format is a compiled pattern. The zero Format is an empty pattern.
type Format struct {
	pattern string
	ops     []op
	fields  fieldSet // the fields that a text of this pattern may give
	flags   formatFlags
	layout  *layout // nil if the pattern has none
}

type formatFlags uint8

const (
	hasOffset formatFlags = 1 << iota
	hasZoneName
	readOnly // contains a specifier that can only be read
)

// LocalPolicy selects how to read a local time that is ambiguous or skipped because
// the clocks changed.
type LocalPolicy uint8

const (
	// LocalReject reports an error for such a time.
	LocalReject LocalPolicy = iota
	// LocalEarlier uses the offset from before the clocks changed. An ambiguous time
	// becomes the first of its two instants. A skipped time is read as if the clocks had
	// not changed.
	LocalEarlier
)

// ParseOptions controls how a text with missing or ambiguous fields is read.
// The zero value reads texts without an offset as UTC and fills in no missing fields.
type ParseOptions struct {
	// Zone is the zone of a text without an offset; nil is UTC.
	Zone *time.Location
	// RequireOffset refuses a text that gives neither an offset nor Unix seconds.
	RequireOffset bool
	// FillTime sets the hour and minute to 0 if the pattern does not have them, so
	// that "%Y-%m-%d" reads as midnight.
	FillTime bool
	// Local selects how to read ambiguous and skipped local times.
	Local LocalPolicy
}

// MaxPattern is the longest pattern, in bytes.
const MaxPattern = 4 << 10

// Compile compiles a pattern. The error is a *PatternError. It gives the unknown or
// incomplete specifier and its position, or says that the pattern is too long.
func Compile(pattern string) (*Format, error) {
	if len(pattern) > MaxPattern {
		return nil, fmt.Errorf("time pattern of %d bytes, at most %d are allowed", len(pattern), MaxPattern)
	}
	return compile(pattern)
}

// String returns the pattern that f was compiled from.
func (f *Format) String() string { return f.pattern }

// HasOffset reports whether a text of this pattern determines an instant without a
// zone, because it has an offset (%z and its variants, %+) or Unix seconds (%s).
func (f *Format) HasOffset() bool { return f.flags&hasOffset != 0 || f.fields&setOf(fTimestamp) != 0 }

// HasZoneName reports whether the pattern contains %Z, which gives no offset.
func (f *Format) HasZoneName() bool { return f.flags&hasZoneName != 0 }

// HasDate reports whether the pattern has the fields that determine a date.
func (f *Format) HasDate() bool { return f.fields.determineDate() }

// HasTime reports whether the pattern has the fields that determine the hour and the minute.
func (f *Format) HasTime() bool { return f.fields.determineTime() }

// Parse reads the whole text as one time, in UTC. The error is a *ParseError.
// Neither the result nor the error refers to the text.
func (f *Format) Parse(text string, o ParseOptions) (time.Time, error) {
	sec, nsec, err := f.ParseUnix(text, o)
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(sec, int64(nsec)).UTC(), nil
}

// ParseUnix is like Parse, but returns the seconds since 1970 and the remaining
// nanoseconds, 0 to 999,999,999.
func (f *Format) ParseUnix(text string, o ParseOptions) (sec int64, nsec int32, err error) {
	sec, nsec, fail := f.parse(text, &o)
	if fail.reason != ok {
		return 0, 0, f.parseError(text, fail)
	}
	return sec, nsec, nil
}

// ParseNano is like Parse, but returns nanoseconds since 1970. It reports an error for
// times outside the years 1677 to 2262, which do not fit.
func (f *Format) ParseNano(text string, o ParseOptions) (int64, error) {
	sec, nsec, fail := f.parse(text, &o)
	if fail.reason == ok {
		if ns, fits := unixNano(sec, nsec); fits {
			return ns, nil
		}
		e := f.parseError(text, failure{reason: OutOfRange, pos: len(text), op: len(f.ops)})
		e.nanos = true
		return 0, e
	}
	return 0, f.parseError(text, fail)
}

// TryUnix is like ParseUnix, but does not allocate memory for a text that does not
// match. It is for callers that try several patterns.
func (f *Format) TryUnix(text string, o ParseOptions) (sec int64, nsec int32, matched bool) {
	sec, nsec, fail := f.parse(text, &o)
	return sec, nsec, fail.reason == ok
}

// unixNano returns the time in nanoseconds if it fits.
func unixNano(sec int64, nsec int32) (int64, bool) {
	const limit = math.MaxInt64 / int64(time.Second)
	if sec < -limit-1 || sec > limit {
		return 0, false
	}
	if sec < 0 && nsec > 0 { // the first second before the limit fits only as a sum
		sec, nsec = sec+1, nsec-int32(time.Second)
	}
	ns := sec * int64(time.Second)
	sum := ns + int64(nsec)
	if (nsec > 0) != (sum > ns) && nsec != 0 || sec == -limit-1 {
		return 0, false
	}
	return sum, true
}
