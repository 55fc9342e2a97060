// Package hits counts rows over time, in total or by the values of a field.
package hits

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/router/explore/budget"
	"cordwood/router/explore/roles"
	"cordwood/router/explore/scope"
)

// MaxTop limits the values with separate series.
const MaxTop = 12

// Request has the parameters for the counts.
type Request struct {
	// Buckets limits the number of buckets. Step is the length of a bucket; empty means the smallest step with which
	// Buckets is not exceeded.
	Buckets int
	Step    string
	// By is a field or level; empty means that all rows are one series.
	By  string
	Top int
	// Zone is the IANA name of the time zone in which buckets of an hour or more start; empty means UTC.
	Zone string
	// Exact forbids estimates. Otherwise an exact count may take up to Budget.
	Exact  bool
	Budget time.Duration
}

// Series has the counts of one value in all buckets. Other is set for values without their own series.
type Series struct {
	Value  json.RawMessage `json:"value"`
	Other  bool            `json:"other,omitempty"`
	Counts []int64         `json:"counts"`
}

// Answer has the counts over time.
type Answer struct {
	Start string `json:"start"`
	// Step is the length of the buckets. Days and weeks may be an hour longer or shorter.
	Step string `json:"step"`
	// StepMillis is Step in milliseconds.
	StepMillis int64 `json:"step_ms"`
	// Times are the start times of the buckets.
	Times []string `json:"times"`
	// Cut reports whether the range starts inside the first bucket or ends inside the last one.
	Cut    Cut      `json:"cut"`
	Series []Series `json:"series"`
	Total  int64    `json:"total"`

	// SampledRows is the number of rows from which the counts were estimated, and SampledOf the number of all rows; 0
	// means that the counts are exact.
	SampledRows, SampledOf int64 `json:"-"`
}

// Cut reports which buckets are incomplete because of the range.
type Cut struct {
	First bool `json:"first"`
	Last  bool `json:"last"`
}

// counter counts the rows of one request.
type counter struct {
	scope  *scope.Scope
	req    *Request
	bounds []time.Time
	// part is the length of the intervals that the engine counts.
	part time.Duration
	// share is the fraction of the rows that is counted. rows is the estimated number of rows in the range, and most the
	// largest possible one.
	share      float64
	rows, most int64
	groups     *groups
	counts     map[int][]int64 // by the number of a group
	total      int64
}

// Count counts the rows of s over time. If s has no start, the time of its first row is used.
func Count(ctx context.Context, s *scope.Scope, req Request) (*Answer, error) {
	if req.Buckets < 1 || req.Buckets > MaxBuckets {
		return nil, errs.New(errs.InvalidArguments, "buckets is %d: it must be from 1 to %d", req.Buckets, MaxBuckets)
	}
	if req.Top < 1 || req.Top > MaxTop {
		return nil, errs.New(errs.InvalidArguments, "top is %d: it must be from 1 to %d", req.Top, MaxTop)
	}
	zone, err := time.LoadLocation(req.Zone)
	if err != nil || req.Zone == "Local" || len(req.Zone) > 100 {
		return nil, errs.New(errs.InvalidArguments, "tz is %.60q: it must be the name of a zone, such as "+
			"Europe/Berlin", req.Zone)
	}
	if err := s.BeginAtFirstRow(ctx); err != nil {
		return nil, err
	}
	if s.Range.From.Year() < 1678 || s.Range.To.Year() > 2261 {
		return nil, errs.New(errs.InvalidArguments, "the range is %s to %s: rows can only be counted in the years 1678 "+
			"to 2261", s.Range.From.Format(time.RFC3339), s.Range.To.Format(time.RFC3339))
	}
	step, err := stepOf(s.Range, req.Buckets, req.Step)
	if err != nil {
		return nil, err
	}
	c := &counter{scope: s, req: &req, bounds: boundaries(s.Range, step, zone), share: 1}
	c.part = countedStep(c.bounds, step)
	if err := c.run(ctx); err != nil {
		return nil, err
	}
	return c.answer(step), nil
}

// run counts exactly or, if that is not possible, counts a part of each bucket.
func (c *counter) run(ctx context.Context) error {
	extents, err := c.scope.Extents(ctx)
	if err != nil {
		return err
	}
	if c.groups, err = newGroups(ctx, c.scope, c.req, extents); err != nil {
		return err
	}
	all := func(ctx context.Context) error { return c.count(ctx, nil) }
	c.rows, c.most = budget.Estimate(c.scope, extents).Rows, budget.Most(c.scope, extents)
	if c.req.Exact || c.rows <= budget.SampleRows { // the sample would contain all rows
		return all(ctx)
	}
	var late bool
	if c.rows > budget.MaxExact && c.scope.Searches() {
		late, err = budget.TryLarge(ctx, c.scope, extents, c.req.Budget, all, c.beside().probe)
	} else {
		late, err = budget.Try(ctx, c.req.Budget, all)
	}
	if !late {
		return err
	}
	if c.rows > budget.MaxExact {
		c.share = float64(budget.SampleRows) / float64(c.rows)
		if late, err = budget.Try(ctx, c.req.Budget, all); !late {
			return err
		}
		c.share /= 8 // the machine is busy
		return all(ctx)
	}
	// So few rows are only late on a busy machine. Their windows cost more than their rows, so a larger part does not end
	// in time either.
	c.share = 1. / 64
	return all(ctx)
}

// beside returns a counter that may be used while c counts.
func (c *counter) beside() *counter {
	own, of := *c, *c.scope
	of.Partial = nil
	own.scope = &of
	return &own
}

