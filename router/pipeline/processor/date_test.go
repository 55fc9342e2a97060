package processor

import (
	"testing"
	"time"

	"cordwood/router/pipeline/document"
	"cordwood/router/vrl/value"
)

func TestDate(t *testing.T) {
	run(t, "date", []runCase{
		{"default", `field: t`, `{"t":"2024-01-02T03:04:05"}`, `{"t":"2024-01-02T03:04:05Z"}`},
		{"default milli", `field: t`, `{"t":"2024-01-02T03:04:05.123"}`, `{"t":"2024-01-02T03:04:05.123Z"}`},
		{
			"default nano and colon", `field: t`, `{"t":"2024-01-02T03:04:05.123456789+01:30"}`,
			`{"t":"2024-01-02T01:34:05.123456789Z"}`,
		},
		{"default offset", `field: t`, `{"t":"2024-01-02T03:04:05-0200"}`, `{"t":"2024-01-02T05:04:05Z"}`},
		{"default Z", `field: t`, `{"t":"2024-01-02T03:04:05Z"}`, `{"t":"2024-01-02T03:04:05Z"}`},
		{"default fraction and Z", `field: t`, `{"t":"2024-01-02T03:04:09.123Z"}`, `{"t":"2024-01-02T03:04:09.123Z"}`},
		{
			"default in a zone", `{field: t, timezone: Asia/Tokyo}`, `{"t":"2024-01-02T03:04:05"}`,
			`{"t":"2024-01-01T18:04:05Z"}`,
		},
		{
			"offset wins over the zone", `{field: t, timezone: Asia/Tokyo}`, `{"t":"2024-01-02T03:04:05Z"}`,
			`{"t":"2024-01-02T03:04:05Z"}`,
		},
		{"empty list", `{field: t, formats: []}`, `{"t":"2024-01-02T03:04:05"}`, `{"t":"2024-01-02T03:04:05Z"}`},
		{
			"null options", `{field: t, formats: null, timezone: null, locale: null}`, `{"t":"2024-01-02T03:04:05"}`,
			`{"t":"2024-01-02T03:04:05Z"}`,
		},
		{
			"seed", `{fields: [t], formats: ['%Y-%m-%d %H:%M:%S%.3f'], ignore_missing: true}`,
			`{"t":"2024-05-25 20:16:37.217"}`, `{"t":"2024-05-25T20:16:37.217Z"}`,
		},
		{
			"access log", `{field: t, formats: ['%d/%b/%Y:%H:%M:%S %z']}`, `{"t":"25/May/2024:20:16:37 +0200"}`,
			`{"t":"2024-05-25T18:16:37Z"}`,
		},
		{
			"the order given", `{field: t, formats: ['%d/%m/%Y %H:%M', '%m/%d/%Y %H:%M']}`, `{"t":"01/02/2024 10:00"}`,
			`{"t":"2024-02-01T10:00:00Z"}`,
		},
		{
			"the second format", `{field: t, formats: ['%d/%m/%Y %H:%M', '%m/%d/%Y %H:%M']}`, `{"t":"01/22/2024 10:00"}`,
			`{"t":"2024-01-22T10:00:00Z"}`,
		},
		{
			"midnight", `{field: t, formats: ['%Y-%m-%d'], timezone: Europe/Berlin}`, `{"t":"2024-07-01"}`,
			`{"t":"2024-06-30T22:00:00Z"}`,
		},
		{
			"ambiguous: the earlier", `{field: t, timezone: Europe/Berlin}`, `{"t":"2024-10-27T02:30:00"}`,
			`{"t":"2024-10-27T00:30:00Z"}`,
		},
		{
			"skipped: as before", `{field: t, timezone: Europe/Berlin}`, `{"t":"2024-03-31T02:30:00"}`,
			`{"t":"2024-03-31T01:30:00Z"}`,
		},
		{"Unix seconds", `{field: t, formats: ['%s']}`, `{"t":"1700000000"}`, `{"t":"2023-11-14T22:13:20Z"}`},
		{"one digit", `{field: t, formats: ['%Y-%m-%d %H:%M']}`, `{"t":"2014-5-7 1:2"}`, `{"t":"2014-05-07T01:02:00Z"}`},
		{
			"renamed", `{fields: ["t, u", {key: v, rename_to: w}]}`, `{"t":"2024-01-02T03:04:05","v":"2024-01-02T03:04:06"}`,
			`{"t":"2024-01-02T03:04:05","u":"2024-01-02T03:04:05Z","v":"2024-01-02T03:04:06","w":"2024-01-02T03:04:06Z"}`,
		},
		{"locale", `{field: t, locale: de_DE}`, `{"t":"2024-01-02T03:04:05"}`, `{"t":"2024-01-02T03:04:05Z"}`},
		{"ignored", `{fields: [t, u], ignore_missing: true}`, `{"t":null}`, `{"t":null}`},

		{"missing", `field: t`, `{}`, `!Processor date: missing field (field "t", processors[0])`},
		{
			"group of regex", `field: at`, `{"message":"x","message_at":"2024-01-02"}`,
			`!Processor date: missing field, did you mean "message_at"? (field "at", processors[0])`,
		},
		{
			"a name that ends alike", `field: at`, `{"cat":"x"}`,
			`!Processor date: missing field (field "at", processors[0])`,
		},
		{"null", `field: t`, `{"t":null}`, `!Processor date: missing field (field "t", processors[0])`},
		{
			"integer", `{field: t, ignore_missing: true}`, `{"t":1700000000}`,
			`!Processor date: expected a string, found an integer: 1700000000 (field "t"`,
		},
		{
			"no match", `field: t`, `{"t":"yesterday"}`,
			`!Processor date: failed to parse: "yesterday" (field "t", processors[0])`,
		},
		{
			"no match of one", `{field: t, formats: ['%Y-%m-%d %H:%M']}`, `{"t":"2024-01-02T03:04"}`,
			`!Processor date: failed to parse by %Y-%m-%d %H:%M, input contains invalid characters at byte 10 (%H): ` +
				`"2024-01-02T03:04" (field "t"`,
		},
		{
			"Z for an offset", `{field: t, formats: ['%Y-%m-%dT%H:%M:%S%z']}`, `{"t":"2024-01-02T03:04:05Z"}`,
			`!input contains invalid characters at byte 19 (%z); %#z accepts Z as well as offsets: "2024-01-02T03:04:05Z"`,
		},
		{"left over", `{field: t, formats: ['%Y-%m-%d']}`, `{"t":"2024-01-02 "}`, `!trailing input " " at byte 10`},
		{
			"contradiction", `{field: t, formats: ['%a %Y-%m-%d']}`, `{"t":"Sun 2024-01-02"}`,
			`!no possible date and time matching input`,
		},
		{"empty", `field: t`, `{"t":""}`, `!failed to parse: ""`},

		{
			"field and fields", `{field: t, fields: [u]}`, ``,
			`!line 1: date.fields: "field" and "fields" exclude each other; write one of them with all values`,
		},
		{"no field", `formats: []`, ``, `!"field" or "fields" is required`},
		{"bad zone", `{field: t, timezone: Europe/Berlim}`, ``, `!line 1: date.timezone: unknown time zone "Europe/Berlim"`},
		{"local zone", `{field: t, timezone: Local}`, ``, `!unknown time zone "Local"`},
		{"empty zone", `{field: t, timezone: ""}`, ``, `!unknown time zone ""`},
		{"zone of another place", `{field: t, timezone: ../../etc/passwd}`, ``, `!unknown time zone`},
		{"zone type", `{field: t, timezone: 7}`, ``, `!date.timezone: expected a string, found the integer 7`},
		{"formats type", `{field: t, formats: "%Y"}`, ``, `!date.formats: expected a list, found the string "%Y"`},
		{"format type", `{field: t, formats: [7]}`, ``, `!date.formats[0]: expected a string, found the integer 7`},
		{"bad format", `{field: t, formats: ['%Y-%m-%d', '%Q']}`, ``, `!date.formats[1]: time pattern "%Q": `},
		{"no date", `{field: t, formats: ['%H:%M', '%M']}`, ``, `!date.formats: no text can match: a pattern needs a date`},
		{"locale type", `{field: t, locale: [de]}`, ``, `!date.locale: expected a string, found a list`},
		{"one format", `{field: t, format: '%Y'}`, ``, `!unknown key "format", did you mean "formats"?`},
	})
}

