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

// TestErrorKinds looks that what the engine says gets the code and the words that help.
func TestErrorKinds(t *testing.T) {
	for _, c := range []struct {
		message string
		code    errs.Code
		status  int
		want    string
	}{
		{`{"exception_type":"Out of Memory","exception_message":"could not allocate block"}`, errs.RuntimeResourcesExhausted, 503, "needs more memory"},
		{`{"exception_type":"INTERNAL","exception_message":"Memory allocation failure"}`, errs.RuntimeResourcesExhausted, 503, "needs more memory"},
		{`Parser Error: std::bad_alloc`, errs.RuntimeResourcesExhausted, 503, "try again"},
		{`std::bad_alloc`, errs.RuntimeResourcesExhausted, 503, "needs more memory"},
		{`{"exception_type":"INTERNAL","exception_message":"Information loss on integer cast: value 2147483648\nStack Trace: x"}`, errs.EngineExecuteQuery, 500, "value 2147483648"},
		{`{"exception_type":"FATAL","exception_message":"database has been invalidated because of a previous fatal error"}`, errs.External, 503, "send the query again"},
		{`{"exception_type":"Binder","exception_message":"Max expression depth limit of 250 exceeded. Use \"SET max_expression_depth TO x\""}`, errs.Unsupported, 400, "nested too deeply"},
	} {
		err := errs.From(toClient(engineError(c.message, 0), nil))
		if err.Code != c.code || err.Status() != c.status || !strings.Contains(err.ClientMessage(), c.want) || strings.Contains(err.Msg, "Stack") {
			t.Errorf("%s: %d, status %d, %s", c.message, err.Code, err.Status(), err.ClientMessage())
		}
		if c.status == 503 && err.RetryAfter == 0 {
			t.Errorf("%s: nothing says when to try again", c.message)
		}
	}
	wrong := &syntaxTree{Error: true, ErrorType: "parser", ErrorMessage: "std::bad_alloc"}
	if err := errs.From(wrong.clientError(&statement{comment: -1})); err.Code != errs.RuntimeResourcesExhausted || err.Status() != 503 || err.RetryAfter == 0 {
		t.Errorf("no memory to parse: %+v", err)
	}
}

// TestCommentAdvice names the comment that ends a statement early.
func TestCommentAdvice(t *testing.T) {
	e := openEngine(t, t.TempDir())
	for sql, want := range map[string]string{
		"SELECT -----1":                     "two hyphens begin a comment, here at position 7",
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
