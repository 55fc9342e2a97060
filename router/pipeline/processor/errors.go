package processor

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"cordwood/router/vrl/value"
)

// Error is the reason why a processor failed on a record.
type Error struct {
	// Processor and Position, in the list of the pipeline from 0, are set by the pipeline.
	Processor string
	Position  int
	// Field is the field that caused the failure; "" if there is no single field.
	Field string
	// Value is the value that caused the failure in JSON, shortened; "" if there is none.
	Value  string
	Reason string
	// Line is the line of the document that failed. The pipeline sets it, unless the processor knows it more exactly.
	Line int
	// Place is the position of the fault in the value, in bytes from 1, or 0 if it is unknown.
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

// Describe formats v for an error message: as JSON, shortened.
func Describe(v value.Value) string {
	if s := v.Str(); len(s) > 4*maxShown {
		v = value.NewString(s[:4*maxShown])
	} else if !v.IsString() && v.Len() > maxShown {
		return "(" + v.Kind().String() + " of " + strconv.Itoa(v.Len()) + " elements)"
	}
	return Cut(string(value.AppendJSON(nil, v)))
}

// maxShown limits the number of bytes of a value that a message quotes.
const maxShown = 64

// Cut shortens a client's text for an error message.
func Cut(s string) string { return cutTo(s, maxShown) }

func cutTo(s string, most int) string {
	if len(s) <= most {
		return strings.Clone(s)
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
