package processor

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"cordwood/router/vrl/value"
)

// Error is why a processor failed on a record.
type Error struct {
	// Processor and Position, in the list of the pipeline from 0, are set by the pipeline.
	Processor string
	Position  int
	// Field is the field that it failed on; "" if it is none in particular.
	Field string
	// Value is the value that it failed on as JSON, cut; "" if there is none.
	Value  string
	Reason string
	// Line is the line of the document that failed, set by the pipeline if the processor does not know better.
	Line int
	// Place is the byte of the value at which it failed, from 1; 0: it is not known.
	Place int
}

func (e *Error) Error() string {
	var s strings.Builder
	s.WriteString("Processor " + e.Processor + ": " + e.Reason)
	if e.Value != "" {
		s.WriteString(": " + e.Value)
	}
	s.WriteString(" (")
	if e.Field != "" {
		s.WriteString("field " + strconv.Quote(Cut(e.Field)) + ", ")
	}
	s.WriteString("processors[" + strconv.Itoa(e.Position) + "])")
	return s.String()
}

// Located returns err as the error of a step at a position.
func Located(err error, step *Step, position int) error {
	e := (*Error)(nil)
	if !errors.As(err, &e) {
		return &Error{Processor: step.Name, Position: position, Reason: err.Error(), Line: step.Line}
	}
	c := *e
	c.Processor, c.Position, c.Line = step.Name, position, cmp.Or(c.Line, step.Line)
	return &c
}

// Describe is v for an error message: JSON, cut.
func Describe(v value.Value) string {
	if s := v.Str(); len(s) > 4*maxShown {
		v = value.NewString(s[:4*maxShown])
	} else if !v.IsString() && v.Len() > maxShown {
		return "(" + v.Kind().String() + " of " + strconv.Itoa(v.Len()) + " elements)"
	}
	return Cut(string(value.AppendJSON(nil, v)))
}

// maxShown bounds the bytes of a value that a message quotes.
const maxShown = 64

// Cut shortens client text for an error message.
func Cut(s string) string { return cutTo(s, maxShown) }

func cutTo(s string, most int) string {
	if len(s) <= most {
		return strings.Clone(s)
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
