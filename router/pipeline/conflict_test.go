package pipeline

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// conflictRule returns a change that sets the request's on_type_conflict.
func conflictRule(name string) func(*Request) {
	return hints(map[string]string{"on_type_conflict": name})
}

const now = "svc_timestamp TimestampNanosecond ti"

// TestTypeConflicts checks values whose type differs from their column's.
func TestTypeConflicts(t *testing.T) {
	runIdentityCases(t, []identityCase{
		// Numbers in a new column.
		{"a fraction after an integer", nil, `[{"took":1},{"took":1.5},{"took":2}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2
			took Float64: 1.0 1.5 2.0`},
		{"an integer after a fraction", nil, `[{"took":1.5},{"took":1}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			took Float64: 1.5 1.0`},
		{"nulls and rows without it stay null", nil, `[{"a":1},{"took":null},{"took":-7},{"a":2},{"took":1e3}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2 now+3 now+4
			a Int64: 1 - - 2 -
			took Float64: - - -7.0 - 1000.0`},
		{"the last exact integer", nil, `[{"n":9007199254740992},{"n":-9007199254740992},{"n":0.5}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2
			n Float64: 9007199254740992.0 -9007199254740992.0 0.5`},
		{
			"an integer that would be blurred", nil, `[{"n":9007199254740993},{"n":0.5}]`,
			`!record 1: column "n": expected Int64, actual Float64: 0.5; the column cannot become Float64, which would round ` +
				`an integer beyond 2^53 of an earlier record`,
		},
		{"a negative one", nil, `[{"n":-9007199254740993},{"n":0.5}]`, `!would round`},
		{
			"an integer that a float would round", nil, `[{"n":0.5},{"n":9007199254740993}]`,
			`!record 1: column "n": expected Float64, actual Int64 9007199254740993, which it cannot hold without loss; set ` +
				`the table option on_type_conflict=aside to keep such rows`,
		},
		{
			"an unsigned one", nil, `[{"n":0.5},{"n":18446744073709551615}]`,
			`!actual UInt64 18446744073709551615, which it cannot hold without loss`,
		},
		{"a fraction beside an unsigned one", nil, `[{"n":18446744073709551615},{"n":0.5}]`, `!would round`},
		{"blurred, skipped", changes{skipErrors}, `[{"n":9007199254740993},{"n":0.5},{"n":3}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2
			n Int64: 9007199254740993 3
			skipped 1 of 3: record 1: column "n": expected Int64, actual Float64: 0.5; the column cannot become Float64, ` +
			`which would round an integer beyond 2^53 of an earlier record`},
		{
			"a dropped record leaves no type",
			changes{skipErrors},
			`[{"n":1,"z":1},{"n":1.5,"z":"text"},{"n":9007199254740993}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2
			n Int64: 1 9007199254740993
			z Int64: 1 -
			skipped 1 of 3: record 1: column "z": expected Int64 as in an earlier record, actual String: "text"`,
		},
		{
			"a dropped record leaves no wide integer",
			changes{skipErrors},
			`[{"n":1,"z":1},{"n":9007199254740993,"z":"text"},{"n":1.5}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2
			n Float64: 1.0 1.5
			z Int64: 1 -
			skipped 1 of 3: record 1: column "z": expected Int64 as in an earlier record, actual String: "text"`,
		},
		{
			"text is not a number", nil, `[{"n":1},{"n":"1"}]`,
			`!expected Int64 as in an earlier record, actual String: "1"; ` +
				`set the table option on_type_conflict=aside to keep such rows, or skip_error=true to drop them`,
		},
		{
			"a number is not a boolean", nil, `[{"n":true},{"n":1}]`,
			`!expected Boolean as in an earlier record, actual Int64: 1`,
		},

		// Numbers in a column of the table.
		{"integers in a float column", changes{having(now + ", n Float64")}, `[{"n":1},{"n":2.5},{"n":-3}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2
			n Float64: 1.0 2.5 -3.0`},
		{
			"a column that may have wide integers",
			changes{having(now + ", n Int64")},
			`[{"n":1.5}]`,
			`!column "n" of table "t": expected Int64, actual Float64: 1.5; it may hold integers beyond 2^53, which Float64 ` +
				`would round; run ALTER TABLE "t" MODIFY COLUMN "n" DOUBLE, which checks the stored values`,
		},
		{
			"tags stay",
			changes{having(now + ", n Int64 tag")},
			`[{"n":1.5}]`,
			`!column "n" of table "t": expected Int64, actual Float64: 1.5`,
		},

		{
			"the default of a column that widens",
			changes{having(now + ", id Int64, b Int32 default 42")},
			`[{"id":1},{"id":2,"b":0.1},{"id":3},{"id":4,"b":7}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2 now+3
			b Float64: 42.0 0.1 42.0 7.0
			id Int64: 1 2 3 4`,
		},
		{"the default of a column that widens and does not", changes{
			having(now + ", z Int64, b Int32 default 42"), skipErrors,
		}, `[{"b":1.5,"z":"text"},{"z":2},{"b":3}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1 now+2
			b Int32: 42 3
			z Int64: 2 -
			skipped 1 of 3: record 0: column "z" of table "t": expected Int64, actual String: "text"`},

		// error
		{
			"error: a fraction",
			changes{conflictRule("error")},
			`[{"n":1},{"n":1.5}]`,
			`!record 1: column "n": expected Int64 as in an earlier record, actual Float64: 1.5`,
		},
		{
			"error: an integer",
			changes{conflictRule("error")},
			`[{"n":1.5},{"n":1}]`,
			`!expected Float64 as in an earlier record, actual Int64: 1`,
		},
		{
			"error: unsigned",
			changes{conflictRule("error")},
			`[{"n":1},{"n":18446744073709551615}]`,
			`!expected Int64 as in an earlier record, actual UInt64`,
		},
		{
			"error: the table's rule counts",
			changes{having(now+", n Float64", "on_type_conflict", "error"), conflictRule("widen")},
			`[{"n":1}]`,
			`!expected Float64, actual Int64`,
		},
		{
			"error: no smaller type",
			changes{having(now+", n Int32", "on_type_conflict", "error")},
			`[{"n":1}]`,
			`!expected Int32, actual Int64`,
		},
		{
			"error: no JSON of a number",
			changes{having(now+", n Json", "on_type_conflict", "error")},
			`[{"n":1}]`,
			`!expected Json, actual Int64`,
		},
		{"error: JSON of an object", changes{having(now+", n Json", "on_type_conflict", "error")}, `[{"n":{"a":1}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			n Json: "{\"a\":1}"`},

		// aside
		{"aside", changes{conflictRule("aside")}, `[{"n":1},{"n":"x"},{"n":true},{"n":2,"z":1}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2 now+3
			n Int64: 1 - - 2
			n_conflict String: - "x" "true" -
			z Int64: - - - 1
			2 values of the column n of table public.t were put aside, as text in n_conflict: their type is not the column's; ` +
			`the first is x`},
		{"aside: numbers widen", changes{conflictRule("aside")}, `[{"n":1},{"n":1.5},{"n":9007199254740993}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2
			n Float64: 1.0 1.5 -
			n_conflict String: - - "9007199254740993"
			1 value of the column n of table public.t was put aside, as text in n_conflict: its type is not the column's; ` +
			`the first is 9007199254740993`},
		{"aside: what no column holds", changes{conflictRule("aside")}, `[{"n":184467440737095516170},{"n":1}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			n_conflict String: "184467440737095516170" -
			n Int64: - 1
			1 value of the column n of table public.t was put aside, as text in n_conflict: its type is not the column's; ` +
			`the first is 184467440737095516170`},
		{
			"aside: of a table",
			changes{having(now+", n Int64 default 7, n_conflict String", "on_type_conflict", "aside")},
			`[{"n":"x"},{"n":1.5},{}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2
			n Int64: - - 7
			n_conflict String: "x" "1.5" -
			2 values of the column n of table public.t were put aside, as text in n_conflict: their type is not the column's; ` +
				`the first is x`,
		},
		{
			"aside: not of tags",
			changes{having(now+", n Int64 tag", "on_type_conflict", "aside")},
			`[{"n":"x"}]`,
			`!column "n" of table "t": expected Int64, actual String: "x"`,
		},
		{
			"aside: not of what must not be null",
			changes{having(now+", n Int64 not null", "on_type_conflict", "aside")},
			`[{"n":"x"}]`, `!column "n" of table "t": expected Int64, actual String: "x"`,
		},
		{
			"aside: no room",
			changes{having(now+", n Int64, n_conflict Int64", "on_type_conflict", "aside")},
			`[{"n":"x"}]`,
			`!column "n": x does not fit, and cannot be set aside: the column "n_conflict" for such values is a ` +
				`Int64 FIELD`,
		},
		{
			"aside: the place is taken",
			changes{conflictRule("aside")},
			`[{"n":1},{"n":"x","n_conflict":"y"}]`,
			`!record 1: column "n_conflict": the record has a field of that name`,
		},
		{"aside: a dropped record leaves nothing", changes{
			conflictRule("aside"), having(now+", n Int64, k Int64 tag", "on_type_conflict", "aside"), skipErrors,
		}, `[{"n":"x","o":"p","k":"no"},{"n":2}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			n Int64: 2
			skipped 1 of 2: record 0: column "k" of table "t": expected Int64, actual String: "no"`},

		// cast
		{
			"cast: text and numbers",
			changes{conflictRule("cast")},
			`[{"n":1,"s":"a","b":true,"f":0.5},{"n":"7","s":7,"b":"false","f":"2.25"},{"n":8.0,"s":true,"b":"no","f":3}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2
			b Boolean: 1 0 -
			f Float64: 0.5 2.25 3.0
			n Int64: 1 7 8
			s String: "a" "7" "true"
			b_conflict String: - - "no"
			1 value of the column b of table public.t was put aside, as text in b_conflict: its type is not the column's; ` +
				`the first is no
			6 values were converted to the types of their columns in table public.t`,
		},
		{
			"cast: only what is exact",
			changes{conflictRule("cast")},
			`[{"n":1},{"n":1.5},{"n":"007"},{"n":"1e3"},{"n":"9223372036854775808"},{"n":9223372036854775808}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2 now+3 now+4 now+5
			n Int64: 1 - - 1000 - -
			n_conflict String: - "1.5" "007" - "9223372036854775808" "9223372036854775808"
			4 values of the column n of table public.t were put aside, as text in n_conflict: their type is not the column's; ` +
				`the first is 1.5
			1 value was converted to the type of its column in table public.t`,
		},
		{
			"cast: times",
			changes{having(now+", at TimestampMillisecond", "on_type_conflict", "cast")},
			`[{"at":"2023-11-14T22:13:20.5Z"},{"at":"2023-11-14T22:13:20.0005Z"}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			at TimestampMillisecond: 1700000000500 -
			at_conflict String: - "2023-11-14T22:13:20.0005Z"
			1 value of the column at of table public.t was put aside, as text in at_conflict: its type is not the column's; ` +
				`the first is 2023-11-14T22:13:20.0005Z
			1 value was converted to the type of its column in table public.t`,
		},
		{
			"cast: tags are converted, and not put aside",
			changes{having(now+", k String tag", "on_type_conflict", "cast")},
			`[{"k":7}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			k String TAG: "7"
			1 value was converted to the type of its column in table public.t`,
		},

		{
			"no such rule",
			changes{conflictRule("guess")},
			`[{"n":1}]`,
			`!Failed to parse table option, key: on_type_conflict, value: guess (want widen, error, cast or aside)`,
		},
	})
}

