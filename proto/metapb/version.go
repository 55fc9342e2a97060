// Package metapb contains the messages between nodes and the metadata group.
package metapb

// Protocol versions: one number for the messages between nodes, for the commands of the logs, and
// for the formats that are written when all nodes can read them. A node reports which versions it
// understands, and the metadata contains the version that the cluster uses. What is new in a
// version is not sent or proposed before the cluster uses that version.
//
//	1  one node
//	2  several nodes: membership, placement and operations; ids of proposals
//	3  shards that are created again
//	4  tables that merge rows get other shards, and are spread
//	5  column batches with more methods of packing
//	6  ids of batches that contain a hash of the body of a request with a key
//	7  ids of batches that contain a hash of the user of a request with a key; each user has a share of the
//	   keys that a shard remembers; the number of former shards of a table is limited
//	8  marks of data folders, the record of who has founded a shard, raising counters; ids of batches that
//	   contain a hash of the parameters of a request with a key
//	9  tables that a restore fills under temporary names and that replace others when they are complete;
//	   columns that widen, and get other names and indexes; tables that keep every row are handed over;
//	   shards are retired; typed progress of operations
//	10 notes and authors of versions of pipelines; saved values of users
//	11 leases for the metadata: a change is acknowledged when all holders of a lease have it
//	12 column batches that contain a block which a client compressed; the table option loki_labels
//	13 users, roles and grants
//	14 tokens; quotas of databases
//	15 records about commands for svc_private.audit
//	16 encoded definitions of tables in parts of queries; what commands about users take away in consequence,
//	   conditions of such commands, and the way back to an administrator;
//	   quotas of the CPU time and the duration of queries
//	17 entries of a shard's log about rows in object storage
//	18 quotas of tails
//	19 groups of roles, names in certificates, and users that an OIDC provider authenticates
//	20 several statements in one part of a query; databases of users for requests that name
//	   none; users who are dropped leave nothing to users of the same name
//	21 the table option max_size; the user of a command, whose rights the metadata group checks again when it applies
//	   the command
//	22 tables that are shown as Apache Iceberg
//	23 the table option local_for
//	24 joins of objects, entries of a shard's log
//	25 joins of objects that are shown as Apache Iceberg
//	26 rows that merge in object storage, and joins of their days
const (
	// MinProtocol is the oldest version that this program supports.
	MinProtocol = 1
	// MaxProtocol is the newest version that this program supports.
	MaxProtocol = 26
	// ProtocolCluster is the version that added clusters of several nodes.
	ProtocolCluster = 2
	// ProtocolRecreate is the first version in which shards may be created again when their rows are
	// lost.
	ProtocolRecreate = 3
	// ProtocolHandoff is the version that added handoffs of tables.
	ProtocolHandoff = 4
	// ProtocolPacking is the version that added more methods of packing column batches.
	ProtocolPacking = 5
	// ProtocolKeyBodies is the first version in which the id of a batch of a request with a key
	// contains a hash of the body in addition to the hash of the key.
	ProtocolKeyBodies = 6
	// ProtocolKeyUsers is the first version in which the id of a batch of a request with a key
	// contains a hash of the user, and shards share the keys that they remember among users.
	ProtocolKeyUsers = 7
	// ProtocolHandoffHistory is the first version in which the number of former shards of a table
	// is limited by count, and not by times of different clocks.
	ProtocolHandoffHistory = 7
	// ProtocolMarks is the version that added marks of data folders, the record of who has founded
	// a shard, and raising counters after a loss.
	ProtocolMarks = 8
	// ProtocolKeyParams is the first version in which the hash of the body in the id of a batch of a request
	// with a key covers the request's parameters as well.
	ProtocolKeyParams = 8
	// ProtocolReplace is the version that added tables which a restore fills under temporary names,
	// and the command that replaces other tables with them.
	ProtocolReplace = 9
	// ProtocolWidening is the first version in which columns of integers may become Float64, with
	// the mark for it, and columns can be renamed and get other indexes.
	ProtocolWidening = 9
	// ProtocolHandoffAppend is the first version in which tables that keep every row can be handed
	// over too, by all shards that have rows of them.
	ProtocolHandoffAppend = 9
	// ProtocolRetire is the first version in which shards can be retired.
	ProtocolRetire = 9
	// ProtocolProgress is the first version in which records of operations have their progress in
	// typed messages. Earlier versions store it as text, which older programs read.
	ProtocolProgress = 9
	// ProtocolSaved is the version that added notes and authors of versions of pipelines,
	// conditional storing of versions, saved values of users, and the table option message_column.
	ProtocolSaved = 10
	// ProtocolLeases is the version that added leases for the metadata. A leader with an older program would answer
	// changes without waiting for the holders of leases.
	ProtocolLeases = 11
	// ProtocolCuts is the version that added texts in column batches that are cuts of a client's block.
	ProtocolCuts = 12
	// ProtocolLokiLabels is the version that added the table option loki_labels.
	ProtocolLokiLabels = 12
	// ProtocolAccess is the version that added users, roles and grants.
	ProtocolAccess = 13
	// ProtocolTokens is the version that added tokens.
	ProtocolTokens = 14
	// ProtocolQuotas is the version that added quotas of databases.
	ProtocolQuotas = 14
	// ProtocolAudit is the version that added records about commands for svc_private.audit.
	ProtocolAudit = 15
	// ProtocolDefinitions is the version that added encoded definitions of tables to parts of queries.
	ProtocolDefinitions = 16
	// ProtocolConsequences is the version that added to records what commands about users take away in consequence,
	// conditions of such commands, and ResetAdmin.
	ProtocolConsequences = 16
	// ProtocolQueryQuotas is the version that added quotas of the CPU time and the duration of queries.
	ProtocolQueryQuotas = 16
	// ProtocolCold is the version that added cuts and offloads, entries of the log about rows that go to object storage,
	// and the table option cold.
	ProtocolCold = 17
	// ProtocolTailQuotas is the version that added quotas of tails.
	ProtocolTailQuotas = 18
	// ProtocolGroups is the version that added groups of roles, names in certificates, and users with names of OIDC.
	ProtocolGroups = 19
	// ProtocolBlocks is the version that added several statements in one part of a query.
	ProtocolBlocks = 20
	// ProtocolUserDatabase is the version that added databases of users for requests that name none.
	ProtocolUserDatabase = 20
	// ProtocolForget is the version in which a new user gets nothing that a dropped user of the same name has saved or
	// created.
	ProtocolForget = 20
	// ProtocolMaxSize is the version that added the table option max_size, and calls that make rows expire by size.
	ProtocolMaxSize = 21
	// ProtocolIssuer is the version that added to commands the principal on whose behalf they are proposed.
	ProtocolIssuer = 21
	// ProtocolIceberg is the version that added the table options iceberg and iceberg_names, and the last commits of such
	// tables.
	ProtocolIceberg = 22
	// ProtocolLocalFor is the version that added the table option local_for.
	ProtocolLocalFor = 23
	// ProtocolJoins is the version that added joins of objects, entries of a shard's log.
	ProtocolJoins = 24
	// ProtocolIcebergJoins is the version from which commits to Iceberg tables know joined objects.
	ProtocolIcebergJoins = 25
	// ProtocolColdMerging is the version that added cuts with tables whose rows merge, joins of their days, and the value
	// daily of the table option iceberg.
	ProtocolColdMerging = 26
)
