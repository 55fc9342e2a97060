package value

import (
	"slices"
	"strings"
)

// Space holds the shapes of the records of one goroutine. The zero Space is empty. A Space that is full makes no new
// shapes: objects that need one become lists.
type Space struct {
	root   *Shape
	shapes []*Shape
	keys   int // slots of all shapes
	bytes  int // of all keys
}

// The limits of a Space, and of one shape in it.
const (
	maxShapes      = 1 << 12
	maxShapeKeys   = 1 << 17
	maxShapeBytes  = 2 << 20
	maxTransitions = 256
	maxShapeWidth  = 128
)

// shapeBytes is about the memory of a shape without its keys, and slotBytes that of a key and its place in the order.
const (
	shapeBytes = 256
	slotBytes  = 24
)

// Shape is the set of keys of an object. Each key has a slot, the index of its value. A shape is reached from the empty
// shape by adding and removing keys, and is shared by all objects that were made in the same way. It belongs to the
// goroutine of its Space. Others may only compare its address.
type Shape struct {
	space *Space
	keys  []string // by slot, including those of removed keys
	order []int32  // the slots of the keys, sorted by key
	// parent is the shape without the key of the last slot; nil if a key was removed since.
	parent *Shape
	packed *Shape // the same keys without unused slots
	// sparse is set if most slots are unused.
	sparse  bool
	last    transition // the one that was used last
	with    map[string]*Shape
	without map[string]*Shape
}

// transition is a change of the keys and the shape that it leads to.
type transition struct {
	key    string
	remove bool
	to     *Shape
}

// Empty returns the shape without keys.
func (s *Space) Empty() *Shape {
	if s.root == nil {
		s.root = s.add(nil, nil)
	}
	return s.root
}

// Full reports whether the space makes no more shapes.
func (s *Space) Full() bool {
	return len(s.shapes) >= maxShapes || s.keys >= maxShapeKeys || s.bytes >= maxShapeBytes
}

// Size returns about how many bytes of memory the shapes take.
func (s *Space) Size() int { return len(s.shapes)*shapeBytes + s.keys*slotBytes + s.bytes }

// Clear forgets all shapes. No object may have one of them any more. Caches and plans that still refer to a shape keep
// only that one.
func (s *Space) Clear() {
	for _, h := range s.shapes {
		*h = Shape{}
	}
	*s = Space{}
}

func (s *Space) add(keys []string, order []int32) *Shape {
	h := &Shape{space: s, keys: keys, order: order, sparse: len(keys) > 2*len(order)}
	s.shapes = append(s.shapes, h)
	s.keys += len(keys)
	return h
}

// Len returns the number of keys.
func (h *Shape) Len() int { return len(h.order) }

// Order returns the slots, sorted by their keys, for reading.
func (h *Shape) Order() []int32 { return h.order }

// Key returns the key of a slot.
func (h *Shape) Key(slot int32) string { return h.keys[slot] }

// find returns the index of a key in the order. If there is none, it returns the index for inserting it, and false.
func (h *Shape) find(key string) (int, bool) {
	return slices.BinarySearchFunc(h.order, key, func(slot int32, key string) int {
		return strings.Compare(h.keys[slot], key)
	})
}

// Slot returns the slot of a key; -1 if the shape does not have it.
func (h *Shape) Slot(key string) int32 {
	if i, ok := h.find(key); ok {
		return h.order[i]
	}
	return -1
}

// With returns the shape with one more key, which h does not have. The key gets the next slot. With returns nil if
// there are too many shapes.
func (h *Shape) With(key string) *Shape {
	if h.last.to != nil && !h.last.remove && h.last.key == key {
		return h.last.to
	}
	to := h.with[key]
	if to == nil {
		if !h.mayGrow() || len(h.order) >= maxShapeWidth {
			return nil
		}
		key = strings.Clone(key)
		i, _ := h.find(key)
		order := make([]int32, 0, len(h.order)+1)
		order = append(append(append(order, h.order[:i]...), int32(len(h.keys))), h.order[i:]...)
		to = h.space.add(append(slices.Clip(h.keys), key), order)
		to.parent = h
		h.space.bytes += len(key)
		h.with = link(h.with, key, to)
	}
	h.last = transition{key: to.keys[len(h.keys)], to: to} // the caller's key may be a part of a request
	return to
}

// Without returns the shape without a key, which h has. The slots of the other keys stay the same. Without returns nil
// if there are too many shapes.
func (h *Shape) Without(key string) *Shape {
	if h.last.to != nil && h.last.remove && h.last.key == key {
		return h.last.to
	}
	i, _ := h.find(key)
	slot := h.order[i]
	if h.parent != nil && int(slot) == len(h.keys)-1 {
		return h.parent
	}
	key = h.keys[slot] // the caller's may be a part of a request
	to := h.without[key]
	if to == nil {
		if !h.mayGrow() {
			return nil
		}
		to = h.space.add(h.keys, slices.Delete(slices.Clone(h.order), i, i+1))
		h.without = link(h.without, key, to)
	}
	h.last = transition{key: key, remove: true, to: to}
	return to
}

// pack returns the shape with the same keys and without unused slots; nil if there are too many shapes. The keys keep
// the order of their slots.
func (h *Shape) pack() *Shape {
	if h.packed == nil && h.mayGrow() {
		slots := slices.Clone(h.order)
		slices.Sort(slots)
		to := h.space.Empty()
		for _, slot := range slots {
			if to = to.With(h.keys[slot]); to == nil {
				return nil
			}
		}
		h.packed = to
	}
	return h.packed
}

// mayGrow reports whether h may get one more transition.
func (h *Shape) mayGrow() bool {
	return h.space != nil && !h.space.Full() && len(h.with)+len(h.without) < maxTransitions
}

func link(m map[string]*Shape, key string, to *Shape) map[string]*Shape {
	if m == nil {
		m = make(map[string]*Shape, 1)
	}
	m[key] = to
	return m
}
