package words

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// JSONFault converts an error of encoding/json to one without the types of this program.
func JSONFault(err error) string {
	typed, syntax := (*json.UnmarshalTypeError)(nil), (*json.SyntaxError)(nil)
	switch {
	case errors.As(err, &typed):
		field := typed.Field
		if field == "" {
			field = "it"
		}
		return fmt.Sprintf("%s is a JSON %s, and %s is needed", field, typed.Value, wanted(typed.Type))
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
	return "a whole number, not below 0 and not too large"
}
