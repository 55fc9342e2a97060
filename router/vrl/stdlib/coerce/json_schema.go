package coerce

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// maxSchema limits the size of a schema's file.
const maxSchema = 4 << 20

var validateJSONSchema = &fn.Function{
	Name:  "validate_json_schema",
	Group: fn.Type,
	Doc: "Returns true if a JSON text conforms to a JSON Schema, and otherwise fails with a list of the faults. The " +
		"schema is read from its file once, when the program is compiled. It must not refer to other files.",
	Params: []fn.Param{
		{Name: "value", Doc: "The JSON text.", Kind: kind.String},
		{Name: "schema_definition", Doc: "The path of the file with the schema.", Kind: kind.String, Constant: true},
		{
			Name: "ignore_unknown_formats",
			Doc:  "Whether formats that are not part of JSON Schema are ignored. Otherwise the call fails.",
			Kind: kind.Boolean, Optional: true, Default: value.NewBool(false),
		},
	},
	Returns:  kind.Boolean,
	Fallible: true,
	Needs:    fn.Files,
	Errors: []string{
		"the string is not JSON", "the text does not conform to the schema",
		"the schema uses an unknown format and ignore_unknown_formats is not set",
	},
	Examples: []fn.Example{
		{Title: "not permitted", Source: `validate_json_schema("{}", "schema.json") ?? false`, Result: `false`},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		fails := fn.Impl{F1: func(f *fn.Frame, _ value.Value) (value.Value, bool) {
			return f.Fail("validate_json_schema reads files, which this host does not allow")
		}}
		if c.Host.Grants&fn.Files == 0 {
			return fails, nil
		}
		path, _ := c.Const(1)
		s, err := loadSchema(path.Text())
		if err != nil {
			return fails, c.BadArgument(1, "unable to load the schema: %s", err)
		}
		return fn.Impl{F3: s.validate}, nil
	},
}

// jsonSchema is a compiled schema.
type jsonSchema struct {
	schema *jsonschema.Schema
	// unknown is a format that the schema uses and JSON Schema does not define.
	unknown string
}

func loadSchema(path string) (*jsonSchema, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxSchema {
		return nil, fmt.Errorf("file of %d bytes is larger than %d", info.Size(), maxSchema)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(noLoader{})
	const url = "schema:///definition.json"
	if err := c.AddResource(url, doc); err != nil {
		return nil, err
	}
	schema, err := c.Compile(url)
	if err != nil {
		return nil, err
	}
	return &jsonSchema{schema: schema, unknown: unknownFormat(doc)}, nil
}

// noLoader refuses references from a schema to other schemas.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema refers to %s: other files are not read", url)
}

// knownFormats are the formats that JSON Schema defines.
var knownFormats = []string{
	"date", "date-time", "duration", "email", "hostname", "idn-email", "idn-hostname", "ipv4", "ipv6", "iri",
	"iri-reference",
	"json-pointer", "period", "regex", "relative-json-pointer", "semver", "time", "uri", "uri-reference",
	"uri-template", "uuid",
}

func unknownFormat(doc any) string {
	switch doc := doc.(type) {
	case map[string]any:
		if s, ok := doc["format"].(string); ok && !slices.Contains(knownFormats, s) {
			return s
		}
		for _, x := range doc {
			if s := unknownFormat(x); s != "" {
				return s
			}
		}
	case []any:
		for _, x := range doc {
			if s := unknownFormat(x); s != "" {
				return s
			}
		}
	}
	return ""
}

func (s *jsonSchema) validate(f *fn.Frame, text, _, ignore value.Value) (value.Value, bool) {
	if s.unknown != "" && !ignore.Bool() {
		return f.Failf("Failed to compile schema: Unknown format: '%s'. Adjust configuration to ignore unrecognized formats",
			s.unknown)
	}
	// Validation needs several times the length of the text in memory and time.
	if !f.Reserve(16*text.Len()) || !f.Spend(text.Len()) {
		return value.Value{}, false
	}
	if text.Len() == 0 {
		return f.Fail("Empty JSON value")
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text.Text()))
	if err != nil {
		return f.FailErr("Invalid JSON: ", err)
	}
	err = s.schema.Validate(doc)
	if err == nil {
		return value.NewBool(true), true
	}
	var bad *jsonschema.ValidationError
	if !errors.As(err, &bad) {
		return f.FailErr("JSON schema validation failed: ", err)
	}
	return f.FailErr("JSON schema validation failed: ", violations{bad})
}

// violations is an error that lists the violations of a schema and their places.
type violations struct{ *jsonschema.ValidationError }

func (v violations) Error() string {
	p := message.NewPrinter(language.English)
	var b []byte
	var list func(e *jsonschema.ValidationError)
	list = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			list(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = append(b, e.ErrorKind.LocalizedString(p)...)
		b = append(b, " at /"...)
		b = append(b, strings.Join(e.InstanceLocation, "/")...)
	}
	list(v.ValidationError)
	return string(b)
}
