package query

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/pipeline"
	"cordwood/router/query/statement"
	"cordwood/router/write"
)

func TestChange(t *testing.T) {
	type command = metapb.Command
	tests := []struct {
		sql  string
		want *command // nil means nothing to do
	}{
		{
			"CREATE DATABASE d",
			&command{Op: &metapb.Command_CreateDatabase{CreateDatabase: &metapb.CreateDatabase{Name: "d"}}},
		},
		{
			"CREATE DATABASE IF NOT EXISTS d WITH (ttl='1d 12h')",
			&command{Op: &metapb.Command_CreateDatabase{CreateDatabase: &metapb.CreateDatabase{
				Name: "d", IfNotExists: true, Options: map[string]string{"ttl": "1day 12h"},
			}}},
		},
		{"CREATE DATABASE IF NOT EXISTS information_schema", nil},
		{
			"ALTER DATABASE shop SET 'svc_ttl'='90m'",
			&command{
				Op: &metapb.Command_AlterDatabase{
					AlterDatabase: &metapb.AlterDatabase{Name: "shop", Set: map[string]string{"ttl": "1h 30m"}},
				},
			},
		},
		{
			"ALTER DATABASE shop UNSET TTL",
			&command{
				Op: &metapb.Command_AlterDatabase{AlterDatabase: &metapb.AlterDatabase{Name: "shop", Unset: []string{"ttl"}}},
			},
		},
		{
			"DROP DATABASE IF EXISTS d CASCADE",
			&command{
				Op: &metapb.Command_DropDatabase{DropDatabase: &metapb.DropDatabase{Name: "d", IfExists: true, Cascade: true}},
			},
		},
		{
			`CREATE TABLE shop.t (a VARCHAR(20) DEFAULT 'x''y', ts TIMESTAMP(9), b BOOL NOT NULL DEFAULT TRUE, ` +
				`f DOUBLE DEFAULT 1e3, at TIMESTAMP(0) DEFAULT now(),
			 u TIMESTAMP(3) DEFAULT '2024-01-01', z INT DEFAULT NULL, TIME INDEX (ts), ` +
				`PRIMARY KEY (a)) ENGINE=mito WITH ('TTL'='7d', append_mode=TRUE)`,
			&command{Op: &metapb.Command_CreateTable{CreateTable: &metapb.CreateTable{Table: &schemapb.Table{
				Database: "shop", Name: "t", Options: map[string]string{"ttl": "7days", "append_mode": "true"},
				Columns: []*schemapb.Column{
					{
						Name: "a", Type: schemapb.Type_TYPE_STRING, Semantic: schemapb.Semantic_SEMANTIC_TAG,
						DefaultValue: proto.String("'x''y'"),
					},
					{
						Name: "ts", Type: schemapb.Type_TYPE_TIMESTAMP_NANOSECOND, Semantic: schemapb.Semantic_SEMANTIC_TIMESTAMP,
						NotNull: true,
					},
					{
						Name: "b", Type: schemapb.Type_TYPE_BOOLEAN, Semantic: schemapb.Semantic_SEMANTIC_FIELD, NotNull: true,
						DefaultValue: proto.String("true"),
					},
					{
						Name: "f", Type: schemapb.Type_TYPE_FLOAT64, Semantic: schemapb.Semantic_SEMANTIC_FIELD,
						DefaultValue: proto.String("1000"),
					},
					{
						Name: "at", Type: schemapb.Type_TYPE_TIMESTAMP_SECOND, Semantic: schemapb.Semantic_SEMANTIC_FIELD,
						DefaultValue: proto.String("now()"),
					},
					{
						Name: "u", Type: schemapb.Type_TYPE_TIMESTAMP_MILLISECOND, Semantic: schemapb.Semantic_SEMANTIC_FIELD,
						DefaultValue: proto.String("1704067200000"),
					},
					{Name: "z", Type: schemapb.Type_TYPE_INT32, Semantic: schemapb.Semantic_SEMANTIC_FIELD},
				},
			}}}},
		},
		{
			"ALTER TABLE logs ADD COLUMN m STRING PRIMARY KEY",
			alter("logs", &metapb.AlterTable{Change: &metapb.AlterTable_AddColumn{AddColumn: &schemapb.Column{
				Name: "m", Type: schemapb.Type_TYPE_STRING, Semantic: schemapb.Semantic_SEMANTIC_TAG,
			}}}),
		},
		{"ALTER TABLE logs ADD COLUMN IF NOT EXISTS n INT", nil},
		{
			"ALTER TABLE logs DROP COLUMN n",
			alter("logs", &metapb.AlterTable{Change: &metapb.AlterTable_DropColumn{DropColumn: "n"}}),
		},
		{"ALTER TABLE logs DROP COLUMN IF EXISTS x", nil},
		{
			"ALTER TABLE logs SET 'svc_ttl'='90m', skip_wal=TRUE",
			alter("logs", &metapb.AlterTable{Change: &metapb.AlterTable_SetOptions{SetOptions: &metapb.SetOptions{
				Options: map[string]string{"ttl": "1h 30m", "skip_wal": "true"},
			}}}),
		},
		{
			"ALTER TABLE logs UNSET 'ttl'",
			alter("logs", &metapb.AlterTable{
				Change: &metapb.AlterTable_UnsetOptions{UnsetOptions: &metapb.UnsetOptions{Keys: []string{"ttl"}}},
			}),
		},
		{
			"ALTER TABLE logs SET 'ttl'=NULL, svc_skip_wal=null",
			alter("logs", &metapb.AlterTable{
				Change: &metapb.AlterTable_UnsetOptions{UnsetOptions: &metapb.UnsetOptions{Keys: []string{"ttl", "skip_wal"}}},
			}),
		},
		{
			"ALTER TABLE logs RENAME TO m",
			alter("logs", &metapb.AlterTable{Change: &metapb.AlterTable_RenameTo{RenameTo: "m"}}),
		},
		{
			"ALTER TABLE logs RENAME COLUMN n TO m",
			alter("logs", &metapb.AlterTable{
				Change: &metapb.AlterTable_RenameColumn{RenameColumn: &metapb.RenameColumn{From: "n", To: "m"}},
			}),
		},
		{
			"ALTER TABLE logs MODIFY COLUMN n DOUBLE",
			alter("logs", &metapb.AlterTable{Change: &metapb.AlterTable_ModifyColumn{ModifyColumn: &metapb.ModifyColumn{
				Name: "n", Id: 3, Type: schemapb.Type_TYPE_FLOAT64,
			}}}),
		},
		{"ALTER TABLE logs MODIFY COLUMN n INT", nil},
		{
			"ALTER TABLE logs MODIFY COLUMN n SET INVERTED INDEX",
			alter("logs", &metapb.AlterTable{Change: &metapb.AlterTable_ModifyIndex{ModifyIndex: &metapb.ModifyIndex{
				Name: "n", Index: &schemapb.Index{Kind: schemapb.IndexKind_INDEX_KIND_INVERTED},
			}}}),
		},
		{
			"DROP TABLE shop.orders",
			&command{Op: &metapb.Command_DropTable{DropTable: &metapb.DropTable{Database: "shop", Name: "orders"}}},
		},
		{"DROP TABLE IF EXISTS nope", nil},
		{"DROP TABLE IF EXISTS nowhere.nope", nil},
		{
			"TRUNCATE TABLE logs",
			&command{Op: &metapb.Command_TruncateTable{TruncateTable: &metapb.TruncateTable{Database: "public", Name: "logs"}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.sql, func(t *testing.T) {
			w := newWorld(t)
			got, err := w.run(t.Context(), tt.sql)
			if err != nil || got != "affected 0\n" {
				t.Fatalf("%q, %v", got, err)
			}
			var want []*command
			if tt.want != nil {
				tt.want.TimeUnixNano = now.UnixNano()
				want = append(want, tt.want)
			}
			if d := cmp.Diff(want, w.meta.proposed, protocmp.Transform()); d != "" {
				t.Error(d)
			}
		})
	}
	w := newWorld(t)
	w.meta.err = errs.New(errs.TableAlreadyExists, "table exists")
	if _, err := w.run(t.Context(), "CREATE TABLE logs (ts TIMESTAMP TIME INDEX); SHOW TABLES"); errs.CodeOf(err) !=
		errs.TableAlreadyExists {
		t.Errorf("refused by the metadata: %v", err)
	}
}

func alter(table string, a *metapb.AlterTable) *metapb.Command {
	a.Database, a.Name = "public", table
	return &metapb.Command{Op: &metapb.Command_AlterTable{AlterTable: a}}
}

// TestRoundTrip creates a table from the result of SHOW CREATE TABLE for another table.
func TestRoundTrip(t *testing.T) {
	text := "it's"
	quoted := schema.QuoteLiteral(text)
	columns := []schema.Column{{Name: "at \"x\"", Type: schema.TimestampSecond, Semantic: schema.Timestamp, NotNull: true}}
	for _, typ := range schema.Types() {
		columns = append(columns, schema.Column{
			Name: "c." + typ.String(), Type: typ, Semantic: schema.Field, NotNull: typ%2 == 0,
		})
	}
	for _, kind := range []schema.IndexKind{schema.InvertedIndex, schema.SkippingIndex, schema.FulltextIndex} {
		index, err := schema.NewIndex(kind, schema.String, nil)
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, schema.Column{
			Name: kind.String(), Type: schema.String, Semantic: schema.Field, Index: index,
		})
	}
	columns = append(columns, schema.Column{Name: "tag", Type: schema.String, Semantic: schema.Tag, Default: &quoted})
	table := &schema.Table{
		Database: "public", Name: "a-b", Columns: columns,
		Options: map[string]string{"ttl": "7days", "append_mode": "true", "comment": text},
	}
	w := newWorld(t)
	if _, err := w.run(t.Context(), schema.CreateTableSQL(table)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(table.ToProto(), w.meta.proposed[0].GetCreateTable().Table, protocmp.Transform()); d != "" {
		t.Error(d)
	}
}

// TestRoundTripRandom does the same for many random tables with everything.
func TestRoundTripRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	names := []string{
		"a", "Ä ö", "select", `x"y`, "x`y", "a.b", "time index", "-- no", "/*", "line\nbreak", "'q'", ";", "\\", "$1",
		"日本語", " ", "__x", "PRIMARY KEY", "TIME", "c,d)",
	}
	for n := range 400 {
		table := &schema.Table{
			Database: "public",
			Name:     pick("t", "d_table", "a-b", "A:b", "_x@y#z.9"),
			Options:  map[string]string{},
		}
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		index := r.IntN(1 + r.IntN(len(names)))
		for i := range index + 1 + r.IntN(len(names)-index) {
			c := schema.Column{
				Name: names[i], Type: schema.Types()[r.IntN(len(schema.Types()))], Semantic: schema.Field,
				NotNull: r.IntN(3) == 0,
			}
			switch {
			case i == index:
				c.Type, c.Semantic, c.NotNull = schema.TimestampSecond+schema.Type(r.IntN(4)), schema.Timestamp, true
			case r.IntN(4) == 0:
				c.Semantic = schema.Tag
			}
			c.Default = randomDefault(r, c.Type)
			if c.Type == schema.String && r.IntN(3) == 0 {
				c.Index = randomIndex(t, r)
			}
			table.Columns = append(table.Columns, c)
		}
		for key, values := range map[string][]string{
			"ttl": {"forever", "instant", "7d", "1d 12h 3m", "2M"}, "append_mode": {"true", "false"},
			"skip_wal":       {"true", "false"},
			"physical_table": {"phy", "it's"}, "sst_format": {"flat", "primary_key"}, "comment": {"it's \"so\"; -- \n/*", "ü"},
			"merge_mode": {"last_row"},
		} {
			if r.IntN(2) == 0 {
				table.Options[key] = pick(values...)
			}
		}
		if table.Options["append_mode"] == "false" && r.IntN(2) == 0 {
			table.Options["merge_mode"] = "last_non_null"
		}
		if err := schema.ValidateOptions(table.Options); err != nil {
			t.Fatal(err)
		}
		if !table.AppendMode() {
			// The statement contains the options of a table that merges rows even if they were not set.
			table.Options["append_mode"], table.Options["merge_mode"] = "false", table.MergeMode()
		}
		sql := schema.CreateTableSQL(table)
		w := newWorld(t)
		if _, err := w.run(t.Context(), sql); err != nil {
			t.Fatalf("table %d: %v\n%s", n, err, sql)
		}
		got := w.meta.proposed[0].GetCreateTable().Table
		if d := cmp.Diff(table.ToProto(), got, protocmp.Transform()); d != "" {
			t.Fatalf("table %d: %s\n%s", n, d, sql)
		}
		if again := schema.CreateTableSQL(schema.FromProto(got)); again != sql {
			t.Fatalf("table %d: another text\n%s\n%s", n, sql, again)
		}
	}
}

// randomDefault returns a DEFAULT in its stored form, or nil.
func randomDefault(r *rand.Rand, typ schema.Type) *string {
	texts := []string{schema.QuoteLiteral(""), schema.QuoteLiteral("it's\n\"; --")}
	switch {
	case r.IntN(2) == 0:
		return nil
	case typ == schema.Boolean:
		texts = []string{"true", "false"}
	case typ.IsTimestamp():
		texts = []string{"now()", "0", "-1700000000"}
	case typ == schema.Uint64:
		texts = []string{"0", "18446744073709551615"}
	case typ.IsInteger():
		_, hi := typ.IntRange()
		texts = []string{"0", strconv.FormatInt(hi, 10)}
	case typ.IsFloat():
		texts = []string{"0", "-1.5", "1e+20"}
	case typ == schema.JSON:
		texts = []string{schema.QuoteLiteral(`{"a":"it's"}`), schema.QuoteLiteral("1")}
	}
	return &texts[r.IntN(len(texts))]
}

func randomIndex(t *testing.T, r *rand.Rand) *schema.Index {
	t.Helper()
	kind := []schema.IndexKind{schema.InvertedIndex, schema.SkippingIndex, schema.FulltextIndex}[r.IntN(3)]
	options := map[string]string{}
	if kind != schema.InvertedIndex {
		options["granularity"], options["false_positive_rate"] = strconv.Itoa(1+r.IntN(9999)), "0.05"
	}
	if kind == schema.FulltextIndex {
		options["analyzer"], options["case_sensitive"] = "chinese", "TRUE"
	}
	x, err := schema.NewIndex(kind, schema.String, options)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestInsert(t *testing.T) {
	w := newWorld(t)
	got, err := w.run(t.Context(), `INSERT INTO logs (host, ok, ts) VALUES ('a', TRUE, 1700000000000), (NULL, NULL, `+
		`'2023-11-14T23:13:21.5+01:00'), ('ü', 0, DEFAULT)`)
	if err != nil || got != "affected 3\n" {
		t.Fatalf("%q, %v", got, err)
	}
	out := w.writer.out.Tables[0]
	if out.Existing != w.meta.tables[0] || !out.NoCreate || out.Database != "public" || out.Table != "logs" {
		t.Errorf("got %+v", out)
	}
	want := "ts 1700000000000 1700000001500 1714979289123\nhost a NULL ü\nn 3 3 3\nok 1 NULL 0\n"
	var s strings.Builder
	for _, c := range out.Rows.Cols() {
		s.WriteString(c.Name)
		for row := range out.Rows.Rows() {
			s.WriteByte(' ')
			switch {
			case c.IsNull(row):
				s.WriteString("NULL")
			case c.Type.IsBytes():
				s.Write(c.Bytes(row))
			default:
				s.WriteString(strconv.FormatInt(c.Int(row), 10))
			}
		}
		s.WriteByte('\n')
	}
	if s.String() != want {
		t.Errorf("got\n%swant\n%s", s.String(), want)
	}
	if got, err := w.run(t.Context(), "INSERT INTO shop.gone VALUES (1)"); err != nil || got != "affected 0\n" {
		t.Errorf("ttl instant: %q, %v", got, err)
	}
	if _, err := w.run(t.Context(), "INSERT INTO shop.orders () VALUES ()"); errs.CodeOf(err) != errs.InvalidSyntax {
		t.Errorf("no columns: %v", err)
	}
}

// TestInsertFollowsSchema checks that, if the table has changed, the INSERT converts its rows again.
func TestInsertFollowsSchema(t *testing.T) {
	w := newWorld(t)
	w.writer.err = errors.Join(write.ErrSchemaChanged, errs.New(errs.InvalidArguments, "another type"))
	if _, err := w.run(t.Context(), "INSERT INTO logs (n) VALUES (1)"); errs.CodeOf(err) != errs.InvalidArguments ||
		w.writer.rounds != insertRounds {
		t.Errorf("%d rounds, %v", w.writer.rounds, err)
	}
}

func TestValueOf(t *testing.T) {
	lit := func(sql string) statement.Literal {
		l, err := statement.ParseLiteral(sql)
		if err != nil {
			t.Fatal(sql, err)
		}
		return l
	}
	good := []struct {
		sql  string
		typ  schema.Type
		want value
	}{
		{"NULL", schema.Int8, value{null: true}},
		{"true", schema.Boolean, value{i: 1}},
		{"'FALSE'", schema.Boolean, value{}},
		{"1", schema.Boolean, value{i: 1}},
		{"-128", schema.Int8, value{i: -128}},
		{"'12'", schema.Int64, value{i: 12}},
		{"1e3", schema.Int64, value{i: 1000}},
		{"2.0", schema.Uint8, value{i: 2}},
		{"0xff", schema.Uint8, value{i: 255}},
		{"18446744073709551615", schema.Uint64, value{i: -1}},
		{"-9223372036854775808", schema.Int64, value{i: math.MinInt64}},
		{"1.5", schema.Float64, value{f: 1.5}},
		{"'-inf'", schema.Float64, value{f: math.Inf(-1)}},
		{"9007199254740992", schema.Float64, value{f: 1 << 53}},
		{"9007199254740993.0", schema.Float64, value{f: 1 << 53}},
		{strconv.FormatFloat(math.MaxFloat64, 'f', -1, 64), schema.Float64, value{f: math.MaxFloat64}},
		{"'t'", schema.Boolean, value{i: 1}},
		{"0.000e-400", schema.Float64, value{}},
		{"'1e-300'", schema.Float64, value{f: 1e-300}},
		{"18446744073709551616", schema.Float64, value{f: 1 << 64}},
		{"16777216", schema.Float32, value{f: 1 << 24}},
		{"16777217.0", schema.Float32, value{f: 1 << 24}},
		{"-0", schema.Float64, value{f: math.Copysign(0, -1)}},
		{"12", schema.String, value{s: "12"}},
		{"x'00ff'", schema.Binary, value{s: "\x00\xff"}},
		{"'ab'", schema.Binary, value{s: "ab"}},
		{`'{"a": [1]}'`, schema.JSON, value{s: `{"a":[1]}`}},
		{
			`'{"b": 1, "a": "\ud800", "b": 2.50}'`, schema.JSON,
			value{s: "{\"a\":\"\uFFFD\",\"b\":2.5}", changed: pipeline.Changes{Repeated: 1, Lone: 1}},
		},
		{`' "x" '`, schema.JSON, value{s: `"x"`}},
		{"true", schema.JSON, value{s: "true"}},
		{"1.5", schema.JSON, value{s: "1.5"}},
		{"12", schema.TimestampNanosecond, value{i: 12}},
		{"'12'", schema.TimestampSecond, value{i: 12}},
		{"'2024-05-06'", schema.TimestampSecond, value{i: 1714953600}},
		{
			"'2024-05-06 07:08:09.123456789'", schema.TimestampMicrosecond,
			value{i: 1714979289123456, changed: pipeline.Changes{Cut: 1}},
		},
		{"'2024-05-06T07:08:09Z'", schema.TimestampSecond, value{i: 1714979289}},
		{"TIMESTAMP '2024-05-06 09:08:09+02:00'", schema.TimestampSecond, value{i: 1714979289}},
		{"'2024-05-06 07:08:09.5+00'", schema.TimestampMillisecond, value{i: 1714979289500}},
		{"'1969-12-31T23:59:59.9'", schema.TimestampSecond, value{i: -1, changed: pipeline.Changes{Cut: 1}}},
		{"now()", schema.TimestampNanosecond, value{i: now.UnixNano()}},
	}
	for _, tt := range good {
		got, err := valueOf(lit(tt.sql), tt.typ, now)
		if err != nil || got != tt.want {
			t.Errorf("%s as %s: %+v, %v, want %+v", tt.sql, tt.typ, got, err, tt.want)
		}
	}
	bad := []struct {
		sql string
		typ schema.Type
	}{
		{"2", schema.Boolean},
		{"'x'", schema.Boolean},
		{"128", schema.Int8},
		{"-1", schema.Uint64},
		{"1.5", schema.Int64},
		{"true", schema.Int64},
		{"18446744073709551616", schema.Uint64},
		{"9007199254740993e3", schema.Int64},
		{"'x'", schema.Float64},
		{"1e400", schema.Float64},
		{"9007199254740993", schema.Float64},
		{"1e-400", schema.Float64},
		{"'-1e-400'", schema.Float64},
		{"1e-50", schema.Float32},
		{"1e400", schema.Float64},
		{"'18446744073709551615'", schema.Float64},
		{"16777217", schema.Float32},
		{"'{'", schema.JSON},
		{"''", schema.JSON},
		{"'{} {}'", schema.JSON},
		{"'[1e400]'", schema.JSON},
		{"'\"\xff\"'", schema.JSON},
		{"x'7b7d'", schema.JSON},
		{"x'ff'", schema.String},
		{"now()", schema.String},
		{"1.5", schema.TimestampSecond},
		{"'2024-13-01'", schema.TimestampSecond},
		{"'3000-01-01'", schema.TimestampNanosecond},
		{"9223372036854775807", schema.TimestampSecond},
		{"true", schema.TimestampSecond},
	}
	for _, tt := range bad {
		if got, err := valueOf(lit(tt.sql), tt.typ, now); errs.CodeOf(err) != errs.InvalidArguments {
			t.Errorf("%s as %s: %+v, %v", tt.sql, tt.typ, got, err)
		}
	}
}

// TestCreateTableMode checks that a table without a primary key keeps all rows. A table with a key merges rows, and a
// warning says so.
func TestCreateTableMode(t *testing.T) {
	for _, c := range []struct{ sql, mode, warning string }{
		{"CREATE TABLE n (ts TIMESTAMP TIME INDEX, msg STRING)", "true", ""},
		{
			"CREATE TABLE n (ts TIMESTAMP TIME INDEX, msg STRING) WITH (append_mode='false')", "false",
			"has no primary key and append_mode is false: of rows with the same time only the last is shown",
		},
		{
			"CREATE TABLE n (ts TIMESTAMP TIME INDEX, msg STRING) WITH (merge_mode='last_non_null')", "false",
			"of rows with the same time one is shown",
		},
		{"CREATE TABLE n (ts TIMESTAMP TIME INDEX) WITH (ttl='0')", "true", "ttl is 0: rows are kept forever"},
		{"CREATE TABLE n (ts TIMESTAMP TIME INDEX) WITH (ttl='')", "true", "ttl is empty: rows are kept forever"},
		{"CREATE TABLE n (ts TIMESTAMP TIME INDEX) WITH (ttl='Forever')", "true", ""},
		{"CREATE TABLE n (ts TIMESTAMP TIME INDEX, host STRING PRIMARY KEY)", "false", "merges rows"},
		{"CREATE TABLE IF NOT EXISTS n (ts TIMESTAMP TIME INDEX, host STRING, PRIMARY KEY (host))", "false", "merges rows"},
		{"CREATE TABLE n (ts TIMESTAMP TIME INDEX, host STRING PRIMARY KEY) WITH ('append_mode'='false')", "false", ""},
		{"CREATE TABLE n (ts TIMESTAMP TIME INDEX, host STRING PRIMARY KEY) WITH (append_mode=true)", "true", ""},
	} {
		w := newWorld(t)
		var warnings []string
		statements, err := statement.Parse(c.sql)
		if err != nil {
			t.Fatal(err)
		}
		ctx := access.With(t.Context(), &access.Caller{Sender: access.Everybody()})
		err = w.Execute(ctx, Request{Statements: statements}, func(_ context.Context, res Result) error {
			warnings = append(warnings, res.Warnings...)
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", c.sql, err)
		}
		if got := w.meta.proposed[0].GetCreateTable().Table.Options[schema.OptionAppendMode]; got != c.mode {
			t.Errorf("%s: append_mode %q, want %q", c.sql, got, c.mode)
		}
		if (len(warnings) > 0) != (c.warning != "") || !strings.Contains(strings.Join(warnings, ""), c.warning) {
			t.Errorf("%s: warnings %q, want %q", c.sql, warnings, c.warning)
		}
	}
}

// TestSetAppendMode checks that setting append_mode ends the merging of rows.
func TestSetAppendMode(t *testing.T) {
	w := newWorld(t)
	table, ok := w.meta.Table("public", "logs")
	if !ok {
		t.Fatal("no table logs")
	}
	table.Options = map[string]string{"append_mode": "false", "merge_mode": "last_non_null"}
	if _, err := w.run(t.Context(), "ALTER TABLE logs SET append_mode=true"); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"append_mode": "true", "merge_mode": "last_row"}
	if d := cmp.Diff(want, w.meta.proposed[0].GetAlterTable().GetSetOptions().Options); d != "" {
		t.Error(d)
	}
}

// TestUnsetAppendMode checks that a table without a primary key keeps all rows by default, so UNSET either changes
// nothing or makes the table keep all rows.
func TestUnsetAppendMode(t *testing.T) {
	for _, c := range []struct {
		sql, mode string
		unset     []string
		set       map[string]string
		tags      bool
	}{
		{sql: "UNSET append_mode", mode: "true"},
		{sql: "SET append_mode=NULL", mode: "true"},
		{sql: "UNSET append_mode, ttl", mode: "true", unset: []string{"ttl"}},
		{sql: "UNSET append_mode", mode: "false", set: map[string]string{"append_mode": "true"}},
		{sql: "UNSET append_mode", mode: "false", tags: true, unset: []string{"append_mode"}},
	} {
		w := newWorld(t)
		table, ok := w.meta.Table("public", "logs")
		if !ok {
			t.Fatal("no table logs")
		}
		table.Options = map[string]string{"append_mode": c.mode}
		for i := range table.Columns {
			if col := &table.Columns[i]; col.Semantic == schema.Tag && !c.tags {
				col.Semantic = schema.Field
			} else if c.tags && col.Semantic == schema.Field {
				col.Semantic = schema.Tag
			}
		}
		if _, err := w.run(t.Context(), "ALTER TABLE logs "+c.sql); err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		var alter *metapb.AlterTable
		if len(w.meta.proposed) > 0 {
			alter = w.meta.proposed[0].GetAlterTable()
		}
		if d := cmp.Diff(c.unset, alter.GetUnsetOptions().GetKeys()); d != "" {
			t.Errorf("%s with %s: %s", c.sql, c.mode, d)
		}
		if d := cmp.Diff(c.set, alter.GetSetOptions().GetOptions()); d != "" {
			t.Errorf("%s with %s: %s", c.sql, c.mode, d)
		}
	}
}

// TestDefineRefusals checks statements that contradict themselves.
func TestDefineRefusals(t *testing.T) {
	for sql, want := range map[string]string{
		"CREATE TABLE n (ts TIMESTAMP TIME INDEX, a STRING PRIMARY KEY, b STRING PRIMARY KEY)":      "PRIMARY KEY (a, b)",
		"CREATE TABLE n (ts TIMESTAMP TIME INDEX, a STRING PRIMARY KEY, b STRING, PRIMARY KEY (b))": "PRIMARY KEY (a, b)",
		"ALTER TABLE logs MODIFY COLUMN n STRING": "the types wider than " +
			"Int32 are BIGINT, DOUBLE",
		"ALTER TABLE logs MODIFY COLUMN x DOUBLE":                           `no column "x"`,
		"ALTER TABLE logs MODIFY COLUMN n NUMBER":                           "Unknown column type",
		"ALTER TABLE logs MODIFY COLUMN n SET FULLTEXT INDEX":               "needs a String column, not Int32",
		"ALTER TABLE logs MODIFY COLUMN n UNSET SKIPPING INDEX":             "has no index",
		"ALTER TABLE logs RENAME COLUMN x TO y":                             `no column "x"`,
		"ALTER TABLE logs SET tll='7d'":                                     `did you mean "ttl"?; known are append_mode`,
		"ALTER TABLE logs MODIFY COLUMN n SET INVERTED INDEX WITH (x='1')":  "which has no options",
		"ALTER TABLE logs MODIFY COLUMN n SET SKIPPING INDEX WITH (gran=1)": `did you mean "granularity"?`,
		"ALTER TABLE logs RENAME COLUMN n TO __primary_key":                 "__primary_key",
		"ALTER TABLE logs SET ttl='7d', skip_wal=NULL":                      "send a statement for each",
	} {
		w := newWorld(t)
		if _, err := w.run(t.Context(), sql); err == nil || !strings.Contains(err.Error(), want) || len(w.meta.proposed) > 0 {
			t.Errorf("%s: %v, %d changes; want an error with %q", sql, err, len(w.meta.proposed), want)
		}
	}
}

// TestTimezoneOfStatements checks that SET of a time zone applies to the statements after it.
func TestTimezoneOfStatements(t *testing.T) {
	w := newWorld(t)
	if _, err := w.run(t.Context(),
		"SET TIME ZONE '+02:00'; INSERT INTO logs (ts) VALUES ('1970-01-01 02:00:01'), ('1970-01-01 00:00:03Z')"); err !=
		nil {
		t.Fatal(err)
	}
	if got := w.writer.out.Tables[0].Rows.Cols()[0]; got.Int(0) != 1000 || got.Int(1) != 3000 {
		t.Errorf("stored %d and %d", got.Int(0), got.Int(1))
	}
	w.shards.reads = []*shardpb.TableName{{Database: "public", Name: "logs"}}
	for text, want := range map[string]string{
		"SET TIME ZONE '+02:00'; SELECT ts FROM logs":                         "+02:00",
		"SET TIME ZONE '+02:00'; SET timezone = DEFAULT; SELECT ts FROM logs": "",
	} {
		w.shards.queried = nil
		_, err := w.run(t.Context(), text)
		if w.shards.queried.GetTimezone() != want {
			t.Errorf("%s: %v, %v", text, w.shards.queried, err)
		}
	}
	if _, err := w.run(t.Context(), "SET TIME ZONE 'Europe/Atlantis'; SELECT 1"); errs.CodeOf(err) !=
		errs.InvalidArguments {
		t.Errorf("got %v", err)
	}
}
