package rewrite

import (
	"strings"

	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

// write writes a cast of an operand.
func (r *rewriter) write(operand []tok, t castType, at tok) {
	first := operand[0]
	if r.cutText(operand, t) {
		return
	}
	if t.isReg() && t.array {
		r.regList(operand, t)
		return
	}
	if isText(operand) {
		if r.writeLiteral(first, t) {
			return
		}
	} else {
		c, isName := r.regs[first.text]
		switch {
		case len(operand) == 1 && r.regNames[first.text] != "" && t.isText():
			r.raw(first, quote(r.regNames[first.text]))
			return
		case isName && len(operand) == 1 && oidTypes[t.name]:
			r.raw(first, r.oidOf(c.typ, c.operand))
			return
		case t.isReg() && operand[0].word("unnest"):
			// Rows of OIDs stay numbers: a name would be looked up by a query, which cannot contain rows.
			t.text = "BIGINT"
		case t.isReg():
			r.regValue(operand, t.name)
			return
		case len(operand) == 1 && isMoment(first) && t.isMoment():
			r.moment(first, first.text)
			return
		case t.number && r.writeNumber(operand, t, at.at):
			return
		case t.name == "timestamptz" && isParameter(operand):
			t.text = "TIMESTAMP_NS"
		}
	}
	for _, o := range operand {
		r.push(o)
	}
	r.pushCast(t, at.at)
}

// writeLiteral writes the value of a text that is cast. It reports false and writes nothing if the engine's own cast
// is right, or if the text has no value of the type.
func (r *rewriter) writeLiteral(text tok, t castType) bool {
	switch {
	case t.isReg() && strings.HasPrefix(t.name, "regproc") && !r.at(0).sym("::"):
		_, name := splitName(text.val) // values of this type are names
		r.raw(text, quote(name))
		return true
	case t.isReg():
		number := r.regLiteral(t.name, text.val)
		if r.isShown() && r.err == nil {
			number = quote(r.regNames[number])
		}
		r.raw(text, number)
		return true
	case r.timeLiteral(text, t):
		return true
	case t.isMoment():
		moment, err := value.MomentLiteral(t.withoutZone(text.val))
		if err != nil {
			return r.checked(text, "", err)
		}
		r.moment(text, moment)
		return true
	case t.bare && t.array:
		list, err := value.Literal(value.ArrayOf(value.Numeric), value.FormatText, []byte(text.val))
		return r.checked(text, list, err)
	case t.bare:
		number, err := value.Decimal(text.val)
		return r.checked(text, number, err)
	case t.number && !t.array:
		number, err := value.Decimal(text.val)
		return r.checked(text, "CAST("+number+" AS "+t.text+")", err)
	case checkedTypes[t.name] != nil && !t.array:
		_, err := value.Literal(checkedTypes[t.name], value.FormatText, []byte(text.val))
		if err != nil {
			return r.checked(text, "", err)
		}
	case t.array:
		elem := checkedTypes[t.name]
		if elem == nil {
			elem = value.Text
		}
		if _, err := value.Literal(value.ArrayOf(elem), value.FormatText, []byte(text.val)); err != nil {
			return r.checked(text, "", err)
		}
		list, ok := listLiteral(text.val)
		if ok {
			r.raw(text, "CAST("+list+" AS "+listType(list, t.text)+")")
		}
		return ok
	case t.name == "bytea":
		literal, err := value.Literal(value.Bytea, value.FormatText, []byte(text.val))
		return r.checked(text, literal, err)
	}
	return false
}

// isMoment reports whether the type is a timestamp, with or without a time zone.
func (t castType) isMoment() bool {
	return (t.name == "timestamptz" || t.name == "timestamp") && !t.array
}

// isText reports whether an operand is a text in quotes that a client wrote.
func isText(operand []tok) bool {
	return len(operand) == 1 && operand[0].kind == statement.TokenText && !isMarker(operand[0].val)
}

func (r *rewriter) pushCast(t castType, at int) {
	if n := len(r.out); t.array && n > 1 && r.out[n-1].kind == written && r.out[n-2].sym("::") {
		// A cast does not change the number of dimensions.
		t.text = strings.TrimRight(t.text, "[]") + strings.Repeat("[]", max(strings.Count(r.out[n-1].text, "[]"), 1))
	}
	r.push(tok{kind: statement.TokenSymbol, text: "::", val: "::", at: at})
	r.push(tok{kind: written, text: t.text, val: t.text, at: at})
}

// isMarker reports whether a text replaces the value of a parameter.
func isMarker(text string) bool { return strings.HasPrefix(text, "$cordwood parameter ") }

func isParameter(operand []tok) bool { return len(operand) == 2 && operand[0].sym("$") }

func joined(list []tok) string {
	var b strings.Builder
	for i, t := range list {
		if i > 0 {
			b.WriteString(t.pre)
		}
		b.WriteString(t.text)
	}
	return b.String()
}
