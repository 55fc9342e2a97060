package words

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// JSONFault converts an error of encoding/json to one without the types of this program.
func JSONFault(err error) string {
	typed, syntax := (*json.UnmarshalTypeError)(nil), (*json.SyntaxError)(nil)
	switch {
	case errors.As(err, &typed):
		// The path also has the names of Go's embedded structs, which are not in the text. They begin with a capital.
		members := slices.DeleteFunc(strings.Split(typed.Field, "."), func(name string) bool {
			return name == "" || 'A' <= name[0] && name[0] <= 'Z'
		})
		field := "it"
		if len(members) > 0 {
			field = strings.Join(members, ".")
		}
		return fmt.Sprintf("%s must be %s, but it is a JSON %s", field, wanted(typed.Type), typed.Value)
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is not valid JSON at byte %d: %s", syntax.Offset, syntax)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it is not complete"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// wanted returns the name of the JSON type for a Go type.
func wanted(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number, not too large"
	}
	return "a whole number from 0 on, not too large"
}
