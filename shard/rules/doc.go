// Package rules contains what all replicas of a shard must agree on: the entries of its log
// (Entry), the state that they change (State), and the rules that decide whether a batch is
// appended (Admission).
//
// Everything here is pure. A rule uses the state and the entry, never a clock, a map's order, the
// disk or the network, so every replica that applies the same log computes the same state. The
// package takes no lock either: State belongs to the goroutine that applies the log, and package
// store documents which other goroutines may read it, and when.
//
// There are two decisions about a batch. The leader asks Admission before it proposes, to keep
// useless batches out of the log. Apply asks again on every replica, and this answer counts. The
// state may change between the two: the batch may be appended by a retry, or its table may be
// dropped.
//
// A batch is identified by one of:
//
//   - a session and a number, of the router that sent it: State keeps the highest number of each
//     session and which of the last 1,024 were appended (session.go);
//   - the hash of an Idempotency-Key: State keeps 200,000 of them for 15 minutes (keys.go).
//
// Constants that such decisions depend on (sessionWindow, KeyTTL, maxKeys…) are part of the
// replicated state. Changing one needs a new kind of entry, so that replicas of both versions still
// agree.
package rules
