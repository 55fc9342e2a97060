package series

import (
	"maps"
	"math"
	"slices"

	"cordwood/proto/errs"
	"cordwood/router/loki/logql"
)

// Value is either a number for each step, or series.
type Value struct {
	// Scalar has the numbers. If it is nil, the value is Series.
	Scalar []float64
	Series []*Series
}

// Constant returns the same number for each step.
func Constant(v float64, steps int) Value {
	out := make([]float64, steps)
	for i := range out {
		out[i] = v
	}
	return Value{Scalar: out}
}

// Binary applies a binary operator. It calls count with the key of each series that group_left and group_right make:
// each series of one side may make as many as the other side has. All other operators return no more series than they
// get.
func Binary(b *logql.Binary, l, r Value, steps int, count func(key string) error) (Value, error) {
	switch {
	case l.Scalar != nil && r.Scalar != nil:
		out := make([]float64, steps)
		for i := range out {
			v, keep := apply(b.Op, l.Scalar[i], r.Scalar[i])
			if comparison(b.Op) {
				v = truth(keep)
			}
			out[i] = v
		}
		return Value{Scalar: out}, nil
	case r.Scalar != nil:
		return Value{Series: withScalar(b, l.Series, func(i int, v float64) (float64, float64) { return v, r.Scalar[i] })},
			nil
	case l.Scalar != nil:
		return Value{Series: withScalar(b, r.Series, func(i int, v float64) (x, y float64) { return l.Scalar[i], v })}, nil
	}
	switch b.Op {
	case "and", "or", "unless":
		return Value{Series: sets(b, l.Series, r.Series, steps)}, nil
	}
	out, err := match(b, l.Series, r.Series, steps, count)
	return Value{Series: out}, err
}

