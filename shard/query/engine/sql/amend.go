package sql

import (
	"strings"
)

// The text of a statement is amended before the engine's parser sees it, where the parser would
// read it otherwise than its author.

// amend returns sql, which is normalized, with names in double quotes that stand in backticks, and
// with arrows in parentheses, and what it changed.
func amend(sql string) (string, []Edit) {
	// A parenthesis goes before the name that begins where it stands.
	edits := append(bindArrows(sql), unquoteBackticks(sql)...)
	return applyEdits(sql, edits), edits
}

// unquoteBackticks returns the edits that put names in double quotes that stand in backticks.
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

// PositionBefore returns where a position of the text with the edits, which are sorted, is in that
// without them. What an edit put in is where the edit begins.
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
