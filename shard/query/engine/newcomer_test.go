package engine

import (
	"strings"
	"testing"

	"cordwood/proto/errs"
)

// TestHintsForNewcomers checks that common mistakes of newcomers get an error that shows what to
// write instead.
func TestHintsForNewcomers(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampNanosecond", "host:String", "at2:Int64", "user.id:Int64", "a.b.c:Int64")
	tab := table("logs", columns, batch(t, columns, []any{1, "a", 2, 3, 4}))
	for sql, want := range map[string]string{
		"SELECT cuont(*) FROM logs":                                  `function cuont does not exist; did you mean "count"?`,
		"SELECT summ(at2) FROM logs":                                 `did you mean "sum"?`,
		"SELECT date_trnc('day', ts) FROM logs":                      `did you mean "date_trunc"?`,
		"SELECT * FROM logs WHERE match(host, 'a')":                  `did you mean "matches"?`,
		"SELECT date_histogram(ts) FROM logs":                        "does not exist; write time_bucket(",
		"SELECT toStartOfHour(ts) FROM logs":                         "does not exist; write date_trunc('hour', ts)",
		"SELECT * FROM logs WHERE hasToken(host, 'a')":               "does not exist; write matches_term(",
		"SELECT percentile(at2, 99) FROM logs":                       "does not exist; write quantile_cont(",
		"SELECT percentile_cont(at2, 0.99) FROM logs":                "does not exist; write quantile_cont(",
		"SELECT now() - 1h FROM logs":                                "INTERVAL '1 hour'",
		"SELECT * FROM logs WHERE ts > now() - 1h":                   "INTERVAL '1 hour'",
		"SELECT * FROM logs WHERE ts > now() - '1 hour'":             "INTERVAL '1 hour'",
		"SELECT ts - '1 hour' FROM logs":                             "INTERVAL '1 hour'",
		"SELECT * FROM logs WHERE user.id = 7":                       `write "user.id"`,
		"SELECT logs.user.id FROM logs":                              `write "user.id"`,
		"SELECT a.b.c FROM logs":                                     `write "a.b.c"`,
		`SELECT count(*), "user"."id" FROM logs GROUP BY ALL`:        `write "user.id"`,
		"SELECT xyzzyplugh(host) FROM logs":                          "the function xyzzyplugh does not exist",
		`SELECT * FROM logs WHERE host = "a b"`:                      "write a text in single quotes, 'a b'",
		`SELECT * FROM logs WHERE at2 = 2 AND host IN ("a''")`:       "write a text in single quotes, 'a'''''",
		"SELECT * FROM (PIVOT logs ON host USING count(*))":          "PIVOT needs the values that become columns, as in",
		"PIVOT logs ON host USING count(*)":                          "PIVOT needs the values that become columns, as in",
		`SELECT a.b->>'n'::INT FROM (SELECT {'b': '{}'::JSON} AS a)`: "write (a.b->>'n')::INT",
		`SELECT host FROM logs WHERE host->>'n'::INT > 1`: "'n'::INT casts the key, because :: binds more tightly " +
			"than ->>; to cast the value, write (host->>'n')::INT",
		`SELECT host -> 'a' ->> 'b c'::DOUBLE FROM logs`:       "write (…->>'b c')::DOUBLE",
		`SELECT host->'n'::BIGINT FROM logs`:                   "than ->; to cast the value, write (host->'n')::BIGINT",
		`SELECT (host->>'n') + 1 FROM logs`:                    "cast the text to a number, as in",
		`SELECT json_extract('{}', '$["k"]')`:                  `write it as '$.a.b[0]', and a key`,
		`SELECT json_extract('{}', ['$.a', '$[k]'])`:           `a path of JSON is wrong near '[k]'; write it as`,
		`SELECT '{}'::JSON->>x FROM (SELECT '$["k"]' AS x)`:    `wrong near '["k"]'; write it as`,
		`SELECT json_exists('{}', concat('$', '.n.[0]'))`:      `wrong near '.[0]'; write it as '$.a.b[0]'`,
		`SELECT * FROM json_each('{}', '$.')`:                  `write it as '$.a.b[0]'`,
		"SELECT '3000-01-01 10:00:00'::TIMESTAMP_NS FROM logs": "is 1677-09-21 00:12:44 to 2262-04-11 23:47:16; cast both",
	} {
		_, err := ask(e, sql, tab)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", sql, err, want)
		}
	}
	for _, sql := range []string{
		"SELECT * FROM logs WHERE host = a", "SELECT * FROM logs WHERE host = `a`", "SELECT at FROM logs",
		"SELECT logs.\"no\" FROM logs",
	} {
		if _, err := ask(e, sql, tab); errs.CodeOf(err) != errs.ColumnNotFound ||
			strings.Contains(err.Error(), "single quotes") {
			t.Errorf("%s: got %v", sql, err)
		}
	}
	if _, err := ask(e, "SELECT logs.host FROM logs PIVOT (count(*) FOR host IN ('a'))", tab); err != nil &&
		strings.Contains(err.Error(), "PIVOT needs") {
		t.Error(err)
	}
}

