package pgwire

import (
	"strings"

	"cordwood/router/query/statement"
)

// outcome is the result of a statement.
type outcome struct {
	// tag is the command tag for CommandComplete; %d in it is the number of rows.
	tag string
	// rows are nil if the statement has none.
	rows *cursor
	// empty is true if the text has no statement.
	empty bool
	// fetch is the cursor whose rows are sent.
	fetch    *portal
	fetching fetching
	// copyOut sends rows by COPY. copyIn receives rows by COPY.
	copyOut *copyOut
	copyIn  *copyIn
}

// done is the outcome of a statement without rows.
func done(tag string) *outcome { return &outcome{tag: tag} }

// command is a statement that is ready to run.
type command struct {
	text string
	// verb is the first keyword in upper case. It is empty if there is no statement.
	verb string
	// session runs a statement about the session. If it is nil, package query runs the statement.
	session func(e *executor, s *scanner) (*outcome, error)
	// bound relates the text to that of a prepared statement; nil if the client sent the text itself.
	bound *binding
	// explaining has the options of EXPLAIN.
	explaining explaining
	// always is true if the statement may run in a failed transaction.
	always bool
}

// handlers run the statements about the session, by their first keyword. The scanner is after this keyword.
var handlers map[string]func(e *executor, s *scanner) (*outcome, error)

func init() { // not in the declaration: some handlers refer to handlers
	handlers = map[string]func(e *executor, s *scanner) (*outcome, error){
		"SET": runSet, "RESET": runReset, "SHOW": runShow, "DISCARD": runDiscard,
		"BEGIN": runBegin, "START": runStart, "COMMIT": runCommit, "END": runCommit, "ROLLBACK": runRollback,
		"ABORT": runRollback, "SAVEPOINT": runSavepoint, "RELEASE": runRelease,
		"UNLISTEN": accepted("UNLISTEN"), "USE": runUse,
		"DEALLOCATE": runDeallocate, "PREPARE": runPrepare, "EXECUTE": runExecute,
		"DECLARE": runDeclare, "FETCH": runFetch, "MOVE": runMove, "CLOSE": runClose, "COPY": runCopy,
		"EXPLAIN": runExplain, "CREATE": nil, "DROP": nil,
	}
	for verb, why := range map[string]string{
		"LISTEN": noNotifications, "NOTIFY": noNotifications,
		"LOCK": "nothing is locked", "VACUUM": "rows are compacted by themselves", "ANALYZE": "there are no statistics",
		"CHECKPOINT": "every row that was acknowledged is on disk", "REINDEX": "indexes are part of the files of rows",
		"COMMENT": "set the option comment of the table by ALTER TABLE … SET",
		"UPDATE":  "rows of a log are not changed in place", "MERGE": "rows of a log are not changed in place",
		"DO": "there are no procedures", "CALL": "there are no procedures",
	} {
		handlers[verb] = refused(verb, why)
	}
}

// queryShows are the SHOW statements that package query runs.
var queryShows = map[string]bool{
	"DATABASES": true, "SCHEMAS": true, "TABLES": true, "CREATE": true, "COLUMNS": true, "FIELDS": true, "FULL": true,
	"USERS": true, "ROLES": true, "GRANTS": true, "TOKENS": true, "QUOTAS": true,
	"ACCESS": true,
}

// newCommand returns the command for a text with at most one statement.
func newCommand(text string) *command {
	cmd := &command{text: text}
	s := newScanner(text)
	if s.end() {
		return cmd
	}
	if s.toks[0].Kind != statement.TokenWord {
		cmd.verb = "SELECT" // in parentheses
		return cmd
	}
	cmd.verb = strings.ToUpper(s.toks[0].Value)
	s.at = 1
	switch cmd.verb {
	case "SHOW":
		if !s.end() && queryShows[strings.ToUpper(s.toks[1].Value)] {
			return cmd
		}
	case "CREATE", "DROP":
		cmd.definition(s)
		return cmd
	case "ROLLBACK", "COMMIT", "END", "ABORT":
		cmd.always = true
	}
	cmd.session = handlers[cmd.verb]
	return cmd
}