func comparison(op string) bool {
	switch op {
	case "==", "!=", ">", ">=", "<", "<=":
		return true
	}
	return false
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// apply returns the result of an operator. For a comparison, keep is its result and v is x.
func apply(op string, x, y float64) (v float64, keep bool) {
	switch op {
	case "+":
		return x + y, true
	case "-":
		return x - y, true
	case "*":
		return x * y, true
	case "/":
		return x / y, true
	case "%":
		return math.Mod(x, y), true
	case "^":
		return math.Pow(x, y), true
	case "==":
		return x, x == y
	case "!=":
		return x, x != y
	case ">":
		return x, x > y
	case ">=":
		return x, x >= y
	case "<":
		return x, x < y
	}
	return x, x <= y
}

// withScalar applies an operator to series and a scalar. sides returns the left and the right operand at a step.
func withScalar(b *logql.Binary, in []*Series, sides func(step int, v float64) (x, y float64)) []*Series {
	out := make([]*Series, 0, len(in))
	for _, s := range in {
		to := New(s.Labels, len(s.Values))
		for i, v := range s.Values {
			if !s.Has[i] {
				continue
			}
			x, y := sides(i, v)
			result, keep := apply(b.Op, x, y)
			switch {
			case !comparison(b.Op):
				to.Set(i, result)
			case b.Bool:
				to.Set(i, truth(keep))
			case keep:
				to.Set(i, v)
			}
		}
		out = append(out, to)
	}
	return out
}

// signature returns the labels that two series must have in common to be combined.
func signature(labels map[string]string, m *logql.Matching) map[string]string {
	if m == nil {
		return labels
	}
	return Only(labels, m.Names, !m.On)
}

// sets applies and, or, unless.
func sets(b *logql.Binary, l, r []*Series, steps int) []*Series {
	has := func(list []*Series) map[string][]bool {
		out := map[string][]bool{}
		for _, s := range list {
			key := Key(signature(s.Labels, b.Matching))
			at := out[key]
			if at == nil {
				at = make([]bool, steps)
				out[key] = at
			}
			for i, ok := range s.Has {
				at[i] = at[i] || ok
			}
		}
		return out
	}
	keep := func(in []*Series, others map[string][]bool, wanted bool) []*Series {
		var out []*Series
		for _, s := range in {
			other := others[Key(signature(s.Labels, b.Matching))]
			to := New(s.Labels, steps)
			for i, ok := range s.Has {
				if ok && (other != nil && other[i]) == wanted {
					to.Set(i, s.Values[i])
				}
			}
			out = append(out, to)
		}
		return out
	}
	switch b.Op {
	case "and":
		return keep(l, has(r), true)
	case "unless":
		return keep(l, has(r), false)
	}
	return combine(append(slices.Clone(l), keep(r, has(l), false)...), steps)
}

// combine merges series with the same labels, which have numbers at different steps.
func combine(in []*Series, steps int) []*Series {
	byKey := map[string]*Series{}
	var out []*Series
	for _, s := range in {
		key := Key(s.Labels)
		to := byKey[key]
		if to == nil {
			to = New(s.Labels, steps)
			byKey[key], out = to, append(out, to)
		}
		for i, ok := range s.Has {
			if ok && !to.Has[i] {
				to.Set(i, s.Values[i])
			}
		}
	}
	return out
}

// match applies an operator to pairs of series.
func match(b *logql.Binary, l, r []*Series, steps int, count func(key string) error) ([]*Series, error) {
	swapped := b.Matching != nil && b.Matching.Group == "group_right"
	many, one := l, r
	if swapped {
		many, one = r, l
	}
	m := &matching{
		b: b, swapped: swapped, steps: steps, count: count, partners: partnersOf(one, b.Matching, steps),
		taken: map[string][]bool{}, out: map[string]*Series{},
	}
	for _, s := range many {
		if err := m.add(s); err != nil {
			return nil, err
		}
	}
	return slices.Collect(maps.Values(m.out)), nil
}

// partners has, for each step, the series of one side with the same signature that has a number at the step.
type partners struct {
	at []*Series
	// double says at which steps several have a number.
	double []bool
}

func partnersOf(list []*Series, by *logql.Matching, steps int) map[string]*partners {
	out := map[string]*partners{}
	for _, s := range list {
		if s.empty() {
			continue
		}
		key := Key(signature(s.Labels, by))
		p := out[key]
		if p == nil {
			p = &partners{make([]*Series, steps), make([]bool, steps)}
			out[key] = p
		}
		for i, ok := range s.Has {
			if ok {
				p.double[i] = p.at[i] != nil
				p.at[i] = s
			}
		}
	}
	return out
}

// matching applies an operator to pairs of series.
type matching struct {
	b        *logql.Binary
	swapped  bool
	steps    int
	count    func(key string) error
	partners map[string]*partners
	taken    map[string][]bool
	out      map[string]*Series
}

// add adds the results for a series of the "many" side.
func (m *matching) add(s *Series) error {
	key := Key(signature(s.Labels, m.b.Matching))
	with := m.partners[key]
	if with == nil {
		return nil
	}
	grouped := m.b.Matching != nil && m.b.Matching.Group != ""
	if m.taken[key] == nil {
		m.taken[key] = make([]bool, m.steps)
	}
	taken := m.taken[key]
	var to, last *Series // the result series, and the partner that it was made with
	for i, ok := range s.Has {
		partner := with.at[i]
		switch {
		case with.double[i]:
			return errs.New(errs.InvalidArguments, "found duplicate series on one side of the operator: many-to-many "+
				"matching is not allowed; matching labels must be unique on one side")
		case !ok || partner == nil:
			continue
		case taken[i] && !grouped:
			return errs.New(errs.InvalidArguments, "multiple matches for labels: many-to-one matching must be explicit "+
				"(group_left/group_right)")
		}
		taken[i] = true
		v, keep := m.apply(s.Values[i], partner.Values[i])
		if !keep {
			continue
		}
		if partner != last {
			var err error
			if to, err = m.put(resultLabels(m.b.Matching, s, partner), grouped); err != nil {
				return err
			}
			last = partner
		}
		to.Set(i, v)
	}
	return nil
}

// apply applies the operator to x, a number of the "many" side, and y, one of the other side.
func (m *matching) apply(x, y float64) (v float64, keep bool) {
	if m.swapped {
		x, y = y, x
	}
	v, keep = apply(m.b.Op, x, y)
	if comparison(m.b.Op) && m.b.Bool {
		return truth(keep), true
	}
	return v, keep
}

// put returns the result series with the labels, and creates it if necessary. Only those of group_left and group_right
// are counted.
func (m *matching) put(labels map[string]string, grouped bool) (*Series, error) {
	key := Key(labels)
	if m.out[key] == nil {
		if grouped {
			if err := m.count(key); err != nil {
				return nil, err
			}
		}
		m.out[key] = New(labels, m.steps)
	}
	return m.out[key], nil
}

// resultLabels returns the labels of the result for a pair of series.
func resultLabels(m *logql.Matching, many, one *Series) map[string]string {
	switch {
	case m == nil:
		return many.Labels
	case m.Group == "":
		return Only(many.Labels, m.Names, !m.On)
	}
	out := maps.Clone(many.Labels)
	for _, name := range m.Include {
		if v := one.Labels[name]; v != "" {
			out[name] = v
		} else {
			delete(out, name)
		}
	}
	return out
}
