package engine

import (
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/duck"
	"cordwood/shard/query/engine/sql"
)

// TestOutsideNanos checks that an error about times beyond the range of nanoseconds gives advice,
// and that the advice helps.
func TestOutsideNanos(t *testing.T) {
	e := openEngine(t, t.TempDir())
	fine := cols("ts:TimestampNanosecond", "n:Int64")
	other := table("fine", fine, batch(t, fine, []any{1_000_000_000, 1}, []any{5_000_000_000, 2}))
	for unit, scale := range map[string]int{"Second": 1, "Millisecond": 1e3, "Microsecond": 1e6} {
		columns := cols("ts:Timestamp"+unit, "n:Int64")
		tab := table("t", columns, batch(t, columns, []any{1 * scale, 1}, []any{253402300799 * scale, 2},
			[]any{-62135596800 * scale, 3}))
		for _, sql := range []string{
			"SELECT epoch_ns(ts) FROM t", "SELECT ts::TIMESTAMP_NS FROM t",
			"SELECT n FROM t WHERE ts > TIMESTAMP_NS '1970-01-01'",
			"SELECT t.n FROM t JOIN fine ON t.ts = fine.ts", "SELECT ts::DATE::TIMESTAMP_NS FROM t",
		} {
			_, err := ask(e, sql, tab, other)
			if errs.CodeOf(err) != errs.InvalidArguments || !strings.Contains(err.Error(), "TRY_CAST(… AS TIMESTAMP_NS)") {
				t.Errorf("%s, %s: %v", unit, sql, err)
			}
		}
		for sql, want := range map[string]string{
			"SELECT try_cast(ts AS TIMESTAMP_NS)::VARCHAR FROM t " +
				"ORDER BY n": "1970-01-01 00:00:01 NULL NULL",
			"SELECT try(epoch_ns(ts)) FROM t ORDER BY n": "1000000000 NULL " +
				"NULL",
			"SELECT epoch_us(ts) FROM t " +
				"ORDER BY n": "1000000 253402300799000000 -62135596800000000",
			"SELECT epoch_ms(ts) FROM t " +
				"ORDER BY n": "1000 253402300799000 -62135596800000",
			"SELECT t.n FROM t JOIN fine ON t.ts = fine.ts::TIMESTAMP": "1",
			"SELECT strftime(ts, '%Y') FROM t WHERE n < 3 ORDER BY n":  "1970 9999",
			"SELECT n FROM (SELECT * FROM t) ORDER BY ts LIMIT 2":      "3 1",
			"SELECT n FROM t ORDER BY ts DESC LIMIT 2":                 "2 1",
			"SELECT date_trunc('year', ts)::VARCHAR FROM t WHERE n < 3 " +
				"ORDER BY n": "1970-01-01 00:00:00 9999-01-01 00:00:00",
			"SELECT time_bucket(INTERVAL 1 DAY, ts)::DATE::VARCHAR FROM t WHERE n = 2":             "9999-12-31",
			"SELECT n FROM t WHERE ts > now()":                                                     "2",
			"SELECT n FROM t WHERE ts BETWEEN '0001-01-01' AND now() - INTERVAL 1 HOUR ORDER BY n": "1 3",
			"SELECT n FROM t WHERE ts >= '9999-12-31 23:59:59' AND ts::DATE = '9999-12-31'":        "2",
			"SELECT year(ts) FROM t ORDER BY n":                                                    "1970 9999 1",
			"SELECT count(*) FROM t WHERE ts IN ('1970-01-01 00:00:01', '9999-12-31 23:59:59')":    "2",
			"SELECT count(*) FROM (SELECT count(*) FROM t GROUP BY date_trunc('hour', ts))":        "3",
			"SELECT max(ts) > '9999-01-01', min(ts) < '0002-01-01' FROM t":                         "true|true",
			"SELECT ts::TIMESTAMP_MS::VARCHAR, ts::TIMESTAMP_S::VARCHAR FROM t " +
				"WHERE n = 2": "9999-12-31 23:59:59|9999-12-31 23:59:59",
			"SELECT ts + INTERVAL 1 DAY > ts, date_diff('day', ts, now()) < 0 FROM t WHERE n = 2":         "true|true",
			"SELECT n FROM t WHERE ts > (SELECT max(ts)::TIMESTAMP FROM fine) ORDER BY n":                 "2",
			"SELECT count(*) FROM (SELECT ts FROM t UNION ALL SELECT ts::TIMESTAMP FROM fine) WHERE true": "5",
		} {
			if got := strings.Join(mustQuery(t, e, sql, tab, other), " "); got != want {
				t.Errorf("%s, %s: %s, want %s", unit, sql, got, want)
			}
		}
	}
}

