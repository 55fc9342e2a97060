package pipeline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type changes = []func(*Request)

// identityCase is a test of the identity pipeline.
type identityCase struct {
	name   string
	change changes
	in     string // a JSON array of records
	want   string // a dump, or ! and the error's text
}

func runIdentityCases(t *testing.T, cases []identityCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			got, err := both(t, tt.change, elements(tt.in))
			if want, isErr := strings.CutPrefix(tt.want, "!"); isErr {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %s\n%s", err, want, got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(trimLines(tt.want), trimLines(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestIdentity tests the rules for types, the order of columns, conflicts in a batch, and names.
func TestIdentity(t *testing.T) {
	runIdentityCases(t, []identityCase{
		// Flattening and types.
		{"worked example 1", nil, `[{"u":"ann","n":1},{"u":"bob","x":{"y":true}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			n Int64: 1 -
			u String: "ann" "bob"
			x.y Boolean: - 1`},
		{
			"every type", nil,
			`[{"s":"x","i":-5,"f":1.0,"e":1e3,"b":false,"a":[1, {"z":0,"a":1.50}],"n":null,"o":{},"big":9223372036854775808}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a String: "[1,{\"a\":1.5,\"z\":0}]"
			b Boolean: 0
			big UInt64: 9223372036854775808
			e Float64: 1000.0
			f Float64: 1.0
			i Int64: -5
			s String: "x"`,
		},
		{"empty record", nil, `[{}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`},
		{"no records", nil, `[]`, ``},
		{"null is nothing at every level", nil, `[{"a":null,"b":{"c":null,"d":{"e":null}}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`},
		{"worked example 5: max_nested_levels=2", changes{levels(2)}, `[{"a":{"b":{"c":1}},"e":[1,{"z":0}]}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a.b String: "{\"c\":1}"
			e String: "[1,{\"z\":0}]"`},
		{"one level", changes{levels(1)}, `[{"a":{"b": 1},"c":{}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a String: "{\"b\":1}"
			c String: "{}"`},
		{"default is ten levels", nil, `[{"1":{"2":{"3":{"4":{"5":{"6":{"7":{"8":{"9":{"10":{"11":0}}}}}}}}}}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			1.2.3.4.5.6.7.8.9.10 String: "{\"11\":0}"`},
		{"empty objects", changes{levels(2)}, `[{"a":{},"b":{"c":{}}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			b.c String: "{}"`},
		{"empty arrays", nil, `[{"a":[],"b":[ ]}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a String: "[]"
			b String: "[]"`},
		{"escapes in keys and values", nil, `[{"a\u0062":"x\ty\u00e9","q\"":"\ud83d"},{"ab":"z","q\"":"\\"}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			ab String: "x\tyé" "z"
			q" String: "�" "\\"`},

		// Order of columns.
		{"keys of a record are sorted per level", nil, `[{"b":{"z":1,"a":2},"a":3,"b.m":4},{"c":1,"aa":2,"b":{"b":5}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			a Int64: 3 -
			b.a Int64: 2 -
			b.z Int64: 1 -
			b.m Int64: 4 -
			aa Int64: - 2
			b.b Int64: - 5
			c Int64: - 1`},

		// The same name twice.
		{"last of equal keys wins", nil, `[{"a":1,"b":2,"a":"x"}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a String: "x"
			b Int64: 2`},
		{"last of equal keys is null", nil, `[{"a":1,"a":null}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`},
		{"last of equal objects wins", nil, `[{"a":{"x":1},"a":{"y":2}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a.y Int64: 2`},
		{"equal by escape", nil, `[{"a":1,"\u0061":2}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a Int64: 2`},
		{"colliding names", nil, `[{"a.b":1,"a":{"b":2}}]`, `!record 0: two fields have the column name "a.b"`},
		{"colliding names the other way round", nil, `[{"a":{"b":2},"a.b":1}]`, `!two fields have the column name "a.b"`},
		{"no name collides with a null", nil, `[{"a":{"b":5},"a.b":null},{"a":{"b":null},"a.b":6}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			a.b Int64: 5 6`},
		{"an integer beyond int64", nil, `[{"id":12345678901234567890},{"id":12345678901234567891},{"id":3}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2
			id UInt64: 12345678901234567890 12345678901234567891 3`},
		{"a column that turns out unsigned", nil, `[{"id":1},{"x":2},{"id":18446744073709551615}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2
			id UInt64: 1 - 18446744073709551615
			x Int64: - 2 -`},
		{
			"unsigned beside a negative", nil, `[{"id":-1},{"id":9223372036854775808}]`,
			`!column "id": expected Int64 as in an earlier record, actual UInt64: 9223372036854775808`,
		},
		{"a negative beside unsigned", nil, `[{"id":9223372036854775808},{"id":-1}]`, `!column "id"`},
		{
			"a dropped record leaves no type",
			changes{skipErrors},
			`[{"id":1,"z":1},{"id":9223372036854775808,"z":"text"},{"id":-1}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2
			id Int64: 1 -1
			z Int64: 1 -
			skipped 1 of 3: record 1: column "z": expected Int64 as in an earlier record, actual String: "text"`,
		},
		{
			"unsigned in a table's column",
			changes{having("svc_timestamp TimestampNanosecond ti, u UInt64, j Json")},
			`[{"u":9223372036854775808,"j":9223372036854775808}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			j Json: "9223372036854775808"
			u UInt64: 9223372036854775808`,
		},
		{
			"unsigned in a signed column",
			changes{having("svc_timestamp TimestampNanosecond ti, u Int64")},
			`[{"u":9223372036854775808}]`, `!expected Int64, actual UInt64: 9223372036854775808`,
		},
		{
			"unsigned in a float column",
			changes{having("svc_timestamp TimestampNanosecond ti, u Float64")},
			`[{"u":9223372036854775809}]`, `!without loss`,
		},
		{"an exact float", nil, `[{"id":18446744073709551616}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			id Float64: 1.8446744073709552e19`},
		{
			"an integer that nothing holds", nil, `[{"id":18446744073709551617}]`,
			`!beyond -9223372036854775808 to 18446744073709551615`,
		},
		{"scalar and object by one key", nil, `[{"a":1},{"a":{"b":2}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			a Int64: 1 -
			a.b Int64: - 2`},

		// Conflicts in the batch.
		{
			"worked example 2", nil, `[{"n":1},{"n":"two"}]`,
			`!record 1: column "n": expected Int64 as in an earlier record, actual String: "two"`,
		},
		{"worked example 2, skip_error", changes{skipErrors}, `[{"n":1},{"n":"two"}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			n Int64: 1
			skipped 1 of 2: record 1: column "n": expected Int64 as in an earlier record, actual String: "two"`},
		{
			"bool against string", nil, `[{"a":true},{"a":"true"}]`,
			`!record 1: column "a": expected Boolean as in an earlier record, actual String`,
		},
		{"string against array is none", nil, `[{"a":"x"},{"a":[1]}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			a String: "x" "[1]"`},
		{"who comes first decides", changes{skipErrors}, `[{"a":"x"},{"a":1},{"a":2}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a String: "x"
			skipped 2 of 3: record 1: column "a": expected String as in an earlier record, actual Int64: 1 | record 2: ` +
			`column "a": expected String as in an earlier record, actual Int64: 2`},
		{
			"columns of a dropped record vanish",
			changes{skipErrors},
			`[{"a":1},{"new":{"x":1,"y":2},"a":"bad"},{"new":{"x":"s"},"a":2}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2
			a Int64: 1 2
			new.x String: - "s"
			skipped 1 of 3: record 1: column "a": expected Int64 as in an earlier record, actual String: "bad"`,
		},
		{
			"variables of the client refused",
			changes{skipErrors, func(q *Request) { q.NoClientVariables = true }},
			`[{"a":1,"svc_ttl":"1d"},{"a":2,"svc_ttl":null}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			a Int64: 2
			skipped 1 of 2: record 0: the record sets svc_ttl, and this server lets only pipelines set table options`,
		},
		{"a dropped first record decides nothing", changes{skipErrors}, `[{"a":1,"svc_ttl":"soon"},{"a":"x"}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			a String: "x"
			skipped 1 of 2: record 0: Failed to parse table option, key: ttl, value: ` +
			`soon (want an integer with its unit, as in 7d or 12h, or forever, at "soon")`},

		// Not a record.
		{"not an object", nil, `[1]`, `!record 0: Top level value must be map`},
		{"not an object, skip_error", changes{skipErrors}, `[[{}],"x",{"a":1},null]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+2
			a Int64: 1
			skipped 3 of 4: record 0: Top level value must be map | record 1: Top level value must be map | record 3: ` +
			`Top level value must be map`},

		// Names and limits.
		{
			"reserved name", nil, `[{"__sequence":1}]`,
			`!record 0: Invalid column name: __sequence is reserved for internal use; ` + nameAdvice,
		},
		{
			"hidden name", nil, `[{"__op_type":1}]`,
			`!record 0: Invalid column name: __op_type is reserved for internal use; ` + nameAdvice,
		},
		{
			"NUL in a name", nil, `[{"a\u0000b":1}]`,
			`!record 0: Invalid column name: "a\x00b" contains a NUL character; ` + nameAdvice,
		},
		{"empty name", nil, `[{"":1}]`, `!record 0: Invalid column name: it is empty; ` + nameAdvice},
		{"empty segment", nil, `[{"a":{"":1}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a. Int64: 1`},
		{"a bad name with a null", nil, `[{"":null,"__sequence":null}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`},
		{"long name", nil, `[{"a":{"` + strings.Repeat("k", 1023) + `":1}}]`, `!has 1025 bytes, at most 1024`},
		{"longest name", changes{skipErrors}, `[{"` + strings.Repeat("k", 1024) + `":1}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			` + strings.Repeat("k", 1024) + ` Int64: 1`},
		{"too many columns", changes{maxColumnsOf(3), skipErrors}, `[{"a":1},{"b":1,"c":1},{"b":2},{"c":1},{"a":3}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2 now+4
			a Int64: 1 - 3
			b Int64: - 2 -
			skipped 2 of 5: record 1: table "t" would get more than 3 columns with "c"; ` + manyColumnsAdvice +
			` | record 3: table "t" would get more than 3 columns with "c"; ` + manyColumnsAdvice},
	})
}

const manyColumnsAdvice = "store fields that vary in an array, or lower max_nested_levels"

// Fields listed in Tags become tags if their column is new and they contain texts.
func TestIdentityTags(t *testing.T) {
	tags := func(q *Request) { q.Tags = map[string]bool{"host": true, "n": true, "old": true} }
	got, err := both(t, []func(*Request){tags}, []string{`{"n":1,"host":"a","other":"b","old":"c"}`})
	want := "t\n  svc_timestamp TimestampNanosecond TIMESTAMP: now+0\n  host String TAG: \"a\"\n  n Int64: " +
		"1\n  old String TAG: \"c\"\n  other String: \"b\"\n"
	if err != nil || got != want {
		t.Errorf("got\n%s%v\nwant\n%s", got, err, want)
	}
	got, err = both(t, []func(*Request){tags, having("svc_timestamp TimestampNanosecond ti, old String")},
		[]string{`{"old":"c","host":"a"}`})
	if err != nil || !strings.Contains(got, "old String: ") || !strings.Contains(got, "host String TAG: ") {
		t.Errorf("in an existing table\n%s%v", got, err)
	}
}

// Fields listed in JSON are stored whole if their column is new.
func TestIdentityJSON(t *testing.T) {
	asJSON := func(q *Request) { q.JSON = []string{"tags", "old"} }
	records := []string{`{"tags":{"b":[1],"a":"x"},"o":{"tags":{"p":1}}}`, `{"tags":"text"}`, `{"tags":null,"n":1}`}
	got, err := both(t, []func(*Request){asJSON}, records)
	want := "t\n  svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2\n" +
		"  o.tags.p Int64: 1 - -\n  tags Json: \"{\\\"a\\\":\\\"x\\\",\\\"b\\\":[1]}\" \"\\\"text\\\"\" -\n" +
		"  n Int64: - - 1\n"
	if err != nil || got != want {
		t.Errorf("got\n%s%v\nwant\n%s", got, err, want)
	}
	got, err = both(t, []func(*Request){asJSON, having("svc_timestamp TimestampNanosecond ti, old String")},
		[]string{`{"old":{"c":"d"}}`})
	if err != nil || !strings.Contains(got, "old.c String: ") {
		t.Errorf("in a table where it is a text\n%s%v", got, err)
	}
}
