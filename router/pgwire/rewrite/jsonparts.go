package rewrite

import (
	"fmt"
	"strconv"
	"strings"

	"cordwood/router/query/statement"
)

// Parts of the expressions for documents. Their variables are bound by list_transform, so that operands occur once.
const (
	// documentNames are the texts that the operator ? finds: keys of an object, elements of a list, or the document.
	documentNames = "CASE WHEN cordwood_d1 IS NULL THEN NULL WHEN json_type(cordwood_d1) = 'OBJECT' THEN " +
		"json_keys(cordwood_d1) WHEN json_type(cordwood_d1) = 'ARRAY' THEN list_transform(list_filter(" +
		"CAST(cordwood_d1 AS JSON[]), lambda cordwood_e: json_type(cordwood_e) = 'VARCHAR'), lambda cordwood_e: " +
		"json_extract_string(cordwood_e, '$')) ELSE [json_extract_string(cordwood_d1, '$')] END"
	// mergedDocument joins two objects, or otherwise two lists, of which a document that is no list is an element.
	mergedDocument = "CASE WHEN cordwood_d.a IS NULL OR cordwood_d.b IS NULL THEN NULL " +
		"WHEN json_type(cordwood_d.a) = 'OBJECT' AND json_type(cordwood_d.b) = 'OBJECT' THEN " +
		"to_json(map_concat(CAST(cordwood_d.a AS MAP(VARCHAR, JSON)), CAST(cordwood_d.b AS MAP(VARCHAR, JSON)))) " +
		"ELSE to_json(list_concat(CASE WHEN json_type(cordwood_d.a) = 'ARRAY' THEN CAST(cordwood_d.a AS JSON[]) ELSE " +
		"[cordwood_d.a] END, CASE WHEN json_type(cordwood_d.b) = 'ARRAY' THEN CAST(cordwood_d.b AS JSON[]) ELSE " +
		"[cordwood_d.b] END)) END"
	// withoutKeys removes keys of an object, or elements of a list that are these texts.
	withoutKeys = "CASE WHEN cordwood_d.a IS NULL OR cordwood_d.b IS NULL THEN NULL " +
		"WHEN json_type(cordwood_d.a) = 'OBJECT' THEN to_json(map_from_entries(list_filter(map_entries(" +
		"CAST(cordwood_d.a AS MAP(VARCHAR, JSON))), lambda cordwood_e: NOT list_contains(cordwood_d.b, cordwood_e.key)))) " +
		"WHEN json_type(cordwood_d.a) = 'ARRAY' THEN to_json(list_filter(CAST(cordwood_d.a AS JSON[]), lambda cordwood_e: " +
		"NOT (json_type(cordwood_e) = 'VARCHAR' AND list_contains(cordwood_d.b, json_extract_string(cordwood_e, '$'))))) " +
		"ELSE CAST(error('cannot delete from scalar') AS JSON) END"
	// withoutElement removes the element of a list with a number from 0, or from -1 at the end.
	withoutElement = "CASE WHEN cordwood_d.a IS NULL OR cordwood_d.b IS NULL THEN NULL " +
		"WHEN json_type(cordwood_d.a) = 'ARRAY' THEN to_json(list_filter(CAST(cordwood_d.a AS JSON[]), lambda cordwood_e, " +
		"cordwood_n: cordwood_n <> cordwood_d.b + 1 + CASE WHEN cordwood_d.b < 0 THEN len(CAST(cordwood_d.a AS JSON[])) " +
		"ELSE 0 END)) WHEN json_type(cordwood_d.a) = 'OBJECT' THEN CAST(error('cannot delete from object using integer " +
		"index') AS JSON) ELSE CAST(error('cannot delete from scalar') AS JSON) END"
)

// ofTwo evaluates an expression of cordwood_d.a and cordwood_d.b with two values.
func ofTwo(a, b, expression string) string {
	return "list_transform([{'a': " + a + ", 'b': " + b + "}], lambda cordwood_d: " + expression + ")[1]"
}

// remember notes that a text that a rule wrote is a document.
func (r *rewriter) remember(text string) {
	if r.documents == nil {
		r.documents = map[string]bool{}
	}
	r.documents[text] = true
}

// documentCalls are the functions that return documents.
var documentCalls = map[string]bool{}

func init() {
	for name := range strings.FieldsSeq(`to_json json_object json_array json_group_array json_group_object json_merge_patch
		json_extract json_extract_path json_build_object json_build_array json_set json_agg json_object_agg json_object
		row_to_json json_strip_nulls`) {
		documentCalls[name], documentCalls["jsonb"+strings.TrimPrefix(name, "json")] = true, true
	}
	documentCalls["to_jsonb"] = true
}

// isDocumentType reports whether values of the type are documents.
func (t castType) isDocumentType() bool { return !t.array && (t.name == "jsonb" || t.name == "json") }

