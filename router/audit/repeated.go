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
// counted in one more record. The names with which a client fails to sign in are of its choice, so its failures are
// also counted together.

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
	// maxFailedSignIns is how many failed sign-ins of an address are kept in a window, whatever their users.
	maxFailedSignIns = 300
	// maxRepeated limits the number of keys. Further keys share one.
	maxRepeated = 10_000
)

// repeatedKey is what the repetitions of a record have in common. all means records of any principal.
type repeatedKey struct {
	principal, address, action, outcome string
	all                                 bool
}

// window counts the records of a key from a moment on.
type window struct {
	key   repeatedKey
	since time.Time
	kept  int // how many records are kept
	n     int // how many there were
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
	r.mu.Lock()
	defer r.mu.Unlock()
	k := repeatedKey{
		principal: e.Record.Principal, address: e.Record.Address, action: e.Record.Action, outcome: e.Outcome,
	}
	if e.Record.Action != SignIn || e.Outcome == OK {
		return r.count(k, e, kept(e.Record))
	}
	of := repeatedKey{address: k.address, action: k.action, outcome: k.outcome, all: true}
	if el := r.byKey[of]; el != nil && el.Value.(*window).n >= maxFailedSignIns {
		return r.count(of, e, maxFailedSignIns) // a further name needs no window
	}
	return r.count(k, e, kept(e.Record)) && r.count(of, e, maxFailedSignIns)
}

// count counts e in the window of k, and reports whether it is one of the first.
func (r *repeated) count(k repeatedKey, e *Entry, kept int) bool {
	el := r.byKey[k]
	if el == nil && len(r.byKey) >= maxRepeated {
		if k.all {
			return true // e was counted with its principal
		}
		k = repeatedKey{action: e.Record.Action, outcome: e.Outcome, all: true}
		el = r.byKey[k]
	}
	if el == nil {
		el = r.order.PushBack(&window{key: k, since: e.Time, kept: kept})
		r.byKey[k] = el
	}
	w := el.Value.(*window)
	w.n++
	if w.n <= w.kept {
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
		switch {
		case w.key.all && w.key.address != "":
			others = " of several users"
		case w.key.all:
			others = " of several users or addresses"
		}
		e.Record.Message = cut(fmt.Sprintf("%d more%s since %s; the last one: %s", w.n-w.kept, others,
			w.since.UTC().Format(time.RFC3339), e.Record.Message), maxMessage)
		out = append(out, e)
	}
	return out
}
