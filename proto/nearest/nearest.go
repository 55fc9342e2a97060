// Package nearest finds the known name that is most similar to a mistyped one.
package nearest

import (
	"slices"
	"strings"
)

const (
	// maxName is the maximum length of names that are compared, in bytes. Known names are not much
	// longer.
	maxName = 100
	// maxKnown is the maximum number of names that are compared, so that an error takes no longer than a query.
	maxKnown = 10_000
	// minPrefix is the minimum length, in bytes, at which the beginning of a name counts as similar
	// to it.
	minPrefix = 3
	// minPartPrefix is the limit if the rest of the name is correct.
	minPartPrefix = 2
)

// Name returns the name among known that is most similar to text, or "" if none is similar. It
// ignores case. Of names that are equally similar, the first is returned.
//
// The measure is the number of bytes that are inserted, deleted, replaced, or swapped with their neighbour: one is
// allowed for two to four bytes of the longer name, two for five to seven, and so on. Words with which both names
// begin or end do not count, so http-addr is not similar to node-addr. The beginning of a name counts as one edit
// away from it, even if much is missing.
func Name(text string, known []string) string {
	if text == "" || len(text) > maxName {
		return ""
	}
	text = strings.ToLower(text)
	best, limit := "", maxName
	for i, name := range known {
		if i == maxKnown {
			break
		}
		if d, alike := edits(text, strings.ToLower(name), limit); alike {
			best, limit = name, d
		}
	}
	return best
}

// Names returns up to most of the names among known that are similar to text by the measure of
// Name, the most similar first.
func Names(text string, known []string, most int) []string {
	if text == "" || len(text) > maxName {
		return nil
	}
	type found struct {
		name string
		away int
	}
	var list []found
	text = strings.ToLower(text)
	for _, name := range known[:min(len(known), maxKnown)] {
		if d, alike := edits(text, strings.ToLower(name), maxName); alike {
			list = append(list, found{name, d})
		}
	}
	slices.SortStableFunc(list, func(a, b found) int { return a.away - b.away })
	var names []string
	for _, f := range list {
		if len(names) < most && !slices.Contains(names, f.name) {
			names = append(names, f.name)
		}
	}
	return names
}

// edits returns the number of edits between two names, and whether it is below limit and small enough for similar
// names.
func edits(a, b string, limit int) (int, bool) {
	whole, least := len(a), minPrefix
	a, b = unlike(a, b)
	if len(a) < whole {
		least = minPartPrefix
	}
	limit = min(limit, 1+(max(len(a), len(b))+1)/3)
	if len(a) >= least && len(a) < len(b) && strings.HasPrefix(b, a) {
		return 1, limit > 1
	}
	d := distance(a, b, limit)
	return d, d < limit
}

// unlike returns two names without their common first and last words.
func unlike(a, b string) (string, string) {
	const between = "-_."
	from := 0
	for i := 0; i < len(a) && i < len(b) && a[i] == b[i]; i++ {
		if strings.IndexByte(between, a[i]) >= 0 {
			from = i + 1
		}
	}
	a, b = a[from:], b[from:]
	end := 0
	for i := 1; i <= len(a) && i <= len(b) && a[len(a)-i] == b[len(b)-i]; i++ {
		if strings.IndexByte(between, a[len(a)-i]) >= 0 {
			end = i
		}
	}
	return a[:len(a)-end], b[:len(b)-end]
}

// DidYouMean returns `did you mean "x"?` after the given separator, for the name that Name finds,
// and "" if there is none.
func DidYouMean(separator, text string, known []string) string {
	name := Name(text, known)
	if name == "" {
		return ""
	}
	return separator + `did you mean "` + name + `"?`
}

// distance returns the number of edits between two names, or limit if it is not below that.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	// The rows of the distance matrix for the previous two bytes of a and for this one.
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(replaced, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit { // a swap may still reduce the distance by one
			return limit
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit)
}
