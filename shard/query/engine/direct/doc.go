// Package direct answers statements for whole rows of one table without DuckDB, such as "the row
// with this id" and "the newest rows with an error", for which planning, binding and starting
// DuckDB would be most of the work.
//
// It answers only if it knows exactly what DuckDB would answer: Find checks the text of the
// statement, New the table, Run.Read the rows. If one of them is in doubt, DuckDB runs the whole
// statement.
package direct
