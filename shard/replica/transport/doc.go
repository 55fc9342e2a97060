// Package transport carries the traffic of all raft groups of a node over a few shared connections.
// A replica with other members uses it as its raft.Transport.
//
// A Network is a node's end of this traffic. Between two nodes there are, in each direction, one
// stream for votes and heartbeats and one for entries. A snapshot has a separate connection while
// it is sent. So a large append never delays a heartbeat, and the number of connections does not
// grow with the number of groups. Heartbeats of many groups to one node are written together.
//
// Nodes are addressed by their ids: a raft configuration contains only ids, and Config.Dial looks
// up the present address of a node. Every connection begins with a handshake that contains the
// cluster, the node and the protocol versions. A connection from another cluster is refused with a
// reason.
//
// Life cycle: New; Group for each replica, whose Close unregisters it; Serve for each connection
// that the listener accepted; Close. All methods may be called concurrently.
//
// FORMAT.md in this folder describes the wire format.
package transport
