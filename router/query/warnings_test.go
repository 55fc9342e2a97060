package query

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// warned runs a text and returns the warnings of its statements.
func (w *world) warned(t *testing.T, sql string) (warnings []string) {
	t.Helper()
	statements, err := statement.Parse(sql)
	if err != nil {
		t.Fatal(err)
	}
	ctx := access.With(t.Context(), &access.Caller{Sender: access.Everybody()})
	if err := w.Execute(ctx, Request{Statements: statements}, func(_ context.Context, res Result) error {
		warnings = append(warnings, res.Warnings...)
		return nil
	}); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return warnings
}

// TestInsertWarnsOfExpiredRows checks that an INSERT warns of rows that no query will show, according to the ttl of the
// table or of its database.
func TestInsertWarnsOfExpiredRows(t *testing.T) {
	const olderThanTTL = "older than the ttl of table"
	for _, c := range []struct{ sql, own, want string }{
		{
			"INSERT INTO shop.orders VALUES ('2024-04-29 07:08:08'), ('2024-05-06 07:08:09'), ('2020-01-01')", "",
			"2 rows are " + olderThanTTL + " shop.orders",
		},
		{"INSERT INTO shop.orders VALUES ('2024-04-29 07:08:09')", "", ""},
		{"INSERT INTO shop.orders VALUES ('2020-01-01')", "forever", ""},
		{"INSERT INTO shop.orders VALUES ('2024-05-06 05:00:00')", "1h", "1 row is " + olderThanTTL + " shop.orders"},
		{"INSERT INTO logs (n, ts) VALUES (1, '2020-01-01')", "", ""},
		{"INSERT INTO shop.gone VALUES ('2020-01-01')", "instant", ""},
	} {
		w := newWorld(t)
		for _, name := range []string{"orders", "gone"} {
			if table, _ := w.meta.Table("shop", name); c.own != "" {
				table.Options = map[string]string{schema.OptionTTL: c.own}
			}
		}
		got := strings.Join(w.warned(t, c.sql), "; ")
		if (got != "") != (c.want != "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s with ttl %q: %q, want %q", c.sql, c.own, got, c.want)
		}
	}
}

// TestInsertWarnsOfConversions checks that an INSERT counts values that are stored in another form, like ingestion.
func TestInsertWarnsOfConversions(t *testing.T) {
	w := newWorld(t)
	logs, _ := w.meta.Table("public", "logs")
	logs.Columns = append(logs.Columns, schema.Column{ID: 5, Name: "extra", Type: schema.JSON, Semantic: schema.Field})
	logs.Index()
	for sql, want := range map[string][]string{
		`INSERT INTO logs (extra) VALUES ('{"a":1,"a":2}'), ('[{"b":1,"b":2,"b":3}]')`: {
			"3 keys occurred more than once in an object: the last value of each was stored",
		},
		`INSERT INTO logs (extra) VALUES ('{"a":1e-400}'), ('[-1e-999, 0e-400]')`: {
			"2 numbers, such as 1e-400, are too small for a float: 0 was stored instead",
		},
		`INSERT INTO logs (extra) VALUES ('["\ud800"]')`: {
			"1 escape \\ud800 to \\udfff is not a character by itself: U+FFFD was stored in its place",
		},
		"INSERT INTO logs (ts) VALUES ('2024-05-06 07:08:09.1239'), ('2024-05-06 07:08:09.123000'), (now())": {
			"1 time is finer than the column that it was stored in: it was rounded down to the column's unit",
		},
		`INSERT INTO logs (ts, extra) VALUES (1, '{"a":1,"b":0.0}')`: nil,
	} {
		if diff := cmp.Diff(want, w.warned(t, sql)); diff != "" {
			t.Errorf("%s: %s", sql, diff)
		}
	}
}

