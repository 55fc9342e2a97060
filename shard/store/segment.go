package store

import (
	"cmp"
	"errors"
	"slices"
	"sync/atomic"

	"cordwood/shard/memtable"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// LiveSegment is a segment that is in the manifest, or was: its file goes with the
// last reference. The shard has one while the manifest lists it, every View one.
type LiveSegment struct {
	segment.Meta
	Path string
	refs atomic.Int64
	// Damage, if set, is why the segment is not read; see quarantine.go.
	Damage atomic.Pointer[damage]
	// verified is when the whole file was last found sound, in Unix nanoseconds.
	verified atomic.Int64
	// groups are its row groups, and layouts the columns of its tables, once they were needed.
	groups  atomic.Pointer[[]segment.Group]
	layouts atomic.Pointer[segment.Layouts]
	// current is the version of the table by which it was last found to have all indexes.
	current atomic.Uint32
	// rows are the rows of a raw segment, reason is why it is one, and since is when it was
	// written, in Unix nanoseconds (0: not known).
	rows   *memtable.Memtable
	reason string
	since  int64
	// expired reports whether all its rows have expired; it is set when the manifest does not list it any more.
	expired bool
	// gone is called with the last reference, if the manifest does not list it any more.
	gone func(*LiveSegment)
}

// Unref gives a reference back.
func (l *LiveSegment) Unref() {
	if l.refs.Add(-1) == 0 {
		if l.rows != nil {
			l.rows.Unref()
		}
		l.gone(l)
	}
}

// Span returns what the segment has of a table.
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

// layoutsOf reads what the tables of a shared segment have, once. It returns nil if the file
// cannot be read; the query that reads the rows reports why. A file that is damaged stays so, and
// is not read again; one that could not be opened or read is.
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

// BytesOf returns about what the rows of a table take in the file.
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

// damage is why a segment is not read. What it had is missing until the file is
// restored, or given up with `cordwood doctor --forget`.
type damage struct {
	reason string
}

// loadedRaw is a raw segment in memory.
type loadedRaw struct {
	mem    *memtable.Memtable
	reason string
	since  int64
}
