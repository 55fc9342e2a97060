package rewrite

import (
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

// document rewrites the operators of JSON, whose left operand is at the end of the output.
func (r *rewriter) document() bool {
	switch t := r.at(0); {
	case !r.last().endsOperand():
		return false
	case t.sym("#") && r.at(1).sym(">"):
		n := 2
		if r.at(n).sym(">") {
			n++
		}
		return r.path(n, n == 3)
	case t.sym("#") && r.at(1).sym("-"):
		return r.pathDeletion()
	case t.sym("#"):
		return r.refuse("the operator # is not supported; write xor(a, b)", 0)
	case t.sym("?"):
		return r.existence()
	case t.sym("@") && r.at(1).sym("?"):
		return r.refuse("paths of SQL/JSON are not supported; write ->, ->> or #>> to read parts of documents", 0)
	case t.sym("@") && r.at(1).sym(">"):
		return r.containment()
	case t.sym("|"):
		return r.concatenation()
	case t.sym("-"):
		return r.deletion()
	case t.sym("<") && r.at(1).sym("@"):
		return r.contained()
	}
	return r.equality()
}

// isDocument reports whether a text is a JSON object or list, and not an array such as {1,2}.
func isDocument(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, `{"`) || strings.HasPrefix(text, "[") || text == "{}"
}

// typeAfter returns the type of a cast that starts n tokens ahead.
func (r *rewriter) typeAfter(n int) (castType, bool) {
	if !r.at(n).sym("::") {
		return castType{}, false
	}
	return r.readType(n + 1)
}

// onDocument replaces the operand at the end of the output and the next n tokens.
func (r *rewriter) onDocument(n int, call func(document string) string) bool {
	operand := r.documentOperand()
	if len(operand) == 0 {
		return false
	}
	first, document := operand[0], joined(operand)
	r.out = r.out[:len(r.out)-len(operand)]
	r.raw(first, call(document))
	r.i += n
	return true
}

// documentOperand returns the operand at the end of the output, with the operands before it that -> and ->> join to it.
func (r *rewriter) documentOperand() []tok {
	whole := r.out
	defer func() { r.out = whole }()
	for from := len(whole); ; {
		operand := r.operand()
		if len(operand) == 0 {
			return whole[from:]
		}
		from = len(r.out) - len(operand)
		n := from
		for n > 0 && r.out[n-1].sym(">") {
			n--
		}
		if n == from || n == 0 || !r.out[n-1].sym("-") {
			return whole[from:]
		}
		r.out = r.out[:n-1]
	}
}

// path rewrites document #> path. The path begins n tokens ahead: a literal such as {a,b}, or ARRAY[…] of texts.
func (r *rewriter) path(n int, text bool) bool {
	keys, size, ok := r.keys(n)
	if !ok && (r.at(n).sym("$") || isMarker(r.at(n).val)) { // the statement is only described
		size, ok = 1, true
		if r.at(n).sym("$") {
			size = 2
		}
	}
	if !ok && r.at(n).word("ARRAY") && r.parameterIn(n+1) {
		size, ok = r.closingBracket(n+1)-n+1, true
	}
	if !ok {
		return false
	}
	if typ, ok := r.typeAfter(n + size); ok && typ.array {
		size += typ.size + 1
	}
	return r.onDocument(n+size, func(document string) string { return atPath(document, keys, text) })
}

// atPath returns the part of a document at a path, as a document or as a text.
func atPath(document string, keys []string, text bool) string {
	for _, key := range keys {
		document = "json_extract(" + document + ", " + quote(`$."`+key+`"`) + ")"
		if wholeKey.MatchString(key) { // of a list
			index := key
			if strings.HasPrefix(key, "-") {
				index = "#" + key
			}
			inner := strings.TrimSuffix(document, ", "+quote(`$."`+key+`"`)+")")
			document = "coalesce(" + document + ", " + inner + ", '$[" + index + "]'))"
		}
	}
	if text {
		return "json_extract_string(" + document + ", '$')"
	}
	return "json_extract(" + document + ", '$')"
}

var wholeKey = lazyregexp.New(`^-?[0-9]{1,9}$`)

// maxKeys is the maximum number of keys in a path. A key that is a number writes the document twice.
const maxKeys = 16

// keys returns the keys of a path that begins n tokens ahead, and the number of its tokens.
func (r *rewriter) keys(n int) (keys []string, size int, ok bool) {
	switch t := r.at(n); {
	case t.word("CAST") && r.at(n+1).sym("(") && r.at(n+2).sym("["): // a parameter
		keys, _, ok = r.listed(n + 2)
		return keys, r.closingBracket(n+1) - n + 1, ok
	case t.kind == statement.TokenText && !isMarker(t.val):
		keys, ok = value.Texts(t.val)
		return keys, 1, ok && len(keys) <= maxKeys
	case t.word("ARRAY") && r.at(n+1).sym("["):
		keys, size, ok = r.listed(n + 1)
		return keys, size + 1, ok
	}
	return nil, 0, false
}

// parameterIn reports whether the brackets n tokens ahead contain a parameter without a value: the statement is only
// described.
func (r *rewriter) parameterIn(n int) bool {
	for k, end := n+1, r.closingBracket(n); k < end; k++ {
		if r.at(k).sym("$") || r.at(k).kind == statement.TokenText && isMarker(r.at(k).val) {
			return true
		}
	}
	return false
}

// listed returns the texts in the brackets n tokens ahead, and the number of tokens.
func (r *rewriter) listed(n int) (keys []string, size int, ok bool) {
	end := r.closingBracket(n)
	for k := n + 1; k < end; k += 2 {
		if r.at(k).kind != statement.TokenText || isMarker(r.at(k).val) || k+1 < end && !r.at(k+1).sym(",") {
			return nil, 0, false
		}
		keys = append(keys, r.at(k).val)
	}
	return keys, end - n + 1, end > 0 && len(keys) <= maxKeys
}
