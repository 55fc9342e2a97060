package schema

import (
	"strings"
	"testing"

	"cordwood/proto/errs"
)

func TestCreateTableSQL(t *testing.T) {
	zero, text := "0", "'it''s'"
	for _, c := range []struct {
		name  string
		table Table
		want  string
	}{
		{
			"made by a log write",
			Table{
				Name: "d_table_2436",
				Columns: []Column{
					{Name: "time", Type: TimestampNanosecond, Semantic: Timestamp, NotNull: true},
					{Name: "id", Type: String, Semantic: Field},
				},
				Options: map[string]string{"ttl": "1day", "append_mode": "true", "comment": CreatedOnInsertion},
			},
			`CREATE TABLE IF NOT EXISTS "d_table_2436" (
  "time" TIMESTAMP(9) NOT NULL,
  "id" STRING NULL,
  TIME INDEX ("time")
) ENGINE=mito WITH (append_mode='true', ttl='1day')`,
		},
		{
			"everything",
			Table{
				Name: `odd"name`,
				Columns: []Column{
					{Name: "k", Type: String, Semantic: Tag, NotNull: true, Default: &text},
					{Name: "t", Type: TimestampSecond, Semantic: Timestamp},
					{Name: `a "b"`, Type: Uint16, Semantic: Field, Default: &zero},
					{Name: "k2", Type: Boolean, Semantic: Tag},
				},
				Options: map[string]string{
					"comment": "it's", "auto_create_table": "true", "my.option": "x", "merge_mode": "last_row",
				},
			},
			`CREATE TABLE IF NOT EXISTS "odd""name" (
  "k" STRING NOT NULL DEFAULT 'it''s',
  "t" TIMESTAMP(0) NOT NULL,
  "a ""b""" SMALLINT UNSIGNED NULL DEFAULT 0,
  "k2" BOOLEAN NULL,
  TIME INDEX ("t"),
  PRIMARY KEY ("k", "k2")
) ENGINE=mito WITH (append_mode='false', comment='it''s', merge_mode='last_row', 'my.option'='x')`,
		},
		{
			"indexes",
			Table{Name: "t", Columns: []Column{
				{Name: "ts", Type: TimestampMillisecond, Semantic: Timestamp},
				{Name: "a", Type: String, Semantic: Tag, Index: &Index{Kind: InvertedIndex}},
				{
					Name: "b", Type: Int64, Semantic: Field, Default: &zero,
					Index: &Index{Kind: SkippingIndex, Options: DefaultIndexOptions(SkippingIndex)},
				},
				{Name: "c", Type: String, Semantic: Field, Index: &Index{
					Kind: FulltextIndex, Options: DefaultIndexOptions(FulltextIndex),
				}},
			}},
			`CREATE TABLE IF NOT EXISTS "t" (
  "ts" TIMESTAMP(3) NOT NULL,
  "a" STRING NULL INVERTED INDEX,
  "b" BIGINT NULL DEFAULT 0 SKIPPING INDEX WITH (false_positive_rate='0.01', granularity='10240', type='BLOOM'),
  "c" STRING NULL FULLTEXT INDEX WITH (analyzer='English', backend='bloom', ` +
				`case_sensitive='false', false_positive_rate='0.01', granularity='10240'),
  TIME INDEX ("ts"),
  PRIMARY KEY ("a")
) ENGINE=mito WITH (append_mode='false', merge_mode='last_row')`,
		},
		{
			"no options",
			Table{Name: "t", Columns: []Column{{Name: "ts", Type: TimestampMillisecond, Semantic: Timestamp}}},
			"CREATE TABLE IF NOT EXISTS \"t\" (\n  \"ts\" TIMESTAMP(3) NOT NULL,\n  TIME INDEX (\"ts\")\n" +
				") ENGINE=mito WITH (append_mode='false', merge_mode='last_row')",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := CreateTableSQL(&c.table); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestParseType(t *testing.T) {
	for _, typ := range Types() {
		for _, name := range []string{typ.SQL(), typ.String(), strings.ToLower(typ.SQL()), strings.ToUpper(typ.String())} {
			if got, err := ParseType(name); err != nil || got != typ {
				t.Errorf("%s: got %s, %v; want %s", name, got, err, typ)
			}
		}
	}
	for name, want := range map[string]Type{
		"int8": Int8, "INTEGER": Int32, "int  unsigned": Uint32, "unsigned bigint": Uint64, "uint64": Uint64,
		"float32": Float32, "real": Float32, "Double Precision": Float64, "bool": Boolean,
		"text": String, "varchar": String, "VARCHAR(255)": String, "varchar ( 10 )": String,
		"blob": Binary, "bytea": Binary, "varbinary(16)": Binary,
		"timestamp": TimestampMillisecond, "TIMESTAMP (9)": TimestampNanosecond, "timestamp( 6 )": TimestampMicrosecond,
		"timestamp_s": TimestampSecond, "TIMESTAMP_MS": TimestampMillisecond, "timestamp_us": TimestampMicrosecond,
		"timestamp_ns":         TimestampNanosecond,
		"TIMESTAMP_NANOSECOND": TimestampNanosecond,
		"timestamptz":          TimestampMicrosecond, "TIMESTAMP  WITH TIME ZONE": TimestampMicrosecond,
		"timestamp without time zone": TimestampMicrosecond, "TIMESTAMP(3) WITH TIME ZONE": TimestampMillisecond,
		"timestamptz(9)": TimestampNanosecond, "TIMESTAMP(0) WITHOUT TIME ZONE": TimestampSecond,
		"FLOAT(53)": Float64, "float(24)": Float32, "uuid": String, "jsonb": JSON, "character varying(10)": String,
	} {
		if got, err := ParseType(name); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", name, got, err, want)
		}
	}
	for _, name := range []string{
		"", "decimal", "INVALID", "timestamp(4)", "timestamp()", "timestamp(9", "varchar(x)",
		"varchar(1) x", "int(11)", "bigint(3)unsigned", "varchar(9) with time zone",
		"timestamp(4) with time zone", "float(100)",
		"timestamp with time", "timestamp(6) with", "(3)", "timestamp(-3)",
	} {
		if got, err := ParseType(name); err == nil || got != Invalid || errs.CodeOf(err) != errs.InvalidSyntax {
			t.Errorf("%s: got %s, %v; want an error of code 2000", name, got, err)
		}
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("a", 128)
	for _, c := range []struct {
		check     func(string) error
		what      string
		good, bad []string
	}{
		{
			CheckTableName, "table",
			[]string{"t", "_", ":x", "-x", "Table_1:a-b.c@d#e", long},
			[]string{"", "1t", ".t", "@t", "a b", "a/b", "tä", "a\"b", "a\x00", long + "a"},
		},
		{
			CheckDatabaseName, "database",
			[]string{"public", "_d", "a-b.c", long},
			[]string{"", "1d", "-d", "a b", "a@b", "a:b", long + "a"},
		},
		{
			CheckColumnName, "column",
			[]string{"a", "0", "a b", "ä", "__x", "a.b", strings.Repeat("a", 1024)},
			[]string{"", "\xff", "a\x00b", "__primary_key", "__sequence", "__op_type", strings.Repeat("a", 1025)},
		},
	} {
		for _, name := range c.good {
			if err := c.check(name); err != nil {
				t.Errorf("%s %.20q: %v", c.what, name, err)
			}
		}
		for _, name := range c.bad {
			err := c.check(name)
			if errs.CodeOf(err) != errs.InvalidArguments || !strings.HasPrefix(err.Error(), "Invalid "+c.what+" name: ") {
				t.Errorf("%s %.20q: error %v", c.what, name, err)
			}
		}
	}
	for name, want := range map[string]bool{
		"svc_private": true, "information_schema": true, "Information_Schema": true, "public": false, "svc_privates": false,
	} {
		if ReservedDatabase(name) != want {
			t.Errorf("%s: reserved is not %v", name, want)
		}
	}
}

func TestQuote(t *testing.T) {
	if got := QuoteIdent(`a"b'`); got != `"a""b'"` {
		t.Error(got)
	}
	if got := QuoteLiteral(`a"b'`); got != `'a"b'''` {
		t.Error(got)
	}
}
