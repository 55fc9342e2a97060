package pipeline

import (
	"slices"

	"cordwood/proto/schema"
	"cordwood/router/vrl/jsonscan"
)

// The outcomes of a scan other than a position.
const (
	// outcomeExact: the exact path must read the record.
	outcomeExact = -1
	// outcomeSyntax: the text is malformed, and identity.syntax has the error.
	outcomeSyntax = -2
)

func (r *identity) fail(err error) int {
	r.syntax = err
	return outcomeSyntax
}

// scanFast reads the record at pos in one pass, directly into the columns. It returns the position after the
// record. If it returns an outcome, nothing has changed.
func (r *identity) scanFast(pos int, whole bool) int {
	d := r.home
	if d.err != nil {
		return outcomeExact
	}
	if r.retyped || r.trie.full(r.maxNodes) {
		r.trie.reset() // it has cached types of columns
		r.retyped = false
	}
	r.stamp++
	before := r.notes
	r.timeSet, r.timeSeen = false, false
	next := r.object(d, r.trie.root, pos+1, 1)
	if next >= 0 && whole && next < r.text.Len() {
		if err := r.endOfLine(next); err != nil {
			next = r.fail(err)
		}
	}
	if next >= 0 && r.endRow(d) != nil {
		next = outcomeExact
	}
	if next < 0 {
		for _, n := range r.fresh {
			n.col, n.want = nil, kindNone
		}
		r.fresh = r.fresh[:0]
		r.notes = before
		d.drop()
		return next
	}
	if len(r.fresh) > 0 {
		r.sortFresh(d)
	}
	return next
}

// sortFresh sorts the columns that the last row added by their names, segment by segment.
func (r *identity) sortFresh(d *dest) {
	slices.SortFunc(r.fresh, compareNodes)
	cols := d.rows.Cols()
	cols = cols[len(cols)-len(r.fresh):]
	for i, n := range r.fresh {
		cols[i] = n.col
	}
	r.fresh = r.fresh[:0]
}

// object reads the members of the object whose opening brace precedes pos. depth is the number of open objects, and
// thus the level of the keys. It returns the position after the object, or an outcome.
//
// The key that followed last time is tried first, then other keys that have followed before. If the guesses are
// wrong, the key is looked up in a hash table.
func (r *identity) object(d *dest, parent *node, pos, depth int) int {
	src, row, stamp := r.src, d.rows.Rows(), r.stamp
	if src[pos] <= ' ' {
		pos = r.text.Space(pos)
	}
	if src[pos] == '}' {
		return pos + 1
	}
	var prev *node
	n := parent.first
	for {
		if src[pos] != '"' {
			return r.fail(r.text.Unexpected(pos, "a key in quotes"))
		}
		pos++
		if n != nil && n.guess.At(src, pos) {
			pos += n.guess.Len()
		} else if n, pos = r.wrong(parent, prev, pos); n == nil {
			return pos
		}
		if n.stamp == stamp {
			return outcomeExact
		}
		n.stamp = stamp
		c := src[pos]
		if c <= ' ' {
			pos = r.text.Space(pos)
			c = src[pos]
		}

		done := false
		switch {
		case c == '"':
			if n.want != kindString {
				break
			}
			end := jsonscan.StringEnd(src, pos+1)
			if src[end] != '"' {
				break
			}
			if n.col.Has(row) {
				return outcomeExact
			}
			n.col.SetPart(row, src, pos+1, end)
			pos, done = end+1, true
		case c == '{':
			if depth >= r.req.MaxNestedLevels || n.kind == jsonKey {
				break
			}
			if pos = r.nested(d, n, pos, depth); pos < 0 {
				return pos
			}
			done = true
		case n.want == kindInt || n.want == kindFloat:
			next, kind, i, f := r.text.Number(pos)
			if kind != jsonscan.Int || n.want != kindInt {
				if next = r.float(d, n, pos, next, kind, i, f); next < 0 {
					break
				}
			} else {
				if n.col.Has(row) {
					return outcomeExact
				}
				n.col.SetInt(row, i)
			}
			pos, done = next, true
		}
		if !done {
			if pos = r.other(d, n, pos, depth); pos < 0 {
				return pos
			}
		}

		c = src[pos]
		if c <= ' ' {
			pos = r.text.Space(pos)
			c = src[pos]
		}
		if c != ',' {
			if c == '}' {
				return pos + 1
			}
			return r.fail(r.text.Unexpected(pos, "',' or '}'"))
		}
		pos++
		if src[pos] <= ' ' {
			pos = r.text.Space(pos)
		}
		prev, n = n, n.next
	}
}

// nested reads the object at pos, which is the value of key n, like object.
func (r *identity) nested(d *dest, n *node, pos, depth int) int {
	if depth >= jsonscan.MaxDepth {
		return r.fail(jsonscan.TooDeep(pos))
	}
	return r.object(d, n, pos+1, depth+1)
}

