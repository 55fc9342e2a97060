// Package query is the contract between a shard node and its query engine: what a
// statement refers to, and everything that it may see. Requests are plain data, so
// that the engine can be a process of its own.
//
// Package engine runs requests.
package query

import (
	"cordwood/proto/column"
	"cordwood/proto/schema"
)

// TableName names a table in a database.
type TableName struct {
	Database, Name string
}

// String is the name as a statement may give it.
func (n TableName) String() string { return n.Database + "." + n.Name }

// Analysis is what a statement refers to.
type Analysis struct {
	// Tables are the tables that it reads, each once, in the order of appearance.
	// Names without a database are resolved; names of CTEs are left out.
	Tables []TableName
	// Explain tells that it is an EXPLAIN or EXPLAIN ANALYZE.
	Explain bool
}

// Request is one query: a statement and everything that it may see.
type Request struct {
	// SQL is one SELECT, or an EXPLAIN [ANALYZE] of one.
	SQL string
	// Database is that of names without one.
	Database string
	// Tables has every table of the statement's Analysis; others are ignored.
	Tables []Table
	// Limit is how many rows are returned at most; 0: all.
	Limit uint64
	// Timezone is the session's time zone. Only UTC is supported: see DESIGN.md.
	Timezone string
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
}

// Segment is a Parquet file with rows of a table. Its columns carry their ids as
// field ids; the file stays until Query returns.
type Segment struct {
	Path    string
	Columns []SegmentColumn
	Rows    int64
	// MinTime and MaxTime bound the time index, in its unit.
	MinTime, MaxTime int64
}

// SegmentColumn is a column that a segment holds.
type SegmentColumn struct {
	ID   uint32
	Name string
	Type schema.Type
}
