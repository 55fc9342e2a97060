package processor

import (
	"time"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/value"
)

// What a record may take is bounded by Record.Work, which all processors of the pipeline
// share with the programs in it. The helpers of Fields charge for the length of what they
// hand to a processor; a processor that does more than look at it charges for the rest.

// Spend takes n steps off the budget of the record. It fails if there are not so many left.
func (r *Record) Spend(n int) error {
	if r.Work == nil || r.Work.Spend(n) {
		return nil
	}
	return r.Fail("", value.None, "the record needs too much time: its budget of steps is used up")
}

// Reserve takes n bytes off the budget of the record, before a processor makes something whose
// size the record decides. It fails if there are not so many left.
func (r *Record) Reserve(n int) error {
	if r.Work == nil || r.Work.Reserve(n) {
		return nil
	}
	return r.Fail("", value.None, "the record needs too much memory: its budget of bytes is used up")
}

// vanished returns the count of numbers other than 0 that became the float 0; nil if they are not counted.
func (r *Record) vanished() *int {
	if r.Work == nil {
		return nil
	}
	return &r.Work.Vanished
}

// NoteVanished counts a number other than 0 that became the float 0.
func (r *Record) NoteVanished() {
	if n := r.vanished(); n != nil {
		*n++
	}
}

// spendOn takes off the budget what it costs to look at all of a value.
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

// fieldSize is about what a field of an object takes that is found in a text.
const fieldSize = 120

// matchSize is about what the place of a match takes in a list.
const matchSize = 64

// largeText is the length from which a new text of a field is charged.
const largeText = 1 << 10

// spendOnSet takes off the budget what it costs to put a field into a record that has many.
func (r *Record) spendOnSet() error {
	const many, perStep = 256, 16
	if n := r.Value.Len(); n > many {
		return r.Spend(n / perStep)
	}
	return nil
}

// spendOnMatch takes the cost of looking for one match in s off the budget of the record.
func (m *matcher) spendOnMatch(rec *Record, s string) error {
	return rec.Spend(pattern.Cost(len(s), m.instructions))
}

// spendOnMatches is spendOnMatch for all matches in s. A loose pattern, whose cost does not
// follow from the lengths, is searched for in a long text here and given up if that is slow.
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

// noteGrok counts a number whose fraction or digits grok lost.
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
