// Package metapb is what nodes and the metadata group say to each other.
package metapb

// Protocol versions: one number for what nodes say to each other, for the commands of
// the logs, and for the formats that are written when all nodes can read them. A node
// says which versions it understands, the metadata which one the cluster uses; what is
// new in a version is not sent or proposed before the cluster uses that version.
//
//	1  one node
//	2  several nodes: membership, placement and operations; ids of proposals
//	3  shards that are made anew
//	4  tables that merge rows get other shards, and are spread
//	5  column batches that are packed in more ways
//	6  ids of batches that tell the body of a request with a key
//	7  ids of batches that tell the user of a request with a key; each user has a share of the keys that a
//	   shard remembers; the history of a table that is handed over is kept by its length
//	8  marks of data folders, founders that have founded, counters that are raised; ids of batches that tell the
//	   parameters of a request with a key
//	9  tables that a restore fills aside and that replace others when they are complete; columns that widen, and
//	   get other names and indexes; tables that keep every row are handed over; shards are taken away;
//	   typed progress of operations
//	10 notes and authors of versions of pipelines; things that users save
const (
	// MinProtocol is the oldest version that this program understands.
	MinProtocol = 1
	// MaxProtocol is the newest one.
	MaxProtocol = 10
	// ProtocolCluster is the version that brought clusters of several nodes.
	ProtocolCluster = 2
	// ProtocolAnew is the version that lets shards be made anew when their rows are lost.
	ProtocolAnew = 3
	// ProtocolHandoff is the version that brought tables which are handed over.
	ProtocolHandoff = 4
	// ProtocolPacking is the version that brought more ways to pack column batches.
	ProtocolPacking = 5
	// ProtocolKeyBodies is the first version in which the id of a batch of a request with a key
	// has a hash of the body beside the hash of the key.
	ProtocolKeyBodies = 6
	// ProtocolKeyUsers is the first version in which the id of a batch of a request with a key names the user,
	// and shards share the keys that they remember among users.
	ProtocolKeyUsers = 7
	// ProtocolHandoffHistory is the first version in which the shards that handed a table over are
	// remembered by how many came after them, and not by times of different clocks.
	ProtocolHandoffHistory = 7
	// ProtocolMarks is the version that brought marks of data folders, the note of who has
	// founded a shard, and counters that are raised after a loss.
	ProtocolMarks = 8
	// ProtocolKeyParams is the first version in which the hash of the body in the id of a batch of a request
	// with a key covers the request's parameters as well.
	ProtocolKeyParams = 8
	// ProtocolReplace is the version that brought tables which a restore fills under names of
	// their own, and the command that puts them in the place of others.
	ProtocolReplace = 9
	// ProtocolWidening is the first version in which columns of integers may become Float64, with the mark that
	// says so, and columns get other names and indexes.
	ProtocolWidening = 9
	// ProtocolHandoffAppend is the first version in which tables that keep every row are handed over, too: by
	// all shards that have rows of them.
	ProtocolHandoffAppend = 9
	// ProtocolRetire is the first version in which shards are taken away.
	ProtocolRetire = 9
	// ProtocolProgress is the first version in which records of operations keep their progress in typed
	// messages. Before it they keep it as text, which older programs read.
	ProtocolProgress = 9
	// ProtocolSaved is the version that brought notes and authors of versions of pipelines, versions that are
	// stored only if a certain one is the newest, things that users save, and the table option message_column.
	ProtocolSaved = 10
)
