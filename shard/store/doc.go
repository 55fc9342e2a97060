// Package store keeps the rows of a replica: in memtables, in segments, and in the manifest that
// lists the segments. It flushes, compacts, expires and repairs them, and shows them to readers.
//
// It does not know raft or the network. Its caller applies the entries of the log, decides when to
// flush, and proposes which rows have expired.
//
// # Parts
//
// Store joins the parts. Each one has its own fields and references to the parts that it calls:
//
//	Flusher, Compactor, Scrubber      write segments, merge them, find damaged ones
//	    Ledger                        the manifest and its pending edits
//	        SegmentFiles, Expiry      the files of segments; which rows have expired
//	            Tables                state, memtables, lists of segments, queues of tails
//
// Four more parts answer questions about Tables, each about one subject, and have no state of their
// own: Readers makes views, tails, pins and sources of copies; Memory reports how full the
// memtables are, and when they have to be flushed; Definitions evaluates tables and batches against
// the replicated state; Status describes the replica to operators.
//
// A part calls only parts below it directly. It calls a part above it through a function that it
// was given.
//
// # Locks
//
// This is the contract of all locks, in the order in which they are taken. A goroutine that holds
// one takes only those below it:
//
//	compactor.turn   a channel with one token, for the one compaction that runs; guards compactor.failed
//	Flusher.mu       the one flush that writes frozen memtables, or waits for those of the leader
//	Ledger.mu        the manifest, the pending edits, the generation. It is held while
//	                 an edit is written to disk, never while segments are written
//	Tables.mu        everything in Tables, memtables, segmentLists, tails and copySources
//
// Below Tables.mu there are only locks that guard a few fields, and under which no other lock is
// taken: the locks of segmentIDs, crashLog, coldLists, Offer and Operations.
//
// Readers take Tables.mu by RLock. It is held for moments, never across I/O, a call to another node, or
// a wait. A View copies slice headers under it and takes references; it needs no lock after that.
// Therefore lists of segments are replaced and never changed in place, and batches are only appended.
//
// # The apply goroutine
//
// One goroutine applies entries: it alone calls Link, Drop, Redefine, Expire, Freeze, SkipTo and
// TakeOver. It alone changes the state, the active memtable, the applied index and term, and the
// base, and holds Tables.mu while it does. So it may read these fields without the lock, and all
// other goroutines read them under it. There is one exception: LinkUnlogged, which any goroutine
// may call, adds rows that do not go through the log to the active memtable, and their sessions to
// the state. It changes nothing else, and holds the lock.
//
// # When a change becomes visible
//
// Link shows all batches of an entry at once, under one lock. A flush or a compaction writes its
// segments without a lock and commits its edit under Ledger.mu. Then, with Ledger.mu still held, it
// shows the segments under Tables.mu in the place of the frozen memtables or of the segments that
// they replace (Ledger.publish). TakeOver does the same with the state of another replica, and
// increments Ledger.generation: an edit that was made for an earlier generation is abandoned.
//
// # What frees memory
//
// Memtables and segments are counted by reference. Tables has one reference while it shows them;
// each View, Pinned and compaction has its own. When the last reference is released, the memory is
// freed, or the file is removed if the manifest no longer lists it.
package store
