package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cordwood/shard/query/engine/duck"
	"cordwood/shard/query/engine/sql"
)

// amended returns the text of a statement as DuckDB's parser receives it.
func amended(t *testing.T, in *duck.Instance, text string) string {
	t.Helper()
	var last string
	_, _, err := sql.Parse(text, "public", func(text string) (string, error) {
		last = text
		return in.SyntaxTree(text)
	})
	if last == "" {
		t.Fatalf("%s: %v", text, err)
	}
	return last // the tables and functions need not exist
}

// DuckDB's list decides which functions take a lambda function. In calls of these functions an
// arrow is not an operator.
func TestLambdaFunctions(t *testing.T) {
	e := openEngine(t, t.TempDir())
	s := openSession(t, e)
	got, err := s.QueryText("SELECT string_agg(DISTINCT function_name, ' ') FROM duckdb_functions() WHERE "+
		"list_contains(parameter_types, ?)", "LAMBDA")
	if err != nil {
		t.Fatal(err)
	}
	take := strings.Fields(got)
	for _, name := range sql.FunctionNames() {
		text := "SELECT " + name + "(l, x -> x) FROM t"
		var last string
		_, _, _ = sql.Parse(text, "public", func(text string) (string, error) {
			last = text
			return "", errors.New("the text is all that matters")
		})
		if slices.Contains(take, name) != (last == text) {
			t.Errorf("%s takes a lambda function: %v, and is amended to %s", name, slices.Contains(take, name), last)
		}
	}
}

var locations = regexp.MustCompile(`"query_location":\d+,?`)

// meaning returns the syntax tree of `SELECT expression`, without positions.
func meaning(t *testing.T, in *duck.Instance, sql string) string {
	t.Helper()
	text, err := in.SyntaxTree(sql)
	if err != nil || strings.Contains(text, `"error":true`) {
		t.Fatalf("%s: %v, %s", sql, err, text)
	}
	return locations.ReplaceAllString(text, "")
}

// randomExpr generates expressions in two forms: with parentheses around every operation, and with
// only the parentheses that PostgreSQL's precedence rules need.
type randomExpr struct{ *rand.Rand }

// Precedence levels. An operand has the level of its operator or a higher one.
const (
	levelOr = iota
	levelAnd
	levelNot
	levelIs
	levelCompare
	levelLike
	levelConcat
	levelPlus
	levelTimes
	levelArrow
	levelCast
	levelValue
)

func (r randomExpr) make(depth, need int) (full, short string) {
	full, short, level := r.expr(depth)
	if level < need {
		short = "(" + short + ")"
	}
	return "(" + full + ")", short
}

