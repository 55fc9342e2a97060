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

// This file holds what the parsers of log formats share.

// fields builds an object from fields in the order in which a text has them.
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

// text adds s unless it is the dash that stands for no value.
func (b *fields) text(key, s string) {
	if s != "-" {
		b.str(key, s)
	}
}

// integer adds a decimal number; false if s is not one that fits.
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

// What the parsers of texts with many parts take off the budget for each part: a value of an
// array that grows, and a field that goes through a list into an object.
const (
	roomOfValue = 2 * value.ElementBytes
	roomOfField = 3 * value.FieldBytes
)

// gather returns the object of the fields given in the order of a text. The values of a
// key that occurs several times are put together by merge, the earlier one first.
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

// appendTo puts a value into an array of the values of its key. Only arrays that it made
// itself may be among what it is called with.
func appendTo(a, b value.Value) value.Value {
	if list := a.MutArray(); list != nil {
		list.Append(b)
		return a
	}
	return value.ArrayOf(a, b)
}

// layout is a time layout that is compiled once if it is known, and else at each call.
type layout struct{ format *timefmt.Format }

// compileLayout compiles the layout that argument i is; an empty one if it is not known
// before the program runs, or not given.
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

// of returns the layout that an argument names at run time.
func (l layout) of(v value.Value) (*timefmt.Format, error) {
	if l.format != nil {
		return l.format, nil
	}
	return timefmt.Compile(v.Str())
}

// stamp reads a time of a log line, in the zone of the run if it names none.
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

// reason returns why a text is not the time that a layout describes.
func reason(err error) string {
	if e, ok := err.(*timefmt.ParseError); ok { //nolint:errorlint // it is never wrapped
		return e.Reason.String()
	}
	return err.Error()
}

// guessYear returns the year that a time without one is in: this one, except for one of
// December that is read in January.
func guessYear(f *fn.Frame, month time.Month) int {
	now := f.Host.Now().In(f.Host.Zone)
	if month == time.December && now.Month() == time.January {
		return now.Year() - 1
	}
	return now.Year()
}
