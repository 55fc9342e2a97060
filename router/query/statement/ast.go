// Package statement parses the SQL statements that the router handles itself: statements that define and describe
// databases and tables, and small inserts. It splits a text into statements, finds those that the engine must run,
// and refuses statements that would let a client access the host.
//
// It does not know which databases and tables exist: names are as written,
// types and options are checked by the package that executes the statement. All functions
// are pure and safe for concurrent use.
package statement

import (
	"encoding/hex"

	"cordwood/proto/schema"
)

// Statement is one of the types of this package that have a method Rows.
type Statement interface {
	// Rows reports whether the statement returns rows. Other statements return a count.
	Rows() bool
}

// OnlyReads reports whether a statement changes nothing.
func OnlyReads(s Statement) bool {
	_, insert := s.(*Insert) // it may return rows
	return s.Rows() && !insert
}

// Name is a table's name as written. Database is empty if the name has no database.
type Name struct{ Database, Table string }

// Query is a statement for the engine, such as SELECT, WITH or EXPLAIN.
type Query struct{ Text string }

// ShowDatabases is the statement SHOW DATABASES [LIKE 'p'] [LIMIT n] [OFFSET n].
type ShowDatabases struct {
	Like *string
	Page Page
}

// ShowTables is the statement SHOW [FULL] TABLES [FROM d] [LIKE 'p'] [LIMIT n] [OFFSET n]. Database may
// be empty.
type ShowTables struct {
	Database string
	Like     *string
	Full     bool
	Page     Page
}

// Page is a part of a list.
type Page struct {
	// Limit is the most rows, if Limited is set.
	Limit   uint64
	Limited bool
	Offset  uint64
}

// ShowCreateTable is the statement SHOW CREATE TABLE t.
type ShowCreateTable struct{ Name Name }

// ShowCreateDatabase is the statement SHOW CREATE DATABASE d.
type ShowCreateDatabase struct{ Database string }

// DescribeQuery is the statement DESCRIBE of a SELECT, which is Text.
type DescribeQuery struct{ Text string }

// Kill is the statement KILL [QUERY] 'id'.
type Kill struct{ ID string }

// Describe is the statement DESCRIBE [TABLE] t, and SHOW COLUMNS FROM t.
type Describe struct{ Name Name }

// CreateDatabase is the statement CREATE DATABASE d.
type CreateDatabase struct {
	Database    string
	IfNotExists bool
	Options     []Option
}

// ShowQuotas is SHOW QUOTAS. Like is compared with the database.
type ShowQuotas struct {
	Like *string
	Page Page
}

// AlterDatabase is the statement ALTER DATABASE d SET or UNSET; exactly one of the lists is set.
type AlterDatabase struct {
	Database string
	Set      []Option
	Unset    []string
}

// DropDatabase is the statement DROP DATABASE d.
type DropDatabase struct {
	Database          string
	IfExists, Cascade bool
}

// Option is a key and a value of WITH or SET, as written.
type Option struct{ Key, Value string }

// ColumnDef is one column of CREATE TABLE or ADD COLUMN.
type ColumnDef struct {
	Name string
	// Type is the type as written, for example "TIMESTAMP(3)".
	Type string
	// Null is set for NULL, and NotNull for NOT NULL.
	Null, NotNull         bool
	Default               *Literal
	TimeIndex, PrimaryKey bool
	// Index is nil without one.
	Index *IndexDef
}

// IndexDef is an index clause of a column, for example FULLTEXT INDEX WITH (…).
type IndexDef struct {
	// Kind is the word before INDEX, as written.
	Kind    string
	Options []Option
}

// CreateTable is the statement CREATE TABLE. Its clauses are not yet checked against each other.
type CreateTable struct {
	Name        Name
	IfNotExists bool
	Columns     []ColumnDef
	// TimeIndex and PrimaryKey are the columns in these clauses.
	TimeIndex  []string
	PrimaryKey []string
	Options    []Option
}

// AlterTable is the statement ALTER TABLE with one change; exactly one of the others is set.
type AlterTable struct {
	Name           Name
	Add            *ColumnDef
	AddIfNotExists bool
	Drop           string
	DropIfExists   bool
	Set            []Option
	Unset          []string
	RenameTo       string
	// RenameColumn gets the name RenameColumnTo.
	RenameColumn   string
	RenameColumnTo string
	Modify         *ModifyColumn
}

// ModifyColumn is the change MODIFY COLUMN: one of Type, SetIndex and UnsetIndex is set.
type ModifyColumn struct {
	Name       string
	Type       string
	SetIndex   *IndexDef
	UnsetIndex string // its kind
}