// float puts the number that text.Number read at pos into a column of floats. It returns next, or -1 if the method
// other must handle the value.
func (r *identity) float(d *dest, n *node, pos, next int, kind jsonscan.NumberKind, i int64, f float64) int {
	row := d.rows.Rows()
	switch {
	case n.want != kindFloat || n.col.Has(row):
		return -1
	case kind == jsonscan.Float:
		n.col.SetFloat(row, f)
		if f == 0 && jsonscan.Underflows(r.src[pos:next]) {
			r.notes.vanished++
		}
	case kind == jsonscan.Int && schema.Int64.Exact(i) && d.rule != schema.ConflictError:
		n.col.SetFloat(row, float64(i))
	default:
		return -1
	}
	return next
}

// wrong finds the key at pos after a wrong guess, like lookup.
func (r *identity) wrong(parent, prev *node, pos int) (*node, int) {
	if prev != nil {
		if n := prev.other(r.src, pos); n != nil {
			prev.followed(n)
			return n, pos + n.guess.Len()
		}
	}
	return r.lookup(parent, prev, pos)
}

// other handles the less frequent values: null, values of keys with a special meaning, the first value of a column,
// strings with escapes, and values to convert.
func (r *identity) other(d *dest, n *node, pos, depth int) int {
	if r.src[pos] == 'n' && r.text.IsNull(pos) {
		return pos + 4
	}
	switch n.kind {
	case variable:
		return outcomeExact
	case droppedKey:
		r.notes.replaced++
		next, err := r.text.Skip(pos, depth)
		if err != nil {
			return r.fail(err)
		}
		return next
	case timeKey:
		if r.timeSeen { // with another spelling of the name
			return outcomeExact
		}
		r.timeSeen = true
		next, syntax, err := r.readTime(pos, depth)
		if syntax != nil {
			return r.fail(syntax)
		}
		if err != nil {
			return outcomeExact
		}
		return next
	}

	row, col := d.rows.Rows(), n.col
	if col != nil && col.Has(row) {
		return outcomeExact
	}
	if col != nil && col.Type == schema.String {
		var err error
		next, buf := -1, col.BeginBytes(row)
		from := len(buf)
		switch r.src[pos] {
		case '"':
			buf, next, err = r.text.AppendString(buf, pos+1)
			if err == nil {
				r.notes.lone += r.text.LoneSurrogates(buf[from:], pos+1)
			}
		case '{', '[':
			buf, next, err = r.writer.AppendValue(buf, r.text, pos, depth)
			r.noteWriter()
		}
		if err != nil {
			return r.fail(err)
		}
		if next >= 0 && len(buf) <= maxColumnBytes {
			col.EndBytes(row, buf)
			return next
		}
	}
	next, err := r.read(pos, depth)
	if err != nil {
		return r.fail(err)
	}
	if col == nil {
		if n.length > schema.MaxColumnNameBytes {
			return outcomeExact
		}
		r.name = n.appendName(r.name[:0])
		if col, err = d.column(r.name, r.val.kind.columnType()); err != nil {
			return outcomeExact
		}
		n.setColumn(col)
		if col.FirstRow() == row {
			if col.Has(row) { // with another spelling of the name in the same record
				n.col, n.want = nil, kindNone
				return outcomeExact
			}
			r.fresh = append(r.fresh, n)
		} else if col.Has(row) {
			return outcomeExact
		}
	}
	if d.put(col, row, &r.val) != nil {
		return outcomeExact
	}
	return next
}

// lookup finds the node of the key whose opening quote precedes pos, and skips the key and its colon. prev is the
// previous key in the object, or nil. If the node is nil, the result is an outcome.
func (r *identity) lookup(parent, prev *node, pos int) (*node, int) {
	t := r.text
	end := jsonscan.StringEnd(r.src, pos)
	var key []byte
	if r.src[end] == '"' {
		key, pos = r.src[pos:end], end+1
	} else {
		var err error
		from := pos
		if r.key, pos, err = t.AppendString(r.key[:0], from); err != nil {
			return nil, r.fail(err)
		}
		r.notes.lone += t.LoneSurrogates(r.key, from)
		key = r.key
	}
	pos, err := t.Colon(pos)
	if err != nil {
		return nil, r.fail(err)
	}
	n, fresh := r.trie.child(parent, key)
	if fresh {
		n.kind = r.kindOf(n)
	}
	if prev == nil {
		parent.first = n
	} else {
		prev.followed(n)
	}
	return n, pos
}

// kindOf returns the meaning of the key of a new node.
func (r *identity) kindOf(n *node) nodeKind {
	if n.level == 1 && variableOf(n.key) >= 0 {
		return variable
	}
	if n.length > schema.MaxColumnNameBytes {
		return plainKey
	}
	r.name = n.appendName(r.name[:0])
	return r.home.kindOf(r.name)
}
