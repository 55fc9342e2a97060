// Package duck wraps DuckDB. An Instance is a database in memory with functions and casts of our
// own, written in C. A Session runs one statement on it and streams the rows as Arrow. RegisterBatches
// lets DuckDB read column batches without a copy. Only this package of the engine uses cgo.
package duck
