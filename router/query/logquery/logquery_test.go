package logquery

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/query/statement"
)

var now = time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)

// lookup has public.app, shop."my logs", and public.seconds, whose time index has seconds.
func lookup(database, name string) (*schema.Table, error) {
	at := schema.Column{Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp}
	t := &schema.Table{Database: database, Name: name}
	switch database + "." + name {
	case "public.seconds":
		at.Type = schema.TimestampSecond
	case "public.app", "shop.my logs":
	default:
		return nil, errs.New(errs.TableNotFound, "no such table")
	}
	t.Columns = []schema.Column{
		at,
		{Name: "level", Type: schema.String},
		{Name: "status", Type: schema.Int64},
		{Name: `a "b"`, Type: schema.JSON},
		{Name: "ok", Type: schema.Boolean},
	}
	return t.Index(), nil
}

// compile compiles a query of public.app with additional members.
func compile(members string) (string, error) {
	if members != "" {
		members = "," + members
	}
	text := `{"table":{"table_name":"app"},"time_filter":{"start":"2026"}` + members + "}"
	return Compile([]byte(text), "public", lookup, now)
}

const (
	whole = `SELECT * FROM "public"."app" WHERE "ts" >= '2026-01-01T00:00:00Z' AND "ts" < '2027-01-01T00:00:00Z'`
	order = ` ORDER BY "ts" DESC LIMIT 1000`
)

