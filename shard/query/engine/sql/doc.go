// Package sql reads and rewrites the text of statements. It checks that a statement is one SELECT
// that calls nothing forbidden (Parse), says which tables it reads and which conditions their rows
// meet (Statement), and puts queries of rows in the place of tables (Statement.Rewrite).
//
// The parser is DuckDB's, handed in as a function from text to syntax tree: this package
// needs no database and no cgo.
package sql
