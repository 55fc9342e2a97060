package processor

import (
	"slices"
	"strings"
	"testing"

	"cordwood/router/pipeline/document"
)

// The description of each processor lists exactly the options that its Compile function reads.
func TestDescribed(t *testing.T) {
	for _, name := range KindNames() {
		root, err := document.Parse([]byte("- " + name + ": {zzzzzzzzzzzzzz: 1}"))
		if err != nil {
			t.Fatal(err)
		}
		var names Names
		CompileList(root, Env{}, &names)
		_, known, found := strings.Cut(root.Err().Error(), `unknown key "zzzzzzzzzzzzzz", known are `)
		if !found {
			t.Fatalf("%s: %v", name, root.Err())
		}
		known, _, _ = strings.Cut(known, "\n")
		doc, options := DescribeKind(name)
		var got []string
		for _, o := range options {
			got = append(got, o.Name)
			if o.Doc == "" || o.Type == "" {
				t.Errorf("%s: %s has no description", name, o.Name)
			}
		}
		slices.Sort(got)
		if want := strings.Split(known, ", "); doc == "" || !slices.Equal(got, want) {
			t.Errorf("%s (%s) has the options %s, but the description has %s", name, doc, want, got)
		}
	}
	if len(described) != len(kinds) {
		t.Errorf("%d kinds are described, but %d exist", len(described), len(kinds))
	}
}
