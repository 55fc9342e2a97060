package fn

import (
	"cordwood/router/vrl/timefmt"
	"cordwood/router/vrl/value"
)

// BytesPerStep is the length of text that a function may look at for a step.
const BytesPerStep = 64

// SpendOn takes off the budget what it costs to look at all of a value.
func (f *Frame) SpendOn(v value.Value) bool {
	k := v.Kind()
	return k < value.Array && (k != value.String || v.Len() < BytesPerStep) || f.spendOnLarge(v)
}

// spendOnLarge is SpendOn for texts that are not short and for containers.
func (f *Frame) spendOnLarge(v value.Value) bool {
	switch v.Kind() {
	case value.String:
		return f.Spend(v.Len() / BytesPerStep)
	case value.Array, value.Object:
		// Looking at a value costs a fraction of what an operation does.
		const share = BytesPerStep / value.BytesPerWeight
		return f.Spend(value.Weight(v, share*(f.Left().Steps+1)) / share)
	}
	return true
}

// The room that a container takes, about: for itself, and for each of its elements. Only a part of
// a copy that is made to change a container is charged, because most copies soon replace the
// original.
const (
	containerSize = 48
	elementSize   = 40
	copiedSize    = elementSize / 4
	elementsPer   = 16 // elements that are moved or copied in a step
	fewElements   = 64 // that are free
)

// ReserveContainer takes the room of a new container of n elements off the budget.
func (f *Frame) ReserveContainer(n int) bool { return f.Reserve(containerSize + elementSize*n) }

// SpendOnChange charges the cost of a change of v at a path: containers are copied if they are
// shared, elements make room, and arrays are filled up.
func (f *Frame) SpendOnChange(v value.Value, p value.Path) bool {
	for i := range p {
		if !p[i].IsIndex && v.Kind() == value.Object && v.Len() <= fewElements && !v.Shared() { // most are so
			if i+1 < len(p) {
				v, _ = v.Peek(p[i : i+1])
			}
			continue
		}
		n, fill := 0, 0
		isArray := v.Kind() == value.Array
		if isArray || v.Kind() == value.Object {
			n = v.Len()
		}
		if p[i].IsIndex {
			elements := 0
			if isArray {
				elements = n
			}
			if at := p[i].Index; at >= elements {
				fill = at - elements + 1
			} else if at < -elements {
				fill = -at - elements
			}
			fill = min(fill, value.MaxIndex+1)
		}
		shared := v.Shared()
		if n > fewElements && (shared || fill > 0 || !isArray) && !f.Spend(n/elementsPer) ||
			shared && !f.Reserve(n*copiedSize) {
			return false
		}
		if fill > 1 && (!f.Spend(fill/elementsPer) || !f.Reserve(fill*elementSize)) {
			return false
		}
		v, _ = v.Peek(p[i : i+1])
	}
	return true
}

// SpendOnRemoval is SpendOnChange for taking away what the path leads to.
func (f *Frame) SpendOnRemoval(v value.Value, p value.Path) bool {
	if _, ok := v.Peek(p); !ok {
		return true
	}
	for i := range p {
		n := v.Len()
		if n > fewElements && !f.Spend(n/elementsPer) || v.Shared() && !f.Reserve(n*copiedSize) {
			return false
		}
		v, _ = v.Peek(p[i : i+1])
	}
	return true
}

// SpendOnMerge takes the cost of putting two objects together off the budget.
func (f *Frame) SpendOnMerge(a, b value.Value) bool {
	n := a.Len() + b.Len()
	return f.Spend(n/elementsPer) && f.Reserve(containerSize+n*copiedSize)
}

// stepsOfZone is what it costs to find a time zone that was not asked for lately: it is
// read from a file.
const stepsOfZone = 5000

// SpendOnZone takes the cost of finding a time zone by its name off the budget.
func (f *Frame) SpendOnZone(name string) bool {
	if _, seen := timefmt.SeenZone(name); seen {
		return true
	}
	return f.Spend(stepsOfZone)
}
