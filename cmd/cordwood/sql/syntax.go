package sql

import (
	"context"
	"fmt"
	"io"
	"strings"

	"cordwood/proto/nearest"
)

// syntaxes are the syntax texts of statements, for \h.
var syntaxes = []struct{ name, text string }{
	{
		"SELECT",
		"[WITH name AS (SELECT …), …]\nSELECT [DISTINCT] expression [AS name], … FROM table [JOIN table ON condition]\n  " +
			"[WHERE condition] [GROUP BY …] [HAVING condition] [ORDER BY … [DESC]] [LIMIT n [OFFSET n]]\nIt is DuckDB's " +
			"dialect: window functions, PIVOT, QUALIFY, lists and JSON, too.",
	},
	{"EXPLAIN", "EXPLAIN [ANALYZE] SELECT …"},
	{"SHOW DATABASES", "SHOW DATABASES [LIKE 'pattern']"},
	{"SHOW TABLES", "SHOW [FULL] TABLES [FROM database] [LIKE 'pattern']"},
	{"SHOW CREATE TABLE", "SHOW CREATE TABLE table"},
	{"DESCRIBE", "DESCRIBE [TABLE] table\nDESCRIBE SELECT …"},
	{"KILL", "KILL [QUERY] 'query_id'\nThe ids of running queries are in svc_private.queries."},
	{"CREATE DATABASE", "CREATE DATABASE [IF NOT EXISTS] database [WITH ('ttl'='30d')]"},
	{"DROP DATABASE", "DROP DATABASE [IF EXISTS] database [CASCADE]"},
	{
		"CREATE TABLE",
		"CREATE TABLE [IF NOT EXISTS] table (\n  column TYPE [NULL | NOT NULL] [DEFAULT literal] [TIME INDEX] [FULLTEXT " +
			"INDEX | INVERTED INDEX | SKIPPING INDEX], …,\n  [TIME INDEX (column),] [PRIMARY KEY (column, …)]\n) [WITH " +
			"('ttl'='7d', 'append_mode'='true', …)]",
	},
	{
		"ALTER TABLE",
		"ALTER TABLE table ADD COLUMN [IF NOT EXISTS] column TYPE [DEFAULT literal]\nALTER TABLE table DROP COLUMN [IF " +
			"EXISTS] column\nALTER TABLE table RENAME COLUMN column TO name\nALTER TABLE table MODIFY COLUMN column " +
			"TYPE\nALTER TABLE table MODIFY COLUMN column SET {FULLTEXT | INVERTED | SKIPPING} INDEX [WITH " +
			"('option'='value', …)]\nALTER TABLE table MODIFY COLUMN column UNSET {FULLTEXT | INVERTED | SKIPPING} " +
			"INDEX\nALTER TABLE table SET 'option'='value'\nALTER TABLE table UNSET 'option'\nALTER TABLE table RENAME TO name",
	},
	{"ALTER DATABASE", "ALTER DATABASE database SET 'option'='value'\nALTER DATABASE database UNSET 'option'"},
	{
		"SET TIME ZONE",
		"SET TIME ZONE {'zone' | DEFAULT}\nThe zone of times without a zone in the following statements, " +
			"such as 'Europe/Berlin' or '+01:00'.",
	},
	{"DROP TABLE", "DROP TABLE [IF EXISTS] table"},
	{"TRUNCATE TABLE", "TRUNCATE TABLE table"},
	{"INSERT", "INSERT INTO table [(column, …)] VALUES (literal, …), …"},
	{"DELETE", "DELETE FROM table WHERE condition on key and time\nof tables whose rows merge (append_mode='false')"},
}

func syntaxNames() []string {
	names := make([]string, len(syntaxes))
	for i, s := range syntaxes {
		names[i] = s.name
	}
	return names
}

// syntax prints the syntax of statements.
func (p *prompt) syntax(_ context.Context, name string) error {
	name = strings.ToUpper(strings.Join(strings.Fields(strings.TrimSuffix(name, ";")), " "))
	var b strings.Builder
	for _, s := range syntaxes {
		if name != "" && (s.name == name || strings.HasPrefix(s.name, name+" ")) {
			fmt.Fprintf(&b, "%s\n\n", s.text)
		}
	}
	switch {
	case name == "":
		fmt.Fprintf(&b, "There is help on %s: \\h SELECT.\n", strings.Join(syntaxNames(), ", "))
	case b.Len() == 0:
		return fmt.Errorf("there is no help on %s%s; there is on %s", name, nearest.DidYouMean(": ", name, syntaxNames()),
			strings.Join(syntaxNames(), ", "))
	}
	_, err := io.WriteString(p.terminal(), b.String())
	return err
}
