// Package compare finds the fields in which two sets of rows differ, by the difference between the shares of their
// values.
package compare

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/router/explore/budget"
	"cordwood/router/explore/fields"
	"cordwood/router/explore/scope"
	"cordwood/router/query/format"
)

const (
	// MaxFields limits the number of fields that are compared.
	MaxFields = 64
	// MaxTop limits the listed values of a field.
	MaxTop = 100
	// FewRows is the number of rows of a set below which differences mean little.
	FewRows = 30
	// alike is the distance below which the values of a field count as equal.
	alike = 0.02
	// beyondChance is the value of the G statistic from which a difference is no chance. Chance reaches it for one
	// value in ten thousand.
	beyondChance = 15
	// together is the number of fields that are counted in one scan.
	together = 16
	// bins is the number of ranges in which numbers are counted.
	bins = 20
	// maxValueBytes limits the size of a value, in bytes.
	maxValueBytes = 1024
)

// Request has the parameters for a comparison.
type Request struct {
	// Rest excludes the rows of the first set from the second set.
	Rest bool
	// Fields are the fields to compare; nil means the most useful ones.
	Fields []string
	Top    int
	Exact  bool
	Budget time.Duration
}

// Value is a value with its counts in both sets.
type Value struct {
	Value json.RawMessage `json:"value"`
	A     int64           `json:"a"`
	B     int64           `json:"b"`
}

// Field is a field that differs. Score is the Jensen-Shannon distance of the shares of its values, 0 to 1. Values
// whose counts differ no more than by chance count as equal.
type Field struct {
	Name  string  `json:"name"`
	Score float64 `json:"score"`
	// Kind is values or numbers. For numbers, each value is the start of a range, and all ranges have about
	// equally many rows.
	Kind   string  `json:"kind"`
	Values []Value `json:"values"`
}

// Set is one of the two sets of rows that are compared.
type Set struct {
	Rows int64 `json:"rows"`
}

// Answer has the fields that differ, with the most different field first.
type Answer struct {
	A Set `json:"a"`
	B Set `json:"b"`
	// Low is set if a set has fewer than FewRows rows.
	Low    bool    `json:"low"`
	Fields []Field `json:"fields"`
	// Same has the fields that hardly differ, and Unique the fields of which most rows have a value that hardly
	// another row has.
	Same   []string `json:"same"`
	Unique []string `json:"unique"`

	// SampledRows is the size of the sample from which the counts were estimated, and SampledOf the
	// number of all rows; 0 means that the counts are exact.
	SampledRows, SampledOf int64 `json:"-"`
}

// comparer compares two scopes.
type comparer struct {
	a, b *scope.Scope
	req  *Request
	// part has the condition for the sampled rows of each table, by its id.
	part *budget.Sample
}

// Compare compares the rows of a with the rows of b. Both have the same tables.
func Compare(ctx context.Context, a, b *scope.Scope, known *fields.Service, req Request) (*Answer, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	if !slices.EqualFunc(a.Tables, b.Tables, func(x, y *scope.Table) bool { return x.Def.ID == y.Def.ID }) {
		return nil, errs.New(errs.InvalidArguments, "a and b have different tables: only rows of the same tables can be "+
			"compared")
	}
	c := &comparer{a: a, b: b, req: &req}
	about, err := known.Of(ctx, a)
	if err != nil {
		return nil, err
	}
	list, unique, err := c.choose(about)
	if err != nil {
		return nil, err
	}
	extents, err := a.Extents(ctx)
	if err != nil {
		return nil, err
	}
	both := spanning(a, b)
	rows := budget.Estimate(both, extents).Rows
	var out *Answer
	count := func(ctx context.Context, part *budget.Sample) error {
		c.part = part
		next, err := c.count(ctx, list)
		if err == nil {
			out = next
		}
		return err
	}
	var part *budget.Sample
	_, ok := budget.NewSample(both, extents, budget.LeastSample)
	if req.Exact || !ok { // there is no sample to use instead
		err = count(ctx, nil)
	} else {
		part, err = budget.Count(ctx, both, extents, req.Budget, count)
	}
	if err != nil {
		return nil, err
	}
	if part != nil {
		read, err := budget.SampledRows(ctx, both, part)
		if err != nil {
			return nil, err
		}
		out.SampledRows, out.SampledOf = read, max(rows, read)
		out.scale(float64(out.SampledOf) / float64(max(read, 1)))
	}
	out.Unique = append(unique, out.Unique...)
	return out, nil
}

// check refuses requests with too many fields or values, or with a field twice.
func (r *Request) check() error {
	if r.Top < 1 || r.Top > MaxTop {
		return errs.New(errs.InvalidArguments, "top is %d: it must be from 1 to %d", r.Top, MaxTop)
	}
	if len(r.Fields) > MaxFields {
		return errs.New(errs.InvalidArguments, "%d fields are given: at most %d can be "+
			"compared", len(r.Fields), MaxFields)
	}
	return fields.CheckOnce(r.Fields)
}

// spanning returns a with a range that includes the range of b.
func spanning(a, b *scope.Scope) *scope.Scope {
	both := *a
	if b.Range.From.Before(both.Range.From) { // the zero time, which means no start, is before all others
		both.Range.From = b.Range.From
	}
	if b.Range.To.After(both.Range.To) {
		both.Range.To = b.Range.To
	}
	return &both
}

func (a *Answer) scale(by float64) {
	scale := func(n *int64) { *n = int64(math.Round(float64(*n) * by)) }
	scale(&a.A.Rows)
	scale(&a.B.Rows)
	for _, f := range a.Fields {
		for i := range f.Values {
			scale(&f.Values[i].A)
			scale(&f.Values[i].B)
		}
	}
}

