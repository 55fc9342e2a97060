// Package syntax parses programs: it converts source text to a tree of nodes with positions. It does not know
// functions, kinds, or values other than literals.
//
// Parse is the only entry point. It always returns a tree of what it could parse, and a list of all errors.
package syntax

import (
	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/value"
)

// A Node is an expression of a program.
type Node interface {
	// Span is where the expression is in the source.
	Span() diag.Span
}

// At is the place of a node, embedded in all of them.
type At struct{ Place diag.Span }

// Span returns the place.
func (a At) Span() diag.Span { return a.Place }

// The nodes.
type (
	// Literal is a literal other than an array, an object or a template.
	Literal struct {
		At
		Value value.Value
	}
	// Template is a string with variables in it.
	Template struct {
		At
		Parts []Part
	}
	// Array is an array literal.
	Array struct {
		At
		Items []Node
	}
	// Object is an object literal.
	Object struct {
		At
		Keys   []string
		Values []Node
	}
	// Variable is a variable without a path.
	Variable struct {
		At
		Name string
	}
	// Query is a path: on the event, the metadata, a variable, or the result of Base.
	Query struct {
		At
		Root Root
		// Name is the variable's name, at NameSpan.
		Name     string
		NameSpan diag.Span
		Base     Node
		Path     value.Path
		// Segments are the positions of the path's segments.
		Segments []diag.Span
	}
	// Group is an expression in parentheses.
	Group struct {
		At
		Inner Node
	}
	// Block is expressions in braces.
	Block struct {
		At
		Body []Node
	}
	// If is a condition. Cond may be several expressions; the last one decides.
	If struct {
		At
		Cond     []Node
		CondSpan diag.Span
		Then     *Block
		Else     Node // *Block, *If or nil
	}
	// Binary is an operator with two operands.
	Binary struct {
		At
		Op          string
		OpSpan      diag.Span
		Left, Right Node
	}
	// Not is a negation.
	Not struct {
		At
		OpSpan diag.Span
		X      Node
	}
	// Assign is an assignment. Err is nil, except in `ok, err = …`. A target is a *Variable, a *Query or a *Noop.
	// Merge is set for |=.
	Assign struct {
		At
		OK, Err Node
		Merge   bool
		OpSpan  diag.Span
		Value   Node
	}
	// Noop is the target _, which discards the value.
	Noop struct{ At }
	// Call is a function call.
	Call struct {
		At
		Name     string
		NameSpan diag.Span
		Bang     bool // name!(…)
		BangSpan diag.Span
		Args     []Arg
		Closure  *Closure
	}
	// Abort ends the run. Message may be nil.
	Abort struct {
		At
		Message Node
	}
	// Return ends the run with a value.
	Return struct {
		At
		Value Node
	}
)

// Part is a part of a Template: a text or the name of a variable.
type Part struct {
	Text   string
	Name   string
	IsName bool
	Span   diag.Span
}

// Root is the start of a Query.
type Root uint8

// The roots.
const (
	Event Root = iota
	Meta
	Named
	Result
)

// Arg is an argument of a Call, with a keyword if Name is not empty.
type Arg struct {
	Name     string
	NameSpan diag.Span
	Value    Node
}

// Closure is the closure of a Call.
type Closure struct {
	Span   diag.Span
	Params []Param
	Body   *Block
}

// Param is a parameter of a Closure.
type Param struct {
	Name string
	Span diag.Span
}
