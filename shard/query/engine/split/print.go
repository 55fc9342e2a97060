package split

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"cordwood/shard/query/engine/sql"
)

// printer writes nodes of a syntax tree as text from which the parser makes the same tree again. It
// knows the nodes of expressions over one table; the caller compares the trees.
type printer struct {
	b strings.Builder
	// unknown describes the first node that cannot be written.
	unknown string
}

// text returns an expression as text.
func text(n sql.Node) (string, error) {
	var p printer
	p.expression(n)
	if p.unknown != "" {
		return "", notSplit(causeFunction, "%s", p.unknown)
	}
	return p.b.String(), nil
}

func (p *printer) fail(what string) {
	if p.unknown == "" {
		p.unknown = what
	}
}

// unknownClass describes an expression that statements for nodes cannot contain.
func unknownClass(class string) string {
	switch class {
	case "COLLATE":
		return "it has COLLATE; compare, group or sort by lower(x) in place of x COLLATE NOCASE"
	case "LAMBDA":
		return "it has a lambda function; compute the expression for each row, before the aggregate"
	case "STAR":
		return "it has a star within an expression; write the columns"
	}
	return "an expression of class " + class
}

func (p *printer) put(parts ...string) {
	for _, s := range parts {
		p.b.WriteString(s)
	}
}

// list writes nodes with a separator between them.
func (p *printer) list(nodes []any, separator string) {
	for i, v := range nodes {
		if i > 0 {
			p.put(separator)
		}
		n, _ := v.(sql.Node)
		p.expression(n)
	}
}

// child writes the node under a key.
func (p *printer) child(n sql.Node, key string) {
	c, ok := n[key].(sql.Node)
	if !ok {
		p.fail("a node without its part " + key)
		return
	}
	p.expression(c)
}

// comparisons are the operators by the types of their nodes.
var comparisons = map[string]string{
	"COMPARE_EQUAL": "=", "COMPARE_NOTEQUAL": "<>", "COMPARE_LESSTHAN": "<", "COMPARE_GREATERTHAN": ">",
	"COMPARE_LESSTHANOREQUALTO": "<=", "COMPARE_GREATERTHANOREQUALTO": ">=",
	"COMPARE_DISTINCT_FROM": "IS DISTINCT FROM", "COMPARE_NOT_DISTINCT_FROM": "IS NOT DISTINCT FROM",
}

func (p *printer) expression(n sql.Node) {
	kind := sql.Text(n, "type")
	switch class := sql.Text(n, "class"); class {
	case "CONSTANT":
		p.constant(n)
	case "COLUMN_REF":
		p.column(n)
	case "FUNCTION":
		p.function(n)
	case "COMPARISON":
		op, ok := comparisons[kind]
		if !ok {
			p.fail("the comparison " + kind)
		}
		p.put("(")
		p.child(n, "left")
		p.put(" ", op, " ")
		p.child(n, "right")
		p.put(")")
	case "CONJUNCTION":
		p.put("(")
		p.list(sql.Args(n), map[bool]string{true: " AND ", false: " OR "}[kind == "CONJUNCTION_AND"])
		p.put(")")
	case "BETWEEN":
		p.put("(")
		p.child(n, "input")
		p.put(" BETWEEN ")
		p.child(n, "lower")
		p.put(" AND ")
		p.child(n, "upper")
		p.put(")")
	case "OPERATOR":
		p.operator(kind, n)
	case "CASE":
		p.cases(n)
	case "CAST":
		p.cast(n)
	case "LAMBDA":
		p.arrow(n)
	case rawClass:
		p.put(sql.Text(n, "text"))
	default:
		p.fail(unknownClass(class))
	}
}

// column writes the name of a column.
func (p *printer) column(n sql.Node) {
	list, _ := n["column_names"].([]any)
	if len(list) == 0 {
		p.fail("a column without a name")
	}
	for i, v := range list {
		if i > 0 {
			p.put(".")
		}
		name, _ := v.(string)
		p.put(sql.QuoteName(name))
	}
}

// arrow writes a path into a JSON column. The parser represents the arrow as a lambda function.
func (p *printer) arrow(n sql.Node) {
	right, _ := n["expr"].(sql.Node)
	if sql.Text(right, "class") != "CONSTANT" {
		p.fail("a lambda function")
		return
	}
	p.put("(")
	p.child(n, "lhs")
	p.put(" -> ")
	p.expression(right)
	p.put(")")
}

