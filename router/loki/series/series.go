// Package series has the operators of LogQL between series of numbers: aggregations over series, binary operators,
// label_replace and sort. Their rules are those of Prometheus. The package is pure: it reads nothing and has no state.
package series

import (
	"maps"
	"math"
	"slices"
	"strings"

	"cordwood/proto/errs"
	"cordwood/router/loki/logql"
)

// Series has the numbers of one set of labels, one for each step.
type Series struct {
	Labels map[string]string
	Values []float64
	// Has is true for each step with a number.
	Has []bool
}

// New returns a series without numbers.
func New(labels map[string]string, steps int) *Series {
	return &Series{Labels: labels, Values: make([]float64, steps), Has: make([]bool, steps)}
}

// Set sets the number of a step.
func (s *Series) Set(step int, v float64) { s.Values[step], s.Has[step] = v, true }

// empty reports whether a series has no number.
func (s *Series) empty() bool { return !slices.Contains(s.Has, true) }

// Key returns a string that identifies a set of labels.
func Key(labels map[string]string) string {
	names, size := make([]string, 0, 16), 0
	for name, value := range labels {
		names, size = append(names, name), size+len(name)+len(value)+2
	}
	slices.Sort(names)
	var b strings.Builder
	b.Grow(size)
	for _, name := range names {
		b.WriteString(name)
		b.WriteByte(0)
		b.WriteString(labels[name])
		b.WriteByte(1)
	}
	return b.String()
}

// Sorted sorts series by their labels and leaves out those without a number.
func Sorted(list []*Series) []*Series {
	list = slices.DeleteFunc(list, (*Series).empty)
	keys := make(map[*Series]string, len(list))
	for _, s := range list {
		keys[s] = Key(s.Labels)
	}
	slices.SortFunc(list, func(a, b *Series) int { return strings.Compare(keys[a], keys[b]) })
	return list
}

// Only returns the labels with the given names or, if without is set, all others.
func Only(labels map[string]string, names []string, without bool) map[string]string {
	out := map[string]string{}
	for name, value := range labels {
		if slices.Contains(names, name) != without {
			out[name] = value
		}
	}
	return out
}

// group returns the labels of the group that a series belongs to.
func group(labels map[string]string, g *logql.Grouping) map[string]string {
	if g == nil {
		return map[string]string{}
	}
	return Only(labels, g.Names, g.Without)
}

// Aggregate aggregates series over the labels that a grouping does not keep.
func Aggregate(v *logql.Vector, in []*Series, steps int) []*Series {
	groups := map[string][]*Series{}
	var order []string
	for _, s := range in {
		key := Key(group(s.Labels, v.Grouping))
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], s)
	}
	var out []*Series
	for _, key := range order {
		members := groups[key]
		switch v.Op {
		case "topk", "bottomk", "approx_topk":
			out = append(out, best(v, members, steps)...)
			continue
		}
		s := New(group(members[0].Labels, v.Grouping), steps)
		for step := range steps {
			if n, ok := aggregate(v.Op, members, step); ok {
				s.Set(step, n)
			}
		}
		out = append(out, s)
	}
	return out
}

// aggregate returns the aggregate of the numbers of one step.
func aggregate(op string, members []*Series, step int) (float64, bool) {
	n, mean, m2 := 0., 0., 0.
	sum, low, high := 0., math.NaN(), math.NaN()
	for _, s := range members {
		if !s.Has[step] {
			continue
		}
		v := s.Values[step]
		n++
		sum += v
		d := v - mean
		mean += d / n
		m2 += d * (v - mean)
		if math.IsNaN(low) || v < low {
			low = v
		}
		if math.IsNaN(high) || v > high {
			high = v
		}
	}
	if n == 0 {
		return 0, false
	}
	switch op {
	case "sum":
		return sum, true
	case "avg":
		return sum / n, true
	case "min":
		return low, true
	case "max":
		return high, true
	case "count":
		return n, true
	case "stddev":
		return math.Sqrt(m2 / n), true
	}
	return m2 / n, true // stdvar
}

// best returns the series with the largest or smallest numbers of each step, with all their labels.
func best(v *logql.Vector, members []*Series, steps int) []*Series {
	out := make([]*Series, len(members))
	for i, s := range members {
		out[i] = New(s.Labels, steps)
	}
	at := make([]int, 0, len(members))
	for step := range steps {
		at = at[:0]
		for i, s := range members {
			if s.Has[step] {
				at = append(at, i)
			}
		}
		slices.SortStableFunc(at, func(a, b int) int {
			x, y := members[a].Values[step], members[b].Values[step]
			if v.Op == "bottomk" {
				x, y = y, x
			}
			return descending(x, y)
		})
		for _, i := range at[:min(len(at), v.Param)] {
			out[i].Set(step, members[i].Values[step])
		}
	}
	return out
}

// descending compares numbers so that larger ones come first and NaN last.
func descending(x, y float64) int {
	switch {
	case math.IsNaN(x) && math.IsNaN(y):
		return 0
	case math.IsNaN(x), x < y:
		return 1
	case math.IsNaN(y), x > y:
		return -1
	}
	return 0
}

// SortByValue sorts the series of an instant query by their numbers.
func SortByValue(in []*Series, desc bool) []*Series {
	slices.SortStableFunc(in, func(a, b *Series) int {
		if desc {
			return descending(a.Values[0], b.Values[0])
		}
		return -descending(a.Values[0], b.Values[0])
	})
	return in
}

// The limits of label_replace, in bytes: of the label of a series, and of the labels of all series. One label_replace
// can repeat the label that another one has set.
const (
	maxReplaced    = 1 << 20
	maxReplacedAll = 64 << 20
)

// Replace sets a label of series by label_replace. It returns an error if two series get the same labels, or if the
// labels become too large.
func Replace(l *logql.LabelReplace, in []*Series) ([]*Series, error) {
	seen := map[string]bool{}
	out := make([]*Series, len(in))
	references, all := strings.Count(l.Replacement, "$"), 0
	for i, s := range in {
		labels := maps.Clone(s.Labels)
		if m := l.Re.FindStringSubmatchIndex(labels[l.Src]); m != nil {
			most := len(l.Replacement) + references*len(labels[l.Src])
			if all += most; most > maxReplaced || all > maxReplacedAll {
				return nil, errs.New(errs.InvalidArguments, "label_replace may make labels %q of more than %d KiB for a series, "+
					"or %d MiB for all series: use a shorter replacement", l.Dst, maxReplaced>>10, maxReplacedAll>>20)
			}
			value := string(l.Re.ExpandString(nil, l.Replacement, labels[l.Src], m))
			if labels[l.Dst] = value; value == "" {
				delete(labels, l.Dst)
			}
		}
		key := Key(labels)
		if seen[key] {
			return nil, errs.New(errs.InvalidArguments, "label_replace makes two series with the same labels")
		}
		seen[key] = true
		out[i] = &Series{Labels: labels, Values: s.Values, Has: s.Has}
	}
	return out, nil
}
