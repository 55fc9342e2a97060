package openapi

import (
	"context"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"cordwood/proto/errs"
)

// TestDocument checks the description strictly: no unknown members, every reference resolves, and every example
// and default matches its schema.
func TestDocument(t *testing.T) {
	text, err := Document("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background(), openapi3.EnableExamplesValidation(),
		openapi3.EnableSchemaFormatValidation(),
		openapi3.EnableSchemaDefaultsValidation()); err != nil {
		t.Error(err)
	}
	if doc.OpenAPI != "3.1.0" || doc.Info.Version != "1.2.3" {
		t.Errorf("openapi %s, version %s", doc.OpenAPI, doc.Info.Version)
	}
	names := map[string]string{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			where := method + " " + path
			if names[op.OperationID] != "" || op.OperationID == "" {
				t.Errorf("%s: the operation is called %q, as %s", where, op.OperationID, names[op.OperationID])
			}
			names[op.OperationID] = where
			for name := range op.Extensions {
				if name != "x-permission" {
					t.Errorf("%s: %s is missing or internal", where, name)
				}
			}
			if op.Summary == "" || len(op.Tags) != 1 || doc.Tags.Get(op.Tags[0]) == nil {
				t.Errorf("%s: summary %q, tags %v", where, op.Summary, op.Tags)
			}
			for _, p := range slices.Concat(item.Parameters, op.Parameters) {
				if p.Value.Description == "" {
					t.Errorf("%s: parameter %s is not explained", where, p.Value.Name)
				}
			}
		}
	}
	for name := range doc.Extensions {
		t.Errorf("%s is internal and must not be in the document", name)
	}
}

// TestCodes compares the described error codes with the existing ones.
func TestCodes(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../../proto/errs/errs.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want []int
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.CONST {
			continue
		}
		for _, spec := range gen.Specs {
			value := spec.(*ast.ValueSpec)
			if kind, ok := value.Type.(*ast.Ident); !ok || kind.Name != "Code" {
				continue
			}
			n, _ := constant.Int64Val(constant.MakeFromLiteral(value.Values[0].(*ast.BasicLit).Value, token.INT, 0))
			if n != 0 {
				want = append(want, int(n))
			}
		}
	}
	var got []int
	for _, e := range errs.Explanations() {
		got = append(got, int(e.Code))
		if _, described := statuses[e.Code.Status()]; !described {
			t.Errorf("code %d has status %d, which is not described", e.Code, e.Code.Status())
		}
	}
	if len(want) < 30 || !slices.Equal(got, want) {
		t.Errorf("described codes %v, existing codes %v", got, want)
	}
}

// TestMistakes checks that inconsistent parts of a document are refused.
func TestMistakes(t *testing.T) {
	a, b := object{"paths": object{"/a": object{"get": "x"}}}, object{"paths": object{"/a": object{"get": "y"}}}
	if err := join(a, b, "f"); err == nil || err.Error() != "openapi: f: paths: /a: get is defined twice" {
		t.Error(err)
	}
	if err := completePaths(object{"/b": object{"x-alias-of": "/c"}}); err == nil {
		t.Error("an alias of nothing")
	}
}

// TestErrorsOfOperations checks the errors that are added to operations.
func TestErrorsOfOperations(t *testing.T) {
	own := object{"description": "of its own"}
	op := object{"x-permission": "read", "x-errors": []any{413}, "responses": object{"408": own}}
	addErrors(op)
	responses := op["responses"].(object)
	for _, status := range []int{400, 401, 403, 408, 413, 421, 429, 500, 503, 504} {
		if responses[strconv.Itoa(status)] == nil {
			t.Errorf("no %d", status)
		}
	}
	if len(responses) != 10 || responses["408"].(object)["description"] != "of its own" || op["x-errors"] != nil {
		t.Errorf("%v", op)
	}
}
