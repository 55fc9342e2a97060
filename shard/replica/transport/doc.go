// Package transport carries the traffic of all raft groups of a node over a few
// shared connections, and is what a replica of several members is given as its
// raft.Transport.
//
// A Network is a node's end of it. Between two nodes there are, in each direction,
// one stream for votes and heartbeats and one for entries; a snapshot has a
// connection of its own while it lasts. So a large append never delays a heartbeat,
// and the number of connections does not grow with the number of groups. Heartbeats of
// many groups to one node are written together.
//
// Nodes are addressed by their ids: a raft configuration names ids only, and
// Config.Dial finds out where a node is at the moment. Every connection begins with a handshake
// that names cluster, node and protocol versions; a stranger is refused with a reason.
//
// Life cycle: New; Group for each replica, whose Close unregisters it; Serve for each
// connection that the listener accepted; Close. Everything may be called concurrently.
//
// FORMAT.md beside this file is the wire format.
package transport
