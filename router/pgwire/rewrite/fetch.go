package rewrite

import "strings"

// maxCount is the number of tokens of the value in FETCH FIRST and OFFSET.
const maxCount = 100

// rowsOnly rewrites FETCH FIRST n ROWS ONLY and OFFSET n ROWS, as ORMs write them, to LIMIT (n) and OFFSET (n). The
// engine's parser takes these forms only with plain numbers, and not with the casts in which values of parameters come.
func (r *rewriter) rowsOnly() bool {
	head, from := r.at(0), 1
	word := "OFFSET"
	if head.word("FETCH") {
		if !r.at(1).word("FIRST") && !r.at(1).word("NEXT") {
			return false
		}
		word, from = "LIMIT", 2
	}
	end := from
	for ; !r.at(end).word("ROWS") && !r.at(end).word("ROW"); end++ {
		t := r.at(end)
		if end > maxCount || t.closes() || r.i+end >= len(r.in) || afterTable[strings.ToUpper(t.val)] {
			return false
		}
		if t.match > 0 {
			end += t.match
		}
	}
	used := end + 1
	if word == "LIMIT" {
		if !r.at(end + 1).word("ONLY") {
			return false
		}
		used++
	}
	if end == from {
		if word == "OFFSET" {
			return false
		}
		r.raw(head, word+" 1")
		r.i += used
		return true
	}
	value := r.all(r.in[r.i+from : r.i+end])
	r.raw(head, word+" (")
	for _, t := range value {
		r.push(t)
	}
	r.raw(tok{at: head.at}, ")")
	r.i += used
	return true
}
