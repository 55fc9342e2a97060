// Package plan decides what a statement reads of its tables. Each reference to a table has a Plan. A list of
// reductions (reduction.go) removes the segments, batches and rows that cannot matter. The Plan's Source is an SQL
// query of the rows that remain.
//
// This package runs no statement. DuckDB, which package duck wraps, and package direct run statements.
package plan
