package rewrite

import (
	"strings"

	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

// typedBytes rewrites BYTEA '…'.
func (r *rewriter) typedBytes() bool {
	text := r.at(1)
	if text.kind != statement.TokenText || isMarker(text.val) {
		return false
	}
	text.pre = r.at(0).pre
	literal, err := value.Literal(value.Bytea, value.FormatText, []byte(text.val))
	r.checked(text, literal, err)
	r.i += 2
	return true
}

// bytesCalls are the beginnings of rewritten expressions whose results are bytes.
var bytesCalls = []string{"from_hex(", "encode(", "from_base64(", "unhex("}

// isBytes reports whether a rewritten expression is certainly of bytes.
func isBytes(arg string) bool {
	arg = strings.TrimSpace(arg)
	if strings.HasSuffix(strings.ToUpper(arg), "::BLOB") {
		return true
	}
	for _, call := range bytesCalls {
		if strings.HasPrefix(arg, call) && strings.HasSuffix(arg, ")") && strings.Count(arg, "(") == strings.Count(arg, ")") {
			return true
		}
	}
	return false
}

// lengthCall rewrites the length of bytes; the engine has it for texts only.
func lengthCall(_ *rewriter, args []string) (string, bool) {
	if len(args) != 1 || !isBytes(args[0]) {
		return "", false
	}
	return "CAST(octet_length(" + args[0] + ") AS INTEGER)", true
}

// converted rewrites convert_from and convert_to, if the encoding is UTF-8.
func converted(name string) expand {
	return func(_ *rewriter, args []string) (string, bool) {
		if len(args) != 2 {
			return "", false
		}
		encoding, _ := literalOf(args[1])
		switch strings.ToLower(encoding) {
		case "utf8", "utf-8":
			return name + "(" + args[0] + ")", true
		}
		return "", false
	}
}

// fromBytes rewrites convert_from. A literal is bytes.
func fromBytes(r *rewriter, args []string) (string, bool) {
	if len(args) == 2 {
		if text, ok := literalOf(args[0]); ok {
			literal, err := value.Literal(value.Bytea, value.FormatText, []byte(text))
			if err != nil {
				return "", false
			}
			args[0] = literal
		}
	}
	return converted("decode")(r, args)
}

// overlay rewrites overlay(x PLACING y FROM a [FOR n]) and overlay(x, y, a [, n]).
func overlay(_ *rewriter, args []string) (string, bool) {
	if len(args) == 1 {
		args = splitWords(args[0], "PLACING", "FROM", "FOR")
	}
	if len(args) < 3 || len(args) > 4 {
		return "", false
	}
	text, with, from, n := "("+args[0]+")", "("+args[1]+")", "("+args[2]+")", "length("+args[1]+")"
	if len(args) == 4 {
		n = "(" + args[3] + ")"
	}
	return "(" + text + "[:" + from + " - 1] || " + with + " || " + text + "[" + from + " + " + n + ":])", true
}

// splitWords splits an expression at key words that follow each other and are not in brackets.
func splitWords(text string, words ...string) (parts []string) {
	depth, from := 0, 0
	for _, t := range statement.Tokens(text) {
		switch {
		case t.Kind == statement.TokenSymbol && (t.Value == "(" || t.Value == "["):
			depth++
		case t.Kind == statement.TokenSymbol && (t.Value == ")" || t.Value == "]"):
			depth--
		case depth == 0 && t.Kind == statement.TokenWord && len(words) > 0 && strings.EqualFold(t.Value, words[0]):
			parts = append(parts, text[from:t.From])
			from, words = t.To, words[1:]
		}
	}
	return append(parts, text[from:])
}

// stringToTable rewrites string_to_table, whose third argument is a text for nulls.
func stringToTable(r *rewriter, args []string) (string, bool) {
	list, ok := stringToArray(r, args)
	if len(args) == 2 {
		list, ok = "string_to_array("+strings.Join(args, ", ")+")", true
	}
	return "unnest(" + list + ")", ok
}

const (
	arrayPositions = "list_filter(list_transform(%1, lambda cordwood_x, cordwood_n: CASE WHEN cordwood_x IS NOT " +
		"DISTINCT FROM %2 THEN CAST(cordwood_n AS INTEGER) END), lambda cordwood_x: cordwood_x IS NOT NULL)"
	arrayDimensions = "(CASE WHEN len(%1) > 0 THEN '[1:' || len(%1) || ']' END)"
)

// arrayFill rewrites array_fill(x, ARRAY[n]) for one dimension.
func arrayFill(_ *rewriter, args []string) (string, bool) {
	if len(args) != 2 || !strings.HasPrefix(strings.ToUpper(args[1]), "ARRAY[") || strings.Contains(args[1], ",") {
		return "", false
	}
	n := args[1][len("ARRAY[") : len(args[1])-1]
	return "list_transform(range(" + n + "), lambda cordwood_x: (" + args[0] + "))", true
}

// bucketOf rewrites width_bucket with a number of buckets or a list of their bounds.
func bucketOf(r *rewriter, args []string) (string, bool) {
	if len(args) == 2 {
		return "CAST(len(list_filter(" + args[1] + ", lambda cordwood_x: cordwood_x <= (" + args[0] + "))) AS INTEGER)", true
	}
	return with(widthBucket, 4)(r, args)
}
