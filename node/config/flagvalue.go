package config

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// wantedValues describes the values of each type of flag.
var wantedValues = map[string]string{
	"bool":     "true or false",
	"int":      "a whole number",
	"duration": "a duration, such as 30s, 12h or 30d",
	"size":     "a size, such as 64MiB",
}

// ValueFault returns a text with what is wrong with a value that a flag's Set refused with err. It quotes the value.
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
