package query

import (
	"fmt"
	"strings"
	"testing"

	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
)

// TestShowTablesPages reads a list page by page. Together the pages are the list.
func TestShowTablesPages(t *testing.T) {
	w := newWorld(t)
	for i := range 57 {
		w.meta.tables = append(w.meta.tables,
			(&schema.Table{ID: uint64(100 + i), Database: "shop", Name: fmt.Sprintf("t_%02d", (i*23)%57), Version: 1}).Index())
	}
	run := func(sql string) []string {
		t.Helper()
		got, err := w.run(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(got, "\n"), "\n")[1:]
	}
	for _, form := range []struct {
		sql  string
		rows int
	}{
		{"SHOW TABLES FROM shop", 59},
		{"SHOW FULL TABLES FROM shop", 59},
		{"SHOW TABLES FROM shop LIKE 't_%'", 57},
		{"SHOW TABLES FROM shop LIKE 't\\_1%'", 10},
		{"SHOW TABLES FROM svc_private", 8},
		{"SHOW TABLES FROM information_schema LIKE '%s'", 2},
	} {
		all := run(form.sql)
		if len(all) != form.rows {
			t.Errorf("%s: %d rows, want %d: %q", form.sql, len(all), form.rows, all)
		}
		var pages []string
		for offset := 0; offset < 70; offset += 7 {
			pages = append(pages, run(fmt.Sprintf("%s LIMIT 7 OFFSET %d", form.sql, offset))...)
		}
		if got, want := strings.Join(pages, " "), strings.Join(all, " "); got != want {
			t.Errorf("%s: pages %q, want %q", form.sql, got, want)
		}
		if rest := run(form.sql + " OFFSET 3"); strings.Join(rest, " ") != strings.Join(all[min(3, len(all)):], " ") {
			t.Errorf("%s OFFSET 3: %q", form.sql, rest)
		}
		if none := run(form.sql + " LIMIT 0"); len(none) > 0 {
			t.Errorf("%s LIMIT 0: %q", form.sql, none)
		}
	}
}

// TestSystemColumns checks which columns of information_schema.tables are computed for a statement.
func TestSystemColumns(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop' ORDER BY " +
			"table_name LIMIT 1": "NULL shop orders NULL NULL NULL",
		"SELECT table_id FROM information_schema.tables WHERE table_schema = 'shop'": "NULL shop NULL NULL 2 NULL",
		"SELECT * FROM information_schema.tables WHERE " +
			"table_schema = 'shop'": "svc shop orders BASE TABLE 2 mito",
		"SELECT lower(table_name) FROM information_schema.tables WHERE " +
			"table_schema = 'shop'": "svc shop orders BASE TABLE 2 mito",
	} {
		w := newWorld(t)
		w.shards.reads = []*shardpb.TableName{{Database: "information_schema", Name: "tables"}}
		if _, err := w.run(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		if rows := dump(t, w.shards.queried.Tables[0].InlineBatches[0]); !strings.Contains(rows, want) {
			t.Errorf("%s: the engine got\n%s, want %s in it", sql, rows, want)
		}
	}
}
