package rewrite

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRestrictions checks which conditions of a query are written into the subqueries of its tables, and that no other
// conditions are.
func TestRestrictions(t *testing.T) {
	const joined = "SELECT 1 FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
	one := regexp.MustCompile(`FROM pg_catalog\.(\w+) WHERE (\w+ IN \([-0-9, ]+\))`)
	for in, want := range map[string][]string{
		"SELECT 1 FROM pg_attribute WHERE attrelid = 5 AND attnum > 0":        {"pg_attribute attrelid IN (5, -1)"},
		"SELECT 1 FROM pg_catalog.pg_attribute a WHERE a.attrelid = '5'::oid": {"pg_attribute attrelid IN (5, -1)"},
		"SELECT 1 FROM pg_attribute WHERE '5' = pg_attribute.attrelid":        {"pg_attribute attrelid IN (5, -1)"},
		"SELECT 1 FROM pg_class WHERE pg_catalog.pg_class.oid IN (5, '6')":    {"pg_class oid IN (5, 6, -1)"},
		"SELECT 1 FROM pg_class c WHERE c.relname = 'logs'":                   {"pg_class oid IN (268435457, -1)"},
		"SELECT 1 FROM pg_class c WHERE c.relname = 'logs'::VARCHAR":          {"pg_class oid IN (268435457, -1)"},
		"SELECT 1 FROM pg_class c WHERE c.relname LIKE 'none'":                {"pg_class oid IN (-1)"},
		"SELECT 1 FROM pg_class c WHERE c.relname IN ('logs', 'none')":        {"pg_class oid IN (268435457, -1)"},
		"SELECT 1 FROM pg_class c WHERE c.relname OPERATOR(pg_catalog.~) '^(logs)$' COLLATE pg_catalog.default": {
			"pg_class oid IN (268435457, -1)",
		},
		joined + "WHERE c.relname = 'logs'": {
			"pg_class oid IN (268435457, -1)", "pg_attribute attrelid IN (268435457, -1)",
		},
		"SELECT 1 FROM pg_class c, pg_class d, pg_index i LEFT JOIN pg_constraint n ON (conrelid = i.indrelid) " +
			"WHERE c.oid = '5' AND c.oid = i.indrelid AND i.indexrelid = d.oid": {
			"pg_class oid IN (5, -1)", "pg_index indrelid IN (5, -1)", "pg_constraint conrelid IN (5, -1)",
		},
		"SELECT 1 FROM pg_class c LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indrelid = 5": {
			"pg_index indrelid IN (5, -1)",
		},

		// These conditions do not hold for all rows.
		"SELECT 1 FROM pg_class c LEFT JOIN pg_index i ON i.indrelid = c.oid AND c.oid = 5":          nil,
		"SELECT 1 FROM pg_class c RIGHT JOIN pg_index i ON c.oid = 5":                                nil,
		"SELECT 1 FROM pg_class c ANTI JOIN pg_index i ON c.oid = 5":                                 nil,
		"SELECT 1 FROM pg_class c JOIN pg_index i ON c.oid = 5 AND left(c.relname, 1) = 'x' OR true": nil,
		"SELECT 1 FROM pg_class WHERE oid = 5 OR true":                                               nil,
		"SELECT 1 FROM pg_class WHERE NOT (oid = 5)":                                                 nil,
		"SELECT 1 FROM pg_class WHERE NOT oid = 5":                                                   nil,
		"SELECT 1 FROM pg_class WHERE relname BETWEEN 'a' AND oid = 5":                               nil,
		"SELECT 1 FROM pg_class WHERE oid = 5 + 1":                                                   nil,
		"SELECT 1 FROM pg_class WHERE 1 + oid = 5":                                                   nil,
		"SELECT 1 FROM pg_class WHERE oid != 5 AND relname != 'logs' AND relname !~ '^(logs)$'":      nil,
		"SELECT 1 FROM pg_class WHERE relname OPERATOR(pg_catalog.!~) '^(logs)$'":                    nil,
		"SELECT 1 FROM pg_class WHERE relname LIKE 'log_' AND relname ~ '^(log.*)$'":                 nil,
		"SELECT 1 FROM pg_class c, (SELECT 5 AS oid) d WHERE oid = 5":                                nil,
		"SELECT 1 FROM pg_class c, pg_index i WHERE (c.oid = 5 OR i.indrelid = 5)":                   nil,
		"SELECT oid = 5 FROM pg_class":                                                               nil,
		"SELECT 1 FROM pg_class UNION SELECT 1 FROM logs WHERE oid = 5":                              nil,
		"SELECT (SELECT 1 FROM pg_class) FROM logs c WHERE c.oid = 5":                                nil,
		"SELECT 1 FROM pg_class GROUP BY relname HAVING oid = 5":                                     nil,
	} {
		got, err := Rewrite(in, session())
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, m := range one.FindAllStringSubmatch(got.Text, -1) {
			found = append(found, m[1]+" "+m[2])
		}
		if !slices.Equal(found, want) {
			t.Errorf("%s\n got %q\nwant %q\ntext %s", in, found, want, got.Text)
		}
	}
}

// TestRestrictionsAreBounded checks that many tables in one FROM take linear time.
func TestRestrictionsAreBounded(t *testing.T) {
	list := strings.Repeat("pg_am, ", 20000)
	began := time.Now()
	if _, err := Rewrite("SELECT 1 FROM "+list+"pg_am WHERE pg_class.oid = 5", session()); err != nil {
		t.Fatal(err)
	}
	r := &rewriter{s: session(), in: tokens("SELECT 1 FROM " + list + "pg_class WHERE oid = 5")}
	for r.i = range r.in {
		r.enclosing(r.i)
	}
	if r.steps > maxRestrictSteps+len(r.in) {
		t.Fatalf("%d tokens were read", r.steps)
	}
	t.Log(time.Since(began))
}