// TestAdvice checks that errors about common mistakes contain advice.
func TestAdvice(t *testing.T) {
	e := openEngine(t, t.TempDir())
	for _, unit := range []string{"Second", "Millisecond", "Microsecond", "Nanosecond"} {
		columns := cols("ts:Timestamp"+unit, "n:Int64", "m:String")
		tab := table("t", columns, batch(t, columns, []any{1, 1, "x"}))
		outside := "is outside the range of nanoseconds"
		if unit == "Microsecond" { // compared as microseconds, which have a larger range
			outside = "write a year between"
		}
		for sql, want := range map[string]string{
			"SELECT * FROM t WHERE ts + INTERVAL 1 DAY = 5": "epoch_ms(milliseconds)",
			"SELECT * FROM t WHERE ts > 1767600000000.5":    "make_timestamp_ns(nanoseconds)",
			"SELECT * FROM t WHERE 5.5 < ts":                "to_timestamp(seconds)",
			"SELECT * FROM t WHERE ts BETWEEN 1e0 AND 2e0":  "to_timestamp(seconds)",
			"SELECT * FROM t WHERE ts > 'garbage'":          "time",
			"SELECT * FROM t WHERE ts > '1438191704'":       "without quotes",
			"SELECT * FROM t WHERE ts < '300000-01-01'":     outside,
			"SELECT * FROM t WHERE ts > '2026-13-01'":       "there is no such day or time of day",
			"SELECT ts::BIGINT FROM t":                      "epoch_ms(ts), epoch_us(ts) or epoch_ns(ts)",
			"SELECT * FROM t WHERE m contains 'x'":          "write a search as a function, as in matches(message, 'error')",
			"SELECT * FROM t LIMIT 20, 10":                  "instead of LIMIT 20, 10 write LIMIT 10 OFFSET 20",
			"SELECT TOP 5 * FROM t":                         "write the number of rows at the end, as in LIMIT 5",
			"SELECT * FROM t WHERE n = 'garbage'":           "it is neither an integer nor a time",
			"SELECT * FROM t WHERE m > 5":                   "write the number as text, as in code = '404'",
			"SELECT * FROM t WHERE matches_term(n, 'x')": "search texts, not values of type BIGINT; " +
				"cast the column",
			"SELECT * FROM t WHERE matches(ts, 'x AND y') AND m = 'no'": "search texts, not values of type TIMESTAMP",
		} {
			_, err := ask(e, sql, tab)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "cordwood_") {
				t.Errorf("%s, %s: got %v, want %q", unit, sql, err, want)
			}
			if code := errs.CodeOf(err); code != errs.InvalidArguments && code != errs.PlanQuery && code != errs.InvalidSyntax {
				t.Errorf("%s, %s: got code %d", unit, sql, code)
			}
		}
	}
}

// TestErrorKinds checks that errors of DuckDB get the right code and useful advice.
func TestErrorKinds(t *testing.T) {
	for _, c := range []struct {
		message string
		code    errs.Code
		status  int
		want    string
	}{
		{
			`{"exception_type":"Out of Memory","exception_message":"could not allocate block"}`,
			errs.RuntimeResourcesExhausted, 503, "needs more memory",
		},
		{
			`{"exception_type":"INTERNAL","exception_message":"Memory allocation failure"}`,
			errs.RuntimeResourcesExhausted, 503, "needs more memory",
		},
		{
			`{"exception_type":"Conversion","exception_message":"timestamp field value out of range: \"2023-13-45\""}`,
			errs.InvalidArguments, 400, "there is no such day or time of day",
		},
		{
			`{"exception_type":"Conversion","exception_message":"timestamp field value out of range: ` +
				`\"1700000000000000\""}`,
			errs.InvalidArguments, 400, "write a number without quotes",
		},
		{
			`{"exception_type":"Conversion","exception_message":"timestamp field value out of range: \"300000-01-01\""}`,
			errs.InvalidArguments, 400, "write a year between -290307 and 294246",
		},
		{`Parser Error: std::bad_alloc`, errs.RuntimeResourcesExhausted, 503, "try again"},
		{`std::bad_alloc`, errs.RuntimeResourcesExhausted, 503, "needs more memory"},
		{
			`{"exception_type":"INTERNAL","exception_message":"Information loss on integer cast: ` +
				`value 2147483648\nStack Trace: x"}`,
			errs.EngineExecuteQuery, 500, "value 2147483648",
		},
		{
			`{"exception_type":"FATAL","exception_message":"database has been invalidated because of a previous fatal error"}`,
			errs.External, 503, "send the query again",
		},
		{
			`{"exception_type":"Binder","exception_message":"Max expression depth limit of 250 exceeded. ` +
				`Use \"SET max_expression_depth TO x\""}`,
			errs.Unsupported, 400, "nested too deeply",
		},
	} {
		err := errs.From(sql.ToClient(duck.EngineError(c.message, 0), nil))
		if err.Code != c.code || err.Status() != c.status || !strings.Contains(err.ClientMessage(), c.want) ||
			strings.Contains(err.Msg, "Stack") {
			t.Errorf("%s: %d, status %d, %s", c.message, err.Code, err.Status(), err.ClientMessage())
		}
		if c.status == 503 && err.RetryAfter == 0 {
			t.Errorf("%s: nothing says when to try again", c.message)
		}
	}
	_, _, wrong := sql.Parse("SELECT 1", "public", func(string) (string, error) {
		return `{"error":true,"error_type":"parser","error_message":"std::bad_alloc"}`, nil
	})
	if err := errs.From(wrong); err.Code != errs.RuntimeResourcesExhausted || err.Status() != 503 || err.RetryAfter == 0 {
		t.Errorf("no memory to parse: %+v", err)
	}
}

