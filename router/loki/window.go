package loki

import (
	"cmp"
	"math"
	"slices"

	"cordwood/router/loki/logql"
	"cordwood/router/loki/series"
)

// part has the numbers of the entries that belong to the steps from first to last.
type part struct {
	first, last int
	n, sum      float64
	// value is the smallest, largest, first or last number, or the quantile. at is its time.
	value float64
	at    int64
	// mean is the mean, and m2 the sum of the squared distances from it.
	mean, m2 float64
	bad      float64
}

// merge merges two parts. Parts without entries are ignored.
func merge(op string, a, b part) part {
	switch {
	case a.n == 0:
		return b
	case b.n == 0:
		return a
	}
	out := part{n: a.n + b.n, sum: a.sum + b.sum, value: a.value, at: a.at}
	d := b.mean - a.mean
	out.mean = a.mean + d*b.n/out.n
	out.m2 = a.m2 + b.m2 + d*d*a.n*b.n/out.n
	better := false
	switch op {
	case "min_over_time":
		better = b.value < a.value || math.IsNaN(a.value)
	case "max_over_time":
		better = b.value > a.value || math.IsNaN(a.value)
	case "first_over_time":
		better = b.at < a.at
	case "last_over_time":
		better = b.at >= a.at
	}
	if better {
		out.value, out.at = b.value, b.at
	}
	return out
}

// result returns the result of the range aggregation.
func (p *part) result(r *logql.Range) float64 {
	switch r.Op {
	case "count_over_time", "absent_over_time":
		return p.n
	case "rate":
		if r.Unwrap != nil {
			return p.sum / r.Range.Seconds()
		}
		return p.n / r.Range.Seconds()
	case "bytes_over_time", "sum_over_time":
		return p.sum
	case "bytes_rate":
		return p.sum / r.Range.Seconds()
	case "avg_over_time":
		return p.sum / p.n
	case "stddev_over_time":
		return math.Sqrt(p.m2 / p.n)
	case "stdvar_over_time":
		return p.m2 / p.n
	}
	return p.value
}

// window has the parts that belong to a step. Parts enter and leave in the order of time. It is a queue of two stacks,
// each of which keeps the merged value of its parts, so the cost of a step does not depend on the length of the range.
type window struct {
	op string
	// front has the oldest parts, the oldest last. Each is merged with the newer parts before it.
	front []part
	// back has the newest parts of the window, the newest last. sum is the merged value of these parts.
	back []part
	sum  part
}

func (w *window) push(p part) {
	w.back = append(w.back, p)
	w.sum = merge(w.op, w.sum, p)
}

// leave removes the parts that end before a step.
func (w *window) leave(step int) {
	for {
		if len(w.front) == 0 {
			sum := part{}
			for _, p := range slices.Backward(w.back) {
				sum = keepLast(merge(w.op, p, sum), p.last)
				w.front = append(w.front, sum)
			}
			w.back, w.sum = w.back[:0], part{}
		}
		if len(w.front) == 0 || w.front[len(w.front)-1].last >= step {
			return
		}
		w.front = w.front[:len(w.front)-1]
	}
}

func keepLast(p part, last int) part {
	p.last = last
	return p
}

// all returns the merged value of all parts.
func (w *window) all() part {
	if len(w.front) == 0 {
		return w.sum
	}
	return merge(w.op, w.front[len(w.front)-1], w.sum)
}

// group has the numbers of one set of labels.
type group struct {
	labels map[string]string
	parts  []part
	// places has the place in parts of each range of steps, if entries are added one by one and there are many.
	places map[[2]int]int
	// samples are the numbers of a quantile whose entries are added one by one.
	samples []sample
}

// series returns the numbers of a group.
func (g *group) series(r *logql.Range, steps int) *series.Series {
	slices.SortFunc(g.parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last))
	})
	out := series.New(g.labels, steps)
	w := window{op: r.Op}
	next := 0
	for step := range steps {
		for next < len(g.parts) && g.parts[next].first <= step {
			w.push(g.parts[next])
			next++
		}
		w.leave(step)
		if p := w.all(); p.n > 0 {
			out.Set(step, p.result(r))
		}
	}
	return out
}
