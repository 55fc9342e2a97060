package logquery

import (
	"encoding/json"
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/proto/schema"
)

// expr is an expression as SQL.
type expr struct {
	sql    string
	column string // the column, if the expression is only a column; otherwise ""
	alias  string
	// aggregate is set if it is an aggregate. by are the groups of its rows.
	aggregate bool
	by        []string
}

// named returns the expression as an item of a select list.
func (e *expr) named() string {
	if e.alias == "" {
		return e.sql
	}
	return e.sql + " AS " + schema.QuoteIdent(e.alias)
}

// functionName is the form of names of functions.
var functionName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)

// operators has the SQL operator for each binary operator of the reference, by its name or sign.
var operators = map[string]string{
	"Eq": "=", "NotEq": "<>", "Ne": "<>", "Lt": "<", "LtEq": "<=", "Le": "<=", "Gt": ">", "GtEq": ">=", "Ge": ">=",
	"Plus": "+", "Minus": "-", "Multiply": "*", "Divide": "/", "Modulo": "%", "And": "AND", "Or": "OR",
	"=": "=", "!=": "<>", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "+": "+", "-": "-", "*": "*", "/": "/",
	"%": "%",
}

// expr reads an expression.
func (c *compiler) expr(text []byte, depth int) (expr, error) {
	if err := c.enter(depth); err != nil {
		return expr{}, err
	}
	name, value, err := variant("an expression", text)
	if err != nil {
		return expr{}, err
	}
	switch name {
	case "NamedIdent":
		var column string
		if err := json.Unmarshal(value, &column); err != nil {
			return expr{}, invalid("the value of NamedIdent must be the name of a column: %s", clip(string(value)))
		}
		sql, err := c.column(column)
		return expr{sql: sql, column: column}, err
	case "Literal":
		sql, err := scalar(value)
		return expr{sql: sql}, err
	case "ScalarFunc", "AggrFunc":
		return c.function(name, value, depth)
	case "Alias":
		return c.alias(value, depth)
	case "BinaryOp":
		return c.binary(value, depth)
	case "PositionalIdent", "Decompose", "Filter":
		return expr{}, unsupported("the expression %s is not supported: use SQL with /v1/sql", name)
	}
	return expr{}, invalid("an expression must be NamedIdent, Literal, ScalarFunc, AggrFunc, Alias or BinaryOp, "+
		"not %q", clip(name))
}

// function reads a call of a function.
func (c *compiler) function(kind string, value json.RawMessage, depth int) (expr, error) {
	var f struct {
		Name  string            `json:"name"`
		Args  []json.RawMessage `json:"args"`
		By    []json.RawMessage `json:"by"`
		Alias *string           `json:"alias"`
	}
	if err := decode(value, &f); err != nil {
		return expr{}, invalid("%s has the members name, args, by and alias: %v", kind, err)
	}
	if !functionName.MatchString(f.Name) {
		return expr{}, invalid("the name in %s is not a valid function name: %q", kind, clip(f.Name))
	}
	out := expr{aggregate: kind == "AggrFunc"}
	if !out.aggregate && len(f.By) > 0 {
		return expr{}, invalid("ScalarFunc has no member by; only AggrFunc has")
	}
	args, err := c.list(f.Args, depth)
	if err != nil {
		return expr{}, err
	}
	if out.by, err = c.list(f.By, depth); err != nil {
		return expr{}, err
	}
	call := strings.Join(args, ", ")
	if call == "" && out.aggregate && strings.EqualFold(f.Name, "count") {
		call = "*"
	}
	out.sql = f.Name + "(" + call + ")"
	if f.Alias != nil {
		out.alias = *f.Alias
	}
	return out, checkAlias(out.alias)
}

// list reads expressions of single rows.
func (c *compiler) list(texts []json.RawMessage, depth int) ([]string, error) {
	var out []string
	for _, text := range texts {
		e, err := c.expr(text, depth+1)
		if err != nil {
			return nil, err
		}
		if e.aggregate {
			return nil, invalid("an AggrFunc cannot be inside another function or by")
		}
		out = append(out, e.sql)
	}
	return out, nil
}

func (c *compiler) alias(value json.RawMessage, depth int) (expr, error) {
	var a struct {
		Expr  json.RawMessage `json:"expr"`
		Alias string          `json:"alias"`
	}
	if err := decode(value, &a); err != nil || a.Expr == nil || a.Alias == "" {
		return expr{}, invalid("Alias has the members expr and alias: %s", clip(string(value)))
	}
	e, err := c.expr(a.Expr, depth+1)
	if err != nil {
		return expr{}, err
	}
	e.alias = a.Alias
	return e, checkAlias(e.alias)
}

// checkAlias refuses names that no column may have.
func checkAlias(alias string) error {
	if alias == "" {
		return nil
	}
	return schema.CheckColumnName(alias)
}

func (c *compiler) binary(value json.RawMessage, depth int) (expr, error) {
	var b struct {
		Left  json.RawMessage `json:"left"`
		Op    string          `json:"op"`
		Right json.RawMessage `json:"right"`
	}
	if err := decode(value, &b); err != nil || b.Left == nil || b.Right == nil {
		return expr{}, invalid("BinaryOp has the members left, op and right: %s", clip(string(value)))
	}
	op, ok := operators[b.Op]
	if !ok {
		return expr{}, invalid("the operator %q of BinaryOp is not known: use one such as Eq, Lt, Plus or And", clip(b.Op))
	}
	sides, err := c.list([]json.RawMessage{b.Left, b.Right}, depth)
	if err != nil {
		return expr{}, err
	}
	return expr{sql: "(" + sides[0] + " " + op + " " + sides[1] + ")"}, nil
}
