// Package patterns finds common patterns in the texts of a field. The engine masks numbers, addresses and similar
// parts, and counts the masks. This package merges masks that differ in one or two words, the most frequent ones
// first.
package patterns

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/explore/budget"
	"cordwood/router/explore/rows"
	"cordwood/router/explore/scope"
	"cordwood/router/query"
	"cordwood/router/query/format"
)

const (
	// MaxLimit limits the number of patterns of an answer.
	MaxLimit = 200
	// maxMasks limits the number of masks that are merged.
	maxMasks = 20_000
	// textChars is the number of characters of a text that are used.
	textChars = 500
	// sparks is the number of parts of the range that are counted separately.
	sparks = 24
	// exampleBytes limits the size of an example.
	exampleBytes = 1024
	// exampleChars limits the texts that are tested for whether a search finds them.
	exampleChars = 1000
)

// masked matches the variable parts of texts: quoted texts, UUIDs, times, addresses, hexadecimal numbers and
// numbers.
const masked = `"[^"]*"|\B'[^']*'\B|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}` +
	`|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?|\d\d:\d\d:\d\d(?:[.,]\d+)?` +
	`|\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|\b(?:0x[0-9a-fA-F]+|[0-9a-fA-F]{6,})\b|\d+(?:\.\d+)?`

// Request has the parameters for finding patterns.
type Request struct {
	// Field contains the texts; empty means the field with the messages.
	Field string
	Limit int
	// Before also counts the texts of the preceding range of the same length.
	Before bool
	// Exact forbids estimates. Otherwise an exact count may take up to Budget.
	Exact  bool
	Budget time.Duration
}

// Example is a text of a pattern. ID is the id of its row.
type Example struct {
	ID    string `json:"id"`
	Table string `json:"table"`
	Text  string `json:"text"`
}

// Pattern is a common pattern of some texts.
type Pattern struct {
	Pattern string `json:"pattern"`
	// Count is the number of rows that the search Query finds. A row that fits several patterns counts for each.
	Count int64 `json:"count"`
	// About is set if Query may find a few rows more or fewer.
	About bool `json:"about,omitempty"`
	// Before counts the texts of the preceding range; nil if it is not requested.
	Before *int64           `json:"before"`
	Levels map[string]int64 `json:"levels"`
	First  string           `json:"first"`
	Last   string           `json:"last"`
	// Spark has the counts for equal parts of the range.
	Spark   []int64 `json:"spark"`
	Example Example `json:"example"`
	// Query is a search text that finds the texts of the pattern.
	Query string `json:"query"`

	first, last time.Time
	of          *mask // with the newest text
	fit         *fit
}

// Answer has patterns, the most frequent ones first.
type Answer struct {
	Field    string     `json:"field"`
	Patterns []*Pattern `json:"patterns"`
	// Rows counts the rows with a text, and Other those whose text has none of the patterns.
	Rows  int64 `json:"rows"`
	Other int64 `json:"other"`

	// BeforeAbout is set if the counts of the preceding range were estimated from a sample.
	BeforeAbout bool `json:"before_about,omitempty"`

	// SampledRows is the number of rows from which the counts were estimated, and SampledOf the number of all rows; 0
	// means that the counts are exact.
	SampledRows, SampledOf int64 `json:"-"`
}

// finder finds the patterns of one request.
type finder struct {
	scope *scope.Scope
	req   *Request
	// until is when exact counts are given up.
	until time.Time
	// sampled has the rows that were counted; nil means all of them.
	sampled *budget.Sample
	extents map[uint64]*query.Extent
	tree    *tree[*merged]
	masks   []*mask
	// other counts the rows whose masks are not known, because there are too many.
	other int64
}

// merged has the masks of a pattern.
type merged struct {
	count int64
	// loose is set if one of the masks is, and cut if only the beginning of a text was compared.
	loose, cut bool
}

