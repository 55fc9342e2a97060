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

// A Call is a call as the compiler shows it to the function.
type Call struct {
	// Func is the function that is called.
	Func *Function
	// Args are the arguments, one for each parameter, whether given or not.
	Args []Arg
	// Body is what is known of the closure; it is set before Type is called.
	Body TypeDef
	// Host is where the program will run.
	Host *Host
	// Site is a number that no other call of the program has.
	Site int

	removed []Removal
}

// Arg is an argument of a call.
type Arg struct {
	// Given reports whether the program gives the argument.
	Given bool
	// Kind is its kind: of the default if it is not given, undefined if there is none.
	Kind kind.Kind
	// Const is its value if Known, which is so for literals, constant expressions and
	// defaults.
	Const value.Value
	Known bool
	// Target is set if the argument is a path, Root to the kind of what the path starts from.
	Target *Target
	Root   kind.Kind
}

// Removal means that a call removes a path, for the compiler's knowledge of the event.
type Removal struct {
	Arg     int
	Compact bool
	// Certain is false if Compact is only known at run time.
	Certain bool
}

// Given reports whether the program gives the argument.
func (c *Call) Given(i int) bool { return c.Args[i].Given }

// Kind returns the kind of an argument.
func (c *Call) Kind(i int) kind.Kind { return c.Args[i].Kind }

// Const returns the value of an argument that is known at compile time, defaults
// included.
func (c *Call) Const(i int) (value.Value, bool) { return c.Args[i].Const, c.Args[i].Known }

// Regex returns the regular expression that an argument is, if known at compile time.
func (c *Call) Regex(i int) (*pattern.Regex, bool) {
	v, ok := c.Const(i)
	return v.Regex(), ok && v.Kind() == value.Regex
}

// Removes is called by Type if the call removes the path that an argument is.
func (c *Call) Removes(r Removal) { c.removed = append(c.removed, r) }

// Removals returns what Removes was called with.
func (c *Call) Removals() []Removal { return c.removed }

// Error is a failure of Compile.
type Error struct {
	// Code is the diagnostic's number.
	Code int
	// Text is the message.
	Text string
	// Hint, if not empty, says what to do.
	Hint string
	// Arg is the argument at fault; -1 if it is the call as a whole.
	Arg int
}

func (e *Error) Error() string { return e.Text }

// NotConstant says that an argument is not known at compile time, but must be.
func (c *Call) NotConstant(i int) error {
	return &Error{
		Code: 402, Arg: i, Text: fmt.Sprintf("expected static expression for argument %q", c.Func.Params[i].Name),
		Hint: "use a literal, or a variable that a literal was assigned to",
	}
}

// BadArgument says that the value of an argument, known at compile time, is not valid.
func (c *Call) BadArgument(i int, format string, args ...any) error {
	return &Error{
		Code: 403,
		Arg:  i,
		Text: fmt.Sprintf("invalid argument %q: ", c.Func.Params[i].Name) + fmt.Sprintf(format, args...),
	}
}

// Invalid is BadArgument with the diagnostic's number given, as of an invalid grok pattern.
func (c *Call) Invalid(code, i int, format string, args ...any) error {
	return &Error{Code: code, Arg: i, Text: fmt.Sprintf(format, args...)}
}

// Host is what a program runs in: it is fixed when the program is compiled.
type Host struct {
	// Zone is the zone of times without an offset; never nil.
	Zone *time.Location
	// Grants is what programs may use.
	Grants Grant
	// Logger is what the function log writes to; never nil.
	Logger *slog.Logger
	// Now is the clock; never nil.
	Now func() time.Time

	patterns int // what KeepPattern was told
}

// KeepPattern counts the size of a pattern that a function keeps for the program, which
// is being compiled. The error says that all of them are too much.
func (h *Host) KeepPattern(size int) error {
	if h.patterns += size; h.patterns > pattern.MaxTotal {
		return pattern.ErrTotal
	}
	return nil
}

// PatternBytes estimates how much memory the patterns take that the program keeps.
func (h *Host) PatternBytes() int { return h.patterns }

// CompilePattern calls compile, which makes a pattern for the program and returns its size,
// unless the program has too many already. Patterns that are refused count too: finding out
// that one is too large takes time.
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

// Root is what the path of a Target starts from.
type Root uint8

// The roots.
const (
	Event Root = iota
	Meta
	Variable
	// Result is the value of an expression, as in f(x).a.
	Result
)

// A Target is a path in a program.
type Target struct {
	Root Root
	// Slot is where a variable is held.
	Slot int
	// Base is the expression of Result.
	Base Expr
	// Path leads on from the root.
	Path value.Path
}

// Place returns where the root is held; nil for Result.
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

// Peek returns the value at the path, to look at, and whether there is one. The last
// result is false if evaluating the base failed.
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
	// Code is its block; Params are the slots of its parameters, -1 for those not used.
	Code   Expr
	Params []int
	// Cost is what a run of it takes off the budget.
	Cost int
}

// Call runs the closure; return in it ends it, and not the program. The values are given to the parameters in order;
// containers among them must be shared (see package value).
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
