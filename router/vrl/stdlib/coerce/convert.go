package coerce

import (
	"math"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/logformat/syslog"
	"cordwood/router/vrl/value"
)

// timeUnits are the units of Unix timestamps.
var timeUnits = []fn.Enum{
	{Value: "seconds", Doc: "whole seconds"},
	{Value: "milliseconds", Doc: "thousandths of a second"},
	{Value: "microseconds", Doc: "millionths of a second"},
	{Value: "nanoseconds", Doc: "billionths of a second"},
}

// perSecond returns how many of a unit in timeUnits are in a second.
func perSecond(unit string) int64 {
	switch unit {
	case "milliseconds":
		return 1e3
	case "microseconds":
		return 1e6
	case "nanoseconds":
		return 1e9
	}
	return 1
}

// The range of accepted timestamps: about 262,000 years before and after year 0.
const (
	minUnix = -8334601228800
	maxUnix = 8210266876799
)

var fromUnixTimestamp = &fn.Function{
	Name:  "from_unix_timestamp",
	Group: fn.Convert,
	Doc:   "Converts the time since the start of 1970 in UTC, in a unit, to a timestamp.",
	Params: []fn.Param{
		{Name: "value", Doc: "The number of units.", Kind: kind.Integer},
		{
			Name: "unit", Doc: "The unit of the number.", Kind: kind.String, Optional: true,
			Default: value.NewString("seconds"), Constant: true, Enum: timeUnits,
		},
	},
	Returns:  kind.Timestamp,
	Fallible: true,
	Errors:   []string{"the instant is more than about 262,000 years away"},
	Examples: []fn.Example{
		{Title: "seconds", Source: `from_unix_timestamp!(1577836800)`, Result: `"2020-01-01T00:00:00Z"`},
		{
			Title:  "milliseconds",
			Source: `from_unix_timestamp!(1577836800250, unit: "milliseconds")`,
			Result: `"2020-01-01T00:00:00.250Z"`,
		},
		{Title: "too far", Source: `from_unix_timestamp!(9223372036854775807)`, Fails: `unable to coerce`},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		unit, _ := c.Const(1)
		per := perSecond(unit.Str())
		return fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
			sec, rest := v.Int()/per, v.Int()%per
			if rest < 0 {
				sec, rest = sec-1, rest+per
			}
			if sec < minUnix || sec > maxUnix {
				return f.Failf("unable to coerce %v into timestamp", v)
			}
			return value.NewUnix(sec, uint32(rest*(1e9/per))), true
		}}, nil
	},
}

var toUnixTimestamp = &fn.Function{
	Name:  "to_unix_timestamp",
	Group: fn.Convert,
	Doc:   "Converts a timestamp to the time since the start of 1970 in UTC, in a unit, rounded down.",
	Params: []fn.Param{
		{Name: "value", Doc: "The timestamp.", Kind: kind.Timestamp},
		{
			Name: "unit", Doc: "The unit of the result.", Kind: kind.String, Optional: true, Default: value.NewString("seconds"),
			Constant: true, Enum: timeUnits,
		},
	},
	Returns: kind.Integer,
	Errors:  []string{"the number does not fit 64 bits, for example nanoseconds before 1677 or after 2262"},
	Examples: []fn.Example{
		{Title: "seconds", Source: `to_unix_timestamp(t'2020-01-01T00:00:00Z')`, Result: `1577836800`},
		{
			Title:  "milliseconds",
			Source: `to_unix_timestamp(t'2020-01-01T00:00:00.2509Z', unit: "milliseconds")`,
			Result: `1577836800250`,
		},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		unit, _ := c.Const(1)
		per := perSecond(unit.Str())
		return fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
			sec, nsec := v.Unix()
			if sec < math.MinInt64/per+1 || sec > math.MaxInt64/per-1 {
				return f.Failf("unable to count the %s until %v: the number does not fit 64 bits", unit.Str(), v)
			}
			return value.NewInt(sec*per + int64(nsec)/(1e9/per)), true
		}}, nil
	},
}

var toSyslogFacility = &fn.Function{
	Name:     "to_syslog_facility",
	Group:    fn.Convert,
	Doc:      "Returns the name of a syslog facility.",
	Params:   []fn.Param{{Name: "value", Doc: "The facility's number, from 0 to 23.", Kind: kind.Integer}},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the number is not a facility"},
	Examples: []fn.Example{
		{Title: "a facility", Source: `to_syslog_facility!(4)`, Result: `"auth"`},
		{Title: "no facility", Source: `to_syslog_facility!(24)`, Fails: `facility code 24 not valid`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		if name := syslog.Facility(v.Int()); name != "" {
			return value.NewString(name), true
		}
		return f.Failf("facility code %v not valid", v)
	}},
}

var toSyslogFacilityCode = &fn.Function{
	Name:     "to_syslog_facility_code",
	Group:    fn.Convert,
	Doc:      "Returns the number of a syslog facility.",
	Params:   []fn.Param{{Name: "value", Doc: "The facility's name, such as kern or local7.", Kind: kind.String}},
	Returns:  kind.Integer,
	Fallible: true,
	Errors:   []string{"the name is not a facility"},
	Examples: []fn.Example{
		{Title: "a facility", Source: `to_syslog_facility_code!("auth")`, Result: `4`},
		{Title: "no facility", Source: `to_syslog_facility_code!("post")`, Fails: `syslog facility 'post' not valid`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		if i := syslog.FacilityNumber(v.Str()); i >= 0 {
			return value.NewInt(int64(i)), true
		}
		return f.Failf("syslog facility '%s' not valid", v.Text())
	}},
}

var toSyslogLevel = &fn.Function{
	Name:     "to_syslog_level",
	Group:    fn.Convert,
	Doc:      "Returns the keyword of a syslog severity.",
	Params:   []fn.Param{{Name: "value", Doc: "The severity, from 0 to 7.", Kind: kind.Integer}},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the number is not a severity"},
	Examples: []fn.Example{
		{Title: "a severity", Source: `to_syslog_level!(5)`, Result: `"notice"`},
		{Title: "no severity", Source: `to_syslog_level!(8)`, Fails: `severity level 8 not valid`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		if name := syslog.Severity(v.Int()); name != "" {
			return value.NewString(name), true
		}
		return f.Failf("severity level %v not valid", v)
	}},
}

var toSyslogSeverity = &fn.Function{
	Name:  "to_syslog_severity",
	Group: fn.Convert,
	Doc: "Returns the number of a syslog severity. Besides the keywords of to_syslog_level, panic, error and warn " +
		"are known.",
	Params:   []fn.Param{{Name: "value", Doc: "The severity's keyword.", Kind: kind.String}},
	Returns:  kind.Integer,
	Fallible: true,
	Errors:   []string{"the keyword is not a severity"},
	Examples: []fn.Example{
		{Title: "a severity", Source: `to_syslog_severity!("alert")`, Result: `1`},
		{Title: "no severity", Source: `to_syslog_severity!("fatal")`, Fails: `syslog level fatal not valid`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		name := v.Str()
		switch name {
		case "panic":
			name = "emerg"
		case "error":
			name = "err"
		case "warn":
			name = "warning"
		}
		if i := syslog.SeverityNumber(name); i >= 0 {
			return value.NewInt(int64(i)), true
		}
		return f.Failf("syslog level %s not valid", v.Text())
	}},
}
