package engine

import (
	"strings"
	"testing"

	"cordwood/proto/errs"
)

// TestAdvice looks that errors of common mistakes say what to do.
func TestAdvice(t *testing.T) {
	e := openEngine(t, t.TempDir())
	for _, unit := range []string{"Second", "Millisecond", "Microsecond", "Nanosecond"} {
		columns := cols("ts:Timestamp"+unit, "n:Int64", "m:String")
		tab := table("t", columns, batch(t, columns, []any{1, 1, "x"}))
		for sql, want := range map[string]string{
			"SELECT * FROM t WHERE ts = 5":                              "epoch_ms(milliseconds)",
			"SELECT * FROM t WHERE ts > 1767600000000":                  "make_timestamp_ns(nanoseconds)",
			"SELECT * FROM t WHERE 5 < ts":                              "to_timestamp(seconds)",
			"SELECT * FROM t WHERE ts BETWEEN 1 AND 2":                  "to_timestamp(seconds)",
			"SELECT * FROM t WHERE ts > 'garbage'":                      "time",
			"SELECT * FROM t WHERE n = 'garbage'":                       "it is no integer",
			"SELECT * FROM t WHERE matches_term(n, 'x')":                "search texts, not values of type BIGINT; cast the column",
			"SELECT * FROM t WHERE matches(ts, 'x AND y') AND m = 'no'": "search texts, not values of type TIMESTAMP",
		} {
			_, err := ask(e, sql, tab)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "cordwood_") {
				t.Errorf("%s, %s: got %v, want %q", unit, sql, err, want)
			}
			if code := errs.CodeOf(err); code != errs.InvalidArguments && code != errs.PlanQuery {
				t.Errorf("%s, %s: got code %d", unit, sql, code)
			}
		}
	}
}
