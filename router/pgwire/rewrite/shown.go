package rewrite

import (
	"slices"
	"strings"

	"cordwood/router/query/pgcatalog"
	"cordwood/router/query/statement"
)

// Texts of times, bytes and booleans differ between PostgreSQL and the engine: a timestamptz has its offset, bytes
// begin with \x, and concat writes t for true. The engine is asked for the type of an expression if its form allows
// such a value.

// The OIDs of the types whose texts differ.
const (
	typeBool  = 16
	typeBytes = 17
	typeTime  = 1184
)

// momentCalls are the functions that return times, or a value of their arguments.
var momentCalls = func() map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(`now date_trunc time_bucket date_bin to_timestamp timezone max min coalesce
		greatest least nullif any_value first last arg_max arg_min max_by min_by first_value last_value nth_value lag lead
		mode make_timestamp make_timestamptz clock_timestamp statement_timestamp transaction_timestamp decode from_hex
		sha256 convert_to array_agg row unnest`) {
		m[name] = true
	}
	return m
}()

// columnTypes are the types of the columns of a statement's tables.
type columnTypes struct {
	types map[string][]int64
	// catalog is true if the statement reads the catalog, whose columns are not in types.
	catalog bool
}

// findColumnTypes looks up the tables that the tokens of a statement may name.
func (r *rewriter) findColumnTypes(toks []tok) (c columnTypes) {
	if r.s.ColumnTypes == nil {
		return columnTypes{catalog: true}
	}
	c.types = map[string][]int64{}
	seen := map[int64]bool{}
	for i, t := range toks {
		if !t.isName() {
			continue
		}
		lower := strings.ToLower(t.val)
		if strings.HasPrefix(lower, "pg_") && pgcatalog.Find(lower) != nil || lower == "information_schema" {
			c.catalog = true
		}
		if i == 0 || toks[i-1].word("AS") {
			continue
		}
		schemaName := ""
		if toks[i-1].sym(".") && i > 1 {
			schemaName = toks[i-2].val
		}
		for _, name := range []string{t.val, lower} {
			oid, ok := r.s.Relation(schemaName, name)
			if !ok || seen[oid] {
				continue
			}
			seen[oid] = true
			for column, typ := range r.s.ColumnTypes(oid) {
				column = strings.ToLower(column)
				c.types[column] = append(c.types[column], typ)
			}
		}
	}
	return c
}

// onlyTimes reports whether all columns of a name have times.
func (c columnTypes) onlyTimes(name string) bool {
	types := c.types[strings.ToLower(name)]
	return len(types) > 0 && !slices.ContainsFunc(types, func(typ int64) bool { return typ != typeTime })
}

// mayBe reports whether an expression may have one of the types, or be a row or a list with such a value.
func (r *rewriter) mayBe(toks []tok, types ...int64) bool {
	for len(toks) > 2 && toks[0].sym("(") && closingIndex(toks, 0) == len(toks)-1 {
		toks = toks[1 : len(toks)-1]
	}
	if len(toks) == 0 || r.columns().catalog {
		return false
	}
	if c := lastCast(toks); c > 0 {
		name := strings.ToLower(toks[c+1].val)
		return strings.HasPrefix(name, "timestamp") || name == "bytea" ||
			strings.HasPrefix(name, "bool") && slices.Contains(types, typeBool)
	}
	if len(toks) > 2 && toks[1].sym("(") && closingIndex(toks, 1) == len(toks)-1 &&
		!momentCalls[strings.ToLower(toks[0].val)] {
		return false
	}
	for i, t := range toks {
		if !t.isName() || t.kind == statement.TokenWord && notValues[strings.ToUpper(t.val)] {
			continue
		}
		if i+1 < len(toks) && toks[i+1].sym("(") {
			if momentCalls[strings.ToLower(t.val)] {
				return true
			}
			continue
		}
		if i+1 < len(toks) && toks[i+1].sym(".") {
			continue
		}
		of, known := r.columns().types[strings.ToLower(t.val)]
		if !known || slices.ContainsFunc(of, func(typ int64) bool { return slices.Contains(types, typ) }) {
			return true
		}
	}
	return false
}

// notValues are the words in expressions that are no names.
var notValues = func() map[string]bool {
	m := map[string]bool{}
	for word := range strings.FieldsSeq(`CASE WHEN THEN ELSE END AND OR NOT NULL IS IN LIKE ILIKE BETWEEN INTERVAL AT TIME
		ZONE FROM DISTINCT ARRAY FILTER OVER PARTITION BY ORDER WHERE ASC DESC`) {
		m[word] = true
	}
	return m
}()