// isDocumentExpr reports whether the form of an expression shows that its value is a document.
func (r *rewriter) isDocumentExpr(toks []tok) bool {
	for len(toks) > 2 && toks[0].text == "(" && closingIndex(toks, 0) == len(toks)-1 {
		toks = toks[1 : len(toks)-1]
	}
	n := len(toks)
	switch {
	case n == 0:
		return false
	case n > 2 && toks[n-2].sym("::"):
		return strings.EqualFold(toks[n-1].val, "JSON") || strings.EqualFold(toks[n-1].val, "jsonb")
	case n == 1 && toks[0].kind == written:
		text := toks[0].text
		name, _, _ := strings.Cut(text, "(")
		return r.documents[text] || documentCalls[name] || strings.HasSuffix(text, "::JSON") ||
			strings.HasPrefix(text, "CAST(") && strings.HasSuffix(text, " AS JSON)")
	case n > 2 && toks[0].isName() && toks[1].text == "(" && closingIndex(toks, 1) == n-1:
		return documentCalls[strings.ToLower(toks[0].val)]
	}
	for i := n - 1; i > 1; i-- { // x -> key, but not x ->> key
		if toks[i].closes() {
			i += toks[i].match
			continue
		}
		if toks[i].sym(">") {
			return toks[i-1].sym("-")
		}
	}
	return false
}

// maxUnknown is the maximum number of operands whose types are asked for.
const maxUnknown = 64

// operandType returns the engine's type of an operand at the end of the output, which the operator at the next token
// needs. ok is false if the type is not known yet, and then the call is written that the engine refuses with the type.
func (r *rewriter) operandType(operand []tok) (typ string, ok bool) {
	at := r.at(0).at
	if at == 0 || len(operand) == 0 || isParameter(operand) || isMarker(operand[0].val) {
		return "", true
	}
	if at == r.s.Probe {
		first := operand[0]
		r.out = r.out[:len(r.out)-len(operand)]
		r.raw(first, "epoch_ns("+joined(operand)+", 1, 1)")
		r.push(r.at(0))
		r.i++
		return "", false
	}
	typ, known := r.s.Operands[at]
	if !known && len(r.casts) <= maxUnknown {
		r.casts = append(r.casts, at)
	}
	return typ, true
}

// rightOperand returns the index after the operand that starts n tokens ahead. Additions are done before the operator.
func (r *rewriter) rightOperand(n int) int {
	end := endOfPrimary(r.in, r.i+n)
	for end+1 < len(r.in) && end > r.i+n && additive(r.in[end]) && !r.in[end+1].sym(">") {
		end = endOfPrimary(r.in, end+1)
	}
	return end - r.i
}

// asDocument returns an operand as a document.
func (r *rewriter) asDocument(toks []tok) string {
	if text := joined(toks); !isText(toks) && r.isDocumentExpr(toks) {
		return text
	}
	return "CAST(" + joined(toks) + " AS JSON)"
}

// concatenation rewrites document || document: the engine joins their texts.
func (r *rewriter) concatenation() bool {
	if !r.at(1).sym("|") || !r.last().endsOperand() {
		return false
	}
	end := r.rightOperand(2)
	right := r.in[r.i+2 : min(r.i+end, len(r.in))]
	left := r.documentOperand()
	if len(left) == 0 || len(right) == 0 || isText(right) && !looksLikeDocument(right[0].val) {
		return false
	}
	if isText(left) && !looksLikeDocument(left[0].val) || r.hasTextCast(left) {
		return r.timeJoined(right, end)
	}
	if !r.isDocumentExpr(left) && !r.isDocumentExpr(right) {
		switch {
		case isText(left):
			return false
		case isArrayExpr(left), isArrayExpr(right) && isNumberExpr(left):
			return r.arrayElement(left, right, "", end)
		case !isArrayExpr(right) && (r.hasTextCast(left) || r.hasTextCast(right)):
			return false
		}
		typ, ok := r.operandType(left)
		if !ok {
			return true
		}
		if typ == "VARCHAR" {
			return r.timeJoined(right, end)
		}
		if isArrayExpr(right) || strings.HasSuffix(typ, "[]") {
			return r.arrayElement(left, right, typ, end)
		}
		if typ != "JSON" {
			return false
		}
	} else if r.hasTextCast(left) || r.hasTextCast(right) {
		return false // a text in PostgreSQL, too
	}
	return r.writeDocument(left, end, func() string {
		return ofTwo(r.asDocument(left), r.asDocument(r.all(right)), mergedDocument)
	})
}

