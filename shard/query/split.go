package query

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// SplitKinds are the values of Split.Kind.
var SplitKinds = []string{"aggregate", "pairs", "project", "top", "limit", "distinct", "rows", "several"}

// SplitCauses are the values of Split.Cause.
var SplitCauses = []string{
	"join",      // several tables, or one of them several times
	"form",      // a clause or a form of the statement that cannot be split: UNION, QUALIFY, DISTINCT ON
	"subquery",  // a query inside an expression
	"window",    // window functions
	"volatile",  // functions whose value differs between calls
	"function",  // an unknown function, operator or literal
	"aggregate", // an aggregate that cannot be computed from parts
	"sort",      // all rows are sorted, or the sort key cannot be sent
	"names",     // ambiguous names
	"type",      // values that cannot be sent
	"refused",   // the engine refuses a statement of the split
}

// Split is a statement that was split for several nodes.
type Split struct {
	// Table is the only table of the statement.
	Table TableName
	// Worker is the statement that each node runs over its rows.
	Worker string
	// Final computes the answer from the results of Worker on all nodes. If it is empty, the answer
	// consists of the answers of the nodes, one after the other.
	Final string
	// Kind is how the statement was split: aggregate, pairs, project, top, limit, distinct, rows or several.
	Kind string
	// Blocks are the parts of a statement of kind several. Each is split by itself. Table and Worker are then empty, and
	// Final runs over the results of all.
	Blocks []Block
	// Moment is the text that replaces now() in Worker and Final, so that all nodes use the same time. It is empty
	// if now() does not occur.
	Moment string
	// Lasting means that the result depends only on the statement and the columns of its table. At then returns the
	// result for another time.
	Lasting bool
	// Counts means that Worker returns only the number of rows of the table, in the column CountColumn.
	Counts bool
	// Draws means that Final calls functions such as random(), so its answer must not be reused.
	Draws bool
	// Combine, if not nil, describes how to compute the answer without Final.
	Combine *Combine
	// Best, if not nil, is a smaller statement for nodes, whose answers may be sufficient.
	Best *Best
	// Hashed, if not nil, describes how to compute the answer if the partial results of Worker are
	// too large.
	Hashed *Hashed
	// Newest, if not nil, describes how to compute the answer without Final.
	Newest *Newest
	// First are the subqueries in expressions that have to be run first. Their answers become Request.Values. As
	// long as Request.Values is nil, the split statement has one null in place of each subquery.
	First []First
	// Explain is the beginning of the statement: EXPLAIN with its options, or nothing. It is set in
	// any case.
	Explain string
	// Reason, if not empty, is the reason why the statement cannot be split; the other fields are
	// then empty.
	Reason string
	// Cause is the reason as one word of SplitCauses.
	Cause string
}

// Block is a query within a statement, which is split by itself.
type Block struct {
	Table  TableName
	Worker string
	Kind   string
	Counts bool
}

// MaxValues is the maximum number of values of a subquery that become literals. Each value costs every node some 0.1 ms
// to parse it.
const MaxValues = 900

// First is a subquery in an expression that does not depend on the rows around it.
type First struct {
	SQL string
	// Tables are the tables that it reads.
	Tables []TableName
	// Type is the type of its values, as the engine writes it.
	Type string
	// Rows is the maximum number of its rows. If it has more, the statement cannot be split.
	Rows uint64
	// Exists means that only the existence of rows matters.
	Exists bool
}

// Values are the values that a subquery of Split.First returned.
type Values struct {
	// Texts are the values that are not null, each once, as texts that can be cast to the type.
	Texts []string
	// Null means that there is a null, or that a subquery for a single value has no row.
	Null bool
	// Exists means that there are rows.
	Exists bool
}

// Best describes a smaller way to split a statement for the groups with the largest counts. Each node returns only
// its groups with the largest counts. The answer is complete if these prove that no other group can be in it.
type Best struct {
	// Worker returns the Rows groups of a node with the largest counts, in descending order.
	Worker string
	Rows   uint64
	// The first Groups columns of the nodes' results are the groups. Count is the position of the
	// counts.
	Groups, Count int
	// First is the number of groups in the answer, including its offset.
	First uint64
}

