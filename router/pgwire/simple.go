package pgwire

import (
	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/router/pgwire/rewrite"
)

// simple runs the statements of a Query message up to the first that fails.
func (e *executor) simple(text string) error {
	e.portals.close("")
	e.prepared.forget("")
	pieces, err := rewrite.Split(text)
	switch {
	case err != nil:
		if ended := e.failStatement(failure("54000", "%s", err), 0, text); ended != nil {
			return ended
		}
	case len(pieces) == 0:
		e.say.send(&pgproto3.EmptyQueryResponse{})
	}
	for _, p := range pieces {
		if err := e.simpleStatement(p.Text); err != nil {
			if ended := e.failStatement(err, p.At, text); ended != nil {
				return ended
			}
			break
		}
	}
	if e.session.state == outside {
		e.portals.closeAll(false)
	}
	return nil
}

// simpleStatement runs a statement, and sends its result as text.
func (e *executor) simpleStatement(text string) error {
	out, err := e.run(newCommand(text))
	if err != nil {
		return err
	}
	return e.answer(out, nil, true)
}
