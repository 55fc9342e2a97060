package statement

import (
	"fmt"
	"testing"
)

func (m *Match) String() string {
	switch {
	case m == nil:
		return "any"
	case m.like != nil:
		return "like " + *m.like
	}
	return fmt.Sprint(m.names)
}

func TestTableFilter(t *testing.T) {
	const from = "SELECT * FROM information_schema.tables "
	for sql, want := range map[string]string{
		from + "WHERE table_schema = 'public' AND table_name = 'a'":                               "[public] [a]",
		from + "t WHERE t.TABLE_NAME IN ('b', 'a', 'b') AND rows > 1 ORDER BY table_name LIMIT 1": "any [a b]",
		from + `WHERE "table_name" LIKE 'a%' AND (rows > 1)`:                                      "any like a%",
		from + "WHERE 'a' = table_name":                                                           "any [a]",
		from + "WHERE count(x, 'AND') > 1 AND table_name = 'it''s'":                               "any [it's]",
		"select count(*) filter (rows > 1) from information_schema.tables where table_name='a'":   "any [a]",

		from: "any any",
		from + "WHERE table_name = 'a' OR rows > 1":                                       "any any",
		from + "WHERE (rows > 1 OR table_name = 'x') AND table_schema = 'a'":              "any any",
		from + "WHERE NOT table_name = 'a'":                                               "any any",
		from + "WHERE table_name = 'a' = true":                                            "any any",
		from + "WHERE table_name = 'a' || 'b'":                                            "any any",
		from + "WHERE table_name LIKE 'a' ESCAPE '$'":                                     "any any",
		from + `WHERE table_name LIKE 'a\_b'`:                                             "any any",
		from + "WHERE table_name ILIKE 'A'":                                               "any any",
		from + "WHERE table_name IN ('a', rows)":                                          "any any",
		from + "WHERE rows BETWEEN 1 AND table_name = 'a'":                                "any any",
		from + "WHERE table_name = 'a' UNION ALL SELECT 1":                                "any any",
		from + "a, information_schema.tables b WHERE table_name = 'a'":                    "any any",
		from + "JOIN x ON true WHERE table_name = 'a'":                                    "any any",
		from + "WHERE rows > 1 GROUP BY table_name HAVING table_name = 'a'":               "any any",
		"WITH x AS (SELECT 1) " + from + "WHERE table_name = 'a'":                         "any any",
		"SELECT * FROM (" + from + ") WHERE table_name = 'a'":                             "any any",
		"SELECT (SELECT 1) FROM x WHERE table_name = 'a'":                                 "any any",
		"SELECT sum(rows) FILTER (WHERE table_name = 'a') FROM information_schema.tables": "any any",
		"FROM information_schema.tables WHERE table_name = 'a'":                           "any any",
		from + "WHERE table_name = 'a":                                                    "any any",
	} {
		f := TableFilter(sql)
		if got := f.Schema.String() + " " + f.Table.String(); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}

func TestOnlyUses(t *testing.T) {
	names := []string{"d.t", "a", "b c"}
	for sql, want := range map[string]bool{
		"SELECT a, count(*) FROM d.t WHERE a = 'rows' GROUP BY a ORDER BY 1 LIMIT 3": true,
		`select distinct "b c" from D.T`:                                             true,
		"FROM d.t":                                                                   false,
		"FROM d.t SELECT a":                                                          false,
		"SELECT #1 FROM d.t":                                                         false,
		"SELECT * FROM d.t":                                                          false,
		"SELECT count(a), 2 * 3 FROM d.t":                                            false,
		"SELECT a FROM d.t ORDER BY rows":                                            false,
		"SELECT t FROM d.t":                                                          false,
		"SELECT x FROM d.t x":                                                        false,
		"SELECT COLUMNS(*) FROM d.t":                                                 false,
		"SELECT upper(a) FROM d.t":                                                   false,
		"SELECT a FROM d.t WHERE a = 'unfinished":                                    false,
	} {
		if got := OnlyUses(sql, names); got != want {
			t.Errorf("%s: %v", sql, got)
		}
	}
}

func TestMatch(t *testing.T) {
	var all *Match
	if !all.Fits("x") {
		t.Error("a nil condition refuses a name")
	}
	if _, ok := all.Names(); ok {
		t.Error("a nil condition lists names")
	}
	f := TableFilter("SELECT 1 FROM t WHERE table_name LIKE 'a_c%'")
	if !f.Table.Fits("abcd") || f.Table.Fits("ac") {
		t.Error("LIKE does not match correctly")
	}
}
