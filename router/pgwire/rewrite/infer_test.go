package rewrite

import (
	"strings"
	"testing"
)

// TestOperandBeside checks which operand the type of a parameter is derived from.
func TestOperandBeside(t *testing.T) {
	for in, want := range map[string]string{
		"SELECT n + $1 FROM t":                          "SELECT epoch_ns(n, 1, 1) FROM t",
		"SELECT $1 - t.n FROM t WHERE x = $2":           "SELECT epoch_ns(t.n, 1, 1) FROM t WHERE x = NULL",
		"SELECT a * b + $1":                             "SELECT epoch_ns(a * b, 1, 1)",
		"SELECT a + b * $1":                             "SELECT a + epoch_ns(b, 1, 1)",
		"SELECT now() - $1 * interval '1 hour'":         "SELECT now() - epoch_ns(interval '1 hour', 1, 1)",
		"SELECT f(a, (b))[1]::int8 + $1":                "SELECT epoch_ns(f(a, (b))[1]::int8, 1, 1)",
		"SELECT $1 * -(a + b) FROM t":                   "SELECT epoch_ns(-(a + b), 1, 1) FROM t",
		"SELECT $2, a + $1, $2":                         "SELECT NULL, epoch_ns(a, 1, 1), NULL",
		"SELECT $1::int + n":                            "",
		"SELECT j -> $1":                                "",
		"SELECT $1, n FROM t":                           "",
		"SELECT 1 WHERE n = $1 AND m > $2":              "",
		"SELECT $1 + $2":                                "",
		"SELECT sum(n) FILTER (WHERE true) OVER w + $1": "SELECT sum(n) FILTER (WHERE true) OVER epoch_ns(w, 1, 1)",
		"SELECT + $1":                                   "",
		"SELECT $1 +":                                   "",
		"SELECT ) + $1 + (":                             "",
	} {
		places, _, err := Places(in)
		if err != nil {
			t.Fatal(err)
		}
		b, ok := OperandBeside(in, places, 1, map[int]bool{1: true, 2: true})
		if ok != (want != "") || b.Probe != want {
			t.Errorf("%s: %q, want %q", in, b.Probe, want)
		}
	}
}

// TestBesideType checks the types of parameters that follow from the types of operands.
func TestBesideType(t *testing.T) {
	for _, tt := range []struct {
		op, engine string
		want       uint32
	}{
		{"+", "BIGINT", oidInt8},
		{"-", "INTEGER_LITERAL", oidInt4},
		{"*", "DECIMAL(2,1)", oidNumeric},
		{"^", "BIGINT", oidFloat8},
		{"*", "INTERVAL", oidFloat8},
		{"-", "INTERVAL", oidInterval},
		{"+", "TIMESTAMP_NS", oidInterval},
		{"-", "TIMESTAMP_NS", oidTimestampTZ},
		{"+", "STRUCT(a INTEGER)", 0},
		{"+", "", 0},
	} {
		if got := (Beside{op: tt.op}).Type(tt.engine); got != tt.want {
			t.Errorf("%s %s: %d, want %d", tt.engine, tt.op, got, tt.want)
		}
	}
}

// TestValueExpressions checks which values of INSERT are expressions.
func TestValueExpressions(t *testing.T) {
	for in, want := range map[string]string{
		"INSERT INTO t VALUES (1, -2, 'x', NULL, now(), '5'::int, (3), $1, DEFAULT, true)": "",
		"INSERT INTO t VALUES (x'00', TIMESTAMP '2026-01-05', 'a'::text)":                  "",
		"INSERT INTO t (a) VALUES (1 + $1)":                                                "SELECT 1 + $1",
		"INSERT INTO t VALUES (upper('a'), 2), (3, date 'today')":                          "SELECT upper('a') ,date 'today'",
		"INSERT INTO t VALUES (now() - interval '1 day') ON CONFLICT (a, b) DO NOTHING":    "SELECT now() - interval '1 day'",
		"INSERT INTO t SELECT 1 + 1":                                                       "",
		"INSERT INTO t VALUES (1 + 1":                                                      "",
		"INSERT INTO t DEFAULT VALUES":                                                     "",
	} {
		got := ValueExpressions(in)
		if strings.Join(strings.Fields(got), " ") != want || got != "" && len(got) != len(in) {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
