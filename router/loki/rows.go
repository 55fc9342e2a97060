package loki

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/explore/roles"
	"cordwood/router/loki/lines"
	"cordwood/router/loki/translate"
	"cordwood/router/query/format"
)

// selected returns the SELECT list for entries: the time, the line, the level, labels, metadata and attributes.
func selected(t *translate.Table) string {
	line := t.LineSQL()
	if t.Message != nil {
		line = schema.QuoteIdent(t.Message.Name)
	}
	columns := []string{t.Time(), line}
	for _, list := range [][]translate.Column{t.Labels, t.Metadata} {
		for _, c := range list {
			columns = append(columns, translate.CastText(c.Def))
		}
	}
	for _, c := range t.Attributes {
		columns = append(columns, translate.CastText(c))
	}
	return strings.Join(columns, ", ")
}

// entries decodes rows with the columns of selected.
func entries(t *translate.Table, rec arrow.RecordBatch, each func(*lines.Entry) error) error {
	times, ok := rec.Column(0).(*array.Timestamp)
	if !ok {
		return errs.New(errs.Internal, "read entries: the time has type %s, which is not a timestamp",
			rec.Column(0).DataType())
	}
	texts := make([]func(int) string, rec.NumCols())
	for i := 1; i < len(texts); i++ {
		column := rec.Column(i)
		read := format.Text(column)
		if read == nil && column.DataType().ID() != arrow.NULL {
			return errs.New(errs.Internal, "read entries: column %d has type %s, which cannot be converted to text", i,
				column.DataType())
		}
		texts[i] = func(row int) string {
			if read == nil || format.IsNull(column, row) {
				return ""
			}
			return strings.Clone(read(row))
		}
	}
	for row := range int(rec.NumRows()) {
		e := &lines.Entry{Nanos: timeOf(int64(times.Value(row)), t), Line: texts[1](row)}
		at := 2
		next := func() string {
			at++
			return texts[at-1](row)
		}
		fill(t, e, func(*schema.Column) string { return next() })
		if err := each(e); err != nil {
			return err
		}
	}
	return nil
}

// fill sets the labels and the metadata of an entry. text returns the value of a column; it is called once for each
// column, in the order of selected.
func fill(t *translate.Table, e *lines.Entry, text func(*schema.Column) string) {
	e.Labels = map[string]string{translate.TableLabel: t.Def.Name}
	e.Metadata = map[string]string{}
	level := ""
	read := func(list []translate.Column, to map[string]string) {
		for _, c := range list {
			if v := text(c.Def); v != "" {
				to[c.Label] = v
			}
		}
	}
	read(t.Labels, e.Labels)
	read(t.Metadata, e.Metadata)
	for _, c := range t.Attributes {
		attributes(text(c), e)
	}
	if e.Labels[translate.ServiceLabel] == "" {
		e.Labels[translate.ServiceLabel] = t.ServiceOf(e.Labels)
	}
	if t.Level != nil {
		level = levelOf(t, e)
	}
	if level == "" {
		level = translate.LevelOfLine(e.Line)
	}
	e.Metadata[translate.LevelLabel] = level
}

// levelOf returns the level by the level column, or an empty string.
func levelOf(t *translate.Table, e *lines.Entry) string {
	get := func(c *schema.Column) string {
		label := translate.LabelName(c.Name)
		if v := e.Labels[label]; v != "" {
			return v
		}
		return e.Metadata[label]
	}
	text := get(t.Level.Column)
	if t.Level.Scheme == roles.Text {
		if level := translate.LevelOfWord(text); level != "" || t.Level.Number == nil || text != "" {
			return level
		}
		return translate.LevelOfNumber(roles.OTel, get(t.Level.Number))
	}
	return translate.LevelOfNumber(t.Level.Scheme, text)
}

// attributes adds the members of a JSON object to the metadata of an entry, unless the metadata has the key already.
func attributes(text string, e *lines.Entry) {
	if text == "" || text == "{}" {
		return
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) != nil {
		return
	}
	// Two names may become one label. Which of them counts must not change from query to query.
	for _, name := range slices.Sorted(maps.Keys(members)) {
		raw, value := members[name], ""
		if raw[0] != '"' {
			value = string(raw)
		} else if json.Unmarshal(raw, &value) != nil {
			continue
		}
		name = translate.LabelName(name)
		if value != "" && value != "null" && name != "" && e.Labels[name] == "" && e.Metadata[name] == "" {
			e.Metadata[name] = value
		}
	}
}
