package pgwire

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/router/pgwire/rewrite"
	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

// simple runs the statements of a Query message up to the first that fails.
func (c *conn) simple(text string) error {
	c.closePortal("")
	c.forget("")
	pieces, err := rewrite.Split(text)
	switch {
	case err != nil:
		if ended := c.failStatement(failure("54000", "%s", err), 0, text); ended != nil {
			return ended
		}
	case len(pieces) == 0:
		c.out.Send(&pgproto3.EmptyQueryResponse{})
	}
	for _, p := range pieces {
		if err := c.simpleStatement(p.Text); err != nil {
			if ended := c.failStatement(err, p.At, text); ended != nil {
				return ended
			}
			break
		}
	}
	if c.session.state == outside {
		c.closePortals(false)
	}
	c.ready()
	return nil
}

// simpleStatement runs a statement, and sends its result as text.
func (c *conn) simpleStatement(text string) error {
	out, err := c.run(newCommand(text))
	if err != nil {
		return err
	}
	return c.answer(out, nil, true)
}

// answer sends the result of a statement.
func (c *conn) answer(out *outcome, formats []value.Format, described bool) error {
	switch {
	case out.empty:
		c.out.Send(&pgproto3.EmptyQueryResponse{})
		return nil
	case out.copyOut != nil:
		return out.copyOut.send(c)
	case out.copyIn != nil:
		return out.copyIn.receive(c)
	case out.fetch != nil:
		return c.answerFetch(out, formats, described)
	case out.rows == nil:
		c.complete(out.tag, 0)
		return nil
	}
	cur := out.rows
	cur.formats = formats
	if described {
		c.out.Send(describe(cur.columns, formats))
	}
	stop := c.reading(cur.x)
	n, _, err := cur.send(c.out, 0)
	stop()
	if err = cur.end(err); err != nil {
		return err
	}
	c.tellPartial(cur)
	c.complete(out.tag, n)
	return nil
}

// tellPartial sends a warning for each part that is missing from the rows.
func (c *conn) tellPartial(cur *cursor) {
	for _, what := range cur.partial {
		c.notice(warning("01000", "%s", what))
	}
}

// complete sends CommandComplete.
func (c *conn) complete(tag string, n int64) {
	if strings.Contains(tag, "%d") {
		tag = fmt.Sprintf(tag, n)
	}
	c.out.Send(&pgproto3.CommandComplete{CommandTag: []byte(tag)})
}

// failStatement sends the error of a statement that starts at a byte offset in the client's text. A returned error ends
// the connection.
func (c *conn) failStatement(err error, at int, text string) error {
	e := *asError(err, nil)
	if errors.Is(err, errGone) || c.out.Err() != nil {
		return errGone
	}
	if e.Severity == "FATAL" {
		return &e
	}
	if e.Position > 0 {
		e.Position += characters(text, at) - 1
	}
	c.session.spoil()
	c.fail(&e)
	return nil
}

// run runs a statement without parameters.
func (c *conn) run(cmd *command) (*outcome, error) {
	c.srv.metrics.statement(cmd.verb)
	if cmd.verb == "" {
		return &outcome{empty: true}, nil
	}
	if err := c.mayRun(cmd); err != nil {
		return nil, err
	}
	if err := cmd.checkLength(); err != nil {
		return nil, err
	}
	if cmd.session != nil {
		s := newScanner(cmd.text)
		s.at = 1
		return cmd.session(c, s)
	}
	r, err := c.rewritten(cmd.text)
	if err != nil {
		return nil, err
	}
	if err := c.applySets(r.Sets); err != nil {
		return nil, err
	}
	list, err := statement.Parse(r.Text)
	if err != nil {
		return nil, c.placed(err, cmd, cmd.text)
	}
	return c.runParsed(cmd, list[0])
}

// runParsed runs a statement by package query.
func (c *conn) runParsed(cmd *command, st statement.Statement) (*outcome, error) {
	if !st.Rows() {
		if err := c.session.mayWrite(cmd.verb); err != nil {
			return nil, err
		}
		c.session.stored = true
	}
	switch st := st.(type) {
	case *statement.Insert:
		if err := c.readBytes(st); err != nil {
			return nil, err
		}
	case *statement.CreateTable:
		c.chooseTimeIndex(st)
	}
	req := c.request()
	req.Statements, req.Texts = []statement.Statement{st}, []string{cmd.text}
	x := c.execute(req)
	res, ok := c.result(x)
	if ok && res.Rows != nil {
		cur, err := newCursor(x, res)
		if err == nil && cmd.verb == "EXPLAIN" {
			cur, err = explained(cur)
		}
		if err != nil {
			x.stop(err)
			c.setCurrent(nil)
			return nil, err
		}
		c.refine(cmd.text, cur.columns)
		return &outcome{tag: tagOf(st, cmd.verb), rows: cur}, nil
	}
	err, cause := x.end()
	c.setCurrent(nil)
	if err != nil {
		if cause != nil {
			return nil, asError(err, cause)
		}
		return nil, c.placed(err, cmd, cmd.text)
	}
	for _, w := range res.Warnings {
		c.notice(warning("01000", "%s", w))
	}
	return done(countIn(tagOf(st, cmd.verb), res.AffectedRows)), nil
}

// countIn inserts a number of rows into a tag.
func countIn(tag string, n int64) string {
	if strings.Contains(tag, "%d") {
		return fmt.Sprintf(tag, n)
	}
	return tag
}