// Find returns the patterns of the texts of a field among the rows of s. If s has no start, the range starts at its
// first row.
func Find(ctx context.Context, s *scope.Scope, req Request) (*Answer, error) {
	if req.Limit < 1 || req.Limit > MaxLimit {
		return nil, errs.New(errs.InvalidArguments, "limit is %d: it must be from 1 to %d", req.Limit, MaxLimit)
	}
	f := &finder{scope: s, req: &req, until: time.Now().Add(req.Budget)}
	if err := f.chooseField(); err != nil {
		return nil, err
	}
	if err := s.BeginAtFirstRow(ctx); err != nil {
		return nil, err
	}
	extents, err := s.Extents(ctx)
	if err != nil {
		return nil, err
	}
	f.extents = extents
	read, of, err := f.inTime(ctx, func(ctx context.Context, part *budget.Sample) error {
		next := *f
		next.sampled = part
		err := next.count(ctx)
		if err == nil {
			*f = next
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	a, err := f.answer(ctx)
	if err == nil && f.sampled != nil {
		a.SampledRows, a.SampledOf = read, of
		a.scale(float64(of) / float64(max(read, 1)))
	}
	return a, err
}

// chooseField finds the field that contains the texts.
func (f *finder) chooseField() error {
	if f.req.Field == "" {
		for _, t := range f.scope.Tables {
			if m := t.Columns.Roles().Message; m != nil {
				f.req.Field = m.Name
				break
			}
		}
	}
	if f.req.Field == "" {
		return errs.New(errs.InvalidArguments, "the tables have no column of messages: give a field with texts, such as "+
			`"field":"note"`)
	}
	found := false
	for _, t := range f.scope.Tables {
		c := t.Def.Column(f.req.Field)
		if c != nil && c.Type != schema.String {
			return errs.New(errs.InvalidArguments, "field %.100q has type %s: patterns need a field with "+
				"texts", f.req.Field, c.Type)
		}
		found = found || c != nil
	}
	if !found {
		return f.scope.NoField("field", f.req.Field)
	}
	return nil
}

// count counts masks with the engine, and merges them.
func (f *finder) count(ctx context.Context) error {
	f.tree, f.masks, f.other = &tree[*merged]{}, nil, 0
	for _, t := range f.scope.Tables {
		if t.Def.Column(f.req.Field) == nil {
			continue
		}
		if err := f.countTable(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// Mask returns the SQL of the mask of a text.
func Mask(column string) string {
	return "regexp_replace(" + begin(column, textChars) + ", " + schema.QuoteLiteral(masked) + ", " +
		schema.QuoteLiteral(Hole) + ", 'g')"
}

// begin returns the SQL of the first characters of a text.
func begin(column string, chars int) string { return fmt.Sprintf("left(%s, %d)", column, chars) }

// answer returns the most frequent patterns, with examples.
func (f *finder) answer(ctx context.Context) (*Answer, error) {
	a := &Answer{Field: f.req.Field, Patterns: []*Pattern{}}
	words := true
	for _, t := range f.scope.Tables {
		words = words && (t.Def.Column(f.req.Field) == nil || t.Columns.Words(f.req.Field))
	}
	found := make([]bool, len(f.masks))
	for _, node := range mostFrequent(f.tree.all, f.req.Limit) {
		text := node.text()
		fit, err := newFit(text, !node.of.cut, node.of.loose)
		if err != nil {
			return nil, errs.Wrap(errs.Internal, err, "make a search for the pattern %.200q", text)
		}
		p := &Pattern{Pattern: text, fit: fit, About: f.other > 0}
		p.Query = queryOf(f.req.Field, text, fit.exp.String(), words, node.of.cut)
		if p.recount(f.masks, found); p.Count > 0 {
			a.Patterns = append(a.Patterns, p)
		}
	}
	a.Other = f.other + rest(f.masks, found)
	a.Rows = f.other + rest(f.masks, make([]bool, len(f.masks)))
	if err := f.verify(ctx, a.Patterns); err != nil {
		return nil, err
	}
	slices.SortFunc(a.Patterns, func(x, y *Pattern) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), strings.Compare(x.Pattern, y.Pattern))
	})
	for _, p := range a.Patterns {
		p.First, p.Last = p.first.Format(time.RFC3339Nano), p.last.Format(time.RFC3339Nano)
		p.Example = Example{Table: p.of.table, Text: scope.Cut(p.of.text, exampleBytes)}
	}
	if f.req.Before {
		if err := f.countBefore(ctx, a); err != nil {
			return nil, err
		}
	}
	return a, f.identify(ctx, a)
}

// identify finds the ids of the examples.
func (f *finder) identify(ctx context.Context, a *Answer) error {
	for _, t := range f.scope.Tables {
		byText := map[string]*Pattern{}
		var times []string
		for _, p := range a.Patterns {
			if p.Example.Table == t.Def.Name {
				byText[p.of.text] = p
				times = append(times, t.Compare("=", p.last))
			}
		}
		if len(byText) == 0 {
			continue
		}
		err := rows.Identify(ctx, f.scope, t, "("+strings.Join(times, " OR ")+")", f.req.Field, func(id, text string) bool {
			text = cutChars(text, exampleChars)
			if p := byText[text]; p != nil {
				p.Example.ID = id
				delete(byText, text)
			}
			return len(byText) > 0
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// countBefore counts the texts of the preceding range that the searches for the patterns find.
func (f *finder) countBefore(ctx context.Context, a *Answer) error {
	now := f.scope.Range
	defer func() { f.scope.Range = now }()
	f.scope.Range = scope.Range{From: now.From.Add(-now.To.Sub(now.From)), To: now.From}
	var counts []int64
	by := 1.
	read, of, err := f.inTime(ctx, func(ctx context.Context, part *budget.Sample) error {
		next := make([]int64, len(a.Patterns))
		err := f.countFits(ctx, part, a.Patterns, next)
		if err == nil {
			counts, a.BeforeAbout = next, part != nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if a.BeforeAbout {
		by = float64(of) / float64(max(read, 1))
	}
	for i, p := range a.Patterns {
		n := int64(math.Round(float64(counts[i]) * by))
		p.Before = &n
	}
	return nil
}

// countFits counts the texts that the searches for patterns find among some rows of the range.
func (f *finder) countFits(ctx context.Context, part *budget.Sample, list []*Pattern, counts []int64) error {
	for _, t := range f.scope.Tables {
		if t.Def.Column(f.req.Field) == nil {
			continue
		}
		column := scope.Ident(f.req.Field)
		sql := "SELECT " + Mask(column) + ", count(*), max(" + begin(column, exampleChars) + ") FROM " +
			part.Rows(t, t.Condition, f.scope.Times(t), column+" IS NOT NULL") +
			" GROUP BY 1 ORDER BY 2 DESC LIMIT " + fmt.Sprint(maxMasks)
		err := f.scope.Run(ctx, sql, func(rec arrow.RecordBatch) error {
			texts := format.Text(rec.Column(2))
			for i := range int(rec.NumRows()) {
				text := texts(i)
				for k, p := range list {
					if p.fit.finds(text) {
						counts[k] += number(rec.Column(1), i)
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *Answer) scale(by float64) {
	scale := func(n int64) int64 { return int64(math.Round(float64(n) * by)) }
	a.Rows, a.Other = scale(a.Rows), scale(a.Other)
	for _, p := range a.Patterns {
		p.Count = scale(p.Count)
		for i := range p.Spark {
			p.Spark[i] = scale(p.Spark[i])
		}
		for name, n := range p.Levels {
			p.Levels[name] = scale(n)
		}
	}
}
