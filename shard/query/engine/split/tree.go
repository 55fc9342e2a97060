package split

import (
	"encoding/json"
	"slices"
	"strings"

	"cordwood/shard/query/engine/sql"
)

// clone returns a copy of a tree that shares nothing with it.
func clone(v any) any {
	switch v := v.(type) {
	case sql.Node:
		out := make(sql.Node, len(v))
		for k, child := range v {
			out[k] = clone(child)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, child := range v {
			out[i] = clone(child)
		}
		return out
	}
	return v
}

// nodes returns the number of nodes of a tree.
func nodes(v any) (n int) {
	switch v := v.(type) {
	case sql.Node:
		n = 1
		for _, child := range v {
			n += nodes(child)
		}
	case []any:
		for _, child := range v {
			n += nodes(child)
		}
	}
	return n
}

// ignored are the keys in which two trees with the same meaning may differ.
var ignored = map[string]bool{"query_location": true}

// key returns a text that is equal for expressions with the same text, at any position.
func key(v any) string {
	var b strings.Builder
	writeKey(&b, v, true)
	return b.String()
}

// writeKey writes a tree. If bare is set, it omits the alias of the topmost node.
func writeKey(b *strings.Builder, v any, bare bool) {
	switch v := v.(type) {
	case sql.Node:
		names := make([]string, 0, len(v))
		for k := range v {
			if !ignored[k] && (!bare || k != "alias") {
				names = append(names, k)
			}
		}
		slices.Sort(names)
		b.WriteByte('{')
		for _, k := range names {
			b.WriteString(k)
			b.WriteByte(':')
			writeKey(b, v[k], false)
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for _, child := range v {
			writeKey(b, child, false)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case json.Number:
		b.WriteString(v.String())
	case string:
		text, _ := json.Marshal(v) //nolint:errchkjson // of a text
		b.Write(text)
	case bool:
		if v {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	case nil:
		b.WriteString("null")
	}
}

// replace calls f with each expression, from the outside in, and returns the tree. If f returns
// another node, this node replaces the expression, and nothing below it is visited.
func replace(v any, f func(n sql.Node) (sql.Node, error)) (any, error) {
	switch v := v.(type) {
	case sql.Node:
		if _, ok := v["class"].(string); ok {
			n, err := f(v)
			if n != nil || err != nil {
				return n, err
			}
		}
		out := make(sql.Node, len(v))
		for k, child := range v {
			c, err := replace(child, f)
			if err != nil {
				return nil, err
			}
			out[k] = c
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, child := range v {
			c, err := replace(child, f)
			if err != nil {
				return nil, err
			}
			out[i] = c
		}
		return out, nil
	}
	return v, nil
}

// expression calls replace for one expression.
func expression(n sql.Node, f func(n sql.Node) (sql.Node, error)) (sql.Node, error) {
	v, err := replace(n, f)
	if err != nil {
		return nil, err
	}
	out, _ := v.(sql.Node)
	return out, nil
}

// columnOf returns a node that refers to a column.
func columnOf(name string) sql.Node {
	return sql.Node{"class": "COLUMN_REF", "type": "COLUMN_REF", "column_names": []any{name}}
}

// raw is the class of an expression that is already text.
const rawClass = "RAW"

// rawOf returns a node that is printed as text.
func rawOf(text string) sql.Node { return sql.Node{"class": rawClass, "text": text} }
