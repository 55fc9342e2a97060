package column

import (
	"reflect"
	"slices"
	"testing"

	"cordwood/proto/schema"
)

// TestEmpty sets all fields of a column, and compares the empty column with a new one.
func TestEmpty(t *testing.T) {
	c := &Col{
		Column: schema.Column{Name: "a"}, first: 1, n: 1, nulls: 1, past: 1, pastNulls: 1,
		ints: integers{seen: 1}, widening: widening{pending: 1}, valid: []uint64{1}, fixed: []uint64{1}, ends: []uint32{1},
		bytes: []byte{1}, marked: 1, origin: &Origin{}, starts: []uint32{1},
	}
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the test does not set %s", v.Type().Field(i).Name)
		}
	}
	c.empty()
	kept := []string{"Column"}
	memory := []string{"valid", "fixed", "ends", "bytes", "starts"}
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		switch {
		case slices.Contains(kept, name):
		case slices.Contains(memory, name):
			if f.Len() != 0 || f.Cap() == 0 {
				t.Errorf("%s has length %d and capacity %d", name, f.Len(), f.Cap())
			}
		case !f.IsZero():
			t.Errorf("%s is not empty", name)
		}
	}
}
