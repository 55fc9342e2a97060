// Package translate turns LogQL into SQL. It defines which columns of a table are labels, structured metadata, the line
// and the level (table.go, level.go), how conditions are translated (match.go), how a stage changes the line and the
// labels (pipeline.go), how a parser's label is found in a line (parsers.go), and how texts become numbers
// (numbers.go).
//
// A pipeline is translated without running it: Query keeps, for each label, the SQL expression of its value after the
// stages so far. User text is inserted into SQL only as a quoted literal. The package reads no data and has no state.
// Package lines applies the same rules to rows in memory. A test compares the results of both packages.
package translate
