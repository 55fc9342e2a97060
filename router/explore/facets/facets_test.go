package facets

import (
	"testing"

	"cordwood/proto/schema"
	"cordwood/router/explore/scope"
)

// TestDivide checks that, among many rows, fields with few values are counted exactly, unless a search has to read each
// row.
func TestDivide(t *testing.T) {
	table := &scope.Table{Def: (&schema.Table{ID: 7}).Index(), Condition: "TRUE"}
	c := &counter{
		scope:  &scope.Scope{Tables: []*scope.Table{table}},
		fields: []*field{{name: "path"}, {name: "host", few: true}, {name: "id", scattered: true}},
	}
	if exact, sampled := c.divide(); len(exact) != 1 || exact[0].name != "host" || len(sampled) != 2 {
		t.Errorf("%v exactly, %v from a sample", exact, sampled)
	}
	table.Condition = "host = 'a'"
	if exact, sampled := c.divide(); len(exact) != 0 || len(sampled) != 3 {
		t.Errorf("with a search: %v exactly, %v from a sample", exact, sampled)
	}
}

// TestWith checks that exactly counted fields and sampled fields are in the order of the request, and that each is
// marked as exact or sampled.
func TestWith(t *testing.T) {
	estimate := &Answer{
		Rows: 99, Fields: []Field{{Name: "path", Sampled: true}, {Name: "id", Sampled: true}}, SampledRows: 5, SampledOf: 100,
	}
	exact := &Answer{Rows: 100, Fields: []Field{{Name: "host", Filled: 100}}}
	all := []*field{{name: "path"}, {name: "host"}, {name: "id"}}
	a := estimate.with(exact, all)
	if a.Rows != 100 || len(a.Fields) != 3 || a.SampledOf != 100 {
		t.Fatalf("%+v", a)
	}
	for i, f := range a.Fields {
		if f.Name != all[i].name || f.Sampled != (f.Name != "host") {
			t.Errorf("field %d is %+v", i, f)
		}
	}
	if late := estimate.with(nil, all); late.SampledOf != 100 {
		t.Errorf("without exact counts: %+v", late)
	}
}