const bothCounts = "count(*) FILTER (WHERE a) AS na, count(*) FILTER (WHERE b) AS nb"

// count counts the values of all fields in both sets.
func (c *comparer) count(ctx context.Context, list []*field) (*Answer, error) {
	out := &Answer{Fields: []Field{}, Same: []string{}, Unique: []string{}}
	err := c.a.Run(ctx, "SELECT "+bothCounts+c.from(nil), func(rec arrow.RecordBatch) error {
		out.A.Rows, out.B.Rows = number(rec.Column(0), 0), number(rec.Column(1), 0)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.Low = out.A.Rows < FewRows || out.B.Rows < FewRows
	if out.A.Rows == 0 || out.B.Rows == 0 {
		return out, nil // nothing can be compared
	}
	var values []*field
	for _, f := range list {
		f.score, f.values, f.rest, f.rare = 0, nil, [2]int64{}, 0
		if !f.numbers {
			values = append(values, f)
			continue
		}
		if err := c.countNumbers(ctx, f, out); err != nil {
			return nil, err
		}
	}
	for part := range slices.Chunk(values, together) {
		if err := c.countValues(ctx, part, out); err != nil {
			return nil, err
		}
	}
	for _, f := range list {
		f.score += difference(f.rest[0], f.rest[1], out)
		score := math.Round(math.Sqrt(max(0, f.score))*10000) / 10000
		switch {
		case score >= alike:
		case f.scattered(out):
			out.Unique = append(out.Unique, f.name)
			continue
		default:
			out.Same = append(out.Same, f.name)
			continue
		}
		kind := "values"
		if f.numbers {
			kind = "numbers"
		} else {
			slices.SortStableFunc(f.values, func(x, y Value) int { return cmp.Compare(y.A+y.B, x.A+x.B) })
		}
		out.Fields = append(out.Fields, Field{Name: f.name, Score: min(score, 1), Kind: kind, Values: f.values})
	}
	slices.SortStableFunc(out.Fields, func(x, y Field) int { return cmp.Compare(y.Score, x.Score) })
	return out, nil
}

// number returns the count in a row of an answer.
func number(a arrow.Array, row int) int64 {
	if n, ok := a.(*array.Int64); ok && row < n.Len() && !n.IsNull(row) {
		return n.Value(row)
	}
	return 0
}

// countValues counts the values of some fields in one scan.
func (c *comparer) countValues(ctx context.Context, list []*field, out *Answer) error {
	names, sets := make([]string, len(list)), make([]string, len(list))
	for i := range list {
		names[i] = "f" + strconv.Itoa(i)
		sets[i] = "(" + names[i] + ")"
	}
	columns := strings.Join(names, ", ")
	sql := "SELECT GROUPING(" + columns + ") AS g, " + bothCounts + ", " + columns + c.from(list) +
		" GROUP BY GROUPING SETS (" + strings.Join(sets, ", ") + ")"
	return c.a.Run(ctx, sql, func(rec arrow.RecordBatch) error {
		for row := range int(rec.NumRows()) {
			// The first field has the highest bit. A bit is set if the row does not belong to the field.
			of := 1<<len(list) - 1 - number(rec.Column(0), row)
			for i, f := range list {
				if of != 1<<(len(list)-1-i) {
					continue
				}
				text, _ := scope.ValueJSON(rec.Column(3+i), row, maxValueBytes)
				f.add(text, number(rec.Column(1), row), number(rec.Column(2), row), out)
			}
		}
		return nil
	})
}

// countNumbers counts numbers in ranges that have about equally many rows of both sets together.
func (c *comparer) countNumbers(ctx context.Context, f *field, out *Answer) error {
	from := c.from([]*field{f})
	var edges []float64
	var quantiles []string
	for i := range bins {
		quantiles = append(quantiles, "approx_quantile(CAST(f0 AS DOUBLE), "+
			strconv.FormatFloat(float64(i)/bins, 'g', -1, 64)+") FILTER (WHERE isfinite(CAST(f0 AS DOUBLE)))")
	}
	err := c.a.Run(ctx, "SELECT "+strings.Join(quantiles, ", ")+from, func(rec arrow.RecordBatch) error {
		for i := range bins {
			d, ok := rec.Column(i).(*array.Float64)
			if ok && rec.NumRows() > 0 && !d.IsNull(0) && (len(edges) == 0 || d.Value(0) > edges[len(edges)-1]) {
				edges = append(edges, d.Value(0))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	bin := "CASE WHEN f0 IS NULL THEN -1"
	for i := len(edges) - 1; i > 0; i-- {
		bin += " WHEN f0 >= CAST('" + strconv.FormatFloat(edges[i], 'g', -1, 64) + "' AS DOUBLE) THEN " + strconv.Itoa(i)
	}
	sql := "SELECT CAST(" + bin + " ELSE 0 END AS INTEGER), " + bothCounts + from + " GROUP BY 1 ORDER BY 1"
	return c.a.Run(ctx, sql, func(rec arrow.RecordBatch) error {
		at, ok := rec.Column(0).(*array.Int32)
		for row := 0; ok && row < int(rec.NumRows()); row++ {
			begin := json.RawMessage("null")
			if i := int(at.Value(row)); i >= 0 && i < len(edges) && !format.IsNull(at, row) {
				begin = strconv.AppendFloat(nil, edges[i], 'g', -1, 64)
			}
			f.add(begin, number(rec.Column(1), row), number(rec.Column(2), row), out)
		}
		return nil
	})
}
