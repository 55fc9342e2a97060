// Package fn is what the compiler and the functions of the language's library know of
// each other: how a function describes itself, what it learns at compile time, and the
// Frame that it works in at run time.
//
// A Function is a value, made once and never changed. The library hands its functions
// over as a list (stdlib.All); there is no registration behind the scenes.
//
// # Life of a call
//
//  1. The compiler matches arguments with Params: names, number, kinds, constants and
//     enumerations. A function need not check any of that again.
//  2. Type says what kind the call results in and whether the function may fail. It may
//     be left out: then Returns and Fallible hold for every call.
//  3. Compile makes the call's run-time form, an Impl. It sees which arguments are
//     constant and does what can be done once: compile patterns, parse networks. It may
//     be left out: then Impl is used for every call.
//  4. At run time the Impl is called with the arguments. They are of the kinds that Params
//     promise: the compiler has put a check in front if that was not certain.
package fn

import (
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// A Function is a function of the language.
type Function struct {
	// Name is the name programs call it by.
	Name string
	// Group is the heading that the reference lists it under.
	Group Group
	// Doc says in a sentence or a few what the function does. The first sentence starts
	// with a verb in the third person: "Returns whether …".
	Doc string
	// Params are the parameters in positional order.
	Params []Param
	// Closure is set if the function takes a closure, which is then required.
	Closure *Closure
	// Returns is the kind of the result; Fallible says whether the function may fail
	// although its arguments are of the right kinds. See Type.
	Returns  kind.Kind
	Fallible bool
	// Errors says, a phrase each, when the function fails.
	Errors []string
	// Effect is set if a call does something besides resulting in a value, so that
	// dropping the value is not a mistake.
	Effect bool
	// Deep is set if the time of a call grows with all that is nested in its arguments,
	// as of encode_json. The compiler then charges the run's budget for their size.
	Deep bool
	// Needs is what the host must grant. Without it calls compile, and fail when run.
	Needs Grant
	// Examples are executed by a test and shown in the reference. At least one.
	Examples []Example

	// Type, if set, tells kind and fallibility of a call instead of Returns and Fallible.
	Type func(c *Call) TypeDef
	// Compile, if set, makes the run-time form of a call instead of Impl. The error is
	// one of those that NotConstant, BadArgument and the like make.
	Compile func(c *Call) (Impl, error)
	// Impl is the run-time form of every call, if Compile is not set.
	Impl Impl
}

// Group is a chapter of the library.
type Group string

// The groups, in the order of the reference.
const (
	Coerce       Group = "Coerce"
	Convert      Group = "Convert"
	Type         Group = "Type"
	Path         Group = "Path"
	String       Group = "String"
	Number       Group = "Number"
	Array        Group = "Array"
	Enumerate    Group = "Enumerate"
	Object       Group = "Object"
	Parse        Group = "Parse"
	Codec        Group = "Codec"
	Timestamp    Group = "Timestamp"
	IP           Group = "IP"
	Cryptography Group = "Cryptography"
	Checksum     Group = "Checksum"
	Random       Group = "Random"
	System       Group = "System"
	Debug        Group = "Debug"
	Map          Group = "Map"
)

// Groups lists all groups in order.
var Groups = []Group{
	Coerce, Convert, Type, Path, String, Number, Array, Enumerate, Object, Parse, Codec, Timestamp,
	IP, Cryptography, Checksum, Random, System, Debug, Map,
}

// A Param is a parameter of a function.
type Param struct {
	Name string
	// Doc says what it is for, in a sentence.
	Doc string
	// Kind is what arguments may be; kind.Any for anything.
	Kind kind.Kind
	// Optional parameters may be left out. The function then gets Default, or value.None
	// if that is null.
	Optional bool
	Default  value.Value
	// Constant is set if the argument must be known at compile time (E402 otherwise).
	Constant bool
	// Enum lists the values allowed, with their meanings. If the argument is constant
	// the compiler refuses others (E401).
	Enum []Enum
	// Target is set if the argument must be a path (E400 otherwise), as in del.
	Target bool
	// Borrow is set if the function only looks at the argument: neither it nor a part of
	// it will be in the result or be kept. It spares a copy when the event is changed
	// later. Without it, the containers that a function gets are marked as shared.
	Borrow bool
}

// An Enum is a value of an enumerated parameter.
type Enum struct{ Value, Doc string }

// An Example is a program and its result.
type Example struct {
	// Title says what the example shows.
	Title string
	// Source is the program.
	Source string
	// Event is the event that it runs on, as JSON; an empty object if empty.
	Event string
	// Result is the value of the program as JSON. Any is for results that differ each time.
	Result string
	Any    bool
	// Fails, if not empty, is a part of the error that the program ends in instead.
	Fails string
	// Needs is what the host must grant for the example to run.
	Needs Grant
}

// A Closure describes the closure that a function takes.
type Closure struct {
	// Params are the names and meanings of its parameters, for the reference.
	Params []Enum
	// Kinds returns the kinds of the parameters of a call's closure.
	Kinds func(c *Call) []kind.Kind
	// Result is what the closure must result in; kind.Any if that does not matter.
	Result kind.Kind
}

// TypeDef is what is known of an expression: the kind of its value, and whether it may fail.
type TypeDef struct {
	Kind     kind.Kind
	Fallible bool
}

// Impl is the run-time form of a call: exactly one of its functions is set. The number in a name
// says how many arguments the function gets: the arguments of the first parameters, in order. The
// others are used when the call is compiled. N gets all arguments. Arguments that were not given are
// the parameter's default or value.None.
//
// They return false after a failure, which the Frame holds (see Frame.Fail).
type Impl struct {
	F0 func(f *Frame) (value.Value, bool)
	F1 func(f *Frame, a value.Value) (value.Value, bool)
	F2 func(f *Frame, a, b value.Value) (value.Value, bool)
	F3 func(f *Frame, a, b, c value.Value) (value.Value, bool)
	// N gets a slice that it must not keep, but may change.
	N func(f *Frame, args []value.Value) (value.Value, bool)
	// Each is for functions with a closure.
	Each func(f *Frame, args []value.Value, body *Body) (value.Value, bool)
	// Raw gets no arguments: they are not evaluated. It is for functions of a Target.
	Raw func(f *Frame) (value.Value, bool)
}

// Grant is a set of things outside of the language that a host may let programs use.
type Grant uint8

// The grants. A host that grants nothing runs programs that can only compute.
const (
	Environment Grant = 1 << iota // environment variables, host name
	Network                       // DNS, HTTP
	Files                         // reading files when programs are compiled
)

// String names what is granted.
func (g Grant) String() string {
	switch g {
	case Environment:
		return "the environment"
	case Network:
		return "the network"
	case Files:
		return "files"
	}
	return "nothing"
}

// ValueParam returns the first parameter of most functions that read or write text.
func ValueParam(doc string) Param {
	return Param{Name: "value", Doc: doc, Kind: kind.String}
}

// Refuse returns the form of calls that need what the host does not grant.
func Refuse(what string, g Grant) Impl {
	return Impl{N: func(f *Frame, _ []value.Value) (value.Value, bool) {
		return f.Fail(what + " needs " + g.String() + ", which this server does not let programs use")
	}}
}