func TestTables(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"table":{"table_name":"app"},"time_filter":{"start":"2026"}}`, whole + order},
		{
			`{"table":{"catalog_name":"svc","schema_name":"shop","table_name":"my logs"},"time_filter":{"span":60}}`,
			`SELECT * FROM ` +
				`"shop"."my logs" WHERE "ts" >= '2026-01-05T09:59:00Z' AND "ts" < '2026-01-05T10:00:00Z'` + order,
		},
		{
			`{"table":{"table_name":"app"},"time_filter":{"span":1},"limit":{"skip":5,"fetch":7}}`,
			`SELECT * FROM "public"."app" ` +
				`WHERE "ts" >= '2026-01-05T09:59:59Z' AND "ts" < '2026-01-05T10:00:00Z' ORDER BY "ts" DESC LIMIT 7 OFFSET 5`,
		},
		{`{}`, "1004 names no table"},
		{``, "1004 not complete"},
		{`{"table":`, "1004 not complete"},
		{`{"table":{"table_name":"app"}}`, "1004 no time_filter"},
		{`{"table":{"table_name":"nope"},"time_filter":{"span":1}}`, "4001 no such table"},
		{`{"table":{"catalog_name":"x","table_name":"app"},"time_filter":{"span":1}}`, "1004 catalog_name"},
		{
			`{"table":{"table_name":"app"},"time_filter":{"span":1},"colums":[]}`,
			`1004 unknown field "colums"`,
		},
		{`{"table":{"table_name":"app"},"time_filter":{"span":1}} x`, "1004 after its end"},
		{`{"table":{"table_name":1}}`, "1004 table.table_name must be a string, but it is a JSON number"},
		{`{"table":"apache"}`, `1004 the query cannot be read: table must be an object, as {"table_name":"apache"}`},
		{`[]`, "1004 it must be an object, but it is a JSON array"},
		{
			`{"table":{"table_name":"app"},"time_filter":{"span":1},"limit":{"fetch":-1}}`,
			"1004 cannot be read",
		},
		{
			`{"table":{"table_name":"app"},"time_filter":{"span":1},"limit":{"fetch":9223372036854775808}}`,
			"1004 at most",
		},
		{
			`{"table":{"table_name":"app"},"time_filter":{"span":1},"context":{"Lines":[1,2]}}`,
			"1001 context",
		},
		{
			`{"table":{"table_name":"app"},"time_filter":{"span":1},"context":null,"limit":{}}`,
			`SELECT * FROM "public"."app" WHERE ` +
				`"ts" >= '2026-01-05T09:59:59Z' AND "ts" < '2026-01-05T10:00:00Z'` + order,
		},
	} {
		text, want := c.text, c.want
		got, err := Compile([]byte(text), "public", lookup, now)
		check(t, text, got, err, want)
	}
}

// check compares a statement, or an error: its code, and a part of its text.
func check(t *testing.T, text, got string, err error, want string) {
	t.Helper()
	if err == nil {
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, got, want)
		}
		if _, err := statement.Parse(got); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		return
	}
	code, part, _ := strings.Cut(want, " ")
	if n, _ := json.Marshal(errs.CodeOf(err)); string(n) != code || !strings.Contains(err.Error(), part) {
		t.Errorf("%s: %s %v, want %s", text, n, err, want)
	}
}

func TestTimes(t *testing.T) {
	for _, c := range []struct{ filter, want string }{
		{`{"start":"2026-02"}`, "2026-02-01T00:00:00Z 2026-03-01T00:00:00Z"},
		{`{"start":"2026-12-31"}`, "2026-12-31T00:00:00Z 2027-01-01T00:00:00Z"},
		{`{"start":"2026-01-05","end":"2026-01-06"}`, "2026-01-05T00:00:00Z 2026-01-07T00:00:00Z"},
		{
			`{"start":"2026-01-05","end":"2026-01-06T00:00:00Z"}`,
			"2026-01-05T00:00:00Z 2026-01-06T00:00:00Z",
		},
		{
			`{"start":"2026-01-05T10:00:00.5+02:00","end":"2026-01-05"}`,
			"2026-01-05T08:00:00.5Z 2026-01-06T00:00:00Z",
		},
		{`{"start":"2026-01-05T10:00:00Z","span":90}`, "2026-01-05T10:00:00Z 2026-01-05T10:01:30Z"},
		{`{"end":"2026-01-05","span":60}`, "2026-01-05T23:59:00Z 2026-01-06T00:00:00Z"},
		{`{"end":"2026-01-05T10:00:00Z","span":60}`, "2026-01-05T09:59:00Z 2026-01-05T10:00:00Z"},
		{`{"span":3600}`, "2026-01-05T09:00:00Z 2026-01-05T10:00:00Z"},
		{`{"start":"0001","end":"9999"}`, ""},
		{`{"start":"1960","end":"9999"}`, "1960-01-01T00:00:00Z "},
		{`{"start":"0001","end":"1960"}`, " 1961-01-01T00:00:00Z"},
		{`{"start":"0001"}`, "FALSE"},
		{`{"start":"9999"}`, "FALSE"},
		{`{}`, "1004 needs start"},
		{`{"start":"2026-01-05T10:00:00Z"}`, "1004 needs start"},
		{`{"end":"2026-01-05"}`, "1004 needs start"},
		{`{"start":"2026","end":"2026","span":1}`, "1004 leave one"},
		{`{"start":"2026-01-06T00:00:00Z","end":"2026-01-05T10:00:00Z"}`, "1004 before it starts"},
		{`{"start":"soon","span":1}`, "1004 start is"},
		{`{"end":"2026-13","span":1}`, "1004 end is"},
		{`{"span":9223372037}`, "1004 seconds"},
	} {
		filter, want := c.filter, c.want
		text := `{"table":{"table_name":"app"},"time_filter":` + filter + "}"
		got, err := Compile([]byte(text), "public", lookup, now)
		where := ""
		switch from, to, _ := strings.Cut(want, " "); {
		case want == "FALSE":
			where = " WHERE FALSE"
		case from != "" && to != "":
			where = ` WHERE "ts" >= '` + from + `' AND "ts" < '` + to + "'"
		case from != "":
			where = ` WHERE "ts" >= '` + from + "'"
		case to != "":
			where = ` WHERE "ts" < '` + to + "'"
		}
		if err == nil {
			want = `SELECT * FROM "public"."app"` + where + order
		}
		check(t, text, got, err, want)
	}
	// A column of seconds can hold any year.
	got, err := Compile([]byte(`{"table":{"table_name":"seconds"},"time_filter":{"start":"0001"}}`), "public", lookup, now)
	check(t, "year 1", got, err, `SELECT * FROM "public"."seconds" WHERE "ts" >= '0001-01-01T00:00:00Z' AND "ts" < `+
		`'0002-01-01T00:00:00Z'`+order)
}