// checkLength returns an error if the statement is too long.
func (cmd *command) checkLength() error {
	if len(cmd.text) > maxStatement && cmd.verb != "INSERT" {
		return failure("54000", "the statement has %d bytes with its values; %d are allowed", len(cmd.text), maxStatement)
	}
	return nil
}

// kindsRefused has the reasons why objects of a kind cannot be created, and what to do instead.
var kindsRefused = map[string]string{
	"TEMP": noTemporary, "TEMPORARY": noTemporary, "UNLOGGED": noTemporary,
	"VIEW": noViews, "MATERIALIZED": noViews, "INDEX": noIndexes, "UNIQUE": noIndexes,
}

const (
	noTemporary     = "all tables are permanent; use WITH name AS (SELECT …) in the query"
	noNotifications = "no notifications are sent; ask for new rows with a query"
	noViews         = "cordwood has no views; use WITH name AS (SELECT …) in the query"
	noIndexes       = "indexes are options of columns; use ALTER TABLE … MODIFY COLUMN … SET FULLTEXT INDEX (or SKIPPING)"
)

// definition handles CREATE and DROP of objects that only PostgreSQL has.
func (cmd *command) definition(s *scanner) {
	verb := cmd.verb
	switch {
	case s.accept("SCHEMA"):
		cmd.text = verb + " DATABASE " + s.rest()
	case s.accept("OR", "REPLACE") && s.acceptAny("VIEW", "FUNCTION", "PROCEDURE", "TEMP", "TEMPORARY", "TRIGGER") != "",
		s.acceptAny("TEMP", "TEMPORARY", "UNLOGGED", "INDEX", "UNIQUE", "VIEW", "MATERIALIZED", "FUNCTION", "EXTENSION",
			"TYPE", "DOMAIN", "SEQUENCE", "TRIGGER", "POLICY", "PUBLICATION", "SUBSCRIPTION", "PROCEDURE", "AGGREGATE") != "":
		what := strings.ToUpper(s.toks[s.at-1].Value)
		cmd.session = refused(verb+" "+what, orElse(kindsRefused[what], "cordwood has no objects of this kind"))
	case s.acceptAny("LOCAL", "GLOBAL") != "" && s.acceptAny("TEMP", "TEMPORARY") != "":
		cmd.session = refused(verb+" TEMPORARY", noTemporary)
	case s.accept("GROUP"):
		cmd.session = refused(verb+" GROUP", "use "+verb+" ROLE")
	}
}

// refused returns a handler that fails with the reason why the statement is not supported.
func refused(verb, why string) func(*executor, *scanner) (*outcome, error) {
	return func(*executor, *scanner) (*outcome, error) {
		text, hint, _ := strings.Cut(why, "; ")
		told := unsupported("%s is not available: %s", verb, text)
		told.Hint = hint
		return nil, told
	}
}

// accepted returns a handler that accepts a statement and does nothing.
func accepted(tag string) func(*executor, *scanner) (*outcome, error) {
	return func(*executor, *scanner) (*outcome, error) { return done(tag), nil }
}

// tagOf returns the command tag for a statement that package query runs.
func tagOf(st statement.Statement, verb string) string {
	switch st.(type) {
	case *statement.Insert:
		return "INSERT 0 %d"
	case *statement.Delete:
		return "DELETE %d"
	case *statement.CreateDatabase:
		return "CREATE DATABASE"
	case *statement.AlterDatabase:
		return "ALTER DATABASE"
	case *statement.DropDatabase:
		return "DROP DATABASE"
	case *statement.CreateTable:
		return "CREATE TABLE"
	case *statement.AlterTable:
		return "ALTER TABLE"
	case *statement.DropTable:
		return "DROP TABLE"
	case *statement.TruncateTable:
		return "TRUNCATE TABLE"
	case *statement.Kill:
		return "KILL %d"
	case *statement.CreateUser, *statement.CreateRole:
		return "CREATE ROLE"
	case *statement.AlterUser, *statement.AlterRole:
		return "ALTER ROLE"
	case *statement.DropPrincipal:
		return "DROP ROLE"
	case *statement.Grant, *statement.GrantRole:
		return verb
	}
	switch verb {
	case "EXPLAIN":
		return "EXPLAIN"
	case "SHOW", "DESC", "DESCRIBE":
		return "SHOW"
	}
	return "SELECT %d"
}
