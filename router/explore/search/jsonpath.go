package search

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"cordwood/proto/schema"
)

// maxJoined is the number of dots in a path up to which every dot may belong to a key. In a longer path either each dot
// divides keys, or none does.
const maxJoined = 3

// divisions returns the ways to divide a path into keys, of which some may have dots. The one with the most keys comes
// first.
func divisions(parts []string) [][]string {
	dots := len(parts) - 1
	if dots > maxJoined {
		return [][]string{parts, {strings.Join(parts, ".")}}
	}
	joined := make([]uint, 1<<dots) // bit k: the dot after part k belongs to a key
	for i := range joined {
		joined[i] = uint(i)
	}
	slices.SortFunc(joined, func(a, b uint) int {
		return cmp.Or(cmp.Compare(bits.OnesCount(a), bits.OnesCount(b)), cmp.Compare(b, a))
	})
	ways := make([][]string, len(joined))
	for i, dotted := range joined {
		keys := []string{parts[0]}
		for k, part := range parts[1:] {
			if dotted>>k&1 == 1 {
				keys[len(keys)-1] += "." + part
			} else {
				keys = append(keys, part)
			}
		}
		ways[i] = keys
	}
	return ways
}

// member returns the SQL for the text of a member of a JSON column.
func member(column string, keys []string) string {
	for k, key := range keys {
		arrow := "->"
		if k == len(keys)-1 {
			arrow = "->>"
		}
		column += arrow + schema.QuoteLiteral(asKey(key))
	}
	return column
}

// asKey returns what the engine reads as the key. It reads a text that begins with a dollar sign or a slash as a path,
// an asterisk as all keys, and some texts with a quote or a backslash as another key. A path that begins with a slash
// has no special characters but ~.
func asKey(key string) string {
	if key[0] != '$' && key[0] != '/' && key != "*" && !strings.ContainsAny(key, `"\`) {
		return key
	}
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
