package store

import "cordwood/proto/errs"

// TableGone returns the error for a table that was dropped or truncated. The caller reads the
// table's new definition from the metadata and tries again, if there is one.
func TableGone(shard uint32, table uint64) error {
	return errs.New(errs.TableNotFound, "shard %d: table id %d was dropped or truncated", shard,
		table).WithReason(errs.TableGone)
}

// Unreachable returns the error for a node without an open replica of the shard.
func Unreachable(id uint32) *errs.Error {
	return errs.New(errs.ShardUnreachable, "shard %d is not open on this node; ask another node", id)
}
