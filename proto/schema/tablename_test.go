package schema

import (
	"strings"
	"testing"
)

func TestParseTableName(t *testing.T) {
	for text, want := range map[string][2]string{
		"app":                         {"", "app"},
		"shop.orders":                 {"shop", "orders"},
		`"app.kubernetes.io"`:         {"", "app.kubernetes.io"},
		`shop."my.orders"`:            {"shop", "my.orders"},
		`"my.shop".orders`:            {"my.shop", "orders"},
		`"a""b"."c"`:                  {`a"b`, "c"},
		"my-table":                    {"", "my-table"},
		":odd@#1":                     {"", ":odd@#1"},
		`"` + strings.Repeat(`""`, 3): {}, // not closed
		"":                            {},
		".":                           {},
		"a.":                          {},
		".a":                          {},
		`""`:                          {},
		`"a`:                          {},
		`a"b"`:                        {},
		`"a"b`:                        {},
		"a.b.c":                       {},
		`a."b".c`:                     {},
	} {
		database, table, err := ParseTableName(text)
		if got := [2]string{database, table}; got != want || (err == nil) != (want[1] != "") {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	if _, _, err := ParseTableName("a.b.c"); err == nil || !strings.Contains(err.Error(), "quote names that have dots") {
		t.Errorf("three parts: %v", err)
	}
}

func FuzzTableName(f *testing.F) {
	for _, pair := range [][2]string{{"a", "b"}, {"a.b", "c"}, {`a"b`, `."`}, {"public", "app.kubernetes.io"}} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, database, table string) {
		text := FormatTableName(database, table)
		gotDatabase, gotTable, err := ParseTableName(text)
		if empty := database == "" || table == ""; empty != (err != nil) ||
			err == nil && (gotDatabase != database || gotTable != table) {
			t.Errorf("%q and %q are written %s and read %q, %q, %v", database, table, text, gotDatabase, gotTable, err)
		}
		// The text may be arbitrary.
		if _, _, err := ParseTableName(table); err == nil && table == "" {
			t.Error("an empty name is accepted")
		}
	})
}
