package pgwire

import (
	"errors"
	"slices"

	"cordwood/proto/errs"
	"cordwood/router/pgwire/rewrite"
	"cordwood/router/query/statement"
)

// maxOperands is the maximum number of operands of a statement whose types are found out, and maxProbed the number of
// bytes that are rewritten for them: long statements have fewer. More are refused, because digits would be lost.
const (
	maxOperands = 256
	maxProbed   = 4 << 20
)

// operandRounds is how often a statement is looked through for operands: the type of one may show that another matters.
const operandRounds = 2

// operands are the engine's types of the operands of a statement whose form depends on them, such as those of casts to
// numeric and to text, by the places of the casts.
type operands struct {
	text  string
	types map[int]string
}

// findOperands finds the types of operands. The engine is asked for one after another, because
// an operand may contain another cast. A type that the engine does not tell stays unknown.
func (t *translator) findOperands(text string, casts []int, s *rewrite.Session) error {
	if t.known.text == text && s.Operands == nil {
		s.Operands = t.known.types
		return nil
	}
	if most := min(maxOperands, 1+maxProbed/(len(text)+1)); len(casts) > most {
		return failure("54001", "the statement has %d operands whose types have to be looked up, and %d are allowed in a "+
			"statement of this length", len(casts), most).withHint("send shorter statements; casts " +
			"to numeric(38, n), with the digits after the point, need no look-up")
	}
	if s.Operands == nil {
		s.Operands = map[int]string{}
	}
	casts = slices.Sorted(slices.Values(casts))
	for asked := 0; len(casts) > 0 && asked < 2*maxOperands; asked++ {
		s.Probe = casts[0]
		probe, err := rewrite.Rewrite(text, s)
		if err != nil {
			break
		}
		if before := earlier(probe.Casts, casts[0]); before > 0 {
			casts = slices.Insert(casts, 0, before) // otherwise, the engine would refuse that operand first
			continue
		}
		s.Operands[casts[0]] = t.probe(probe.Text)
		casts = casts[1:]
	}
	s.Probe = 0
	t.known = operands{text, s.Operands}
	return nil
}

// earlier returns the first place before another one, or 0.
func earlier(casts []int, than int) int {
	if len(casts) > 0 && slices.Min(casts) < than {
		return slices.Min(casts)
	}
	return 0
}

// probe lets the engine describe a statement that it refuses, and returns the type in the error.
func (t *translator) probe(text string) string {
	_, err := t.runner.describe(queryIn(text), nil)
	var refused *errs.Error
	if !errors.As(err, &refused) {
		return ""
	}
	return rewrite.ProbedType(refused.Msg)
}

// queryIn returns the query of an INSERT with a query, or otherwise the text itself.
func queryIn(text string) string {
	if insert := insertIn(text); insert != nil && insert.Query != "" {
		return insert.Query
	}
	return text
}

// insertIn parses a text that may be an INSERT. It returns nil if it is something else.
func insertIn(text string) *statement.Insert {
	if newCommand(text).verb != "INSERT" {
		return nil
	}
	list, err := statement.Parse(text)
	if err != nil || len(list) != 1 {
		return nil
	}
	insert, _ := list[0].(*statement.Insert)
	return insert
}
