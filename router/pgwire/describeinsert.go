package pgwire

import (
	"cordwood/proto/schema"
	"cordwood/router/pgwire/rewrite"
	"cordwood/router/query/statement"
)

// describeInsert gives parameters the types of the columns that they are stored in.
func (d *describer) describeInsert(p *prepared, st *statement.Insert) error {
	t, err := d.runner.target(st.Name)
	if err != nil {
		return asError(err, nil)
	}
	names := st.Columns
	if len(names) == 0 {
		for _, col := range t.Columns {
			names = append(names, col.Name)
		}
	}
	if st.Query != "" {
		return d.describeInsertQuery(p, t, names)
	}
	for _, row := range st.Values {
		for i, v := range row {
			n := markedAs(v.Text)
			if v.Kind != statement.Text || n == 0 || i >= len(names) {
				continue
			}
			col := t.Column(names[i])
			if given := p.params[n-1]; given != nil {
				if col != nil && col.Type.IsTimestamp() && given.IsNumber() {
					return numberAsTime(col, "")
				}
				continue
			}
			if col != nil {
				p.params[n-1] = storedType(col.Type)
			}
		}
	}
	if err := d.describeExpressions(p); err != nil {
		return err
	}
	return d.describeReturning(p)
}

// describeExpressions gives parameters in expressions of VALUES the types that they have in a query.
func (d *describer) describeExpressions(p *prepared) error {
	text := rewrite.ValueExpressions(p.cmd.text)
	if text == "" || len(p.places) == 0 {
		return nil // running it returns the error, if there is one
	}
	query := &prepared{cmd: newCommand(text), params: p.params}
	for _, place := range p.places {
		if text[place.From] == '$' {
			query.places = append(query.places, place)
			if p.computed == nil {
				p.computed = map[int]bool{}
			}
			p.computed[place.Number] = true
		}
	}
	if len(query.places) == 0 {
		return nil
	}
	return d.describeQuery(query)
}

// describeInsertQuery gives parameters that are whole expressions of the select list the types of the columns that they
// are stored in, and other parameters the types that they have in the query.
func (d *describer) describeInsertQuery(p *prepared, t *schema.Table, names []string) error {
	insert := insertIn(p.cmd.text)
	if insert == nil || len(p.places) == 0 {
		return nil // running it returns the error, if there is one
	}
	for i, n := range rewrite.ParameterItems(insert.Query) {
		if i >= len(names) || n < 1 || n > len(p.params) || p.params[n-1] != nil {
			continue
		}
		if col := t.Column(names[i]); col != nil {
			p.params[n-1] = storedType(col.Type)
		}
	}
	from := firstToken(p.cmd.text) + insert.QueryAt
	query := &prepared{cmd: newCommand(insert.Query), params: p.params}
	for _, place := range p.places {
		place.From -= from
		place.To -= from
		query.places = append(query.places, place)
	}
	if err := d.describeQuery(query); err != nil {
		before := p.cmd.text[:from]
		return within(err, &before)
	}
	return nil
}

// firstToken returns the byte offset of the first token that is not a comment.
func firstToken(text string) int {
	for _, t := range statement.Tokens(text) {
		if t.Kind != statement.TokenComment {
			return t.From
		}
	}
	return 0
}

// describeReturning determines the columns of RETURNING.
func (d *describer) describeReturning(p *prepared) error {
	text := rewrite.Returning(p.cmd.text)
	if text == "" {
		return nil
	}
	if places, _, err := rewrite.Places(text); err != nil || len(places) > 0 {
		return unsupported("RETURNING cannot contain parameters; use expressions of the columns of the table")
	}
	answer, err := d.describe(&prepared{}, text)
	if err != nil {
		return d.translator.placed(err, &command{text: text, verb: p.cmd.verb}, text)
	}
	p.columns = d.columns(text, answer)
	return nil
}
