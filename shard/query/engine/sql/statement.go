package sql

import (
	"regexp"
	"slices"
	"strings"

	"cordwood/shard/query"
)

// MaxSQL is the longest statement in bytes. The syntax tree takes up to a hundred
// times as much.
const MaxSQL = 256 << 10

// Statement is a checked SELECT and what has to be replaced in its text.
type Statement struct {
	// Explain goes in front of sql: EXPLAIN with its options, or nothing.
	Explain string
	// SQL is the SELECT; offset is where it began in the text of the client.
	SQL    string
	offset int
	// client is the text of the client, without comments.
	client string
	// amended are the changes, one after the other, that made sql of the client's text.
	amended [][]Edit
	// comment is where the first comment of the form -- begins in the text of the client, or -1.
	comment int
	// Limited means that the outermost SELECT has a LIMIT or OFFSET.
	Limited bool
	// Tables are the references to tables, columns those to columns by database.
	Tables  []TableRef
	Columns []columnRef
	// Names are the tables, each once.
	Names []query.TableName
	// list is the list of the outermost SELECT.
	list []any
	// texts are further places to be replaced, the same in every query.
	texts []Edit
	// Searches are the calls of matches and matches_term.
	Searches []*SearchCall
	// Integers are the conditions whose integers may be times.
	Integers []integerCondition
	// moments are where texts of times stand that name no zone, aliased the expressions with an alias.
	moments []momentUse
	aliased []Node
	// Words counts the texts of the syntax tree in lower case, all names among them; whole
	// means that the statement may read columns that it does not name.
	Words map[string]int
	Whole bool
}

// TableRef is a place in the text that names a table.
type TableRef struct {
	Name query.TableName
	at   int // in statement.sql
	// parts is how many parts the name has there: table, database.table, or cordwood.database.table.
	parts int
	// aliased means that the client gave it a name of its own there; ambiguous, that a
	// table of the same name in another database stands beside it.
	aliased, ambiguous bool
	// Given is that name.
	Given string
	// Conds are conditions that the rows it contributes meet; see where.go.
	Conds []condition
}

// columnRef is a place that names a column, perhaps by database and table as well.
type columnRef struct {
	Path []string
	at   int
}

// clientPosition returns where a position of st.sql is in the text of the client.
func (st *Statement) clientPosition(at int) int {
	for _, edits := range slices.Backward(st.amended) {
		at = PositionBefore(edits, at)
	}
	return at + st.offset
}

// cutShort matches what the parser says of a statement that ends where it should go on.
var cutShort = regexp.MustCompile(`without selection list|at end of input`)

// topN matches the beginning of a statement of other databases that limits its rows.
var topN = regexp.MustCompile(`(?i)^\s*SELECT\s+TOP\s*\(?\s*[0-9]`)

// limitPair matches the LIMIT of other databases with an offset in front.
var limitPair = regexp.MustCompile(`(?i)\bLIMIT\s+[0-9]+\s*,`)

var pivot = regexp.MustCompile(`(?i)\b(?:PIVOT|PIVOT_WIDER)\b`)

// ExplainsInText reports whether the statement is an EXPLAIN whose answer is text.
func (st *Statement) ExplainsInText() bool {
	return st.Explain != "" && !strings.Contains(strings.ToLower(st.Explain), "json")
}

// condition is an expression that is true for every row that a reference contributes to
// the answer. alias is the name by which the reference's columns are qualified; alone
// means that names without one can only be the reference's.
type condition struct {
	Expr  Node
	Alias string
	Alone bool
}

// momentUse is a condition or call that has such texts.
type momentUse struct {
	texts []momentLiteral
	// others are what stands beside them; certain means that they are times whatever that is.
	others  []any
	certain bool
	// call means that it is a call of a function, which may want a text there.
	call bool
}

type momentLiteral struct {
	at   int
	text string
}

// integerCondition is a comparison, BETWEEN or IN of a column and literal integers.
type integerCondition struct {
	At       int    // its position; -1 for NOT BETWEEN, which the engine gives none
	Column   string // the last part of its name
	Literals []int  // their positions
}
