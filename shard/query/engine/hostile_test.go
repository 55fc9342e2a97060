package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
)

// hostile lists statements that must be refused before any part of them runs.
var hostile = []struct {
	SQL  string
	code errs.Code
}{
	// Statements that are not SELECT.
	{"COPY t TO '/tmp/out.csv'", errs.Unsupported},
	{"COPY (SELECT 1) TO '/tmp/out.csv' (FORMAT csv)", errs.Unsupported},
	{"COPY t FROM '/etc/passwd'", errs.Unsupported},
	{"EXPORT DATABASE '/tmp/out'", errs.Unsupported},
	{"IMPORT DATABASE '/tmp/out'", errs.Unsupported},
	{"INSTALL httpfs", errs.Unsupported},
	{"FORCE INSTALL httpfs FROM 'http://example.com'", errs.Unsupported},
	{"LOAD httpfs", errs.Unsupported},
	{"LOAD '/tmp/evil.so'", errs.Unsupported},
	{"SET threads = 1", errs.Unsupported},
	{"SET GLOBAL memory_limit = '100GB'", errs.Unsupported},
	{"SET VARIABLE x = 1", errs.Unsupported},
	{"RESET threads", errs.Unsupported},
	{"PRAGMA enable_profiling", errs.Unsupported},
	{"PRAGMA database_list", errs.Unsupported},
	{"PRAGMA table_info('t')", errs.Unsupported},
	{"ATTACH '/tmp/x.db' AS x", errs.Unsupported},
	{"ATTACH ':memory:' AS x", errs.Unsupported},
	{"DETACH memory", errs.Unsupported},
	{"USE memory", errs.Unsupported},
	{"CALL enable_logging()", errs.Unsupported},
	{"CALL duckdb_settings()", errs.Unsupported},
	{"CHECKPOINT", errs.Unsupported},
	{"VACUUM", errs.Unsupported},
	{"ANALYZE", errs.Unsupported},
	{"CREATE TABLE x (a INT)", errs.Unsupported},
	{"CREATE TABLE x AS SELECT * FROM t", errs.Unsupported},
	{"CREATE OR REPLACE TEMP VIEW t AS SELECT 1", errs.Unsupported},
	{"CREATE MACRO f(a) AS a", errs.Unsupported},
	{"CREATE TYPE e AS ENUM ('a')", errs.Unsupported},
	{"CREATE SECRET s (TYPE s3)", errs.Unsupported},
	{"CREATE SEQUENCE s", errs.Unsupported},
	{"DROP TABLE t", errs.Unsupported},
	{"ALTER TABLE t ADD COLUMN x INT", errs.Unsupported},
	{"INSERT INTO t VALUES (1)", errs.Unsupported},
	{"UPDATE t SET a = 1", errs.Unsupported},
	{"DELETE FROM t", errs.Unsupported},
	{"TRUNCATE t", errs.Unsupported},
	{"MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE", errs.Unsupported},
	{"PREPARE p AS SELECT 1", errs.Unsupported},
	{"EXECUTE p", errs.Unsupported},
	{"DEALLOCATE p", errs.Unsupported},
	{"BEGIN", errs.Unsupported},
	{"COMMIT", errs.Unsupported},
	{"COMMENT ON TABLE t IS 'x'", errs.Unsupported},
	{"PIVOT t ON a USING sum(b)", errs.Unsupported},
	{"EXPLAIN COPY t TO '/tmp/x'", errs.Unsupported},
	{"EXPLAIN ANALYZE DELETE FROM t", errs.Unsupported},
	{"EXPLAIN EXPLAIN SELECT 1", errs.Unsupported},
	{"EXPLAIN (FORMAT html) SELECT 1", errs.Unsupported},
	{"EXPLAIN VERBOSE SELECT 1", errs.Unsupported},
	{"/* SELECT */ DROP TABLE t -- SELECT", errs.Unsupported},
	{"WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", errs.Unsupported},
	{"WITH x AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * FROM x", errs.InvalidSyntax},
	{"SELECT * INTO x FROM t", errs.InvalidSyntax},
	// More than one statement.
	{"SELECT 1; SELECT 2", errs.Unsupported},
	{"SELECT 1; DROP TABLE t", errs.Unsupported},
	{"SELECT 1; COPY t TO '/tmp/x'", errs.Unsupported},
	{"EXPLAIN SELECT 1; SET threads = 1", errs.Unsupported},
	{"EXPLAIN ANALYZE SELECT 1; SELECT 2", errs.Unsupported},
	{"SELECT 1 /* ; */ ; /* */ SET threads = 1", errs.Unsupported},
	// Files, as functions.
	{"SELECT * FROM read_csv('/etc/passwd')", errs.Unsupported},
	{"SELECT * FROM READ_CSV_AUTO('/etc/passwd')", errs.Unsupported},
	{"SELECT * FROM read_text('/etc/passwd')", errs.Unsupported},
	{"SELECT * FROM read_blob('/etc/passwd')", errs.Unsupported},
	{"SELECT * FROM read_json('/etc/passwd')", errs.Unsupported},
	{"SELECT * FROM read_ndjson_objects('/etc/passwd')", errs.Unsupported},
	{"SELECT * FROM read_parquet('x.parquet')", errs.Unsupported},
	{"SELECT * FROM parquet_scan('x.parquet')", errs.Unsupported},
	{"SELECT * FROM parquet_metadata('x.parquet')", errs.Unsupported},
	{"SELECT * FROM parquet_kv_metadata('x.parquet')", errs.Unsupported},
	{"SELECT * FROM read_duckdb('x.db')", errs.Unsupported},
	{"SELECT * FROM glob('/*')", errs.Unsupported},
	{"SELECT * FROM sniff_csv('/etc/passwd')", errs.Unsupported},
	{"SELECT * FROM read_csv('http://example.com/x.csv')", errs.Unsupported},
	{"SELECT * FROM read_parquet('s3://bucket/x')", errs.Unsupported},
	{`SELECT * FROM "read_text"('/etc/passwd')`, errs.Unsupported},
	{"SELECT * FROM main.read_text('/etc/passwd')", errs.Unsupported},
	{"SELECT * FROM system.main.read_text('/etc/passwd')", errs.Unsupported},
	{"SELECT * FROM read_text /* hidden */ ('/etc/passwd')", errs.Unsupported},
	{"SELECT * FROM t, LATERAL (SELECT * FROM read_text(t.path))", errs.Unsupported},
	{"SELECT (SELECT content FROM read_text('/etc/passwd'))", errs.Unsupported},
	{"SELECT * FROM t WHERE a IN (SELECT content FROM read_text('/etc/passwd'))", errs.Unsupported},
	{"WITH x AS (SELECT * FROM read_text('/etc/passwd')) SELECT 1", errs.Unsupported},
	{
		"WITH RECURSIVE x AS (SELECT 1 UNION ALL SELECT length(content) FROM x, read_text('/etc/passwd')) SELECT * FROM x",
		errs.Unsupported,
	},
	{"SELECT 1 UNION ALL SELECT content FROM read_text('/etc/passwd')", errs.Unsupported},
	{"SELECT 1 ORDER BY (SELECT content FROM read_text('/etc/passwd'))", errs.Unsupported},
	{"SELECT 1 LIMIT (SELECT length(content) FROM read_text('/etc/passwd'))", errs.Unsupported},
	{"SELECT sum(1) OVER (ORDER BY (SELECT content FROM read_text('/etc/passwd')))", errs.Unsupported},
	{"SELECT count(*) FILTER (WHERE (SELECT true FROM read_text('/etc/passwd')))", errs.Unsupported},
	{"VALUES ((SELECT content FROM read_text('/etc/passwd')))", errs.Unsupported},
	{"SELECT * FROM (DESCRIBE SELECT * FROM read_text('/etc/passwd'))", errs.Unsupported},
	{"SUMMARIZE SELECT * FROM read_text('/etc/passwd')", errs.Unsupported},
	{"FROM (FROM read_text('/etc/passwd')) SELECT content", errs.Unsupported},
	{"SELECT * FROM (PIVOT read_text('/etc/passwd') ON size IN (1) USING count(*))", errs.Unsupported},
	{"SELECT * REPLACE ((SELECT content FROM read_text('/etc/passwd')) AS a) FROM t", errs.Unsupported},
	{"SELECT CASE WHEN true THEN (SELECT content FROM read_text('/etc/passwd')) END", errs.Unsupported},
	{"SELECT list_transform([1], x -> (SELECT content FROM read_text('/etc/passwd')))", errs.Unsupported},
	{"SELECT * FROM unnest((SELECT list(content) FROM read_text('/etc/passwd')))", errs.Unsupported},
	{"SELECT * FROM t TABLESAMPLE reservoir(1) WHERE (SELECT true FROM glob('*'))", errs.Unsupported},
	// Statements in texts, and the state of the engine.
	{"SELECT * FROM query('SELECT 1')", errs.Unsupported},
	{"SELECT * FROM query_table('t')", errs.Unsupported},
	{"SELECT * FROM json_execute_serialized_sql('{}')", errs.Unsupported},
	{"SELECT json_serialize_plan('SELECT * FROM read_text(''/etc/passwd'')')", errs.Unsupported},
	{"SELECT * FROM sql_auto_complete('SEL')", errs.Unsupported},
	{"SELECT * FROM duckdb_settings()", errs.Unsupported},
	{"SELECT * FROM duckdb_functions()", errs.Unsupported},
	{"SELECT * FROM duckdb_secrets()", errs.Unsupported},
	{"SELECT * FROM pragma_database_size()", errs.Unsupported},
	{"SELECT * FROM pragma_table_info('t')", errs.Unsupported},
	{"SELECT * FROM histogram('t', a)", errs.Unsupported},
	{"SELECT * FROM cordwood_scan(1)", errs.Unsupported},
	{"SELECT * FROM cordwood_scan(1::UBIGINT)", errs.Unsupported},
	{"SELECT cordwood_json('{')", errs.PlanQuery},
	{"SHOW TABLES", errs.Unsupported},
	{"SHOW DATABASES", errs.Unsupported},
	{"SHOW ALL TABLES", errs.Unsupported},
	{"SELECT * FROM (SHOW TABLES)", errs.Unsupported},
	{"SELECT current_setting('memory_limit')", errs.Unsupported},
	{"SELECT getvariable('x')", errs.Unsupported},
	{"SELECT getenv('PATH')", errs.PlanQuery},
	{"SELECT system.main.getenv('PATH')", errs.PlanQuery},
	{"SELECT a.getenv() FROM t", errs.PlanQuery},
	{"SELECT write_log('x')", errs.Unsupported},
	{"SELECT nextval('s')", errs.Unsupported},
	{"SELECT version()", errs.Unsupported},
	{"SELECT COLUMNS(c -> getvariable(c) IS NOT NULL) FROM t", errs.Unsupported},
	{"SELECT list_transform([1], x -> getvariable('x'))", errs.Unsupported},
	{"SELECT [getvariable('x') FOR x IN [1]]", errs.Unsupported},
	{"SELECT sum(a) OVER (PARTITION BY getvariable('x')) FROM t", errs.Unsupported},
	{"SELECT * FROM range(getvariable('x'))", errs.Unsupported},
	{"SELECT __internal_decompress_string(1)", errs.Unsupported},
	{"SELECT ?", errs.Unsupported},
	{"SELECT * FROM t AT (VERSION => 1)", errs.Unsupported},
	// Time and memory.
	{"SELECT sleep_ms(100000)", errs.Unsupported},
	{"SELECT pg_sleep(100)", errs.Unsupported},
	{"SELECT repeat('x', 1000000000)", errs.Unsupported},
	{"SELECT repeat(a, 1000) FROM t", errs.Unsupported},
	{"SELECT repeat('x', a) FROM t", errs.Unsupported},
	{"SELECT a.repeat(1000000000) FROM t", errs.Unsupported},
	{"SELECT repeat(repeat(repeat('x', 1000), 1000), 1000)", errs.Unsupported},
	{"SELECT repeat(s, 16) FROM (SELECT repeat('x', 1000) s), (SELECT repeat('x', 1000))", errs.Unsupported},
	{"SELECT t.a.repeat(1000000000) FROM t", errs.Unsupported},
	{"SELECT main.repeat('x', 1000000000)", errs.Unsupported},
	{"SELECT * FROM repeat('x', 1000000000)", errs.Unsupported},
	{"SELECT lpad('x', 1000000000, 'y')", errs.Unsupported},
	{"SELECT rpad(a, b, 'y') FROM t", errs.Unsupported},
	{"SELECT range(1000000000)", errs.Unsupported},
	{"SELECT range(a) FROM t", errs.Unsupported},
	{"SELECT generate_series(-9223372036854775808, 9223372036854775807, 1)", errs.Unsupported},
	{"SELECT list_transform(range(1000), x -> range(1000))", errs.Unsupported},
	{"SELECT list_resize([1], 1000000000)", errs.Unsupported},
	{"SELECT printf('%1000000000d', 1)", errs.Unsupported},
	{"SELECT printf('%*d', 1000000000, 1)", errs.Unsupported},
	{"SELECT format('{:>1000000000}', 1)", errs.Unsupported},
	{"SELECT format('{:>{}}', 1, 1000000000)", errs.Unsupported},
	{"SELECT format(a, 1) FROM t", errs.Unsupported},
	{"SELECT bar(1, 0, 1, 1000000000)", errs.Unsupported},
	{"SELECT bitstring('1', 1000000000)", errs.Unsupported},
	{"SELECT equi_width_bins(0, 1, 1000000000, false)", errs.Unsupported},
	{"SELECT levenshtein(a, b) FROM t", errs.Unsupported},
	{"SELECT jaro_similarity(a, b) FROM t", errs.Unsupported},
	{"SELECT jaro_winkler_similarity(a, b) FROM t", errs.Unsupported},
	{"SELECT lag(a, -9223372036854775808) OVER () FROM t", errs.Unsupported},
	{"SELECT lead(a, -9223372036854775807 - 1) OVER () FROM t", errs.Unsupported},
	{"SELECT lag(a, b, 0) OVER (ORDER BY a) FROM t", errs.Unsupported},
	{"SELECT reservoir_quantile(a, 0.5, 2000000000) FROM t", errs.Unsupported},
	{"SELECT list_aggregate([a], 'reservoir_quantile', 0.5, 2000000000) FROM t", errs.Unsupported},
	{"SELECT list_aggregate([a], 'bitstring_agg') FROM t", errs.Unsupported},
	{"SELECT list_aggregate([a], b) FROM t", errs.Unsupported},
	{"SELECT list_aggregate([a], '" + strings.Repeat("x", 100_000) + "') FROM t", errs.PlanQuery},
	{"SELECT unnest([[1]], max_depth := NULL)", errs.Unsupported},
	{"SELECT * FROM unnest([[1]], max_depth := 1000000)", errs.Unsupported},
	{"SELECT \"" + strings.Repeat("x", 2000) + "\" FROM t", errs.InvalidArguments},
	{"SELECT a::" + strings.Repeat("x", 2000) + " FROM t", errs.InvalidArguments},
	{"SELECT " + strings.Repeat("[", 40) + "1" + strings.Repeat("]", 40), errs.Unsupported},
	{"SELECT " + strings.Repeat("{'a': ", 40) + "1" + strings.Repeat("}", 40), errs.Unsupported},
	{"SELECT " + strings.Repeat("[", 30) + "x" + strings.Repeat("]", 30) + " FROM (SELECT " + strings.Repeat("[", 30) +
		"x" + strings.Repeat("]", 30) +
		" AS x FROM (SELECT " + strings.Repeat("[", 30) + "1" + strings.Repeat("]", 30) + " AS x))", errs.Unsupported},
	{"SELECT a" + strings.Repeat(".a", 120_000) + " FROM t", errs.Unsupported},
	{"SELECT 1 FROM t WHERE t.a" + strings.Repeat(".a", 40) + " = 1", errs.Unsupported},
	// Functions that descend into JSON level by level, called by names that bypass the depth check.
	{"SELECT system.main.json_contains(a, b) FROM t", errs.Unsupported},
	{"SELECT system.json_structure(a) FROM t", errs.Unsupported},
	{"SELECT pg_catalog.json_structure(a) FROM t", errs.Unsupported},
	{"SELECT a::JSON::VARIANT FROM t", errs.Unsupported},
	{"SELECT CAST(a AS STRUCT(x VARIANT[])) FROM t", errs.Unsupported},
	{"SELECT TRY_CAST(a AS \"variant\") FROM t", errs.Unsupported},
	{"SELECT variant_typeof(a) FROM t", errs.Unsupported},
	{"SELECT cordwood_depth(1, a) FROM t", errs.Unsupported},
	// The state of an aggregate is raw memory of the process.
	{"SELECT (sum(a) EXPORT_STATE)::BLOB FROM t", errs.Unsupported},
	{"SELECT hash(avg(a) EXPORT_STATE) FROM t", errs.Unsupported},
	{"SELECT finalize(sum(a)) FROM t", errs.Unsupported},
	{"SELECT combine(a, a) FROM t", errs.Unsupported},
	{"SELECT a::AGGREGATE_STATE FROM t", errs.Unsupported},
	{"SELECT switch(MAP {1: 2}) FROM t", errs.Unsupported},
	{"SELECT * FROM t" + strings.Repeat(", t", sql.MaxTables), errs.Unsupported},
	// Lists for which planning time grows with a power of their length.
	{"SELECT a FROM t WHERE a = 1" + strings.Repeat(" OR a = 2", 20_000), errs.Unsupported},
	{"SELECT a FROM t WHERE a = 1" + strings.Repeat(" OR a = 2", sql.MaxListed), errs.Unsupported},
	{"SELECT a FROM t WHERE a = 1" + strings.Repeat(" AND a + 1 <> 2", sql.MaxListed), errs.Unsupported},
	{"SELECT a FROM t WHERE NOT (a = 1" + strings.Repeat(" OR a = 2", sql.MaxListed) + ")", errs.Unsupported},
	{"SELECT 1 FROM t GROUP BY a HAVING a = 1" + strings.Repeat(" OR a = 2", sql.MaxListed), errs.Unsupported},
	{"SELECT 1 FROM t JOIN u ON t.a = 1" + strings.Repeat(" OR t.a = u.a + 1", sql.MaxListed), errs.Unsupported},
	{"SELECT coalesce(a" + strings.Repeat(", a", 30_000) + ") FROM t", errs.Unsupported},
	{"SELECT concat(a" + strings.Repeat(", a", sql.MaxListed) + ") FROM t", errs.Unsupported},
	{"SELECT concat_ws('a'" + strings.Repeat(", 'a'", sql.MaxArguments) + ") FROM t", errs.Unsupported},
	{"SELECT greatest(1" + strings.Repeat(",1", 100_000) + ") FROM t", errs.Unsupported},
	{"SELECT [1" + strings.Repeat(", 1", sql.MaxArguments) + "] FROM t", errs.Unsupported},
	{"SELECT a IN (a + 1" + strings.Repeat(", a + 1", sql.MaxListed) + ") FROM t", errs.Unsupported},
	{"SELECT CASE" + strings.Repeat(" WHEN a = 1 THEN 2", sql.MaxCases+1) + " END FROM t", errs.Unsupported},
	{
		"SELECT CASE a" + strings.Repeat(" WHEN 1 THEN 2", sql.MaxCases/2) + " END, CASE a" +
			strings.Repeat(" WHEN 1 THEN 2", sql.MaxCases/2+1) + " END FROM t",
		errs.Unsupported,
	},
	{"SELECT a FROM t ORDER BY a" + strings.Repeat(", a + 1", sql.MaxListed), errs.Unsupported},
	{"SELECT DISTINCT ON (a" + strings.Repeat(", a + 1", sql.MaxListed) + ") a FROM t", errs.Unsupported},
	{"SELECT sum(a) OVER (PARTITION BY a" + strings.Repeat(", a + 1", sql.MaxListed) + ") FROM t", errs.Unsupported},
	{
		"SELECT sum(a) OVER (ORDER BY a)" + strings.Repeat(", sum(a) OVER (ORDER BY a + 1)", sql.MaxWindows) + " FROM t",
		errs.Unsupported,
	},
	{
		"SELECT 1" + strings.Repeat(", sum(a) OVER (PARTITION BY a"+strings.Repeat(", a + 1", 90)+")", 30) + " FROM t",
		errs.Unsupported,
	},
	{"SELECT * FROM (VALUES (1" + strings.Repeat(",1", sql.MaxSelected) + "))", errs.Unsupported},
	{"SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", sql.MaxCombined), errs.Unsupported},
	{"SELECT 1" + strings.Repeat(" UNION SELECT 1 EXCEPT SELECT 2", sql.MaxCombined/2), errs.Unsupported},
	{"SELECT a" + strings.Repeat(", a + 1", sql.MaxByName) + " FROM t UNION BY NAME SELECT 1 AS b", errs.Unsupported},
	// Texts and trees for which parsing or planning time grows with a power of their length.
	{"SELECT 0" + strings.Repeat("+", 5000) + "0", errs.InvalidSyntax},
	{"SELECT a FROM t WHERE a" + strings.Repeat("~@#^&|`?!<>=%", 20) + "b", errs.InvalidSyntax},
	{"SELECT 1" + strings.Repeat("/*", 100_000), errs.InvalidSyntax},
	{"SELECT 1 /*/", errs.InvalidSyntax},
	{"SELECT count(*) FROM t GROUP BY b" + strings.Repeat(", b + 1", 30_000), errs.Unsupported},
	{"SELECT count(*) FROM t GROUP BY ROLLUP (b" + strings.Repeat(", b + 1", 30_000) + ")", errs.Unsupported},
	{"SELECT b" + strings.Repeat(", b", 60_000) + " FROM t", errs.Unsupported},
	{"SELECT b AS x0, x0 + x0 AS x1" + doubled(40) + " FROM t", errs.Unsupported},
	{
		"SELECT b AS x0, x0 + x0 AS x1" + doubled(11) +
			" FROM t WHERE x11 > 0 AND x11 > 1 AND x11 > 2 AND x11 > 3 AND x11 > 4 ORDER BY x11",
		errs.Unsupported,
	},
	{"SELECT 1" + strings.Repeat(", count(*) FILTER (b = 1)", 1300) + " FROM t", errs.Unsupported},
	{"SELECT 1 FROM (SELECT 1 x)" + strings.Repeat(" JOIN (SELECT 1 x) USING (x)", 140), errs.Unsupported},
	{"SELECT 1 FROM (SELECT 1 x)" + strings.Repeat(", (SELECT 1 x)", 140), errs.Unsupported},
	{
		"WITH a AS (SELECT 1 x), b AS (FROM a" + strings.Repeat(" JOIN a USING (x)", 40) + ") FROM b JOIN b c USING (x)",
		errs.Unsupported,
	},
	{"SELECT " + strings.Repeat("abs(", 600) + "1" + strings.Repeat(")", 600), errs.Unsupported},
	{"SELECT 1" + strings.Repeat(" + 1", 5000), errs.Unsupported},
	{"SELECT " + strings.Repeat("(", 20_000) + "1" + strings.Repeat(")", 20_000), errs.InvalidSyntax},
	{"SELECT " + strings.Repeat("(SELECT ", 11) + "1" + strings.Repeat(")", 11), errs.Unsupported},
	{
		"SELECT 1 WHERE " + strings.Repeat("EXISTS (SELECT 1 FROM t WHERE ", 11) + "true" + strings.Repeat(")", 11),
		errs.Unsupported,
	},
	{"SELECT " + strings.Repeat("list_transform([1], x -> ", 11) + "1" + strings.Repeat(")", 11), errs.Unsupported},
	{
		"WITH a AS (FROM t, t), b AS (FROM a x, a y), c AS (FROM b x, b y), d AS (FROM c x, c y), e AS (FROM d x, " +
			"d y) FROM e x, e y",
		errs.Unsupported,
	},
	{"SELECT *" + strings.Repeat(", *", 64) + " FROM t", errs.Unsupported},
	{strings.Repeat("SELECT *, * FROM (", 7) + "FROM t" + strings.Repeat(")", 7), errs.Unsupported},
	{
		"WITH a AS (SELECT *, * FROM t), b AS (SELECT *, *, *, * FROM a), c AS (SELECT *, *, *, * FROM b) SELECT *, " +
			"*, * FROM c",
		errs.Unsupported,
	},
	{"SELECT count(*) FROM t GROUP BY CUBE (a, b, a || 1, a || 2, a || 3, a || 4, a || 5)", errs.Unsupported},
	{"SELECT * FROM " + strings.Repeat("(SELECT * FROM ", 300) + "t" + strings.Repeat(")", 300), errs.Unsupported},
}

