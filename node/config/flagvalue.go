package config

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// wantedValues says what the flags of a type take.
var wantedValues = map[string]string{
	"bool":     "true or false",
	"int":      "a whole number",
	"duration": "a duration, as 30s or 10m",
	"size":     "a size, as 64MiB",
}

// ValueFault says in words for people what is wrong with a value that Set of a flag
// refused with err. It quotes the value.
func ValueFault(f *pflag.Flag, value string, err error) string {
	want, known := wantedValues[f.Value.Type()]
	switch {
	case !known:
		if cause := (*pflag.InvalidValueError)(nil); errors.As(err, &cause) {
			err = cause.Unwrap()
		}
		return fmt.Sprintf("%q: %v", value, err)
	case errors.Is(err, strconv.ErrRange):
		return fmt.Sprintf("%q: the number is too large", value)
	case f.Value.Type() == "duration" && isNumber(value):
		return fmt.Sprintf("%q: the unit is missing, as in %ss or %sm", value, value, value)
	}
	return fmt.Sprintf("%q: want %s", value, want)
}

func isNumber(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 0 && n <= int(24*time.Hour/time.Second)
}
