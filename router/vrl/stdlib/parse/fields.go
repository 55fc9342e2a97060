package parse

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/timefmt"
	"cordwood/router/vrl/value"
)

// This file has the common parts of the parsers of log formats.

// fields builds an object from fields in the order of a text.
type fields struct {
	o      *value.Fields
	sorted bool
	last   string
}

func newFields(n int) fields { return fields{o: value.MakeFields(n), sorted: true} }

func (b *fields) add(key string, v value.Value) {
	if key <= b.last && b.o.Len() > 0 {
		b.sorted = false
	}
	b.last = key
	b.o.Add(key, v)
}

func (b *fields) str(key, s string) { b.add(key, value.NewString(s)) }

// text adds s, unless it is a dash, which stands for a missing value.
func (b *fields) text(key, s string) {
	if s != "-" {
		b.str(key, s)
	}
}

// integer adds a decimal number. It returns false if s is not a number in range.
func (b *fields) integer(key, s string) bool {
	i, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return false
	}
	b.add(key, value.NewInt(i))
	return true
}

func (b *fields) value() value.Value {
	if !b.sorted {
		b.o.Sort()
	}
	return b.o.Value()
}

// The cost of each part of a text for parsers: a value in a growing array, and a field that is put into a list and
// then into an object.
const (
	roomOfValue = 2 * value.ElementBytes
	roomOfField = 3 * value.FieldBytes
)

// gather returns an object with the fields of a list. merge combines the values of a repeated key, the earlier one
// first.
func gather(list []value.Field, merge func(a, b value.Value) value.Value) value.Value {
	o := value.MakeFields(len(list))
	inOrder := true
	for i := 1; i < len(list) && inOrder; i++ {
		inOrder = list[i-1].Key < list[i].Key
	}
	if !inOrder {
		slices.SortStableFunc(list, func(a, b value.Field) int { return strings.Compare(a.Key, b.Key) })
	}
	for i := 0; i < len(list); {
		v := list[i].Value
		j := i + 1
		for ; j < len(list) && list[j].Key == list[i].Key; j++ {
			v = merge(v, list[j].Value)
		}
		o.Add(list[i].Key, v)
		i = j
	}
	return o.Value()
}

// appendTo appends a value to the array of values of its key. All arrays that it receives must be its own results.
func appendTo(a, b value.Value) value.Value {
	if list := a.MutArray(); list != nil {
		list.Append(b)
		return a
	}
	return value.ArrayOf(a, b)
}

// layout is a time layout. If it is known at compile time, it is compiled once, otherwise at each call.
type layout struct{ format *timefmt.Format }

// compileLayout compiles the layout in argument i. If it is not known at compile time or not given, the result is
// empty.
func compileLayout(c *fn.Call, i int) (layout, error) {
	v, ok := c.Const(i)
	if !ok || !v.IsString() {
		return layout{}, nil
	}
	f, err := timefmt.Compile(v.Str())
	if err != nil {
		return layout{}, c.BadArgument(i, "%v", err)
	}
	return layout{f}, nil
}

// of returns the layout to use at run time, from the argument if it was not known at compile time.
func (l layout) of(v value.Value) (*timefmt.Format, error) {
	if l.format != nil {
		return l.format, nil
	}
	return timefmt.Compile(v.Str())
}

// stamp parses a time in a log line. If it has no zone, the run's zone is used.
func stamp(f *fn.Frame, format *timefmt.Format, text string) (value.Value, bool) {
	t, nsec, err := format.ParseUnix(text, timefmt.ParseOptions{
		Zone:          f.Host.Zone,
		RequireOffset: format.HasOffset() || format.HasZoneName(),
	})
	if err != nil {
		return f.Failf("failed parsing timestamp %s using format %s: %s", strings.Clone(text), format.String(), reason(err))
	}
	return value.NewUnix(t, uint32(nsec)), true
}

// reason returns the reason why a text does not match a time layout.
func reason(err error) string {
	if e, ok := err.(*timefmt.ParseError); ok { //nolint:errorlint // it is never wrapped
		return e.Reason.String()
	}
	return err.Error()
}

// guessYear returns the year for a time without one: the current year, or the previous year for a time in December
// if it is January.
func guessYear(f *fn.Frame, month time.Month) int {
	now := f.Host.Now().In(f.Host.Zone)
	if month == time.December && now.Month() == time.January {
		return now.Year() - 1
	}
	return now.Year()
}
