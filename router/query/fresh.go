package query

import (
	"context"
	"time"
)

// freshness is what a statement needs to know about changes of other nodes to databases and
// tables, and what happens to it if this node cannot read them, because the metadata group has no
// leader or cannot be reached.
type freshness uint8

const (
	// freshAtLast is for changes of the metadata, also for those that might have nothing to do,
	// such as DROP TABLE IF EXISTS. The statement waits as long as the change itself would, and
	// is refused then.
	freshAtLast freshness = iota
	// freshSoon is for statements that describe. The statement waits for freshTimeout, and is
	// refused then.
	freshSoon
	// oldIsFine is for statements about rows. The statement waits for freshTimeout, and goes on then with
	// what this node knows; the shards look whether that is too old.
	oldIsFine
)

// freshTimeout bounds how long a statement waits that does not change the metadata.
const freshTimeout = time.Second

// fresh waits until this node knows what other nodes acknowledged before the statement came:
// tables, columns, and the shards on which the newest rows of a table lie. behind is why it may not
// know them, err why the statement is refused for it.
func (n names) fresh(ctx context.Context, need freshness) (behind, err error) {
	wait := ctx
	if need != freshAtLast {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, freshTimeout)
		defer cancel()
	}
	behind = n.meta.Fresh(wait)
	if behind == nil || need == oldIsFine {
		return behind, nil
	}
	return behind, unread(behind, "what other nodes changed cannot be read now")
}