// postfix are the operators that follow their operand, by the types of their nodes.
var postfix = map[string]string{"OPERATOR_IS_NULL": " IS NULL)", "OPERATOR_IS_NOT_NULL": " IS NOT NULL)"}

func (p *printer) operator(kind string, n sql.Node) {
	args := sql.Args(n)
	if len(args) == 0 {
		p.fail("the operator " + kind)
		return
	}
	switch kind {
	case "OPERATOR_NOT":
		p.put("(NOT ")
		p.list(args, "")
		p.put(")")
	case "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL":
		p.put("(")
		p.list(args[:1], "")
		p.put(postfix[kind])
	case "COMPARE_IN", "COMPARE_NOT_IN":
		p.put("(")
		p.list(args[:1], "")
		p.put(map[string]string{"COMPARE_IN": " IN (", "COMPARE_NOT_IN": " NOT IN ("}[kind])
		p.list(args[1:], ", ")
		p.put("))")
	case "OPERATOR_COALESCE":
		p.put("COALESCE(")
		p.list(args, ", ")
		p.put(")")
	case "GROUPING_FUNCTION":
		p.put("GROUPING(")
		p.list(args, ", ")
		p.put(")")
	case "ARRAY_EXTRACT":
		if len(args) != 2 {
			p.fail("the operator " + kind)
			return
		}
		p.list(args[:1], "")
		p.put("[")
		p.list(args[1:], "")
		p.put("]")
	default:
		p.fail("the operator " + kind)
	}
}

func (p *printer) cases(n sql.Node) {
	checks, _ := n["case_checks"].([]any)
	p.put("CASE")
	for _, v := range checks {
		c, _ := v.(sql.Node)
		p.put(" WHEN ")
		p.child(c, "when_expr")
		p.put(" THEN ")
		p.child(c, "then_expr")
	}
	p.put(" ELSE ")
	p.child(n, "else_expr")
	p.put(" END")
}

func (p *printer) cast(n sql.Node) {
	t, _ := n["cast_type"].(sql.Node)
	name := typeName(t)
	if name == "" {
		p.fail("a cast to " + sql.Text(t, "id"))
		return
	}
	if try, _ := n["try_cast"].(bool); try {
		p.put("TRY_")
	}
	p.put("CAST(")
	p.child(n, "child")
	p.put(" AS ", name, ")")
}

// simpleTypes are the types whose names in SQL and in the tree are the same.
var simpleTypes = map[string]bool{
	"BOOLEAN": true, "TINYINT": true, "SMALLINT": true, "INTEGER": true, "BIGINT": true, "HUGEINT": true,
	"UTINYINT": true, "USMALLINT": true, "UINTEGER": true, "UBIGINT": true, "FLOAT": true, "DOUBLE": true,
	"VARCHAR": true, "DATE": true, "TIME": true, "TIMESTAMP": true, "TIMESTAMP_S": true, "TIMESTAMP_MS": true,
	"TIMESTAMP_NS": true, "INTERVAL": true,
}

// typeName returns a type as text. It is empty if the type is not known here.
func typeName(t sql.Node) string {
	id := sql.Text(t, "id")
	info, _ := t["type_info"].(sql.Node)
	switch {
	case simpleTypes[id] && info == nil:
		return id
	case id == "DECIMAL":
		width, ok := info["width"].(json.Number)
		if !ok {
			return ""
		}
		scale, _ := info["scale"].(json.Number) // the tree leaves 0 out
		if scale == "" {
			scale = "0"
		}
		return "DECIMAL(" + width.String() + ", " + scale.String() + ")"
	case id == "UNBOUND" && strings.EqualFold(sql.Text(info, "name"), "JSON"):
		return "JSON"
	}
	return ""
}

