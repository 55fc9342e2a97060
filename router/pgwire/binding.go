package pgwire

import (
	"errors"

	"cordwood/router/pgwire/rewrite"
)

// binding relates the text of a command with values to the text of its prepared statement.
type binding struct {
	source string
	places []rewrite.Place
	sizes  []int // of the values, by the numbers of their parameters from 1
}

// bindingOf returns the binding of values to a statement.
func bindingOf(source string, places []rewrite.Place, values []string) *binding {
	b := &binding{source: source, places: places, sizes: make([]int, len(values))}
	for i, v := range values {
		b.sizes[i] = len(v)
	}
	return b
}

// origin converts an offset in the text with values to an offset in the prepared statement. Within a value, it is the
// offset of the parameter.
func (b *binding) origin(at int) int {
	moved := 0 // by how much the values before are longer than their parameters
	for _, p := range b.places {
		from := p.From + moved
		to := from + b.sizes[p.Number-1]
		switch {
		case at < from:
			return at - moved
		case at < to:
			return p.From
		}
		moved += to - from - (p.To - p.From)
	}
	return at - moved
}

// inSource converts the position in an error about the command's text to the position in the client's text.
func (cmd *command) inSource(err error) error {
	e := (*Error)(nil)
	if cmd.bound == nil || !errors.As(err, &e) || e.Position == 0 {
		return err
	}
	moved := *e
	moved.Position = characters(cmd.bound.source, cmd.bound.origin(offsetOfCharacter(cmd.text, e.Position)))
	return &moved
}

// offsetOfCharacter converts a position in characters from 1 to a byte offset.
func offsetOfCharacter(text string, position int) int {
	for at := range text {
		if position--; position == 0 {
			return at
		}
	}
	return len(text)
}
