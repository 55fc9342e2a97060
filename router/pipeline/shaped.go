package pipeline

import (
	"cordwood/router/vrl/jsonscan"
	"cordwood/router/vrl/value"
)

// shapes is how a reader makes records with shapes. The keys of a record lead from prefix to prefix, and the values are
// appended by slot, so that nothing has to be sorted. A record with something unusual (a repeated key, a key with
// escapes, an error) is left to the reader of lists, which reads it again.
type shapes struct {
	space    value.Space
	first    *prefix // of whole records
	prefixes int
	bytes    int // of the keys of all prefixes
	// asLists is how many of the next records are read as lists, without a try; failed is that number after the last
	// failure.
	asLists, failed int
}

// prefix is what is known about the objects at one place that begin with certain keys.
type prefix struct {
	shape *value.Shape
	guess jsonscan.Guess // the last key
	next  *prefix        // the one with the key that followed last time
	byKey map[string]*prefix
	child *prefix  // of objects that are the value of the last key
	lists shapeKey // of objects in arrays that are the value of the last key
}

const (
	// maxPrefixes limits the prefixes of a reader, and prefixBytes is about the memory of one without its key.
	maxPrefixes = 1 << 13
	prefixBytes = 256
	// maxFailed limits how many records are read as lists after a record without a shape.
	maxFailed = 64
	// pause is how many records are read as lists when the limits of shapes are reached. Records whose keys always
	// differ must not pay for new shapes all the time.
	pause = 1 << 16
)

// begin returns the prefix without keys; nil if the next record is to be read as a list. The records before must not be
// used any more.
func (s *shapes) begin() *prefix {
	if s.asLists > 0 {
		s.asLists--
		return nil
	}
	if s.full() {
		s.forget()
		s.asLists = pause
		return nil
	}
	if s.first == nil {
		s.first = &prefix{shape: s.space.Empty()}
	}
	return s.first
}

func (s *shapes) full() bool {
	return s.space.Full() || s.prefixes >= maxPrefixes || s.bytes >= maxKnownBytes
}

// fail notes that the current record has no shape.
func (s *shapes) fail() {
	s.failed = min(2*s.failed+1, maxFailed)
	s.asLists = s.failed
}

// forget forgets all shapes.
func (s *shapes) forget() {
	s.space.Clear()
	s.first, s.prefixes, s.bytes = nil, 0, 0
}

// size returns about how many bytes of memory the shapes take.
func (s *shapes) size() int { return s.space.Size() + s.prefixes*prefixBytes + 2*s.bytes }

// ownShaped is own for a record whose fields are set one by one.
func (s *reader) ownShaped() *value.Fields {
	o := s.own()
	if first := s.shapes.begin(); first != nil {
		o.Fill(first.shape, o.Room())
	}
	return o
}

// readShaped reads the object at pos into o, which is empty. n has no keys. readShaped returns -1 if the record has to
// be read as a list.
func (s *reader) readShaped(o *value.Fields, n *prefix, pos, depth int) int {
	t, src := s.text, s.src
	if depth > jsonscan.MaxDepth {
		return -1
	}
	if pos++; src[pos] <= ' ' {
		pos = t.Space(pos)
	}
	vals := o.Room()
	if src[pos] == '}' {
		o.Fill(n.shape, vals)
		return pos + 1
	}
	for {
		// The usual cases of nextPrefix and readValue are here, without the calls.
		if k := n.next; k != nil && src[pos] == '"' && k.guess.At(src, pos+1) && src[pos+1+k.guess.Len()] > ' ' {
			n, pos = k, pos+1+k.guess.Len()
		} else if n, pos = s.nextPrefix(n, pos); n == nil {
			return -1
		}
		var v value.Value
		end := 0
		if src[pos] == '"' {
			end = jsonscan.StringEnd(src, pos+1)
		}
		switch {
		case src[end] == '"' && end > 0:
			v, pos = value.NewBytes(src[pos+1:end]), end+1
		case src[pos] == '{':
			if n.child == nil {
				n.child = &prefix{shape: s.shapes.space.Empty()}
				s.shapes.prefixes++
			}
			inner := s.innerRoom(0)
			pos = s.readShaped(inner, n.child, pos, depth+1)
			v = inner.Value()
		default:
			var err error
			if v, pos, err = s.readValue(nil, &n.lists, pos, depth); err != nil {
				return -1
			}
		}
		if pos < 0 {
			return -1
		}
		vals = append(vals, v)
		if src[pos] <= ' ' {
			pos = t.Space(pos)
		}
		switch src[pos] {
		case ',':
			if pos++; src[pos] <= ' ' {
				pos = t.Space(pos)
			}
		case '}':
			o.Fill(n.shape, vals)
			return pos + 1
		default:
			return -1
		}
	}
}

// nextPrefix returns the prefix after the key at pos, and the position of the key's value; nil if there is none.
func (s *reader) nextPrefix(n *prefix, pos int) (*prefix, int) {
	if s.src[pos] != '"' {
		return nil, pos
	}
	pos++
	if k := n.next; k != nil && k.guess.At(s.src, pos) {
		if pos += k.guess.Len(); s.src[pos] <= ' ' {
			pos = s.text.Space(pos)
		}
		return k, pos
	}
	end := jsonscan.StringEnd(s.src, pos)
	key := s.src[pos:end]
	if s.src[end] != '"' || !jsonscan.IsPlain(key) {
		return nil, pos
	}
	pos, err := s.text.Colon(end + 1)
	if err != nil {
		return nil, pos
	}
	k := n.byKey[string(key)]
	if k == nil {
		k = s.shapes.add(n, string(key))
	}
	n.next = k
	return k, pos
}

// add adds the prefix with one more key; nil if the key is repeated, or there are too many shapes.
func (s *shapes) add(n *prefix, key string) *prefix {
	if s.full() || n.shape.Slot(key) >= 0 {
		return nil
	}
	shape := n.shape.With(key)
	if shape == nil {
		return nil
	}
	k := &prefix{shape: shape}
	k.guess.Set(append([]byte(key), '"', ':'))
	if n.byKey == nil {
		n.byKey = map[string]*prefix{}
	}
	n.byKey[key] = k
	s.prefixes++
	s.bytes += len(key)
	return k
}
