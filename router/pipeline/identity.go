package pipeline

import (
	"hash/maphash"
	"sync"

	"cordwood/proto/schema"
	"cordwood/router/vrl/jsonscan"
)

// identity is the Runner of svc_identity.
//
// The fast path, identity_scan.go, goes over the text of a record once and puts every
// value straight into its column, without a map or an allocation per row. Whatever it
// cannot decide in passing (the same key twice, variables, a value of another type)
// it leaves to the exact path, exact.go, which reads the record again and decides by
// the letter of the rules. The fast path itself reports no record error, so both give
// the same result for every record.
type identity struct {
	sink

	text jsonscan.Text // of the record under way, with src its bytes
	src  []byte

	home *dest // where records without variables go; nil until the first
	// warm is the home of an earlier request, whose columns the trie still knows: see
	// warm.go. It is nil while a request is under way.
	warm *dest

	trie     trie
	maxNodes int
	fresh    []*node // nodes of home whose column the row under way introduced
	stamp    uint64
	exact    exact
	onlySlow bool // for tests: every record takes the exact path

	// The record under way.
	val      cell
	timeSeen bool  // on the fast path
	syntax   error // set with outcomeSyntax

	// Scratch memory.
	writer  jsonscan.Writer
	scratch []byte
	name    []byte
	varText []byte
}

var identities = sync.Pool{New: func() any { return newIdentity() }}

func newIdentity() *identity {
	return &identity{trie: trie{seed: maphash.MakeSeed()}, sink: sink{byKey: map[string]*dest{}}}
}

// NewIdentity returns the pipeline svc_identity for one request: each record is
// flattened and stored with the types that its values have. The error, for a bad
// hint or table name, has code InvalidArguments.
func NewIdentity(q *Request) (Runner, error) {
	r := identities.Get().(*identity)
	if err := r.start(q); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *identity) start(q *Request) error {
	if err := r.begin(q); err != nil {
		return err
	}
	r.timeName, r.timeUnit = r.req.TimestampColumn, schema.TimestampNanosecond
	r.ownTime = false
	if ti := r.req.TimeIndex; ti != nil {
		r.timeName, r.timeUnit = ti.Field, ti.Unit
	}
	r.maxNodes = max(maxTrieNodes, 4*r.req.MaxColumns)
	if !r.rewarm() {
		r.trie.reset()
	}
	return nil
}

func (r *identity) ScanRecord(data []byte, pos int) (int, error) { return r.scan(data, pos, false) }

func (r *identity) ScanLine(line []byte) error {
	_, err := r.scan(line, 0, true)
	return err
}

// scan takes one value; if whole is set, nothing may follow it.
func (r *identity) scan(data []byte, pos int, whole bool) (int, error) {
	t := jsonscan.NewText(data)
	r.text, r.src = t, t.Bytes()
	pos = t.Space(pos)
	if r.src[pos] == '{' && !r.onlySlow {
		if r.home == nil {
			if err := r.openHome(); err != nil {
				return pos, err
			}
		}
		if next := r.scanFast(pos, whole); next >= 0 {
			r.records++
			return next, r.home.stored(next - pos)
		} else if next == outcomeSyntax {
			return pos, r.syntax
		}
	}
	return r.scanExact(pos, whole)
}

// openHome opens the destination of records without variables. It can fail only
// for the whole request.
func (r *identity) openHome() error {
	d, err := r.destFor(nil, r.base)
	r.home = d
	return err
}

// endOfLine checks that nothing but white space follows a record that must stand alone.
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

// TextRecord is the record {"message": line}.
func (r *identity) TextRecord(line []byte) error {
	if r.home == nil {
		if err := r.openHome(); err != nil {
			return err
		}
	}
	r.timeSet = false
	d := r.home
	r.val = cell{kind: kindString, bytes: line}
	if err := r.textRow(d); err != nil {
		return r.refuse(err)
	}
	r.records++
	return d.stored(len(line))
}

func (r *identity) textRow(d *dest) error {
	if d.err != nil {
		return d.err
	}
	err := r.putLeaf(d, messageName, &r.val)
	if err == nil {
		err = r.endRow(d)
	}
	if err != nil {
		d.drop()
	}
	return err
}

var messageName = []byte("message")

// putLeaf stores the value of a flattened name, if it is to be stored.
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
