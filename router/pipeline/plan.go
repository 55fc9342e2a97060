package pipeline

import (
	"strings"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/router/vrl/value"
)

// plan is where the fields of a shape go in a table, sorted by their keys.
type plan struct {
	shape *value.Shape
	steps []planStep
}

// planStep is the field in a slot.
type planStep struct {
	slot int32
	guess
}

// maxPlans limits the plans for a table. Beyond the limit, all are forgotten.
const maxPlans = 64

// forgetFields forgets what fields mean in the table, because its columns have changed.
func (d *dest) forgetFields() { d.guess, d.plans = d.guess[:0], d.plans[:0] }

// plan returns the plan for a shape. It moves it to the front, because the next record often has the same shape.
func (r *runner) plan(d *dest, h *value.Shape) *plan {
	for i := range d.plans {
		if d.plans[i].shape == h {
			d.plans[0], d.plans[i] = d.plans[i], d.plans[0]
			return &d.plans[0]
		}
	}
	n := len(d.plans)
	if n >= maxPlans {
		n = 0
	}
	if n < cap(d.plans) {
		d.plans = d.plans[:n+1]
	} else {
		d.plans = append(d.plans[:n], plan{})
	}
	p := &d.plans[n]
	p.shape, p.steps = h, p.steps[:0]
	for _, slot := range h.Order() {
		p.steps = append(p.steps, planStep{slot, r.guess(d, h.Key(slot))})
	}
	d.plans[0], d.plans[n] = d.plans[n], d.plans[0]
	return &d.plans[0]
}

// storeShaped is storeRest for an object with a shape.
func (r *runner) storeShaped(d *dest, h *value.Shape, vals []value.Value, row int) error {
	p := r.plan(d, h)
	for i := range p.steps {
		s := &p.steps[i]
		v := vals[s.slot]
		if v.IsNull() {
			continue
		}
		if s.col != nil {
			if done, err := d.storePlain(s.col, row, v); err != nil {
				return err
			} else if done {
				continue
			}
		}
		if err := r.storeField(d, &s.guess, v, row); err != nil {
			return err
		}
	}
	return nil
}

// storePlain writes a value whose kind is that of the column. It returns false for all others, and while values of this
// request were put aside, because one of them may have taken the column.
func (d *dest) storePlain(col *column.Col, row int, v value.Value) (done bool, err error) {
	if len(d.adapted) > 0 {
		return false, nil
	}
	switch v.Kind() {
	case value.String:
		if col.Type != schema.String {
			return false, nil
		}
		return true, d.putString(col, row, v.Str())
	case value.Int:
		if col.Type != schema.Int64 {
			return false, nil
		}
		col.SetInt(row, v.Int())
	case value.Float:
		if col.Type != schema.Float64 {
			return false, nil
		}
		col.SetFloat(row, v.Float())
	default:
		return false, nil
	}
	return true, nil
}

// isPlain reports whether the objects of a shape set no variables.
func (r *runner) isPlain(h *value.Shape) bool {
	if r.plain[0] == h {
		return true
	}
	r.plain[0], r.plain[1] = r.plain[1], r.plain[0]
	if r.plain[0] == h {
		return true
	}
	for _, slot := range h.Order() {
		if strings.HasPrefix(h.Key(slot), "svc_") {
			return false
		}
	}
	r.plain[0] = h
	return true
}
