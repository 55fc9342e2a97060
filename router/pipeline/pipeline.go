// Package pipeline turns the records of one request into typed columns, one batch per
// destination table.
//
// A pipeline is either svc_identity, which flattens each record and stores what it
// finds, or a document that Compile has read: processors that change the record (package
// processor), a transform list that gives columns their types, a dispatcher to other
// pipelines, a suffix for the table's name. DESIGN.md says how they work.
//
// The package reads no HTTP and no body format (package native splits a body and drives
// a Runner), stores no pipelines, and writes nothing: an Output goes to package write,
// which makes the tables fit and sends the rows.
//
// A Pipeline is immutable and serves any number of goroutines. A Runner serves one
// request and one goroutine. The order is New…, any number of records, Finish, and
// Release when the Output is no longer needed.
package pipeline

import (
	"time"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/router/vrl/value"
)

// Catalog reports which tables exist. It may be a little behind.
type Catalog interface {
	Table(database, name string) (*schema.Table, bool)
}

// Defaults of Request.
const (
	DefaultNestedLevels    = 10
	DefaultMaxColumns      = 1024
	DefaultTimestampColumn = "svc_timestamp"
	// DefaultSteps is some seconds of a processor core.
	DefaultSteps = 1_000_000_000
)

// Request describes the request whose records a pipeline takes.
type Request struct {
	Database string
	// Table is the table's name before any suffix.
	Table   string
	Catalog Catalog
	// Pipeline is the pipeline's name, for messages.
	Pipeline string
	// TimeIndex is the custom time index; nil: the time of processing.
	TimeIndex *TimeIndex
	// MaxNestedLevels is the most segments that flattening gives a column name;
	// 0 or less: DefaultNestedLevels.
	MaxNestedLevels int
	// SkipError drops records that fail and continues. If a record becomes several rows, it drops the
	// rows that fail.
	SkipError bool
	// WholeRecords drops all rows of a record if one of them fails, for callers that keep skipped records
	// to send them again.
	WholeRecords bool
	// OnSkip, if not nil, is called with every record that is skipped.
	OnSkip func(Reason)
	// Stop, if not nil, is asked after OnSkip. Its error ends the request.
	Stop func() error
	// NoClientVariables refuses records that come with variables (svc_ttl and so on), which
	// then only pipelines set.
	NoClientVariables bool
	// Trace, if not nil, is called with what each step made of each record. That is slow,
	// and meant for trying a pipeline on a few records.
	Trace func(RecordTrace)
	// TraceSteps has the numbers, from 0, of the records whose steps and rows are traced; nil: all.
	TraceSteps func(index int) bool
	// TraceBytes bounds the texts of all traces together; 0: they are not bounded. What does not fit is left out.
	TraceBytes int
	// TellAbsent adds a warning for each field of a transform list that no record had. It is slow too.
	TellAbsent bool
	// Tags are fields that become tags where svc_identity makes a column of them and they are texts; others
	// become fields. They have no effect on columns that a table has.
	Tags map[string]bool
	// JSON are fields that svc_identity does not spread if they are objects: a column that it makes of one holds
	// JSON. They have no effect on columns that a table has.
	JSON []string
	// IgnoreErrors lets the time of processing stand in for a custom time index that
	// a record lacks or has wrong.
	IgnoreErrors bool
	// Hints are option texts as the client gave them, by option name. They are the
	// defaults of the variables svc_ttl and so on. Names that are not options are ignored.
	Hints map[string]string
	// AutoCreate allows tables and columns to be created.
	AutoCreate bool
	// Ended reports why no caller waits for the request any more, as context.Context.Err does.
	// A Runner asks it often, and gives the request up; nil: it continues to the end.
	Ended func() error
	// Steps bounds the work of all records of the request together, to which each record
	// adds by its length; 0: DefaultSteps. A step takes about 7 ns.
	Steps int64
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// MaxColumns bounds the columns of a table; 0: DefaultMaxColumns.
	MaxColumns int
	// Reserve, if not nil, is asked for the memory of the request's rows, in all so many bytes,
	// before there are many more of them. Its error ends the request.
	Reserve func(bytes int64) error
	// MaxMadeColumns bounds the columns of a table up to which records add some, and MaxNewColumns the columns that the
	// records of the request add, over all tables; 0: no bound but MaxColumns.
	MaxMadeColumns, MaxNewColumns int
	// NewColumns counts the new columns together with the columns of other batches of the request; nil: there are
	// no other batches.
	NewColumns *NewColumns
	// MaxNewTables bounds the tables that the request's records make by suffixes; 0: no bound.
	MaxNewTables int
	// DatabaseTTL is the ttl of tables without one of their own, as the database has it.
	DatabaseTTL string
	// TimestampColumn names the time index if TimeIndex is nil; "": DefaultTimestampColumn.
	TimestampColumn string
}

