// Package query defines the requests that a shard node sends to its query engine: a statement, and
// all data that it may read. Requests are plain data, so that the engine can run in a separate
// process.
//
// Package engine runs requests.
package query

import (
	"context"
	"fmt"
	"slices"
	"strings"

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

// ShareOf returns the share of the context's query, or "".
func ShareOf(ctx context.Context) string {
	share, _ := ctx.Value(shareKey{}).(string)
	return share
}

// killedKey is the key of a query's killed function in a context.
type killedKey struct{}

// WithKilled returns a context for a query that may be ended by KILL. killed reports whether it was. The cause of the
// context does not show it if the query was also cancelled in another way, such as by the node that asked for a part.
func WithKilled(ctx context.Context, killed func() bool) context.Context {
	return context.WithValue(ctx, killedKey{}, killed)
}

// Killed reports whether the context's query was ended by KILL.
func Killed(ctx context.Context) bool {
	killed, ok := ctx.Value(killedKey{}).(func() bool)
	return ok && killed()
}

// TableName is the name of a table and its database.
type TableName struct {
	Database, Name string
}

// String returns the name as it is written in a statement.
func (n TableName) String() string { return n.Database + "." + n.Name }

// CountOf returns a number of things as a text, such as "1 row" and "2 rows".
func CountOf[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Analyzes reports whether the beginning of an EXPLAIN, with its options, means that the statement is run.
func Analyzes(explain string) bool { return strings.Contains(strings.ToUpper(explain), "ANALYZE") }

// Analysis lists what a statement refers to.
type Analysis struct {
	// Tables are the tables that it reads, each once, in the order of appearance. Names without a
	// database get the default database. CTEs are not listed.
	Tables []TableName
	// Explain means that it is an EXPLAIN or EXPLAIN ANALYZE. Runs means that its query is run: it is no EXPLAIN without
	// ANALYZE.
	Explain, Runs bool
}

// Need is the part of a table that a statement reads. It may be more than necessary.
type Need struct {
	Name TableName
	// Columns are the names of the columns as the statement sees them. IDs are their ids.
	Columns []string
	IDs     []uint32
	// Where is a condition, as text for a statement over this table alone, that every row of
	// interest meets. It is empty if all rows may matter.
	Where string
}

// Column is a column of an answer: its name, and its type as DuckDB writes it.
type Column struct{ Name, Type string }

// Description lists the columns that a statement returns and the parameters that it takes.
type Description struct {
	Columns []Column
	// Parameters are the types of $1, $2 and so on. An unknown type is empty.
	Parameters []string
}

// Request is one query: a statement and all data that it may read.
type Request struct {
	// SQL is one SELECT, or an EXPLAIN [ANALYZE] of one.
	SQL string
	// Database is used for table names without a database.
	Database string
	// Tables contains every table of the statement's Analysis; other tables are ignored.
	Tables []Table
	// Limit is the maximum number of rows in the answer; 0 means no limit.
	Limit uint64
	// Timezone applies to texts of times in the statement that contain no zone. It is an IANA name
	// or an offset; empty means UTC. Answers are in UTC.
	Timezone string
	// Partials, if not nil, are the answers of nodes to SQL, each over the node's rows. Tables then
	// have no rows, and the answer is the answer to Final.
	Partials *Partials
	// Parameters are the known types of $1, $2 and so on. An unknown type is empty. Only Describe
	// accepts a statement with parameters.
	Parameters []string
	// Part means that SQL is a statement of Split for nodes: its answer may have several rows for
	// one group.
	Part bool
	// Values, if not nil, are the values of Split.First, in the same order. Only Split uses them.
	Values []Values
	// Note is a text that EXPLAIN shows first: how the statement was split, or why it was not.
	Note string
}

// Partials holds the answers of several nodes to one statement.
type Partials struct {
	// Final is the statement of Split that runs over the answers of the nodes.
	Final string
	// Explain is put before Final: EXPLAIN with its options, or nothing.
	Explain string
	// Moment is Split.Moment.
	Moment string
	// Streams are the answers, each an Arrow IPC stream.
	Streams [][]byte
	// Blocks, if not nil, are the answers to several statements, in the order of Split.Blocks. SQL is then one of these
	// statements, and Streams is empty.
	Blocks []BlockPartials
}

// BlockPartials holds the answers of several nodes to the statement of a Block.
type BlockPartials struct {
	Worker  string
	Streams [][]byte
}

// Table is a table at one index of the log: its segments, and the batches that are not in a segment
// yet.
type Table struct {
	Database, Name string
	Schema         *schema.Table
	Segments       []Segment
	// Batches stay unchanged and in place until Query returns. Memory of the Go heap
	// is pinned for that time.
	Batches []*column.Batch
	// ExpiredBefore hides rows whose time index, in its own unit, is less than this.
	ExpiredBefore *int64
	// Merge is the rule by which rows with the same identity (the tags and the time index) become
	// one row. The later row wins. Every batch is later than every segment and than earlier
	// batches; a row is later than the rows before it in its batch; a segment is later than
	// segments with a lower Order. A segment has at most one row of an identity.
	//
	// Segments and batches may have the hidden column schema.DeletedColumnID, a Boolean. It is not
	// a column of Schema and no statement may see it.
	Merge Merge
	// Eras are the times before the table got its present merge mode. Rows written in an era merge
	// by the rule of that era.
	Eras Eras
}

// Merge is a merge mode: it defines what happens to the rows of one identity.
type Merge uint8

const (
	// Append keeps all rows. It hides rows whose hidden column is true, which exist if the table
	// once merged rows.
	Append Merge = iota
	// LastRow keeps only the latest row, including its nulls. It is hidden if its hidden column is
	// true.
	LastRow
	// LastNonNull joins the rows. If the hidden column of the latest row is true, no row is
	// visible. Otherwise each column has its latest value that is not null, among the rows from the
	// latest row on whose hidden column is not null, or among all rows if there is no such row. A
	// row whose hidden column is true has no values.
	LastNonNull
)

// String returns the name of the merge mode.
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

// Era is a time during which the rows of a table had another merge mode than now. It has the
// segments with an order below Before and the first Batches batches, without the segments and
// batches of earlier eras.
//
// The era of a row determines how the row affects the rows before it: a row of LastRow replaces all
// of them, a row of LastNonNull joins them, and a row of Append leaves them unchanged, and later
// rows leave it unchanged.
type Era struct {
	Before  uint64
	Batches int
	Merge   Merge
}

// Eras are the eras of a table, the oldest first.
type Eras []Era

// Segment returns the merge mode of a segment's rows. now is the merge mode of rows that belong to no era.
func (e Eras) Segment(order uint64, now Merge) Merge {
	for i := range e {
		if order < e[i].Before {
			return e[i].Merge
		}
	}
	return now
}

// Batch returns the merge mode of the table's i-th batch.
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

// MergeOf returns the merge mode of a table.
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
	// CRC is the CRC-32C of the file. Cached data of an earlier file with the same path but another
	// CRC is not used.
	CRC uint32
	// Shared means that the file also has rows of other tables. This table's rows have the table's
	// id in their first column, cordwood_table (a UINT64). Rows are sorted by it, and row groups
	// have bounds for it.
	Shared bool
	// Order is larger for the segment with the later writes. Segments whose order of writes matters
	// have different values.
	Order uint64
	// Columns are the columns of the table that the file has, and perhaps the hidden one. A column
	// of the table that is not listed is null in every row.
	Columns []SegmentColumn
	// Ambiguous means that several of the Columns may have the same id. It is set only for shared cold segments; the
	// layouts in their footer say which of them is the table's.
	Ambiguous bool
	// Rows is the number of the table's rows in the file.
	Rows int64
	// MinTime and MaxTime are the bounds of the time index of the table's rows, in its unit.
	MinTime, MaxTime int64
	// Cold, if not 0, means that the rows are in object storage: Path is a sparse file, which has at most the parts that
	// the query's Fetcher got. Cold is the size of the object, with which the file begins. A footer follows that shows
	// the column chunks and nothing else.
	Cold int64
	// Damaged, if not empty, is the reason why the file must not be read. The answer lacks its
	// rows, or the query fails with DamagedError if it needs them.
	Damaged string
}

// SegmentColumn is a column that a segment has.
type SegmentColumn struct {
	ID uint32
	// FieldID is the column's field id in the file: ID itself, or, in a shared file, the
	// number of the slot that it has there.
	FieldID uint32
	// Name is the column's name in the file.
	Name string
	Type schema.Type
}