// probe counts a part of the rows, and reports whether there are few.
func (c *counter) probe(ctx context.Context, part *budget.Sample) (few bool, err error) {
	err = c.count(ctx, part)
	return c.total < budget.Few, err
}

// count queries each table. If part is not nil, it counts only these rows.
func (c *counter) count(ctx context.Context, part *budget.Sample) error {
	c.counts, c.total = map[int][]int64{}, 0
	for _, t := range c.scope.Tables {
		group := c.groups.expression(t)
		// Division rounds towards 0, so times before 1970 are shifted.
		shift := int64(0)
		nanos := "epoch_ns(" + scope.Ident(t.Def.TimeIndex().Name) + ")"
		if c.scope.Range.From.Unix() < 0 {
			shift = -floor(c.scope.Range.From, c.part).UnixNano() / int64(c.part)
			nanos = fmt.Sprintf("(%s + %d)", nanos, shift*int64(c.part))
		}
		bucket := fmt.Sprintf("%s//%d", nanos, int64(c.part))
		// Groups are named by their position: a column of the table may have any name.
		sql := "SELECT " + bucket
		by := "1"
		if group != "" {
			sql += ", " + group
			by = "1, 2"
		}
		parts := []*budget.Sample{part}
		if part == nil && c.share < 1 {
			parts = c.windows(t)
		}
		for _, part := range parts {
			sql := sql + ", count(*) FROM " + part.Rows(t, t.Condition, c.scope.Times(t)) + " GROUP BY " + by
			err := c.scope.Run(ctx, sql, func(rec arrow.RecordBatch) error { return c.add(rec, shift, group != "") })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// windows returns the parts of the rows that are counted for an estimate: some windows of time at once, because a
// statement may have only so many.
func (c *counter) windows(t *scope.Table) []*budget.Sample {
	var windows [][2]time.Time
	for i := range len(c.bounds) - 1 {
		from, to := c.bounds[i], c.bounds[i+1]
		if from.Before(c.scope.Range.From) {
			from = c.scope.Range.From
		}
		if to.After(c.scope.Range.To) {
			to = c.scope.Range.To
		}
		span := time.Duration(float64(to.Sub(from)) * c.share)
		middle := from.Add((to.Sub(from) - span) / 2)
		windows = append(windows, [2]time.Time{middle, middle.Add(max(span, 1))})
	}
	var out []*budget.Sample
	for part := range slices.Chunk(windows, budget.MaxSlices) {
		out = append(out, budget.NewWindows(t, part))
	}
	return out
}

// add adds the counts of a batch. Its columns are the interval of time, the group if there are several, and the
// count.
func (c *counter) add(rec arrow.RecordBatch, shift int64, grouped bool) error {
	parts, ok := rec.Column(0).(*array.Int64)
	numbers, also := rec.Column(int(rec.NumCols()) - 1).(*array.Int64)
	if !ok || !also {
		return errs.New(errs.Internal, "count rows over time: the answer has the types %s", rec.Schema())
	}
	for i := range int(rec.NumRows()) {
		if parts.IsNull(i) {
			continue
		}
		at := time.Unix(0, (parts.Value(i)-shift)*int64(c.part))
		// The bucket is the last one that does not start after the interval. The first bucket may start before
		// the range.
		bucket := sort.Search(len(c.bounds), func(k int) bool { return c.bounds[k].After(at) }) - 1
		if bucket = max(bucket, 0); bucket >= len(c.bounds)-1 {
			continue
		}
		group := 0
		if grouped {
			group = c.groups.of(rec.Column(1), i)
		}
		if c.counts[group] == nil {
			c.counts[group] = make([]int64, len(c.bounds)-1)
		}
		c.counts[group][bucket] += numbers.Value(i)
		c.total += numbers.Value(i)
	}
	return nil
}

func (c *counter) answer(step time.Duration) *Answer {
	a := &Answer{Step: stepText(step), StepMillis: step.Milliseconds(), Series: []Series{}}
	last := len(c.bounds) - 1
	for _, t := range c.bounds[:last] {
		a.Times = append(a.Times, t.Format(time.RFC3339Nano))
	}
	a.Start = a.Times[0]
	a.Cut = Cut{First: c.bounds[0].Before(c.scope.Range.From), Last: c.bounds[last].After(c.scope.Range.To)}
	if c.share < 1 {
		a.SampledRows, a.SampledOf = int64(math.Round(float64(c.rows)*c.share)), c.rows
		c.scale()
	}
	a.Total = c.total
	a.Series = c.groups.series(c.counts, last)
	return a
}

// scale estimates the counts of all rows from those of a part. Together they do not exceed the number of rows.
func (c *counter) scale() {
	by, round := 1/c.share, math.Round
	if most := float64(c.most) / float64(max(c.total, 1)); by > most {
		by, round = most, math.Floor
	}
	c.total = 0
	for _, counts := range c.counts {
		for i, n := range counts {
			counts[i] = int64(round(float64(n) * by))
			c.total += counts[i]
		}
	}
}

// stepText formats a step as in requests.
func stepText(step time.Duration) string {
	const day = 24 * time.Hour
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if step%u.unit == 0 {
			return strconv.FormatInt(int64(step/u.unit), 10) + u.name
		}
	}
	return strconv.FormatInt(step.Milliseconds(), 10) + "ms"
}

// levels are the names of the levels as JSON, in order, followed by other.
var levels = append(slices.Clone(roles.Names), roles.Other)