func (r randomExpr) expr(depth int) (full, short string, level int) {
	values := []string{
		"a", "t.b", "`c d`", "\"e\"", "'f'", "1", "2.5", "NULL", "TRUE", "JSON '{}'", "now()", "at", "filter",
	}
	if depth == 0 {
		v := values[r.IntN(len(values))]
		return v, v, levelValue
	}
	binary := func(op string, level, left, right int) (string, string, int) {
		lf, ls := r.make(depth-1, left)
		rf, rs := r.make(depth-1, right)
		if r.IntN(2) == 0 {
			op = " " + op + " "
		}
		if op[0] >= 'A' && op[0] <= 'Z' || strings.HasPrefix(rs, "-") {
			op = " " + op + " "
		}
		return lf + op + rf, ls + op + rs, level
	}
	switch r.IntN(21) {
	case 0:
		return binary("OR", levelOr, levelOr, levelAnd)
	case 1:
		return binary("AND", levelAnd, levelAnd, levelNot)
	case 2:
		f, s := r.make(depth-1, levelNot)
		return "NOT " + f, "NOT " + s, levelNot
	case 3:
		f, s := r.make(depth-1, levelCompare)
		return f + " IS NULL", s + " IS NULL", levelIs
	case 4, 5:
		op := []string{"=", "<", ">=", "<>", "!="}[r.IntN(5)]
		return binary(op, levelCompare, levelLike, levelLike)
	case 6:
		return binary([]string{"LIKE", "NOT LIKE", "ILIKE"}[r.IntN(3)], levelLike, levelConcat, levelConcat)
	case 7:
		af, as := r.make(depth-1, levelConcat)
		bf, bs := r.make(depth-1, levelConcat)
		cf, cs := r.make(depth-1, levelConcat)
		return af + " BETWEEN " + bf + " AND " + cf, as + " BETWEEN " + bs + " AND " + cs, levelLike
	case 8:
		af, as := r.make(depth-1, levelConcat)
		bf, bs := r.make(depth-1, levelOr)
		return af + " IN ('x', " + bf + ")", as + " IN ('x', " + bs + ")", levelLike
	case 9:
		return binary("||", levelConcat, levelConcat, levelPlus)
	case 10:
		return binary("+", levelPlus, levelPlus, levelTimes)
	case 11:
		return binary("*", levelTimes, levelTimes, levelArrow)
	case 12, 13, 14, 15:
		return binary([]string{"->", "->>"}[r.IntN(2)], levelArrow, levelArrow, levelCast)
	case 16:
		f, s := r.make(depth-1, levelCast)
		ty := []string{"VARCHAR", "DECIMAL(9, 2)", "INT[]", "DOUBLE PRECISION", "TIMESTAMP WITH TIME ZONE"}[r.IntN(5)]
		return f + "::" + ty, s + "::" + ty, levelCast
	case 17:
		af, as := r.make(depth-1, levelOr)
		bf, bs := r.make(depth-1, levelOr)
		cf, cs := r.make(depth-1, levelOr)
		form := []string{
			"f(%s, %s, %s)", "CASE WHEN %s THEN %s ELSE %s END", "[%s, %s, %s]", "{'k': %s, 'l': %s, 'm': %s}",
			"CAST(%s AS JSON)[%s:%s]", "list(%s ORDER BY %s) FILTER (WHERE %s)", "(SELECT %s, %s FROM u WHERE %s)",
		}[r.IntN(7)]
		return fmt.Sprintf(form, af, bf, cf), fmt.Sprintf(form, as, bs, cs), levelValue
	case 18:
		f, s := r.make(depth-1, levelOr)
		form := []string{
			"list_transform(l, x -> %s)", "list_filter(l, (x, y) -> %s)", "l.apply(x -> %s)",
			"list_filter(l, lambda x: %s)", "list_reduce(l, (x -> %s))",
		}[r.IntN(5)]
		return fmt.Sprintf(form, f), fmt.Sprintf(form, s), levelValue
	case 19:
		f, s := r.make(depth-1, levelOr)
		return f + "[1]", "(" + s + ")[1]", levelCast
	}
	return r.expr(0)
}

// TestArrowsBindAsInPostgreSQL checks that a text without parentheses means the same as the text
// with them.
func TestArrowsBindAsInPostgreSQL(t *testing.T) {
	seed := rand.Uint64()
	r := randomExpr{rand.New(rand.NewPCG(seed, 0))}
	e := openEngine(t, t.TempDir())
	in, err := e.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.release(in, false)
	arrows := 0
	for range 600 {
		full, short := r.make(1+r.IntN(5), 0)
		if len(full) > 2000 {
			continue
		}
		full, short = "SELECT "+full+" FROM t WHERE "+full, "SELECT "+short+" FROM t WHERE "+short
		if strings.Contains(short, "->") {
			arrows++
		}
		quoted := amended(t, in.Instance, full)
		if text := amended(t, in.Instance, short); meaning(t, in.Instance, text) != meaning(t, in.Instance, quoted) {
			t.Fatalf("seed %d: not the same:\n%s\n%s\n%s", seed, short, text, full)
		}
	}
	if arrows < 120 {
		t.Errorf("seed %d: %d expressions with arrows", seed, arrows)
	}
}