// TestCommentAdvice checks that the error shows the comment which ends a statement early.
func TestCommentAdvice(t *testing.T) {
	e := openEngine(t, t.TempDir())
	for sql, want := range map[string]string{
		"SELECT -----1":                     "until the end of the line, here at position 7",
		"SELECT '--' AS a FROM --x":         "here at position 22",
		"SELECT '--' /* -- */ FROM t WHERE": "at end of input",
	} {
		_, err := e.Analyze(t.Context(), sql, "public")
		if errs.CodeOf(err) != errs.InvalidSyntax || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", sql, err, want)
		} else if strings.Contains(err.Error(), "hyphens") != strings.Contains(want, "position") {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestMissingColumns checks that the error lists similar columns, and explains how to quote a text
// if a text may be meant.
func TestMissingColumns(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampSecond", "message:String")
	tab := table("t", columns, batch(t, columns, []any{1, "a"}))
	for sql, want := range map[string]string{
		"SELECT mesage FROM t": `there is no column "mesage"; the nearest names are "message", "ts" (position 7)`,
		"SELECT * FROM t WHERE message = info": `there is no column "info"; the nearest names are "message"; ` +
			`if it is a text, write 'info' (position 32)`,
		`SELECT * FROM t WHERE message = "info"`: `single quotes, 'info' (position 32)`,
		"SELECT * FROM t LIMIT ten":              `there is no column "ten" (position 22)`,
	} {
		if _, err := ask(e, sql, tab); err == nil || !strings.HasSuffix(err.Error(), want) ||
			errs.CodeOf(err) != errs.ColumnNotFound {
			t.Errorf("%s: %v, want %s", sql, err, want)
		}
	}
}

// TestNumberOutOfRange checks the error for a number that is larger than the largest DOUBLE, and that the largest one
// and infinity can be written.
func TestNumberOutOfRange(t *testing.T) {
	e := openEngine(t, t.TempDir())
	for _, sql := range []string{"SELECT 1e400", "SELECT -1e400", "SELECT 1 WHERE 2 < 1e309"} {
		_, err := request(t.Context(), e, &query.Request{SQL: sql, Database: "public"})
		if errs.CodeOf(err) != errs.PlanQuery || !strings.Contains(err.Error(), "out of range: the largest DOUBLE is") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for _, sql := range []string{"SELECT 1.7976931348623157e308", "SELECT 'infinity'::DOUBLE", "SELECT 'Infinity'"} {
		if _, err := request(t.Context(), e, &query.Request{SQL: sql, Database: "public"}); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestLimitTooLarge checks the error for a LIMIT or OFFSET beyond 64 bits.
func TestLimitTooLarge(t *testing.T) {
	e := openEngine(t, t.TempDir())
	for sql, want := range map[string]string{
		"SELECT 1 LIMIT 9223372036854775808": "LIMIT 9223372036854775808 is too large; the maximum is 9223372036854775807",
		"SELECT 1 LIMIT 1 offset\n9223372036854775808": "OFFSET 9223372036854775808 is too large; the maximum is " +
			"9223372036854775807",
		"SELECT 9223372036854775808::BIGINT": "Type INT128 with value 9223372036854775808 can't be cast",
	} {
		_, err := request(t.Context(), e, &query.Request{SQL: sql, Database: "public"})
		if errs.CodeOf(err) != errs.InvalidArguments || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
