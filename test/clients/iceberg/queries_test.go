package iceberg

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// oddColumns are columns whose names and types readers may misread.
const oddColumns = `ts TIMESTAMP(9) TIME INDEX, n BIGINT, "Upper" STRING, "select" BIGINT, "with space" STRING, ` +
	`"a.b" BIGINT, "ünï" STRING, "back` + "`" + `tick" BIGINT, "quote""d" BIGINT, "emo😀ji" STRING, "@us" STRING, ` +
	`"a,b" BIGINT, "1st" BIGINT, "a=b/c" STRING, "%41" STRING, d DOUBLE, f FLOAT, u32 INT UNSIGNED, ` +
	`u64 BIGINT UNSIGNED, tiny SMALLINT, bin BINARY, j JSON, s STRING, level STRING, b BOOLEAN`

// oddDays are the days of the rows, and oddPerDay how many there are on each.
var oddDays = []string{"2026-09-28", "2026-09-29", "2026-09-30"}

const oddPerDay = 40

// oddRow returns a row of a table with oddColumns.
func oddRow(day string, i int) string {
	d := []string{"'nan'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE", "-0.0", "0.0", "1e30", "NULL"}[i%7]
	or := func(null bool, text string) string {
		if null {
			return "NULL"
		}
		return text
	}
	return fmt.Sprintf("('%s 10:00:%02d.123456789', %d, 'U%d', %d, 'sp ace', %d, 'ü%d', %d, %d, '😀', 'us', %d, %d, "+
		"'x', 'p', %s, %s, %s, %s, %d, X'%s', '{\"a\":%d,\"u\":\"é\"}', %s, '%s', %s)", day, i, i, i%3, i, 2*i, i, i, i,
		i, i, d,
		strings.ReplaceAll(d, "DOUBLE", "FLOAT"), or(i%4 == 1, strconv.Itoa(1<<32-1-i)),
		or(i%5 == 0, strconv.FormatUint(1<<64-1-uint64(i), 10)), i-20, []string{"", "00ff"}[i%2], i,
		or(i%4 == 0, fmt.Sprintf("'%c%c'", 'a'+i, 0x3b1+i)), []string{"info", "error", "warn"}[i%3], or(i%2 == 0, "TRUE"))
}

// characters returns texts with every character of Unicode except U+0000, some thousand in each.
func characters() (texts []string) {
	var b strings.Builder
	for r := rune(1); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		if b.WriteRune(r); b.Len() > 16<<10 {
			texts = append(texts, b.String())
			b.Reset()
		}
	}
	return append(texts, b.String())
}

// statement is a query. FROM t is the table, and spark is the form for Spark if it has its own.
type statement struct{ sql, spark string }

