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
}

// Answer has the values of fields.
type Answer struct {
	// Rows counts the rows that match the search.
	Rows   int64   `json:"rows"`
	Fields []Field `json:"fields"`

	// SampledRows is the number of rows from which the counts were estimated, and SampledOf the number of all
	// rows; 0: the counts are exact.
	SampledRows, SampledOf int64 `json:"-"`
}

// field is a field that is being counted.
type field struct {
	name string
	// exprs has the SQL expressions for the value, by table id.
	exprs map[uint64]string
	// wheres has the conditions for the rows of the tables if they differ from those of the scope; nil: they do
	// not.
	wheres  map[uint64]string
	numbers bool
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
	// sampled has the condition for the sampled rows of each table, by its id; nil: all rows are read.
	sampled map[uint64]string
	// many is set if there are more rows than are counted exactly with a search.
	many bool
}

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
		f, err := c.resolve(name)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(about.Fields, func(known fields.Field) bool { return known.Name == name })
		f.scattered = i >= 0 && about.Fields[i].Unique > 0.5 && rows > manyRows
		c.fields = append(c.fields, f)
	}
	sample, ok := budget.Slices(s, extents, budget.SampleRows)
	if !ok {
		sample = nil
	}
	return c.run(ctx, rows, sample)
}

// run counts exactly if there are few rows, or if no search has to read each of them. Otherwise, or if that takes
// too long, it counts a sample, whose conditions are listed by table id. Without a sample, it always counts
// exactly.
func (c *counter) run(ctx context.Context, rows int64, sample map[uint64]string) (*Answer, error) {
	var a *Answer
	count := func(ctx context.Context) (err error) {
		a, err = c.count(ctx)
		return err
	}
	if c.req.Exact || sample == nil {
		return a, orNothing(&a, count(ctx))
	}
	if rows <= budget.MaxExact || c.unsearched() {
		late, err := budget.Try(ctx, c.req.Budget, count)
		if err != nil || !late {
			return a, orNothing(&a, err)
		}
	}
	c.sampled, c.many = sample, false
	if err := count(ctx); err != nil {
		return nil, err
	}
	read, err := c.sampledRows(ctx)
	if err != nil {
		return nil, err
	}
	a.SampledRows, a.SampledOf = read, max(rows, read)
	a.scale(float64(a.SampledOf) / float64(max(read, 1)))
	return a, nil
}

// orNothing returns err, and sets the answer to nil if err is not nil.
func orNothing(a **Answer, err error) error {
	if err != nil {
		*a = nil
	}
	return err
}

// unsearched reports whether the time range is the only condition.
func (c *counter) unsearched() bool {
	for _, t := range c.scope.Tables {
		if t.Condition != "TRUE" {
			return false
		}
	}
	return true
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

// resolve finds a field in the tables.
func (c *counter) resolve(name string) (*field, error) {
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
			if typ == schema.Binary {
				return nil, errs.New(errs.Unsupported, "fields: the values of %.100q are binary and cannot be counted", name)
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
		return nil, c.scope.NoField("fields", name)
	}
	if different {
		f.wheres = own
	}
	return f, nil
}

// from returns the FROM clause for a statement about some fields, which are named f0, f1 and so on, with the rows
// of all tables. names are the expressions that select the fields.
func (c *counter) from(list []*field, wheres map[uint64]string) (from string, names []string) {
	where := func(t *scope.Table) string {
		condition := t.Condition
		if wheres != nil {
			condition = wheres[t.Def.ID]
		}
		return scope.WhereAll(condition, c.scope.Times(t), c.sampled[t.Def.ID])
	}
	if len(c.scope.Tables) == 1 {
		t := c.scope.Tables[0]
		for _, f := range list {
			names = append(names, f.exprs[t.Def.ID])
		}
		return " FROM " + t.From() + where(t), names
	}
	var parts []string
	for _, t := range c.scope.Tables {
		columns := []string{"1 AS one"}
		for i, f := range list {
			columns = append(columns, f.exprs[t.Def.ID]+" AS "+alias(i))
		}
		parts = append(parts, "SELECT "+strings.Join(columns, ", ")+" FROM "+t.From()+where(t))
	}
	for i := range list {
		names = append(names, alias(i))
	}
	return " FROM (" + strings.Join(parts, " UNION ALL ") + ") AS u", names
}
