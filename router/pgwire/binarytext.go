package pgwire

import (
	"strings"

	"cordwood/proto/schema"
	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

// readBytes decodes texts that begin with \x if their columns are binary, as PostgreSQL does.
func (e *executor) readBytes(st *statement.Insert) error {
	var t *schema.Table
	for _, row := range st.Values {
		for i, v := range row {
			if v.Kind != statement.Text || !strings.HasPrefix(v.Text, `\x`) {
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
