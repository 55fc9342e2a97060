package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ByteSize is a number of bytes with a text form such as 64MiB. It can be the value of a flag.
type ByteSize int64

var byteUnits = []struct {
	name string
	size int64
}{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"B", 1},
}

// Set parses a whole number of bytes with an optional unit, in any case.
func (b *ByteSize) Set(s string) error {
	text, unit := strings.TrimSpace(s), int64(1)
	for _, u := range byteUnits {
		if n := len(text) - len(u.name); n > 0 && strings.EqualFold(text[n:], u.name) {
			text, unit = strings.TrimSpace(text[:n]), u.size
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return fmt.Errorf("%q is not a size: want a number and a unit, such as 64MiB", s)
	}
	*b = ByteSize(n * unit)
	return nil
}

// String prints the size in the largest unit that divides it.
func (b ByteSize) String() string {
	for _, u := range byteUnits[:4] {
		if b != 0 && int64(b)%u.size == 0 {
			return strconv.FormatInt(int64(b)/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// Type returns the kind of value for help texts.
func (b *ByteSize) Type() string { return "size" }
