package sql

import (
	"strings"
)

// This file edits the text of a statement before DuckDB parses it, where DuckDB would read it
// differently from what the author means.

// amend returns sql with names in backticks changed to double quotes and with parentheses around
// arrows, and the edits. sql must be normalized.
func amend(sql string) (string, []Edit) {
	// At the same position, a parenthesis goes before the name that begins there.
	edits := append(bindArrows(sql), unquoteBackticks(sql)...)
	return applyEdits(sql, edits), edits
}

// unquoteBackticks returns the edits that replace the backticks around names by double quotes.
func unquoteBackticks(sql string) []Edit {
	var edits []Edit
	if strings.IndexByte(sql, '`') < 0 {
		return nil
	}
	for i := 0; i < len(sql); {
		end := skipQuoted(sql, i)
		if end == i {
			i++
			continue
		}
		if sql[i] == '`' && end-i >= 2 && sql[end-1] == '`' {
			name := strings.ReplaceAll(sql[i+1:end-1], "``", "`")
			edits = append(edits, Edit{From: i, To: end, Text: QuoteName(name)})
		}
		i = end
	}
	return edits
}

// PositionBefore converts a position in the edited text to the position in the text before the
// edits, which must be sorted. A position within inserted text becomes the start of the edit.
func PositionBefore(edits []Edit, at int) int {
	shift := 0
	for _, e := range edits {
		if at < e.From+shift {
			break
		}
		if at < e.From+shift+len(e.Text) {
			return e.From
		}
		shift += len(e.Text) - (e.To - e.From)
	}
	return at - shift
}
