package store

import (
	"context"
	"io"

	"cordwood/shard/cold/bucket"
)

// objects is the part of a Store that is the same for all buckets.
type objects struct{ b bucket.Bucket }

func (s objects) Location() string { return s.b.Location() }

func (s objects) Open(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	return s.b.Open(ctx, name, offset)
}

func (s objects) List(ctx context.Context, prefix string, f func(Object) error) error {
	return s.b.List(ctx, prefix, func(i bucket.Info) error {
		return f(Object{Name: i.Key, Size: i.Size, Modified: i.Modified})
	})
}

func (s objects) Remove(ctx context.Context, name string) error { return s.b.Delete(ctx, name) }
