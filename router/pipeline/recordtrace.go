package pipeline

import "time"

// Outcome is what became of a record.
type Outcome string

// RecordTrace is the way of one record through its pipelines.
type RecordTrace struct {
	// Index is the record's number in the request, from 0.
	Index int
	// Input is the record as it came: JSON.
	Input string
	// Cut says that something is left out, for lack of room.
	Cut     bool
	Steps   []StepTrace
	Outcome Outcome
	// Rows are the rows that it became.
	Rows []RowTrace
	// Error says why it failed, or why one of its rows was left out.
	Error *StepError
}

// StepTrace is what one step made of a record.
type StepTrace struct {
	// Pipeline is the name of the pipeline, if it has one.
	Pipeline string
	// Step is the step, as in "processors[0] date". Position is the processor's place in the list, from 0, and Line its
	// line in the pipeline's text; -1 and 0 for other steps.
	Step           string
	Position, Line int
	// Took is how long the step took.
	Took time.Duration
	// Record is the record after the step: JSON; empty: there was no room for it.
	Record string
	// Added, Changed and Removed are the names of top-level fields, in order.
	Added, Changed, Removed []string
}

// RowTrace is a row that a record became.
type RowTrace struct {
	Table    string
	Options  map[string]string
	NoCreate bool
	// Row is its number among the rows of that table and those options, from 0.
	Row int
	// Record is what the row was made of: JSON; empty: there was no room for it.
	Record string
	// Dropped are fields of the record that no column takes, because the pipeline lists all
	// columns (version 1).
	Dropped []string
}

// StepError is why a step failed.
type StepError struct {
	Pipeline string
	Step     string
	// Position is the processor's place in the list, from 0; -1 for other steps.
	Position             int
	Field, Value, Reason string
	// Table is the table whose column, Field, does not take the value; empty: it was something else.
	Table string
	// Line is the line of the pipeline's text that failed, from 1; 0: none.
	Line int
	// Place is the byte of the value at which it failed, from 1; 0: it is not known.
	Place int
}

// The outcomes.
const (
	Stored  Outcome = "stored"
	Dropped Outcome = "dropped"
	Failed  Outcome = "failed"
)
