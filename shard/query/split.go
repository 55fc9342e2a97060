package query

import (
	"cmp"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// SplitKinds are the values of Split.Kind.
var SplitKinds = []string{"aggregate", "pairs", "project", "top", "limit", "distinct", "rows"}

// SplitCauses are the values of Split.Cause.
var SplitCauses = []string{
	"join",      // several tables, or one of them several times
	"form",      // a clause or a form of the statement that is not split: WITH, UNION, QUALIFY, DISTINCT ON
	"subquery",  // a query inside of an expression
	"window",    // window functions
	"volatile",  // functions whose value differs from call to call
	"function",  // a function, an operator or a literal that is not known
	"aggregate", // an aggregate that cannot be made of parts
	"sort",      // all rows are sorted, or by what cannot be sent
	"names",     // ambiguous names
	"type",      // values that cannot be sent
	"refused",   // the engine refuses a statement that was made of it
}

// Split is a statement that was taken apart for several nodes.
type Split struct {
	// Table is the only table of the statement.
	Table TableName
	// Worker is what each node runs over its rows.
	Worker string
	// Final makes the answer of what Worker returns on all nodes; empty: the answers of the nodes, one after the
	// other, are the answer.
	Final string
	// Kind says how it was taken apart: aggregate, pairs, project, top, limit, distinct or rows.
	Kind string
	// Moment is what stands in Worker and Final in the place of now(): all nodes see one moment. Empty: nothing does.
	Moment string
	// Lasting means that the result depends on nothing but the statement and the columns of its table: At returns what
	// it is at another moment.
	Lasting bool
	// Counts means that Worker only returns the number of rows of the table, in a column CountColumn.
	Counts bool
	// Combine, if not nil, says how the answer can be made without Final.
	Combine *Combine
	// Best, if not nil, is a smaller statement for nodes, whose answers may do.
	Best *Best
	// Hashed, if not nil, says how the answer is made if the partial results of Worker are too large.
	Hashed *Hashed
	// Newest, if not nil, says how the answer can be made without Final.
	Newest *Newest
	// Explain is what stands in front of the statement: EXPLAIN with its options, or nothing. It is set in any case.
	Explain string
	// Reason, if not empty, says why the statement cannot be taken apart; the other fields are empty then.
	Reason string
	// Cause is the reason in a word, one of SplitCauses.
	Cause string
}

// Best describes a statement for the groups with the largest counts, taken apart: each node may return only its
// groups with the largest counts, and the answer is the same if these prove that no other group can be in it.
type Best struct {
	// Worker returns the Rows groups of a node that have the largest counts, in falling order.
	Worker string
	Rows   uint64
	// The first Groups columns of what nodes return are the groups, Count is the position of the counts.
	Groups, Count int
	// First is how many groups matter.
	First uint64
}

// Hashed describes a statement for the number of different values, taken apart so that hashes are sent in the place of
// the values. Values of different hashes are different: only those are sent whose hashes came several times.
type Hashed struct {
	// Hashes returns the hash of each different value of a node, and Probe once more than it is one of them. A node that
	// does not send Probe hashes in another way.
	Hashes string
	Probe  uint64
	// Before and After are the text around a list of hashes, in the statement for the different values of a node that
	// have these.
	Before, After string
	// Final makes the answer of one row with the number of values; that is what Worker would return of all rows.
	Worker, Final string
}

// Newest describes a statement for the first rows by the time index alone, taken apart: each node returns its
// first Offset + Limit rows, sorted.
type Newest struct {
	// Column is the position of the time index in what nodes return. The first Columns columns are the columns of the
	// answer.
	Column, Columns int
	// The answer is Limit rows behind the first Offset ones.
	Limit, Offset uint64
	Descending    bool
	// Before and After are the text around a literal of a time, in the statement for those rows of a node that are
	// not behind that time.
	Before, After string
}

// Compare compares two times by their order in the answer, as cmp.Compare does.
func (n *Newest) Compare(a, b arrow.Timestamp) int {
	if n.Descending {
		a, b = b, a
	}
	return cmp.Compare(a, b)
}

// CountColumn is the name of the column of Split.Worker if Split.Counts.
const CountColumn = "__a0"

// How says how the values that several nodes or segments have of a group become one.
type How uint8

const (
	// Apart leaves them as they are; the last step knows how to combine them.
	Apart How = iota
	// Sum adds the values up. Like Least and Greatest, it skips nulls.
	Sum
	// Least keeps the smallest value.
	Least
	// Greatest keeps the largest value.
	Greatest
)

// Combine describes a last step that combines values of groups, sorts the groups and returns the first ones.
type Combine struct {
	// The first Groups columns of the partials are the groups. How is of the columns behind them, and never Apart.
	Groups int
	How    []How
	// Columns are the positions of the columns of the answer in the partials, Names their names.
	Columns []int
	Names   []string
	Orders  []Order
	// The answer is Limit rows behind the first Offset ones; without Limited all behind these.
	Limited       bool
	Limit, Offset uint64
}

// Order is a column of partials by which rows are sorted.
type Order struct {
	Column                 int
	Descending, NullsFirst bool
}

// Moment returns a time as a statement that was taken apart has it in the place of now().
func Moment(t time.Time) string {
	return "CAST('" + t.UTC().Format("2006-01-02 15:04:05.999999") + "' AS TIMESTAMP)"
}

// At returns the statement as it is at a moment. s stays as it is.
func (s *Split) At(now time.Time) *Split {
	out := *s
	if s.Moment == "" {
		return &out
	}
	out.Moment = Moment(now)
	put := func(texts ...*string) {
		for _, t := range texts {
			*t = strings.ReplaceAll(*t, s.Moment, out.Moment)
		}
	}
	put(&out.Worker, &out.Final)
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
