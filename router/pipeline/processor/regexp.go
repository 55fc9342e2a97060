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

// CompileRegex compiles an RE2 pattern that stands at n, of bounded size. What is wrong
// with it is noted at n, and the result nil.
func CompileRegex(n *document.Node, pattern string) *regexp.Regexp {
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
		n.Fault("the pattern compiles to %d instructions, at most %d are allowed; use smaller repetitions", len(prog.Inst), maxPatternInstructions)
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