// TestConflictVariable checks that a record can set the rule, which is not stored in the row.
func TestConflictVariable(t *testing.T) {
	got, err := both(t, nil, elements(`[{"n":1,"svc_on_type_conflict":"aside"},{"n":"x","svc_on_type_conflict":"aside"}]`))
	if err != nil || !strings.Contains(got, `n_conflict String: - "x"`) {
		t.Errorf("error %v\n%s", err, got)
	}
}

// TestRulesAgree compares the fast and the exact path under each rule over generated records.
func TestRulesAgree(t *testing.T) {
	for seed := range uint64(1500) {
		g := generator{rand.New(rand.NewPCG(seed, 4))}
		name := []string{"error", "cast", "aside"}[seed%3]
		change := changes{skipErrors, conflictRule(name)}
		if seed%2 == 0 {
			change = append(change, having(now+", a Float64, b Int8, c String default 'd', a.b Boolean, a_conflict Int64",
				"on_type_conflict", name))
		}
		_, _ = both(t, change, g.lines())
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestWidenedParts widens a column after some of its rows have been encoded.
func TestWidenedParts(t *testing.T) {
	var lines []string
	for i := range partRows + 10 {
		lines = append(lines, fmt.Sprintf(`{"n":%d}`, i))
	}
	for _, last := range []string{`{"n":0.5}`, `{"n":18446744073709551615}`} {
		r, err := NewIdentity(request())
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range append(lines, last) {
			if err := r.ScanLine([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		out, err := r.Finish()
		if err != nil {
			t.Fatal(err)
		}
		rows := out.Tables[0]
		if len(rows.Parts) != 1 {
			t.Fatalf("%d parts", len(rows.Parts))
		}
		b, err := rows.Parts[0].Builder()
		if err != nil {
			t.Fatal(err)
		}
		if c, was := rows.Rows.Cols()[1], b.Cols()[1]; c.Type != was.Type ||
			cellText(was, 7) != map[string]string{"Float64": "7.0", "UInt64": "7"}[c.Type.String()] {
			t.Errorf("the column is %s, and row 7 of the part %s %s", c.Type, was.Type, cellText(was, 7))
		}
		r.Release()
	}
	// The values in the part are considered when a fraction arrives.
	r, err := NewIdentity(request())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	lines[3] = `{"n":-9007199254740993}`
	for _, line := range lines {
		if err := r.ScanLine([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.ScanLine([]byte(`{"n":0.5}`)); err == nil || !strings.Contains(err.Error(), "would round") {
		t.Errorf("error %v", err)
	}
}

// TestRewoundTypes checks that, if one row of a record fails, all its rows are removed, and the changes of column types
// are undone.
func TestRewoundTypes(t *testing.T) {
	const source = `
processors:
- vrl: {source: '.rows'}
`
	p, err := Compile([]byte(source), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ rule, spoiled, want string }{
		{"widen", `{"rows":[{"n":1.5},{"n":2},{"n":"x"}]}`, "n Int64: 1 7"},
		{"aside", `{"rows":[{"n":"x"},{"n":1.5},{"n":2,"n_conflict":"y"},{"n":"x","n_conflict":"z"}]}`, "n Int64: 1 7"},
	} {
		r, err := NewRunner(p, request(skipErrors, wholeRecords, conflictRule(tt.rule)), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{`{"rows":[{"n":1}]}`, tt.spoiled, `{"rows":[{"n":7}]}`} {
			if err := r.ScanLine([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		out, err := r.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if got := dump(out); !strings.Contains(got, tt.want) || strings.Contains(got, "n_conflict String") ||
			out.Skipped != 1 {
			t.Errorf("%s: %d records skipped\n%s\nwant %s", tt.rule, out.Skipped, got, tt.want)
		}
		r.Release()
	}
}
