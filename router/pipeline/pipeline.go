// Package pipeline converts the records of one request to typed columns, in one batch for each destination table.
//
// A pipeline is either svc_identity, which flattens each record and stores all values, or a document compiled by
// Compile. A document has processors that change the record (package processor), a transform list that defines
// types of columns, a dispatcher to other pipelines, and a suffix for the table's name. DESIGN.md explains how they
// work.
//
// The package does not know HTTP or body formats (package native splits a body and calls a Runner). It does not
// store pipelines or write rows: package write receives an Output, creates missing tables and columns, and sends
// the rows.
//
// A Pipeline is immutable and may be used by any number of goroutines. A Runner serves one request and belongs to one
// goroutine. To use a Runner, call New…, pass any number of records, call Finish, and call Release when the Output is
// no longer needed.
package pipeline

import (
	"time"

	"cordwood/proto/column"
	"cordwood/proto/rights"
	"cordwood/proto/schema"
	"cordwood/router/vrl/value"
)

// Catalog finds existing tables. It may be slightly out of date.
type Catalog interface {
	Table(database, name string) (*schema.Table, bool)
}

// The defaults of Request.
const (
	DefaultNestedLevels    = 10
	DefaultMaxColumns      = 1024
	DefaultTimestampColumn = "svc_timestamp"
	// DefaultSteps is a few seconds of processor time.
	DefaultSteps = 1_000_000_000
)

// Request describes the request whose records a pipeline processes.
type Request struct {
	Database string
	// Table is the table's name without suffixes.
	Table   string
	Catalog Catalog
	// Pipeline is the pipeline's name, for messages.
	Pipeline string
	// TimeIndex is the custom time index; nil means the time of processing.
	TimeIndex *TimeIndex
	// MaxNestedLevels is the largest number of segments in a flattened column name; 0 or less: DefaultNestedLevels.
	MaxNestedLevels int
	// SkipError skips records that fail. If a record becomes several rows, only the rows that fail are skipped.
	SkipError bool
	// WholeRecords skips all rows of a record if one of them fails, for callers that keep skipped records and send
	// them again.
	WholeRecords bool
	// OnSkip, if not nil, is called with every record that is skipped.
	OnSkip func(Reason)
	// Stop, if not nil, is called after OnSkip. Its error ends the request.
	Stop func() error
	// NoClientVariables refuses records that contain variables (svc_ttl and so on). Then only pipelines may set them.
	NoClientVariables bool
	// Trace, if not nil, is called with the result of each step for each record. It is slow and meant for dry runs.
	Trace func(RecordTrace)
	// TraceSteps reports whether the steps and rows of the record with the given number, from 0, are traced. nil means
	// that all are traced.
	TraceSteps func(index int) bool
	// TraceBytes limits the size of the texts of all traces together; 0 means no limit. Texts that do not fit are
	// omitted.
	TraceBytes int
	// TellAbsent adds a warning for each field of a transform list that no record had. Like Trace, it is slow.
	TellAbsent bool
	// Tags are fields that become tags if svc_identity creates columns for them and they contain texts. Other fields
	// become ordinary columns. Existing columns are not affected.
	Tags map[string]bool
	// JSON are fields that svc_identity does not flatten if they are objects. A column that it creates for such a
	// field contains JSON. Existing columns are not affected.
	JSON []string
	// IgnoreErrors uses the time of processing if the custom time index is missing or invalid in a record.
	IgnoreErrors bool
	// Hints are the client's option texts by option name. They are the defaults of the variables svc_ttl and so on.
	// Names that are not options are ignored.
	Hints map[string]string
	// AutoCreate allows tables and columns to be created.
	AutoCreate bool
	// Ended returns the reason why the request has ended, as context.Context.Err does. A Runner calls it often and
	// then aborts the request; nil means that the request never ends early.
	Ended func() error
	// Steps limits the work for all records of the request. Each record adds to it according to its length; 0 means
	// DefaultSteps. A step takes about 7 ns.
	Steps int64
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// MaxColumns limits the number of columns of a table; 0 means DefaultMaxColumns.
	MaxColumns int
	// Reserve, if not nil, reserves memory for the request's rows. It gets the total in bytes, before many more rows
	// are added. Its error ends the request.
	Reserve func(bytes int64) error
	// MaxMadeColumns is the number of columns at which records stop adding columns to a table. MaxNewColumns
	// limits the columns that the request adds to all tables. 0: only MaxColumns applies.
	MaxMadeColumns, MaxNewColumns int
	// NewColumns counts new columns together with other batches of the request; nil if there are no other batches.
	NewColumns *NewColumns
	// MaxNewTables limits the number of tables that the request creates by suffixes; 0 means no limit.
	MaxNewTables int
	// Permit, if not nil, returns an error if the sender may not store rows in a table, which exists or not. Records
	// for such a table fail.
	Permit func(table string, exists bool) error
	// MayCreate, if not nil, returns an error if the quota of the database allows no further table. ColumnQuota is the
	// number of columns that its quota allows for each table, or 0. Records that would exceed them fail.
	MayCreate   func(table string) error
	ColumnQuota int
	// DatabaseTTL is the database's ttl for tables without their own.
	DatabaseTTL string
	// AdviseTime means that the sender can set TimeIndex by the parameter custom_time_index. If a new table does not use a
	// field that is probably the time, a warning says so.
	AdviseTime bool
	// TimestampColumn is the name of the time index if TimeIndex is nil; "" means DefaultTimestampColumn.
	TimestampColumn string
}

