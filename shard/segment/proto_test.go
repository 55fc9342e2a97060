package segment

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fillValue sets every field of v, at all levels, to a different value, and lists to one element.
func fillValue(v reflect.Value, next *int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillValue(v.Field(i), next)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillValue(v.Index(0), next)
	case reflect.String:
		*next++
		v.SetString(string(rune('a' + *next)))
	case reflect.Bool: // Raw: backups do not contain segments that are not Parquet files
	case reflect.Int64, reflect.Int:
		*next++
		v.SetInt(int64(*next))
	default:
		*next++
		v.SetUint(uint64(*next))
	}
}

// TestProtoCarriesEverything fails if a backup would lose a field of Meta.
func TestProtoCarriesEverything(t *testing.T) {
	var want Meta
	next := 0
	fillValue(reflect.ValueOf(&want).Elem(), &next)
	if diff := cmp.Diff(want, FromProto(want.ToProto())); diff != "" {
		t.Errorf("lost on the way (-want +got):\n%s", diff)
	}
}
