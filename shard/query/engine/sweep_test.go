package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cordwood/shard/query/engine/sql"
)

// signature describes a call of a function: its name and the types of its arguments.
type signature struct {
	name string
	// kind is scalar, aggregate or window.
	kind string
	args []string
	// more is the type of further arguments, or empty.
	more string
}

// windowFunctions are the window functions that DuckDB's list of functions lacks.
var windowFunctions = []signature{
	{name: "lag", args: []string{"ANY", "BIGINT", "ANY"}},
	{name: "lead", args: []string{"ANY", "BIGINT", "ANY"}},
	{name: "nth_value", args: []string{"ANY", "BIGINT"}},
	{name: "ntile", args: []string{"BIGINT"}},
	{name: "first_value", args: []string{"ANY"}},
	{name: "last_value", args: []string{"ANY"}},
	{name: "fill", args: []string{"DOUBLE"}},
	{name: "row_number"},
	{name: "rank"},
	{name: "dense_rank"},
	{name: "percent_rank"},
	{name: "cume_dist"},
}

// signatures returns the signatures of all functions that queries may call.
func signatures(t testing.TB) [][]signature {
	e, err := Open(Config{Threads: 1, MemoryLimit: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, err := e.current.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	text, err := s.QueryText(`SELECT string_agg(line, chr(10) ORDER BY line) FROM (
		SELECT DISTINCT concat_ws('|', lower(function_name), function_type, array_to_string(parameter_types, ';'), `+
		`coalesce(varargs, '')) AS line
		FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'macro') AND ?::VARCHAR = '')`, "")
	if err != nil {
		t.Fatal(err)
	}
	var list []signature
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		if len(f) < 4 {
			continue // an operator with a bar in its name
		}
		switch sql.Functions[f[0]] {
		case sql.Allow, sql.Bound, sql.Guard:
		default:
			continue
		}
		sig := signature{name: f[0], kind: f[1], more: f[3]}
		if f[2] != "" {
			sig.args = strings.Split(f[2], ";")
		}
		if sig.kind == "macro" {
			sig.kind = "scalar"
		}
		list = append(list, sig)
	}
	for _, sig := range windowFunctions {
		sig.kind = "window"
		list = append(list, sig)
	}
	for _, name := range []string{"matches", "matches_term"} {
		list = append(list, signature{name: name, kind: "scalar", args: []string{"VARCHAR", "VARCHAR"}})
	}
	slices.SortStableFunc(list, func(a, b signature) int { return strings.Compare(a.name, b.name) })
	var byName [][]signature
	for i, sig := range list {
		if i == 0 || list[i-1].name != sig.name {
			byName = append(byName, nil)
		}
		byName[len(byName)-1] = append(byName[len(byName)-1], sig)
	}
	return byName
}

// hostileValues are arguments by type. Some are expressions without columns, and some use columns
// of sweepTable.
var hostileValues = map[string][]string{
	"BOOLEAN": {"true", "false", "NULL::BOOLEAN", "i > 0"},
	"BIGINT": {
		"0", "1", "-1", "7", "127", "128", "255", "32767", "32768", "65536", "1000000", "2147483647", "2147483648",
		"-2147483648", "4294967296",
		"9223372036854775807", "-9223372036854775808", "NULL::BIGINT", "i", "-i", "k",
	},
	"HUGEINT": {
		"0::HUGEINT", "170141183460469231731687303715884105727", "-170141183460469231731687303715884105727",
		"18446744073709551616", "i::HUGEINT * i",
	},
	"UBIGINT":  {"0::UBIGINT", "18446744073709551615", "u", "NULL::UBIGINT"},
	"UHUGEINT": {"0::UHUGEINT", "340282366920938463463374607431768211455::UHUGEINT"},
	"DOUBLE": {
		"0.0::DOUBLE", "'-0'::DOUBLE", "'nan'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE", "1e308", "-1e308", "5e-324",
		"0.5::DOUBLE", "1e18", "-1.5e9", "2.5e0",
		"9.3e18", "1e300", "f", "NULL::DOUBLE",
	},
	"DECIMAL": {
		"0.5", "99999999999999999999999999999999999999::DECIMAL(38,0)",
		"0.99999999999999999999999999999999999999::DECIMAL(38,38)", "-1.5::DECIMAL(4,1)",
		"(i % 1000)::DECIMAL(18,3)", "NULL::DECIMAL(5,2)",
	},
	"VARCHAR": {
		"''", "'a'", "'%'", "'\\'", "'_%_%_%_%_%a'", "'(a*)*b'", "'(((((a{100}){10}){10}){10}){10})'",
		"'%Y-%m-%d %H:%M:%S.%f'", "'%%%999999999d'", "'{:>999}'", "'year'", "'nanosecond'",
		"'1'", "'9223372036854775808'", "'1e999'", "'infinity'", "'-infinity'::TIMESTAMP::VARCHAR", "'{}'", "'[]'", "'$'",
		"'$.a'", "'$..a'", "'/a/b'", "'\"VARCHAR\"'",
		"'{\"a\":\"JSON\"}'", "'[\"BIGINT\"]'", "'UTC'", "'Europe/Paris'", "'NULL'", "chr(0)", "'é'", "'🦫'",
		"repeat('a', 1000)", "repeat('[', 1000)", "repeat('9', 1000)", "'é' || chr(1114111)",
		"'@{20000|[}@@{20000|]}@'", "'@{20000|{\"a\":}@1@{20000|}}@'", "'@{5000|(}@a@{5000|)}@'", "'@{60000|a,}@'",
		"'$@{20000|.a}@'", "'@{20000|{\"a\":}@\"INT\"@{20000|}}@'", "'@{20000|[}@\"INT\"@{20000|]}@'",
		"'@{2000|STRUCT(a }@INT@{2000|)}@'", "'@{30000|NOT }@x'", "'@{50000|%}@a'", "'@{50000|%Y}@'", "s", "s || s",
		"reverse(s)", "left(s, 70000)", "NULL::VARCHAR",
	},
	"JSON": {
		"'{}'::JSON", "'[1,2]'::JSON", "'null'::JSON", "'1e400'::JSON", "'@{20000|[}@@{20000|]}@'::JSON", "j",
		"s::JSON", "NULL::JSON", "to_json(i)",
	},
	"BLOB": {"''::BLOB", "'\\x00\\xFF'::BLOB", "b", "NULL::BLOB", "encode(s)"},
	"BIT":  {"'0'::BIT", "'101'::BIT", "i::BIT", "'@{10000|01}@'::BIT", "NULL::BIT"},
	"DATE": {
		"DATE '1970-01-01'", "DATE '5877642-06-25 (BC)'", "DATE '5881580-07-10'", "'infinity'::DATE",
		"'-infinity'::DATE", "ts::DATE", "NULL::DATE",
	},
	"TIMESTAMP": {
		"TIMESTAMP '1970-01-01'", "TIMESTAMP '290309-12-22 (BC) 00:00:00'", "TIMESTAMP '294247-01-10 04:00:54.775806'",
		"'infinity'::TIMESTAMP", "'-infinity'::TIMESTAMP",
		"make_timestamp(-1)", "ts", "ts::TIMESTAMP", "NULL::TIMESTAMP",
	},
	"TIMESTAMP_NS": {
		"ts", "make_timestamp_ns(-1)", "make_timestamp_ns(9223372036854775806)",
		"make_timestamp_ns(-9223372036854775806)", "'infinity'::TIMESTAMP_NS",
	},
	"TIME": {"TIME '00:00:00'", "TIME '24:00:00'", "NULL::TIME"},
	"INTERVAL": {
		"INTERVAL 0 DAY", "INTERVAL 1 MONTH", "INTERVAL '2147483647 months'", "INTERVAL '-2147483648 days'",
		"INTERVAL '1 microsecond'", "INTERVAL '106751991 days 4 hours'",
		"INTERVAL (i) DAY", "to_microseconds(i)", "NULL::INTERVAL", "to_months(2147483647)",
		"INTERVAL '-9223372036854775808 us'",
	},
	"UUID": {"'00000000-0000-0000-0000-000000000000'::UUID", "'ffffffff-ffff-ffff-ffff-ffffffffffff'::UUID", "NULL::UUID"},
	"LIST": {
		"[]", "[NULL]", "[1,2,3]", "[[1],[2]]", "['a',NULL]", "range(10000)", "[i, i]", "list_value(s)", "[f, 'nan'::DOUBLE]",
		"NULL::BIGINT[]", "[{'a': 1}]", "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]",
		"[1,2,3]::INT[3]", "array_value(1.0::DOUBLE, 'inf'::DOUBLE, -1e308)", "[1.5::FLOAT, 2]::FLOAT[2]",
		"'@{5000|[}@@{5000|]}@'::VARCHAR[]",
	},
	"STRUCT": {
		"{'a': 1}", "{'a': NULL}", "row(1, 'x')", "struct_pack(a := i, b := s)", "{'a': {'b': {'c': [1]}}}",
		"NULL::STRUCT(a INT)",
	},
	"MAP":    {"MAP {'a': 1}", "map([], [])", "map([1,2],[3,4])", "MAP {1: NULL}", "map([i],[s])", "NULL::MAP(INT,INT)"},
	"ENUM":   {"'a'::ENUM('a','b')", "NULL::ENUM('a')"},
	"UNION":  {"union_value(a := 1)", "1::UNION(num INT, str VARCHAR)"},
	"LAMBDA": {"x -> x", "x -> NULL", "(x, y) -> x", "x -> [x, x]", "x -> x::VARCHAR || x::VARCHAR", "(a, x) -> a"},
}

// categoryOf returns the list of values that an argument of a DuckDB type is taken from.
func categoryOf(r *rand.Rand, typ string) string {
	typ = strings.ToUpper(typ)
	switch {
	case strings.HasSuffix(typ, "]"), strings.HasPrefix(typ, "ARRAY"), strings.HasPrefix(typ, "LIST"):
		return "LIST"
	case strings.HasPrefix(typ, "DECIMAL"):
		return "DECIMAL"
	case strings.HasPrefix(typ, "STRUCT"):
		return "STRUCT"
	case strings.HasPrefix(typ, "MAP"):
		return "MAP"
	case strings.HasPrefix(typ, "LAMBDA"):
		return "LAMBDA"
	case strings.HasPrefix(typ, "TIMESTAMP"):
		return []string{"TIMESTAMP", "TIMESTAMP_NS"}[r.IntN(2)]
	case strings.HasPrefix(typ, "TIME"):
		return "TIME"
	case strings.HasSuffix(typ, "INT"), strings.HasSuffix(typ, "INTEGER"):
		if len(hostileValues[typ]) == 0 || r.IntN(2) == 0 {
			return "BIGINT"
		}
	case typ == "FLOAT":
		return "DOUBLE"
	case typ == "BOOL":
		return "BOOLEAN"
	}
	if len(hostileValues[typ]) > 0 {
		return typ
	}
	return hostileCategories[r.IntN(len(hostileCategories))]
}

var hostileCategories = func() (list []string) {
	for c := range hostileValues {
		list = append(list, c)
	}
	slices.Sort(list)
	return list
}()

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// pickFunction picks every name with the same probability, however many signatures it has.
func pickFunction(r *rand.Rand, list [][]signature) signature { return pick(r, pick(r, list)) }

// argument returns a hostile argument of a type, and sometimes of another type.
func argument(r *rand.Rand, typ string) string {
	if r.IntN(20) == 0 {
		typ = "ANY"
	}
	if r.IntN(25) == 0 {
		return "NULL"
	}
	return pick(r, hostileValues[categoryOf(r, typ)])
}

var hostileTypes = []string{
	"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "UINTEGER", "UBIGINT", "UHUGEINT",
	"FLOAT", "DOUBLE", "DECIMAL(4,1)", "DECIMAL(18,17)",
	"DECIMAL(38,37)", "DECIMAL(38,0)", "VARCHAR", "BLOB", "BIT", "DATE", "TIME", "TIMETZ", "TIMESTAMP", "TIMESTAMP_S",
	"TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ", "INTERVAL", "UUID",
	"JSON", "BIGINT[]", "VARCHAR[]", "VARCHAR[][]", "INT[3]", "DOUBLE[2]", "STRUCT(a INT)", "STRUCT(a VARCHAR, b JSON)",
	"MAP(VARCHAR, VARCHAR)", "MAP(INT, BIGINT)", "UNION(num INT, str VARCHAR)",
	"ENUM('a','b')", "BIGNUM", "VARIANT", "INT[100000]", "VARCHAR[1000][1000]", "JSON[]",
}

// hostileQuery returns a random statement with hostile arguments. The same seed gives the same
// statement.
func hostileQuery(list [][]signature, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 17))
	from := " FROM t"
	if r.IntN(3) == 0 {
		from = " FROM t WHERE i = " + pick(r, []string{"0", "-9223372036854775808", "9223372036854775807", "1"})
	}
	switch r.IntN(16) {
	case 0: // a cast
		return fmt.Sprintf("SELECT %s(%s AS %s)%s", pick(r, []string{"CAST", "TRY_CAST"}), argument(r, "ANY"),
			pick(r, hostileTypes), from)
	case 1: // a cast of a cast
		return fmt.Sprintf("SELECT TRY_CAST(TRY_CAST(%s AS %s) AS %s)%s", argument(r, "ANY"), pick(r, hostileTypes),
			pick(r, hostileTypes), from)
	case 2: // a frame of a window
		return fmt.Sprintf("SELECT sum(i) OVER (ORDER BY %s %s BETWEEN %s PRECEDING AND %s %s)%s",
			pick(r, []string{"i", "f", "ts", "s", "k", "u"}), pick(r, []string{"ROWS", "RANGE", "GROUPS"}),
			argument(r, pick(r, []string{"BIGINT", "INTERVAL", "DOUBLE"})),
			argument(r, pick(r, []string{"BIGINT", "INTERVAL", "DOUBLE"})), pick(r, []string{"FOLLOWING", "PRECEDING"}), from)
	case 3: // syntax that is not a function call
		n := func() string { return argument(r, "BIGINT") }
		return fmt.Sprintf(pick(r, []string{
			"SELECT i FROM t LIMIT %s OFFSET %s", "SELECT i FROM t ORDER BY s LIMIT %s OFFSET %s",
			"SELECT * FROM generate_series(%s, %s) LIMIT 3", "SELECT count(*) FROM range(%s, %s)",
			"SELECT * FROM range(" + argument(r, "TIMESTAMP") + ", " + argument(r, "TIMESTAMP") + ", " +
				argument(r, "INTERVAL") + ") LIMIT %s OFFSET %s",
			"SELECT s[%s:%s] FROM t", "SELECT [1,2,3][%s:%s:" + argument(r, "BIGINT") + "]", "SELECT j->%s->%s FROM t",
			"SELECT i << %s, k >> %s FROM t", "SELECT max(i, %s), min(s, %s) FROM t",
			"SELECT i FROM t LIMIT (%s) %% OFFSET %s", "SELECT count(*) FROM t TABLESAMPLE reservoir(%s ROWS) REPEATABLE (%s)",
			"SELECT unnest([[1,2],[3]], max_depth := %s), %s",
			"SELECT * FROM json_each(" + argument(r, "JSON") + ") LIMIT %s OFFSET %s",
			"SELECT count(*) FROM t, json_tree(t.s) LIMIT %s OFFSET %s",
			"SELECT i ** %s, i // %s, i %% 0 FROM t", "SELECT ts + INTERVAL (%s) DAY, ts - INTERVAL (%s) MONTH FROM t",
			"SELECT GROUPING(i), %s + %s FROM t GROUP BY CUBE(i, u)",
		}), n(), n())
	case 4: // a function within a function
		inner := pickFunction(r, list)
		if inner.kind == "scalar" {
			return "SELECT " + call(r, pickFunction(r, list), call(r, inner, "")) + from
		}
	}
	return "SELECT " + call(r, pickFunction(r, list), "") + from
}