func TestDateWithoutYear(t *testing.T) {
	for _, tt := range []struct{ format, zone, now, text, want string }{
		{"%b %e %H:%M:%S", "UTC", "2026-07-01T00:00:00Z", "Jun 14 15:16:01", "2026-06-14T15:16:01Z"},
		{"%b %e %H:%M:%S", "UTC", "2026-07-01T00:00:00Z", "Dec 10 06:55:46", "2025-12-10T06:55:46Z"},
		{"%b %d %H:%M:%S", "UTC", "2026-07-01T00:00:00Z", "Jul  2 00:00:00", "2026-07-02T00:00:00Z"},
		{"%b %d %H:%M:%S", "UTC", "2026-07-01T00:00:00Z", "Jul  2 00:00:01", "2025-07-02T00:00:01Z"},
		{"%b %e %H:%M:%S", "UTC", "2025-12-31T12:00:00Z", "Jan  1 01:00:00", "2026-01-01T01:00:00Z"},
		{"%b %e %H:%M:%S", "UTC", "2026-01-01T00:30:00Z", "Dec 31 23:59:59", "2025-12-31T23:59:59Z"},
		{"%b %e %H:%M:%S", "UTC", "2026-07-01T00:00:00Z", "Feb 29 00:00:00", "2024-02-29T00:00:00Z"},
		{"%b %e %H:%M:%S", "UTC", "2104-01-01T00:00:00Z", "Feb 29 00:00:00", "2096-02-29T00:00:00Z"},
		{"%a %b %e %H:%M:%S", "UTC", "2026-07-01T00:00:00Z", "Wed Jan  1 00:00:00", "2025-01-01T00:00:00Z"},
		{"%b %e %H:%M:%S", "Europe/Berlin", "2026-07-01T00:00:00Z", "Jun 14 15:16:01", "2026-06-14T13:16:01Z"},
		{"%j %H:%M", "UTC", "2026-07-01T00:00:00Z", "032 10:00", "2026-02-01T10:00:00Z"},
		{"%b %e", "UTC", "2026-07-01T00:00:00Z", "Jun 14", "2026-06-14T00:00:00Z"},
		{
			"%b %e %H:%M:%S", "UTC", "2026-07-01T00:00:00Z", "Feb 30 00:00:00",
			`Processor : failed to parse: "Feb 30 00:00:00" (field "t", processors[0])`,
		},
		{"%b %e %H:%M:%S", "UTC", "2026-07-01T00:00:00Z", "", `Processor : failed to parse: "" (field "t", processors[0])`},
	} {
		root, err := document.Parse([]byte("{field: t, formats: ['" + tt.format + "'], timezone: " + tt.zone + "}"))
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339, tt.now)
		if err != nil {
			t.Fatal(err)
		}
		var names Names
		o := &Options{Map: root.Map(), names: &names, list: &List{}}
		apply := compileDateAt(o, func() time.Time { return now })
		if err := root.Err(); err != nil {
			t.Fatal(err)
		}
		rec := NewRecord(&names)
		rec.Value = value.ObjectOf(value.Field{Key: "t", Value: value.NewString(tt.text)})
		got := ""
		if err := apply(rec); err != nil {
			got = err.Error()
		} else {
			v, _ := rec.Value.Object().Get("t")
			got = string(value.AppendTime(nil, v.Time()))
		}
		if got != tt.want {
			t.Errorf("%q by %q at %s: %s, want %s", tt.text, tt.format, tt.now, got, tt.want)
		}
	}
}

