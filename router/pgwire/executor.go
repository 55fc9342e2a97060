package pgwire

import (
	"errors"

	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/router/pgwire/rewrite"
	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

// executor runs the statements of a session, and sends their results. It has all parts of the session.
type executor struct {
	link       *link
	say        *answers
	metrics    *metrics
	session    *session
	runner     *runner
	translator *translator
	describer  *describer
	prepared   *preparedStore
	portals    *portals
	parked     *parked
	// signal ends the statement of another session, or the session.
	signal func(s rewrite.Signal) (done bool, err error)
}

// newExecutor returns the executor of a session.
func newExecutor(l *link, say *answers, s *session, r *runner, t *translator, waiting *cursors,
	held *parked,
) *executor {
	e := &executor{link: l, say: say, metrics: say.metrics, session: s, runner: r, translator: t, parked: held}
	e.portals = &portals{link: l, say: say, runner: r, waiting: waiting, parked: held, byName: map[string]*portal{}}
	e.prepared = newPreparedStore(e.portals.closeOf)
	t.prepared = e.prepared
	e.describer = &describer{session: s, translator: t, runner: r, sessionColumns: e.sessionColumns}
	return e
}

// answer sends the result of a statement.
func (e *executor) answer(out *outcome, formats []value.Format, described bool) error {
	switch {
	case out.empty:
		e.say.send(&pgproto3.EmptyQueryResponse{})
		return nil
	case out.copyOut != nil:
		return out.copyOut.send(e)
	case out.copyIn != nil:
		return out.copyIn.receive(e)
	case out.fetch != nil:
		return e.answerFetch(out, formats, described)
	case out.rows == nil:
		e.say.complete(out.tag, 0)
		return nil
	}
	cur := out.rows
	cur.formats = formats
	if described {
		e.say.send(describe(cur.columns, formats))
	}
	stop := e.link.reading(cur.x)
	n, _, err := cur.send(e.link.out, 0)
	stop()
	err = cur.end(err)
	e.runner.setCurrent(nil)
	if err != nil {
		return err
	}
	e.say.warnings(cur.warnings)
	e.say.complete(out.tag, n)
	return nil
}

// failStatement sends the error of a statement that starts at a byte offset in the client's text. A returned error ends
// the connection.
func (e *executor) failStatement(err error, at int, text string) error {
	told := *asError(err, nil)
	if errors.Is(err, errGone) || e.link.out.Err() != nil {
		return errGone
	}
	if told.Severity == "FATAL" {
		return &told
	}
	if told.Position > 0 {
		told.Position += characters(text, at) - 1
	}
	e.session.spoil()
	e.say.fail(&told)
	return nil
}

// run runs a statement without parameters.
func (e *executor) run(cmd *command) (*outcome, error) {
	e.metrics.statement(cmd.verb)
	if cmd.verb == "" {
		return &outcome{empty: true}, nil
	}
	if err := e.session.mayRun(cmd); err != nil {
		return nil, err
	}
	if err := cmd.checkLength(); err != nil {
		return nil, err
	}
	if cmd.session != nil {
		s := newScanner(cmd.text)
		s.at = 1
		return cmd.session(e, s)
	}
	return e.runStored(cmd)
}

// runStored rewrites a statement, and runs it by package query.
func (e *executor) runStored(cmd *command) (*outcome, error) {
	r, err := e.translator.rewritten(cmd.text)
	if err != nil {
		return nil, err
	}
	if cmd.verb != "EXPLAIN" {
		if r, err = e.administer(cmd, r); err != nil {
			return nil, err
		}
	}
	if err := e.session.applySets(r.Sets); err != nil {
		return nil, err
	}
	list, err := statement.Parse(r.Text)
	if err != nil {
		return nil, e.translator.placed(err, cmd, cmd.text)
	}
	return e.runParsed(cmd, list[0])
}

// runParsed runs a statement by package query.
func (e *executor) runParsed(cmd *command, st statement.Statement) (*outcome, error) {
	if !statement.OnlyReads(st) {
		if err := e.session.mayWrite(cmd.verb); err != nil {
			return nil, err
		}
		e.session.stored = true
	}
	switch st := st.(type) {
	case *statement.Insert:
		if err := e.readValues(st); err != nil {
			return nil, err
		}
	case *statement.AlterTable:
		if st.Add != nil {
			if err := checkTypes(*st.Add); err != nil {
				return nil, err
			}
		}
		if st.Drop != "" && e.session.state != outside {
			return nil, failure("25001", "ALTER TABLE … DROP COLUMN %s cannot run inside a transaction block, because "+
				"ROLLBACK could not bring back the values of the column", excerpt(st.Drop)).withHint("send the statement " +
				"outside of BEGIN and COMMIT. If a program sent it to synchronize its schema, see docs/postgresql.md")
		}
		define(st)
	case *statement.CreateTable:
		if err := checkTypes(st.Columns...); err != nil {
			return nil, err
		}
		if name := define(st); name != "" {
			e.say.notice(timeIndexChosen(name, st.Name.Table))
		}
	}
	if names := storedAsText(st); names != nil {
		e.say.notice(uuidsAreTexts(names))
	}
	req := e.runner.request()
	req.Statements, req.Texts = []statement.Statement{st}, []string{cmd.text}
	x := e.runner.execute(req)
	res, ok := e.runner.result(x)
	if ok && res.Rows != nil {
		cur, err := newCursor(x, res)
		if err == nil && cmd.verb == "EXPLAIN" {
			cur, err = e.explained(cmd, cur)
		}
		if err != nil {
			x.stop(err)
			e.runner.setCurrent(nil)
			return nil, err
		}
		text := cmd.text
		if _, insert := st.(*statement.Insert); insert {
			text = rewrite.Returning(text)
		}
		e.translator.refine(text, cur.columns)
		return &outcome{tag: tagOf(st, cmd.verb), rows: cur}, nil
	}
	err, cause := x.end()
	e.runner.setCurrent(nil)
	if err != nil {
		if cause != nil {
			return nil, asError(err, cause)
		}
		return nil, e.translator.placed(err, cmd, cmd.text)
	}
	e.say.warnings(res.Warnings)
	return done(countIn(tagOf(st, cmd.verb), res.AffectedRows)), nil
}