// looksLikeDocument reports whether a text may be a JSON document.
func looksLikeDocument(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && strings.ContainsAny(text[:1], `{["`) || text == "true" || text == "false" || text == "null" ||
		isNumber(text)
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// hasTextCast reports whether an expression ends in a cast to a text, or in ->>.
func (r *rewriter) hasTextCast(toks []tok) bool {
	n := len(toks)
	if n > 2 && toks[n-2].sym("::") {
		typ := strings.ToLower(toks[n-1].val)
		return typ == "varchar" || typ == "text" || typ == "bpchar" || typ == "char"
	}
	for i := n - 1; i > 1; i-- {
		if toks[i].sym(">") {
			return toks[i-1].sym(">")
		}
	}
	return false
}

// writeDocument writes an expression in place of the operand at the end of the output and the next n tokens.
func (r *rewriter) writeDocument(operand []tok, n int, expression func() string) bool {
	first := operand[0]
	r.out = r.out[:len(r.out)-len(operand)]
	text := expression()
	r.remember(text)
	r.raw(first, text)
	r.i += n
	return true
}

// deletion rewrites document - key, document - number and document - ARRAY[…].
func (r *rewriter) deletion() bool {
	if r.at(1).sym(">") || !r.last().endsOperand() {
		return false
	}
	next := r.at(1)
	texts := next.kind == statement.TokenText && !isMarker(next.val)
	list := next.word("ARRAY") && r.at(2).sym("[")
	left := r.documentOperand()
	known := r.isDocumentExpr(left)
	if len(left) == 0 || !known && !texts && !list || texts && !known && isTime(next.val) {
		return false
	}
	end := endOfPrimary(r.in, r.i+1) - r.i
	if typ, ok := r.typeAfter(2); texts && ok {
		list = typ.array
		if !typ.isText() && (!typ.array || !strings.HasPrefix(typ.text, "VARCHAR")) {
			return false // a time
		}
	}
	if !known {
		typ, ok := r.operandType(left)
		if !ok {
			return true
		}
		if typ != "JSON" {
			return false
		}
	}
	return r.writeDocument(left, end, func() string {
		right := joined(r.all(r.in[r.i+1 : r.i+end]))
		switch {
		case list:
			return ofTwo(r.asDocument(left), "CAST("+right+" AS VARCHAR[])", withoutKeys)
		case texts, isParameter(r.in[r.i+1 : r.i+end]):
			return ofTwo(r.asDocument(left), "[CAST("+right+" AS VARCHAR)]", withoutKeys)
		}
		return ofTwo(r.asDocument(left), right, withoutElement)
	})
}

// isTime reports whether a text begins like an interval or a time, which may be subtracted.
func isTime(text string) bool {
	text = strings.TrimLeft(text, " +-")
	return text != "" && text[0] >= '0' && text[0] <= '9'
}

// pathDeletion rewrites document #- path with a literal path.
func (r *rewriter) pathDeletion() bool {
	keys, size, ok := r.keys(2)
	if !ok || len(keys) == 0 || len(keys) > maxSetKeys {
		return r.refuse("#- needs a literal path of at most "+itoa(maxSetKeys)+" keys, such as '{a,b}'", 0)
	}
	if typ, ok := r.typeAfter(2 + size); ok && typ.array {
		size += typ.size + 1
	}
	left := r.documentOperand()
	if len(left) == 0 {
		return false
	}
	return r.writeDocument(left, 2+size, func() string {
		document, last := r.asDocument(left), keys[len(keys)-1]
		if keys = keys[:len(keys)-1]; len(keys) == 0 {
			return without(document, last)
		}
		part := atPath("cordwood_d1", keys, false)
		return bound(document, 1, "CASE WHEN json_type("+part+") IN ('OBJECT', 'ARRAY') THEN "+
			replaced(keys, 1, without(part, last), false)+" ELSE cordwood_d1 END")
	})
}

// without removes the part with a key or number from an object or a list.
func without(document, key string) string {
	object := ofTwo(document, "["+quote(key)+"]", withoutKeys)
	if !keyNumber.MatchString(key) {
		return object
	}
	return "CASE WHEN json_type(" + document + ") = 'ARRAY' THEN " + ofTwo(document, key, withoutElement) + " ELSE " +
		object + " END"
}

// existence rewrites document ? key, ?| keys and ?& keys.
func (r *rewriter) existence() bool {
	from, call := 1, "list_contains"
	switch {
	case r.at(1).sym("|"):
		from, call = 2, "list_has_any"
	case r.at(1).sym("&"):
		from, call = 2, "list_has_all"
	}
	end := endOfPrimary(r.in, r.i+from) - r.i
	if end <= from {
		return false
	}
	left := r.documentOperand()
	if len(left) == 0 {
		return false
	}
	right := r.in[r.i+from : r.i+end]
	if from == 1 && !isText(right) && !isParameter(right) {
		return false
	}
	first := left[0]
	r.out = r.out[:len(r.out)-len(left)]
	keys := joined(r.all(right))
	switch {
	case from == 2 && isText(right):
		list, ok := listLiteral(right[0].val)
		if !ok {
			r.err = &Error{State: "22P02", Text: fmt.Sprintf("malformed array literal: %q", right[0].val), At: right[0].at}
			return true
		}
		keys = "CAST(" + list + " AS VARCHAR[])"
	case from == 2:
		keys = "CAST(" + keys + " AS VARCHAR[])"
	case isParameter(right):
		keys = "CAST(" + keys + " AS VARCHAR)"
	}
	r.raw(first, call+"("+bound(r.asDocument(left), 1, documentNames)+", "+keys+")")
	r.i += end
	return true
}

// refuse fails with an error about a form that is not supported, at a token.
func (r *rewriter) refuse(text string, n int) bool {
	if r.err == nil {
		r.err = &Error{State: "0A000", Text: text, At: r.at(n).at}
	}
	return true
}
