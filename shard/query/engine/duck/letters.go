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

// initMatch gives the search functions Go's tables of letters, with which the token filters of
// segments were made.
var initMatch = sync.OnceFunc(func() {
	numbers, entries := letters()
	// The engine reads both for as long as the process lives.
	bytes := func(p unsafe.Pointer, n int) unsafe.Pointer { return C.CBytes(unsafe.Slice((*byte)(p), n)) }
	C.cw_match_init(
		(*C.uint16_t)(bytes(unsafe.Pointer(&numbers[0]), 2*len(numbers))),
		(*C.uint32_t)(bytes(unsafe.Pointer(&entries[0]), 4*len(entries))))
})

// pageRunes is how many code points a page of them has.
const pageRunes = 256

// runePage is what the code points of a page are, in the form of match.h.
type runePage [pageRunes]uint32

// letters returns for each page of code points its number among the different ones, and these.
// Every process of the engine does it before its first query, so that it goes through the ranges
// that Unicode names and not through a million code points.
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
