package query

import (
	"context"
	"time"
)

// freshness is how much a statement needs to know about changes that other nodes have made to databases and tables,
// and what happens if this node cannot read them, because the metadata group has no leader or cannot be reached.
type freshness uint8

const (
	// freshAtLast is for changes of the metadata, even if they may turn out to change nothing, such as DROP TABLE IF
	// EXISTS. The statement waits as long as the change itself would, and is then refused.
	freshAtLast freshness = iota
	// freshSoon is for statements that describe tables. Such a statement waits for freshTimeout, and is
	// refused then.
	freshSoon
	// oldIsFine is for statements about rows. Such a statement asks the metadata group only if this node has no lease
	// (metaclient.Acknowledged). It waits for at most freshTimeout and then continues with the view of this node. The
	// shards check whether that view is too old.
	oldIsFine
)

// freshTimeout limits how long a statement waits that does not change the metadata.
const freshTimeout = time.Second

// fresh waits until this node knows everything that other nodes acknowledged before the statement arrived: tables,
// columns, and the shards with the newest rows of a table. behind is the reason why it may not know them. err is
// the error if the statement is refused because of it.
func (n names) fresh(ctx context.Context, need freshness) (behind, err error) {
	wait := ctx
	if need != freshAtLast {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, freshTimeout)
		defer cancel()
	}
	if need == oldIsFine {
		return n.meta.Acknowledged(wait), nil
	}
	behind = n.meta.Fresh(wait)
	if behind == nil {
		return nil, nil
	}
	return behind, unread(behind, "the changes of other nodes cannot be read now")
}

// newest waits until this node knows everything that any shard knows: also changes that nobody has acknowledged yet.
func (n names) newest(ctx context.Context) (behind error) {
	ctx, cancel := context.WithTimeout(ctx, freshTimeout)
	defer cancel()
	return n.meta.Fresh(ctx)
}
