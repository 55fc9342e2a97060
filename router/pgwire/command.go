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
	// empty says that there was no statement.
	empty bool
	// fetch is a cursor of which rows are sent.
	fetch    *portal
	fetching fetching
	// copyOut has rows sent as COPY does, copyIn has them read.
	copyOut *copyOut
	copyIn  *copyIn
}

// done is the outcome of a statement without rows.
func done(tag string) *outcome { return &outcome{tag: tag} }

// command is a statement, ready to be carried out.
type command struct {
	text string
	// verb is its first keyword in upper case; empty: there is no statement.
	verb string
	// session carries it out if it is about the session; nil: package query does.
	session func(c *conn, s *scanner) (*outcome, error)
	// always is set if it is carried out also in a transaction that has failed.
	always bool
}

// handlers carry out the statements that are about the session, by their first keyword. The keyword was read.
var handlers map[string]func(c *conn, s *scanner) (*outcome, error)

func init() { // not in its declaration, because some prepare others
	handlers = map[string]func(c *conn, s *scanner) (*outcome, error){
		"SET": runSet, "RESET": runReset, "SHOW": runShow, "DISCARD": runDiscard,
		"BEGIN": runBegin, "START": runStart, "COMMIT": runCommit, "END": runCommit, "ROLLBACK": runRollback,
		"ABORT": runRollback, "SAVEPOINT": runSavepoint, "RELEASE": runRelease,
		"LISTEN": taken("LISTEN"), "UNLISTEN": taken("UNLISTEN"), "NOTIFY": taken("NOTIFY"), "USE": runUse,
		"DEALLOCATE": runDeallocate, "PREPARE": runPrepare, "EXECUTE": runExecute,
		"DECLARE": runDeclare, "FETCH": runFetch, "MOVE": runMove, "CLOSE": runClose, "COPY": runCopy,
		"CREATE": nil, "DROP": nil,
	}
	for verb, why := range map[string]string{
		"LOCK": "nothing is locked", "VACUUM": "rows are compacted by themselves", "ANALYZE": "there are no statistics",
		"CHECKPOINT": "every row that was acknowledged is on disk", "REINDEX": "indexes are part of the files of rows",
		"COMMENT": "set the option comment of the table by ALTER TABLE … SET",
		"UPDATE":  "rows of a log are not changed in place", "MERGE": "rows of a log are not changed in place",
		"DO": "there are no procedures", "CALL": "there are no procedures",
		"GRANT": "rights are in the list of users", "REVOKE": "rights are in the list of users",
	} {
		handlers[verb] = refused(verb, why)
	}
}

// ours are the statements SHOW that package query carries out.
var ours = map[string]bool{
	"DATABASES": true, "SCHEMAS": true, "TABLES": true, "CREATE": true, "COLUMNS": true, "FIELDS": true, "FULL": true,
}

// newCommand returns the command of a text of one statement, or of none.
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
		if !s.end() && ours[strings.ToUpper(s.toks[1].Value)] {
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

// fits returns an error for a statement that is too long to be carried out.
func (cmd *command) fits() error {
	if len(cmd.text) > maxStatement && cmd.verb != "INSERT" {
		return failure("54000", "the statement has %d bytes with its values; %d are allowed", len(cmd.text), maxStatement)
	}
	return nil
}

// definition makes statements of PostgreSQL's words.
func (cmd *command) definition(s *scanner) {
	verb := cmd.verb
	switch {
	case s.accept("SCHEMA"):
		cmd.text = verb + " DATABASE " + s.rest()
	case s.accept("OR", "REPLACE") && s.acceptAny("VIEW", "FUNCTION", "PROCEDURE", "TEMP", "TEMPORARY", "TRIGGER") != "",
		s.acceptAny("TEMP", "TEMPORARY", "UNLOGGED", "INDEX", "UNIQUE", "VIEW", "MATERIALIZED", "FUNCTION", "EXTENSION",
			"TYPE", "DOMAIN", "SEQUENCE", "TRIGGER", "POLICY", "PUBLICATION", "SUBSCRIPTION", "PROCEDURE", "AGGREGATE") != "":
		cmd.session = refused(verb+" "+strings.ToUpper(s.toks[s.at-1].Value), "there is no such object here")
	case s.acceptAny("USER", "ROLE", "GROUP") != "":
		cmd.session = refused(verb+" "+strings.ToUpper(s.toks[s.at-1].Value), "users are in the list of users")
	}
}

// refused returns the handler of a statement that there is not, and why.
func refused(verb, why string) func(*conn, *scanner) (*outcome, error) {
	return func(*conn, *scanner) (*outcome, error) {
		return nil, unsupported("%s is not available: %s", verb, why)
	}
}

// taken returns the handler of a statement that needs nothing done.
func taken(tag string) func(*conn, *scanner) (*outcome, error) {
	return func(*conn, *scanner) (*outcome, error) { return done(tag), nil }
}

// tagOf returns the tag in CommandComplete for a statement of package query.
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
	}
	switch verb {
	case "EXPLAIN":
		return "EXPLAIN"
	case "SHOW", "DESC", "DESCRIBE":
		return "SHOW"
	}
	return "SELECT %d"
}
