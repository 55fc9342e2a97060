package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/vrl/jsonscan"
)

// The range of stored seconds and milliseconds.
const (
	maxSeconds = 9_200_000_000_000
	maxMillis  = 9_200_000_000_000_000
)

// TestTimeIndexOfURL checks the error for a pattern whose + became a blank in a URL. It must say how to write the
// pattern.
func TestTimeIndexOfURL(t *testing.T) {
	_, err := ParseTimeIndex("ts;datestr;% ")
	if err == nil || !strings.Contains(err.Error(), "write rfc3339 for %+, or %25%2B") {
		t.Error(err)
	}
	if _, err := ParseTimeIndex("ts;datestr;%Q"); err == nil || strings.Contains(err.Error(), "in a URL") {
		t.Error(err)
	}
}

func TestParseTimeIndex(t *testing.T) {
	for in, want := range map[string]schema.Type{
		"at;epoch;s": schema.TimestampSecond, "at;epoch;ms": schema.TimestampMillisecond,
		"at;epoch;us": schema.TimestampMicrosecond, "a.b;epoch;ns": schema.TimestampNanosecond,
		"at;datestr;%Y-%m-%d %H:%M:%S%:z": schema.TimestampNanosecond, "at;datestr;%s": schema.TimestampNanosecond,
		"at;rfc3339": schema.TimestampNanosecond, "at;rfc3339;": schema.TimestampNanosecond,
		"at;datestr;%+": schema.TimestampNanosecond, "at;datestr;%d/%b/%Y:%H:%M": schema.TimestampNanosecond,
	} {
		ti, err := ParseTimeIndex(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
		} else if field, _, _ := strings.Cut(in, ";"); ti.Unit != want || ti.Field != field {
			t.Errorf("%s: %+v", in, ti)
		}
	}
	for in, want := range map[string]string{
		"":                         "1 parts, expected <field>;rfc3339",
		"at":                       "1 parts",
		"at;epoch":                 "2 parts",
		"at;epoch;s;":              "4 parts",
		";epoch;s":                 "column name: it is empty",
		"__sequence;epoch;s":       "reserved",
		"at;epoch;sec":             "one of s, ms, us, ns",
		"at;rfc3339;%Y":            "nothing may follow rfc3339",
		"at;epoch;":                "one of s, ms, us, ns",
		"at;date;%Y":               "expected rfc3339, epoch or datestr",
		"at;Epoch;s":               "expected rfc3339, epoch or datestr",
		"at;datestr;%Y-%m-%d":      "must have a date, an hour and a minute",
		"at;datestr;":              "must have a date",
		"at;datestr;iso8601":       "use at;rfc3339",
		"at;datestr;%Q %H":         "datestr pattern",
		strings.Repeat("x;", 1000): "parts",
	} {
		_, err := ParseTimeIndex(in)
		if err == nil || !strings.Contains(err.Error(), want) || errs.CodeOf(err) != errs.InvalidArguments ||
			len(err.Error()) > 500 {
			t.Errorf("%.40q: error %v, want %s", in, err, want)
		}
	}
}

func TestConvertTime(t *testing.T) {
	const s, ms, us, ns = schema.TimestampSecond, schema.TimestampMillisecond, schema.TimestampMicrosecond,
		schema.TimestampNanosecond
	for _, tt := range []struct {
		v        int64
		from, to schema.Type
		want     int64
		ok       bool
	}{
		{1, s, ns, 1e9, true},
		{1999, ms, s, 1, true},
		{-1, ns, s, -1, true},
		{-1000, ns, us, -1, true},
		{-1001, ns, us, -2, true},
		{9223372036, s, ns, 9223372036e9, true},
		{9223372037, s, ns, 0, false},
		{-9223372037, s, ns, 0, false},
		{maxSeconds, s, us, 9.2e18, true},
		{maxSeconds + 1, s, s, 0, false},
		{maxMillis, ms, s, maxSeconds, true},
		{-maxMillis - 1, ms, ns, 0, false},
		{1 << 62, us, us, 1 << 62, true},
		{-1<<63 + 2, ns, ms, -9223372036855, true},
		{-1<<63 + 1, ns, ms, 0, false},
		{1<<63 - 1, us, us, 0, false},
		{-1 << 63, us, ms, -9223372036854776, false},
	} {
		got, ok := convertTime(tt.v, tt.from, tt.to)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("convertTime(%d, %s, %s) = %d, %t", tt.v, tt.from, tt.to, got, ok)
		}
	}
}

func TestNewIdentityErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		q    *Request
		want string
	}{
		"table name":  {request(func(q *Request) { q.Table = "1x" }), "table name"},
		"no table":    {request(func(q *Request) { q.Table = "" }), "table name"},
		"ttl":         {request(hints(map[string]string{"ttl": "soon"})), "key: ttl, value: soon"},
		"auto create": {request(hints(map[string]string{"auto_create_table": "1"})), "boolean"},
		"append mode": {request(hints(map[string]string{"append_mode": "maybe"})), "append_mode"},
		"merge mode":  {request(hints(map[string]string{"merge_mode": "LAST_ROW"})), "merge_mode"},
		"merge + append": {
			request(hints(map[string]string{"merge_mode": "last_non_null", "append_mode": "true"})), "last_non_null",
		},
	} {
		if _, err := NewIdentity(tt.q); err == nil || !strings.Contains(err.Error(), tt.want) ||
			errs.CodeOf(err) != errs.InvalidArguments {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTextRecord(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change changes
		lines  []string
		want   string
	}{
		{"plain", nil, []string{"a \"b\"", "", "{}"}, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2
			message String: "a \"b\"" "" "{}"`},
		{"as time index", changes{timeIndex("message;epoch;s"), skipErrors}, []string{"7", "x"}, `
			t
			message TimestampSecond TIMESTAMP: 7
			skipped 1 of 2: record 1: time index "message": the string "x" is not a number of TimestampSecond; ` +
			`for times as text use message;rfc3339 or message;datestr;PATTERN`},
		{"without the time index", changes{timeIndex("at;epoch;s")}, []string{"x"}, `!record 0: time index "at"`},
		{
			"of another type",
			changes{having("svc_timestamp TimestampNanosecond ti, message Int64")},
			[]string{"1"},
			`!expected Int64, actual String`,
		},
		{"as json", changes{having("svc_timestamp TimestampNanosecond ti, message Json")}, []string{`{"a":"b"}`}, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			message Json: "\"{\\\"a\\\":\\\"b\\\"}\""`},
		{"another time index", changes{having("ts TimestampNanosecond ti")}, []string{"1"}, `!time index "ts"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := NewIdentity(request(tt.change...))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Release()
			for _, line := range tt.lines {
				if err = r.TextRecord([]byte(line)); err != nil {
					break
				}
			}
			if want, isErr := strings.CutPrefix(tt.want, "!"); isErr || err != nil {
				if !isErr || err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %s", err, tt.want)
				}
				return
			}
			out, err := r.Finish()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(trimLines(tt.want), trimLines(dump(out))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestScanRecordPositions(t *testing.T) {
	r, err := NewIdentity(request(skipErrors))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	data := []byte("  {\"a\":1}, [1] {\"a\":2,\"a\":3}x{\"a\":")
	pos := 0
	for _, want := range []string{`, [1] {"a":2,"a":3}x{"a":`, ` {"a":2,"a":3}x{"a":`, `x{"a":`} {
		if pos, err = r.ScanRecord(data, pos); err != nil || string(data[pos:]) != want {
			t.Fatalf("at %q: %v", data[pos:], err)
		}
		if data[pos] == ',' {
			pos++
		}
	}
	for _, at := range []int{pos, pos + 1, len(data)} {
		var syntax *jsonscan.Error
		if _, err := r.ScanRecord(data, at); !errors.As(err, &syntax) {
			t.Errorf("ScanRecord(%q): %v", data[at:], err)
		}
	}
	out, err := r.Finish()
	if err != nil || out.Records != 3 || out.Skipped != 1 || out.Tables[0].Rows.Rows() != 2 {
		t.Errorf("%+v, %v", out, err)
	}
}

// A malformed record leaves nothing behind, wherever it ends.
func TestBrokenRecordsLeaveNothing(t *testing.T) {
	const whole = `{"n":1,"o":{"s":"x\n","a":[1,{"b":2}]},"f":1.5,"b":true,"z":null}`
	r, err := NewIdentity(request())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for i := range whole {
		var syntax *jsonscan.Error
		if err := r.ScanLine([]byte(whole[:i])); !errors.As(err, &syntax) {
			t.Fatalf("%s: %v", whole[:i], err)
		}
		if i == len(whole)/2 {
			if err := r.ScanLine([]byte(`{"n":7}`)); err != nil {
				t.Fatal(err)
			}
		}
	}
	out, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	want := "t\n  svc_timestamp TimestampNanosecond TIMESTAMP: now+0\n  n Int64: 7\n"
	if diff := cmp.Diff(want, dump(out)); diff != "" {
		t.Error(diff)
	}
}

// A runner from the pool must not depend on its last request.
func TestReuse(t *testing.T) {
	first, err := run(request(skipErrors), []string{`{"a":1,"b":{"c":"x"}}`, `{"a":"bad"}`, `{"svc_ttl":"1d"}`})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := run(request(timeIndex("a;epoch;s"), levels(1), having("a TimestampSecond ti, b Json")),
			[]string{`{"a":1,"b":{"c":[1]}}`}); err != nil {
			t.Fatal(err)
		}
		if _, err := run(request(), []string{`{"a":true,"c":1}`, `{"a":`}); err == nil {
			t.Fatal("malformed record accepted")
		}
		again, err := run(request(skipErrors), []string{`{"a":1,"b":{"c":"x"}}`, `{"a":"bad"}`, `{"svc_ttl":"1d"}`})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatal(diff)
		}
	}
}

// Each record gets its own time of processing, in the order of the body.
func TestProcessingTimeAscends(t *testing.T) {
	r, err := NewIdentity(&Request{Database: "public", Table: "t", AutoCreate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for i := range 100 {
		if err := r.ScanLine(fmt.Appendf(nil, `{"a":%d,"svc_skip_wal":%t}`, i, i%3 == 0)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	last := map[int64]int64{}
	for _, tr := range out.Tables {
		for row := range tr.Rows.Rows() {
			last[tr.Rows.Cols()[1].Int(row)] = tr.Rows.Cols()[0].Int(row)
		}
	}
	for i := int64(1); i < 100; i++ {
		if last[i] <= last[i-1] {
			t.Fatalf("record %d has time %d after %d", i, last[i], last[i-1])
		}
	}
}

func TestManyColumnsOverTables(t *testing.T) {
	r, err := NewIdentity(request(skipErrors))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for i := range 300 {
		line := fmt.Appendf(nil, `{"svc_table_suffix":"_%d"`, i)
		for k := range 1000 {
			line = fmt.Appendf(line, `,"k%d":1`, k)
		}
		if err := r.ScanLine(append(line, '}')); err != nil {
			t.Fatal(err)
		}
	}
	out, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Tables) != 199 || out.Skipped != 101 ||
		!strings.Contains(out.Reasons[0].Error, "200000 columns over all tables") {
		t.Errorf("%d tables, %d skipped: %v", len(out.Tables), out.Skipped, out.Reasons)
	}
}

// The limit for padding must not refuse dense or moderately sparse tables.
func TestPadding(t *testing.T) {
	feed := func(wide, rows int, narrow string) error {
		r, err := NewIdentity(request())
		if err != nil {
			t.Fatal(err)
		}
		defer r.Release()
		r.(*identity).minCells = 100_000
		line := []byte(`{"x":0`)
		for k := range wide {
			line = fmt.Appendf(line, `,"k%d":1`, k)
		}
		if err := r.ScanLine(append(line, '}')); err != nil {
			t.Fatal(err)
		}
		for range rows {
			if err := r.ScanLine([]byte(narrow)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := feed(1000, 110, `{}`); err == nil || !strings.Contains(err.Error(), "send fewer rows") {
		t.Errorf("wide and empty: %v", err)
	}
	if err := feed(1000, 90, `{}`); err != nil {
		t.Errorf("wide, below the limit: %v", err)
	}
	if err := feed(5, 60_000, `{"x":1,"k0":2}`); err != nil {
		t.Errorf("half full: %v", err)
	}
	if err := feed(50, 20_000, `{"x":1,"k0":2}`); err == nil {
		t.Error("nearly empty: accepted")
	}
}

func TestDefaults(t *testing.T) {
	for _, tt := range []struct {
		typ  schema.Type
		text string
		want string // as a cell; "" if the column has no default
	}{
		{schema.Int64, "-5", "-5"},
		{schema.Int64, "'12'", "12"},
		{schema.Int8, "200", ""},
		{schema.Uint8, "200", "200"},
		{schema.Uint64, "18446744073709551615", "18446744073709551615"},
		{schema.Int64, "x", ""},
		{schema.Float32, "1.5", "1.5"},
		{schema.Float64, "2", "2.0"},
		{schema.Boolean, "TRUE", "1"},
		{schema.Boolean, "false", "0"},
		{schema.String, "'a''b'", `"a'b"`},
		{schema.String, "plain", `"plain"`},
		{schema.String, "''", `""`},
		{schema.JSON, `'{"a":1}'`, `"{\"a\":1}"`},
		{schema.String, "NULL", ""},
		{schema.String, "'NULL'", `"NULL"`},
		{schema.TimestampSecond, "now()", "1700000000"},
		{schema.TimestampMillisecond, "CURRENT_TIMESTAMP", "1700000000000"},
		{schema.TimestampMillisecond, "12", "12"},
		{schema.TimestampSecond, "'2024-01-02 03:04:05'", "1704164645"},
		{schema.TimestampNanosecond, "'2024-01-02T03:04:05.5+01:00'", "1704161045500000000"},
		{schema.TimestampSecond, "'2024-01-02'", "1704153600"},
		{schema.TimestampSecond, "'soon'", ""},
	} {
		v := parseDefault(&schema.Column{Name: "x", Type: tt.typ, Default: &tt.text})
		if v == nil {
			if tt.want != "" {
				t.Errorf("%s of %s: no default", tt.text, tt.typ)
			}
			continue
		}
		r, err := NewIdentity(request())
		if err != nil {
			t.Fatal(err)
		}
		d, err := r.(*identity).destFor(nil, r.(*identity).base)
		if err != nil {
			t.Fatal(err)
		}
		col := d.rows.Add(schema.Column{Name: "x", Type: tt.typ})
		v.write(col, 0, testNow)
		if got := cellText(col, 0); got != tt.want {
			t.Errorf("%s of %s: %s, want %s", tt.text, tt.typ, got, tt.want)
		}
		r.Release()
	}
}

func TestLeastInt64FitsNoFloat32ByChance(t *testing.T) {
	for _, v := range []string{"9223372036854775807", "-9223372036854775808", "9007199254740993"} {
		_, err := both(t, changes{having("svc_timestamp TimestampNanosecond ti, f Float32")}, []string{`{"f":` + v + `}`})
		if err == nil || !strings.Contains(err.Error(), "without loss") {
			t.Errorf("%s: %v", v, err)
		}
	}
}
