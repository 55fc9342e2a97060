package pipeline

import (
	"strconv"
	"strings"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

// defaultValue is the default of a column in a form ready to write.
type defaultValue struct {
	// of is the type for which it was parsed. The column may get a wider type while rows are written.
	of    schema.Type
	now   bool
	i     int64
	f     float64
	bytes []byte
}

// parseDefault parses the literal c.Default. For NULL, and for a literal that does not fit the type, which DDL does
// not accept, it returns nil: there is no default.
func parseDefault(c *schema.Column) *defaultValue {
	text := strings.TrimSpace(*c.Default)
	if strings.EqualFold(text, "null") {
		return nil
	}
	quoted := len(text) >= 2 && text[0] == '\'' && text[len(text)-1] == '\''
	if quoted {
		text = strings.ReplaceAll(text[1:len(text)-1], "''", "'")
	}
	v := defaultValue{of: c.Type}
	var err error
	switch t := c.Type; {
	case t.IsBytes():
		v.bytes = []byte(text)
	case t == schema.Boolean:
		var b bool
		if b, err = strconv.ParseBool(strings.ToLower(text)); b {
			v.i = 1
		}
	case t.IsFloat():
		v.f, err = strconv.ParseFloat(text, 64)
	case t == schema.Uint64:
		var u uint64
		u, err = strconv.ParseUint(text, 10, 64)
		v.i = int64(u)
	case t.IsInteger():
		v.i, err = strconv.ParseInt(text, 10, 64)
		if lo, hi := t.IntRange(); t != schema.Int64 && (v.i < lo || v.i > hi) {
			return nil
		}
	case t.IsTimestamp():
		switch strings.ToLower(text) {
		case "now()", "current_timestamp", "current_timestamp()":
			v.now = true
		default:
			v.i, err = parseTimeLiteral(text, t)
		}
	}
	if err != nil {
		return nil
	}
	return &v
}

// parseTimeLiteral parses a number in the unit of the type, or a date and time, in UTC if it has no offset.
func parseTimeLiteral(text string, t schema.Type) (int64, error) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	var when time.Time
	var err error
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00",
		"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", time.DateOnly,
	} {
		if when, err = time.Parse(layout, text); err == nil {
			break
		}
	}
	if err != nil {
		return 0, err
	}
	per := t.UnitsPerSecond()
	return when.Unix()*per + int64(when.Nanosecond())/(1e9/per), nil
}

// write writes the default to a row; now is the time of processing in nanoseconds.
func (v *defaultValue) write(col *column.Col, row int, now int64) {
	switch {
	case col.Type.IsBytes():
		col.SetBytes(row, v.bytes)
	case col.Type.IsFloat() && v.of.IsInteger():
		col.SetFloat(row, v.of.FloatOf(v.i))
	case col.Type.IsFloat():
		col.SetFloat(row, v.f)
	case v.now:
		t, _ := convertTime(now, schema.TimestampNanosecond, col.Type)
		col.SetInt(row, t)
	default:
		col.SetInt(row, v.i)
	}
}
