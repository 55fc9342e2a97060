package iceberg

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"cordwood/proto/schema"
	"cordwood/shard/segment"
)

// Schema is a schema in the metadata of an Iceberg table.
type Schema struct {
	Type   string  `json:"type"`
	ID     int32   `json:"schema-id"`
	Fields []Field `json:"fields"`
}

// Field is a column of a Schema.
type Field struct {
	ID       int32           `json:"id"`
	Name     string          `json:"name"`
	Required bool            `json:"required"`
	Type     string          `json:"type"`
	Default  json.RawMessage `json:"initial-default,omitempty"`
	Write    json.RawMessage `json:"write-default,omitempty"`
}

// NewSchema returns the schema of a table. Ids of fields are those of columns and of their hidden forms, and the id of
// the schema is the version of the table. It fails if a default cannot be shown.
func NewSchema(t *schema.Table, f Format) (*Schema, error) {
	s := &Schema{Type: "struct", ID: int32(t.Version), Fields: make([]Field, len(t.Columns))}
	names := fieldNames(t)
	for i := range t.Columns {
		c := &t.Columns[i]
		typ, _ := f.typeOf(c.Type)
		// Every object has the time index. Other columns are not in objects without a value of them.
		s.Fields[i] = Field{ID: f.fieldID(c), Name: names[i], Type: typ, Required: c.Semantic == schema.Timestamp}
		if text, ok := filled(c); ok && f >= 3 {
			b, err := defaultJSON(c.Type, text)
			if err != nil {
				return nil, fmt.Errorf("column %s: %w", c.Name, err)
			}
			s.Fields[i].Default, s.Fields[i].Write = b, b
		}
	}
	return s, nil
}

// fieldNames returns the names of the columns. With the option iceberg_names=underscore, they have no dots.
func fieldNames(t *schema.Table) []string {
	names := make([]string, len(t.Columns))
	taken := map[string]bool{}
	for i := range t.Columns {
		names[i] = t.Columns[i].Name
		taken[names[i]] = true
	}
	if t.Options[schema.OptionIcebergNames] != schema.IcebergUnderscore {
		return names
	}
	for i, name := range names {
		if !strings.Contains(name, ".") {
			continue
		}
		name = strings.ReplaceAll(name, ".", "_")
		for taken[name] {
			name = fmt.Sprintf("%s_%d", name, t.Columns[i].ID)
		}
		taken[name] = true
		names[i] = name
	}
	return names
}

// same reports whether two schemas differ at most in their ids.
func (s *Schema) same(as *Schema) bool {
	if len(s.Fields) != len(as.Fields) {
		return false
	}
	for i := range s.Fields {
		a, b := &s.Fields[i], &as.Fields[i]
		if a.ID != b.ID || a.Name != b.Name || a.Required != b.Required || a.Type != b.Type ||
			!bytes.Equal(a.Default, b.Default) || !bytes.Equal(a.Write, b.Write) {
			return false
		}
	}
	return true
}

// field returns the field with an id, or nil.
func (s *Schema) field(id int32) *Field {
	for i := range s.Fields {
		if s.Fields[i].ID == id {
			return &s.Fields[i]
		}
	}
	return nil
}

// A Verdict says whether an object can be shown as a part of a table.
type Verdict struct {
	// Left means that the object can never be shown: it was stored before the table had its option.
	Left bool
	// Reason is why the table cannot be shown with the object in its present definition; it is empty if it can.
	Reason string
}

// Shown reports whether the object can be shown.
func (v Verdict) Shown() bool { return !v.Left && v.Reason == "" }

// Judge decides whether an object can be shown with the present definition of its table. nulls returns how many nulls
// the object has in a column that it has.
func Judge(t *schema.Table, f Format, columns []segment.Column, nulls func(id uint32) int64) Verdict {
	in := make(map[uint32]*segment.Column, len(columns))
	for i := range columns {
		in[columns[i].ID] = &columns[i]
	}
	v := Verdict{}
	blocked := func(format string, args ...any) {
		if v.Reason == "" {
			v.Reason = fmt.Sprintf(format, args...)
		}
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		want, hidden := f.typeOf(c.Type)
		_, fills := filled(c)
		had := in[c.ID]
		if had == nil {
			if fills && f < 3 {
				blocked("column %s was added with a default, which older objects do not have; iceberg=v3 shows it", c.Name)
			}
			continue
		}
		if fills && nulls(c.ID) > 0 {
			blocked("column %s was added with a default, and an object has older rows too", c.Name)
		}
		type1, hidden1 := f.typeOf(had.Type)
		switch {
		case hidden1 && in[c.ID+segment.HiddenID] == nil:
			return Verdict{Left: true}
		case hidden != hidden1 || !promotes(type1, want):
			blocked("column %s has the type %s now, and older objects have %s", c.Name, c.Type, had.Type)
		}
	}
	return v
}
