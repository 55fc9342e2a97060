package node

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"cordwood/proto/metapb"
	"cordwood/shard/cold/bucket"
)

// checkedBucket is a bucket in which nothing is stored or deleted before it was checked.
type checkedBucket struct {
	bucket.Bucket
	checked <-chan struct{}
	// stored is when an object was stored last.
	stored *atomic.Int64
}

// afterCheck returns a bucket in which nothing is stored before object storage was checked.
func (o *objectStorage) afterCheck(b bucket.Bucket) checkedBucket {
	return checkedBucket{b, o.checked, &o.stored}
}

func (b checkedBucket) wait(ctx context.Context) error {
	select {
	case <-b.checked:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(checkWait):
		return &bucket.Error{
			Kind: bucket.Unavailable, Op: "use", At: b.Location(), Err: errors.New("it has not passed its check yet"),
		}
	}
}

// Put stores an object once the bucket was checked.
func (b checkedBucket) Put(ctx context.Context, key string, c bucket.Content) error {
	if err := b.wait(ctx); err != nil {
		return err
	}
	err := b.Bucket.Put(ctx, key, c)
	if err == nil {
		b.stored.Store(time.Now().UnixNano())
	}
	return err
}

// Delete removes an object once the bucket was checked.
func (b checkedBucket) Delete(ctx context.Context, key string) error {
	if err := b.wait(ctx); err != nil {
		return err
	}
	return b.Bucket.Delete(ctx, key)
}

// use describes object storage for the report of the node.
func (o *objectStorage) use() *metapb.ObjectStorageUse {
	location := strings.ToValidUTF8(o.once.Location(), "")
	use := &metapb.ObjectStorageUse{
		Location: location[:min(len(location), mostReported)], State: "ok", StoredUnixNano: o.stored.Load(),
	}
	select {
	case <-o.checked:
	default:
		use.State = "unchecked"
	}
	if len(o.failures()) > 0 {
		use.State = "failing"
	}
	return use
}
