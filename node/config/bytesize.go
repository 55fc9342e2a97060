package config

import (
	"fmt"

	"cordwood/proto/words"
)

// ByteSize is a number of bytes with a text form such as 64MiB. It can be the value of a flag.
type ByteSize int64

// Set parses a whole number of bytes with an optional unit, in any case.
func (b *ByteSize) Set(s string) error {
	n, ok := words.ParseBytes(s)
	if !ok {
		return fmt.Errorf("%q is not a size: want a number and a unit, such as 64MiB", s)
	}
	*b = ByteSize(n)
	return nil
}

// String prints the size in the largest unit that divides it.
func (b ByteSize) String() string { return words.FormatBytes(int64(b)) }

// Type returns the kind of value for help texts.
func (b *ByteSize) Type() string { return "size" }
