package audit

import (
	"container/list"
	"fmt"
	"net/http"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// A client can sign in, or attempt in vain to change something, thousands of times a second, without any right. The
// first records of a principal, an address, an action and an outcome within a minute are kept, and the others are
// counted in one more record.

// The actions of signing in and out.
const (
	SignIn  = "sign in"
	SignOut = "sign out"
)

const (
	repeatedWindow = time.Minute
	// maxSignIns and maxInVain are how many records of a key are kept in a window.
	maxSignIns = 10
	maxInVain  = 100
	// maxRepeated limits the number of keys. Further keys share one.
	maxRepeated = 10_000
)

// repeatedKey is what the repetitions of a record have in common.
type repeatedKey struct{ principal, address, action, outcome string }

// window counts the records of a key from a moment on.
type window struct {
	key   repeatedKey
	since time.Time
	n     int
	// last is the last record that was not kept.
	last Entry
}

type repeated struct {
	mu    sync.Mutex // guards the fields below
	byKey map[repeatedKey]*list.Element
	order list.List // of *window, by since
}

func newRepeated() *repeated { return &repeated{byKey: map[repeatedKey]*list.Element{}} }

// isRepeated reports whether records like e are limited. A change that failed because of the server may have an effect,
// so it is always recorded.
func isRepeated(e *Entry, c Change) bool {
	if isSignIn(e.Record) || c.Unchanged {
		return true
	}
	return c.Err != nil && errs.From(c.Err).Status() < http.StatusInternalServerError
}

func isSignIn(r *metapb.AuditRecord) bool { return r.Action == SignIn || r.Action == SignOut }

// kept returns how many records like r are kept in a window.
func kept(r *metapb.AuditRecord) int {
	if isSignIn(r) {
		return maxSignIns
	}
	return maxInVain
}

// admit counts e, and reports whether it is kept.
func (r *repeated) admit(e *Entry) bool {
	k := repeatedKey{e.Record.Principal, e.Record.Address, e.Record.Action, e.Outcome}
	r.mu.Lock()
	defer r.mu.Unlock()
	el := r.byKey[k]
	if el == nil && len(r.byKey) >= maxRepeated {
		k = repeatedKey{action: e.Record.Action, outcome: e.Outcome}
		el = r.byKey[k]
	}
	if el == nil {
		el = r.order.PushBack(&window{key: k, since: e.Time})
		r.byKey[k] = el
	}
	w := el.Value.(*window)
	w.n++
	if w.n <= kept(e.Record) {
		return true
	}
	w.last = *e
	return false
}

// ended removes the windows that have ended, or all, and returns a record for each that has counted repetitions.
func (r *repeated) ended(now time.Time, all bool) (out []Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for el := r.order.Front(); el != nil; el = r.order.Front() {
		w := el.Value.(*window)
		if !all && now.Sub(w.since) < repeatedWindow {
			break
		}
		r.order.Remove(el)
		delete(r.byKey, w.key)
		if w.last.Record == nil {
			continue
		}
		e := w.last
		e.Record = proto.CloneOf(e.Record)
		others := ""
		if w.key.principal == "" && w.key.address == "" {
			others = " of several users or addresses"
		}
		e.Record.Message = cut(fmt.Sprintf("%d more%s since %s; the last one: %s", w.n-kept(e.Record), others,
			w.since.UTC().Format(time.RFC3339), e.Record.Message), maxMessage)
		out = append(out, e)
	}
	return out
}
