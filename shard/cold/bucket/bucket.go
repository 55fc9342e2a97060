// Package bucket keeps objects in a bucket of an S3 service, below a prefix, or in a directory. An object has a key
// with slashes, exists as a whole or not at all, and never changes unless it is replaced.
//
// The buckets of this package send each request once, and check what the service answers as far as they can. A Guard is
// a bucket over another one: it repeats requests, limits how many run at once, and stops asking a service that does not
// answer. Probe finds out whether a service does all that is needed.
//
// A Bucket may be used concurrently. It has no goroutines except during calls.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strings"
	"time"
)

const (
	// MaxPut is the maximum size of an object that is not replaced. Such an object is sent in one request, because
	// several services ignore the condition of a put in parts.
	MaxPut = 256 << 20
	// MaxRange is the maximum length of a range. Its bytes are in memory.
	MaxRange = 64 << 20
)

// Castagnoli is the table of CRC-32C, the checksum of this package.
var Castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Bucket is a place for objects. Errors are of type *Error, except those of a context and of the callers' functions.
type Bucket interface {
	// Put stores an object. When it returns nil, the object is durable and can be read. If an object has this key and
	// c.Replace is not set, it returns ErrExists. After an error of kind Unavailable, the object may be there.
	Put(ctx context.Context, key string, c Content) error
	// Range reads a part of an object, and checks its length and the checksums in r.
	Range(ctx context.Context, key string, r Range) ([]byte, error)
	// Open reads an object from an offset to its end, without checks. Some errors come only from a later read.
	Open(ctx context.Context, key string, offset int64) (io.ReadCloser, error)
	// Head describes an object.
	Head(ctx context.Context, key string) (Info, error)
	// List calls f with every object whose key begins with prefix, in any order, until f fails. A service may omit new
	// objects for a while, and list removed ones. A directory also lists files that are being written.
	List(ctx context.Context, prefix string, f func(Info) error) error
	// Delete removes an object. It is not an error if the object does not exist.
	Delete(ctx context.Context, key string) error
	// Copy stores an object under another key of another bucket, or of this one, and replaces an object there. It
	// returns ErrOtherService unless one service has both.
	Copy(ctx context.Context, key string, to Bucket, toKey string) error
	// Location returns the location for display, without credentials.
	Location() string
}

// Content is what Put stores.
type Content struct {
	// Body has the bytes of the object from offset 0. It must not change during the call.
	Body io.ReaderAt
	Size int64
	// CRC is the CRC-32C of the bytes, if Checked is set. Bytes with another checksum are refused.
	CRC     uint32
	Checked bool
	// Replace allows another object with the same key, and any size.
	Replace bool
}

// Range is a part of an object.
type Range struct {
	// Offset and Length are in bytes. Length is at least 1 and at most MaxRange.
	Offset, Length int64
	// ObjectSize is the expected size of the object; 0 means that it is not known.
	ObjectSize int64
	// Parts are the known checksums within the range.
	Parts []Part
}

// Part is a part of an object with a known checksum.
type Part struct {
	// Offset is counted from the start of the object.
	Offset, Length int64
	CRC            uint32
}

// Info describes an object.
type Info struct {
	Key      string
	Size     int64
	Modified time.Time
	// CRC is the CRC-32C of the object, if Checked is set. Listings do not have it, and neither has a service that was
	// not seen to compare checksums; see TryChecksums.
	CRC     uint32
	Checked bool
}

// CheckKey returns an error for keys that could lead out of the bucket's prefix or directory.
func CheckKey(key string) error {
	if key == "" || path.Clean(key) != key || strings.HasPrefix(key, "/") || strings.HasPrefix(key, "../") ||
		key == ".." || key == "." || strings.ContainsAny(key, "\\\x00") {
		return &Error{
			Kind: Refused, Op: "use", At: fmt.Sprintf("%q", key), Err: errors.New("it is not a valid key of an object"),
		}
	}
	return nil
}

// check returns an error for a content that Put does not accept.
func (c *Content) check() error {
	if c.Size < 0 || c.Size > MaxPut && !c.Replace {
		return fmt.Errorf("it has %d bytes; an object may have %d", c.Size, MaxPut)
	}
	return nil
}

// check returns an error for a range that cannot be read.
func (r *Range) check() error {
	if r.Offset < 0 || r.Length < 1 || r.Length > MaxRange {
		return fmt.Errorf("a range of %d bytes from %d: want 1 to %d bytes", r.Length, r.Offset, MaxRange)
	}
	for _, p := range r.Parts {
		if p.Offset < r.Offset || p.Length < 0 || p.Length > r.Length || p.Offset-r.Offset > r.Length-p.Length {
			return fmt.Errorf("a checksum of %d bytes from %d is not within the range of %d bytes from %d", p.Length,
				p.Offset, r.Length, r.Offset)
		}
	}
	return nil
}

// verify compares the bytes of a range with its checksums.
func (r *Range) verify(b []byte) error {
	for _, p := range r.Parts {
		from := p.Offset - r.Offset
		if got := crc32.Checksum(b[from:from+p.Length], Castagnoli); got != p.CRC {
			return fmt.Errorf("%d bytes from %d have the checksum %08x, want %08x", p.Length, p.Offset, got, p.CRC)
		}
	}
	return nil
}
