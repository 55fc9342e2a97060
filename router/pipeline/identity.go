package pipeline

import (
	"cordwood/router/vrl/jsonscan"
)

// identity is the Runner of svc_identity.
//
// The fast path, identity_scan.go, reads the text of a record once and puts every value directly into its column,
// without a map or an allocation for each row. It leaves cases that it cannot decide (a repeated key, variables, a
// value of another type) to the exact path, exact.go, which reads the record again by the full rules. The fast path
// never reports an error for a record, so both give the same result for every record.
type identity struct {
	sink
	scanning

	// warm is the home of an earlier request, whose columns the trie still knows: see warm.go. It is nil while a
	// request is being processed.
	warm  *dest
	trie  trie
	fresh []*node // nodes of home whose column the current row has added
	stamp uint64
	exact exact

	// Buffers.
	writer  jsonscan.Writer
	scratch []byte
	record  []byte // JSON text of a record that arrived decoded
	name    []byte
	varText []byte
}

// scanning is the state of an identity that belongs to one request.
type scanning struct {
	text jsonscan.Text // of the current record; src has its bytes
	src  []byte

	home     *dest // destination of records without variables; nil until the first record
	maxNodes int
	onlySlow bool // for tests: every record takes the exact path

	// The current record.
	val      cell
	timeSeen bool  // on the fast path
	syntax   error // set if the outcome is outcomeSyntax
}

// openHome opens the destination of records without variables. An error concerns the whole request.
func (r *identity) openHome() error {
	d, err := r.destFor(nil, r.base)
	r.home = d
	return err
}

// endOfLine checks that only white space follows a record that must be alone on its line.
func (r *identity) endOfLine(pos int) error {
	if pos = r.text.Space(pos); pos < r.text.Len() {
		return r.text.Unexpected(pos, "the end of the line")
	}
	return nil
}

// readTime reads the time index from the value at pos, which is not null.
func (r *identity) readTime(pos, depth int) (next int, syntax, err error) {
	next, syntax = r.read(pos, depth)
	if syntax != nil {
		return next, syntax, nil
	}
	return next, nil, r.setTime(&r.val)
}

// putLeaf stores the value of a flattened name, unless it must not be stored.
func (r *identity) putLeaf(d *dest, name []byte, v *cell) error {
	switch d.kindOf(name) {
	case timeKey:
		return r.setTime(v)
	case droppedKey:
		r.notes.replaced++
		return nil
	}
	row := d.rows.Rows()
	col, err := d.newColumn(name, row, v)
	if err != nil || col == nil {
		return err
	}
	return d.store(col, row, v)
}

func (r *identity) endRow(d *dest) error {
	t, err := r.rowTime()
	if err != nil {
		return err
	}
	return d.end(t)
}

// read reads the value at pos into r.val and returns the position after it. depth is
// the number of containers around it.
func (r *identity) read(pos, depth int) (int, error) {
	t, v := r.text, &r.val
	switch c := r.src[pos]; c {
	case '"':
		v.kind = kindString
		if end := jsonscan.StringEnd(r.src, pos+1); r.src[end] == '"' {
			v.bytes = r.src[pos+1 : end]
			return end + 1, nil
		}
		var next int
		var err error
		r.scratch, next, err = t.AppendString(r.scratch[:0], pos+1)
		if err == nil {
			r.notes.lone += t.LoneSurrogates(r.scratch, pos+1)
		}
		v.bytes = r.scratch
		return next, err
	case '{', '[':
		v.kind = kindText
		var next int
		var err error
		r.scratch, next, err = r.writer.AppendValue(r.scratch[:0], t, pos, depth)
		r.noteWriter()
		v.bytes = r.scratch
		return next, err
	case 't', 'f', 'n':
		next, err := t.Skip(pos, depth)
		v.kind, v.i = kindBool, 0
		switch c {
		case 't':
			v.i = 1
		case 'n':
			v.kind = kindNull
		}
		return next, err
	}
	next, kind, i, f := t.Number(pos)
	switch kind {
	case jsonscan.Int:
		v.kind, v.i = kindInt, i
	case jsonscan.Float:
		v.kind, v.f = kindFloat, f
		if f == 0 && jsonscan.Underflows(r.src[pos:next]) {
			r.notes.vanished++
		}
	case jsonscan.Uint:
		v.kind, v.i = kindUint, i
	case jsonscan.Inexact:
		v.kind, v.bytes = kindBig, r.src[pos:next]
	default:
		return pos, t.NumberError(pos, next)
	}
	return next, nil
}

// noteWriter records what the writer changed in the last value.
func (r *identity) noteWriter() {
	r.notes.lone += r.writer.Lone
	r.notes.repeated += r.writer.Repeated
	r.notes.vanished += r.writer.Vanished
}
