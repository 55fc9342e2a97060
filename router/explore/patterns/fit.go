package patterns

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/router/explore/budget"
	"cordwood/router/explore/search"
)

// maxVerified limits the number of searches of a statement that counts what they find.
const maxVerified = 50

// mask has the texts that are equal but for their variable parts.
type mask struct {
	count       int64
	first, last time.Time
	// text is the newest text, cut to exampleChars characters, of the table named table.
	text, table string
	levels      [maxLevels]int64
	spark       [sparks]int64
	// loose is set if the variable parts of some of the texts may have blanks, or if only the beginning of the texts
	// was compared. The words of these texts are not the words of the pattern.
	loose bool
}

// fit finds the texts that the search for a pattern finds.
type fit struct {
	begin string // of all these texts
	exp   *regexp.Regexp
	// wider finds the texts with any text in place of the variable parts.
	wider *regexp.Regexp
}

// newFit returns the fit of a pattern. whole is set if the pattern includes the end of the texts, and loose if the
// variable parts may have blanks.
func newFit(pattern string, whole, loose bool) (*fit, error) {
	begin, _, _ := strings.Cut(pattern, Hole)
	wider, err := regexp.Compile(expression(pattern, whole, true))
	if err != nil || loose {
		return &fit{begin, wider, wider}, err
	}
	exp, err := regexp.Compile(expression(pattern, whole, false))
	return &fit{begin, exp, wider}, err
}

// expression returns a regular expression for the texts of a pattern.
func expression(pattern string, whole, loose bool) string {
	parts := strings.Split(pattern, Hole)
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	re, hole := "^", "[^ ]*"
	if loose {
		re, hole = "(?s)^", ".*"
	}
	re += strings.Join(parts, hole)
	if whole {
		re += "$"
	}
	return re
}

// finds reports whether the search finds a text.
func (f *fit) finds(text string) bool {
	return strings.HasPrefix(text, f.begin) && f.exp.MatchString(text)
}

// recount counts the rows that the search for p finds, and marks their masks as found.
func (p *Pattern) recount(masks []*mask, found []bool) {
	p.Levels, p.Spark = map[string]int64{}, make([]int64, sparks)
	f := p.fit
	for i, m := range masks {
		if !strings.HasPrefix(m.text, f.begin) {
			continue
		}
		fits := f.exp.MatchString(m.text)
		// Only the newest text of the mask is known here, and another one may fit or not.
		p.About = p.About || m.loose && (fits || f.wider.MatchString(m.text))
		if fits {
			found[i] = true
			p.add(m)
		}
	}
}

// verify asks the engine how many rows the searches find whose counts may be wrong, within the rest of the budget.
// Counts of a sample stay estimates.
func (f *finder) verify(ctx context.Context, all []*Pattern) error {
	var doubtful []*Pattern
	for _, p := range all {
		if p.About {
			doubtful = append(doubtful, p)
		}
	}
	if len(doubtful) == 0 || len(doubtful) > maxVerified || f.sampled != nil {
		return nil
	}
	var counts []int64
	late, err := budget.Try(ctx, time.Until(f.until), func(ctx context.Context) (err error) {
		counts, err = f.countFound(ctx, doubtful)
		return err
	})
	if err != nil || late {
		return err
	}
	for i, p := range doubtful {
		p.Count, p.About = counts[i], false
	}
	return nil
}

// countFound counts the rows that the searches for patterns find.
func (f *finder) countFound(ctx context.Context, list []*Pattern) ([]int64, error) {
	counts := make([]int64, len(list))
	for _, t := range f.scope.Tables {
		if t.Def.Column(f.req.Field) == nil {
			continue
		}
		columns := make([]string, len(list))
		for i, p := range list {
			q, err := search.Parse(p.Query)
			if err != nil {
				return nil, err
			}
			condition, err := q.Condition(t.Columns)
			if err != nil {
				return nil, err
			}
			columns[i] = "count(*) FILTER (WHERE " + condition + ")"
		}
		sql := "SELECT " + strings.Join(columns, ", ") + " FROM " + t.From() + f.scope.Where(t)
		err := f.scope.Run(ctx, sql, func(rec arrow.RecordBatch) error {
			for i := range counts {
				counts[i] += number(rec.Column(i), 0)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// add adds the texts of a mask to the counts.
func (p *Pattern) add(m *mask) {
	p.Count += m.count
	if p.first.IsZero() || m.first.Before(p.first) {
		p.first = m.first
	}
	if p.last.IsZero() || m.last.After(p.last) {
		p.last, p.of = m.last, m
	}
	for i, n := range m.levels {
		if n > 0 {
			p.Levels[levels[i]] += n
		}
	}
	for i, n := range m.spark {
		p.Spark[i] += n
	}
}

// rest returns the number of rows of the masks that are not marked.
func rest(masks []*mask, found []bool) int64 {
	n := int64(0)
	for i, m := range masks {
		if !found[i] {
			n += m.count
		}
	}
	return n
}

// cutChars returns the first characters of a text.
func cutChars(text string, chars int) string {
	for i := range text {
		if chars == 0 {
			return text[:i]
		}
		chars--
	}
	return text
}

// mostFrequent returns the patterns whose masks have the most rows, at most limit.
func mostFrequent(all []*pattern[*merged], limit int) []*pattern[*merged] {
	list := slices.Clone(all)
	slices.SortFunc(list, func(x, y *pattern[*merged]) int {
		return cmp.Or(cmp.Compare(y.of.count, x.of.count), strings.Compare(x.text(), y.text()))
	})
	return list[:min(len(list), limit)]
}