// Runner receives records one by one and collects their rows.
//
// If Request.SkipError is set, a record that fails is skipped and counted. Otherwise, and when a limit of the whole
// request is reached, the error is an *errs.Error of code InvalidArguments, and the caller must abort the request.
// If Request.Ended says that the request has ended, the code is DeadlineExceeded or Cancelled. Malformed JSON is
// never skipped here, because only the caller knows where the next record begins. The error is then a
// *jsonscan.Error, nothing of the record was stored, and it was not counted.
type Runner interface {
	// ScanRecord reads the JSON value at or after pos and returns the position after it. It reads data in place if the
	// condition of jsonscan.NewText holds. Callers with many records in one body should ensure this, because otherwise
	// each call copies data.
	ScanRecord(data []byte, pos int) (next int, err error)
	// ScanLine reads a line that must contain exactly one JSON value.
	ScanLine(line []byte) error
	// TextRecord receives line, which must be valid UTF-8, as the record {"message": line}.
	TextRecord(line []byte) error
	// Record receives a decoded record: an object whose keys are sorted by value.Fields.Sort. size is its approximate
	// length in the request. Its keys and texts must not change before Release.
	Record(v value.Value, size int) error
	// At sets the time of the following records, in nanoseconds since 1970. It replaces the time of processing, if
	// neither the request nor its pipeline sets another time.
	At(nanos int64)
	// Refuse counts a record that could not be read and was skipped because of err.
	Refuse(err error)
	// Finish ends the input. The Output is valid until Release.
	Finish() (*Output, error)
	// Release frees the memory. Neither r nor its Output may be used afterwards.
	Release()
}

// Output is the result for a request's records.
type Output struct {
	// Tables has an element for each table and set of options with rows, in the order of their first rows.
	Tables []*TableRows
	// Records is the number of records, including skipped ones.
	Records int
	Skipped int
	// Dropped is the number of records that a filter or a program dropped, without an error.
	Dropped int
	// SkippedBy counts the skipped records by the step at which they failed.
	SkippedBy SkipCounts
	// Warnings describe values that were changed when stored, with counts.
	Warnings []string
	// Reasons are the first errors because of which records were skipped.
	Reasons []Reason

	// firstRows and firstTables are the memory of the first table, because most requests have no other.
	firstRows   TableRows
	firstTables [1]*TableRows
}

// Rows returns the number of rows for tables of clients.
func (o *Output) Rows() (n int64) {
	for _, t := range o.Tables {
		if !t.Internal && !t.Discard {
			n += int64(t.Count())
		}
	}
	return n
}

// TableRows are the rows for one table.
type TableRows struct {
	Database string
	Table    string
	// Branch separates rows by the way that they took: 0 for the request's own pipeline, and another number for each
	// path through dispatchers.
	Branch int
	// Options are the complete, normalised options for creating the table. They may be shared with other requests and
	// must not be changed.
	Options map[string]string
	// NoCreate forbids creating the table or a column.
	NoCreate bool
	// Discard is set if the table must exist but its rows are discarded (ttl=instant).
	Discard bool
	// Existing is the table with which the rows were checked; nil if there was none.
	Existing *schema.Table
	// Expired is how many rows are older than the table's ttl, so that no query returns them.
	Expired int
	// Asides counts the values that were set aside, by column. Cast is how many were converted to the type of their
	// column.
	Asides []Aside
	Cast   int
	// Internal allows the table to be in a database of the server. Records of clients are never stored there.
	Internal bool
	// Parts are the first rows, which are already encoded. Rows has their columns.
	Parts []*column.Sealed
	// Rows has the other rows, and all columns. The time index is the first column. Columns that Existing has carry
	// its definition. New columns have the ID 0 and are in the order of creation.
	Rows *column.Builder
}

// Count returns the number of rows.
func (t *TableRows) Count() int {
	n := t.Rows.Rows()
	for _, p := range t.Parts {
		n += p.Rows()
	}
	return n
}

// Aside counts the values of a column that were set aside: see schema.ConflictAside.
type Aside struct {
	Column string
	Count  int
	// First is the first of these values, formatted for messages.
	First string
}

// IdentityName is the name of the built-in pipeline.
const IdentityName = rights.IdentityPipeline
