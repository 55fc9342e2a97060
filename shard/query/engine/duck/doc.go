// Package duck holds DuckDB: an Instance is a database in memory, with functions and casts of our
// own in C; a Session runs one statement on it and streams the rows as Arrow; LendBatches makes column
// batches readable in place. It alone uses cgo.
package duck
