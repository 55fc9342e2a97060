package rewrite

import (
	"strings"

	"cordwood/proto/schema"
	"cordwood/router/query/pgcatalog"
	"cordwood/router/query/statement"
)

// rule applies the first rule that matches the next tokens.
func (r *rewriter) rule() bool {
	t := r.at(0)
	switch {
	case t.sym("::"):
		return r.cast()
	case t.kind == statement.TokenText:
		return r.pattern() || r.literal() || r.comparedBytes() || r.untypedMoment() || r.wordedMoment() || r.textNumber()
	case t.sym("("):
		return r.rowComparison() || r.bareRow()
	case t.sym("$") && r.afterMatch():
		return r.patternParameter()
	case t.sym("#"), t.sym("?"), t.sym("@"), t.sym("|"), t.sym("-"), t.sym("<"), t.sym("="), t.sym("!"):
		return r.document()
	case t.kind == statement.TokenNumber:
		return r.number()
	case t.sym("[") && vectors[strings.ToLower(r.last().val)]:
		return r.subscript()
	case t.kind == statement.TokenWord && !r.last().sym("."):
		return r.words()
	case t.kind == statement.TokenName && !r.last().sym("."):
		return r.quotedName()
	case t.kind == statement.TokenWord:
		return r.functionColumn()
	}
	return false
}

// quotedName applies the rules for table names to quoted names.
func (r *rewriter) quotedName() bool {
	t := r.at(0)
	schemaOf := r.at(1).sym(".") && r.at(2).isName()
	switch {
	case t.val == pgcatalog.Database && schemaOf:
		return r.qualified()
	case t.val == schema.InformationDatabase && schemaOf:
		return r.information()
	case strings.HasPrefix(t.val, "pg_"):
		return r.relation(0)
	}
	return false
}

// functionColumn rewrites p.oid = t.typreceive: columns that refer to functions contain the names of the functions.
func (r *rewriter) functionColumn() bool {
	t := r.at(0)
	if !t.word("oid") || !r.at(1).sym("=") || !r.at(2).isName() || !r.at(3).sym(".") || !r.at(4).isName() ||
		!functionColumns[strings.ToLower(r.at(4).val)] {
		return false
	}
	r.raw(t, "proname")
	r.i++
	return true
}

// functionColumns are the columns of the catalog that refer to functions of types.
var functionColumns = map[string]bool{
	"typinput": true, "typoutput": true, "typreceive": true, "typsend": true, "typmodin": true, "typmodout": true,
	"typanalyze": true,
}

// afterFunctionColumn reports whether the next token is compared with a column that refers to a function. PostgreSQL
// compares its OID; the column has the name of the function here, and "-" for none.
func (r *rewriter) afterFunctionColumn() bool {
	n := len(r.out)
	for n > 0 && (r.out[n-1].sym("=") || r.out[n-1].sym("!") || r.out[n-1].sym("<") || r.out[n-1].sym(">")) {
		n--
	}
	return n > 0 && n < len(r.out) && functionColumns[strings.ToLower(r.out[n-1].val)]
}

// vectors are columns whose elements are counted from 0 in PostgreSQL.
var vectors = map[string]bool{"indkey": true, "indclass": true, "indcollation": true, "indoption": true}

// subscript adds 1 to a subscript that is counted from 0.
func (r *rewriter) subscript() bool {
	end := r.closingBracket(0)
	if end < 2 {
		return false
	}
	inner := r.all(r.in[r.i+1 : r.i+end])
	r.raw(r.at(0), "[("+joined(inner)+") + 1]")
	r.i += end + 1
	return true
}

// words applies the rules for tokens that start with a word.
func (r *rewriter) words() bool {
	t := r.at(0)
	if r.last().word("AS") && !r.at(1).sym("(") && folded(t) != t.text {
		t.text = folded(t) // an alias
		r.push(t)
		r.i++
		return true
	}
	switch strings.ToUpper(t.val) {
	case "COLLATE":
		return r.collate()
	case "OPERATOR":
		return r.operator()
	case "DESC":
		return r.descending()
	case "TIES":
		if r.ties() {
			return true
		}
	case "FETCH", "OFFSET":
		if r.rowsOnly() {
			return true
		}
	case "AT":
		if r.atTimeZone() {
			return true
		}
	case "ANY", "ALL", "SOME":
		return r.quantified()
	case "CAST":
		return r.castCall()
	case "PG_CATALOG":
		if r.at(1).sym(".") && r.at(2).isName() {
			return r.qualified()
		}
	case "INFORMATION_SCHEMA":
		if r.at(1).sym(".") && r.at(2).isName() {
			return r.information()
		}
	case "TIMESTAMPTZ", "TIMESTAMP", "TIMESTAMP_NS":
		return r.typedMoment()
	case "DATE", "TIME", "TIMETZ", "INTERVAL", "BOOLEAN", "BOOL":
		if r.typedTime() {
			return true
		}
	case "BYTEA":
		if r.typedBytes() {
			return true
		}
	case "B", "X":
		r.bitString()
	case "U":
		if r.unicodeText() {
			return true
		}
	case "OVERLAPS":
		if r.overlaps() {
			return true
		}
	case "VALUES":
		if r.valueList() {
			return true
		}
	case "NUMERIC", "DECIMAL", "DEC":
		if r.typedNumber() {
			return true
		}
	case "FLOAT":
		if r.at(1).kind == statement.TokenText {
			t.text = "DOUBLE"
			r.push(t)
			r.i++
			return true
		}
	}
	if r.at(1).sym("(") {
		return r.call(0)
	}
	if text, ok := r.bareWord(t); ok {
		r.raw(t, text)
		r.i++
		return true
	}
	return r.relation(0)
}

// bitString refuses b'…' and x'…': the engine reads them as texts, with the letter. In INSERT, x'…' are bytes.
func (r *rewriter) bitString() {
	t := r.at(0)
	if r.err == nil && r.at(1).kind == statement.TokenText && r.at(1).at == t.at+1 && !r.in[0].word("INSERT") {
		r.err = &Error{
			State: "0A000", At: t.at,
			Text: `bit strings are not available: write bytes as '\x1f'::bytea, and numbers in decimal`,
		}
	}
}

// collate removes the names of collations that sort as the engine does anyway.
func (r *rewriter) collate() bool {
	n := 1
	if r.at(1).word("pg_catalog") && r.at(2).sym(".") {
		n = 3
	}
	switch t := r.at(n); strings.ToLower(t.val) {
	case "default", "c", "posix", "ucs_basic":
		r.i += n + 1
		return true
	}
	return false
}

// operator rewrites OPERATOR(pg_catalog.~) as ~.
func (r *rewriter) operator() bool {
	if !r.at(1).sym("(") || !r.at(2).word("pg_catalog") || !r.at(3).sym(".") {
		return false
	}
	n := 4
	text := ""
	for ; r.at(n).kind == statement.TokenSymbol && !r.at(n).sym(")"); n++ {
		text += r.at(n).text
	}
	if !r.at(n).sym(")") || text == "" {
		return false
	}
	r.raw(r.at(0), text)
	r.i += n + 1
	return true
}