// DropTable is the statement DROP TABLE t.
type DropTable struct {
	Name     Name
	IfExists bool
}

// TruncateTable is the statement TRUNCATE TABLE t.
type TruncateTable struct{ Name Name }

// Insert is the statement INSERT INTO t [AS alias] (columns) VALUES rows [ON CONFLICT …] [RETURNING …], or with a query
// in place of VALUES. If Columns is nil, the rows have a value for each column. If it is empty, they have none: DEFAULT
// VALUES.
type Insert struct {
	Name Name
	// Alias is another name of the table in Returning, or empty.
	Alias   string
	Columns []string
	Values  [][]Literal
	// Expressions are the values that are not literals, row by row.
	Expressions []Expression
	// Query is the text of the query whose rows are stored, or empty. QueryAt is its offset in the statement.
	Query   string
	QueryAt int
	// Conflict is nil without ON CONFLICT.
	Conflict *Conflict
	// Returning is the text of the list after RETURNING, or empty. ReturningAt is its offset in the statement.
	Returning   string
	ReturningAt int
}

// Expression is a value of INSERT … VALUES that the engine evaluates.
type Expression struct {
	// Row and Index are the place of its literal of the kind Computed in Values.
	Row, Index int
	// Text is the expression as written, and At its offset in the statement.
	Text string
	At   int
}

// Conflict is the clause ON CONFLICT of INSERT.
type Conflict struct {
	// Target has the columns of the key, and Constraint the name of it. If both are empty, any key is meant.
	Target     []string
	Constraint string
	// Set is nil for DO NOTHING. Otherwise it has the columns that are set to their new values: SET c = EXCLUDED.c.
	Set []string
}

// Delete is the statement DELETE FROM t WHERE condition.
type Delete struct {
	Name Name
	// Where is the condition as written. CheckCondition has accepted it.
	Where string
}

// LiteralKind is the kind of a literal.
type LiteralKind uint8

// The kinds of literal.
const (
	Null     LiteralKind = iota
	Default              // the word DEFAULT
	Bool                 // Text is "true" or "false"
	Number               // Text is the number, with its sign
	Text                 // Text is the decoded text
	Bytes                // Text holds the bytes of x'…'
	Now                  // now() or CURRENT_TIMESTAMP
	Computed             // the value of an expression
)

// Literal is a value as written in a statement.
type Literal struct {
	Kind LiteralKind
	Text string
}

// SQL returns the literal as it is written in a statement.
func (l Literal) SQL() string {
	switch l.Kind {
	case Null:
		return "NULL"
	case Default:
		return "DEFAULT"
	case Text:
		return schema.QuoteLiteral(l.Text)
	case Bytes:
		return "x'" + hex.EncodeToString([]byte(l.Text)) + "'"
	case Now:
		return "now()"
	}
	return l.Text
}

// Rows implements Statement.
func (*Query) Rows() bool { return true }

// SetTimeZone sets the zone of times without a zone in the following statements of the same text. An empty Zone is
// UTC.
type SetTimeZone struct{ Zone string }

// Rows implements Statement.
func (*SetTimeZone) Rows() bool { return false }

// Rows implements Statement.
func (*ShowDatabases) Rows() bool { return true }

// Rows implements Statement.
func (*ShowTables) Rows() bool { return true }

// Rows implements Statement.
func (*ShowCreateTable) Rows() bool { return true }

// Rows implements Statement.
func (*ShowCreateDatabase) Rows() bool { return true }

// Rows implements Statement.
func (*Describe) Rows() bool { return true }

// Rows implements Statement.
func (*DescribeQuery) Rows() bool { return true }

// Rows implements Statement.
func (*Kill) Rows() bool { return false }

// Rows implements Statement.
func (*CreateDatabase) Rows() bool { return false }

// Rows implements Statement.
func (*ShowQuotas) Rows() bool { return true }

// Rows implements Statement.
func (*AlterDatabase) Rows() bool { return false }

// Rows implements Statement.
func (*DropDatabase) Rows() bool { return false }

// Rows implements Statement.
func (*CreateTable) Rows() bool { return false }

// Rows implements Statement.
func (*AlterTable) Rows() bool { return false }

// Rows implements Statement.
func (*DropTable) Rows() bool { return false }

// Rows implements Statement.
func (*TruncateTable) Rows() bool { return false }

// Rows implements Statement.
func (s *Insert) Rows() bool { return s.Returning != "" }

// Rows implements Statement.
func (*Delete) Rows() bool { return false }
