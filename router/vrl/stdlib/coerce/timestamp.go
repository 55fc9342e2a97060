package coerce

import (
	"strings"
	"time"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/timefmt"
	"cordwood/router/vrl/value"
)

var now = &fn.Function{
	Name:    "now",
	Group:   fn.Timestamp,
	Doc:     "Returns the current time.",
	Returns: kind.Timestamp,
	Examples: []fn.Example{
		{Title: "the time", Source: `now()`, Any: true},
		{Title: "an age", Source: `now() > t'2020-01-01T00:00:00Z'`, Result: `true`},
	},
	Impl: fn.Impl{F0: func(f *fn.Frame) (value.Value, bool) { return value.NewTimestamp(f.Host.Now()), true }},
}

// zoneOf returns the zone that a program names: an IANA name, or "local" for the system's.
func zoneOf(name string) (*time.Location, bool) {
	if name == "local" {
		return time.Local, true
	}
	z := timefmt.Zone(name)
	return z, z != nil
}

var formatTimestamp = &fn.Function{
	Name:  "format_timestamp",
	Group: fn.Timestamp,
	Doc:   "Formats a timestamp with a strftime pattern.",
	Params: []fn.Param{
		{Name: "value", Doc: "The timestamp.", Kind: kind.Timestamp},
		{Name: "format", Doc: "The pattern, such as `%Y-%m-%d %H:%M:%S`.", Kind: kind.String},
		{
			Name: "timezone", Doc: "The time zone of the text: an IANA name or `local`. The default value is UTC.",
			Kind: kind.String, Optional: true,
		},
	},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the pattern has a specifier that does not exist", "the time zone does not exist"},
	Examples: []fn.Example{
		{Title: "a date", Source: `format_timestamp!(t'2026-03-01T09:05:00Z', "%d %B %Y")`, Result: `"01 March 2026"`},
		{
			Title:  "another zone",
			Source: `format_timestamp!(t'2026-03-01T09:05:00Z', "%H:%M %z", timezone: "Asia/Tokyo")`,
			Result: `"18:05 +0900"`,
		},
		{Title: "no such specifier", Source: `format_timestamp!(now(), "%Q")`, Fails: `invalid format`},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		// Arguments that are known at compile time are checked once. Their faults are reported by the call at run time,
		// because the program may handle the failure.
		var format *timefmt.Format
		if v, ok := c.Const(1); ok {
			format, _ = timefmt.Compile(v.Str())
		}
		zone := time.UTC
		if v, ok := c.Const(2); !ok {
			zone = nil
		} else if c.Given(2) {
			zone, _ = zoneOf(v.Text())
		}
		return fn.Impl{F3: func(f *fn.Frame, v, pattern, name value.Value) (value.Value, bool) {
			format, zone := format, zone
			if format == nil {
				var err error
				if format, err = timefmt.Compile(pattern.Str()); err != nil {
					return f.FailErr("invalid format: ", err)
				}
			}
			if zone == nil && !name.IsDefined() {
				zone = time.UTC
			}
			if zone == nil {
				if !f.SpendOnZone(name.Str()) {
					return value.Value{}, false
				}
				var ok bool
				if zone, ok = zoneOf(name.Str()); !ok {
					return f.Failf("unable to parse timezone: %s",
						strings.Clone(value.Lossy(name.Str()[:min(name.Len(), 4*timefmt.MaxZoneName)])))
				}
			}
			var err error
			room := [64]byte{}
			b, err := format.Append(room[:0], v.Time().In(zone))
			if err != nil {
				return f.FailErr("invalid format: ", err)
			}
			return f.Keep(b)
		}}, nil
	},
}