// doubled returns expressions that each use the previous expression's alias twice.
func doubled(levels int) string {
	var b strings.Builder
	for i := 1; i < levels; i++ {
		fmt.Fprintf(&b, ", x%d + x%d AS x%d", i, i, i+1)
	}
	return b.String()
}

func TestHostile(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	tab := table("t", cols("ts:TimestampSecond", "a:String", "b:Int64"))
	for _, c := range hostile {
		_, err := e.Analyze(t.Context(), c.SQL, "public")
		if errs.CodeOf(err) != c.code {
			t.Errorf("Analyze %.80s: %d %v, want %d", c.SQL, errs.CodeOf(err), err, c.code)
		}
		if err != nil && errs.From(err).Status() != 400 {
			t.Errorf("Analyze %.80s: status %d", c.SQL, errs.From(err).Status())
		}
		if _, err := ask(e, c.SQL, tab); errs.CodeOf(err) != c.code {
			t.Errorf("Query %.80s: %d %v, want %d", c.SQL, errs.CodeOf(err), err, c.code)
		}
	}
}

// TestHostileNames checks that names of files, and names of DuckDB's own tables, are names of
// tables that do not exist: Analyze returns them, and Query does not find them.
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	file := filepath.Join(dir, "secret.csv")
	if err := os.WriteFile(file, []byte("a,b\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string]string{
		"SELECT * FROM '" + file + "'":                                     "public." + file,
		"SELECT * FROM \"" + file + "\"":                                   "public." + file,
		"SELECT * FROM '/etc/passwd'":                                      "public./etc/passwd",
		"SELECT * FROM 'http://example.com/x.csv'":                         "public.http://example.com/x.csv",
		"SELECT * FROM '*.parquet'":                                        "public.*.parquet",
		"SELECT * FROM duckdb_settings":                                    "public.duckdb_settings",
		"SELECT * FROM sqlite_master":                                      "public.sqlite_master",
		"SELECT * FROM pg_catalog.pg_class":                                "pg_catalog.pg_class",
		"SELECT * FROM information_schema.tables":                          "information_schema.tables",
		"SELECT * FROM main.x":                                             "main.x",
		"SELECT * FROM temp.x":                                             "temp.x",
		"SELECT * FROM q1_0.x":                                             "q1_0.x",
		"WITH duckdb_settings AS (SELECT * FROM duckdb_settings) SELECT 1": "public.duckdb_settings",
		"WITH a AS (SELECT * FROM duckdb_settings), duckdb_settings AS (SELECT " +
			"1) SELECT 1": "public.duckdb_settings",
		"WITH RECURSIVE duckdb_settings AS (SELECT name FROM duckdb_settings UNION ALL SELECT " +
			"'x') SELECT 1": "public.duckdb_settings",
		"SELECT * FROM (WITH duckdb_settings AS (SELECT 1) SELECT 2), " +
			"duckdb_settings": "public.duckdb_settings",
		"SELECT (WITH duckdb_settings AS (SELECT 1) SELECT 2), (SELECT name FROM " +
			"duckdb_settings LIMIT 1)": "public.duckdb_settings",
	} {
		a, err := e.Analyze(t.Context(), sql, "public")
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if len(a.Tables) != 1 || a.Tables[0].String() != want {
			t.Errorf("%s: tables %v, want %s", sql, a.Tables, want)
		}
		if _, err := ask(e, sql); errs.CodeOf(err) != errs.TableNotFound {
			t.Errorf("%s: %v", sql, err)
		}
		// DuckDB must not read the file even if a table with this name exists.
		tab := table(strings.TrimPrefix(want, "public."), cols("ts:TimestampSecond", "a:String", "name:String"))
		if got, err := ask(e, sql, tab); err == nil && len(got.rows) > 1 {
			t.Errorf("%s: rows %v", sql, got.rows)
		}
	}
	for _, sql := range []string{
		"SELECT * FROM system.information_schema.tables", "SELECT * FROM memory.main.x", "SELECT * FROM a.b.c",
	} {
		if _, err := e.Analyze(t.Context(), sql, "public"); errs.CodeOf(err) != errs.Unsupported {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestLocked checks that DuckDB itself refuses statements that pass the check.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	s := openSession(t, e)
	outside := filepath.Join(t.TempDir(), "x.txt")
	if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"SET threads = 1", "RESET memory_limit", "SET lock_configuration = false", "SET enable_external_access = true",
		"SET TimeZone = 'Europe/Paris'", "INSTALL httpfs", "LOAD httpfs", "ATTACH '/tmp/x.db' AS x",
		"SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM read_text('" + outside + "')",
		"SELECT * FROM read_text('" + dir + "/../../../../../etc/passwd')",
		"SELECT * FROM read_text('" + dir + "/link.txt')",
		"SELECT * FROM glob('/etc/*')", "COPY (SELECT 1) TO '/tmp/cordwood-test.csv'",
		"SELECT * FROM cordwood_scan(12345::UBIGINT)",
	} {
		if err := s.Exec(sql); err == nil {
			t.Errorf("%s: no error", sql)
		}
	}
	if err := s.Exec("SELECT * FROM read_text('" + dir + "/nothing*.txt')"); err != nil {
		t.Errorf("a file below the directory: %v", err)
	}
}

// TestFunctionList checks that the list contains every function of DuckDB, and that every allowed
// function exists. With a new version of DuckDB, its new functions have to be reviewed.
func TestFunctionList(t *testing.T) {
	e := openEngine(t, t.TempDir())
	s := openSession(t, e)
	text, err := s.QueryText(`SELECT string_agg(DISTINCT lower(function_name), ' ') FROM duckdb_functions()
		WHERE function_type IN ('scalar', 'aggregate', 'macro') AND ?::VARCHAR = ''`, "")
	if err != nil {
		t.Fatal(err)
	}
	exist := map[string]bool{"unnest": true, "unlist": true, "grouping": true, "grouping_id": true}
	for _, name := range strings.Fields(text) {
		exist[name] = true
		if sql.Functions[name] == sql.Unknown && !strings.HasPrefix(name, "cordwood_") {
			t.Errorf("%s is not in functions.txt", name)
		}
	}
	for name, v := range sql.Functions {
		if !exist[name] {
			t.Errorf("functions.txt names %s, which the engine does not have", name)
		}
		if v == sql.Unknown {
			t.Errorf("functions.txt: %s has no verdict", name)
		}
	}
}

func FuzzAnalyze(f *testing.F) {
	for _, c := range hostile {
		if len(c.SQL) < 300 {
			f.Add(c.SQL)
		}
	}
	for _, sql := range []string{
		"SELECT a, public.t.b FROM t AS x JOIN other.t USING (a) WHERE b > 1 ORDER BY 1 LIMIT 3",
		"WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r, t",
		"EXPLAIN (ANALYZE, FORMAT json) SELECT $$a$$ || 'b''c' || E'\\'' /* /* */ */ FROM \"t\" -- x",
	} {
		f.Add(sql)
	}
	e, err := Open(Config{Threads: 1, MemoryLimit: 64 << 20})
	if err != nil {
		f.Fatal(err)
	}
	tab := table("t", cols("ts:TimestampSecond", "a:Int64", "b:String"))
	f.Fuzz(func(t *testing.T, sql string) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		a, err := e.Analyze(ctx, sql, "public")
		if err != nil {
			if code := errs.CodeOf(err); code == errs.Internal || code == errs.Unknown || code == errs.Unexpected {
				t.Errorf("%q: %v", sql, err)
			}
			return
		}
		for _, n := range a.Tables {
			if n != (query.TableName{Database: "public", Name: "t"}) {
				return
			}
		}
		_, err = request(ctx, e, &query.Request{SQL: sql, Database: "public", Tables: []query.Table{tab}, Limit: 10})
		if code := errs.CodeOf(err); code == errs.Internal || code == errs.Unknown || code == errs.Unexpected {
			t.Errorf("%q: %v", sql, err)
		}
	})
}
