package vrl

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"cordwood/router/vrl/compile"
	"cordwood/router/vrl/syntax"
	"cordwood/router/vrl/timefmt"
)

func itoa(n int) string { return strconv.Itoa(n) }

// ParseZone returns the zone of a name: UTC, an IANA name, or the system's zone for
// "local" and "".
func ParseZone(name string) (*time.Location, error) {
	switch strings.ToLower(name) {
	case "local", "":
		return time.Local, nil
	case "utc":
		return time.UTC, nil
	}
	z := timefmt.Zone(name)
	if z == nil {
		return nil, fmt.Errorf("there is no time zone %q", name)
	}
	return z, nil
}

// ParseReadOnly returns the read-only path that a text such as ".a.b" or "%a" stands for.
func ParseReadOnly(path string, recursive bool) (compile.ReadOnly, error) {
	nodes, list := syntax.Parse(path)
	if len(list) == 0 && len(nodes) == 1 {
		if q, ok := nodes[0].(*syntax.Query); ok && q.Root <= syntax.Meta {
			return compile.ReadOnly{Meta: q.Root == syntax.Meta, Path: q.Path, Recursive: recursive}, nil
		}
	}
	return compile.ReadOnly{}, fmt.Errorf("%q is not a path of the event or the metadata, such as .a.b or %%a", path)
}
