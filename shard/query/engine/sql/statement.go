package sql

import (
	"slices"
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/shard/query"
)

// MaxSQL is the maximum length of a statement in bytes. The syntax tree needs up to a hundred times
// as much memory.
const MaxSQL = 256 << 10

// Statement is a checked SELECT, with the positions of what has to be replaced in its text.
type Statement struct {
	// Explain is put before sql: EXPLAIN with its options, or nothing.
	Explain string
	// SQL is the SELECT. offset is its position in the text of the client.
	SQL    string
	offset int
	// client is the text of the client, without comments.
	client string
	// amended are the changes, in order, that turned the client's text into sql.
	amended [][]Edit
	// comment is where the first comment that starts with -- begins in the text of the client, or
	// -1.
	comment int
	// Limited means that the outermost SELECT has a LIMIT or OFFSET.
	Limited bool
	// Tables are the references to tables. columns are the references to columns that contain the
	// name of a table or database.
	Tables  []TableRef
	Columns []columnRef
	// Names are the tables, each listed once.
	Names []query.TableName
	// list is the outermost SELECT list.
	list []any
	// texts are further edits, which are the same for every run of the statement.
	texts []Edit
	// Searches are the calls of matches and matches_term.
	Searches []*SearchCall
	// Integers are the conditions whose integers may mean times.
	Integers []integerCondition
	// moments are the texts of times without a time zone. aliased are the expressions with an
	// alias.
	moments []momentUse
	aliased []Node
	// Words counts the texts of the syntax tree in lower case, including all names. Whole means that
	// the statement may read columns whose names it does not contain.
	Words map[string]int
	Whole bool
	// elsewhere are the texts that are neither parts of names of columns nor aliases. allColumns means
	// that every reference may read all columns. See reads.go.
	elsewhere  map[string]bool
	allColumns bool
}

// TableRef is the position of a table's name in the text.
type TableRef struct {
	Name query.TableName
	at   int // position in statement.sql
	// parts is the number of parts of the name: table, database.table, or cordwood.database.table.
	parts int
	// aliased means that the client gave it an alias. ambiguous means that the same FROM also has a
	// table with the same name from another database.
	aliased, ambiguous bool
	// Given is that alias.
	Given string
	// Conds are conditions that its rows in the answer meet; see where.go.
	Conds []condition
	// named has what the query with the reference names; see reads.go. It is nil if that is not known.
	named *named
}

// columnRef is the position of a column's name, perhaps with its database and table.
type columnRef struct {
	Path []string
	at   int
}

// clientPosition converts a position in st.sql to the position in the text of the client.
func (st *Statement) clientPosition(at int) int {
	for _, edits := range slices.Backward(st.amended) {
		at = PositionBefore(edits, at)
	}
	return at + st.offset
}

// cutShort matches the parser's error about a statement that ends too early.
var cutShort = lazyregexp.New(`without selection list|at end of input`)

// topN matches the beginning of a statement with TOP, by which other databases limit the rows.
var topN = lazyregexp.New(`(?i)^\s*SELECT\s+TOP\s*\(?\s*[0-9]`)

// limitPair matches the LIMIT of other databases that has the offset first.
var limitPair = lazyregexp.New(`(?i)\bLIMIT\s+[0-9]+\s*,`)

var symmetric = lazyregexp.New(`(?i)\bBETWEEN\s+SYMMETRIC\b`)

var pivot = lazyregexp.New(`(?i)\b(?:PIVOT|PIVOT_WIDER)\b`)

// ExplainsInText reports whether the statement is an EXPLAIN whose answer is text.
func (st *Statement) ExplainsInText() bool {
	return st.Explain != "" && !strings.Contains(strings.ToLower(st.Explain), "json")
}

// condition is an expression that is true for every row of a reference in the answer. alias is the
// name that qualifies the reference's columns. alone means that an unqualified name can only belong
// to this reference.
type condition struct {
	Expr  Node
	Alias string
	Alone bool
}

// momentUse is a condition or call that contains texts of times.
type momentUse struct {
	texts []momentLiteral
	// others are the other operands. certain means that the texts are times whatever the other
	// operands are.
	others  []any
	certain bool
	// call means that it is a call of a function, which may take a text there.
	call bool
}

type momentLiteral struct {
	at   int
	text string
}

// integerCondition is a comparison, BETWEEN or IN of a column and literal integers.
type integerCondition struct {
	At       int    // its position; -1 for NOT BETWEEN, which has no position in the tree
	Column   string // the last part of its name
	Literals []int  // their positions
}
