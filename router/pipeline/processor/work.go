package processor

import (
	"time"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/value"
)

// Record.Work limits the work on a record. All processors of the pipeline and the programs in it share it. The
// helpers of Fields charge for the length of the values that they pass to a processor. A processor that does more
// than read them must charge for the rest.

// Spend takes n steps from the budget of the record. It returns an error if there are not enough.
func (r *Record) Spend(n int) error {
	if r.Work == nil || r.Work.Spend(n) {
		return nil
	}
	return r.Fail("", value.None, "the record needs too much time: its budget of steps is used up")
}

// Reserve takes n bytes from the budget of the record. A processor calls it before it creates something whose size
// depends on the record. It returns an error if there are not enough.
func (r *Record) Reserve(n int) error {
	if r.Work == nil || r.Work.Reserve(n) {
		return nil
	}
	return r.Fail("", value.None, "the record needs too much memory: its budget of bytes is used up")
}

// vanished returns the counter of nonzero numbers that became the float 0; nil means that they are not counted.
func (r *Record) vanished() *int {
	if r.Work == nil {
		return nil
	}
	return &r.Work.Vanished
}

// NoteVanished counts a nonzero number that became the float 0.
func (r *Record) NoteVanished() {
	if n := r.vanished(); n != nil {
		*n++
	}
}

// spendOn takes the cost of reading all of a value from the budget.
func (r *Record) spendOn(v value.Value) error {
	switch v.Kind() {
	case value.String:
		if n := v.Len() / fn.BytesPerStep; n > 0 {
			return r.Spend(n)
		}
	case value.Array, value.Object:
		const most = 1 << 30
		return r.Spend(value.Weight(v, most) / 8)
	}
	return nil
}

// fieldSize is the approximate memory of a field that is found in a text.
const fieldSize = 120

// matchSize is the approximate memory of the position of a match in a list.
const matchSize = 64

// largeText is the length at which new texts start to be charged.
const largeText = 1 << 10

// spendOnSet takes the cost of adding a field to a record with many fields from the budget.
func (r *Record) spendOnSet() error {
	const many, perStep = 256, 16
	if n := r.Value.Len(); n > many {
		return r.Spend(n / perStep)
	}
	return nil
}

// spendOnMatch takes the cost of searching s for one match from the budget of the record.
func (m *matcher) spendOnMatch(rec *Record, s string) error {
	return rec.Spend(pattern.Cost(len(s), m.instructions))
}

// spendOnMatches does what spendOnMatch does, for all matches in s. The cost of some patterns cannot be computed from
// the lengths. So in a long text the search is tried here first, and aborted if it is slow.
func (m *matcher) spendOnMatches(rec *Record, s string) error {
	if err := m.spendOnMatch(rec, s); err != nil || !m.loose {
		return err
	}
	if len(s) < pattern.LongText {
		return rec.Spend(pattern.LooseCost(len(s)))
	}
	re, _ := m.on(s)
	for few := pattern.FirstMatches(len(s)); ; few *= 4 {
		start := time.Now()
		n := len(re.FindAllStringIndex(s, few))
		took := time.Since(start)
		if err := rec.Reserve(n * matchSize); err != nil {
			return err
		}
		if err := rec.Spend(int(took / pattern.LooseStep)); err != nil || n < few {
			return err
		}
		if took > pattern.TooSlow {
			return rec.Fail("", value.None, "the pattern is too slow on a text of %d bytes", len(s))
		}
	}
}

// noteGrok counts a number whose fraction or digits grok dropped.
func (r *Record) noteGrok(fraction, digits bool) {
	switch {
	case r.Work == nil:
	case fraction:
		r.Work.GrokFractions++
	case digits:
		r.Work.GrokDigits++
	}
}

// noteFraction counts a number whose fraction is dropped.
func (r *Record) noteFraction() {
	if r.Work != nil {
		r.Work.Fractions++
	}
}