func TestFilters(t *testing.T) {
	on := func(conditions string) string {
		return `{"Single":{"expr":{"NamedIdent":"level"},"filters":[` + conditions + `]}}`
	}
	for _, c := range []struct{ filter, want string }{
		{`null`, ""},
		{on(`{"Exact":"it's"}`), `("level" = 'it''s')`},
		{on(`{"Prefix":"a"}`), `(starts_with("level", 'a'))`},
		{on(`{"Postfix":"a"}`), `(ends_with("level", 'a'))`},
		{on(`{"Contains":"a"}`), `(contains("level", 'a'))`},
		{on(`{"Regex":"a.*"}`), `(regexp_matches("level", 'a.*'))`},
		{on(`"Exist"`), `("level" IS NOT NULL)`},
		{on(`{"Exist":null}`), `("level" IS NOT NULL)`},
		{on(`"IsTrue","IsFalse"`), `("level" IS TRUE) AND ("level" IS FALSE)`},
		{on(`{"In":["a","b"]}`), `("level" IN ('a', 'b'))`},
		{on(`{"In":[]}`), `FALSE`},
		{on(`{"Equal":1.5}`), `("level" = 1.5)`},
		{on(`{"Equal":{"Boolean":true}}`), `("level" = TRUE)`},
		{on(`{"Equal":{"String":"x"}}`), `("level" = 'x')`},
		{on(`{"GreatThan":{"value":"a"}}`), `("level" > 'a')`},
		{on(`{"LessThan":{"value":-2,"inclusive":true}}`), `("level" <= -2)`},
		{
			on(`{"Between":{"start":"a","end":"b","start_inclusive":true,"end_inclusive":false}}`),
			`("level" >= 'a' AND "level" < 'b')`,
		},
		{on(`{"Compound":[[{"Exact":"a"},"Exist"],"Or"]}`), `(("level" = 'a') OR ("level" IS NOT NULL))`},
		{on(`{"Exact":"a"}`) + " ", `("level" = 'a')`},
		{
			`{"And":[` + on(`{"Exact":"a"}`) + `,{"Not":` + on(`"Exist"`) + `}]}`,
			`((("level" = 'a')) AND (NOT (("level" IS NOT NULL))))`,
		},
		{`{"Or":[]}`, `FALSE`},
		{`{"And":[]}`, `TRUE`},
		{
			`{"Single":{"expr":{"NamedIdent":"status"},"filters":[{"Contains":"4"},{"Equal":404}]}}`,
			`((contains(CAST("status" AS ` +
				`VARCHAR), '4')) AND ("status" = 404))`,
		},
		{
			`{"Single":{"expr":{"ScalarFunc":{"name":"lower","args":[{"NamedIdent":"level"}]}},"filters":[{"Exact":"a"}]}}`,
			`((CAST(` +
				`lower("level") AS VARCHAR) = 'a'))`,
		},
		{`[]`, "1004 one member"},
		{`"x"`, "1004 And, Or"},
		{`{"Xor":[]}`, "1004 And, Or"},
		{`{"And":[],"Or":[]}`, "1004 one member"},
		{`{"And":{}}`, "1004 array"},
		{`{"Not":null}`, "1004 one member"},
		{`{"Single":{}}`, "1004 expr and filters"},
		{`{"Single":{"expr":{"NamedIdent":"nope"},"filters":[]}}`, "4002 no column"},
		{`{"Single":{"expr":{"AggrFunc":{"name":"max","args":[]}},"filters":[]}}`, "1004 aggregate"},
		{on(`{"Exact":1}`), "1004 must be a text"},
		{on(`{"Exact":null}`), "1004 must be a text"},
		{on(`{"Like":"a"}`), "1004 a condition must be"},
		{on(`{"In":"a"}`), "1004 array"},
		{on(`{"In":[{}]}`), "1004 a value"},
		{on(`{"Equal":[1]}`), "1004 a value"},
		{on(`{"Between":{"start":"a"}}`), "1004 Between"},
		{on(`{"GreatThan":{"values":"a"}}`), "1004 GreatThan"},
		{on(`{"Compound":[[],"Nor"]}`), "1004 Compound"},
	} {
		filter, want := c.filter, c.want
		got, err := compile(`"filters":` + filter)
		if err == nil && strings.HasPrefix(filter, `{"Single":{"expr":{"NamedIdent":"level"}`) && want != "" {
			want = "(" + want + ")"
		}
		if err == nil {
			if want != "" {
				want = " AND " + want
			}
			want = whole + want + order
		}
		check(t, filter, got, err, want)
	}
	deep := strings.Repeat(`{"Not":`, 100) + on("") + strings.Repeat("}", 100)
	if _, err := compile(`"filters":` + deep); err == nil || !strings.Contains(err.Error(), "nested") {
		t.Error(err)
	}
	many := on(strings.Repeat(`"Exist",`, maxNodes) + `"Exist"`)
	if _, err := compile(`"filters":` + many); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
	list := on(`{"In":[` + strings.Repeat(`1,`, maxNodes) + `1]}`)
	if _, err := compile(`"filters":` + list); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}

