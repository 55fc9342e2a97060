package node

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	logMethod = regexp.MustCompile(`^(Debug|Info|Warn|Error)(Context)?$`)
	keyLine   = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| .+ \\|$")
)

// TestLogKeys compares the keys of all log lines in the sources with docs/observability.md. Each key must be
// described, and each described key must be used.
func TestLogKeys(t *testing.T) {
	page, err := os.ReadFile("../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for _, m := range keyLine.FindAllStringSubmatch(string(page), -1) {
		described[m[1]] = true
	}
	used := map[string]bool{}
	for _, dir := range []string{"../cmd", "../node", "../meta", "../router", "../shard"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				for i, arg := range logPairs(call) {
					key, ok := text(arg)
					switch {
					case !ok && i%2 == 0:
						if _, spread := arg.(*ast.Ident); !spread && !call.Ellipsis.IsValid() {
							t.Errorf("%s: a key of a log line is not a literal", files.Position(arg.Pos()))
						}
					case i%2 == 0 && !described[key]:
						t.Errorf("%s: the key %q is not in docs/observability.md: use a key of that page, or describe this one",
							files.Position(arg.Pos()), key)
					case i%2 == 0:
						used[key] = true
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, written := range []string{"trace_id", "span_id"} { // logHandler adds these
		used[written] = true
	}
	if len(used) < 50 {
		t.Errorf("only %d keys were found in the sources", len(used))
	}
	for _, key := range slices.Sorted(maps.Keys(described)) {
		if !used[key] {
			t.Errorf("docs/observability.md describes the key %q, but no log line has it", key)
		}
	}
}

// logPairs returns the keys and values of a call of the logger, or nil for other calls.
func logPairs(call *ast.CallExpr) []ast.Expr {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	receiver := ""
	switch x := sel.X.(type) {
	case *ast.Ident:
		receiver = x.Name
	case *ast.SelectorExpr:
		receiver = x.Sel.Name
	}
	if !slices.Contains([]string{"log", "Logger", "logger"}, receiver) {
		return nil
	}
	skip := 0
	switch {
	case sel.Sel.Name == "With":
	case logMethod.MatchString(sel.Sel.Name):
		if skip = 1; strings.HasSuffix(sel.Sel.Name, "Context") {
			skip = 2
		}
	default:
		return nil
	}
	return call.Args[min(skip, len(call.Args)):]
}

func text(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}
