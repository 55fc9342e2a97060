package pipeline

import (
	"bytes"
	"errors"
	"slices"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/vrl/jsonscan"
)

// exact has the data of the exact path: the members of a record in the order of the text, and then the flattened
// values, sorted by name.
type exact struct {
	members []member
	keys    []byte // decoded keys that had escapes
	order   []int  // members of the current objects, sorted
	leaves  []leaf
	names   []byte
	dotted  bool // a key contains a dot, so two leaves may have the same name
	byName  []int
}

// size returns the memory of the data.
func (x *exact) size() int {
	return 48*cap(x.members) + 40*cap(x.leaves) + cap(x.names) + cap(x.keys) + 8*(cap(x.order)+cap(x.byName))
}

// member is a key of an object and the position of its value.
type member struct {
	key     int // in the text, or in exact.keys
	klen    int
	escaped bool
	object  bool // an object that may be flattened
	pos     int
	end     int // index of the first member after those inside the value
}

// leaf is a value with its flattened name.
type leaf struct {
	name  int // in exact.names
	nlen  int
	pos   int
	depth int // number of containers around it
}

// scanExact stores the value at pos by the full rules: if a key is repeated in an object, the last one wins; keys
// are sorted by bytes; fields with equal flattened names are an error; and variables select the table and its
// options.
func (r *identity) scanExact(pos int, whole bool) (int, error) {
	before := r.notes
	next, err := r.parseExact(pos)
	if err == nil && whole {
		err = r.endOfLine(next)
	}
	if err != nil {
		r.notes = before
		return pos, err
	}
	if r.src[pos] != '{' {
		return next, r.refuse(errNotMap)
	}
	d, err := r.rowExact()
	if err != nil {
		r.notes = before
		if syntax := (*jsonscan.Error)(nil); errors.As(err, &syntax) {
			return pos, err
		}
		return next, r.refuse(err)
	}
	r.records++
	r.ledger.extra = r.exact.size()
	return next, d.stored(next - pos)
}

var errNotMap = WithKind(SkipParse, errs.New(errs.InvalidArguments, "Top level value must be map"))

// parseExact checks the whole value and lists the members of a record.
func (r *identity) parseExact(pos int) (int, error) {
	x := &r.exact
	x.members, x.keys, x.dotted = x.members[:0], x.keys[:0], false
	if r.src[pos] != '{' {
		return r.text.Skip(pos, 0)
	}
	return r.parseMembers(pos+1, 1)
}

// parseMembers parses the members of the object whose opening brace precedes pos. Objects that are nested too deep
// for flattening are skipped as a whole.
func (r *identity) parseMembers(pos, depth int) (int, error) {
	x, t := &r.exact, r.text
	pos = t.Space(pos)
	if r.src[pos] == '}' {
		return pos + 1, nil
	}
	for {
		if r.src[pos] != '"' {
			return pos, t.Unexpected(pos, "a key in quotes")
		}
		if len(x.members) >= jsonscan.MaxKeys {
			return pos, jsonscan.TooManyKeys(pos)
		}
		m := member{key: pos + 1}
		if end := jsonscan.StringEnd(r.src, pos+1); r.src[end] == '"' {
			m.klen, pos = end-pos-1, end+1
		} else {
			var err error
			m.key, m.escaped = len(x.keys), true
			from := pos + 1
			if x.keys, pos, err = t.AppendString(x.keys, from); err != nil {
				return pos, err
			}
			r.notes.lone += t.LoneSurrogates(x.keys[m.key:], from)
			m.klen = len(x.keys) - m.key
		}
		var err error
		if pos, err = t.Colon(pos); err != nil {
			return pos, err
		}
		x.dotted = x.dotted || bytes.IndexByte(r.memberKey(&m), '.') >= 0
		m.pos = pos
		m.object = r.src[pos] == '{' && depth < r.req.MaxNestedLevels
		i := len(x.members)
		x.members = append(x.members, m)
		switch {
		case !m.object:
			pos, err = t.Skip(pos, depth)
		case depth >= jsonscan.MaxDepth:
			err = jsonscan.TooDeep(pos)
		default:
			pos, err = r.parseMembers(pos+1, depth+1)
		}
		if err != nil {
			return pos, err
		}
		x.members[i].end = len(x.members)
		pos = t.Space(pos)
		switch r.src[pos] {
		case ',':
			pos = t.Space(pos + 1)
		case '}':
			return pos + 1, nil
		default:
			return pos, t.Unexpected(pos, "',' or '}'")
		}
	}
}

func (r *identity) memberKey(m *member) []byte {
	if m.escaped {
		return r.exact.keys[m.key : m.key+m.klen]
	}
	return r.src[m.key : m.key+m.klen]
}

// rowExact stores the record that parseExact has parsed. Its error is a *jsonscan.Error or an error of this record.
// After an error nothing of the record is stored.
func (r *identity) rowExact() (*dest, error) {
	x := &r.exact
	x.order, x.leaves, x.names = x.order[:0], x.leaves[:0], x.names[:0]
	top := r.sortMembers(0, len(x.members))
	d, err := r.destExact(top)
	if err != nil {
		return nil, err
	}
	if d.err != nil {
		return nil, d.err
	}
	r.name = r.name[:0]
	if err := r.flatten(d, top, 1); err != nil {
		return nil, err
	}
	if x.dotted {
		if err := r.findCollision(); err != nil {
			return nil, err
		}
	}
	r.timeSet = false
	if err := r.storeLeaves(d); err != nil {
		d.drop()
		return nil, err
	}
	return d, nil
}

