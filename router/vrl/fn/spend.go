package fn

import (
	"cordwood/router/vrl/timefmt"
	"cordwood/router/vrl/value"
)

// BytesPerStep is how many bytes of text a function may read for one step.
const BytesPerStep = 64

// SpendOn takes the cost of reading all of a value from the budget.
func (f *Frame) SpendOn(v value.Value) bool {
	k := v.Kind()
	return k < value.Array && (k != value.String || v.Len() < BytesPerStep) || f.spendOnLarge(v)
}

// spendOnLarge does what SpendOn does, for long texts and for containers.
func (f *Frame) spendOnLarge(v value.Value) bool {
	switch v.Kind() {
	case value.String:
		return f.Spend(v.Len() / BytesPerStep)
	case value.Array, value.Object:
		// Reading a value costs a fraction of an operation.
		const share = BytesPerStep / value.BytesPerWeight
		return f.Spend(value.Weight(v, share*(f.Left().Steps+1)) / share)
	}
	return true
}

// The approximate memory of a container and of each of its elements. Only a part is charged if a container is
// copied in order to change it, because most copies soon replace the original.
const (
	containerSize = 48
	elementSize   = 40
	copiedSize    = elementSize / 4
	elementsPer   = 16 // elements that are moved or copied in one step
)

// FewElements is the number of elements of a container up to which changing it costs no steps.
const FewElements = 64

// ReserveContainer takes the memory of a new container with n elements from the budget.
func (f *Frame) ReserveContainer(n int) bool { return f.Reserve(containerSize + elementSize*n) }

// SpendOnChange takes the cost of changing v at a path from the budget: shared containers are copied, elements are
// moved, and arrays are filled.
func (f *Frame) SpendOnChange(v value.Value, p value.Path) bool {
	for i := range p {
		if !p[i].IsIndex && v.Kind() == value.Object && v.Len() <= FewElements && !v.Shared() { // the usual case
			if i+1 < len(p) {
				v, _ = v.Peek(p[i : i+1])
			}
			continue
		}
		if !f.spendOnStep(v, &p[i]) {
			return false
		}
		v, _ = v.Peek(p[i : i+1])
	}
	return true
}

// spendOnStep takes the cost of changing the field or the element of v at one step of a path.
func (f *Frame) spendOnStep(v value.Value, s *value.Segment) bool {
	n, fill := 0, 0
	isArray := v.Kind() == value.Array
	if isArray || v.Kind() == value.Object {
		n = v.Len()
	}
	if s.IsIndex {
		elements := 0
		if isArray {
			elements = n
		}
		fill = elementsToFill(s.Index, elements)
	}
	shared := v.Shared()
	if n > FewElements && (shared || fill > 0 || !isArray) && !f.Spend(n/elementsPer) ||
		shared && !f.Reserve(n*copiedSize) {
		return false
	}
	return fill <= 1 || f.Spend(fill/elementsPer) && f.Reserve(fill*elementSize)
}

// elementsToFill returns the number of elements that an array of n elements needs before it has one at the index.
func elementsToFill(index, n int) int {
	switch {
	case index >= n:
		return min(index-n+1, value.MaxIndex+1)
	case index < -n:
		return min(-index-n, value.MaxIndex+1)
	}
	return 0
}

// SpendOnRemoval takes the cost of removing the value at the path from the budget, like SpendOnChange.
func (f *Frame) SpendOnRemoval(v value.Value, p value.Path) bool {
	if _, ok := v.Peek(p); !ok {
		return true
	}
	for i := range p {
		n := v.Len()
		if n > FewElements && !f.Spend(n/elementsPer) || v.Shared() && !f.Reserve(n*copiedSize) {
			return false
		}
		v, _ = v.Peek(p[i : i+1])
	}
	return true
}

// SpendOnMerge takes the cost of merging two objects from the budget.
func (f *Frame) SpendOnMerge(a, b value.Value) bool {
	n := a.Len() + b.Len()
	return f.Spend(n/elementsPer) && f.Reserve(containerSize+n*copiedSize)
}

// stepsOfZone is the cost of finding a time zone that was not used recently, because it is read from a file.
const stepsOfZone = 5000

// SpendOnZone takes the cost of finding a time zone by its name from the budget.
func (f *Frame) SpendOnZone(name string) bool {
	if _, seen := timefmt.SeenZone(name); seen {
		return true
	}
	return f.Spend(stepsOfZone)
}
