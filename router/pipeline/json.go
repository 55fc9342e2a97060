package pipeline

import (
	"math/bits"
	"slices"
	"strings"
	"unsafe"

	"cordwood/proto/errs"
	"cordwood/router/pipeline/processor"
	"cordwood/router/vrl/jsonscan"
	"cordwood/router/vrl/value"
)

// reader reads JSON objects as records. It uses no map, shares keys, and strings are parts of the text. It learns
// the keys of the objects at each place of a record. It tries the key that followed last time first, and then
// fields come out sorted without comparisons.
type reader struct {
	text  jsonscan.Text
	src   []byte
	rec   *processor.Record // makes texts of strings with escapes
	root  *shape
	known int // number of keys in all shapes
	size  int // bytes of all keys

	members []readMember
	key     []byte
	fields  *value.Fields   // the fields of the record, reused
	inner   []*value.Fields // the same for nested objects; the first used ones belong to the record
	used    int
	shapes  shapes
	// big is the error for a record with an integer that value.Value cannot hold.
	big error
	// What was changed in the record: see notes.
	lone, repeated int
	vanished       int
}

// The limits of the nested objects that are kept for the next record.
const (
	maxInner       = 64
	maxInnerFields = 64
)

// An object is sparse if its place had more than minSparse keys, and sparse for each of its members.
const (
	minSparse = 64
	sparse    = 16
)

// readMember is a member of the current object, in the order of the text.
type readMember struct {
	key   *shapeKey
	value value.Value
}

// The limits of the keys that a reader remembers. When a limit is exceeded, it forgets all of them.
const (
	maxKnownKeys  = 1 << 12
	maxKnownBytes = 2 << 20
)

// shape is what is known about the objects at one place that are read as lists: the root, the value of a key, or the
// array of a key.
type shape struct {
	byKey  map[string]*shapeKey
	sorted []*shapeKey
	fresh  []*shapeKey // not in sorted yet
	first  *shapeKey
	seen   []uint64 // a bit for each index in sorted
	where  []int32  // for each index in sorted, the member with that key
}

// shapeKey is one key of a shape.
type shapeKey struct {
	key   string
	guess jsonscan.Guess // zero for a key with escapes
	rank  int            // its index in shape.sorted
	next  *shapeKey      // the key that followed last time
	child *shape
}

// reset forgets all keys except names, which compiled code uses, so that keys can be compared with these by
// pointer.
func (s *reader) reset(names []string) {
	s.known, s.size = 0, 0
	s.root = &shape{}
	s.shapes.forget()
	for _, name := range names {
		s.add(s.root, name)
	}
}

// object reads the object at pos as a record. The fields are valid until the next call.
func (s *reader) object(pos int, names []string) (value.Value, int, error) {
	if s.root == nil || s.known > maxKnownKeys || s.size > maxKnownBytes {
		s.reset(names)
	}
	o := s.own()
	if first := s.shapes.begin(); first != nil {
		if next := s.readShaped(o, first, pos, 1); next >= 0 {
			s.shapes.failed = 0
			return o.Value(), next, nil
		}
		s.shapes.fail()
		o = s.own()
	}
	next, err := s.readObject(o, s.root, pos, 1)
	return o.Value(), next, err
}

// release drops the text and keeps the known keys.
func (s *reader) release() {
	s.text, s.src = jsonscan.Text{}, nil
	clear(s.members[:cap(s.members)])
	if s.fields != nil {
		s.fields.Forget()
	}
	for _, o := range s.inner {
		if o.Len() > maxInnerFields {
			s.inner = nil
			break
		}
		o.Forget()
	}
}

// own empties the fields of the previous record, and returns them for the next one.
func (s *reader) own() *value.Fields {
	if s.fields == nil {
		s.fields = value.MakeFields(32)
	}
	s.fields.Reuse()
	s.used, s.members = 0, s.members[:0]
	s.big, s.lone, s.repeated, s.vanished = nil, 0, 0, 0
	return s.fields
}

// innerFields returns an empty object for a place inside the record.
func (s *reader) innerFields(sh *shape) *value.Fields {
	return s.innerRoom(len(sh.byKey))
}

// innerRoom is innerFields for an object of about n fields.
func (s *reader) innerRoom(n int) *value.Fields {
	if s.used == maxInner || n > maxInnerFields {
		return &value.Fields{} // not for n fields: a hostile record has very many small objects
	}
	if s.used == len(s.inner) {
		s.inner = append(s.inner, value.MakeFields(max(4, n)))
	}
	o := s.inner[s.used]
	s.used++
	o.Reuse()
	return o
}