// typeAt returns the engine's type of an expression, which is asked for by its place. If this rewriting is to find it,
// probe is the call that the engine refuses with the type.
func (r *rewriter) typeAt(at int, expression string) (typ, probe string) {
	if at == 0 {
		return "", ""
	}
	if at == r.s.Probe {
		return "", "epoch_ns(" + expression + ", 1, 1)"
	}
	typ, known := r.s.Operands[at]
	if !known && len(r.casts) <= maxUnknown && !slices.Contains(r.casts, at) {
		r.casts = append(r.casts, at)
	}
	return typ, ""
}

// isMomentType reports whether a type of the engine is a time that clients see as timestamptz.
func isMomentType(typ string) bool {
	return typ == "TIMESTAMP" || strings.HasPrefix(typ, "TIMESTAMP_")
}

// shownText returns the text of an expression in PostgreSQL's form. ok is false if it is the engine's.
func (r *rewriter) shownText(expression string, source []tok, at int) (text string, ok bool) {
	if !r.mayBe(source, typeTime, typeBytes) || local(source, true, 0) {
		return "", false
	}
	typ, probe := r.typeAt(at, expression)
	switch {
	case probe != "":
		return probe, true
	case isMomentType(typ):
		return "(CAST(" + expression + " AS VARCHAR) || '+00')", true
	case typ == "BLOB":
		return `('\x' || lower(hex(` + expression + `)))`, true
	}
	return "", false
}

// textCast rewrites x::text, whose operand x is at the end of the output.
func (r *rewriter) textCast(t castType) bool {
	last := r.last()
	if !t.isText() || t.array || t.length > 0 || t.isReg() || last.word("END") || last.kind == statement.TokenText ||
		last.kind == statement.TokenNumber || r.regNames[last.text] != "" || r.regs[last.text].typ != "" {
		return false
	}
	if n := len(r.out); n > 2 && r.out[n-2].sym("::") && !isMomentType(last.text) && last.text != "BLOB" {
		return false
	}
	source := r.in[operandBefore(r.in, r.i):r.i]
	if !r.mayBe(source, typeTime, typeBytes) {
		return false
	}
	operand := r.operand()
	if len(operand) == 0 || isParameter(operand) {
		return false
	}
	text, ok := r.shownText(joined(operand), source, r.at(0).at)
	if !ok {
		return false
	}
	first := operand[0]
	r.out = r.out[:len(r.out)-len(operand)]
	r.i += 1 + t.size
	r.raw(first, text)
	return true
}

// timeJoined rewrites text || ts, whose right operand ends n tokens ahead.
func (r *rewriter) timeJoined(right []tok, end int) bool {
	if !r.mayBe(right, typeTime) || local(right, true, 0) {
		return false
	}
	text := joined(r.all(right))
	typ, probe := r.typeAt(right[0].at, text)
	switch {
	case probe != "":
		text = "|| " + probe
	case isMomentType(typ):
		text = "|| (CAST(" + text + " AS VARCHAR) || '+00')"
	default:
		return false
	}
	r.raw(r.at(0), text)
	r.i += end
	return true
}

// concatCall rewrites concat and concat_ws.
func concatCall(name string) expand {
	return func(r *rewriter, args []string) (string, bool) {
		source := r.sourceArguments()
		if len(source) != len(args) {
			return "", false
		}
		changed := false
		for i, arg := range args {
			text := ""
			switch {
			case strings.EqualFold(strings.TrimSpace(arg), "true"):
				text = "'t'"
			case strings.EqualFold(strings.TrimSpace(arg), "false"):
				text = "'f'"
			case len(source[i]) == 0 || !r.mayBe(source[i], typeTime, typeBytes, typeBool):
			case local(source[i], true, 0):
			default:
				typ, probe := r.typeAt(source[i][0].at, arg)
				switch {
				case probe != "":
					text = probe
				case typ == "BOOLEAN":
					text = "CASE (" + arg + ") WHEN TRUE THEN 't' WHEN FALSE THEN 'f' END"
				case isMomentType(typ):
					text = "(CAST(" + arg + " AS VARCHAR) || '+00')"
				case typ == "BLOB":
					text = `('\x' || lower(hex(` + arg + `)))`
				}
			}
			if text != "" {
				args[i], changed = text, true
			}
		}
		return name + "(" + strings.Join(args, ", ") + ")", changed
	}
}
