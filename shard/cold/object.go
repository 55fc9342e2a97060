// Package cold describes the rows that a shard keeps in object storage. DESIGN.md has the states of rows; package
// bucket stores and reads objects.
package cold

import (
	"slices"

	"cordwood/shard/segment"
)

// Kind says how the rows of an object belong to those of others.
type Kind uint8

const (
	// Kept means that all rows are kept, or that the object is shared by several tables.
	Kept Kind = iota
	// Merging means that rows merge with those of other objects. Some of them may mark deletions.
	Merging
	// Day means that the object was made by a join of a day, for a table that is shown as Iceberg: the objects of this
	// kind have all rows of the day up to their set, merged, without marks of deletions. No two have the same identity.
	Day
)

// Object is a file in object storage with rows of a cut: a striped segment file, as segment/FORMAT.md describes it. An
// object never changes, and its key is never used for another one.
type Object struct {
	// Key is the object's key below the prefix of the bucket.
	Key string
	// Cut is the number of the cut whose rows the object has. All objects of a cut are one set.
	Cut uint64
	// Day is the UTC day of the rows, in days since 1970: the first one, if they are of several days.
	Day int64
	// Kind says how the rows belong to those of other objects.
	Kind Kind
	// TailOffset is where the tail begins: the page indexes, followed by the footer, to the end of the file. TailCRC is
	// the CRC-32C of the tail. The checksums of all other parts are in the footer.
	TailOffset int64
	TailCRC    uint32
	// Meta describes the rows and the file, as for a local segment: the table or tables, columns, number of rows, time
	// range, size, checksums of the file and of the footer. Its ID is 0. Its Order is the order of the cut in this
	// replica: replicas may have different ones. It is 0 in the log.
	Meta segment.Meta
}

// Spans returns the parts of all tables, in ascending order of their ids.
func (o *Object) Spans() []segment.TableSpan {
	if o.Meta.Shared() {
		return o.Meta.Tables
	}
	m := &o.Meta
	return []segment.TableSpan{{TableID: m.TableID, Rows: m.Rows, MinTime: m.MinTime, MaxTime: m.MaxTime}}
}

// Days returns the first and the last UTC day of the rows, in days since 1970.
func (o *Object) Days() (first, last int64) {
	first, last, ok := o.Meta.DayRange()
	if !ok {
		return o.Day, o.Day
	}
	return first, last
}

// Has reports whether the object has rows of a table.
func (o *Object) Has(table uint64) bool {
	_, ok := o.Span(table)
	return ok
}

// Span returns the part of the object that a table has.
func (o *Object) Span(table uint64) (segment.TableSpan, bool) {
	m := &o.Meta
	if !m.Shared() {
		return segment.TableSpan{TableID: table, Rows: m.Rows, MinTime: m.MinTime, MaxTime: m.MaxTime}, m.TableID == table
	}
	at, ok := slices.BinarySearchFunc(m.Tables, table, func(s segment.TableSpan, id uint64) int {
		switch {
		case s.TableID < id:
			return -1
		case s.TableID > id:
			return 1
		}
		return 0
	})
	if !ok {
		return segment.TableSpan{}, false
	}
	return m.Tables[at], true
}