// begin sets the text for the following calls.
func (s *reader) begin(data []byte) jsonscan.Text {
	s.text = jsonscan.NewText(data)
	s.src = s.text.Bytes()
	return s.text
}

// readObject reads the object at pos into o, which is empty. depth is the number of open containers, including this
// one.
func (s *reader) readObject(o *value.Fields, sh *shape, pos, depth int) (int, error) {
	t, src := s.text, s.src
	if depth > jsonscan.MaxDepth {
		return pos, jsonscan.TooDeep(pos)
	}
	base := len(s.members)
	if pos++; src[pos] <= ' ' {
		pos = t.Space(pos)
	}
	if src[pos] == '}' {
		return pos + 1, nil
	}
	var prev *shapeKey
	k := sh.first
	for {
		if src[pos] != '"' {
			return pos, t.Unexpected(pos, "a key in quotes")
		}
		pos++
		var err error
		if k != nil && k.guess.At(src, pos) {
			pos += k.guess.Len()
			if src[pos] <= ' ' {
				pos = t.Space(pos)
			}
		} else if k, pos, err = s.lookup(sh, prev, pos); err != nil {
			return pos, err
		}
		at := len(s.members)
		if at-base >= jsonscan.MaxKeys {
			return pos, jsonscan.TooManyKeys(pos)
		}
		s.members = append(s.members, readMember{key: k})
		v, next, err := s.readValue(sh, k, pos, depth)
		if err != nil {
			return next, err
		}
		s.members[at].value = v
		pos = next
		if src[pos] <= ' ' {
			pos = t.Space(pos)
		}
		switch src[pos] {
		case ',':
			if pos++; src[pos] <= ' ' {
				pos = t.Space(pos)
			}
			prev, k = k, k.next
		case '}':
			s.repeated += at + 1 - base - sh.emit(o, s.members[base:])
			s.members = s.members[:base]
			return pos + 1, nil
		default:
			return pos, t.Unexpected(pos, "',' or '}'")
		}
	}
}

// emit puts the members into o, sorted by key, and returns the number of members. If a key is repeated, the last one
// wins.
func (sh *shape) emit(o *value.Fields, members []readMember) (keys int) {
	o.Grow(len(members))
	if len(sh.byKey) > minSparse+sparse*len(members) { // then ranks cost more than sorting
		for i := range members {
			o.Add(members[i].key.key, members[i].value)
		}
		o.Sort()
		return o.Len()
	}
	if len(sh.fresh) > 0 {
		sh.settle()
	}
	words := (len(sh.sorted) + 63) >> 6
	if len(sh.seen) < words {
		sh.seen = make([]uint64, words+4)
	}
	if len(sh.where) < len(sh.sorted) {
		sh.where = make([]int32, len(sh.sorted)+32)
	}
	for i := range members {
		rank := members[i].key.rank
		sh.seen[rank>>6] |= 1 << (rank & 63)
		sh.where[rank] = int32(i)
	}
	for w := range words {
		keys += bits.OnesCount64(sh.seen[w])
		for set := sh.seen[w]; set != 0; set &= set - 1 {
			m := &members[sh.where[w<<6+bits.TrailingZeros64(set)]]
			o.Add(m.key.key, m.value)
		}
		sh.seen[w] = 0
	}
	return keys
}

// lookup finds the key whose opening quote precedes pos, and skips it and its colon.
func (s *reader) lookup(sh *shape, prev *shapeKey, pos int) (*shapeKey, int, error) {
	t := s.text
	end := jsonscan.StringEnd(s.src, pos)
	var key []byte
	if s.src[end] == '"' {
		key, pos = s.src[pos:end], end+1
	} else {
		var err error
		from := pos
		if s.key, pos, err = t.AppendString(s.key[:0], from); err != nil {
			return nil, pos, err
		}
		s.lone += t.LoneSurrogates(s.key, from)
		key = s.key
	}
	pos, err := t.Colon(pos)
	if err != nil {
		return nil, pos, err
	}
	k := sh.byKey[string(key)]
	if k == nil {
		k = s.add(sh, strings.Clone(unsafe.String(unsafe.SliceData(key), len(key))))
	}
	if prev == nil {
		sh.first = k
	} else {
		prev.next = k
	}
	return k, pos, nil
}