func TestSelected(t *testing.T) {
	const from = ` FROM "public"."app" WHERE "ts" >= '2026-01-01T00:00:00Z' AND "ts" < '2027-01-01T00:00:00Z'`
	for _, c := range []struct{ members, want string }{
		{`"columns":["level","a \"b\""]`, `SELECT "level", "a ""b"""` + from + order},
		{`"columns":[]`, "SELECT *" + from + order},
		{
			`"exprs":[{"Alias":{"expr":{"BinaryOp":{"left":{"NamedIdent":"status"},"op":"Divide","right":{"Literal":100}}},` +
				`"alias":"class"}}]`,
			`SELECT ("status" / 100) AS "class"` + from + order,
		},
		{
			`"columns":["level"],"exprs":[{"AggrFunc":{"name":"count","args":[],"by":[],"alias":"n"}}]`,
			`SELECT "level", count(*) AS ` +
				`"n"` + from + ` GROUP BY "level" ORDER BY "level" LIMIT 1000`,
		},
		{
			`"exprs":[{"AggrFunc":{"name":"max","args":[{"NamedIdent":"status"}],"by":[{"ScalarFunc":{"name":"date_trunc",` +
				`"args":[` +
				`{"Literal":"hour"},{"NamedIdent":"ts"}]}}]}}]`,
			`SELECT date_trunc('hour', "ts"), max("status")` + from +
				` GROUP BY date_trunc('hour', "ts") ORDER BY date_trunc('hour', "ts") LIMIT 1000`,
		},
		{`"exprs":[{"AggrFunc":{"name":"count","args":[]}}]`, `SELECT count(*)` + from + ` LIMIT 1000`},
		{`"columns":["nope"]`, "4002 no column"},
		{`"exprs":[{"PositionalIdent":1}]`, "1001 PositionalIdent"},
		{`"exprs":[{"Decompose":{}}]`, "1001 Decompose"},
		{`"exprs":[{"Nope":1}]`, "1004 an expression must be"},
		{`"exprs":[{"NamedIdent":1}]`, "1004 NamedIdent"},
		{`"exprs":[{"Literal":null}]`, "1004 a value"},
		{`"exprs":[{"ScalarFunc":{"name":"a; DROP TABLE x","args":[]}}]`, "1004 not a valid function name"},
		{`"exprs":[{"ScalarFunc":{"name":"lower","args":[],"by":[{"Literal":1}]}}]`, "1004 no member by"},
		{
			`"exprs":[{"ScalarFunc":{"name":"lower","args":[{"AggrFunc":{"name":"max","args":[]}}]}}]`,
			"1004 inside another",
		},
		{`"exprs":[{"ScalarFunc":1}]`, "1004 has the members name"},
		{`"exprs":[{"Alias":{"expr":{"Literal":1}}}]`, "1004 Alias"},
		{`"exprs":[{"Alias":{"expr":{"Literal":1},"alias":"\u0000"}}]`, "1004 NUL"},
		{`"exprs":[{"BinaryOp":{"left":{"Literal":1},"op":"||","right":{"Literal":1}}}]`, "1004 operator"},
		{`"exprs":[{"BinaryOp":{"left":{"Literal":1},"op":"Eq"}}]`, "1004 BinaryOp"},
	} {
		members, want := c.members, c.want
		got, err := compile(members)
		check(t, members, got, err, want)
	}
}

func TestIsQuery(t *testing.T) {
	for text, want := range map[string]bool{
		`{"table":{`: true, " {\n\"time_filter\" :": true, `{"resourceLogs":[]}`: false, `{}`: false, ``: false, `{`: false,
		`{"tab`: false, `["table"]`: false, `{"resource_logs":[],"table":1}`: false,
	} {
		if IsQuery([]byte(text)) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// FuzzCompile checks that a query is either refused or becomes one statement that reads the table in the query.
func FuzzCompile(f *testing.F) {
	f.Add(`{"table":{"table_name":"app"},"time_filter":{"start":"2026","end":"2027-01-01T00:00:00Z"},"limit":{"skip":1}}`)
	f.Add(`{"table":{"table_name":"app"},"time_filter":{"span":1},"filters":{"And":[{"Not":{"Single":{"expr":` +
		`{"NamedIdent":"level"},"filters":[{"Regex":"'"},{"In":["a",1,true]},` +
		`{"Compound":[[{"Equal":{"Int":1}}],"Or"]}]}}}]}}`)
	f.Add(`{"table":{"table_name":"app"},"time_filter":{"span":1},"columns":["level"],"exprs":[{"AggrFunc":` +
		`{"name":"count",` +
		`"args":[],"by":[{"ScalarFunc":{"name":"lower","args":[{"Literal":"x"}],"alias":"a\"b"}}]}},{"BinaryOp":{"left":` +
		`{"Literal":1},"op":"<","right":{"Literal":-1e5}}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		sql, err := Compile([]byte(text), "public", lookup, now)
		if err != nil {
			if errs.CodeOf(err) == errs.Unknown {
				t.Errorf("%v has no error code", err)
			}
			return
		}
		list, err := statement.Parse(sql)
		if err != nil {
			return // for example a function that is not allowed
		}
		if len(list) != 1 || !list[0].Rows() {
			t.Errorf("%s: %T", sql, list[0])
		}
	})
}
