package fields

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/router/explore/scope"
)

// The limits of paths in a JSON column: the number, depth and length of paths, and the length of the texts in which
// they are searched.
const (
	maxPaths     = 100
	maxPathDepth = 4
	maxPathBytes = 200
	maxJSONBytes = 64 << 10
)

// addPaths adds the paths of the values in a JSON text.
func (c *column) addPaths(text string) {
	if len(c.paths) >= maxPaths || len(text) > maxJSONBytes || !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		return
	}
	var members map[string]any
	if json.Unmarshal([]byte(text), &members) == nil {
		c.addMembers("", members, 1)
	}
}

func (c *column) addMembers(prefix string, members map[string]any, depth int) {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		// A search cannot refer to a member whose name has an empty part between dots.
		if slices.Contains(strings.Split(name, "."), "") || len(prefix)+len(name) > maxPathBytes {
			continue
		}
		path := prefix + name
		if inner, ok := members[name].(map[string]any); ok && depth < maxPathDepth {
			c.addMembers(path+".", inner, depth+1)
			continue
		}
		if len(c.paths) < maxPaths && !slices.Contains(c.paths, path) {
			c.paths = append(c.paths, path)
		}
	}
}

// timeAt returns the time of the first row.
func timeAt(a arrow.Array, t *scope.Table) (time.Time, bool) {
	times, ok := a.(*array.Timestamp)
	if !ok || times.IsNull(0) {
		return time.Time{}, false
	}
	return scope.TimeOf(int64(times.Value(0)), t.Def.TimeIndex().Type), true
}