// constant writes a literal.
func (p *printer) constant(n sql.Node) {
	value, _ := n["value"].(sql.Node)
	kind, _ := value["type"].(sql.Node)
	id := sql.Text(kind, "id")
	number, _ := value["value"].(json.Number)
	if null, _ := value["is_null"].(bool); null && id == "NULL" {
		p.put("NULL")
		return
	}
	switch id {
	case "VARCHAR":
		s, _ := sql.TextLiteral(n)
		p.put(sql.QuoteText(s))
	case "INTEGER", "BIGINT", "HUGEINT":
		p.number(digits(value["value"]))
	case "DOUBLE":
		x, err := strconv.ParseFloat(number.String(), 64)
		if err != nil {
			p.fail("a number that is no double")
			return
		}
		p.number(strconv.FormatFloat(x, 'e', -1, 64))
	case "DECIMAL":
		info, _ := kind["type_info"].(sql.Node)
		scale, _ := info["scale"].(json.Number)
		p.number(decimal(digits(value["value"]), scale.String()))
	default:
		p.fail("a literal of type " + id)
	}
}

// number writes a number, in parentheses if it has a sign.
func (p *printer) number(s string) {
	switch {
	case s == "":
		p.fail("a literal without a value")
	case s[0] == '-':
		p.put("(", s, ")")
	default:
		p.put(s)
	}
}

// digits returns an integer of a tree. The tree has an integer of more than 64 bits as two halves.
func digits(v any) string {
	if n, ok := v.(json.Number); ok {
		return n.String()
	}
	halves, _ := v.(sql.Node)
	upper, _ := halves["upper"].(json.Number)
	lower, _ := halves["lower"].(json.Number)
	high, ok1 := new(big.Int).SetString(upper.String(), 10)
	low, ok2 := new(big.Int).SetString(lower.String(), 10)
	if !ok1 || !ok2 {
		return ""
	}
	return high.Lsh(high, 64).Add(high, low).String()
}

// decimal inserts the point into the digits of a decimal. It returns an empty text if there are no
// digits.
func decimal(digits, scale string) string {
	n, err := strconv.Atoi(scale)
	if err != nil || n <= 0 || digits == "" {
		return ""
	}
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	if len(digits) <= n {
		digits = strings.Repeat("0", n+1-len(digits)) + digits
	}
	return sign + digits[:len(digits)-n] + "." + digits[len(digits)-n:]
}

// quotedFunctions are functions whose names also have another meaning in the grammar.
var quotedFunctions = map[string]bool{
	"nullif": true, "map": true, "first": true, "position": true, "substring": true, "trim": true, "overlay": true,
	"extract": true, "row": true, "values": true, "left": true, "right": true, "struct": true, "coalesce": true,
	"grouping": true,
}

// function writes a call of a function or operator.
func (p *printer) function(n sql.Node) {
	name, schema, args := sql.Text(n, "function_name"), sql.Text(n, "schema"), sql.Args(n)
	distinct, _ := n["distinct"].(bool)
	filter, filtered := n["filter"].(sql.Node)
	orders, _ := n["order_bys"].(sql.Node)
	if len(orders) > 1 || n["export_state"] != nil || sql.Text(n, "catalog") != "" {
		p.fail("an aggregate with ORDER BY, DISTINCT or similar")
		return
	}
	if operator, _ := n["is_operator"].(bool); operator {
		switch {
		case filtered || distinct || schema != "" || len(args) < 1 || len(args) > 2:
			p.fail("the operator " + name)
		case len(args) == 1:
			p.put("(", name, " ")
			p.list(args, "")
			p.put(")")
		default:
			p.put("(")
			p.list(args[:1], "")
			p.put(" ", name, " ")
			p.list(args[1:], "")
			p.put(")")
		}
		return
	}
	if name == "count_star" && len(args) == 0 {
		p.put("count(*)")
	} else {
		p.call(name, schema, args, distinct)
	}
	if filtered {
		p.put(" FILTER (WHERE ")
		p.expression(filter)
		p.put(")")
	}
}

// call writes a function with its arguments.
func (p *printer) call(name, schema string, args []any, distinct bool) {
	plain := name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
	switch {
	case schema != "" && schema != "main":
		p.fail("a function of the schema " + schema)
	case schema != "":
		p.put("main.", sql.QuoteName(name))
	case plain && !quotedFunctions[name]:
		p.put(name)
	default:
		p.put(sql.QuoteName(name))
	}
	p.put("(")
	if distinct {
		p.put("DISTINCT ")
	}
	for i, v := range args {
		if i > 0 {
			p.put(", ")
		}
		n, _ := v.(sql.Node)
		if alias := sql.Text(n, "alias"); alias != "" {
			p.put(sql.QuoteName(alias), " := ")
		}
		p.expression(n)
	}
	p.put(")")
}
