package store

import (
	"cmp"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"cordwood/shard/memtable"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// LiveSegment is a segment that is or was in the manifest. Its file is removed with the last
// reference. The shard has one reference while the manifest lists the segment, and every View has
// one.
type LiveSegment struct {
	segment.Meta
	Path string
	refs atomic.Int64
	// Damage, if set, is the reason why the segment is not read; see quarantine.go.
	Damage atomic.Pointer[damage]
	// verified is when the whole file was last found intact, in Unix nanoseconds.
	verified atomic.Int64
	// groups are its row groups, and layouts the columns of its tables. Both are read when they are
	// first needed.
	groups  atomic.Pointer[[]segment.Group]
	layouts atomic.Pointer[segment.Layouts]
	// current is the last version of the table for which the segment was found to have all indexes.
	current atomic.Uint32
	// rows holds the rows of a raw segment, reason is why it is raw, and since is when it was
	// written, in Unix nanoseconds (0 if that is not known).
	rows   *memtable.Memtable
	reason string
	since  int64
	// flushed is when a flush of this process wrote the segment; zero if another process or a compaction did.
	flushed time.Time
	// expired reports whether all its rows have expired. It is set when the manifest no longer
	// lists it.
	expired bool
	// gone is called with the last reference if the manifest no longer lists the segment.
	gone func(*LiveSegment)
}

// Unref releases a reference.
func (l *LiveSegment) Unref() {
	if l.refs.Add(-1) == 0 {
		if l.rows != nil {
			l.rows.Unref()
		}
		l.gone(l)
	}
}

// Span describes the rows of a table in the segment.
func (l *LiveSegment) Span(tableID uint64) segment.TableSpan {
	if !l.Shared() {
		return segment.TableSpan{TableID: l.TableID, Rows: l.Rows, MinTime: l.MinTime, MaxTime: l.MaxTime}
	}
	i, ok := slices.BinarySearchFunc(l.Tables, tableID, func(t segment.TableSpan, id uint64) int {
		return cmp.Compare(t.TableID, id)
	})
	if !ok {
		return segment.TableSpan{TableID: tableID}
	}
	return l.Tables[i]
}

// layoutsOf reads the layouts of a shared segment once. It returns nil if the file cannot be read;
// the query that reads the rows reports the reason. If the file could not be opened, the next call
// tries again; if it is damaged, the next call does not.
func (l *LiveSegment) layoutsOf(fsys vfs.FS) segment.Layouts {
	if have := l.layouts.Load(); have != nil {
		return *have
	}
	read, err := segment.ReadLayouts(fsys, l.Path)
	corrupt := (*segment.ErrCorrupt)(nil)
	if err != nil && !errors.As(err, &corrupt) {
		return nil
	}
	l.layouts.Store(&read)
	return read
}

// BytesOf returns the approximate size of a table's rows in the file.
func (l *LiveSegment) BytesOf(tableID uint64) int64 {
	if !l.Shared() {
		return l.Bytes
	}
	return int64(float64(l.Bytes) * float64(l.Span(tableID).Rows) / float64(max(l.Rows, 1)))
}

func (l *LiveSegment) damaged() string {
	if d := l.Damage.Load(); d != nil {
		return d.reason
	}
	return ""
}

// damage describes a damaged segment. Its rows are missing until the file is restored, or abandoned
// with `cordwood doctor --forget`.
type damage struct {
	reason string
}

// loadedRaw is a raw segment in memory.
type loadedRaw struct {
	mem    *memtable.Memtable
	reason string
	since  int64
}
