package logquery

import (
	"encoding/json"
	"strings"

	"cordwood/proto/schema"
)

// variant parses an object with one member, or a text, which is a variant without a value.
func variant(what string, text []byte) (name string, value json.RawMessage, err error) {
	if trimmed := strings.TrimSpace(string(text)); strings.HasPrefix(trimmed, `"`) {
		if err := json.Unmarshal(text, &name); err != nil {
			return "", nil, invalid("%s cannot be read: %v", what, err)
		}
		return name, nil, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || len(members) != 1 {
		return "", nil, invalid("%s must be an object with one member, whose name is the kind: %s", what, clip(string(text)))
	}
	for name, value = range members {
	}
	return name, value, nil
}

// list reads an array.
func list(what string, text json.RawMessage) ([]json.RawMessage, error) {
	var out []json.RawMessage
	if err := json.Unmarshal(text, &out); err != nil || out == nil {
		return nil, invalid("%s must be an array: %s", what, clip(string(text)))
	}
	return out, nil
}

// join joins conditions. If there are none, it returns empty.
func join(conditions []string, by, empty string) string {
	if len(conditions) == 0 {
		return empty
	}
	return "(" + strings.Join(conditions, " "+by+" ") + ")"
}

// filter returns a condition on rows.
func (c *compiler) filter(text []byte, depth int) (string, error) {
	if err := c.enter(depth); err != nil {
		return "", err
	}
	name, value, err := variant("a filter", text)
	if err != nil {
		return "", err
	}
	switch name {
	case "And", "Or":
		parts, err := list("the filter "+name, value)
		if err != nil {
			return "", err
		}
		conditions := make([]string, 0, len(parts))
		for _, part := range parts {
			condition, err := c.filter(part, depth+1)
			if err != nil {
				return "", err
			}
			conditions = append(conditions, condition)
		}
		if name == "And" {
			return join(conditions, "AND", "TRUE"), nil
		}
		return join(conditions, "OR", "FALSE"), nil
	case "Not":
		condition, err := c.filter(value, depth+1)
		return "(NOT " + condition + ")", err
	case "Single":
		return c.single(value, depth+1)
	}
	return "", invalid("a filter must be And, Or, Not or Single, not %q", clip(name))
}

// single returns the conditions on one expression, all of which must hold.
func (c *compiler) single(text []byte, depth int) (string, error) {
	var s struct {
		Expr    json.RawMessage   `json:"expr"`
		Filters []json.RawMessage `json:"filters"`
	}
	if err := decode(text, &s); err != nil || s.Expr == nil {
		return "", invalid("the filter Single has the members expr and filters: %s", clip(string(text)))
	}
	e, err := c.expr(s.Expr, depth)
	if err != nil {
		return "", err
	}
	if e.aggregate {
		return "", invalid("a filter cannot contain an aggregate, because it applies to single rows")
	}
	return c.contents(&e, s.Filters, "AND", depth)
}

// contents joins conditions on an expression.
func (c *compiler) contents(e *expr, filters []json.RawMessage, by string, depth int) (string, error) {
	conditions := make([]string, 0, len(filters))
	for _, text := range filters {
		condition, err := c.content(e, text, depth+1)
		if err != nil {
			return "", err
		}
		conditions = append(conditions, condition)
	}
	return join(conditions, by, "TRUE"), nil
}

// texts has the conditions on an expression as a text, by name.
var texts = map[string]func(e, text string) string{
	"Exact":    func(e, text string) string { return e + " = " + text },
	"Prefix":   func(e, text string) string { return "starts_with(" + e + ", " + text + ")" },
	"Postfix":  func(e, text string) string { return "ends_with(" + e + ", " + text + ")" },
	"Contains": func(e, text string) string { return "contains(" + e + ", " + text + ")" },
	"Regex":    func(e, text string) string { return "regexp_matches(" + e + ", " + text + ")" },
}

// plain has the conditions without a value, by name.
var plain = map[string]string{"Exist": " IS NOT NULL", "IsTrue": " IS TRUE", "IsFalse": " IS FALSE"}

// content returns a condition on an expression.
func (c *compiler) content(e *expr, text []byte, depth int) (string, error) {
	if err := c.enter(depth); err != nil {
		return "", err
	}
	name, value, err := variant("a condition", text)
	if err != nil {
		return "", err
	}
	if end, ok := plain[name]; ok {
		return "(" + e.sql + end + ")", nil
	}
	if write, ok := texts[name]; ok {
		var s *string
		if err := json.Unmarshal(value, &s); err != nil || s == nil {
			return "", invalid("the value of the condition %s must be a text: %s", name, clip(string(value)))
		}
		return "(" + write(c.asText(e), quote(*s)) + ")", nil
	}
	switch name {
	case "In":
		return c.in(e, value)
	case "Equal":
		v, err := equalValue(value)
		return "(" + e.sql + " = " + v + ")", err
	case "Between":
		return between(e, value)
	case "GreatThan":
		return compare(e, ">", name, value)
	case "LessThan":
		return compare(e, "<", name, value)
	case "Compound":
		return c.compound(e, value, depth)
	}
	return "", invalid("a condition must be Exact, Prefix, Postfix, Contains, Regex, Exist, IsTrue, IsFalse, In, "+
		"Equal, Between, GreatThan, LessThan or Compound, not %q", clip(name))
}

// asText returns an expression as a text. A text column stays unchanged, so that indexes can be used.
func (c *compiler) asText(e *expr) string {
	if column := c.table.Column(e.column); e.column != "" && column != nil && column.Type == schema.String {
		return e.sql
	}
	return "CAST(" + e.sql + " AS VARCHAR)"
}

func (c *compiler) in(e *expr, value json.RawMessage) (string, error) {
	parts, err := list("the condition In", value)
	if err != nil {
		return "", err
	}
	var values []string
	for _, part := range parts {
		v, err := equalValue(part)
		if err != nil {
			return "", err
		}
		values = append(values, v)
	}
	if c.nodes += len(values); c.nodes > maxNodes {
		return "", c.enter(0)
	}
	if len(values) == 0 {
		return "FALSE", nil
	}
	return "(" + e.sql + " IN (" + strings.Join(values, ", ") + "))", nil
}

// equalValue returns a value as SQL: a text, a number or a boolean, also in the form {"Int":1}, as in the
// reference.
func equalValue(text json.RawMessage) (string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err == nil && len(members) == 1 {
		for name, value := range members {
			switch name {
			case "String", "Float", "Int", "UInt", "Boolean":
				return scalar(value)
			}
		}
	}
	return scalar(text)
}

// scalar returns a text, a number or a boolean as SQL.
func scalar(text json.RawMessage) (string, error) {
	trimmed := strings.TrimSpace(string(text))
	var s string
	switch {
	case trimmed == "true" || trimmed == "false":
		return strings.ToUpper(trimmed), nil
	case strings.HasPrefix(trimmed, `"`):
		if err := json.Unmarshal(text, &s); err == nil {
			return quote(s), nil
		}
	case trimmed != "" && (trimmed[0] == '-' || trimmed[0] >= '0' && trimmed[0] <= '9'):
		return trimmed, nil // JSON writes numbers as SQL does
	}
	return "", invalid("a value must be a text, a number or a boolean, not %s", clip(trimmed))
}

// quote returns a text as an SQL literal. SQL has no NUL, so U+FFFD replaces it.
func quote(text string) string {
	return schema.QuoteLiteral(strings.ReplaceAll(text, "\x00", "\uFFFD"))
}

func between(e *expr, value json.RawMessage) (string, error) {
	var b struct {
		Start          json.RawMessage `json:"start"`
		End            json.RawMessage `json:"end"`
		StartInclusive bool            `json:"start_inclusive"`
		EndInclusive   bool            `json:"end_inclusive"`
	}
	if err := decode(value, &b); err != nil || b.Start == nil || b.End == nil {
		return "", invalid("the condition Between has the members start, end, start_inclusive and end_inclusive: %s",
			clip(string(value)))
	}
	start, err := scalar(b.Start)
	if err != nil {
		return "", err
	}
	end, err := scalar(b.End)
	if err != nil {
		return "", err
	}
	return "(" + e.sql + " " + inclusive(">", b.StartInclusive) + " " + start + " AND " +
		e.sql + " " + inclusive("<", b.EndInclusive) + " " + end + ")", nil
}

func compare(e *expr, op, name string, value json.RawMessage) (string, error) {
	var b struct {
		Value     json.RawMessage `json:"value"`
		Inclusive bool            `json:"inclusive"`
	}
	if err := decode(value, &b); err != nil || b.Value == nil {
		return "", invalid("the condition %s has the members value and inclusive: %s", name, clip(string(value)))
	}
	v, err := scalar(b.Value)
	return "(" + e.sql + " " + inclusive(op, b.Inclusive) + " " + v + ")", err
}

func inclusive(op string, yes bool) string {
	if yes {
		return op + "="
	}
	return op
}

// compound returns conditions joined by an operator: [[C…],"And"].
func (c *compiler) compound(e *expr, value json.RawMessage, depth int) (string, error) {
	parts, err := list("the condition Compound", value)
	if err != nil {
		return "", err
	}
	var op string
	if len(parts) != 2 || json.Unmarshal(parts[1], &op) != nil || op != "And" && op != "Or" {
		return "", invalid(`the condition Compound takes [[CONDITION,…],"And"] or "Or": %s`, clip(string(value)))
	}
	filters, err := list("the condition Compound", parts[0])
	if err != nil {
		return "", err
	}
	return c.contents(e, filters, strings.ToUpper(op), depth)
}
