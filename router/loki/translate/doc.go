// Package translate turns LogQL into SQL. It has all rules for this: which columns of a table are labels, structured
// metadata, the line and the level (table.go, level.go), what a condition is (match.go), what a stage does to the line
// and to labels (pipeline.go), how a label of a parser is found in a line (parsers.go), and what a number is
// (numbers.go).
//
// A pipeline is translated without running it: Query remembers for each label the SQL expression of its value at that
// place. User text gets into SQL only as a quoted literal. The package reads no data and has no state. Package lines
// does the same to rows in memory; a test compares both.
package translate
