package rewrite

import "testing"

// TestSoleTable checks which queries read a single table.
func TestSoleTable(t *testing.T) {
	for in, want := range map[string]string{
		"SELECT * FROM logs": ".logs",
		"SELECT a, (SELECT 1 FROM x) FROM db.logs AS l WHERE a=1": "db.logs",
		`SELECT "a b" FROM "My" m ORDER BY 1`:                     ".My",
		"SELECT extract(hour FROM ts) FROM logs LIMIT 1":          ".logs",
		"SELECT 1":                             "",
		"SELECT * FROM a, b":                   "",
		"SELECT * FROM a JOIN b ON true":       "",
		"SELECT * FROM (SELECT 1) x":           "",
		"SELECT * FROM f(1)":                   "",
		"SELECT a FROM x UNION SELECT 1":       "",
		"WITH x AS (SELECT 1) SELECT * FROM x": "",
		"INSERT INTO x VALUES (1)":             "",
	} {
		database, name, ok := SoleTable(in)
		got := ""
		if ok {
			got = database + "." + name
		}
		if got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