// TestAlterWarnsOfExpiry checks that a shorter ttl causes a warning, and a longer one does not.
func TestAlterWarnsOfExpiry(t *testing.T) {
	for sql, want := range map[string]string{
		"ALTER TABLE logs SET 'ttl'='30d'":     "rows of table public.logs that are older than 30days have expired",
		"ALTER TABLE logs SET 'ttl'='forever'": "",
		"ALTER TABLE logs SET 'local_for'='0'": "local_for is 0: local files stay as long as their rows, as with forever",
		"ALTER TABLE logs SET 'ttl'='0s'":      "ttl is 0s: rows are kept forever",
		"ALTER TABLE logs SET 'ttl'=NULL":      "",
		"CREATE DATABASE zero WITH (ttl='0')":  "ttl is 0: rows are kept forever",
		"ALTER TABLE logs SET 'ttl'='instant'": "new rows of table public.logs are discarded from now on",
		"ALTER TABLE logs SET 'comment'='x'":   "",
		"ALTER TABLE logs SET 'max_size'='1GiB'": "if the files and objects of table public.logs have more than 1GiB, its " +
			"oldest rows expire",
		"ALTER TABLE logs SET 'max_size'='0'": "",
		"ALTER TABLE shop.orders SET 'ttl'='8d'": "rows of table shop.orders that are older than 7days had expired: " +
			"those that have been deleted do not return, the others are shown again",
		"ALTER TABLE shop.orders SET 'ttl'='forever'": "rows of table shop.orders that are older than 7days had expired",
		"ALTER TABLE shop.orders SET 'ttl'='7d'":      "",
		"ALTER TABLE shop.orders SET 'ttl'='6d'":      "rows of table shop.orders that are older than 6days",
		"ALTER TABLE shop.kept UNSET 'ttl'":           "rows of table shop.kept that are older than 7days",
		"ALTER DATABASE shop SET 'ttl'='1h'": "rows of the tables of database shop without a ttl of their own " +
			"that are older than 1h",
		"ALTER DATABASE shop UNSET 'ttl'": "rows of the tables of database shop without a ttl of their own that " +
			"are older than 7days had expired",
		"ALTER TABLE logs ADD COLUMN more STRING":   "",
		"ALTER TABLE shop.orders UNSET 'ttl'":       "",
		"ALTER TABLE logs SET 'append_mode'='true'": "",
	} {
		w := newWorld(t)
		kept := *w.meta.tables[1]
		kept.ID, kept.Name, kept.Options = 9, "kept", map[string]string{schema.OptionTTL: "1y"}
		kept.Index()
		w.meta.tables = append(w.meta.tables, &kept)
		got := strings.Join(w.warned(t, sql), "; ")
		if (got != "") != (want != "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// TestIndexReplaced checks that replacing an index by an index of another kind causes a warning.
func TestIndexReplaced(t *testing.T) {
	for sql, want := range map[string]string{
		"ALTER TABLE logs MODIFY COLUMN host SET SKIPPING INDEX": "column host of table " +
			"public.logs had a fulltext index, which the skipping index replaces: a column has one index",
		"ALTER TABLE logs MODIFY COLUMN host SET FULLTEXT INDEX WITH (analyzer='English')": "",
		"ALTER TABLE logs MODIFY COLUMN host UNSET FULLTEXT INDEX":                         "",
	} {
		w := newWorld(t)
		logs, _ := w.meta.Table("public", "logs")
		logs.Column("host").Index = &schema.Index{Kind: schema.FulltextIndex}
		if got := strings.Join(w.warned(t, sql), "; "); !strings.EqualFold(got, want) {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// TestMergeModeWithoutEffect checks that a merge_mode for a table that keeps all rows causes a warning.
func TestMergeModeWithoutEffect(t *testing.T) {
	for sql, want := range map[string]bool{
		"CREATE TABLE m (ts TIMESTAMP TIME INDEX) WITH " +
			"(merge_mode='last_row')": true,
		"CREATE TABLE m (ts TIMESTAMP TIME INDEX, a STRING PRIMARY KEY) WITH (append_mode='true', " +
			"merge_mode='last_row')": true,
		"CREATE TABLE m (ts TIMESTAMP TIME INDEX, a STRING PRIMARY KEY) WITH (merge_mode='last_row')": false,
		"CREATE TABLE m (ts TIMESTAMP TIME INDEX) WITH (merge_mode='last_non_null')":                  false,
		"CREATE TABLE m (ts TIMESTAMP TIME INDEX) WITH (append_mode='false', merge_mode='last_row')":  false,
		"ALTER TABLE logs SET 'merge_mode'='last_row'":                                                true,
		"ALTER TABLE logs SET 'comment'='x'":                                                          false,
	} {
		w := newWorld(t)
		logs, _ := w.meta.Table("public", "logs")
		logs.Options = map[string]string{schema.OptionAppendMode: "true"}
		if got := strings.Join(w.warned(t, sql), "; "); strings.Contains(got, "its merge_mode has no effect") != want {
			t.Errorf("%s: %q", sql, got)
		}
	}
}

// TestAddedDefaults checks that a column that is added with a default is not null, so that older rows show the default.
// If they cannot show it, a warning says so.
func TestAddedDefaults(t *testing.T) {
	for def, want := range map[string]struct {
		notNull bool
		warning string
	}{
		"k BIGINT DEFAULT 3":          {notNull: true},
		"k STRING DEFAULT 'x'":        {notNull: true},
		"k JSON DEFAULT '{}'":         {notNull: true},
		"k BIGINT NOT NULL DEFAULT 3": {notNull: true},
		"k BIGINT NULL DEFAULT 3": {
			warning: "existing rows of table public.logs are null in column k, not 3: it may be NULL",
		},
		"k TIMESTAMP DEFAULT now()": {
			warning: "existing rows of table public.logs are null in column k, not now(): a tag, a TIMESTAMP",
		},
		"k STRING DEFAULT 'x' PRIMARY KEY": {
			warning: "existing rows of table public.logs are null in column k, not 'x': a tag",
		},
		"k BIGINT":              {},
		"k BIGINT DEFAULT NULL": {},
		"k TIMESTAMP DEFAULT '2020-01-01'": {
			warning: "existing rows of table public.logs are null in column k, not '2020-01-01': a tag",
		},
		"IF NOT EXISTS n INT DEFAULT 3": {},
		"IF NOT EXISTS n BIGINT DEFAULT 3": {
			warning: "column n of table public.logs exists already, with the type Int32: it was not changed",
		},
	} {
		w := newWorld(t)
		got := strings.Join(w.warned(t, "ALTER TABLE logs ADD COLUMN "+def), "; ")
		if (got != "") != (want.warning != "") || !strings.HasPrefix(got, want.warning) {
			t.Errorf("%s: %q, want %q", def, got, want.warning)
		}
		var added *schemapb.Column
		for _, cmd := range w.meta.proposed {
			added = cmd.GetAlterTable().GetAddColumn()
		}
		if added.GetNotNull() != want.notNull {
			t.Errorf("%s: not null: %v", def, added.GetNotNull())
		}
	}
}
