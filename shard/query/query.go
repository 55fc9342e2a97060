// Package query is the contract between a shard node and its query engine: what a
// statement refers to, and everything that it may see. Requests are plain data, so
// that the engine can be a process of its own.
//
// Package engine runs requests.
package query

import (
	"context"
	"fmt"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

// SpillFailed is in the text of the error of a query whose temporary files could not be written.
const SpillFailed = "its temporary files cannot be written"

// shareKey is the key of a share in a context.
type shareKey struct{}

// WithShare returns a context for a query on behalf of a user. share is the key by which the
// resources of a node are divided among users. It is empty if the user is not known.
func WithShare(ctx context.Context, share string) context.Context {
	if share == "" {
		return ctx
	}
	return context.WithValue(ctx, shareKey{}, share)
}

// ShareOf returns the share of the query of ctx, or "".
func ShareOf(ctx context.Context) string {
	share, _ := ctx.Value(shareKey{}).(string)
	return share
}

// TableName names a table in a database.
type TableName struct {
	Database, Name string
}

// String returns the name as a statement may give it.
func (n TableName) String() string { return n.Database + "." + n.Name }

// Analysis is what a statement refers to.
type Analysis struct {
	// Tables are the tables that it reads, each once, in the order of appearance.
	// Names without a database are resolved; names of CTEs are left out.
	Tables []TableName
	// Explain means that it is an EXPLAIN or EXPLAIN ANALYZE.
	Explain bool
}

// Need is what a statement reads of a table, at most.
type Need struct {
	Name TableName
	// Columns are the names under which a statement knows the columns, IDs their ids.
	Columns []string
	IDs     []uint32
	// Where is a condition, as text of a statement about this table alone, that every row
	// meets which can matter; empty: all may.
	Where string
}

// Column is a column of an answer: its name, and its type as the engine writes it.
type Column struct{ Name, Type string }

// Description is what a statement returns, and wants.
type Description struct {
	Columns []Column
	// Parameters are the types of $1, $2 and so on, empty where nothing is known.
	Parameters []string
}

// Request is one query: a statement and everything that it may see.
type Request struct {
	// SQL is one SELECT, or an EXPLAIN [ANALYZE] of one.
	SQL string
	// Database is the database of names without one.
	Database string
	// Tables has every table of the statement's Analysis; others are ignored.
	Tables []Table
	// Limit is how many rows are returned at most; 0: all.
	Limit uint64
	// Timezone is the zone of times in the statement that name none: an IANA name or an offset; empty: UTC.
	// Answers are in UTC.
	Timezone string
	// Partials, if not nil, are the answers of nodes to SQL, each over its own rows: Tables have no rows, and the
	// answer is that to Final.
	Partials *Partials
	// Parameters are types of $1, $2 and so on that are known, or empty. Only Describe takes a statement with
	// parameters.
	Parameters []string
	// Part tells that SQL is a statement of Split for nodes: its answer may have several rows of one group.
	Part bool
	// Note is a text that EXPLAIN shows in front: how the statement was taken apart, or why it was not.
	Note string
}

// Partials are what several nodes answered to one statement.
type Partials struct {
	// Final is a statement of Split over what the nodes answered.
	Final string
	// Explain goes in front of Final: EXPLAIN with its options, or nothing.
	Explain string
	// Moment is Split.Moment.
	Moment string
	// Streams are the answers, each an Arrow IPC stream.
	Streams [][]byte
}

// Table is a table at one point: its segments and the batches not yet in a segment.
type Table struct {
	Database, Name string
	Schema         *schema.Table
	Segments       []Segment
	// Batches stay unchanged and in place until Query returns. Memory of the Go heap
	// is pinned for that time.
	Batches []*column.Batch
	// ExpiredBefore hides rows whose time index, in its own unit, is smaller.
	ExpiredBefore *int64
	// Merge is how rows of one identity, the tags with the time index, become one.
	// What is later wins: every batch is later than every segment and than the batches
	// before it, a row later than the rows before it in its batch, and a segment later than segments
	// of a lower Order. One segment has at most one row of an identity.
	//
	// Segments and batches may have the hidden column schema.DeletedColumnID, a
	// Boolean. It is not a column of Schema and no statement may see it.
	Merge Merge
	// Eras are those before the table came to merge as Merge says: what was written in
	// one merges by its rule.
	Eras Eras
}

// Merge says what happens to the rows of one identity.
type Merge uint8

const (
	// Append keeps all of them. Rows whose hidden column is true are hidden: the table once merged
	// rows.
	Append Merge = iota
	// LastRow has the latest row be the one, with its nulls; it is hidden if its hidden
	// column is true.
	LastRow
	// LastNonNull joins them: nothing is seen if the latest row's hidden column is true. Else, of
	// the rows from the latest one on whose hidden column is not null, or of all if
	// there is none, each column has the latest value that is not null. A row whose
	// hidden column is true has no values.
	LastNonNull
)

// String returns the name of the way.
func (m Merge) String() string {
	switch m {
	case Append:
		return "append"
	case LastRow:
		return "last_row"
	case LastNonNull:
		return "last_non_null"
	}
	return fmt.Sprintf("merge %d", uint8(m))
}

// Era is a time during which rows of a table merged in another way than now. They are
// the segments of an order below Before and the first Batches batches, except the segments and
// batches of an earlier era.
//
// The era of a row says how it affects the rows before it: a row of LastRow replaces all of them,
// a row of LastNonNull joins them, and a row of Append leaves them alone, and is left alone by
// later rows.
type Era struct {
	Before  uint64
	Batches int
	Merge   Merge
}

// Eras are the eras, the oldest first.
type Eras []Era

// Segment returns how the rows of a segment merge, given how rows of no era merge.
func (e Eras) Segment(order uint64, now Merge) Merge {
	for i := range e {
		if order < e[i].Before {
			return e[i].Merge
		}
	}
	return now
}

// Batch returns how the rows of the table's i-th batch merge.
func (e Eras) Batch(i int, now Merge) Merge {
	for j := range e {
		if i < e[j].Batches {
			return e[j].Merge
		}
	}
	return now
}

// Merges reports whether any rows of the table may have to be merged.
func (t *Table) Merges() bool {
	return t.Merge != Append || slices.ContainsFunc(t.Eras, func(e Era) bool { return e.Merge != Append })
}

// MergeOf returns how the rows of a table merge.
func MergeOf(t *schema.Table) Merge {
	switch {
	case t.AppendMode():
		return Append
	case t.MergeMode() == schema.MergeLastNonNull:
		return LastNonNull
	}
	return LastRow
}

// Segment is a Parquet file with rows of a table. The file stays until Query returns.
type Segment struct {
	Path string
	// CRC is the CRC-32C of the file: knowledge about an earlier file with the same path but another
	// content does not apply.
	CRC uint32
	// Shared means that the file has rows of other tables too: this table's rows have the table's id
	// in their first column, cordwood_table (a UINT64). Rows are sorted by it, and row groups have its
	// bounds.
	Shared bool
	// Order: of two segments of a table, the one with the higher Order holds the later
	// writes. No two are equal where it matters.
	Order uint64
	// Columns are the columns of the table that the file has, and perhaps the hidden
	// one. A column of the table that is not among them is null in every row.
	Columns []SegmentColumn
	// Rows is how many rows of the table the file has.
	Rows int64
	// MinTime and MaxTime bound the time index of the table's rows, in its unit.
	MinTime, MaxTime int64
	// Damaged is why the file must not be read, if it is set: its rows are missing. A
	// query that cannot do without them fails with DamagedError.
	Damaged string
}

// SegmentColumn is a column that a segment holds.
type SegmentColumn struct {
	ID uint32
	// FieldID is the column's field id in the file: ID itself, or, in a shared file, the
	// number of the slot that it has there.
	FieldID uint32
	// Name is the column's name in the file.
	Name string
	Type schema.Type
}
