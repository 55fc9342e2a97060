// Package rules has what all replicas of a shard agree on: the entries of its log (Entry), the
// state that they change (State), and the rules that decide whether a batch is appended
// (Admission).
//
// Everything here is pure. A rule looks at the state and at the entry, never at a clock, at a map's
// order, at the disk or at the network, so every replica that applies the same log comes to the
// same state. The package takes no lock either: State belongs to the goroutine that applies the
// log, and package store says which other goroutines may read it, and when.
//
// A batch is decided about twice. The leader asks Admission before it proposes, to spare the log;
// Apply asks again on every replica, and that answer counts. Between the two the state may have
// changed: the batch may have been appended meanwhile by a retry, or its table dropped.
//
// What a batch is known by:
//
//   - a session and a number, of the router that sent it: State keeps the highest number of each
//     session and which of the last 1,024 were appended (session.go);
//   - the hash of an Idempotency-Key: State keeps 200,000 of them for 15 minutes (keys.go).
//
// Constants that such decisions depend on (sessionWindow, KeyTTL, maxKeys…) are part of the
// replicated state: to change one needs a new kind of entry, so that replicas of both versions go
// on to agree.
package rules
