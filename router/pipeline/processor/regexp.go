package processor

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"

	"cordwood/router/pipeline/document"
)

// The limits of a regular expression, as text and compiled.
const (
	maxPatternBytes        = 16 << 10
	maxPatternInstructions = 20_000
)

// maxInstructions limits the number of instructions of all patterns of a pipeline.
const (
	maxInstructions = 250_000
	// BytesPerInstruction is the approximate memory of an instruction. It exists in two forms of the pattern, and in
	// the program of the quick matcher.
	BytesPerInstruction = 150
	// refusedInstructions is the number of instructions charged for a refused pattern or program.
	refusedInstructions = maxInstructions / 64
)

// affordable reports whether the patterns of a document, including one at n with the given number of instructions,
// are within the limit. It notes a fault for the first one that is not.
func affordable(n *document.Node, instructions int) bool {
	before := n.Spend(0)
	if before > maxInstructions {
		return false
	}
	if n.Spend(instructions) > maxInstructions {
		n.Fault("with this pattern, the patterns of the pipeline compile to more than %d instructions; use fewer or smaller "+
			"repetitions", maxInstructions)
		return false
	}
	return true
}

// CompileRegex compiles the RE2 pattern at n. Its size, and the size of all patterns of the document, are limited.
// If it has a fault, the fault is noted at n, and the result is nil.
func CompileRegex(n *document.Node, pattern string) *regexp.Regexp {
	if !affordable(n, 0) {
		return nil
	}
	if len(pattern) > maxPatternBytes {
		n.Fault("the pattern has %d bytes, at most %d are allowed", len(pattern), maxPatternBytes)
		return nil
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		n.Fault("invalid regular expression: %s", regexText(err))
		return nil
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		n.Fault("invalid regular expression: %s", regexText(err))
		return nil
	}
	if len(prog.Inst) > maxPatternInstructions {
		n.Spend(refusedInstructions)
		n.Fault("the pattern compiles to %d instructions, at most %d are allowed; use smaller repetitions", len(prog.Inst),
			maxPatternInstructions)
		return nil
	}
	if !affordable(n, len(prog.Inst)) {
		return nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		n.Fault("invalid regular expression: %s", regexText(err))
		return nil
	}
	return re
}

func regexText(err error) string {
	if e := (*syntax.Error)(nil); errors.As(err, &e) {
		s := e.Code.String() + ": " + Cut(e.Expr)
		if strings.HasPrefix(e.Expr, "(?=") || strings.HasPrefix(e.Expr, "(?!") || strings.HasPrefix(e.Expr, "(?<") {
			s += " (look-around is not supported)"
		}
		return s
	}
	return err.Error()
}
