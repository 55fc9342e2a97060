// Package engine runs SELECT statements over the segments and the memtable of a shard's tables,
// with DuckDB in this process.
//
// It checks a statement before DuckDB sees it (Analyze): one SELECT, or EXPLAIN of one, that calls only functions
// from a list. It makes the tables visible to the statement, streams the answer as Arrow IPC, and stops when its
// context ends (Query). It does not know which tables exist, where they are stored, or who may read them: a request
// contains everything that its statement may see.
//
// An Engine is opened once per process and closed last. All its methods may be called concurrently;
// a request and what it refers to must stay unchanged until Query returns. Requests are plain data,
// so that the engine can move to a process of its own.
//
// DESIGN.md explains how the package works, and why.
package engine
