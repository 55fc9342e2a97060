package words

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Missing says what a partial answer lacks.
type Missing struct {
	// Table is the table that lacks rows, as database.table, or "".
	Table string
	// Shard is the shard that could not be read, Segment the file; 0 and "" mean none. At most one is set.
	Shard   uint32
	Segment string
	// Reason is why, or all that is known if Shard and Segment are not set.
	Reason string
}

const (
	shardMark   = "shard "
	segmentMark = "segment "
)

// String returns the text, such as "public.logs: shard 3: it cannot be reached".
func (m Missing) String() string {
	text := m.Reason
	switch {
	case m.Shard != 0:
		text = fmt.Sprintf("%s%d: %s", shardMark, m.Shard, m.Reason)
	case m.Segment != "":
		text = segmentMark + m.Segment + ": " + m.Reason
	}
	if m.Table != "" {
		return m.Table + ": " + text
	}
	return text
}

// ParseMissing reads a text of a node of an earlier version. If it does not begin with a shard or a segment, it is all
// reason.
func ParseMissing(text string) Missing {
	table, rest := "", text
	for _, mark := range []string{shardMark, segmentMark} {
		if strings.HasPrefix(text, mark) {
			table, rest = "", text
			break
		}
		if t, r, ok := strings.Cut(text, ": "+mark); ok && strings.Contains(t, ".") && !strings.Contains(t, ": ") {
			table, rest = t, mark+r
			break
		}
	}
	what, reason, ok := strings.Cut(rest, ": ")
	if !ok {
		return Missing{Reason: text}
	}
	if segment, ok := strings.CutPrefix(what, segmentMark); ok && segment != "" {
		return Missing{Table: table, Segment: segment, Reason: reason}
	}
	if number, ok := strings.CutPrefix(what, shardMark); ok {
		if id, err := strconv.ParseUint(number, 10, 32); err == nil && id > 0 {
			return Missing{Table: table, Shard: uint32(id), Reason: reason}
		}
	}
	return Missing{Reason: text}
}

// JoinMissing returns one text about all that is missing, of at most most bytes. Shards of a table for the same reason
// are named together. If not everything fits, the text ends with the number of the others.
func JoinMissing(list []Missing, most int) string {
	type group struct {
		Missing
		shards []uint32
	}
	var groups []*group
	for _, m := range list {
		at := slices.IndexFunc(groups, func(g *group) bool {
			return m.Shard != 0 && len(g.shards) > 0 && g.Table == m.Table && g.Reason == m.Reason
		})
		if at < 0 {
			at = len(groups)
			groups = append(groups, &group{Missing: m})
		}
		if m.Shard != 0 && !slices.Contains(groups[at].shards, m.Shard) {
			groups[at].shards = append(groups[at].shards, m.Shard)
		}
	}
	var out strings.Builder
	for i, g := range groups {
		text := g.String()
		if len(g.shards) > 1 {
			text = Missing{Table: g.Table, Reason: Shards(g.shards) + ": " + g.Reason}.String()
		}
		left := fmt.Sprintf("; and %d more", len(groups)-i)
		if i > 0 {
			text = "; " + text
		}
		// The end must fit after this text, unless it is the last one.
		if end := len(left); out.Len()+len(text)+end > most && (i < len(groups)-1 || out.Len()+len(text) > most) {
			if i == 0 {
				return text[:max(0, min(len(text), most-len("...")))] + "..."
			}
			return out.String() + left
		}
		out.WriteString(text)
	}
	return out.String()
}

// Shards returns the numbers of shards as a text, such as "shard 3" or "shards 1, 2".
func Shards(ids []uint32) string {
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	names := make([]string, len(sorted))
	for i, id := range sorted {
		names[i] = strconv.FormatUint(uint64(id), 10)
	}
	return Pick(len(ids), "shard ", "shards ") + strings.Join(names, ", ")
}