// call returns a call of the function; first, if not empty, is its first argument.
func call(r *rand.Rand, sig signature, first string) string {
	var args []string
	for _, typ := range sig.args {
		args = append(args, argument(r, typ))
	}
	if sig.more != "" {
		for range r.IntN(4) {
			args = append(args, argument(r, sig.more))
		}
	}
	if len(args) > 0 && first != "" {
		args[0] = first
	}
	if len(args) > 0 && r.IntN(30) == 0 {
		args = args[:len(args)-1]
	}
	list := strings.Join(args, ", ")
	if sql.IsNameByte(sig.name[0]) {
		call := sig.name + "(" + list + ")"
		switch {
		case sig.kind == "window":
			return call + " OVER (ORDER BY i)"
		case sig.kind == "aggregate" && r.IntN(4) == 0:
			return call + " OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"
		case sig.kind == "aggregate" && r.IntN(6) == 0 && len(args) > 0:
			return "list_aggregate([" + args[0] + "], '" + sig.name + "'" +
				strings.Join(append([]string{""}, args[1:]...), ", ") + ")"
		}
		return call
	}
	switch len(args) {
	case 1:
		return "(" + sig.name + " " + args[0] + ")"
	case 2:
		return "(" + args[0] + " " + sig.name + " " + args[1] + ")"
	}
	return "\"" + sig.name + "\"(" + list + ")"
}

