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
// the schema is the version of the table. prev is the schema before, or nil.
func NewSchema(t *schema.Table, f Format, prev *Schema) *Schema {
	s := &Schema{Type: "struct", ID: int32(t.Version), Fields: make([]Field, len(t.Columns))}
	names := fieldNames(t, f, prev)
	for i := range t.Columns {
		c := &t.Columns[i]
		typ, _ := f.typeOf(c.Type)
		// Every object has the time index. Other columns are not in objects without a value of them.
		s.Fields[i] = Field{ID: f.fieldID(c), Name: names[i], Type: typ, Required: c.Semantic == schema.Timestamp}
		if value, ok := f.initial(c); ok {
			s.Fields[i].Default, s.Fields[i].Write = value, value
		}
	}
	return s
}

// fieldNames returns the names of the columns. With the option iceberg_names=underscore, they have no dots, and no two
// of them differ only in case. Then a name that two columns would have stays with the one that has it in the schema
// before, so that readers do not find the values of another column under it.
func fieldNames(t *schema.Table, f Format, prev *Schema) []string {
	names := make([]string, len(t.Columns))
	for i := range t.Columns {
		names[i] = t.Columns[i].Name
	}
	if t.Options[schema.OptionIcebergNames] != schema.IcebergUnderscore {
		return names
	}
	var had map[int32]string
	if prev != nil {
		had = make(map[int32]string, len(prev.Fields))
		for i := range prev.Fields {
			had[prev.Fields[i].ID] = prev.Fields[i].Name
		}
	}
	taken := make(map[string]bool, len(names))
	done := make([]bool, len(names))
	take := func(i int, name string) {
		if done[i] || taken[strings.ToLower(name)] {
			return
		}
		taken[strings.ToLower(name)], done[i], names[i] = true, true, name
	}
	plain := make([]string, len(names))
	for i, name := range names {
		plain[i] = strings.ReplaceAll(name, ".", "_")
	}
	for i := range names { // those that keep their name
		if old, ok := had[f.fieldID(&t.Columns[i])]; ok && madeFrom(old, plain[i], t.Columns[i].ID) {
			take(i, old)
		}
	}
	for i := range names { // those without dots come first
		if names[i] == plain[i] {
			take(i, plain[i])
		}
	}
	for i := range names {
		take(i, plain[i])
		for name := plain[i]; !done[i]; {
			name = fmt.Sprintf("%s_%d", name, t.Columns[i].ID)
			take(i, name)
		}
	}
	return names
}

// madeFrom reports whether a name is a plain one, with the id of the column behind it any number of times.
func madeFrom(name, plain string, id uint32) bool {
	for name != plain {
		var ok bool
		if name, ok = strings.CutSuffix(name, fmt.Sprintf("_%d", id)); !ok {
			return false
		}
	}
	return true
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

// size returns about how large a schema is as JSON, in bytes.
func (s *Schema) size() (bytes int) {
	for i := range s.Fields {
		f := &s.Fields[i]
		bytes += 60 + len(f.Name) + len(f.Type) + 2*len(f.Default)
	}
	return bytes
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
			if _, shown := f.initial(c); fills && !shown {
				blocked("column %s was added with a default, which older objects do not have%s", c.Name, byVersion3(f))
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

// byVersion3 is the end of a message about what only version 3 can show.
func byVersion3(f Format) string {
	if f >= 3 {
		return ""
	}
	return "; iceberg=v3 shows it"
}