// statements return the same from SQL and from each engine.
var statements = []statement{
	{sql: `SELECT count(*) FROM t`},
	{sql: `SELECT count(*), count(d), count(s), count(u64), count(u32), count(b), count(bin) FROM t`},
	{sql: `SELECT min(n), max(n), min(level), max(level), min(u64), max(u64), min(u32), max(u32), min(small) FROM t`},
	{sql: `SELECT sum(n), sum(u32), sum(u64), sum(small), sum("a.b") FROM t`},
	{sql: `SELECT count(*) FROM t WHERE d = CAST('NaN' AS DOUBLE)`},
	{sql: `SELECT count(*) FROM t WHERE d > 1e10`}, // NaN is larger than all numbers
	{sql: `SELECT count(*) FROM t WHERE d < 0`},
	{sql: `SELECT count(*) FROM t WHERE d = 0`},
	{sql: `SELECT count(*) FROM t WHERE f >= 1e10 OR d IS NULL`},
	{sql: `SELECT count(*) FROM t WHERE u64 > 18446744073709551600`},
	{sql: `SELECT count(*) FROM t WHERE u32 >= 4294967280`},
	{sql: `SELECT count(*) FROM t WHERE small < -15`},
	{sql: `SELECT count(*) FROM t WHERE "select" = 3 AND "with space" = 'sp ace' AND "Upper" = 'U0' AND "a.b" = 6 ` +
		`AND "back` + "`" + `tick" = 3 AND "quote""d" = 3 AND "emo😀ji" = '😀' AND "ünï" = 'ü3' AND "@us" = 'us' ` +
		`AND "a,b" = 3 AND "1st" = 3 AND "a=b/c" = 'x' AND "%41" = 'p'`},
	{sql: `SELECT count(*), min(n) FROM t WHERE ts >= TIMESTAMP '2026-09-30 10:00:38'`},
	{sql: `SELECT count(*) FROM t WHERE ts >= TIMESTAMP '2026-09-29 00:00:00' AND ts < TIMESTAMP '2026-09-30 00:00:00'`},
	{sql: `SELECT count(*) FROM t WHERE ts BETWEEN TIMESTAMP '2026-09-28 10:00:07.123456' AND ` +
		`TIMESTAMP '2026-09-28 10:00:09'`},
	{sql: `SELECT count(*) FROM t WHERE ts < TIMESTAMP '2020-01-01 00:00:00'`},
	{sql: `SELECT count(*) FROM t WHERE CAST(ts AS DATE) = DATE '2026-09-29'`},
	{sql: `SELECT CAST(ts AS DATE), count(*), sum(n) FROM t GROUP BY 1`},
	{sql: `SELECT level, count(*), max(n) FROM t GROUP BY level`},
	{sql: `SELECT s, count(*) FROM t GROUP BY s`},
	{sql: `SELECT count(*) FROM t WHERE s LIKE 'b%' OR s IN ('dδ', 'nothing')`},
	{sql: `SELECT count(*) FROM t WHERE NOT (s > 'é')`},
	{sql: `SELECT hex(bin), count(*) FROM t GROUP BY 1`},
	{sql: `SELECT count(*) FROM t WHERE b`},
	{sql: `SELECT count(*) FROM t WHERE b IS NULL AND n > 30`},
	{sql: `SELECT n FROM t WHERE level = 'warn' ORDER BY ts DESC LIMIT 5`},
	{sql: `SELECT count(*) FROM t a JOIN t b ON a.n = b.n AND a.level = 'info'`},
	{
		sql:   `SELECT CAST(j->>'$.a' AS BIGINT), j->>'$.u' FROM t WHERE n < 9`,
		spark: `SELECT CAST(get_json_object(j, '$.a') AS BIGINT), get_json_object(j, '$.u') FROM t WHERE n < 9`,
	},
}

// ofMetadata are queries of Spark about metadata tables, with statements that have the same answers.
var ofMetadata = [][2]string{
	{`SELECT sum(record_count), count(DISTINCT file_path) = count(*) FROM t.files`, `SELECT count(*), TRUE FROM t`},
	{
		`SELECT partition.time_day, sum(record_count) FROM t.partitions GROUP BY 1`,
		`SELECT CAST(ts AS DATE), count(*) FROM t GROUP BY 1`,
	},
	{
		`SELECT CAST(summary['total-records'] AS BIGINT) FROM t.snapshots ORDER BY committed_at DESC LIMIT 1`,
		`SELECT count(*) FROM t`,
	},
	{`SELECT count(*) FROM t.history WHERE NOT is_current_ancestor`, `SELECT 0`},
	{`SELECT sum(added_data_files_count + existing_data_files_count) >= 3, count(*) FROM t.manifests`, `SELECT TRUE, 3`},
	{
		`SELECT max(readable_metrics.n.upper_bound), min(readable_metrics.small.lower_bound) FROM t.files`,
		`SELECT max(n), min(small) FROM t`,
	},
	{`SELECT count(DISTINCT _file), count(DISTINCT _pos) FROM t WHERE n = 7`, `SELECT 3, 1`},
}

// filters are conditions for PyIceberg, with a condition in SQL.
var filters = [][2]string{
	{"n >= 38", "n >= 38"},
	{"ts >= '2026-09-30T10:00:38'", "ts >= TIMESTAMP '2026-09-30 10:00:38'"},
	{"level = 'warn' and u64 is null", "level = 'warn' AND u64 IS NULL"},
	{"s like 'b%'", "s LIKE 'b%'"},
	{"small in (-20, 19)", "small IN (-20, 19)"},
	{"d is nan", "d = 'nan'::DOUBLE"},
	{"u32 > 4294967280", "u32 > 4294967280"},
}

