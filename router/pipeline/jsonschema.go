package pipeline

import (
	"cordwood/router/pipeline/processor"
)

type object = map[string]any

// JSONSchema returns the JSON Schema of a pipeline, for editors. It is built from the descriptions of the
// processors' options. A document that conforms to it may still not compile.
func JSONSchema() map[string]any {
	text := object{"type": "string"}
	var steps []any
	for _, name := range processor.KindNames() {
		doc, options := processor.DescribeKind(name)
		properties, required := object{}, []any{}
		for _, o := range options {
			properties[o.Name] = schemaOf(o)
			if o.Required {
				required = append(required, o.Name)
			}
		}
		steps = append(steps, object{
			"type": "object", "required": []any{name}, "additionalProperties": false, "description": doc,
			"properties": object{name: object{
				"type": "object", "description": doc, "properties": properties, "required": required,
				"additionalProperties": false,
			}},
		})
	}
	index := []any{"timestamp", "fulltext", "skipping", "inverted", "tag"}
	column := object{
		"type": "object", "additionalProperties": true, "required": []any{"type"},
		"properties": object{
			"field":  object{"description": "The field: its name, or \"name, new name\".", "type": []any{"string", "object"}},
			"fields": object{"description": "Fields of one type.", "type": []any{"array", "string", "object"}},
			"type":   object{"type": "string", "description": "The type of the column, such as int64, string or timestamp, ms."},
			"index": object{
				"description": "timestamp makes it the time index.",
				"anyOf":       []any{object{"enum": index}, object{"type": "object"}},
			},
			"default": object{"description": "The value of records that lack the field."},
			"on_failure": object{
				"enum": []any{"ignore", "default"}, "description": "What happens to a value that does not fit; " +
					"without it the record fails.",
			},
		},
	}
	rule := object{
		"type": "object", "required": []any{"value", "table_suffix"}, "properties": object{
			"value":        object{"description": "The value of the field.", "type": []any{"string", "number", "boolean"}},
			"table_suffix": object{"type": "string", "description": "The suffix of the table's name."},
			"pipeline":     object{"type": "string", "description": "The pipeline that receives the record."},
		},
	}
	return object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A pipeline",
		"type": "object", "additionalProperties": false,
		"properties": object{
			"version":     object{"enum": []any{1, 2}, "description": "1: transform lists all columns; 2: it keeps others."},
			"description": text,
			"processors": object{
				"type": "array", "items": object{"anyOf": steps}, "description": "The steps for each record, in order.",
			},
			"dispatcher": object{
				"type": "object", "required": []any{"field", "rules"}, "additionalProperties": false,
				"description": "Selects the pipeline for a record by the value of a field.",
				"properties":  object{"field": text, "rules": object{"type": "array", "items": rule}},
			},
			"transform":    object{"type": "array", "items": column, "description": "The columns, with types and indexes."},
			"transforms":   object{"type": "array", "items": column, "description": "As transform."},
			"table_suffix": object{"type": "string", "description": "The suffix of the table's name, such as _${app}."},
		},
	}
}

// schemaOf returns the schema of an option.
func schemaOf(o processor.Described) object {
	s := object{"description": o.Doc}
	var enum []any
	for _, v := range o.Enum {
		enum = append(enum, v)
	}
	switch o.Type {
	case "fields":
		s["type"] = []any{"string", "object", "array"}
	case "strings":
		s["type"] = []any{"string", "array"}
		if enum != nil {
			s["items"] = object{"enum": enum}
		}
		return s
	default:
		s["type"] = o.Type
	}
	if enum != nil {
		s["enum"] = enum
	}
	return s
}
