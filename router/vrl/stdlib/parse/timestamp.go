package parse

import (
	"errors"
	"time"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/timefmt"
	"cordwood/router/vrl/value"
)

// zoneNamed returns a time zone by its name; "local" is the machine's zone.
func zoneNamed(name string) (*time.Location, error) {
	if name == "local" || name == "" {
		return time.Local, nil
	}
	zone := timefmt.Zone(name)
	if zone == nil {
		return nil, errors.New("unknown time zone")
	}
	return zone, nil
}

// stampReader parses times. Fields are set for arguments that are known at compile time.
type stampReader struct {
	layout layout
	zone   *time.Location
}

func (r *stampReader) run(f *fn.Frame, v, format, zone value.Value) (value.Value, bool) {
	if v.Kind() == value.Timestamp {
		return v, true
	}
	lay, err := r.layout.of(format)
	if err != nil {
		return f.FailErr("invalid format: ", err)
	}
	o := timefmt.ParseOptions{Zone: r.zone, RequireOffset: lay.HasOffset() || lay.HasZoneName()}
	if o.Zone == nil {
		o.Zone = f.Host.Zone
		if zone.IsDefined() {
			if !f.SpendOnZone(zone.Str()) {
				return value.Value{}, false
			}
			if o.Zone, err = zoneNamed(zone.Str()); err != nil {
				return f.Failf("unable to parse timezone: %s", zone.Str())
			}
		}
	}
	text := v.Str()
	sec, nsec, ok := lay.TryUnix(text, o)
	if !ok {
		_, _, err := lay.ParseUnix(text, o)
		return f.Failf("Invalid timestamp %v: %s", v, reason(err))
	}
	return value.NewUnix(sec, uint32(nsec)), true
}

var parseTimestamp = &fn.Function{
	Name:  "parse_timestamp",
	Group: fn.Parse,
	Doc:   "Parses a time with a strptime pattern. A timestamp is returned unchanged.",
	Params: []fn.Param{
		{Name: "value", Doc: "The text of the time.", Kind: kind.Or(kind.String, kind.Timestamp)},
		{
			Name: "format",
			Doc:  "The pattern, such as `%Y-%m-%d %H:%M:%S`. It must determine a date and a time; seconds may be missing.",
			Kind: kind.String,
		},
		{
			Name: "timezone",
			Doc: "The time zone of a text without an offset, an IANA name or `local`. " +
				"The default value is the time zone of the run.",
			Kind: kind.String, Optional: true,
		},
	},
	Returns:  kind.Timestamp,
	Fallible: true,
	Errors: []string{
		"the text does not match the pattern, or is not a time", "the pattern or the zone is invalid",
		"the local time occurs twice in its zone, or not at all",
	},
	Examples: []fn.Example{
		{
			Title:  "with an offset",
			Source: `parse_timestamp!("2024-05-01 12:00 +0200", "%Y-%m-%d %H:%M %z")`,
			Result: `"2024-05-01T10:00:00Z"`,
		},
		{
			Title:  "in a zone",
			Source: `parse_timestamp!("2024-05-01 12:00:00", "%F %T", timezone: "Asia/Tokyo")`,
			Result: `"2024-05-01T03:00:00Z"`,
		},
		{Title: "no time", Source: `parse_timestamp!("noon", "%F %T")`, Fails: `Invalid timestamp "noon"`},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		var r stampReader
		var err error
		if r.layout, err = compileLayout(c, 1); err != nil {
			return fn.Impl{}, err
		}
		if zone, ok := c.Const(2); ok && c.Given(2) {
			if r.zone, err = zoneNamed(zone.Str()); err != nil {
				return fn.Impl{}, c.BadArgument(2, "unable to parse timezone: %s", zone.Str())
			}
		}
		return fn.Impl{F3: r.run}, nil
	},
}
