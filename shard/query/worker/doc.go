// Package worker runs the query engine in a process of its own, so that no query can take the
// server down. If a query needs too much memory, cannot be stopped or crashes the engine, only that
// process ends, and it is replaced at once.
//
// Worker is the side of the server: it has the methods of engine.Engine, starts the child (the same program, as
// `cordwood query-worker`), sends requests and returns the answers. Main is the main function of the child: it
// serves engine.Engine. Between them is a socket for each query that runs, and the memory of the memtables, which
// the child maps for reading. The package decides nothing about queries: planning, policy and settings belong to
// package engine.
//
// A Worker is opened once and closed last. Its methods may be called concurrently. A request and what it refers to
// must stay unchanged until Query returns; by then the child has reported that it no longer uses the request, or
// the child is dead.
//
// DESIGN.md explains how the package works, and why. FORMAT.md describes the messages on the sockets.
package worker
