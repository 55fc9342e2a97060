// Package store keeps the objects of a backup repository: in a directory or in an S3 bucket under a prefix.
//
// An object has a name with slashes and never changes; it exists as a whole or not at all. Package backup defines the
// content of objects.
//
// A Store may be used concurrently. It has no goroutines of its own.
package store

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"cordwood/shard/cold/bucket"
)

// ErrNotFound is returned for an object that does not exist.
var ErrNotFound = bucket.ErrNotFound

// Object is an entry of a listing.
type Object struct {
	Name     string
	Size     int64
	Modified time.Time
}

// Store is a place for objects.
type Store interface {
	// Create starts a new object. It gets its name when it is committed.
	Create(ctx context.Context) (Upload, error)
	// Open reads an object from an offset. Some errors come only from a later read.
	Open(ctx context.Context, name string, offset int64) (io.ReadCloser, error)
	// List calls f with every object whose name begins with prefix, in any order, until f fails. A
	// directory that does not exist is empty.
	List(ctx context.Context, prefix string, f func(Object) error) error
	// Remove removes an object. It is not an error if the object does not exist.
	Remove(ctx context.Context, name string) error
	// Path returns the path of an object that is a file on this machine. Otherwise ok is false.
	Path(name string) (file string, ok bool)
	// Location returns the location of the repository for display, without credentials.
	Location() string
}

// Upload is an object that is being written. It belongs to one goroutine.
type Upload interface {
	io.Writer
	// Commit gives the object its name, and replaces an object with that name. When it returns nil, the object is
	// durable and can be read.
	Commit(ctx context.Context, name string) error
	// Abort discards the object. After Commit it has no effect.
	Abort()
}

// S3Config describes how to reach a bucket.
type S3Config = bucket.S3Config

// Config describes how to reach a repository.
type Config struct {
	S3 S3Config
	// Tries is the number of times that a request to S3 is sent in total. The default value is 6.
	Tries int
	// Pause is the delay before the second try; it doubles each time, up to 10 s. The default value is 200 ms.
	Pause time.Duration
	// TempDir is the folder for files until they are uploaded, and for downloaded files. The default value is
	// os.TempDir.
	TempDir string
}

// Open returns the store at a location: a directory, or s3://BUCKET/PREFIX. It does not connect,
// and creates no files.
func Open(location string, cfg Config) (Store, error) {
	b, err := bucket.Open(location, bucket.Config{S3: cfg.S3})
	if err != nil {
		return nil, fmt.Errorf("repository: %w", err)
	}
	if d, ok := b.(*bucket.Dir); ok {
		return &dir{objects{d}, d}, nil
	}
	p := bucket.Policy{
		Tries: cmp.Or(cfg.Tries, 6), Pause: cmp.Or(cfg.Pause, 200*time.Millisecond), MaxPause: 10 * time.Second,
	}
	// A command has nothing else to do than to ask again, so there is no circuit.
	g := bucket.NewGuard(b, bucket.GuardConfig{Read: p, Write: p, NoCircuit: true})
	return &s3{objects{g}, g, cfg.TempDir}, nil
}
