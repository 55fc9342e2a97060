// Package facets counts the values of fields: the most frequent values, the number of distinct values, and the
// distribution of numbers.
package facets

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/explore/budget"
	"cordwood/router/explore/fields"
	"cordwood/router/explore/scope"
	"cordwood/router/query"
)

// The limits of a request.
const (
	MaxFields = 24
	MaxTop    = 100
)

// Request has the parameters for counting the values of fields.
type Request struct {
	Fields []string
	Top    int
	// Exclude leaves out a field's own conditions in the search while its values are counted.
	Exclude bool
	// Exact forbids estimates. Otherwise an exact count may take up to Budget.
	Exact  bool
	Budget time.Duration
}

// Value is a value with its number of occurrences. Cut is the full length in bytes of a text that was shortened.
type Value struct {
	Value json.RawMessage `json:"value"`
	Count int64           `json:"count"`
	Cut   int             `json:"cut,omitempty"`
}

// Stats is the distribution of numbers: the quartiles, and the counts in equal intervals from the smallest to the
// largest.
type Stats struct {
	Min  json.RawMessage `json:"min"`
	P25  float64         `json:"p25"`
	P50  float64         `json:"p50"`
	P75  float64         `json:"p75"`
	Max  json.RawMessage `json:"max"`
	Bins []int64         `json:"bins"`
	// Sampled says that they were estimated from a sample.
	Sampled bool `json:"sampled,omitempty"`
}

// Field has the counts of a field.
type Field struct {
	Name string `json:"name"`
	// Filled counts the rows with a value, and Distinct the distinct values.
	Filled   int64   `json:"filled"`
	Distinct int64   `json:"distinct"`
	Values   []Value `json:"values"`
	// Other counts rows with a value that is not listed.
	Other int64  `json:"other"`
	Stats *Stats `json:"stats,omitempty"`
	// Sampled says that the counts were estimated from a sample, and Estimated that only Distinct was estimated, with a
	// standard error of about a tenth.
	Sampled   bool `json:"sampled,omitempty"`
	Estimated bool `json:"estimated,omitempty"`
}

// Answer has the values of fields.
type Answer struct {
	// Rows counts the rows that match the search.
	Rows   int64   `json:"rows"`
	Fields []Field `json:"fields"`

	// SampledRows is the number of rows from which the counts were estimated, and SampledOf the number of all rows; 0
	// means that the counts are exact.
	SampledRows, SampledOf int64 `json:"-"`
}

// field is a field that is being counted.
type field struct {
	name string
	// exprs has the SQL expressions for the value, by table id.
	exprs map[uint64]string
	// wheres has the conditions for the rows of the tables if they differ from those of the scope; nil if they do
	// not.
	wheres map[uint64]string
	// numbers is set if the values are numbers, and floats if they may be NaN or infinite.
	numbers, floats bool
	// few is set if there are few distinct values among the newest rows.
	few bool
	// scattered is set if nearly every row has a distinct value. Then the values are not counted individually.
	scattered bool
}

// equals reports whether two fields with different names have the same values.
func (f *field) equals(other *field) bool { return maps.Equal(f.exprs, other.exprs) }

// counter counts the values for one request.
type counter struct {
	scope  *scope.Scope
	req    *Request
	fields []*field
	// extents has the bounds of the files of the tables.
	extents map[uint64]*query.Extent
	// sample has the rows that are read; nil: all.
	sample *budget.Sample
	// newest has a condition for the rows that are read, by table id; nil if there is none.
	newest map[uint64]string
	// described has the rows from which statistics of numbers are computed if there are many rows, and describedBy is the
	// factor for their counts. If described is not set, statistics are computed from the rows that are counted.
	described   *budget.Sample
	describedBy float64
	// many is set if there are more rows than are counted exactly with a search.
	many bool
}

// fewValues is the largest fraction of distinct values among the newest rows with which a field is counted exactly
// among many rows.
const fewValues = 0.1

// manyRows is the smallest number of rows of a table whose scattered fields are not counted individually.
const manyRows = 10_000

// Count counts the values of fields among the rows of s.
func Count(ctx context.Context, s *scope.Scope, known *fields.Service, req Request) (*Answer, error) {
	if len(req.Fields) == 0 || len(req.Fields) > MaxFields {
		return nil, errs.New(errs.InvalidArguments, "%d fields are given: list 1 to %d", len(req.Fields), MaxFields)
	}
	if err := fields.CheckOnce(req.Fields); err != nil {
		return nil, err
	}
	if req.Top < 1 || req.Top > MaxTop {
		return nil, errs.New(errs.InvalidArguments, "top is %d: it must be from 1 to %d", req.Top, MaxTop)
	}
	c := &counter{scope: s, req: &req}
	about, err := known.Of(ctx, s)
	if err != nil {
		return nil, err
	}
	extents, err := s.Extents(ctx)
	if err != nil {
		return nil, err
	}
	rows := budget.Estimate(s, extents).Rows
	c.many = rows > budget.MaxExact
	for _, name := range req.Fields {
		f, err := c.resolve("fields", name)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(about.Fields, func(known fields.Field) bool { return known.Name == name })
		f.few = i >= 0 && about.Fields[i].Unique <= fewValues
		f.scattered = i >= 0 && about.Fields[i].Unique > 0.5 && rows > manyRows
		c.fields = append(c.fields, f)
	}
	c.extents = extents
	return c.run(ctx, rows)
}

