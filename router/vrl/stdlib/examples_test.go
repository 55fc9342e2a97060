package stdlib_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/stdlib"
	"cordwood/router/vrl/vrltest"
)

// Every example in the descriptions is run.
func TestExamples(t *testing.T) {
	for _, f := range stdlib.All() {
		t.Run(f.Name, func(t *testing.T) {
			for i, e := range f.Examples {
				if e.Any {
					e.Result = ""
				}
				vrltest.Run(t, []vrltest.Case{{
					Name: fmt.Sprintf("%d %s", i, e.Title), Source: e.Source, Event: e.Event,
					Want: e.Result, RunError: e.Fails, Grants: e.Needs,
				}})
			}
		})
	}
}

var functionName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Descriptions are complete and agree with the implementation.
func TestDescriptions(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range stdlib.All() {
		t.Run(f.Name, func(t *testing.T) {
			if seen[f.Name] || !functionName.MatchString(f.Name) {
				t.Error("name is invalid or taken")
			}
			seen[f.Name] = true
			if !strings.HasSuffix(f.Doc, ".") || len(f.Examples) == 0 || f.Group == "" {
				t.Error("Doc must end with a full stop; Group and Examples are required")
			}
			optional := false
			for _, p := range f.Params {
				if p.Doc == "" || p.Kind.IsNever() {
					t.Errorf("parameter %s: Doc or Kind is missing", p.Name)
				}
				if optional && !p.Optional {
					t.Errorf("parameter %s: required after optional ones", p.Name)
				}
				optional = p.Optional
			}
			if f.Type == nil && f.Returns.IsNever() {
				t.Error("neither Returns nor Type")
			}
			if f.Fallible && f.Type == nil && len(f.Errors) == 0 {
				t.Error("fallible without Errors")
			}
			impls := 0
			for _, set := range []bool{
				f.Impl.F0 != nil, f.Impl.F1 != nil, f.Impl.F2 != nil, f.Impl.F3 != nil, f.Impl.N != nil, f.Impl.Each != nil,
				f.Impl.Raw != nil, f.Compile != nil,
			} {
				if set {
					impls++
				}
			}
			if impls != 1 {
				t.Errorf("%d of Impl's functions and Compile are set; want 1", impls)
			}
			arity := map[bool]int{f.Impl.F0 != nil: 0, f.Impl.F1 != nil: 1, f.Impl.F2 != nil: 2, f.Impl.F3 != nil: 3}
			if n, ok := arity[true]; ok && n < len(f.Params) {
				t.Errorf("Impl takes %d arguments of %d", n, len(f.Params))
			}
			for _, e := range f.Examples {
				if e.Needs != 0 && f.Needs == 0 && e.Needs&fn.Files == 0 {
					t.Errorf("example %s needs %s, but the function does not", e.Title, e.Needs)
				}
			}
		})
	}
}
