// Package direct answers statements for whole rows of one table without DuckDB, such as "the row of
// this id" and "the newest rows with an error", for which planning, binding and starting DuckDB
// would be most of the work.
//
// It answers only if it knows exactly what DuckDB would answer: Find looks at the text of the
// statement, New at the table, Run.Read at the rows. Each of them gives up if in doubt. DuckDB then
// runs the whole statement.
package direct
