package query

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cordwood/proto/errs"
	"cordwood/proto/lazyregexp"
	"cordwood/proto/schema"
	"cordwood/router/pipeline"
	"cordwood/router/query/statement"
	"cordwood/router/vrl/jsonscan"
)

// value is a literal converted to the type of a column.
type value struct {
	null bool
	i    int64 // integers, booleans, timestamps
	f    float64
	s    string // texts and bytes
	// changed counts values that the column cannot hold exactly.
	changed pipeline.Changes
}

// valueOf converts a literal to a value of the type. The value counts what is lost. now is the clock. Its zone
// applies to times without a zone.
func valueOf(l statement.Literal, t schema.Type, now time.Time) (value, error) {
	switch {
	case l.Kind == statement.Null:
		return value{null: true}, nil
	case t == schema.Boolean:
		return boolValue(l)
	case t.IsInteger():
		return integerValue(l, t)
	case t.IsFloat():
		return floatValue(l, t)
	case t.IsTimestamp():
		return timestampValue(l, t, now)
	case t == schema.Binary:
		if l.Kind == statement.Bytes || l.Kind == statement.Text {
			return value{s: l.Text}, nil
		}
	case t == schema.JSON:
		if l.Kind != statement.Now && l.Kind != statement.Bytes {
			return jsonValue(l)
		}
	case t == schema.String:
		if l.Kind != statement.Now && utf8.ValidString(l.Text) {
			return value{s: l.Text}, nil
		}
	}
	return value{}, mismatch(l, t, "")
}

// jsonValue returns JSON in the form in which ingestion stores it. Text that the engine cannot read, such as an escaped
// lone surrogate, must not be stored.
func jsonValue(l statement.Literal) (value, error) {
	if !utf8.ValidString(l.Text) {
		return value{}, mismatch(l, schema.JSON, "; it is not valid UTF-8")
	}
	t := jsonscan.NewText([]byte(l.Text))
	var w jsonscan.Writer
	out, next, err := w.AppendValue(nil, t, t.Space(0), 0)
	if next = t.Space(next); err == nil && next < t.Len() {
		err = t.Unexpected(next, "the end")
	}
	if err != nil {
		return value{}, mismatch(l, schema.JSON, ": "+err.Error())
	}
	return value{s: string(out), changed: pipeline.Changes{Repeated: w.Repeated, Lone: w.Lone, Vanished: w.Vanished}}, nil
}

// mismatch returns the error for a literal that is not a value of the type.
func mismatch(l statement.Literal, t schema.Type, hint string) error {
	shown := l.SQL()
	if len(shown) > 80 {
		shown = strings.ToValidUTF8(shown[:80], "") + "…"
	}
	return errs.New(errs.InvalidArguments, "%s is not a value of type %s%s", shown, t, hint)
}

func boolValue(l statement.Literal) (value, error) {
	switch strings.ToLower(l.Text) {
	case "true", "t", "1":
		return value{i: 1}, nil
	case "false", "f", "0":
		return value{i: 0}, nil
	}
	return value{}, mismatch(l, schema.Boolean, "; write TRUE or FALSE")
}

func integerValue(l statement.Literal, t schema.Type) (value, error) {
	if l.Kind != statement.Number && l.Kind != statement.Text {
		return value{}, mismatch(l, t, "; write an integer")
	}
	text := strings.ReplaceAll(strings.TrimSpace(l.Text), "_", "")
	base := 10
	if digits, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		text, base = digits, 16
	}
	if t == schema.Uint64 {
		if u, err := strconv.ParseUint(text, base, 64); err == nil {
			return value{i: int64(u)}, nil
		}
	} else if i, err := strconv.ParseInt(text, base, 64); err == nil {
		if lo, hi := t.IntRange(); i < lo || i > hi {
			return value{}, mismatch(l, t, rangeHint(t))
		}
		return value{i: i}, nil
	}
	if base == 10 {
		if i, ok := wholeNumber(text, t); ok {
			return value{i: i}, nil
		}
	}
	if _, err := strconv.ParseInt(text, base, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return value{}, mismatch(l, t, rangeHint(t))
	}
	return value{}, mismatch(l, t, "; write an integer")
}

// rangeHint returns the range of an integer type, for an error.
func rangeHint(t schema.Type) string {
	if t == schema.Uint64 {
		return ", whose range is 0 to " + strconv.FormatUint(math.MaxUint64, 10)
	}
	lo, hi := t.IntRange()
	return ", whose range is " + strconv.FormatInt(lo, 10) + " to " + strconv.FormatInt(hi, 10)
}

// wholeNumber parses a whole number written with a fraction or an exponent, such as 2.0 and 1e3, in the range of a
// type.
func wholeNumber(text string, t schema.Type) (int64, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return 0, false
	}
	lo, hi := t.IntRange()
	if t == schema.Uint64 {
		return int64(f), f >= 0
	}
	return int64(f), int64(f) >= lo && int64(f) <= hi
}

