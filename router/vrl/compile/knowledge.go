package compile

import (
	"iter"

	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// knowledge is what is known about variables, the event and its metadata at a place in the program. The compiler
// updates it in program order.
type knowledge struct {
	event, meta kind.Kind
	vars        []variable
	journal     []change
	scopes      []map[string]int // slots by name, the innermost scope last
}

// variable is a variable and what is currently known about it. Its index is its slot.
type variable struct {
	name  string
	kind  kind.Kind
	value value.Value // if known
	known bool

	span  diag.Span // of its first assignment
	read  bool
	param bool
}

// change is an entry of the journal: the state of a variable before a change.
type change struct {
	slot  int
	kind  kind.Kind
	value value.Value
	known bool
}

// snapshot is the knowledge at the end of a branch, restricted to what the branch changed.
type snapshot struct {
	event, meta kind.Kind
	vars        map[int]change
}

// open starts a scope, and close ends it. Names declared in a scope end with it.
func (kn *knowledge) open()  { kn.scopes = append(kn.scopes, nil) }
func (kn *knowledge) close() { kn.scopes = kn.scopes[:len(kn.scopes)-1] }

func (kn *knowledge) lookup(name string) (int, bool) {
	for i := len(kn.scopes) - 1; i >= 0; i-- {
		if slot, ok := kn.scopes[i][name]; ok {
			return slot, true
		}
	}
	return 0, false
}

// declare creates a variable in the innermost scope.
func (kn *knowledge) declare(name string, k kind.Kind, span diag.Span) int {
	top := len(kn.scopes) - 1
	if kn.scopes[top] == nil {
		kn.scopes[top] = map[string]int{}
	}
	kn.vars = append(kn.vars, variable{name: name, kind: k, span: span})
	slot := len(kn.vars) - 1
	kn.scopes[top][name] = slot
	return slot
}

// set changes what is known about a variable.
func (kn *knowledge) set(slot int, k kind.Kind, v value.Value, known bool) {
	x := &kn.vars[slot]
	kn.journal = append(kn.journal, change{slot, x.kind, x.value, x.known})
	x.kind, x.value, x.known = k, v, known
}

type mark struct {
	journal     int
	event, meta kind.Kind
}

// mark records the knowledge at the start of a branch.
func (kn *knowledge) mark() mark { return mark{len(kn.journal), kn.event, kn.meta} }

// rewind restores the knowledge at the mark and returns the knowledge at the branch's end.
func (kn *knowledge) rewind(m mark) snapshot {
	s := snapshot{event: kn.event, meta: kn.meta}
	if len(kn.journal) > m.journal {
		s.vars = map[int]change{}
	}
	for i := len(kn.journal) - 1; i >= m.journal; i-- {
		old := kn.journal[i]
		x := &kn.vars[old.slot]
		if _, ok := s.vars[old.slot]; !ok {
			s.vars[old.slot] = change{old.slot, x.kind, x.value, x.known}
		}
		x.kind, x.value, x.known = old.kind, old.value, old.known
	}
	kn.journal = kn.journal[:m.journal]
	kn.event, kn.meta = m.event, m.meta
	return s
}

// merge combines the knowledge with the knowledge after a branch that may have run.
func (kn *knowledge) merge(s snapshot) {
	kn.event, kn.meta = kn.event.Union(s.event), kn.meta.Union(s.meta)
	for slot, x := range s.vars {
		kn.mergeVar(slot, x)
	}
}

// apply replaces the knowledge with the knowledge after a branch that always runs.
func (kn *knowledge) apply(s snapshot) {
	kn.event, kn.meta = s.event, s.meta
	for slot, x := range s.vars {
		kn.set(slot, x.kind, x.value, x.known)
	}
}

func (kn *knowledge) mergeVar(slot int, x change) {
	v := &kn.vars[slot]
	known := v.known && x.known && value.Same(v.value, x.value)
	kn.set(slot, v.kind.Union(x.kind), v.value, known)
}

// mergeBoth replaces the knowledge with the union of two branches, one of which has run.
func (kn *knowledge) mergeBoth(a, b snapshot) {
	kn.event, kn.meta = a.event.Union(b.event), a.meta.Union(b.meta)
	for slot, x := range a.vars {
		if y, ok := b.vars[slot]; ok {
			known := x.known && y.known && value.Same(x.value, y.value)
			kn.set(slot, x.kind.Union(y.kind), x.value, known)
			continue
		}
		kn.mergeVar(slot, x)
	}
	for slot, y := range b.vars {
		if _, ok := a.vars[slot]; !ok {
			kn.mergeVar(slot, y)
		}
	}
}

// names yields the names of all variables in scope.
func (kn *knowledge) names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, s := range kn.scopes {
			for name := range s {
				if !yield(name) {
					return
				}
			}
		}
		for _, word := range []string{"null", "true", "false"} {
			if !yield(word) {
				return
			}
		}
	}
}

// rootKind returns the kind of the root of a target.
func (kn *knowledge) rootKind(t *fn.Target) kind.Kind {
	switch t.Root {
	case fn.Event:
		return kn.event
	case fn.Meta:
		return kn.meta
	case fn.Variable:
		return kn.vars[t.Slot].kind
	}
	return kind.Never
}

// setRootKind sets the kind of the root of a target. The value of a variable is not known afterwards.
func (kn *knowledge) setRootKind(t *fn.Target, k kind.Kind) {
	switch t.Root {
	case fn.Event:
		kn.event = k
	case fn.Meta:
		kn.meta = k
	case fn.Variable:
		kn.set(t.Slot, k, value.Value{}, false)
	}
}
