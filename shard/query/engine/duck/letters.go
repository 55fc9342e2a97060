package duck

import (
	"sync"
	"unicode"
	"unsafe"
)

/*
#include <stdlib.h>
#include "match.h"
*/
import "C"

// initMatch passes Go's tables of letters to the C search functions. The token filters of segments
// were made with the same tables.
var initMatch = sync.OnceFunc(func() {
	numbers, entries := letters()
	// The copies are never freed, because the C functions read them until the process ends.
	bytes := func(p unsafe.Pointer, n int) unsafe.Pointer { return C.CBytes(unsafe.Slice((*byte)(p), n)) }
	C.cw_match_init(
		(*C.uint16_t)(bytes(unsafe.Pointer(&numbers[0]), 2*len(numbers))),
		(*C.uint32_t)(bytes(unsafe.Pointer(&entries[0]), 4*len(entries))))
})

// pageRunes is how many code points a page of the tables covers.
const pageRunes = 256

// runePage classifies the code points of a page, in the format of match.h.
type runePage [pageRunes]uint32

// letters returns the distinct pages, and for each range of code points the number of its page.
// Every process with an engine builds this table before its first query. To save time, it visits
// the ranges that Unicode defines, not each of a million code points.
func letters() (numbers []uint16, entries []uint32) {
	all := make([]runePage, (unicode.MaxRune+1)/pageRunes)
	mark := func(t *unicode.RangeTable, flag uint32) {
		for _, x := range t.R16 {
			for r := rune(x.Lo); r <= rune(x.Hi); r += rune(x.Stride) {
				all[r/pageRunes][r%pageRunes] |= flag
			}
		}
		for _, x := range t.R32 {
			for r := rune(x.Lo); r <= rune(x.Hi); r += rune(x.Stride) {
				all[r/pageRunes][r%pageRunes] |= flag
			}
		}
	}
	mark(unicode.Letter, C.CW_WORD)
	mark(unicode.Digit, C.CW_WORD)
	mark(unicode.Han, C.CW_HAN)
	for _, x := range unicode.CaseRanges {
		for r := rune(x.Lo); r <= rune(x.Hi); r++ {
			all[r/pageRunes][r%pageRunes] |= uint32(unicode.ToLower(r)-r) & C.CW_POINT
		}
	}
	known := make(map[runePage]uint16)
	for i := range all {
		number, ok := known[all[i]]
		if !ok {
			number = uint16(len(known))
			known[all[i]] = number
			entries = append(entries, all[i][:]...)
		}
		numbers = append(numbers, number)
	}
	return numbers, entries
}
