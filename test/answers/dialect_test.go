package answers

import (
	"strings"
	"testing"
)

// TestDialect runs statements that the engine alone would interpret differently: arrows together with other
// operators, names in backticks, integers as times, and texts of times in a time zone. Each statement passes through
// every layer, for rows in memory and in segments, and for columns that were renamed and widened.
func TestDialect(t *testing.T) {
	for nodes := 1; nodes <= 2; nodes++ {
		c := newCluster(t, nodes, 1<<10)
		c.must("CREATE TABLE d (ts TIMESTAMP TIME INDEX, at TIMESTAMP(0), id BIGINT, j JSON, k INT SKIPPING INDEX, " +
			"`a b` STRING, old INT) WITH ('append_mode'='true', 'partitions'='2')")
		c.must("INSERT INTO d VALUES (0, 0, 1, '{\"a\":\"x\",\"n\":{\"m\":1}}', 1, 'p', 7), (3600000, 3600, 2, " +
			"'{\"a\":\"y\",\"n\":{\"m\":2}}', 2, 'q', 8)")
		c.flush()
		for _, sql := range []string{
			"ALTER TABLE d RENAME COLUMN `a b` TO `c``d`", "ALTER TABLE d RENAME COLUMN k TO kk",
			"ALTER TABLE d MODIFY COLUMN kk DOUBLE",
			"ALTER TABLE d RENAME COLUMN old TO num", "ALTER TABLE d MODIFY COLUMN num BIGINT",
			"ALTER TABLE d ADD COLUMN old STRING NOT NULL DEFAULT 'new'",
			"INSERT INTO d (ts, at, id, j, kk, `c``d`, num) VALUES (7200000, 7200, 3, " +
				"'{\"a\":\"x\",\"n\":{\"m\":3}}', 2.5, 'r', 9)",
		} {
			c.must(sql)
		}
		for range 2 {
			c.askAll(dialect)
			c.flush()
		}
		// Every statement that describes a table shows its present columns.
		const columns = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'd' AND " +
			"column_name IN ('kk', 'c`d', 'num', 'old', 'k', 'a b') ORDER BY ordinal_position"
		c.askAll([][2]string{{columns, "kk Float64; c`d String; num Int64; old String"}})
		described := c.said("DESCRIBE d")
		for _, want := range []string{"kk Float64 ", "c`d String ", "num Int64 ", "old String "} {
			if !strings.Contains("; "+described, "; "+want) {
				t.Errorf("DESCRIBE d lacks %q: %s", want, described)
			}
		}
		if strings.Contains("; "+described, "; k ") || strings.Contains(described, "a b") {
			t.Errorf("DESCRIBE d has former names: %s", described)
		}
	}
}

// dialect contains statements with their answers.
var dialect = [][2]string{
	// Arrows bind more tightly than comparisons, AND, OR, IN, LIKE, BETWEEN, IS and ||.
	{"SELECT id FROM d WHERE j->>'a' = 'x' AND id > 1", "3"},
	{"SELECT id FROM d WHERE j->>'$.a' = 'x' OR id = 2 ORDER BY id", "1; 2; 3"},
	{"SELECT id FROM d WHERE NOT j->>'a' = 'x'", "2"},
	{"SELECT id FROM d WHERE j->>'a' IN ('y', 'z')", "2"},
	{"SELECT id FROM d WHERE j->>'a' LIKE 'y%'", "2"},
	{"SELECT id FROM d WHERE 'y' = j->>'a'", "2"},
	{"SELECT id FROM d WHERE j->'n'->>'m' BETWEEN '2' AND '3' AND kk >= 2 ORDER BY id", "2; 3"},
	{"SELECT id FROM d WHERE (j->'n'->>'m')::INT + 1 = 4", "3"},
	{"SELECT id FROM d WHERE j->>'none' IS NOT NULL", ""},
	{"SELECT j->>'a' || '!' AS v, count(*) FROM d GROUP BY v ORDER BY v", "x! 2; y! 1"},
	{"SELECT d.j->>'a' AS v, id FROM d ORDER BY d.j->>'a' DESC, id LIMIT 2", "y 2; x 1"},
	{"SELECT list_transform([id], x -> x + 1)[1] FROM d WHERE id = 2", "3"},
	// Backticks are quotes of names, not of texts.
	{"SELECT `c``d` FROM `d` WHERE `c``d` = 'q'", "q"},
	{"SELECT `public`.`d`.`id` FROM `public`.`d` WHERE `j`->>'a' = 'y'", "2"},
	{"SELECT '`id`', id AS `it's` FROM d WHERE `id` = 1 -- `", "`id` 1"},
	{"SELECT max(`c``d`) FROM d AS `x` WHERE `x`.`num` < 9", "q"},
	// Integers are times in the unit of their column.
	{"SELECT id FROM d WHERE ts = 3600000", "2"},
	{"SELECT id FROM d WHERE at = 3600", "2"},
	{"SELECT id FROM d WHERE ts BETWEEN 1 AND 7199999", "2"},
	{"SELECT id FROM d WHERE at IN (0, 7200) ORDER BY id", "1; 3"},
	{"SELECT id FROM d WHERE 3600000 < ts", "3"},
	{"SELECT count(*) FROM d WHERE d.ts >= 3600000 AND at < 7200", "1"},
	{"SELECT id FROM d WHERE ts > -1 ORDER BY ts DESC LIMIT 1", "3"},
	// A text without a zone is a time in the session's zone.
	{"SET TIME ZONE 'Europe/Berlin'; SELECT id FROM d WHERE ts = '1970-01-01 02:00:00'", "2"},
	{"SET TIME ZONE '+02:00'; SELECT id FROM d WHERE at >= '1970-01-01 03:30:00'", "3"},
	{"SET TIME ZONE '+02:00'; SELECT id FROM d WHERE `ts` = '1970-01-01 01:00:00Z'", "2"},
	{"SET TIME ZONE '+02:00'; SELECT id FROM d WHERE ts = 3600000 AND j->>'a' = 'y'", "2"},
	{"SELECT id FROM d WHERE ts = '1970-01-01 02:00:00+01:00'", "2"},
	// Columns that were renamed and widened.
	{"SELECT id FROM d WHERE kk = 2", "2"},
	{"SELECT id FROM d WHERE kk IN (1, 2.5) ORDER BY id", "1; 3"},
	{"SELECT sum(kk), min(kk), max(num), sum(num) FROM d", "5.5 1 9 24"},
	{"SELECT kk, count(*) FROM d GROUP BY kk ORDER BY kk DESC LIMIT 2", "2.5 1; 2 1"},
	{"SELECT num FROM d WHERE old = 'new' AND num > 7 ORDER BY ts DESC LIMIT 1", "9"},
}

// askAll asks statements and compares their answers.
func (c *cluster) askAll(list [][2]string) {
	c.t.Helper()
	for _, s := range list {
		if got := c.said(s[0]); got != s[1] {
			c.t.Errorf("%s: %s, want %s", s[0], got, s[1])
		}
	}
}

// said returns the answer to a statement in one line, or its error.
func (c *cluster) said(sql string) string {
	a, err := c.ask(sql)
	if err != nil {
		return err.Error()
	}
	out := make([]string, len(a.rows))
	for i, row := range a.rows {
		out[i] = strings.ReplaceAll(strings.Join(row, " "), `"`, "")
	}
	return strings.Join(out, "; ")
}