// run counts exactly if there are few rows. With many rows, it counts only the fields with few values exactly, because
// the shards keep counts of such values, and only if no search has to read each row. It counts the other fields in a
// sample, and all fields if exact counts take too long. Without a sample, it always counts exactly.
func (c *counter) run(ctx context.Context, rows int64) (*Answer, error) {
	if _, ok := budget.NewSample(c.scope, c.extents, budget.LeastSample); c.req.Exact || !ok {
		return c.count(ctx)
	}
	var exact *Answer
	all := c.fields
	if rows > budget.MaxExact {
		c.described, _ = budget.NewSample(c.scope, c.extents, budget.SampleRows)
		c.describedBy = float64(rows) / budget.SampleRows
		few, others := c.divide()
		late := len(few) == 0
		if c.fields = few; !late {
			var err error
			late, err = budget.Try(ctx, c.req.Budget, func(ctx context.Context) (err error) {
				exact, err = c.count(ctx)
				return err
			})
			if err != nil {
				return nil, err
			}
		}
		if late {
			exact, others = nil, all
		}
		if c.fields = others; len(others) == 0 {
			return exact, nil
		}
	}
	many := c.many
	var a *Answer
	part, err := budget.Count(ctx, c.scope, c.extents, c.req.Budget, func(ctx context.Context, part *budget.Sample) error {
		c.sample, c.many = part, many && part == nil
		next, err := c.count(ctx)
		if err == nil {
			a = next
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if part != nil {
		if err := c.estimate(ctx, a, rows, part); err != nil {
			return nil, err
		}
	}
	return a.with(exact, all), nil
}

// divide returns the fields that are counted exactly among many rows, and those that are not.
func (c *counter) divide() (exact, sampled []*field) {
	searched := c.scope.Searches()
	for _, f := range c.fields {
		if searched || !f.few {
			sampled = append(sampled, f)
		} else {
			exact = append(exact, f)
		}
	}
	return exact, sampled
}

// estimate estimates the counts of all rows from those of a sample.
func (c *counter) estimate(ctx context.Context, a *Answer, rows int64, sample *budget.Sample) error {
	read, err := budget.SampledRows(ctx, c.scope, sample)
	if err != nil {
		return err
	}
	a.SampledRows, a.SampledOf = read, max(rows, read)
	a.scale(float64(a.SampledOf) / float64(max(read, 1)))
	for i := range a.Fields {
		a.Fields[i].Sampled = true
	}
	return nil
}

// with adds the fields that were counted exactly, in the order of all fields. exact may be nil.
func (a *Answer) with(exact *Answer, all []*field) *Answer {
	if exact == nil {
		return a
	}
	byName := map[string]Field{}
	for _, f := range append(a.Fields, exact.Fields...) {
		byName[f.Name] = f
	}
	a.Rows, a.Fields = exact.Rows, nil
	for _, f := range all {
		a.Fields = append(a.Fields, byName[f.name])
	}
	return a
}

func (a *Answer) scale(by float64) {
	scale := func(n *int64) { *n = int64(math.Round(float64(*n) * by)) }
	scale(&a.Rows)
	for i := range a.Fields {
		f := &a.Fields[i]
		scale(&f.Filled)
		scale(&f.Other)
		for k := range f.Values {
			scale(&f.Values[k].Count)
		}
		if f.Stats != nil {
			for k := range f.Stats.Bins {
				scale(&f.Stats.Bins[k])
			}
		}
	}
}

// resolve finds a field in the tables. member is the member of the request that has its name.
func (c *counter) resolve(member, name string) (*field, error) {
	f := &field{name: name, exprs: map[uint64]string{}, numbers: true}
	own := map[uint64]string{}
	different, found := false, false
	for _, t := range c.scope.Tables {
		expr, typ, has, err := t.Columns.Value(name)
		if err != nil {
			return nil, err
		}
		if !has {
			expr = "NULL"
		} else {
			found = true
			f.numbers = f.numbers && (typ.IsInteger() || typ.IsFloat())
			f.floats = f.floats || typ.IsFloat()
			if typ == schema.Binary {
				return nil, errs.New(errs.Unsupported, "%s: the values of %.100q are binary and cannot be counted", member,
					name)
			}
		}
		f.exprs[t.Def.ID] = expr
		condition := t.Condition
		if c.req.Exclude {
			if condition, err = c.scope.Without(t, name); err != nil {
				return nil, err
			}
		}
		own[t.Def.ID] = condition
		different = different || condition != t.Condition
	}
	if !found {
		return nil, c.scope.NoField(member, name)
	}
	if different {
		f.wheres = own
	}
	return f, nil
}

// from returns the FROM clause for a statement about some fields, which are named f0, f1 and so on, with the rows
// of all tables. names are the expressions that select the fields.
func (c *counter) from(list []*field, wheres map[uint64]string) (from string, names []string) {
	rows := func(t *scope.Table) string {
		condition := t.Condition
		if wheres != nil {
			condition = wheres[t.Def.ID]
		}
		return c.sample.Rows(t, condition, c.scope.Times(t), c.newest[t.Def.ID])
	}
	if len(c.scope.Tables) == 1 {
		t := c.scope.Tables[0]
		for _, f := range list {
			names = append(names, f.exprs[t.Def.ID])
		}
		return " FROM " + rows(t), names
	}
	var parts []string
	for _, t := range c.scope.Tables {
		columns := []string{"1 AS one"}
		for i, f := range list {
			columns = append(columns, f.exprs[t.Def.ID]+" AS "+alias(i))
		}
		parts = append(parts, "SELECT "+strings.Join(columns, ", ")+" FROM "+rows(t))
	}
	for i := range list {
		names = append(names, alias(i))
	}
	return " FROM (" + strings.Join(parts, " UNION ALL ") + ") AS u", names
}
