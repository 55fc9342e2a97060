// Package store keeps the objects of a backup repository: in a directory or in an S3 bucket under a prefix.
//
// An object has a name with slashes and never changes; it exists as a whole or not at all. Package backup defines the
// content of objects.
//
// A Store may be used concurrently. It has no goroutines of its own.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
	"time"
)

// ErrNotFound is returned for an object that does not exist.
var ErrNotFound = errors.New("it does not exist")

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

// Config describes how to reach a repository.
type Config struct {
	S3 S3Config
	// TempDir is the folder for files until they are uploaded, and for downloaded files. The default value is
	// os.TempDir.
	TempDir string
}

// Open returns the store at a location: a directory, or s3://BUCKET/PREFIX. It does not connect,
// and creates no files.
func Open(location string, cfg Config) (Store, error) {
	scheme, rest, found := strings.Cut(location, "://")
	switch {
	case location == "":
		return nil, errors.New("no repository is set: give a directory or s3://BUCKET/PREFIX")
	case !found:
		return &dir{root: location}, nil
	case scheme == "file":
		return &dir{root: rest}, nil
	case scheme != "s3":
		return nil, fmt.Errorf("repository %s: unknown scheme %q; give a directory or s3://BUCKET/PREFIX",
			redact(location), scheme)
	}
	bucket, prefix, _ := strings.Cut(rest, "/")
	if bucket == "" || strings.ContainsAny(bucket, "@:?#") {
		return nil, fmt.Errorf("repository %s: want s3://BUCKET/PREFIX; give credentials and endpoint by flags "+
			"or the environment", redact(location))
	}
	if prefix = strings.Trim(path.Clean("/"+prefix), "/"); prefix != "" {
		prefix += "/"
	}
	return openS3(bucket, prefix, cfg)
}

// redact returns a location without the parts that may be a password.
func redact(location string) string {
	u, err := url.Parse(location)
	if err != nil {
		return "(a location that is not a URL)"
	}
	return u.Redacted()
}

// checkName returns an error for names that could lead out of the repository.
func checkName(name string) error {
	if name == "" || path.Clean(name) != name || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "../") ||
		name == ".." || strings.ContainsAny(name, "\\\x00") {
		return fmt.Errorf("%q is not a valid name of an object", name)
	}
	return nil
}