func FuzzDate(f *testing.F) {
	f.Add("%d/%b/%Y:%H:%M:%S %z", "25/May/2024:20:16:37 +0200")
	f.Add("%b %e %T", "Feb 29 00:00:00")
	f.Add("%s%.f", "-99999999999999999.5")
	f.Add("%C%y%j", "2024366")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		var names Names
		step, err := compileOne("date", "{field: t, formats: ["+string(value.AppendJSONString(nil, pattern))+
			"], timezone: Europe/Berlin}", Env{}, &names)
		if err != nil {
			return
		}
		rec := NewRecord(&names)
		rec.Value = value.ObjectOf(value.Field{Key: "t", Value: value.NewString(text)})
		if err := step.Apply(rec); err != nil {
			return
		}
		if v, _ := rec.Value.Object().Get("t"); v.Kind() != value.Timestamp {
			t.Errorf("%q of %q gave %s", pattern, text, v)
		}
	})
}

func BenchmarkDate(b *testing.B) {
	b.Run("access", func(b *testing.B) {
		bench(b, "date", `{field: t, formats: ['%d/%b/%Y:%H:%M:%S %z']}`, `{"t":"25/May/2024:20:16:37 +0200"}`)
	})
	b.Run("default", func(b *testing.B) {
		bench(b, "date", `{field: t, timezone: Europe/Berlin}`, `{"t":"2024-05-25T20:16:37.217"}`)
	})
	b.Run("yearless", func(b *testing.B) {
		bench(b, "date", `{field: t, formats: ['%b %e %H:%M:%S']}`, `{"t":"Jun 14 15:16:01"}`)
	})
}
