package config

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"cordwood/proto/schema"
)

// durationFlag is a duration as the value of a flag. It takes what the table option ttl takes, and what Go does:
// 90s, 1h30m, 1.5h, 30d, 2 weeks, -5s.
type durationFlag time.Duration

// durationVar declares a flag for a duration.
func durationVar(fs *pflag.FlagSet, to *time.Duration, name string, byDefault time.Duration, usage string) {
	*to = byDefault
	fs.Var((*durationFlag)(to), name, usage)
	if byDefault == 0 {
		fs.Lookup(name).DefValue = "0" // the help does not print it as a default
	}
}

// Set parses a duration.
func (d *durationFlag) Set(text string) error {
	if plain, err := time.ParseDuration(text); err == nil {
		*d = durationFlag(plain)
		return nil
	}
	ttl, err := schema.ParseTTL(text)
	if err != nil || ttl.D <= 0 {
		return fmt.Errorf("%q is not a duration: want numbers with units, such as 90s, 12h or 30d", text)
	}
	*d = durationFlag(ttl.D)
	return nil
}

// String prints the duration as Go does.
func (d *durationFlag) String() string { return time.Duration(*d).String() }

// Type returns the kind of value for help texts.
func (d *durationFlag) Type() string { return "duration" }
