package coordinator

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"cordwood/router/access"
)

// TestKindsHaveRows reads from the sources which kinds of operation there are, and which
// requests that take the place of one: package access says who may ask for each.
func TestKindsHaveRows(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			v, ok := node.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 || !strings.HasPrefix(v.Names[0].Name, "Kind") && !strings.HasPrefix(v.Names[0].Name, "request") {
				return true
			}
			lit, ok := v.Values[0].(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			kind, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			n++
			if need, known := access.OfOperation(kind); !known || need.Privilege == access.Undeclared || need.Object.Name != kind {
				t.Errorf("the kind %s has no row in package access: say who may ask for it", kind)
			}
			return true
		})
	}
	if n < 16 {
		t.Errorf("only %d kinds were found", n)
	}
}
