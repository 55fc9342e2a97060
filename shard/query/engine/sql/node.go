package sql

import (
	"encoding/json"
	"slices"
	"strconv"
)

// Node is an object of the syntax tree.
type Node = map[string]any

// Text returns the text under key, or "".
func Text(n Node, key string) string {
	s, _ := n[key].(string)
	return s
}

// Position returns where in the text the node begins.
func Position(n Node) (int, bool) {
	number, ok := n["query_location"].(json.Number)
	if !ok {
		return 0, false
	}
	at, err := number.Int64()
	return int(at), err == nil && at >= 0
}

// EachNode calls f with the nodes of a tree, and with those below a node if f returns true for it.
func EachNode(tree any, f func(n Node) bool) {
	switch v := tree.(type) {
	case []any:
		for _, child := range v {
			EachNode(child, f)
		}
	case Node:
		if f(v) {
			for _, child := range v {
				EachNode(child, f)
			}
		}
	}
}

// IsWhole reports whether n is a literal of an integer type, with or without a sign.
func IsWhole(n Node) bool {
	if list := Args(n); Text(n, "function_name") == "-" && len(list) == 1 {
		n, _ = list[0].(Node)
	}
	value, _ := n["value"].(Node)
	kind, _ := value["type"].(Node)
	switch Text(kind, "id") {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT":
		return true
	}
	return false
}

// Args returns the arguments of a call.
func Args(n Node) []any {
	list, _ := n["children"].([]any)
	return list
}

// TextLiteral returns the text if n is a text literal. It also handles an empty text, which the
// tree omits.
func TextLiteral(n Node) (string, bool) {
	value, _ := n["value"].(Node)
	kind, _ := value["type"].(Node)
	null, _ := value["is_null"].(bool)
	return Text(value, "value"), Text(n, "class") == "CONSTANT" && Text(kind, "id") == "VARCHAR" && !null
}

// Integer returns the value of an integer literal, with a sign or without.
func Integer(v any) (int64, bool) {
	n, _ := v.(Node)
	if Text(n, "class") == "FUNCTION" && Text(n, "function_name") == "-" {
		args, _ := n["children"].([]any)
		if len(args) != 1 {
			return 0, false
		}
		i, ok := Integer(args[0])
		return -i, ok
	}
	if Text(n, "class") != "CONSTANT" {
		return 0, false
	}
	value, _ := n["value"].(Node)
	number, ok := value["value"].(json.Number)
	if !ok {
		return 0, false
	}
	i, err := strconv.ParseInt(number.String(), 10, 64)
	return i, err == nil
}

// HasClass reports whether an expression of a class is in v.
func HasClass(v any, class string) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(child any) bool { return HasClass(child, class) })
	case Node:
		if Text(v, "class") == class {
			return true
		}
		for _, child := range v {
			if HasClass(child, class) {
				return true
			}
		}
	}
	return false
}

// RowCount returns a literal number of rows, or 0 if there is none.
func RowCount(v any) (uint64, bool) {
	if v == nil {
		return 0, true
	}
	n, _ := v.(Node)
	i, ok := Integer(v)
	return uint64(i), ok && i >= 0 && IsWhole(n)
}

// OnlyKeys reports whether n has only the given keys, so that nothing that changes its meaning is
// overlooked.
func OnlyKeys(n Node, keys ...string) bool {
	for k := range n {
		known := k == "type" || k == "class" || k == "query_location"
		for _, key := range keys {
			known = known || k == key
		}
		if !known {
			return false
		}
	}
	return true
}
