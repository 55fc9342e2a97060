// Package fn is the interface between the compiler and the functions of the standard library: how a function
// describes itself, what it learns at compile time, and the Frame in which it runs.
//
// A Function is a value that is created once and never changed. The library exports its functions as a list
// (stdlib.All). No function registers itself.
//
// # Life of a call
//
//  1. The compiler assigns arguments to Params and checks their names, number, kinds, constants and enumerations. A
//     function need not check these again.
//  2. Type returns the kind of the result and whether the call may fail. If it is nil, Returns and Fallible apply.
//  3. Compile returns the run-time form of the call, an Impl. It knows which arguments are constant, and does
//     everything that can be done once, such as compiling patterns. If it is nil, Impl is used for every call.
//  4. At run time the Impl is called with the arguments. They have the kinds in Params, because the compiler adds a
//     check where that is not certain.
package fn

import (
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// A Function is a function of the language.
type Function struct {
	// Name is the name of the function in programs.
	Name string
	// Group is its heading in the reference.
	Group Group
	// Doc describes the function in a few sentences. The first sentence starts with a verb in the third person:
	// "Returns whether …".
	Doc string
	// Params are the parameters in positional order.
	Params []Param
	// Closure is set if the function requires a closure.
	Closure *Closure
	// Returns is the kind of the result. Fallible reports whether the function may fail although its arguments have
	// the right kinds. See Type.
	Returns  kind.Kind
	Fallible bool
	// Errors lists the causes of failure, each as a phrase.
	Errors []string
	// Asserts is set for functions that return their argument if it is of this kind, and otherwise fail as FailKind
	// does. The compiler checks the kind itself, without a call.
	Asserts value.Kind
	// Effect is set if a call does more than return a value, so that ignoring the value is not a mistake.
	Effect bool
	// Deep is set if the time of a call grows with everything nested in its arguments, for example for encode_json.
	// The compiler then charges the run's budget for their size.
	Deep bool
	// Needs is the permission that the host must grant. Without it, calls compile but fail at run time.
	Needs Grant
	// Examples are run by a test and shown in the reference. There must be at least one.
	Examples []Example

	// Type, if set, returns the kind and fallibility of a call. It replaces Returns and Fallible.
	Type func(c *Call) TypeDef
	// Compile, if set, returns the run-time form of a call. It replaces Impl. Its error is from NotConstant,
	// BadArgument or a similar function.
	Compile func(c *Call) (Impl, error)
	// Impl is the run-time form of every call, if Compile is not set.
	Impl Impl
	// Part, if set, returns the run-time form of a call of which the program uses only the part at s, as in
	// split(…)[0]. It returns the part, or null if there is none, and makes no container for the other parts. It
	// fails whenever the call fails, with the same text. Part returns false if the call has no such form.
	Part func(c *Call, s value.Segment) (Impl, bool)
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
	// Doc describes the parameter in a sentence.
	Doc string
	// Kind is the kind of arguments; kind.Any allows anything.
	Kind kind.Kind
	// Optional is set if the argument may be omitted. The function then gets Default, or value.None if that is null.
	Optional bool
	Default  value.Value
	// Constant is set if the argument must be known at compile time (E402 otherwise).
	Constant bool
	// Enum lists the allowed values with their meanings. If the argument is constant, the compiler refuses other
	// values (E401).
	Enum []Enum
	// Target is set if the argument must be a path (E400 otherwise), for example in del.
	Target bool
	// Borrow is set if the function only reads the argument: neither the argument nor a part of it is returned or
	// kept. This saves a copy when the event is changed later. If it is not set, containers in the argument are marked
	// as shared.
	Borrow bool
}

// An Enum is a value of an enumerated parameter.
type Enum struct{ Value, Doc string }

// An Example is a program and its result.
type Example struct {
	// Title describes what the example shows.
	Title string
	// Source is the program.
	Source string
	// Event is the event in JSON. If it is empty, the event is an empty object.
	Event string
	// Result is the value of the program in JSON. Any is for results that differ each time.
	Result string
	Any    bool
	// Fails, if not empty, is a part of the error with which the program ends.
	Fails string
	// Needs is what the host must grant for the example to run.
	Needs Grant
}

// A Closure describes the closure that a function takes.
type Closure struct {
	// Params are the names and meanings of the closure's parameters, for the reference.
	Params []Enum
	// Kinds returns the kinds of the parameters of a call's closure.
	Kinds func(c *Call) []kind.Kind
	// Result is the required kind of the closure's result; kind.Any allows anything.
	Result kind.Kind
}

// TypeDef is the static type of an expression: the kind of its value, and whether it may fail.
type TypeDef struct {
	Kind     kind.Kind
	Fallible bool
}

// Impl is the run-time form of a call. Exactly one of its functions is set. The number in a field's name says how
// many arguments the function gets: those of the first parameters, in order. The other arguments are used at
// compile time. N gets all arguments. An argument that is not given is the parameter's default or value.None.
//
// After a failure they return false, and the Frame has the failure (see Frame.Fail).
type Impl struct {
	F0 func(f *Frame) (value.Value, bool)
	F1 func(f *Frame, a value.Value) (value.Value, bool)
	F2 func(f *Frame, a, b value.Value) (value.Value, bool)
	F3 func(f *Frame, a, b, c value.Value) (value.Value, bool)
	// N gets a slice that it may change but must not keep.
	N func(f *Frame, args []value.Value) (value.Value, bool)
	// Each is for functions with a closure.
	Each func(f *Frame, args []value.Value, body *Body) (value.Value, bool)
	// Raw gets no arguments, because they are not evaluated. It is for functions with a Target.
	Raw func(f *Frame) (value.Value, bool)
}

// Grant is a set of permissions that a host may give to programs.
type Grant uint8

// The permissions. Without any of them, programs can only compute.
const (
	Environment Grant = 1 << iota // environment variables and host name
	Network                       // DNS, HTTP
	Files                         // reading files at compile time
)

// String returns the names of the permissions.
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

// ValueParam returns the first parameter of most functions for text.
func ValueParam(doc string) Param {
	return Param{Name: "value", Doc: doc, Kind: kind.String}
}

// Refuse returns the form of calls that need a permission that the host does not grant.
func Refuse(what string, g Grant) Impl {
	return Impl{N: func(f *Frame, _ []value.Value) (value.Value, bool) {
		return f.Fail(what + " needs " + g.String() + ", which this server does not let programs use")
	}}
}
