package fn

import (
	"fmt"
	"log/slog"
	"time"

	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/value"
)

// Expr is a compiled expression. It returns false if it failed or ended the run.
type Expr func(f *Frame) (value.Value, bool)

// A Call is a call as the function sees it at compile time.
type Call struct {
	// Func is the function that is called.
	Func *Function
	// Args has an argument for each parameter, whether or not it is given.
	Args []Arg
	// Body is what is known about the closure. It is set before Type is called.
	Body TypeDef
	// Host is where the program will run.
	Host *Host
	// Site is the number of the call. It is unique in the program.
	Site int
	// Place returns the index of a new place in Frame.Places. Compile calls it.
	Place func() int

	removed []Removal
}

// Arg is an argument of a call.
type Arg struct {
	// Given reports whether the program passes the argument.
	Given bool
	// Kind is the kind of the argument. If the argument is not given, Kind is the kind of the default, or undefined if
	// there is no default.
	Kind kind.Kind
	// Const is the value if Known is set. Known is set for literals, constant expressions and defaults.
	Const value.Value
	Known bool
	// Target is set if the argument is a path. Root is the kind of the value from which the path starts.
	Target *Target
	Root   kind.Kind
}

// Removal describes the removal of a path by a call, so that the compiler can update its knowledge of the event.
type Removal struct {
	Arg     int
	Compact bool
	// Certain is false if Compact is known only at run time.
	Certain bool
}

// Given reports whether the program passes the argument.
func (c *Call) Given(i int) bool { return c.Args[i].Given }

// Kind returns the kind of an argument.
func (c *Call) Kind(i int) kind.Kind { return c.Args[i].Kind }

// Const returns the value of an argument, or its default, if it is known at compile time.
func (c *Call) Const(i int) (value.Value, bool) { return c.Args[i].Const, c.Args[i].Known }

// Regex returns the regular expression of an argument, if it is known at compile time.
func (c *Call) Regex(i int) (*pattern.Regex, bool) {
	v, ok := c.Const(i)
	return v.Regex(), ok && v.Kind() == value.Regex
}

// Removes tells the compiler that the call removes a path. Type calls it.
func (c *Call) Removes(r Removal) { c.removed = append(c.removed, r) }

// Removals returns the removals passed to Removes.
func (c *Call) Removals() []Removal { return c.removed }

// Error is a failure of Compile.
type Error struct {
	// Code is the number of the diagnostic.
	Code int
	// Text is the message.
	Text string
	// Hint, if not empty, is advice.
	Hint string
	// Arg is the index of the wrong argument; -1 if the call as a whole is wrong.
	Arg int
}

func (e *Error) Error() string { return e.Text }

// NotConstant returns the error for an argument that must be known at compile time but is not.
func (c *Call) NotConstant(i int) error {
	return &Error{
		Code: 402, Arg: i, Text: fmt.Sprintf("expected static expression for argument %q", c.Func.Params[i].Name),
		Hint: "use a literal, or a variable that a literal was assigned to",
	}
}

// BadArgument returns the error for an argument whose value, known at compile time, is invalid.
func (c *Call) BadArgument(i int, format string, args ...any) error {
	return &Error{
		Code: 403,
		Arg:  i,
		Text: fmt.Sprintf("invalid argument %q: ", c.Func.Params[i].Name) + fmt.Sprintf(format, args...),
	}
}

// Invalid is like BadArgument, with a given diagnostic number, for example for an invalid grok pattern.
func (c *Call) Invalid(code, i int, format string, args ...any) error {
	return &Error{Code: code, Arg: i, Text: fmt.Sprintf(format, args...)}
}

// Host is the environment of a program. It is fixed at compile time.
type Host struct {
	// Zone is the time zone of times without an offset. It is never nil.
	Zone *time.Location
	// Grants are the permissions of programs.
	Grants Grant
	// Logger is the logger of the function log. It is never nil.
	Logger *slog.Logger
	// Now is the clock; never nil.
	Now func() time.Time

	patterns int // the total of KeepPattern
}

// KeepPattern counts the size of a pattern that a function keeps for the program being compiled. It returns an
// error if the total is too large.
func (h *Host) KeepPattern(size int) error {
	if h.patterns += size; h.patterns > pattern.MaxTotal {
		return pattern.ErrTotal
	}
	return nil
}

// PatternBytes estimates the memory of the patterns that the program keeps.
func (h *Host) PatternBytes() int { return h.patterns }

// CompilePattern calls compile, which compiles a pattern for the program and returns its size, unless the program
// has too many patterns already. Refused patterns count too, because it takes time to find that a pattern is too
// large.
func (h *Host) CompilePattern(compile func() (size int, err error)) error {
	if err := h.KeepPattern(0); err != nil {
		return err
	}
	size, err := compile()
	if err != nil {
		h.patterns += pattern.RefusedSize
		return err
	}
	return h.KeepPattern(size)
}

// Root is the start of a Target's path.
type Root uint8

// The roots.
const (
	Event Root = iota
	Meta
	Variable
	// Result is the value of an expression, for example in f(x).a.
	Result
)

// A Target is a path in a program.
type Target struct {
	Root Root
	// Slot is the slot of a variable.
	Slot int
	// Base is the expression if Root is Result.
	Base Expr
	// Path is the path from the root.
	Path value.Path
}

// Place returns where the root is stored; nil for Result.
func (t *Target) Place(f *Frame) *value.Value {
	switch t.Root {
	case Event:
		return f.Event
	case Meta:
		return f.Meta
	case Variable:
		return &f.Slots[t.Slot]
	}
	return nil
}

// Peek returns the value at the path for reading, and whether the path has a value. The last result is false if
// evaluating the base failed.
func (t *Target) Peek(f *Frame) (v value.Value, found, ok bool) {
	if p := t.Place(f); p != nil {
		v, found = p.Peek(t.Path)
		return v, found, true
	}
	if v, ok = t.Base(f); !ok {
		return v, false, false
	}
	v, found = v.Peek(t.Path)
	return v, found, true
}

// Body is the closure of a call at run time.
type Body struct {
	// Code is the code of its block. Params are the slots of its parameters, or -1 for unused ones.
	Code   Expr
	Params []int
	// Cost is the number of steps that are charged for each run.
	Cost int
}

// Call runs the closure. A return in it ends the closure and not the program. The values are assigned to the
// parameters in order. Containers among them must be shared (see package value).
func (b *Body) Call(f *Frame, args ...value.Value) (value.Value, bool) {
	if !f.Spend(b.Cost) {
		return value.Value{}, false
	}
	for i, slot := range b.Params {
		if slot >= 0 {
			f.Slots[slot] = args[i]
		}
	}
	v, ok := b.Code(f)
	if !ok && f.stop == Returned {
		f.stop = Running
		return f.fail.val, true
	}
	return v, ok
}
