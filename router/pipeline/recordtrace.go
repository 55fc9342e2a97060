package pipeline

import "time"

// Outcome is the result for a record.
type Outcome string

// RecordTrace describes how one record was processed.
type RecordTrace struct {
	// Index is the record's number in the request, from 0.
	Index int
	// Input is the original record in JSON.
	Input string
	// Cut is set if something is missing because of the size limit.
	Cut     bool
	Steps   []StepTrace
	Outcome Outcome
	// Rows are the rows that it became.
	Rows []RowTrace
	// Error is the reason why the record failed, or why one of its rows was left out.
	Error *StepError
}

// StepTrace is the result of one step.
type StepTrace struct {
	// Pipeline is the name of the pipeline, if it has one.
	Pipeline string
	// Step names the step, for example "processors[0] date". Position is the processor's index in the list, from 0,
	// and Line its line in the pipeline's text. For other steps they are -1 and 0.
	Step           string
	Position, Line int
	// Took is how long the step took.
	Took time.Duration
	// Record is the record after the step in JSON; empty if it was omitted because of the size limit.
	Record string
	// Added, Changed and Removed are the names of top-level fields, sorted.
	Added, Changed, Removed []string
}

// RowTrace describes a row that was made from the record.
type RowTrace struct {
	Table    string
	Options  map[string]string
	NoCreate bool
	// Row is its index among the rows of that table and those options, from 0.
	Row int
	// Record is the record from which the row was made in JSON; empty if it was omitted because of the size limit.
	Record string
	// Dropped are fields of the record without a column, because the pipeline lists all columns (version 1).
	Dropped []string
}

// StepError is the reason why a step failed.
type StepError struct {
	Pipeline string
	Step     string
	// Position is the processor's place in the list, from 0; -1 for other steps.
	Position             int
	Field, Value, Reason string
	// Table is the table whose column, Field, does not accept the value; empty if there was another reason.
	Table string
	// Line is the line of the pipeline's text that failed, from 1; 0 if there is none.
	Line int
	// Place is the position of the fault in the value, in bytes from 1, or 0 if it is unknown.
	Place int
}

// The outcomes.
const (
	Stored  Outcome = "stored"
	Dropped Outcome = "dropped"
	Failed  Outcome = "failed"
)