// engine runs statements on the table at a place, and returns their rows.
type engine func(t *testing.T, p place, list []string) ([]json.RawMessage, error)

// inTable puts a table into a statement: `FROM t` and `JOIN t`.
func inTable(sql, table string) string {
	for _, word := range []string{"FROM", "JOIN"} {
		sql = strings.ReplaceAll(sql+" ", word+" t ", word+" "+table+" ")
	}
	return strings.ReplaceAll(strings.TrimSpace(sql), "FROM t.", "FROM "+table+".")
}

// quotedName matches a quoted name in a statement.
var quotedName = regexp.MustCompile(`"(?:[^"]|"")*"`)

// forSpark quotes the names in a statement as Spark does.
func forSpark(sql string) string {
	return quotedName.ReplaceAllStringFunc(sql, func(name string) string {
		name = strings.ReplaceAll(name[1:len(name)-1], `""`, `"`)
		return "`" + strings.ReplaceAll(name, "`", "``") + "`"
	})
}

// ask runs a program that answers a list of statements.
func ask(t *testing.T, dir string, list []string, args ...string) (answers []json.RawMessage, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	defer cancel()
	in, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var problems bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, bytes.NewReader(in), &problems
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s%s", err, out, &problems)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &answers); err != nil || len(answers) != len(list) {
		return nil, fmt.Errorf("%d answers, %w: %s", len(answers), err, out)
	}
	return answers, nil
}

func askSpark(t *testing.T, p place, list []string) ([]json.RawMessage, error) {
	t.Helper()
	jars, err := filepath.Glob("spark/target/iceberg-spark-runtime-*.jar")
	if err != nil || len(jars) != 1 {
		return nil, fmt.Errorf("jars %v: %w", jars, err)
	}
	return ask(t, "spark", list, "venv/bin/python", "query.py", strings.TrimPrefix(jars[0], "spark/"), p.uri, p.token)
}

func askPython(engine string) engine {
	return func(t *testing.T, p place, list []string) ([]json.RawMessage, error) {
		t.Helper()
		return ask(t, "python", list, "venv/bin/python", "query.py", engine, p.uri, p.token, p.database, p.name)
	}
}

// rowsOf returns the rows of an answer in order, or the error that it is.
func rowsOf(answer json.RawMessage) (rows []string, err error) {
	var list [][]string
	if err := json.Unmarshal(answer, &list); err != nil {
		return nil, fmt.Errorf("%.600s", answer)
	}
	for _, r := range list {
		rows = append(rows, strings.Join(r, "|"))
	}
	slices.Sort(rows)
	return rows, nil
}

// rows runs a statement and returns its rows like rowsOf.
func (s *server) rows(sql string) (rows []string) {
	s.t.Helper()
	status, body := s.request(http.MethodPost, "/v1/sql", "", url.Values{"sql": {sql}})
	if status != http.StatusOK {
		s.t.Fatalf("%.300s: %d %s", sql, status, body)
	}
	var answer struct {
		Output []struct{ Records struct{ Rows [][]any } }
	}
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&answer); err != nil || len(answer.Output) != 1 {
		s.t.Fatalf("%.300s: %v: %.300s", sql, err, body)
	}
	for _, r := range answer.Output[0].Records.Rows {
		texts := make([]string, len(r))
		for i, v := range r {
			if texts[i] = fmt.Sprint(v); v == nil {
				texts[i] = "null"
			}
		}
		rows = append(rows, strings.Join(texts, "|"))
	}
	slices.Sort(rows)
	return rows
}

// compareAnswers compares the answers of an engine with those of SQL.
func compareAnswers(t *testing.T, name string, run engine, p place, list []string, want [][]string) {
	t.Helper()
	answers, err := run(t, p, list)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for i := range list {
		if got, err := rowsOf(answers[i]); err != nil || !slices.Equal(got, want[i]) {
			t.Errorf("%s: %s:\n%v %v\nwant %v", name, list[i], got, err, want[i])
		}
	}
}

// engines returns the programs that run statements, by their names.
func engines(t *testing.T) map[string]engine {
	t.Helper()
	out := map[string]engine{}
	for _, r := range readers(t) {
		switch r.name {
		case "duckdb", "pyiceberg":
			out[r.name] = askPython(r.name)
		case "spark":
			out[r.name] = askSpark
		}
	}
	return out
}

