package pipeline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWarnings checks that values that are stored differently than they were sent are reported, on each path that
// records take.
func TestWarnings(t *testing.T) {
	const (
		vrl    = `processors: [{vrl: {source: ".v = parse_json!(.m)\ndel(.m)\n."}}]`
		nested = `{"c":{"x":1,"x":2},"l":[{"y":1,"y":2}]}`
		lone   = `{"k":"\ud800 \ufffd \ude00\ud83d\ude00","l":["\ud800"],"k\udc00":1,"m":"` + "\ufffd" + `\n"}`
	)
	twice := func(n string) string {
		if n == "1" {
			return "1 key occurred more than once in an object: its last value was stored"
		}
		return n + " keys occurred more than once in an object: the last value of each was stored"
	}
	alone := func(n string) string {
		if n == "1" {
			return `1 escape \ud800 to \udfff is not a character by itself: U+FFFD was stored in its place`
		}
		return n + ` escapes \ud800 to \udfff are not characters by themselves: U+FFFD was stored in the place of each`
	}
	finer := func(n string) string {
		if n == "1" {
			return "1 time is finer than the column that it was stored in: it was rounded down to the column's unit"
		}
		return n + " times are finer than the columns that they were stored in: they were rounded down to the columns' units"
	}
	const tiny = `{"a":1e-400,"z":0.0,"y":-0e-999,"l":[1e-999,0.0],"o":{"p":0.000e5,"q":-1e-400}}`
	vanished := func(n string) string {
		if n == "1" {
			return "1 number, such as 1e-400, is too small for a float: 0 was stored instead"
		}
		return n + " numbers, such as 1e-400, are too small for a float: 0 was stored instead"
	}
	const replaced = "2 values of the field \"svc_timestamp\" were not stored: the column of that name has the time of " +
		"arrival; custom_time_index or a pipeline makes a field the time"
	const transform = "processors: []\ntransform: "
	fraction := func(n, column string) string {
		if n == "1" {
			return "1 number lost its fraction, because the transform list converts it to an integer, for column \"" + column +
				"\": the type float64 keeps it"
		}
		return n + " numbers lost their fraction, because the transform list converts them to integers, " +
			"the first for column \"" + column + "\": the type float64 keeps it"
	}
	digits := func(n, column string) string {
		return n + " numbers have more digits than their type in the transform list, the first for column \"" + column +
			"\": the nearest float was stored; a type of integers, or string, keeps all digits"
	}
	beyond := func(n, column string) string {
		return n + " numbers were beyond the range of their type in the transform list, the first for column \"" + column +
			"\": the nearest number of that type was stored"
	}
	for _, tt := range []struct {
		name    string
		source  string // of the pipeline; "" means svc_identity on both paths
		change  changes
		records []string
		want    []string
	}{
		{"nothing", "", nil, []string{`{"a":"😀 \n \ud83d\ude00 \ufffd","b":[1,2]}`}, nil},
		{"a key twice", "", nil, []string{`{"a":1,"a":2}`, nested}, []string{twice("3")}},
		{"a key twice, by values", "processors: []", nil, []string{`{"a":1,"a":2}`, nested}, []string{twice("3")}},
		{"lone surrogates", "", nil, []string{lone, lone}, []string{alone("8")}},
		{"lone surrogates, by values", "processors: []", nil, []string{lone}, []string{alone("4")}},
		{
			"a record that is skipped", "",
			changes{skipErrors, having("svc_timestamp TimestampNanosecond ti, n Int64")},
			[]string{`{"a":1,"a":"\ud800","n":"x"}`, `{"n":1}`},
			nil,
		},
		{
			"a record that is skipped, by values", "processors: []",
			changes{skipErrors, having("svc_timestamp TimestampNanosecond ti, n Int64")},
			[]string{`{"a":1,"a":"\ud800","n":"x"}`, `{"n":1}`},
			nil,
		},
		{
			"finer times", "",
			changes{timeIndex("at;epoch;ms"), having("at TimestampSecond ti")},
			[]string{`{"at":1700000000000}`, `{"at":1700000000001}`, `{"at":-1}`},
			[]string{finer("2")},
		},
		{
			"fractions for epoch", "processors: [{epoch: {field: at, resolution: s}}]", nil,
			[]string{`{"at":1.5}`, `{"at":-0.5}`, `{"at":2.0}`, `{"at":3}`},
			[]string{
				"2 numbers had a fraction, which the processor epoch dropped: a finer resolution, or a time as text for " +
					"date, keeps it",
			},
		},
		{
			"fractions for int of grok", "processors: [{grok: {field: m, pattern: '^%{NUMBER:n:int}$'}}]", nil,
			[]string{`{"m":"7.9"}`, `{"m":"-0.5"}`, `{"m":"7.0"}`, `{"m":"7"}`, `{"m":"9007199254740993.0"}`},
			[]string{
				"2 numbers lost their fraction, because the grok pattern has the type int for them: the type float keeps it",
			},
		},
		{
			"one fraction for int of grok", "processors: [{grok: {field: m, pattern: '^%{NUMBER:n:int}$'}}]",
			changes{skipErrors},
			[]string{`{"m":"7.9"}`, `{"m":"99999999999999999999.5"}`},
			[]string{"1 number lost its fraction, because the grok pattern has the type int for it: the type float keeps it"},
		},
		{
			"digits for float of grok", "processors: [{grok: {field: m, pattern: '^%{NUMBER:n:float}$'}}]", nil,
			[]string{`{"m":"0.1"}`, `{"m":"9007199254740993"}`, `{"m":"0.1234567890123456789"}`, `{"m":"0.30000000000000004"}`},
			[]string{
				"2 numbers have more digits than the type float of the grok pattern can keep: the nearest floats were stored; " +
					"without a type, the parts stay text and keep all digits",
			},
		},
		{"the time of arrival", "", changes{having("svc_timestamp TimestampSecond ti")}, []string{`{"a":1}`}, nil},
		{
			"the time of arrival, by values", "processors: []",
			changes{having("svc_timestamp TimestampSecond ti")},
			[]string{`{"a":1}`},
			nil,
		},
		{
			"a finer time in another column", "processors: [{date: {fields: [d, at], formats: " +
				"['%Y-%m-%dT%H:%M:%S%.fZ']}}]\ntransform: [{field: d, type: timestamp}, {field: at, type: timestamp, index: " +
				"timestamp}]",
			changes{having("at TimestampNanosecond ti, d TimestampMillisecond")},
			[]string{
				`{"d":"2026-01-05T10:00:00.1234Z","at":"2026-01-05T10:00:00.1234Z"}`,
				`{"d":"2026-01-05T10:00:00.123Z","at":"2026-01-05T10:00:00.1234Z"}`,
			},
			[]string{finer("1")},
		},
		{
			"a time that the time of arrival replaces, without a list", "processors: []", nil,
			[]string{`{"svc_timestamp":"2026-01-05T10:00:00Z"}`, `{"svc_timestamp":1}`, `{"svc_timestamp":null}`, `{"a":1}`},
			[]string{replaced},
		},
		{
			"a time that the time of arrival replaces, beside a list", transform + "[{field: a, type: string}]", nil,
			[]string{`{"svc_timestamp":"2026-01-05T10:00:00Z"}`, `{"svc_timestamp":1}`, `{"svc_timestamp":null}`, `{"a":1}`},
			[]string{replaced},
		},
		{
			"one number", transform + "[{field: a, type: int32}, {field: b, type: int32}, {field: c, type: float64}, {field: " +
				"d, type: boolean}]", nil,
			[]string{`{"a":7.9,"b":3e9,"c":9007199254740993,"d":2}`},
			[]string{
				fraction("1", "a"),
				`1 number was beyond the range of its type in the transform list, for column "b": ` +
					`the nearest number of that type was stored`,
				`1 number has more digits than its type in the transform list, for column "c": the nearest float was stored; ` +
					`a type of integers, or string, keeps all digits`,
				`1 number other than 0 and 1 became true, because the transform list converts it to a boolean, for column "d": ` +
					`a type of numbers keeps it`,
			},
		},
		{
			"a pattern that counts nanoseconds", "",
			changes{timeIndex("at;datestr;%Y-%m-%d %H:%M:%S.%f"), ignoreErrors},
			[]string{`{"a":1}`},
			[]string{
				`custom_time_index: %f in "%Y-%m-%d %H:%M:%S.%f" is a number of nanoseconds, so that .5 becomes 5 ns; ` +
					`write %.f instead of .%f, or %3f for a fraction of three digits without a dot`,
			},
		},
		{"numbers near 0", "", nil, []string{tiny, tiny}, []string{vanished("6")}},
		{"numbers near 0, by values", "processors: []", nil, []string{tiny, tiny}, []string{vanished("6")}},
		{
			"numbers near 0 in parsed texts", vrl, nil,
			[]string{`{"m":"1e-400"}`, `{"m":"-1.5e-9999"}`, `{"m":"0e-400"}`},
			[]string{vanished("2")},
		},
		{
			"numbers near 0 for json_parse", "processors: [{json_parse: {fields: [m]}}]", nil,
			[]string{`{"m":"{\"a\":1e-400,\"b\":0e9}"}`},
			[]string{vanished("1")},
		},
		{
			"numbers near 0 of grok", "processors: [{grok: {field: m, patterns: ['%{NUMBER:x:float}']}}]", nil,
			[]string{`{"m":"0.0"}`, `{"m":"0.` + strings.Repeat("0", 400) + `1"}`},
			[]string{vanished("1")},
		},
		{
			"numbers near 0 of a transform", "processors: []\ntransform: [{field: a, type: float64}, {field: b, type: float32}]",
			nil,
			[]string{`{"a":"1e-400","b":"1e-46"}`, `{"a":"0e5","b":1e-46}`, `{"a":"0.0","b":0}`},
			[]string{vanished("3")},
		},
		{
			"integers and fractions of a transform", transform + "[{field: i, type: int32}, {fields: ['f, to'], type: float64}]",
			nil,
			[]string{
				`{"i":7.9,"f":9007199254740993}`, `{"i":-0.5,"f":"9007199254740993"}`, `{"i":7.0,"f":9007199254740994}`,
				`{"i":-0.0,"f":"0.10"}`, `{"i":"7","f":true}`, `{"f":"0.30000000000000004"}`,
				`{"f":"0.1234567890123456789"}`,
			},
			[]string{fraction("2", "i"), digits("3", "to")},
		},
		{
			"numbers beyond the range of a transform", transform +
				"[{field: a, type: int64}, {field: b, type: uint64}, {field: c, type: int32}, {field: d, type: uint32}]", nil,
			[]string{
				`{"a":9.3e18,"b":-1.5,"c":3e9,"d":-1e0}`,
				`{"a":-9.223372036854775808e18,"b":1.8e19,"c":-2147483648.0,"d":4294967295.0}`,
			},
			[]string{beyond("4", "a")},
		},
		{
			"numbers that a transform refuses", transform + "[{field: a, type: int8, on_failure: ignore}, {field: b, type: " +
				"float32, on_failure: default}, {field: c, type: int64, on_failure: ignore}, {field: d, type: " +
				"timestamp, on_failure: ignore}]", nil,
			[]string{`{"a":300.5,"b":3.5e38,"c":"7.9","d":1.5}`, `{"b":"1e400","c":"1e3"}`},
			nil,
		},
		{
			"float32 of a transform", transform + "[{field: a, type: float32}]", nil,
			[]string{
				`{"a":0.1}`, `{"a":"3.1415927"}`, `{"a":16777216}`, `{"a":"1e-40"}`, `{"a":3.14159265}`,
				`{"a":"3.14159265"}`, `{"a":16777217}`,
			},
			[]string{digits("3", "a")},
		},
		{
			"booleans of a transform", transform + "[{field: a, type: boolean}]", nil,
			[]string{`{"a":0}`, `{"a":1}`, `{"a":1.0}`, `{"a":"true"}`, `{"a":2}`, `{"a":0.5}`},
			[]string{
				"2 numbers other than 0 and 1 became true, because the transform list converts them to booleans, the first for " +
					"column \"a\": a type of numbers keeps them",
			},
		},
		{
			"times of a transform", "processors: [{date: {fields: [a, at], formats: ['%Y-%m-%dT%H:%M:%S%.fZ']}}]\ntransform: " +
				"[{field: a, type: 'timestamp, ms'}, {field: at, type: 'timestamp, s', index: timestamp}]",
			changes{having("at TimestampSecond ti, a TimestampMillisecond")},
			[]string{
				`{"a":"2026-01-05T10:00:00.1234Z","at":"2026-01-05T10:00:00.1Z"}`,
				`{"a":"2026-01-05T10:00:00.123Z","at":"2026-01-05T10:00:00Z"}`,
			},
			[]string{finer("2")},
		},
		{
			"times beyond nanoseconds", "processors: [{vrl: {source: '.u = parse_timestamp!(.u, \"%+\"); .'}}]",
			changes{having("svc_timestamp TimestampNanosecond ti, u TimestampMicrosecond")},
			[]string{`{"u":"5138-11-16T09:46:39.0000011Z"}`, `{"u":"5138-11-16T09:46:39.000001Z"}`},
			[]string{finer("1")},
		},
		{
			"a row that is left out", "processors: [{vrl: {source: '. = [{\"i\": 7.5, \"n\": 1}, {\"i\": 8.5, \"n\": " +
				"\"x\"}]'}}]\ntransform: [{field: i, type: int32}, {field: n, type: int32}]",
			changes{skipErrors},
			[]string{`{}`, `{}`},
			[]string{fraction("2", "i")},
		},
		{
			"parse_json", vrl,
			changes{skipErrors},
			[]string{
				`{"m":"18446744073709551615"}`, `{"m":"9223372036854775808"}`, `{"m":"36893488147419103233"}`,
				`{"m":"1e30"}`, `{"m":"-0"}`, `{"m":"{36893488147419103233"}`,
			},
			[]string{
				"2 integers beyond 64 bits were rounded to floats by parse_json: send them as text to keep all digits",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			warnings := func(how ...func(*identity)) []string {
				t.Helper()
				var p *Pipeline
				var err error
				if tt.source != "" {
					if p, err = Compile([]byte(tt.source), Options{}); err != nil {
						t.Fatal(err)
					}
				}
				var runner Runner
				if p == nil {
					runner, err = NewIdentity(request(tt.change...))
				} else {
					runner, err = NewRunner(p, request(tt.change...), nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				defer runner.Release()
				for _, f := range how {
					f(runner.(*identity))
				}
				for _, record := range tt.records {
					if err := runner.ScanLine([]byte(record)); err != nil {
						t.Fatal(err)
					}
				}
				out, err := runner.Finish()
				if err != nil {
					t.Fatal(err)
				}
				return out.Warnings
			}
			if diff := cmp.Diff(tt.want, warnings()); diff != "" {
				t.Error(diff)
			}
			if tt.source == "" {
				if diff := cmp.Diff(tt.want, warnings(onlySlow)); diff != "" {
					t.Errorf("exact path: %s", diff)
				}
			}
		})
	}
}

// An integer that value.Value cannot hold is an error of the record, wherever it occurs.
func TestIntegersBeyondValues(t *testing.T) {
	const refused = "!the integer 18446744073709551615 is beyond -9223372036854775808 to 9223372036854775807"
	checkPipelines(t, nil, []pipelineCase{
		{"field", "processors: []", nil, `[{"id":18446744073709551615}]`, refused},
		{"within", "processors: []", nil, `[{"a":{"b":[1,{"c":18446744073709551615}]}}]`, refused},
		{
			"removed field", "processors: [{select: {type: exclude, fields: [id]}}]", nil,
			`[{"id":18446744073709551615}]`, refused,
		},
		{"skipped", "processors: []", changes{skipErrors}, `[{"id":18446744073709551615},{"id":7}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			id Int64: 7
			skipped 1 of 2: record 0: the integer 18446744073709551615 is beyond -9223372036854775808 to 9223372036854775807, ` +
			`which is the range of integers in a pipeline; send it as text`},
	})
}
