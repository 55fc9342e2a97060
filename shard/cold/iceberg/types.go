package iceberg

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"cordwood/proto/schema"
	"cordwood/shard/segment"
)

// Format is a version of Iceberg's table format: 2 or 3.
type Format int

// Daily reports whether a table is shown by days: those that were joined.
func Daily(t *schema.Table) bool { return t.Options[schema.OptionIceberg] == schema.IcebergDaily }

// FormatOf returns the format in which a table is shown, or 0 if it is not.
func FormatOf(t *schema.Table) Format {
	switch t.Options[schema.OptionIceberg] {
	case "v2", schema.IcebergDaily:
		return 2
	case "v3":
		return 3
	}
	return 0
}

// typeOf returns the type of a column in Iceberg. hidden means that objects have its values in the hidden form.
func (f Format) typeOf(t schema.Type) (name string, hidden bool) {
	switch t {
	case schema.Boolean:
		return "boolean", false
	case schema.Int8, schema.Int16, schema.Int32, schema.Uint8, schema.Uint16:
		return "int", false
	case schema.Int64:
		return "long", false
	case schema.Uint32:
		return "long", true
	case schema.Uint64:
		return "decimal(20, 0)", true
	case schema.Float32:
		return "float", false
	case schema.Float64:
		return "double", false
	case schema.String, schema.JSON:
		return "string", false
	case schema.Binary:
		return "binary", false
	case schema.TimestampMicrosecond:
		return "timestamp", false
	case schema.TimestampNanosecond:
		if f >= 3 {
			return "timestamp_ns", false
		}
	}
	return "timestamp", true
}

// promotes reports whether Iceberg reads values of a type as values of another one.
func promotes(from, to string) bool {
	return from == to || from == "int" && to == "long" || from == "float" && to == "double"
}

// fieldID returns the id of the field of a column.
func (f Format) fieldID(c *schema.Column) int32 {
	if _, hidden := f.typeOf(c.Type); hidden {
		return int32(c.ID + segment.HiddenID)
	}
	return int32(c.ID)
}

// keyFileSchema is the key of the schema of a file in its metadata. The writer of Iceberg's Java library stores it, and
// some readers find the columns of a file by it, and not by the ids of fields.
const keyFileSchema = "iceberg.schema"

// Extra returns what the objects of a table need: the hidden forms of some columns, integers without a logical type,
// and a schema that tells the name of each field in the file. It is zero for a table that is not shown.
func Extra(t *schema.Table) (e segment.Extra) {
	f := FormatOf(t)
	if f == 0 {
		return e
	}
	// Spark does not read an INT32 with a logical type as a long, as it must after the column was widened.
	e.PlainIntegers = true
	for i := range t.Columns {
		if _, hidden := f.typeOf(t.Columns[i].Type); hidden {
			e.Hidden = append(e.Hidden, t.Columns[i].ID)
		}
	}
	e.Describe = func(columns []segment.Column) (key, value string, err error) {
		b, err := json.Marshal(fileSchema(t, f, columns))
		return keyFileSchema, string(b), err
	}
	return e
}

// fileSchema returns the schema of a file: the fields of the table that it has. A field with a hidden form gets the
// name of the column itself, because readers that find columns by name know its type: icebird makes a double of a
// decimal.
func fileSchema(t *schema.Table, f Format, columns []segment.Column) *Schema {
	names := make(map[uint32]string, len(columns))
	for i := range columns {
		names[columns[i].ID] = columns[i].Name
	}
	s := &Schema{Type: "struct", ID: int32(t.Version), Fields: []Field{}}
	for i := range t.Columns {
		c := &t.Columns[i]
		name, ok := names[c.ID]
		if !ok {
			continue
		}
		typ, _ := f.typeOf(c.Type)
		s.Fields = append(s.Fields, Field{
			ID: f.fieldID(c), Name: name, Type: typ, Required: c.Semantic == schema.Timestamp,
		})
	}
	return s
}

// filled returns the default of a column that replaces nulls: that of a column that was added with NOT NULL, as
// queries do.
func filled(c *schema.Column) (text string, ok bool) {
	if !c.NotNull || c.Default == nil || c.Semantic != schema.Field {
		return "", false
	}
	text = *c.Default
	switch {
	case c.Type.IsInteger(), c.Type.IsFloat(), c.Type == schema.Boolean:
		return text, true
	case c.Type == schema.String, c.Type == schema.JSON:
		if len(text) < 2 || text[0] != '\'' || text[len(text)-1] != '\'' {
			return "", false
		}
		return strings.ReplaceAll(text[1:len(text)-1], "''", "'"), true
	}
	return "", false
}

// initial returns the default of a column that readers show in files without the column, in the form of Iceberg's
// metadata. ok is false if there is none, or if it cannot be shown.
//
// Not all readers heed it: Spark with Iceberg 1.11 skips such files if there is a condition on the column, and Trino
// 476 shows nulls.
func (f Format) initial(c *schema.Column) (value json.RawMessage, ok bool) {
	text, ok := filled(c)
	if !ok || f < 3 {
		return nil, false
	}
	value, err := defaultJSON(c.Type, text)
	return value, err == nil
}

// defaultJSON returns a default in the form of Iceberg's metadata.
func defaultJSON(t schema.Type, text string) (json.RawMessage, error) {
	bad := fmt.Errorf("the default %.40q cannot be shown", text)
	switch {
	case t == schema.Uint64:
		if _, err := strconv.ParseUint(text, 10, 64); err != nil {
			return nil, bad
		}
		return json.Marshal(text)
	case t.IsInteger():
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return nil, bad
		}
		return json.RawMessage(text), nil
	case t.IsFloat():
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, bad
		}
		b, err := json.Marshal(n)
		if err != nil {
			return nil, bad // NaN and infinities
		}
		return b, nil
	case t == schema.Boolean:
		if text = strings.ToLower(text); text != "true" && text != "false" {
			return nil, bad
		}
		return json.RawMessage(text), nil
	}
	return json.Marshal(text)
}
