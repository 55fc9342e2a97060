package sql

import (
	"strings"

	"cordwood/proto/errs"
)

// expression visits an expression of a class, and everything in it.
func (w *walker) expression(class string, n Node, s *scope) error {
	before := w.around
	defer func() { w.around = before }()
	if err := w.enter(class, n); err != nil {
		return err
	}
	if Text(n, "alias") != "" {
		w.st.aliased = append(w.st.aliased, n)
	}
	switch class {
	case "CONSTANT":
		return nil
	case "COLUMN_REF":
		if path, ok := n["column_names"].([]any); ok && len(path) > maxParts {
			return errs.New(errs.Unsupported, "a name with %d parts; at most %d are allowed", len(path), maxParts)
		}
		w.column(n)
		return w.walk(n["column_names"], s)
	}
	if err := w.check(class, n); err != nil {
		return err
	}
	return w.children(n, s)
}

// enter records what surrounds the expressions within n, and refuses n if it is too deep.
func (w *walker) enter(class string, n Node) error {
	w.expressions++
	if class != "FUNCTION" {
		w.notAt = -1
	}
	if at, ok := Position(n); ok && Text(n, "type") == "OPERATOR_NOT" {
		w.notAt = at
	}
	switch class {
	case "SUBQUERY":
		w.subqueries++
	case "LAMBDA":
		w.lambdas++
	}
	if w.expressions > MaxExpressionDepth || w.subqueries > MaxSubqueryDepth || w.lambdas > MaxLambdaDepth {
		return errTooDeep
	}
	return nil
}

// check examines a single expression: whether it is allowed in a statement, and whether its text
// has to be edited.
func (w *walker) check(class string, n Node) error {
	switch class {
	case "FUNCTION":
		return w.function(n)
	case "WINDOW":
		if err := w.window(n); err != nil {
			return err
		}
		return w.function(n)
	case "CASE":
		checks, _ := n["case_checks"].([]any)
		if w.cases += len(checks); w.cases > MaxCases {
			return errs.New(errs.Unsupported, "the statement has more than %d WHEN branches; join with a VALUES list instead",
				MaxCases)
		}
	case "LAMBDA":
		if isLambda(n) {
			return nil
		}
		return w.arrow("->", n["lhs"], n["expr"])
	case "STAR":
		markLambda(n["expr"])
	case "OPERATOR":
		if kind := Text(n, "type"); kind == "COMPARE_IN" || kind == "COMPARE_NOT_IN" {
			w.integers(n, Args(n)...)
			w.moments(false, Args(n)...)
		}
	case "COMPARISON":
		w.integers(n, n["left"], n["right"])
		w.moments(false, n["left"], n["right"])
	case "BETWEEN":
		w.integers(n, n["input"], n["lower"], n["upper"])
		w.moments(false, n["input"], n["lower"], n["upper"])
	case "CAST":
		w.castMoment(n)
	case "SUBQUERY", "CONJUNCTION", "LAMBDA_REF", "COLLATE", "POSITIONAL_REFERENCE", "TYPE":
	default:
		return errs.New(errs.Unsupported, "%s is not supported in an expression", class)
	}
	return nil
}

// window counts a function with a window.
func (w *walker) window(n Node) error {
	if w.windows++; w.windows > MaxWindows {
		return errs.New(errs.Unsupported, "the statement has more than %d window functions", MaxWindows)
	}
	partitions, _ := n["partitions"].([]any)
	orders, _ := n["orders"].([]any)
	if w.windowTerms += len(partitions) + len(orders); w.windowTerms > maxWindowTerms {
		return errs.New(errs.Unsupported,
			"the window functions of the statement have more than %d expressions in PARTITION BY and ORDER BY", maxWindowTerms)
	}
	return nil
}

// function checks a call of a function or operator.
func (w *walker) function(n Node) error {
	if n := len(Args(n)); n > MaxArguments {
		return errs.New(errs.Unsupported, "a function or list with %d arguments; at most %d are allowed", n, MaxArguments)
	}
	if n["filter"] != nil {
		if w.filters++; w.filters > maxFilters {
			return errs.New(errs.Unsupported, "the statement has more than %d aggregates with a FILTER", maxFilters)
		}
	}
	if err := w.call(n); err != nil {
		return err
	}
	w.moments(true, Args(n)...)
	name := strings.ToLower(Text(n, "function_name"))
	markLambdas(name, n)
	if err := w.paths(name, n); err != nil {
		return err
	}
	if likes[name] {
		if w.likes++; w.likes > MaxLikeDepth {
			return errs.New(errs.Unsupported, "LIKE, ILIKE and GLOB are nested in their operands more than %d levels deep",
				MaxLikeDepth)
		}
	}
	if nesting[name] {
		return w.nest()
	}
	return nil
}

// column records a reference to a column.
func (w *walker) column(n Node) {
	list, _ := n["column_names"].([]any)
	at, ok := Position(n)
	if len(list) == 0 || !ok {
		return
	}
	ref := columnRef{at: at}
	for _, p := range list {
		p, _ := p.(string)
		ref.Path = append(ref.Path, p)
	}
	w.st.Columns = append(w.st.Columns, ref)
}