// TestQueries runs queries as people write them, with names, types and values that readers may misread.
func TestQueries(t *testing.T) {
	list := engines(t)
	s := start(t)
	x := &tested{server: s, name: "odd", version: "v2"}
	s.sql("CREATE TABLE odd (" + oddColumns + ") WITH (append_mode='true', iceberg='v2')")
	x.token = s.sql("CREATE TOKEN reader FOR QUERY ON public.*")[0]["Token"].(string)
	var first int64
	for i, day := range oddDays {
		if i == 1 {
			x.place(oddPerDay)
			state, _, _ := x.shown()
			first = state.Metadata.Current
			s.sql("ALTER TABLE odd RENAME COLUMN tiny TO small")
		}
		rows := make([]string, oddPerDay)
		for i := range rows {
			rows[i] = oddRow(day, i)
		}
		s.sql("INSERT INTO odd VALUES " + strings.Join(rows, ", "))
	}
	p := x.place(int64(len(oddDays) * oddPerDay))
	// A wider column has a narrower type in the files. The queries have conditions on it.
	s.sql("ALTER TABLE odd MODIFY COLUMN small BIGINT")
	x.wait("small is a long", func() (bool, string) {
		_, body := s.request(http.MethodGet, "/iceberg/v1/namespaces/public/tables/odd", x.token, nil)
		return strings.Contains(body, `"name":"small","required":false,"type":"long"`), body
	})
	var want [][]string
	for _, q := range statements {
		want = append(want, s.rows(inTable(q.sql, "odd")))
	}
	for name, run := range list {
		var texts []string
		for _, q := range statements {
			sql := q.sql
			if name == "spark" {
				sql = forSpark(cmp.Or(q.spark, sql))
			}
			texts = append(texts, inTable(sql, "lake.public.odd"))
		}
		want := slices.Clone(want)
		at := "AT (VERSION => %d)"
		if name == "spark" {
			at = "VERSION AS OF %d"
			for _, q := range ofMetadata {
				texts, want = append(texts, inTable(q[0], "lake.public.odd")), append(want, s.rows(inTable(q[1], "odd")))
			}
		}
		// The first snapshot has the rows of a day, and a column with its former name.
		texts = append(texts, fmt.Sprintf("SELECT count(*), min(tiny) FROM lake.public.odd "+at, first))
		want = append(want, []string{fmt.Sprintf("%d|-20", oddPerDay)})
		if name == "pyiceberg" {
			texts = nil
			var counts [][]string
			for _, f := range filters {
				texts = append(texts, f[0])
				counts = append(counts, s.rows("SELECT count(*) FROM odd WHERE "+f[1]))
			}
			compareAnswers(t, name, run, p, texts, counts)
			continue
		}
		compareAnswers(t, name, run, p, texts, want)
	}
}

// TestCharacters reads every character of Unicode.
func TestCharacters(t *testing.T) {
	list := engines(t)
	s := start(t)
	x := &tested{server: s, name: "chars", version: "v2"}
	s.sql("CREATE TABLE chars (ts TIMESTAMP(6) TIME INDEX, n BIGINT, s STRING) WITH (append_mode='true', iceberg='v2')")
	texts := characters()
	for part := range slices.Chunk(texts, 32) {
		rows := make([]string, len(part))
		for i, text := range part {
			rows[i] = fmt.Sprintf("('2026-09-30 10:00:00', %d, '%s')", utf8.RuneCountInString(text),
				strings.ReplaceAll(text, "'", "''"))
		}
		s.sql("INSERT INTO chars VALUES " + strings.Join(rows, ", "))
	}
	x.token = s.sql("CREATE TOKEN reader FOR QUERY ON public.chars")[0]["Token"].(string)
	p := x.place(int64(len(texts)))
	const sql = "SELECT n, length(s), md5(s) FROM t WHERE s > ''"
	want := s.rows(inTable(sql, "chars"))
	if len(want) != len(texts) {
		t.Errorf("%d texts, SQL has %d", len(texts), len(want))
	}
	for name, run := range list {
		if name != "pyiceberg" {
			compareAnswers(t, name, run, p, []string{inTable(sql, "lake.public.chars")}, [][]string{want})
		}
	}
}