func floatValue(l statement.Literal, t schema.Type) (value, error) {
	if l.Kind != statement.Number && l.Kind != statement.Text {
		return value{}, mismatch(l, t, "; write a number")
	}
	bits := 64
	if t == schema.Float32 {
		bits = 32
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(l.Text), bits)
	if err != nil {
		return value{}, mismatch(l, t, "; write a number")
	}
	// A number with digits only is meant exactly, for example an id. A fraction or an exponent shows that it is not, and
	// so do the digits that programs write for this float.
	text := strings.TrimSpace(l.Text)
	exact := math.IsInf(f, 0) || text == strconv.FormatFloat(f, 'f', -1, bits)
	if n, ok := new(big.Int).SetString(text, 10); ok && !exact {
		if g, _ := new(big.Float).SetFloat64(f).Int(nil); g.Cmp(n) != 0 {
			return value{}, mismatch(l, t, fmt.Sprintf(", which would round it to %s; write %s.0 to allow this", g, n))
		}
	}
	if f == 0 && jsonscan.Underflows(strings.TrimSpace(l.Text)) {
		return value{}, mismatch(l, t, ": it is too small for the column; write 0 to store 0")
	}
	return value{f: f}, nil
}

// timeLayouts are the texts of timestamps, after the T has become a space.
var timeLayouts = []string{
	"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999 Z07:00", "2006-01-02 15:04:05.999999999-0700",
	"2006-01-02 15:04:05.999999999-07", // as PostgreSQL's clients write it
	"2006-01-02 15:04Z07:00", "2006-01-02 15:04 Z07:00", "2006-01-02 15:04-0700", "2006-01-02 15:04-07",
	"2006-01-02 15:04:05.999999999", "2006-01-02 15:04", time.DateOnly,
}

func timestampValue(l statement.Literal, t schema.Type, now time.Time) (value, error) {
	const hint = "; write it as '2024-05-06 07:08:09.123', with an offset if it is not UTC, or as an integer of the " +
		"column's unit"
	switch l.Kind {
	case statement.Now:
		return timeOf(l, t, now)
	case statement.Number, statement.Text:
	default:
		return value{}, mismatch(l, t, hint)
	}
	text := strings.TrimSpace(l.Text)
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		if lo, hi := t.TimeRange(); i < lo || i > hi {
			return value{}, mismatch(l, t, fmt.Sprintf(", whose range is %d to %d (%s)",
				lo, hi, t.TimeSpan()))
		}
		return value{i: i}, nil
	}
	if l.Kind == statement.Number {
		return value{}, mismatch(l, t, hint)
	}
	if len(text) > len(time.DateOnly) && (text[len(time.DateOnly)] == 'T' || text[len(time.DateOnly)] == 't') {
		text = text[:len(time.DateOnly)] + " " + text[len(time.DateOnly)+1:]
	}
	if strings.HasSuffix(text, "z") {
		text = text[:len(text)-1] + "Z"
	}
	for _, layout := range timeLayouts {
		if when, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			v, err := timeOf(l, t, when)
			if int64(when.Nanosecond())%(1e9/t.UnitsPerSecond()) != 0 {
				v.changed.Cut = 1
			}
			return v, err
		}
	}
	if longYear.MatchString(text) {
		return value{}, mismatch(l, t, ", whose range is "+t.TimeSpan()+
			", and a year in text has four digits")
	}
	return value{}, mismatch(l, t, hint)
}

// longYear finds texts with a year that the layouts do not read.
var longYear = lazyregexp.New(`^[+-]?[0-9]{5,}-[0-9]{1,2}-[0-9]{1,2}|^-[0-9]{1,4}-[0-9]{1,2}-[0-9]{1,2}`)

// timeOf returns the moment in the unit of the type, rounded down.
func timeOf(l statement.Literal, t schema.Type, when time.Time) (value, error) {
	per := t.UnitsPerSecond()
	sec := when.Unix()
	if sec > math.MaxInt64/per-1 || sec < math.MinInt64/per+1 {
		return value{}, mismatch(l, t, ", whose range is "+t.TimeSpan())
	}
	i := sec*per + int64(when.Nanosecond())/(1e9/per)
	if lo, hi := t.TimeRange(); i < lo || i > hi {
		return value{}, mismatch(l, t, ", whose range is "+t.TimeSpan())
	}
	return value{i: i}, nil
}

// defaultLiteral checks the literal of a DEFAULT clause. It returns the text to store: a number, true, false, now()
// or a text in quotes.
func defaultLiteral(l statement.Literal, t schema.Type) (string, error) {
	if l.Kind == statement.Now {
		if !t.IsTimestamp() {
			return "", mismatch(l, t, "")
		}
		return l.SQL(), nil
	}
	v, err := valueOf(l, t, time.Time{})
	if err != nil {
		return "", err
	}
	switch {
	case t == schema.Boolean:
		return strconv.FormatBool(v.i != 0), nil
	case t == schema.Uint64:
		return strconv.FormatUint(uint64(v.i), 10), nil
	case t.IsInteger() || t.IsTimestamp():
		return strconv.FormatInt(v.i, 10), nil
	case t.IsFloat():
		if math.IsNaN(v.f) || math.IsInf(v.f, 0) {
			return "", mismatch(l, t, " that can be a default")
		}
		bits := 64
		if t == schema.Float32 {
			bits = 32
		}
		return strconv.FormatFloat(v.f, 'g', -1, bits), nil
	case !utf8.ValidString(v.s):
		return "", mismatch(l, t, " that can be a default; it must be text")
	}
	return schema.QuoteLiteral(v.s), nil
}