// add adds a key to a shape.
func (s *reader) add(sh *shape, key string) *shapeKey {
	k := &shapeKey{key: key}
	s.known++
	s.size += len(key)
	if quoted := append([]byte(key), '"', ':'); jsonscan.IsPlain(quoted[:len(key)]) {
		k.guess.Set(quoted)
	}
	if sh.byKey == nil {
		sh.byKey = map[string]*shapeKey{}
	}
	sh.byKey[key] = k
	sh.fresh = append(sh.fresh, k)
	return k
}

// settle moves the keys of fresh to their places in sorted.
func (sh *shape) settle() {
	fresh := sh.fresh
	slices.SortFunc(fresh, func(a, b *shapeKey) int { return strings.Compare(a.key, b.key) })
	old := len(sh.sorted)
	sh.sorted = append(sh.sorted, fresh...)
	for to := len(sh.sorted) - 1; len(fresh) > 0; to-- {
		k := fresh[len(fresh)-1]
		if old > 0 && sh.sorted[old-1].key > k.key {
			old--
			k = sh.sorted[old]
		} else {
			fresh = fresh[:len(fresh)-1]
		}
		sh.sorted[to], k.rank = k, to
	}
	sh.fresh = sh.fresh[:0]
}

// readValue reads the value at pos, which is the value of key k.
func (s *reader) readValue(sh *shape, k *shapeKey, pos, depth int) (value.Value, int, error) {
	t := s.text
	switch c := s.src[pos]; c {
	case '"':
		if end := jsonscan.StringEnd(s.src, pos+1); s.src[end] == '"' {
			return value.NewBytes(s.src[pos+1 : end]), end + 1, nil
		}
		var next int
		var err error
		s.key, next, err = t.AppendString(s.key[:0], pos+1)
		if err != nil {
			return value.Value{}, next, err
		}
		s.lone += t.LoneSurrogates(s.key, pos+1)
		return s.rec.Text(s.key), next, nil
	case '{':
		if k.child == nil {
			k.child = &shape{}
		}
		o := s.innerFields(k.child)
		next, err := s.readObject(o, k.child, pos, depth+1)
		return o.Value(), next, err
	case '[':
		return s.readArray(sh, k, pos, depth+1)
	case 't':
		if t.IsTrue(pos) {
			return value.NewBool(true), pos + 4, nil
		}
	case 'f':
		if t.IsFalse(pos) {
			return value.NewBool(false), pos + 5, nil
		}
	case 'n':
		if t.IsNull(pos) {
			return value.Value{}, pos + 4, nil
		}
	default:
		next, kind, i, f := t.Number(pos)
		switch kind {
		case jsonscan.Int:
			return value.NewInt(i), next, nil
		case jsonscan.Float:
			if f == 0 && jsonscan.Underflows(t.Bytes()[pos:next]) {
				s.vanished++
			}
			return value.NewFloat(f), next, nil
		case jsonscan.Uint, jsonscan.Inexact:
			if s.big == nil {
				s.big = errs.New(errs.InvalidArguments,
					"the integer %s is beyond -9223372036854775808 to 9223372036854775807, which is the range of "+
						"integers in a pipeline; send it as text", processor.Cut(string(t.Bytes()[pos:next])))
			}
			return value.Value{}, next, nil
		}
		return value.Value{}, pos, t.NumberError(pos, next)
	}
	return value.Value{}, pos, t.Unexpected(pos, "a value")
}

func (s *reader) readArray(sh *shape, k *shapeKey, pos, depth int) (value.Value, int, error) {
	t := s.text
	if depth > jsonscan.MaxDepth {
		return value.Value{}, pos, jsonscan.TooDeep(pos)
	}
	pos = t.Space(pos + 1)
	var list []value.Value
	if s.src[pos] == ']' {
		return value.NewArray(list), pos + 1, nil
	}
	for {
		v, next, err := s.readValue(sh, k, pos, depth)
		if err != nil {
			return value.Value{}, next, err
		}
		list = append(list, v)
		pos = t.Space(next)
		switch s.src[pos] {
		case ',':
			pos = t.Space(pos + 1)
		case ']':
			return value.NewArray(list), pos + 1, nil
		default:
			return value.Value{}, pos, t.Unexpected(pos, "',' or ']'")
		}
	}
}