// sortMembers returns the members of one object, sorted by key. If a key is repeated, only the last member is
// included. The members are in members[from:to], with nested members between them. The list is in x.order.
func (r *identity) sortMembers(from, to int) []int {
	x := &r.exact
	base := len(x.order)
	for i := from; i < to; i = x.members[i].end {
		x.order = append(x.order, i)
	}
	list := x.order[base:]
	compare := func(a, b int) int {
		if c := bytes.Compare(r.memberKey(&x.members[a]), r.memberKey(&x.members[b])); c != 0 {
			return c
		}
		return a - b
	}
	if !slices.IsSortedFunc(list, compare) {
		slices.SortFunc(list, compare)
	}
	kept := list[:0]
	for k, i := range list {
		if k+1 < len(list) && bytes.Equal(r.memberKey(&x.members[i]), r.memberKey(&x.members[list[k+1]])) {
			r.notes.repeated++
			continue
		}
		kept = append(kept, i)
	}
	x.order = x.order[:base+len(kept)]
	return kept
}

// destExact returns the destination of a record according to its variables. top lists its members.
func (r *identity) destExact(top []int) (*dest, error) {
	var v variables
	buf := r.varText[:0]
	for _, i := range top {
		m := &r.exact.members[i]
		k := variableOf(r.memberKey(m))
		if k < 0 || m.object || r.text.IsNull(m.pos) {
			continue
		}
		if _, err := r.read(m.pos, 1); err != nil {
			return nil, err
		}
		from := len(buf)
		if r.val.kind == kindString {
			buf = append(buf, r.val.bytes...)
		} else {
			buf = append(buf, r.jsonText(&r.val)...)
		}
		v.set[k], v.text[k] = true, buf[from:len(buf):len(buf)]
	}
	r.varText = buf
	if v.any() {
		if r.req.NoClientVariables {
			return nil, v.refused()
		}
		opts, err := r.optionsFor(&v)
		if err != nil {
			return nil, WithKind(SkipOption, err)
		}
		return r.destFor(v.text[varSuffix], opts)
	}
	if r.home == nil {
		if err := r.openHome(); err != nil {
			return nil, err
		}
	}
	return r.home, nil
}

// flatten lists the leaves of an object: list has its members, r.name has its name and a dot, and depth is its
// level.
func (r *identity) flatten(d *dest, list []int, depth int) error {
	x := &r.exact
	prefix := len(r.name)
	for _, i := range list {
		m := &x.members[i]
		key := r.memberKey(m)
		if r.text.IsNull(m.pos) || depth == 1 && !m.object && variableOf(key) >= 0 {
			continue
		}
		short := prefix+len(key) <= schema.MaxColumnNameBytes
		r.name = append(r.name[:prefix], key...)
		if m.object && (!short || d.kindOf(r.name) != jsonKey) {
			base := len(x.order)
			r.name = append(r.name, '.')
			err := r.flatten(d, r.sortMembers(i+1, m.end), depth+1)
			x.order = x.order[:base]
			if err != nil {
				return err
			}
			continue
		}
		if !short {
			return checkFieldName(string(r.name))
		}
		x.leaves = append(x.leaves, leaf{name: len(x.names), nlen: len(r.name), pos: m.pos, depth: depth})
		if x.names = append(x.names, r.name...); len(x.names) > max(maxNames, r.req.MaxColumns*schema.MaxColumnNameBytes) {
			return &kindError{SkipLimit, errs.New(errs.InvalidArguments, "the names of its %d fields take more than %d bytes",
				len(x.leaves), maxNames)}
		}
	}
	return nil
}

// maxNames limits the number of bytes of all flattened names in a record.
const maxNames = 4 << 20

func (x *exact) leafName(l *leaf) []byte { return x.names[l.name : l.name+l.nlen] }

// findCollision returns an error if two leaves have the same name.
func (r *identity) findCollision() error {
	x := &r.exact
	x.byName = x.byName[:0]
	for i := range x.leaves {
		x.byName = append(x.byName, i)
	}
	slices.SortFunc(x.byName, func(a, b int) int {
		if c := bytes.Compare(x.leafName(&x.leaves[a]), x.leafName(&x.leaves[b])); c != 0 {
			return c
		}
		return a - b
	})
	for k := 1; k < len(x.byName); k++ {
		if name := x.leafName(&x.leaves[x.byName[k]]); bytes.Equal(name, x.leafName(&x.leaves[x.byName[k-1]])) {
			return collision(name)
		}
	}
	return nil
}

// collision returns the error for a record with two fields for the same column.
func collision(name []byte) error {
	return &kindError{SkipTable, errs.New(errs.InvalidArguments,
		"two fields have the column name %q: one as a key with dots, the other by the keys of nested objects; "+
			"rename one of them", cut(string(name)))}
}

func (r *identity) storeLeaves(d *dest) error {
	x := &r.exact
	for i := range x.leaves {
		l := &x.leaves[i]
		if _, err := r.read(l.pos, l.depth); err != nil {
			return err
		}
		if err := r.putLeaf(d, x.leafName(l), &r.val); err != nil {
			return err
		}
	}
	return r.endRow(d)
}
