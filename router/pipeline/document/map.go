package document

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"cordwood/proto/nearest"
)

// Map is a map in a document. It records which keys were read. These are the known keys, and Done reports all
// others.
type Map struct {
	node    *Node
	entries []Entry
	places  map[string]int // positions of the keys in entries
	known   []string
	broken  bool // the node is not a map, so further faults would mislead
}

// Entry is one key of a map with its value.
type Entry struct {
	Key   string
	Value *Node

	key    *yaml.Node
	merged bool // from the merge key <<, so the map's own key takes precedence
}

// maxMerge limits the nesting of merges by <<.
const maxMerge = 16

func (m *Map) read(y *yaml.Node, merges int) {
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := resolve(y.Content[i]), resolve(y.Content[i+1])
		at := &Node{key, m.node.path, m.node.out}
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			m.merge(at, value, merges)
			continue
		}
		if !at.IsString() {
			at.Fault("a key must be a string, found %s", at.What())
			continue
		}
		e := Entry{Key: key.Value, key: key, merged: merges > 0}
		e.Value = &Node{value, join(m.node.path, key.Value), m.node.out}
		old, twice := m.places[e.Key]
		switch {
		case !twice:
			if m.places == nil {
				m.places = map[string]int{}
			}
			m.places[e.Key] = len(m.entries)
			m.entries = append(m.entries, e)
		case e.merged:
		case m.entries[old].merged:
			m.entries[old] = e
		default:
			at.Fault("the key %q is given twice, first in line %d", cut(e.Key), m.entries[old].key.Line)
		}
	}
}

func (m *Map) merge(at *Node, y *yaml.Node, merges int) {
	switch {
	case merges >= maxMerge:
		at.Fault("maps merge each other more than %d levels deep", maxMerge)
	case y.Kind == yaml.MappingNode:
		m.read(y, merges+1)
	case y.Kind == yaml.SequenceNode:
		for _, c := range y.Content {
			m.merge(at, resolve(c), merges+1)
		}
	default:
		at.Fault("the merge key << needs a map or a list of maps")
	}
}

func join(path, key string) string {
	if path == "" {
		return cut(key)
	}
	return path + "." + cut(key)
}

// Node returns the map's own node.
func (m *Map) Node() *Node { return m.node }

// Entries returns all entries, in the order of the text.
func (m *Map) Entries() []Entry { return m.entries }

// Fault notes a fault of the map.
func (m *Map) Fault(format string, args ...any) {
	if !m.broken {
		m.node.Fault(format, args...)
	}
}

// KeyFault notes a fault of the entry's key.
func (e *Entry) KeyFault(format string, args ...any) {
	(&Node{e.key, e.Value.path, e.Value.out}).Fault(format, args...)
}

// Get returns the value of key and marks key as known. It returns nil if the key is missing or its value is null.
func (m *Map) Get(key string) *Node {
	m.known = append(m.known, key)
	for i := range m.entries {
		if e := &m.entries[i]; e.Key == key && !e.Value.IsNull() {
			return e.Value
		}
	}
	return nil
}

// OneOf returns the one of the given keys that the map contains, with its value. It returns "" and nil if the map has
// none of them. More than one is a fault.
func (m *Map) OneOf(keys ...string) (string, *Node) {
	m.known = append(m.known, keys...)
	var found *Entry
	for i := range m.entries {
		e := &m.entries[i]
		switch {
		case !slices.Contains(keys, e.Key) || e.Value.IsNull():
		case found == nil:
			found = e
		default:
			e.Value.Fault("%q and %q exclude each other; write one of them with all values", found.Key, e.Key)
		}
	}
	if found == nil {
		return "", nil
	}
	return found.Key, found.Value
}

// String returns the value of key, which must be a string, or otherwise if it is missing.
func (m *Map) String(key, otherwise string) string {
	if n := m.Get(key); n != nil {
		if s, ok := n.String(); ok {
			return s
		}
	}
	return otherwise
}

// MustString returns the value of key, which must be a string. A missing key is a fault.
func (m *Map) MustString(key string) (string, bool) {
	n := m.Get(key)
	if n == nil {
		m.Fault("%q is required", key)
		return "", false
	}
	return n.String()
}

// Bool returns the value of key, which must be a boolean, or otherwise if it is missing.
func (m *Map) Bool(key string, otherwise bool) bool {
	if n := m.Get(key); n != nil {
		if v, ok := n.Bool(); ok {
			return v
		}
	}
	return otherwise
}

// Strings returns the value of key, which must be a list of strings; nil if it is missing.
func (m *Map) Strings(key string) []string {
	if n := m.Get(key); n != nil {
		return n.Strings()
	}
	return nil
}

// Choice returns the value of key, which must be one of the words, ignoring case. If the key is missing, it returns
// the first word.
func (m *Map) Choice(key string, words ...string) string {
	n := m.Get(key)
	if n == nil {
		return words[0]
	}
	text, ok := n.String()
	if !ok {
		return words[0]
	}
	for _, w := range words {
		if strings.EqualFold(w, text) {
			return w
		}
	}
	n.Fault("unknown value %q, expected one of %s%s", cut(text), strings.Join(words, ", "),
		nearest.DidYouMean(", ", cut(text), words))
	return words[0]
}

// Done reports keys that were not read. It must be called after all known keys have been read.
func (m *Map) Done() {
	for i := range m.entries {
		e := &m.entries[i]
		if slices.Contains(m.known, e.Key) {
			continue
		}
		if m.node.Faults() > maxFaults { // further faults are only counted
			e.KeyFault("unknown key")
			continue
		}
		known := slices.Clone(m.known)
		slices.Sort(known)
		known = slices.Compact(known)
		if s := nearest.DidYouMean(", ", cut(e.Key), known); s != "" {
			e.KeyFault("unknown key %q%s", cut(e.Key), s)
		} else {
			e.KeyFault("unknown key %q, known are %s", cut(e.Key), strings.Join(known, ", "))
		}
	}
}
