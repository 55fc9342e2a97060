package rewrite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"cordwood/router/query/statement"
)

// maxCompared is the maximum number of values in a literal document that is compared.
const maxCompared = 1000

// comparison writes the conditions for @> and = with a literal document. The engine's json_contains finds a part at any
// depth, and its = compares the texts.
type comparison struct {
	exact  bool
	values int
}

// parseDocument reads a JSON text. Numbers keep their digits.
func parseDocument(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the document")
	}
	return v, nil
}

// value returns the condition under which the document d contains or equals v. level numbers the variables.
func (c *comparison) value(d string, v any, level int) string {
	c.values++
	switch v := v.(type) {
	case map[string]any:
		return c.object(d, v, level)
	case []any:
		return c.list(d, v, level)
	case string:
		return "(json_type(" + d + ") = 'VARCHAR' AND json_extract_string(" + d + ", '$') = " + quote(v) + ")"
	case json.Number:
		return "(json_type(" + d + ") IN ('BIGINT', 'UBIGINT', 'DOUBLE', 'HUGEINT') AND TRY_CAST(json_extract_string(" + d +
			", '$') AS DOUBLE) = CAST(" + quote(v.String()) + " AS DOUBLE))"
	case bool:
		return "(json_type(" + d + ") = 'BOOLEAN' AND json_extract_string(" + d + fmt.Sprintf(", '$') = '%t')", v)
	}
	return "(json_type(" + d + ") = 'NULL')"
}