// Hashed describes how to split a statement for the number of distinct values so that nodes send
// hashes instead of the values. Values with different hashes differ, so only the values of hashes
// that several nodes sent are requested.
type Hashed struct {
	// Hashes returns the hash of each distinct value of a node, and in addition the hash Probe. A
	// node that does not send Probe uses another hash function.
	Hashes string
	Probe  uint64
	// Before and After are the text around a list of hashes, in the statement for the distinct
	// values of a node with these hashes.
	Before, After string
	// Final computes the answer from one row with the number of values. Worker is the statement
	// that would return this row for all rows.
	Worker, Final string
}

// Newest describes how to split a statement for the first rows by the time index alone: each node
// returns its first Offset + Limit rows, sorted.
type Newest struct {
	// Column is the position of the time index in the nodes' results. The first Columns columns are
	// the columns of the answer.
	Column, Columns int
	// The answer is Limit rows after the first Offset ones.
	Limit, Offset uint64
	Descending    bool
	// Before and After are the text around a literal of a time, in the statement for the rows of a
	// node up to that time.
	Before, After string
}

// Compare compares two times by their order in the answer, as cmp.Compare does.
func (n *Newest) Compare(a, b arrow.Timestamp) int {
	if n.Descending {
		a, b = b, a
	}
	return cmp.Compare(a, b)
}

// CountColumn is the name of the only column that Split.Worker returns if Split.Counts is set.
const CountColumn = "__a0"

// How is how the values of a group from several nodes or segments are combined.
type How uint8

const (
	// Apart does not combine the values; the final statement does.
	Apart How = iota
	// Sum adds the values up. Like Least and Greatest, it skips nulls.
	Sum
	// Least keeps the smallest value.
	Least
	// Greatest keeps the largest value.
	Greatest
)

// Combine describes a final step that combines values of groups, sorts the groups and returns the
// first ones.
type Combine struct {
	// The first Groups columns of the partials are the groups. How applies to the columns after
	// them, and is never Apart.
	Groups int
	How    []How
	// Columns are the positions of the columns of the answer in the partials, Names their names.
	Columns []int
	Names   []string
	Orders  []Order
	// The answer is Limit rows after the first Offset ones, or without Limited all rows after
	// these.
	Limited       bool
	Limit, Offset uint64
}

// Order is a column of partials by which rows are sorted.
type Order struct {
	Column                 int
	Descending, NullsFirst bool
}

// Moment returns a time as the text that replaces now() in a split statement.
func Moment(t time.Time) string {
	return "CAST('" + t.UTC().Format("2006-01-02 15:04:05.999999") + "' AS TIMESTAMP)"
}

// At returns the statement for another time. s does not change.
func (s *Split) At(now time.Time) *Split {
	if s.Moment == "" {
		out := *s
		return &out
	}
	moment := Moment(now)
	out := s.With(func(text string) string { return strings.ReplaceAll(text, s.Moment, moment) })
	out.Moment = moment
	return out
}

// With returns the split statement with all texts of statements replaced. s does not change.
func (s *Split) With(replace func(text string) string) *Split {
	out := *s
	put := func(texts ...*string) {
		for _, t := range texts {
			*t = replace(*t)
		}
	}
	put(&out.Worker, &out.Final)
	out.Blocks = slices.Clone(s.Blocks)
	for i := range out.Blocks {
		put(&out.Blocks[i].Worker)
	}
	out.First = slices.Clone(s.First)
	for i := range out.First {
		put(&out.First[i].SQL)
	}
	if s.Best != nil {
		at := *s.Best
		put(&at.Worker)
		out.Best = &at
	}
	if s.Hashed != nil {
		at := *s.Hashed
		put(&at.Hashes, &at.Before, &at.After, &at.Worker, &at.Final)
		out.Hashed = &at
	}
	if s.Newest != nil {
		at := *s.Newest
		put(&at.Before, &at.After)
		out.Newest = &at
	}
	return &out
}
