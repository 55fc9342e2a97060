package sql

import (
	"sort"
	"strings"
)

// Edit replaces the bytes [from, to) of a text.
type Edit struct {
	From, To int
	Text     string
	// Restored means that the names of columns show the client's call again, so the edit does not change them.
	Restored bool
}

// applyEdits sorts the edits and returns the text with them. Edits must not overlap.
func applyEdits(text string, edits []Edit) string {
	if len(edits) == 0 {
		return text
	}
	sort.SliceStable(edits, func(i, k int) bool { return edits[i].From < edits[k].From })
	var b strings.Builder
	done := 0
	for _, e := range edits {
		b.WriteString(text[min(done, e.From):e.From])
		b.WriteString(e.Text)
		done = e.To
	}
	b.WriteString(text[done:])
	return b.String()
}