// TestHeadersInTheirCase checks that the answer has the exact name of a column whose name differs
// only in case from another's.
func TestHeadersInTheirCase(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampNanosecond", "A:String", "a:String")
	tab := table("logs", columns, batch(t, columns, []any{1, "x", "y"}))
	for sql, want := range map[string]string{
		`SELECT "a" FROM logs`:               "a",
		`SELECT "A", a FROM logs`:            "A a",
		`SELECT * FROM logs`:                 "ts A a",
		`SELECT a AS a_1 FROM logs`:          "a_1",
		`SELECT max(a) AS b FROM logs`:       "b",
		`SELECT a FROM (SELECT a FROM logs)`: "a",
	} {
		a, err := ask(e, sql, tab)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		var got []string
		for _, f := range a.schema.Fields() {
			got = append(got, f.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: columns %q, want %q", sql, got, want)
		}
	}
}

// TestDotsBeforeBrackets checks that a dot before a bracket in a JSON path is ignored.
func TestDotsBeforeBrackets(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampNanosecond", "j:Json")
	tab := table("logs", columns, batch(t, columns, []any{1, `{"n":[1,{"k":2}],"a.[b":3}`}))
	for sql, want := range map[string]string{
		`SELECT j->'$.n.[0]' FROM logs`:                                         "1",
		`SELECT j->>'$.n.[1].k' FROM logs WHERE j->'$.n.[0]' = 1`:               "2",
		`SELECT json_extract(j, '$.n.[1]') FROM logs`:                           `{"k":2}`,
		`SELECT json_extract_string(j->'n', '$.[0]') FROM logs`:                 "1",
		`SELECT json_exists(j, '$.n.[7]') FROM logs`:                            "false",
		`SELECT json_array_length(j, '$.n') FROM logs`:                          "2",
		`SELECT json_extract(j, '$."a.[b"') FROM logs`:                          "3",
		`SELECT json_extract(j, ['$.n.[0]', '$.n.[1].k'])[2] FROM logs`:         "2",
		`SELECT (j->['$.n.[0]', '$.n.[1].k'])[2] FROM logs`:                     "2",
		`SELECT (j->>ARRAY['$.n.[0]'])[1] FROM logs`:                            "1",
		`SELECT json_value(j, ['$.n.[0]'::VARCHAR])[1] FROM logs`:               "1",
		`SELECT j->>CASE WHEN true THEN '$.n.[0]' ELSE '$.n.[1]' END FROM logs`: "1",
		`SELECT j->>coalesce(NULL, '$.n.[0]') FROM logs`:                        "1",
		`SELECT l.j.json_extract('$.n.[0]') FROM logs AS l`:                     "1",
		`SELECT j.json_extract('$.n.[0]') FROM logs`:                            "1",
		`SELECT key FROM json_each('{"n":[1,[2]]}', '$.n.[1]')`:                 "0",
		`SELECT count(*) FROM json_tree('{"n":[1,[2]]}', '$.n.[1]')`:            "2",
		`SELECT e.value FROM logs, json_each(j, '$.n.[1]') AS e`:                "2",
		`SELECT json_object('a', '$.[1]')`:                                      `{"a":"$.[1]"}`,
		`SELECT json_array('a', '$.[1]')`:                                       `["a","$.[1]"]`,
		`SELECT list_transform(['a'], lambda x: '$.[1]')[1]`:                    "$.[1]",
		`SELECT list_transform(['a'], x -> '$.[1]')[1]`:                         "$.[1]",
		`SELECT ['a'].list_transform(x -> '$.[1]')[1]`:                          "$.[1]",
		`SELECT list_reduce(['a', 'b'], lambda x, y: '$.[1]')`:                  "$.[1]",
		`SELECT list_transform([j], x -> x->'$.n.[0]')[1] FROM logs`:            "1",
		`SELECT list_transform(['a'], x -> 'b'::BLOB)[1]::VARCHAR`:              "b",
		`SELECT '[5]'::JSON->>'0'::INT`:                                         "5",
		`SELECT j->>'a.[b'::VARCHAR FROM logs`:                                  "3",
		`SELECT j->CAST('0' AS INT) IS NULL FROM logs`:                          "true",
	} {
		if got := strings.Join(mustQuery(t, e, sql, tab), " "); got != want {
			t.Errorf("%s: got %s, want %s", sql, got, want)
		}
	}
}
