// Package sql reads and rewrites the text of statements. It checks that a statement is one SELECT
// that calls nothing forbidden (Parse), finds the tables that it reads and the conditions that
// their rows meet (Statement), and replaces tables by queries of their rows (Statement.Rewrite).
//
// The caller passes DuckDB's parser as a function from text to syntax tree, so this package needs
// no database and no cgo.
package sql
