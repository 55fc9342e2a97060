package patterns

import (
	"slices"
	"strings"
)

// Hole replaces the differing words in a pattern.
const Hole = "⟨*⟩"

// The limits of merging: how many words of a mask select its group, how many patterns a group has, and how many
// words a mask may have.
const (
	prefixWords = 2
	maxGroup    = 100
	maxWords    = 200
)

// tree merges masks that differ in one or two words, but in at most half of their words. It is not safe for
// concurrent use.
type tree[T any] struct {
	groups map[string][]*pattern[T]
	all    []*pattern[T]
}

// Merger merges masks into patterns. It is not safe for concurrent use.
type Merger struct{ tree tree[*Merged] }

// Merged is the pattern of the masks that were merged.
type Merged struct {
	of     *pattern[*Merged]
	number int
}

// Number distinguishes the pattern from others of its Merger.
func (m *Merged) Number() int { return m.number }

// Text returns the pattern, with Hole in place of the words that differ.
func (m *Merged) Text() string { return m.of.text() }

// Add adds a mask to a pattern and returns the pattern, or nil if there are too many similar patterns.
func (m *Merger) Add(mask string) *Merged {
	p := m.tree.add(mask)
	if p == nil {
		return nil
	}
	if p.of == nil {
		p.of = &Merged{p, len(m.tree.all)}
	}
	return p.of
}

// pattern has masks that were merged.
type pattern[T any] struct {
	words []string
	of    T
}

// text returns the pattern.
func (p *pattern[T]) text() string { return strings.Join(p.words, " ") }

// find returns the pattern of a mask, or nil if there is none yet.
func (t *tree[T]) find(words []string) *pattern[T] {
	var best *pattern[T]
	fewest := maxDiffering + 1
	for _, p := range t.groups[groupOf(words)] {
		if n := differing(p.words, words); n < fewest && 2*n <= len(words) {
			best, fewest = p, n
		}
	}
	return best
}

// maxDiffering limits the number of words in which masks of one pattern may differ.
const maxDiffering = 2

// add adds the mask to a pattern and returns the pattern, or nil if there are too many similar patterns.
func (t *tree[T]) add(mask string) *pattern[T] {
	words := strings.Split(mask, " ")
	if len(words) > maxWords {
		words = append(slices.Clone(words[:maxWords]), Hole)
	}
	if p := t.find(words); p != nil {
		for i, w := range words {
			if p.words[i] != w {
				p.words[i] = Hole
			}
		}
		return p
	}
	if t.groups == nil {
		t.groups = map[string][]*pattern[T]{}
	}
	key := groupOf(words)
	if len(t.groups[key]) >= maxGroup {
		return nil
	}
	p := &pattern[T]{words: slices.Clone(words)}
	t.groups[key] = append(t.groups[key], p)
	t.all = append(t.all, p)
	return p
}

// groupOf returns the group of a mask: its number of words, and the first words.
func groupOf(words []string) string {
	first := words[:min(len(words), prefixWords)]
	var b strings.Builder
	b.WriteByte(byte(len(words)))
	b.WriteByte(byte(len(words) >> 8))
	for i, w := range first {
		// If there are few words, the second word may be the word that differs.
		if strings.Contains(w, Hole) || i > 0 && len(words) < 2*prefixWords {
			w = Hole
		}
		b.WriteString(w)
		b.WriteByte(0)
	}
	return b.String()
}

// differing returns the number of words in which two masks of the same length differ. Holes are not counted.
func differing(a, b []string) int {
	n := 0
	for i, w := range a {
		if w != b[i] && w != Hole {
			if n++; n > maxDiffering {
				break
			}
		}
	}
	return n
}
