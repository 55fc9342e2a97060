package coerce_test

import (
	"testing"

	"cordwood/router/vrl/vrltest"
)

func TestFromUnixTimestamp(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `from_unix_timestamp!(-1)`, Want: `"1969-12-31T23:59:59Z"`},
		{Source: `from_unix_timestamp!(-1, "milliseconds")`, Want: `"1969-12-31T23:59:59.999Z"`},
		{Source: `from_unix_timestamp!(-1, unit: "microseconds")`, Want: `"1969-12-31T23:59:59.999999Z"`},
		{Source: `from_unix_timestamp!(-1, unit: "nanoseconds")`, Want: `"1969-12-31T23:59:59.999999999Z"`},
		{Source: `from_unix_timestamp!(8210266876800)`, RunError: "unable to coerce 8210266876800 into timestamp"},
		{Source: `from_unix_timestamp!(-8334601228801)`, RunError: "into timestamp"},
		{Source: `from_unix_timestamp!(1, unit: "hours")`, CompileError: "E401"},
		{Source: `from_unix_timestamp(1)`, CompileError: "E100"},
		{Source: `from_unix_timestamp!(1.5)`, CompileError: "E110"},
	})
}

func TestToUnixTimestamp(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "rounds down", Source: `to_unix_timestamp(t'1969-12-31T23:59:58.5Z')`, Want: `-2`},
		{Source: `to_unix_timestamp(t'1969-12-31T23:59:59.9999Z', unit: "milliseconds")`, Want: `-1`},
		{Source: `to_unix_timestamp(t'2020-01-01T00:00:00.123456789Z', unit: "microseconds")`, Want: `1577836800123456`},
		{Source: `to_unix_timestamp(t'2020-01-01T00:00:00.123456789Z', unit: "nanoseconds")`, Want: `1577836800123456789`},
		{
			Name:     "too far for nanoseconds",
			Source:   `to_unix_timestamp(t'2300-01-01T00:00:00Z', unit: "nanoseconds")`,
			RunError: "does not fit 64 bits",
		},
		{Source: `to_unix_timestamp(1)`, CompileError: "E110"},
	})
}

func TestSyslogNames(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `to_syslog_facility!(0)`, Want: `"kern"`},
		{Source: `to_syslog_facility!(23)`, Want: `"local7"`},
		{Source: `to_syslog_facility!(-1)`, RunError: "facility code -1 not valid"},
		{Source: `to_syslog_facility_code!("solaris-cron")`, Want: `15`},
		{Source: `to_syslog_facility_code!("KERN")`, RunError: "syslog facility 'KERN' not valid"},
		{Source: `to_syslog_level!(0)`, Want: `"emerg"`},
		{Source: `to_syslog_level!(7)`, Want: `"debug"`},
		{Source: `to_syslog_level!(-1)`, RunError: "severity level -1 not valid"},
		{
			Source: `[to_syslog_severity!("panic"), to_syslog_severity!("error"), to_syslog_severity!("warn")]`,
			Want:   `[0,3,4]`,
		},
		{Source: `to_syslog_severity!("")`, RunError: "syslog level  not valid"},
	})
}