// Runner takes records one by one and collects their rows.
//
// A failing record is dropped and counted if Request.SkipError is set. Otherwise, and
// when a limit of the whole request is reached, the error is an *errs.Error of code
// InvalidArguments, and the caller gives up the request. When Request.Ended says that the
// request is over, the code is DeadlineExceeded or Cancelled. Malformed JSON is never
// skipped here, for only the caller knows where the next record begins: it is a
// *jsonscan.Error, nothing was stored of the record, and it was not counted.
type Runner interface {
	// ScanRecord takes the JSON value at or after pos and returns the position after
	// it. It reads data in place under the condition of jsonscan.NewText, which
	// callers with many records in one body should fulfil: else each call copies it.
	ScanRecord(data []byte, pos int) (next int, err error)
	// ScanLine takes a line that must hold one JSON value and nothing else.
	ScanLine(line []byte) error
	// TextRecord takes line, which must be valid UTF-8, as the record {"message": line}.
	TextRecord(line []byte) error
	// Record takes a record that was decoded already: an object, whose keys are in order, as
	// value.Fields.Sort leaves them. size is about its length in the request. Neither the keys nor
	// the texts in it may change before Release.
	Record(v value.Value, size int) error
	// At says when the records that follow happened, in nanoseconds since 1970, until it is said
	// again. It stands for the time of processing where neither the request nor its pipeline
	// names another time.
	At(nanos int64)
	// Refuse counts a record that could not be read and was skipped because of err.
	Refuse(err error)
	// Finish ends the input. The Output is valid until Release.
	Finish() (*Output, error)
	// Release gives the memory back. Neither r nor its Output may be used afterwards.
	Release()
}

// Output is what a request's records became.
type Output struct {
	// Tables has an element per table and set of options that got rows, in the order
	// of their first rows.
	Tables []*TableRows
	// Records is the number of records met, those skipped included.
	Records int
	Skipped int
	// Dropped is the number of records that a filter or a program dropped, without an error.
	Dropped int
	// SkippedBy reports how many of the skipped records failed at which step.
	SkippedBy SkipCounts
	// Warnings tell what was stored otherwise than it came, with counts.
	Warnings []string
	// Reasons are the first few errors that made records skipped.
	Reasons []Reason
}

// TableRows are the rows for one table.
type TableRows struct {
	Database string
	Table    string
	// Branch tells rows apart that came by different ways: 0 for those that the request's
	// own pipeline stored, another number for each way by which a dispatcher sent records.
	Branch int
	// Options are those that the table is to be created with, normalised and complete.
	// They may be shared with other requests, and must not be changed.
	Options map[string]string
	// NoCreate forbids creating the table or a column.
	NoCreate bool
	// Discard asks for the table to exist and the rows to be thrown away (ttl=instant).
	Discard bool
	// Existing is the table that the rows were checked against; nil if there was none.
	Existing *schema.Table
	// Expired is how many of the rows are older than the table's ttl, so that no query shows them.
	Expired int
	// Asides counts the values that were put aside, by column; Cast is how many were converted to the
	// types of their columns.
	Asides []Aside
	Cast   int
	// Internal allows the table to lie in a database of the server's own. Clients'
	// records never do.
	Internal bool
	// Parts are the first rows, those that were encoded already. They take their columns
	// from Rows.
	Parts []*column.Sealed
	// Rows has the other rows, and all columns. The time index is the first. Columns that
	// Existing has carry its definition; new ones have the ID 0 and are in the order to be
	// created.
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

// Aside counts the values of a column that were put aside: see schema.ConflictAside.
type Aside struct {
	Column string
	Count  int
	// First is the first of them, as messages show it.
	First string
}

// IdentityName is the name of the built-in pipeline.
const IdentityName = "svc_identity"
