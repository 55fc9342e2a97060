package pgwire

import (
	"strings"

	"cordwood/proto/schema"
	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

// readValues decodes texts that begin with \x if their columns are binary, as PostgreSQL does, and refuses numbers as
// times.
func (e *executor) readValues(st *statement.Insert) error {
	var t *schema.Table
	for _, row := range st.Values {
		for i, v := range row {
			number := v.Kind == statement.Number || v.Kind == statement.Text && v.Text != "" &&
				strings.Trim(v.Text, "0123456789") == ""
			if !number && (v.Kind != statement.Text || !strings.HasPrefix(v.Text, `\x`)) {
				continue
			}
			if t == nil {
				found, err := e.runner.target(st.Name)
				if err != nil {
					return nil // the INSERT itself reports it
				}
				t = found
			}
			col := columnAt(t, st.Columns, i)
			if number {
				if col == nil || !col.Type.IsTimestamp() {
					continue
				}
				if v.Kind == statement.Number {
					return numberAsTime(col, v.Text)
				}
				day, err := value.Store(value.TimestampTZ, value.FormatText, []byte(v.Text)) // such as 20260105
				if err != nil {
					return asError(err, nil)
				}
				row[i].Text = day.Text
				continue
			}
			if col == nil || col.Type != schema.Binary {
				continue
			}
			stored, err := value.Store(value.Bytea, value.FormatText, []byte(v.Text))
			if err != nil {
				return asError(err, nil)
			}
			row[i] = statement.Literal{Kind: statement.Bytes, Text: stored.Text}
		}
	}
	return nil
}

// numberAsTime returns the error for a number that is stored in a column of times. PostgreSQL refuses it as well, and
// the unit of the number could be any.
func numberAsTime(col *schema.Column, number string) *Error {
	typ := "bigint"
	if strings.ContainsAny(number, ".eE") {
		typ = "numeric"
	}
	return failure("42804", "column %q is of type timestamp with time zone but expression is of type %s",
		excerpt(col.Name), typ).withHint("write a text such as '2026-01-05 10:00:00', or to_timestamp(x) for seconds")
}

// columnAt returns the column for the i-th value of an INSERT with the given columns, or with all if there are none.
func columnAt(t *schema.Table, names []string, i int) *schema.Column {
	switch {
	case len(names) == 0 && i < len(t.Columns):
		return &t.Columns[i]
	case i < len(names):
		return t.Column(names[i])
	}
	return nil
}