func (c *comparison) object(d string, v map[string]any, level int) string {
	terms := []string{"json_type(" + d + ") = 'OBJECT'"}
	if c.exact {
		terms = append(terms, fmt.Sprintf("len(json_keys(%s)) = %d", d, len(v)))
	}
	keys := make([]string, 0, len(v))
	for key := range v {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		pointer := quote("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
		part := fmt.Sprintf("cordwood_p%d", level)
		terms = append(terms, fmt.Sprintf("coalesce(list_transform([json_extract(%s, %s)], lambda %s: %s)[1], FALSE)", d,
			pointer, part, c.value(part, v[key], level+1)))
	}
	return "(" + strings.Join(terms, " AND ") + ")"
}

func (c *comparison) list(d string, v []any, level int) string {
	elements := "CAST(" + d + " AS JSON[])"
	terms := []string{"json_type(" + d + ") = 'ARRAY'"}
	if c.exact {
		terms = append(terms, fmt.Sprintf("len(%s) = %d", elements, len(v)))
	}
	part := fmt.Sprintf("cordwood_p%d", level)
	for i, e := range v {
		condition := c.value(part, e, level+1)
		if c.exact {
			terms = append(terms, fmt.Sprintf("coalesce(list_transform([%s[%d]], lambda %s: %s)[1], FALSE)", elements, i+1,
				part, condition))
			continue
		}
		terms = append(terms, fmt.Sprintf("len(list_filter(%s, lambda %s: %s)) > 0", elements, part, condition))
	}
	return "(CASE WHEN " + terms[0] + " THEN " + strings.Join(append(terms[1:], "TRUE"), " AND ") + " ELSE FALSE END)"
}

// compared returns the condition under which a document contains or equals a literal one.
func compared(document, literal string, exact bool) (string, error) {
	v, err := parseDocument(literal)
	if err != nil {
		return "", err
	}
	c := comparison{exact: exact}
	condition := c.value("cordwood_d1", v, 2)
	if c.values > maxCompared {
		return "", errors.New("more than " + itoa(maxCompared) + " values")
	}
	switch v.(type) {
	case map[string]any, []any:
	default: // a list contains its elements, also without brackets
		if !exact {
			condition = "(" + condition + " OR " + c.list("cordwood_d1", []any{v}, 2) + ")"
		}
	}
	return bound(document, 1, "CASE WHEN cordwood_d1 IS NOT NULL THEN "+condition+" END"), nil
}

// containment rewrites document @> literal.
func (r *rewriter) containment() bool {
	text := r.at(2)
	if text.kind != statement.TokenText || isMarker(text.val) {
		return r.unknownContainment()
	}
	n := 3
	typ, cast := r.typeAfter(n)
	left := r.documentOperand()
	isJSON := cast && typ.isDocumentType() || r.isDocumentExpr(left)
	if len(left) == 0 || cast && !typ.isDocumentType() || !isJSON && !isDocument(text.val) {
		return false // arrays
	}
	if cast {
		n += typ.size + 1
	}
	return r.writeComparison(left, text, n, false)
}

// unknownContainment refuses document @> expression.
func (r *rewriter) unknownContainment() bool {
	end := r.rightOperand(2)
	if end <= 2 || isParameter(r.in[r.i+2:r.i+end]) || isMarker(r.at(2).val) {
		return false
	}
	if r.isDocumentExpr(r.documentOperand()) || r.isDocumentExpr(r.in[r.i+2:r.i+end]) {
		return r.refuse("@> and <@ need a literal document, such as '{\"a\": 1}'; for others, compare values: "+
			"x->>'a' = y->>'a'", 0)
	}
	return false
}

// contained rewrites literal <@ document.
func (r *rewriter) contained() bool {
	left := r.operand()
	n := len(left)
	isLiteral := isText(left) && isDocument(left[0].val) || n == 3 && left[0].kind == statement.TokenText &&
		r.isDocumentExpr(left)
	end := r.rightOperand(2)
	if !isLiteral || end <= 2 {
		if r.isDocumentExpr(r.documentOperand()) {
			return r.unknownContainment()
		}
		return false
	}
	text := left[0]
	r.out = r.out[:len(r.out)-n]
	right := r.all(r.in[r.i+2 : r.i+end])
	condition, err := compared(r.asDocument(right), text.val, false)
	if err != nil {
		r.badDocument(text, err)
		return true
	}
	r.raw(text, condition)
	r.i += end
	return true
}

// equality rewrites document = literal, where a cast shows that both are documents.
func (r *rewriter) equality() bool {
	n, not := 1, false
	switch {
	case r.at(0).sym("="):
	case r.at(0).sym("<") && r.at(1).sym(">"), r.at(0).sym("!") && r.at(1).sym("="):
		n, not = 2, true
	default:
		return false
	}
	text := r.at(n)
	if text.kind != statement.TokenText || isMarker(text.val) || len(r.out) < 3 || !r.out[len(r.out)-2].sym("::") ||
		!strings.EqualFold(r.last().val, "JSON") {
		return false
	}
	typ, cast := r.typeAfter(n + 1)
	if cast && !typ.isDocumentType() || !looksLikeDocument(text.val) {
		return false
	}
	size := n + 1
	if cast {
		size += typ.size + 1
	}
	left := r.documentOperand()
	first := left[0]
	r.out = r.out[:len(r.out)-len(left)]
	condition, err := compared(r.asDocument(left), text.val, true)
	if err != nil {
		r.badDocument(text, err)
		return true
	}
	if not {
		condition = "(NOT " + condition + ")"
	}
	r.raw(first, condition)
	r.i += size
	return true
}

func (r *rewriter) writeComparison(left []tok, text tok, n int, exact bool) bool {
	first := left[0]
	r.out = r.out[:len(r.out)-len(left)]
	condition, err := compared(r.asDocument(left), text.val, exact)
	if err != nil {
		r.badDocument(text, err)
		return true
	}
	r.raw(first, condition)
	r.i += n
	return true
}

// badDocument fails because of a text that is not a document.
func (r *rewriter) badDocument(text tok, err error) {
	state := "22P02"
	if !json.Valid(bytes.TrimSpace([]byte(text.val))) {
		r.err = &Error{State: state, Text: "invalid input syntax for type json: " + err.Error(), At: text.at}
		return
	}
	r.err = &Error{State: "54000", Text: "the document that is compared has " + err.Error(), At: text.at}
}
