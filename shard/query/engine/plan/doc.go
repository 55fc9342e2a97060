// Package plan decides what a statement reads of its tables. For each reference to a table there is
// a Plan; its Source is what is left of the table's segments and batches after a list of reductions
// has left out what cannot matter (reduction.go), written as a query of rows in SQL.
//
// Nothing here runs a statement: DuckDB does, behind package duck, and package direct.
package plan