// expand replaces @{n|text}@ by n copies of the text.
func expand(sql string) string {
	for {
		from := strings.Index(sql, "@{")
		if from < 0 {
			return sql
		}
		count, rest, _ := strings.Cut(sql[from+2:], "|")
		body, rest, _ := strings.Cut(rest, "}@")
		n := 0
		_, _ = fmt.Sscan(count, &n)
		sql = sql[:from] + strings.Repeat(body, n) + rest
	}
}

// checkHostile runs a statement. It fails the test if the statement ends the process, does not
// stop, or returns an error without a text.
func checkHostile(t *testing.T, s *sweeper, sql string) {
	t.Helper()
	r, err := s.run(expand(sql))
	switch {
	case err != nil:
		t.Errorf("%s: %v", sql, err)
	case r.Code.Masked():
		t.Errorf("%s: code %d, which is no reason for a client: %s", sql, r.Code, r.Text)
	}
}

// sweepSeeds is how many statements run in every test. `make fuzz` continues from there.
const sweepSeeds = 400

// FuzzFunctions calls every function that queries may call with hostile arguments, in a separate
// process.
func FuzzFunctions(f *testing.F) {
	list := signatures(f)
	s := newSweeper(f)
	for seed := range uint64(sweepSeeds) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { checkHostile(t, s, hostileQuery(list, seed)) })
}
