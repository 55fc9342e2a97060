package scope

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/proto/schema"
	"cordwood/router/query/format"
	"cordwood/router/vrl/value"
)

// Cut shortens a text to at most n bytes, at the end of a character.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// ValueJSON returns a value as JSON. Texts are cut to most bytes. If a text was cut, whole is its full length,
// otherwise 0.
func ValueJSON(a arrow.Array, row, most int) (text json.RawMessage, whole int) {
	if format.IsNull(a, row) {
		return json.RawMessage("null"), 0
	}
	if texts := format.Text(a); texts != nil {
		s := texts(row)
		if len(s) > most {
			whole = len(s)
		}
		return value.AppendJSONString(nil, Cut(s, most)), whole
	}
	return format.SafeCell(a)(nil, row), 0
}

// TextLiteral returns a text as an SQL expression. A literal cannot contain NUL characters, which logs may have.
func TextLiteral(text string) string {
	parts := strings.Split(text, "\x00")
	for i, part := range parts {
		parts[i] = schema.QuoteLiteral(part)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "(" + strings.Join(parts, " || chr(0) || ") + ")"
}

// maxLiteral is the maximum size of a text that ValueLiteral returns as a literal, in bytes.
const maxLiteral = 8 << 10

// maxNULs is the maximum number of NUL characters in such a text. Each of them makes the expression deeper.
const maxNULs = 100

// ValueLiteral returns a value that is not null as an SQL literal for comparison with its column. If the value
// cannot be compared or is too long, ok is false.
func ValueLiteral(a arrow.Array, row int) (sql string, ok bool) {
	if texts := format.Text(a); texts != nil {
		s := texts(row)
		return TextLiteral(s), len(s) <= maxLiteral && strings.Count(s, "\x00") <= maxNULs
	}
	literal := string(format.SafeCell(a)(nil, row))
	if len(literal) > 1 && literal[0] == '"' {
		literal = literal[1 : len(literal)-1]
	}
	switch id := a.DataType().ID(); {
	case id == arrow.FLOAT32 || id == arrow.FLOAT64:
		return "CAST(" + schema.QuoteLiteral(literal) + " AS DOUBLE)", true
	case id == arrow.BOOL || arrow.IsInteger(id):
		return literal, true
	case id == arrow.TIMESTAMP:
		return schema.QuoteLiteral(literal), true
	}
	return "", false
}
