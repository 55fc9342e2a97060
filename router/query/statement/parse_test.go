package statement

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
)

func ptr[T any](v T) *T { return &v }

func TestSplit(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"one", "SELECT 1", []string{"SELECT 1"}},
		{"trailing semicolon and space", " SELECT 1 ; \n", []string{"SELECT 1"}},
		{"several", "SELECT 1;;SELECT 2", []string{"SELECT 1", "SELECT 2"}},
		{"text", "SELECT ';', 'it''s;'; SELECT 2", []string{"SELECT ';', 'it''s;'", "SELECT 2"}},
		{"names", "SELECT \"a;\"\"b\", `c;`; x", []string{"SELECT \"a;\"\"b\", `c;`", "x"}},
		{"backslash only in e''", `SELECT '\'; SELECT e'\';'; z`, []string{`SELECT '\'`, `SELECT e'\';'`, "z"}},
		{"dollar", "SELECT $$;$$; SELECT $a$;$$;$a$; y", []string{"SELECT $$;$$", "SELECT $a$;$$;$a$", "y"}},
		{"no dollar quote", "SELECT a$b; SELECT $1", []string{"SELECT a$b", "SELECT $1"}},
		{"line comment", "SELECT 1 -- ; no\n, 2; -- end", []string{"SELECT 1 -- ; no\n, 2"}},
		{"nested comment", "/* a /* ; */ ; */ SELECT /*;*/ 1;/* */", []string{"SELECT /*;*/ 1"}},
		{"carriage return ends a comment", "SELECT 1; -- a\rSELECT 2", []string{"SELECT 1", "SELECT 2"}},
		{"number before a comment", "SELECT 1e--;\n;SELECT 2", []string{"SELECT 1e", "SELECT 2"}},
		{"number before a dollar", "SELECT 1$$;$$;SELECT 2", []string{"SELECT 1$$;$$", "SELECT 2"}},
		{"unicode", "SELECT 'é;';SELECT ü", []string{"SELECT 'é;'", "SELECT ü"}},
		{"nothing", " ;; -- x", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pieces, err := split(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range pieces {
				got = append(got, tt.in[p.from:p.to])
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParse(t *testing.T) {
	tests := []struct {
		in   string
		want Statement
	}{
		{"select * from t", &Query{"select * from t"}},
		{"(SELECT 1) UNION (SELECT 2)", &Query{"(SELECT 1) UNION (SELECT 2)"}},
		{"FROM t", &Query{"FROM t"}},
		{"WITH a AS (SELECT 1) SELECT * FROM a", &Query{"WITH a AS (SELECT 1) SELECT * FROM a"}},
		{"VALUES (1)", &Query{"VALUES (1)"}},
		{"TABLE t", &Query{"TABLE t"}},
		{"EXPLAIN ANALYZE SELECT 1", &Query{"EXPLAIN ANALYZE SELECT 1"}},
		{"EXPLAIN (FORMAT json) SELECT 1", &Query{"EXPLAIN (FORMAT json) SELECT 1"}},
		{"explain (select 1)", &Query{"explain (select 1)"}},
		{"SHOW DATABASES", &ShowDatabases{}},
		{"show schemas like 'p%'", &ShowDatabases{Like: ptr("p%")}},
		{"SHOW TABLES", &ShowTables{}},
		{"SHOW FULL TABLES IN `my db` LIKE 'a_'", &ShowTables{Database: "my db", Like: ptr("a_"), Full: true}},
		{
			"SHOW TABLES FROM d LIMIT 10 OFFSET 20",
			&ShowTables{Database: "d", Page: Page{Limit: 10, Limited: true, Offset: 20}},
		},
		{"SHOW DATABASES LIKE 'a' OFFSET 5", &ShowDatabases{Like: ptr("a"), Page: Page{Offset: 5}}},
		{"SET TIME ZONE 'Europe/Berlin'", &SetTimeZone{Zone: "Europe/Berlin"}},
		{"set session time_zone = '+02:00'", &SetTimeZone{Zone: "+02:00"}},
		{"SET LOCAL timezone TO DEFAULT", &SetTimeZone{}},
		{"SHOW TABLES OFFSET 1 LIMIT 0", &ShowTables{Page: Page{Limited: true, Offset: 1}}},
		{"DELETE FROM d.t WHERE a = ';' AND (b) -- x", &Delete{Name{"d", "t"}, "a = ';' AND (b)"}},
		{"SHOW CREATE TABLE db.t", &ShowCreateTable{Name{"db", "t"}}},
		{"SHOW CREATE TABLE svc.db.\"T\"\"x\"", &ShowCreateTable{Name{"db", `T"x`}}},
		{"SHOW CREATE DATABASE d", &ShowCreateDatabase{"d"}},
		{"SHOW COLUMNS FROM t IN d", &Describe{Name{"d", "t"}}},
		{"DESC t", &Describe{Name{"", "t"}}},
		{"DESCRIBE TABLE `a.b`", &Describe{Name{"", "a.b"}}},
		{"CREATE DATABASE d", &CreateDatabase{Database: "d"}},
		{
			"CREATE DATABASE IF NOT EXISTS d WITH (ttl='7d')",
			&CreateDatabase{Database: "d", IfNotExists: true, Options: []Option{{"ttl", "7d"}}},
		},
		{"ALTER DATABASE d SET 'ttl'='7d', a=b", &AlterDatabase{Database: "d", Set: []Option{{"ttl", "7d"}, {"a", "b"}}}},
		{"SHOW QUOTAS", &ShowQuotas{}},
		{"SHOW QUOTAS LIKE 'a%' LIMIT 2", &ShowQuotas{Like: ptr("a%"), Page: Page{Limit: 2, Limited: true}}},
		{"ALTER SCHEMA d UNSET ttl, 'a'", &AlterDatabase{Database: "d", Unset: []string{"ttl", "a"}}},
		{"DROP DATABASE d", &DropDatabase{Database: "d"}},
		{"DROP SCHEMA IF EXISTS d CASCADE", &DropDatabase{Database: "d", IfExists: true, Cascade: true}},
		{"DROP TABLE IF EXISTS t CASCADE", &DropTable{Name{"", "t"}, true}},
		{"DROP TABLE t RESTRICT", &DropTable{Name{"", "t"}, false}},
		{"DROP TABLE IF EXISTS d.t", &DropTable{Name: Name{"d", "t"}, IfExists: true}},
		{"TRUNCATE TABLE t", &TruncateTable{Name{"", "t"}}},
		{"TRUNCATE t", &TruncateTable{Name{"", "t"}}},
		{
			`CREATE TABLE IF NOT EXISTS "d_table" (
			  "time" TIMESTAMP(9) NOT NULL,
			  id STRING NULL DEFAULT 'a''b', -- comment
			  n BIGINT UNSIGNED DEFAULT -5,
			  d DOUBLE PRECISION,
			  tz timestamp with time zone,
			  TIME INDEX ("time"),
			  PRIMARY KEY (id, ` + "`n`" + `)
			) ENGINE=mito WITH (append_mode='true', 'ttl'='1day', x=12)`,
			&CreateTable{
				Name: Name{"", "d_table"}, IfNotExists: true,
				Columns: []ColumnDef{
					{Name: "time", Type: "TIMESTAMP(9)", NotNull: true},
					{Name: "id", Type: "STRING", Null: true, Default: &Literal{Text, "a'b"}},
					{Name: "n", Type: "BIGINT UNSIGNED", Default: &Literal{Number, "-5"}},
					{Name: "d", Type: "DOUBLE PRECISION"},
					{Name: "tz", Type: "timestamp WITH TIME ZONE"},
				},
				TimeIndex: []string{"time"}, PrimaryKey: []string{"id", "n"},
				Options: []Option{{"append_mode", "true"}, {"ttl", "1day"}, {"x", "12"}},
			},
		},
		{
			"CREATE TABLE t (ts TIMESTAMP TIME INDEX, time INT, primary STRING PRIMARY KEY)",
			&CreateTable{Name: Name{"", "t"}, Columns: []ColumnDef{
				{Name: "ts", Type: "TIMESTAMP", TimeIndex: true},
				{Name: "time", Type: "INT"},
				{Name: "primary", Type: "STRING", PrimaryKey: true},
			}},
		},
		{
			"CREATE TABLE t (ts TIMESTAMP TIME INDEX, h STRING, CONSTRAINT \"t pk\" PRIMARY KEY (h))",
			&CreateTable{Name: Name{"", "t"}, Columns: []ColumnDef{
				{Name: "ts", Type: "TIMESTAMP", TimeIndex: true}, {Name: "h", Type: "STRING"},
			}, PrimaryKey: []string{"h"}},
		},
		{"ALTER TABLE t ADD COLUMN c INT NOT NULL DEFAULT 0", &AlterTable{
			Name: Name{"", "t"}, Add: &ColumnDef{Name: "c", Type: "INT", NotNull: true, Default: &Literal{Number, "0"}},
		}},
		{
			"ALTER TABLE t ADD COLUMN IF NOT EXISTS c INT",
			&AlterTable{Name: Name{"", "t"}, Add: &ColumnDef{Name: "c", Type: "INT"}, AddIfNotExists: true},
		},
		{"ALTER TABLE t DROP COLUMN `c.d`", &AlterTable{Name: Name{"", "t"}, Drop: "c.d"}},
		{
			"ALTER TABLE t SET 'ttl'='7d', append_mode=true",
			&AlterTable{Name: Name{"", "t"}, Set: []Option{{"ttl", "7d"}, {"append_mode", "true"}}},
		},
		{"ALTER TABLE t UNSET 'ttl'", &AlterTable{Name: Name{"", "t"}, Unset: []string{"ttl"}}},
		{"ALTER TABLE d.t RENAME TO n", &AlterTable{Name: Name{"d", "t"}, RenameTo: "n"}},
		{"ALTER TABLE t RENAME COLUMN a TO b", &AlterTable{Name: Name{"", "t"}, RenameColumn: "a", RenameColumnTo: "b"}},
		{
			"ALTER TABLE t MODIFY COLUMN a BIGINT UNSIGNED",
			&AlterTable{Name: Name{"", "t"}, Modify: &ModifyColumn{Name: "a", Type: "BIGINT UNSIGNED"}},
		},
		{"ALTER TABLE t MODIFY a DOUBLE", &AlterTable{Name: Name{"", "t"}, Modify: &ModifyColumn{Name: "a", Type: "DOUBLE"}}},
		{
			"ALTER TABLE t ALTER COLUMN a TYPE DOUBLE",
			&AlterTable{Name: Name{"", "t"}, Modify: &ModifyColumn{Name: "a", Type: "DOUBLE"}},
		},
		{
			"ALTER TABLE t ALTER a SET DATA TYPE DOUBLE",
			&AlterTable{Name: Name{"", "t"}, Modify: &ModifyColumn{Name: "a", Type: "DOUBLE"}},
		},
		{"ALTER TABLE t ADD index INT", &AlterTable{Name: Name{"", "t"}, Add: &ColumnDef{Name: "index", Type: "INT"}}},
		{
			"ALTER TABLE t ADD fulltext VARCHAR(3)",
			&AlterTable{Name: Name{"", "t"}, Add: &ColumnDef{Name: "fulltext", Type: "VARCHAR(3)"}},
		},
		{
			"ALTER TABLE t MODIFY COLUMN a SET FULLTEXT INDEX WITH (analyzer='English')",
			&AlterTable{Name: Name{"", "t"}, Modify: &ModifyColumn{
				Name: "a", SetIndex: &IndexDef{Kind: "FULLTEXT", Options: []Option{{"analyzer", "English"}}},
			}},
		},
		{
			"ALTER TABLE t MODIFY COLUMN a UNSET inverted INDEX",
			&AlterTable{Name: Name{"", "t"}, Modify: &ModifyColumn{Name: "a", UnsetIndex: "inverted"}},
		},
		{"ALTER TABLE t RENAME a TO b", &AlterTable{Name: Name{"", "t"}, RenameColumn: "a", RenameColumnTo: "b"}},
		{"TRUNCATE TABLE t RESTART IDENTITY CASCADE", &TruncateTable{Name{"", "t"}}},
		{"TRUNCATE t CONTINUE IDENTITY RESTRICT", &TruncateTable{Name{"", "t"}}},
		{"ALTER TABLE t RENAME n", &AlterTable{Name: Name{"", "t"}, RenameTo: "n"}},
		{"ALTER TABLE t RENAME TO n", &AlterTable{Name: Name{"", "t"}, RenameTo: "n"}},
		{"INSERT INTO t VALUES (1)", &Insert{Name: Name{"", "t"}, Values: [][]Literal{{{Number, "1"}}}}},
		{
			"INSERT INTO t VALUES (1, f(2, ')') + 3), (now() - x, 4)", &Insert{
				Name:   Name{"", "t"},
				Values: [][]Literal{{{Number, "1"}, {Computed, ""}}, {{Computed, ""}, {Number, "4"}}},
				Expressions: []Expression{
					{Row: 0, Index: 1, Text: "f(2, ')') + 3", At: 25},
					{Row: 1, Index: 0, Text: "now() - x", At: 42},
				},
			},
		},
		{
			"; INSERT INTO t AS x DEFAULT VALUES RETURNING x.a, b IS DISTINCT FROM c AS \"from\", extract(year FROM a) -- all",
			&Insert{
				Name: Name{"", "t"}, Alias: "x", Columns: []string{}, Values: [][]Literal{nil},
				Returning: "x.a, b IS DISTINCT FROM c AS \"from\", extract(year FROM a)", ReturningAt: 44,
			},
		},
		{
			"/* x */ INSERT INTO d.t SELECT a, 'RETURNING' FROM u JOIN v ON conflict = (SELECT 1 ON CONFLICT DO) -- end",
			&Insert{
				Name: Name{"d", "t"}, Query: "SELECT a, 'RETURNING' FROM u JOIN v ON conflict = (SELECT 1 ON CONFLICT DO)",
				QueryAt: 16,
			},
		},
		{
			"INSERT INTO t (\"select\") ((TABLE u)) ON CONFLICT DO NOTHING RETURNING a", &Insert{
				Name: Name{"", "t"}, Columns: []string{"select"}, Query: "((TABLE u))", QueryAt: 25, Conflict: &Conflict{},
				Returning: "a", ReturningAt: 70,
			},
		},
		{
			"INSERT INTO t (VALUES (1), (2))", &Insert{Name: Name{"", "t"}, Query: "(VALUES (1), (2))", QueryAt: 14},
		},
		{
			"INSERT INTO t (a) VALUES (1) ON CONFLICT DO NOTHING RETURNING *", &Insert{
				Name: Name{"", "t"}, Columns: []string{"a"}, Values: [][]Literal{{{Number, "1"}}}, Conflict: &Conflict{},
				Returning: "*", ReturningAt: 62,
			},
		},
		{
			`INSERT INTO t (a) VALUES (1) ON CONFLICT (a, "b") DO UPDATE SET c = EXCLUDED.c, "d" = "excluded"."d"`, &Insert{
				Name: Name{"", "t"}, Columns: []string{"a"}, Values: [][]Literal{{{Number, "1"}}},
				Conflict: &Conflict{Target: []string{"a", "b"}, Set: []string{"c", "d"}},
			},
		},
		{
			`INSERT INTO t (a) VALUES (1) ON CONFLICT ON CONSTRAINT t_pkey DO NOTHING`, &Insert{
				Name: Name{"", "t"}, Columns: []string{"a"}, Values: [][]Literal{{{Number, "1"}}},
				Conflict: &Conflict{Constraint: "t_pkey"},
			},
		},
		{
			"INSERT INTO d.t (a, \"b\", c) VALUES (-1.5e3, 'x', NULL), (true, e'\\n', x'00ff'), (now(), " +
				"TIMESTAMP '2024-01-01', '1'::int), (default, current_timestamp, $$q$$)",
			&Insert{Name: Name{"d", "t"}, Columns: []string{"a", "b", "c"}, Values: [][]Literal{
				{{Number, "-1.5e3"}, {Text, "x"}, {}},
				{{Bool, "true"}, {Text, "\n"}, {Bytes, "\x00\xff"}},
				{{Kind: Now}, {Text, "2024-01-01"}, {Text, "1"}},
				{{Kind: Default}, {Kind: Now}, {Text, "q"}},
			}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			got, err := Parse(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]Statement{tt.want}, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		in   string
		code errs.Code
		want string
	}{
		{"", errs.InvalidSyntax, "empty"},
		{" ; -- nothing", errs.InvalidSyntax, "empty"},
		{"SELEC 1", errs.InvalidSyntax, "line 1, column 1: expected a statement"},
		{"SELECT 1;\n  'x'", errs.InvalidSyntax, "line 2, column 3"},
		{"SELECT 'abc", errs.InvalidSyntax, "line 1, column 8: unterminated quoted text"},
		{`SELECT "abc`, errs.InvalidSyntax, "unterminated quoted name"},
		{"SELECT /* abc", errs.InvalidSyntax, "unterminated comment"},
		{"SELECT $x$ abc $$", errs.InvalidSyntax, "unterminated text in $x$"},
		{"SHOW", errs.InvalidSyntax, "at the end of the statement"},
		{"SHOW VARIABLES", errs.InvalidSyntax, "near `VARIABLES`"},
		{"DESCRIBE a.b.c", errs.InvalidSyntax, "`database.table`"},
		{"CREATE TABLE t ()", errs.InvalidSyntax, "column name near `)`"},
		{"CREATE TABLE t (a INT", errs.InvalidSyntax, "at the end of the statement"},
		{"CREATE TABLE t (a INT b)", errs.InvalidSyntax, "near `b`"},
		{"CREATE TABLE t (a INT FULLTEXT)", errs.InvalidSyntax, "expected INDEX near `)`"},
		{"CREATE TABLE t (a INT DEFAULT 1 DEFAULT 2)", errs.InvalidSyntax, `column "a" is given two defaults`},
		{"KILL QUERY ''", errs.InvalidSyntax, "KILL needs the id of a query: the column query_id of svc_private.queries"},
		{"CREATE TABLE t (a INT, PRIMARY KEY ())", errs.InvalidSyntax, "the name of a primary key column near `)`"},
		{"CREATE TABLE t (a STRING, FULLTEXT INDEX (a))", errs.Unsupported, `write "a" STRING FULLTEXT INDEX`},
		{"CREATE TABLE t (a STRING, INDEX i (a))", errs.Unsupported, `INDEX (column) is not available`},
		{"CREATE TABLE t (a INT FULLTEXT INDEX SKIPPING INDEX)", errs.InvalidSyntax, "column \"a\" is given two indexes"},
		{"CREATE TABLE t (a INT SKIPPING INDEX WITH granularity=1)", errs.InvalidSyntax, "expected `(`"},
		{"CREATE TABLE t (a INT) WITH ttl='1d'", errs.InvalidSyntax, "expected `(` near `ttl`"},
		{"CREATE TABLE t (a INT, TIME INDEX (a), TIME INDEX (b))", errs.InvalidSyntax, "given twice"},
		{"CREATE TABLE t AS SELECT 1", errs.Unsupported, "list the columns"},
		{"CREATE VIEW v AS SELECT 1", errs.Unsupported, "CREATE VIEW"},
		{"CREATE OR REPLACE TABLE t (a INT)", errs.Unsupported, "CREATE OR"},
		{"CREATE MACRO m() AS 1", errs.Unsupported, "CREATE MACRO"},
		{"DROP TABLE a, b", errs.Unsupported, "one table"},
		{"DROP TABLE a b", errs.InvalidSyntax, "near `b`"},
		{"ALTER TABLE t ADD COLUMN a INT, ADD COLUMN b INT", errs.Unsupported, "one change"},
		{"ALTER TABLE t MODIFY COLUMN a", errs.InvalidSyntax, "a column type"},
		{"ALTER TABLE t MODIFY COLUMN a SET INDEX", errs.InvalidSyntax, "FULLTEXT INDEX, INVERTED INDEX or SKIPPING INDEX"},
		{"ALTER TABLE t MODIFY COLUMN a INT NOT NULL", errs.InvalidSyntax, `whether column "a" may be NULL`},
		{"ALTER TABLE t MODIFY COLUMN a NOT NULL", errs.InvalidSyntax, `whether column "a" may be NULL`},
		{"ALTER TABLE t MODIFY a BIGINT DEFAULT 9", errs.InvalidSyntax, `the default of column "a"`},
		{"ALTER TABLE t MODIFY a BIGINT FIRST", errs.InvalidSyntax, `the position of column "a"`},
		{"ALTER TABLE t ALTER COLUMN a SET NOT NULL", errs.InvalidSyntax, `whether column "a" may be NULL`},
		{"ALTER TABLE t ALTER COLUMN a DROP DEFAULT", errs.InvalidSyntax, `the default of column "a"`},
		{"ALTER TABLE t ALTER COLUMN a SET FULLTEXT INDEX", errs.InvalidSyntax, "TYPE and the new type"},
		{"ALTER TABLE t RENAME COLUMN a b", errs.InvalidSyntax, "TO and the new name"},
		{"ALTER TABLE t RENAME COLUMN", errs.InvalidSyntax, "a column name"},
		{"ALTER TABLE t RENAME", errs.InvalidSyntax, "the new table name"},
		{"ALTER TABLE t RENAME TO client TO ip", errs.InvalidSyntax, "the end of the statement"},
		{"ALTER TABLE t RENAME client TO", errs.InvalidSyntax, "the new name of the column"},
		{"TRUNCATE a, b", errs.Unsupported, "a statement for each"},
		{"TRUNCATE t RESTART", errs.InvalidSyntax, "the end of the statement"},
		{"ALTER TABLE t RENAME a.b", errs.InvalidSyntax, "cannot be moved to another database"},
		{"ALTER TABLE t RENAME a b", errs.InvalidSyntax, "the end of the statement"},
		{"ALTER TABLE t ADD FULLTEXT INDEX (agent)", errs.Unsupported, "MODIFY COLUMN \"agent\" SET FULLTEXT INDEX"},
		{"ALTER TABLE t ADD INDEX i (agent)", errs.Unsupported, "MODIFY COLUMN \"agent\" SET FULLTEXT INDEX"},
		{"ALTER TABLE t ADD SKIPPING INDEX i (agent)", errs.Unsupported, "MODIFY COLUMN \"agent\" SET SKIPPING INDEX"},
		{"CREATE INDEX i ON t (a)", errs.Unsupported, "MODIFY COLUMN c SET FULLTEXT INDEX"},
		{"CREATE UNIQUE INDEX i ON t (a)", errs.Unsupported, "MODIFY COLUMN c SET FULLTEXT INDEX"},
		{"DROP INDEX i", errs.Unsupported, "MODIFY COLUMN c UNSET FULLTEXT INDEX"},
		{`INSERT INTO t VALUES (e'\u0041')`, errs.InvalidSyntax, "the escape \\u is not supported"},
		{`INSERT INTO t VALUES (e'\xff')`, errs.InvalidSyntax, "not an ASCII character"},
		{"INSERT INTO t (a, b) VALUES (1)", errs.InvalidArguments, "row 1 has 1 values for 2 columns"},
		{"INSERT INTO t VALUES (1), (1, 2)", errs.InvalidArguments, "row 2"},
		{"CREATE TABLE t (LIKE u)", errs.Unsupported, "SHOW CREATE TABLE u has the columns"},
		{"CREATE TABLE t (LIKE u INCLUDING ALL)", errs.Unsupported, "SHOW CREATE TABLE u"},
		{"CREATE TABLE t (a int[])", errs.Unsupported, "a column cannot have the type int[]"},
		{"ALTER TABLE t ADD COLUMN a varchar(10) ARRAY", errs.Unsupported, "use JSON"},
		{"INSERT INTO t BY NAME SELECT 1", errs.Unsupported, "BY NAME"},
		{"INSERT INTO t SELECT 1 ON CONFLICT DO", errs.InvalidSyntax, "expected UPDATE SET"},
		{"DELETE FROM t WHERE a = (1) RETURNING a", errs.Unsupported, "DELETE … RETURNING is not available"},
		{"INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1", errs.Unsupported, "use ON CONFLICT"},
		{"INSERT INTO t VALUES (1) ON CONFLICT (a) WHERE b DO NOTHING", errs.Unsupported, "WHERE"},
		{"INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = 1", errs.Unsupported, "write SET b = EXCLUDED.b"},
		{"INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = EXCLUDED.c", errs.Unsupported, "SET b = EXCLUDED.b"},
		{
			"INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = EXCLUDED.b + 1", errs.InvalidSyntax,
			"expected the end of the statement",
		},
		{"INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET (b) = (EXCLUDED.b)", errs.Unsupported, "set each column"},
		{"INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = EXCLUDED.b WHERE c", errs.Unsupported, "WHERE"},
		{"INSERT INTO t VALUES (1) ON CONFLICT DO UPDATE SET b = EXCLUDED.b", errs.InvalidSyntax, "needs the columns"},
		{"INSERT INTO t VALUES (1) ON CONFLICT (a) DO", errs.InvalidSyntax, "expected UPDATE SET"},
		{"INSERT INTO t VALUES (1) RETURNING", errs.InvalidSyntax, "columns after RETURNING"},
		{"INSERT INTO t VALUES (1) RETURNING a) FROM (SELECT b", errs.InvalidSyntax, "a bracket too many"},
		{"INSERT INTO t VALUES (1) RETURNING a FROM t", errs.InvalidSyntax, "the end of the list after RETURNING"},
		{"INSERT INTO t VALUES (1) RETURNING a UNION SELECT 1", errs.InvalidSyntax, "the end of the list after RETURNING"},
		{"INSERT INTO t VALUES (1) RETURNING DISTINCT a", errs.InvalidSyntax, "the end of the list after RETURNING"},
		{"INSERT INTO t VALUES (,)", errs.InvalidSyntax, "expected a value"},
		{"INSERT INTO t VALUES (1 + ", errs.InvalidSyntax, "expected"},
		{"INSERT INTO t VALUES (1; 2)", errs.InvalidSyntax, "expected"},
		{"INSERT INTO t VALUES (x'0')", errs.InvalidSyntax, "hexadecimal"},
		{"DELETE FROM t", errs.Unsupported, "TRUNCATE"},
		{"COPY (SELECT 1) TO 'x'", errs.Unsupported, "format="},
		{"SET threads=1", errs.Unsupported, "SET"},
		{"SET SESSION threads=1", errs.Unsupported, "SET"},
		{"SET time_zone = Berlin", errs.InvalidSyntax, "expected a time zone in quotes"},
		{"SET time_zone '+02:00'", errs.InvalidSyntax, "expected TO"},
		{"SET TIME ZONE 'UTC' 1", errs.InvalidSyntax, "expected the end of the statement"},
		{"PRAGMA version", errs.Unsupported, "access the host"},
		{"attach 'x.db'", errs.Unsupported, "access the host"},
		{"INSTALL httpfs", errs.Unsupported, "access the host"},
		{"LOAD httpfs", errs.Unsupported, "access the host"},
		{"CALL pragma_version()", errs.Unsupported, "access the host"},
		{"EXPORT DATABASE 'x'", errs.Unsupported, "access the host"},
		{"USE d", errs.Unsupported, "x-svc-db-name"},
		{"BEGIN", errs.Unsupported, "transactions"},
		{"UPDATE t SET a = 1", errs.Unsupported, "UPDATE"},
		{"EXPLAIN COPY t TO 'x'", errs.Unsupported, "SELECT only"},
		{"EXPLAIN", errs.InvalidSyntax, "SELECT to explain"},
		{"SELECT 1; DROP", errs.InvalidSyntax, "DATABASE, USER, ROLE or TOKEN at the end"},
		{strings.Repeat("SELECT 1;", maxStatements+1), errs.InvalidArguments, "several requests"},
	}
	for _, tt := range tests {
		t.Run(tt.in[:min(len(tt.in), 40)], func(t *testing.T) {
			got, err := Parse(tt.in)
			if err == nil {
				t.Fatalf("no error, got %#v", got)
			}
			if errs.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %d %q, want %d and %q", errs.CodeOf(err), err, tt.code, tt.want)
			}
		})
	}
}

func TestLiteralSQL(t *testing.T) {
	for _, in := range []string{"NULL", "DEFAULT", "'a''b'", "-1.5", "true", "x'00ff'", "now()"} {
		got, err := Parse("INSERT INTO t VALUES (" + in + ")")
		if err != nil {
			t.Fatal(err)
		}
		if s := got[0].(*Insert).Values[0][0].SQL(); s != in {
			t.Errorf("got %s, want %s", s, in)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"SELECT 1;SELECT ';'", "CREATE TABLE t (a INT TIME INDEX, PRIMARY KEY(b)) ENGINE=x WITH (a=b)",
		"ALTER TABLE t ADD c INT",
		"INSERT INTO t (a) VALUES (1,'x',e'\\''),($$a$$)", "SHOW TABLES LIKE '%'", "/* /* */", "$a$ $a", "e'\\", "EXPLAIN (",
		"a.b.", "\xff\xfe'",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		statements, err := Parse(src)
		if err != nil {
			if c := errs.CodeOf(err); c != errs.InvalidSyntax && c != errs.Unsupported && c != errs.InvalidArguments {
				t.Fatalf("%q: code %d: %v", src, c, err)
			}
			return
		}
		pieces, err := split(src)
		if err != nil || len(pieces) != len(statements) {
			t.Fatalf("%q: %d pieces, %d statements, %v", src, len(pieces), len(statements), err)
		}
		for i, p := range pieces {
			// A piece by itself is the same single statement.
			again, err := split(src[p.from:p.to])
			if err != nil || len(again) != 1 {
				t.Fatalf("%q: piece %d splits into %v, %v", src, i, again, err)
			}
		}
	})
}
