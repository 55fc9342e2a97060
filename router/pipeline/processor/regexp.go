package processor

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"

	"cordwood/router/pipeline/document"
)

// The most that a regular expression may be, as text and compiled.
const (
	maxPatternBytes        = 16 << 10
	maxPatternInstructions = 20_000
)

// maxInstructions bounds the instructions of all patterns of a pipeline.
const (
	maxInstructions = 250_000
	// BytesPerInstruction is how much memory an instruction takes, about: it stands in two
	// forms of the pattern, and in the program of the quick matcher.
	BytesPerInstruction = 150
	// refusedInstructions is what a pattern or program counts as that is refused.
	refusedInstructions = maxInstructions / 64
)

// affordable reports whether the patterns of a document, with one more at n of so many
// instructions, are within bounds. It notes a fault at the first that is not.
func affordable(n *document.Node, instructions int) bool {
	before := n.Spend(0)
	if before > maxInstructions {
		return false
	}
	if n.Spend(instructions) > maxInstructions {
		n.Fault("with this pattern, those of the pipeline compile to more than %d instructions; use fewer, or smaller "+
			"repetitions", maxInstructions)
		return false
	}
	return true
}

// CompileRegex compiles an RE2 pattern that stands at n, of bounded size, also together
// with all others of the document. What is wrong
// with it is noted at n, and the result nil.
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
