package sql

import (
	"strconv"
	"strings"

	"cordwood/proto/errs"
)

// pathFunctions take JSON paths after their first argument.
var pathFunctions = map[string]bool{
	"->>": true, "json_extract": true, "json_extract_path": true, "json_extract_string": true,
	"json_extract_path_text": true, "json_exists": true, "json_value": true, "json_type": true, "json_keys": true,
	"json_array_length": true, "json_each": true, "json_tree": true,
}

// paths edits the paths among the arguments of a function, if the function takes paths.
func (w *walker) paths(name string, n Node) error {
	args := Args(n)
	if !pathFunctions[name] {
		return nil
	}
	if name == "->>" && len(args) == 2 {
		return w.arrow(name, args[0], args[1])
	}
	if Text(n, "schema") == "" && len(args) > 0 { // otherwise it is called as value.function(path)
		args = args[1:]
	}
	for _, arg := range args {
		w.jsonPath(arg)
	}
	return nil
}

// lambdaKey is a key that marks a LAMBDA node as a lambda function. Other LAMBDA nodes are the
// arrow ->.
const lambdaKey = "lambda_function"

// markLambdas marks the lambda function among the arguments of a call.
func markLambdas(name string, n Node) {
	if !lambdaFunctions[name] {
		return
	}
	args, at := Args(n), 1
	if schema := Text(n, "schema"); schema != "" && schema != "main" {
		at = 0 // it is called as value.function(lambda)
	}
	if at < len(args) {
		markLambda(args[at])
	}
}

func markLambda(v any) {
	if n, _ := v.(Node); Text(n, "class") == "LAMBDA" {
		n[lambdaKey] = true
	}
}

func isLambda(n Node) bool { return n[lambdaKey] == true }

// arrow handles the operands of -> and ->>.
func (w *walker) arrow(operator string, left, right any) error {
	if err := w.castKey(operator, left, right); err != nil {
		return err
	}
	w.jsonPath(right)
	return nil
}

// castKey refuses data->>'n'::INT. It casts the key and not the value, because :: binds more
// tightly than the arrows.
func (w *walker) castKey(operator string, left, right any) error {
	n, _ := right.(Node)
	if Text(n, "class") != "CAST" {
		return nil
	}
	key, _ := n["child"].(Node)
	text, isText := TextLiteral(key)
	from, ok := Position(key)
	if _, err := strconv.Atoi(text); !isText || !ok || err == nil {
		return nil // '0'::INT selects an element of an array
	}
	kind, _ := n["cast_type"].(Node)
	if Text(kind, "id") == "VARCHAR" {
		return nil
	}
	end := SkipLiteral(w.st.SQL, from)
	literal := w.st.SQL[from:end]
	at := SkipSpace(w.st.SQL, end)
	if !strings.HasPrefix(w.st.SQL[at:], "::") {
		return nil // CAST('n' AS INT) is explicit
	}
	at = SkipSpace(w.st.SQL, at+2)
	_, stop := Word(w.st.SQL, at)
	of := "…"
	if ref, _ := left.(Node); Text(ref, "class") == "COLUMN_REF" {
		if start, ok := Position(ref); ok && start < from {
			of = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(w.st.SQL[start:from]), operator))
		}
	}
	to := w.st.SQL[at:stop]
	return errs.New(errs.InvalidArguments, "%s::%s casts the key, because :: binds more tightly than %s; "+
		"to cast the value, write (%s%s%s)::%s", excerpt(literal), to, operator, excerpt(of), operator, excerpt(literal), to)
}

// jsonPath removes the dot from paths such as $.[1], which DuckDB does not accept. It handles
// literals, lists of literals, and the branches of a CASE.
func (w *walker) jsonPath(v any) {
	n, _ := v.(Node)
	switch Text(n, "class") {
	case "FUNCTION":
		switch strings.ToLower(Text(n, "function_name")) {
		case "list_value", "array_value", "coalesce":
			for _, child := range Args(n) {
				w.jsonPath(child)
			}
		}
	case "OPERATOR":
		for _, child := range Args(n) {
			w.jsonPath(child)
		}
	case "CAST":
		w.jsonPath(n["child"])
	case "CASE":
		checks, _ := n["case_checks"].([]any)
		for _, check := range checks {
			check, _ := check.(Node)
			w.jsonPath(check["then_expr"])
		}
		w.jsonPath(n["else_expr"])
	case "CONSTANT":
		w.editPath(n)
	}
}

// editPath removes the dots before brackets from a literal that is a path.
func (w *walker) editPath(n Node) {
	path, isText := TextLiteral(n)
	from, ok := Position(n)
	if !isText || !ok || !strings.HasPrefix(path, "$") || !strings.Contains(path, ".[") {
		return
	}
	var b strings.Builder
	for k := 0; k < len(path); {
		end := k + 1
		if path[k] == '"' {
			end = max(skipQuoted(path, k), end)
		}
		if !strings.HasPrefix(path[k:], ".[") || path[k-1] == '.' {
			b.WriteString(path[k:end])
		}
		k = end
	}
	w.st.texts = append(w.st.texts, Edit{From: from, To: SkipLiteral(w.st.SQL, from), Text: QuoteText(b.String())})
}
