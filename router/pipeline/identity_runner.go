package pipeline

import (
	"errors"
	"hash/maphash"
	"sync"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/vrl/jsonscan"
	"cordwood/router/vrl/value"
)

var identities = sync.Pool{New: func() any { return newIdentity() }}

func newIdentity() *identity {
	return &identity{trie: trie{seed: maphash.MakeSeed()}, sink: sink{byKey: map[string]*dest{}}}
}

// NewIdentity returns a Runner of svc_identity for one request. It flattens each record and stores the values with
// their types. If a hint or the table name is invalid, the error has code InvalidArguments.
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

// scan reads one value. If whole is set, nothing may follow it.
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

// Record implements Runner. The record is converted to JSON text, so a timestamp is stored as text.
func (r *identity) Record(v value.Value, _ int) error {
	r.record = value.AppendJSON(r.record[:0], v)
	n := len(r.record)
	r.record = append(r.record, make([]byte, jsonscan.Padding)...)
	_, err := r.scan(r.record[:n], 0, true)
	if e := (*jsonscan.Error)(nil); errors.As(err, &e) {
		return r.refuse(&kindError{
			SkipParse, errs.New(errs.InvalidArguments, "the record has no form in JSON: %s", e.Message()),
		})
	}
	return err
}

// TextRecord receives a line as the record {"message": line}.
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

// Finish ends the input.
func (r *identity) Finish() (*Output, error) {
	if err := r.reserveAll(); err != nil {
		return nil, err
	}
	out := r.output()
	if r.req.AdviseTime && r.req.TimeIndex == nil {
		for _, d := range r.dests {
			if w := d.timeWarning(); w != "" {
				out.Warnings = append(out.Warnings, w)
				break
			}
		}
	}
	r.appendTables(out, 0)
	return out, nil
}

// Release frees the memory.
func (r *identity) Release() {
	if r.renew() {
		identities.Put(r)
	}
}

// renew prepares r for another request, and reports whether r should be kept for it.
func (r *identity) renew() bool {
	if r.exact.size() > keepExact {
		r.exact = exact{} // it counts as memory of later requests
	}
	if r.byteSize()+cap(r.scratch)+cap(r.record) > keepBytes || r.columns > keepColumns {
		return false
	}
	r.warm = r.cool()
	r.empty(r.warm)
	r.scanning, r.fresh = scanning{}, r.fresh[:0]
	return true
}
