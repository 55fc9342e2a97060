package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cordwood/shard/manifest"
)

// This file lets the followers of a shard use the segments that the leader's flush wrote. DESIGN.md
// ("Flushing together") describes the protocol. take.go has the part of a follower.

// Range identifies the rows of a memtable: those of all entries after the index After, up to the
// index Last. Both are indexes of entries that changed something, or After is the index of the
// manifest at the start. If two replicas have memtables with the same Range, these have the same
// rows, because both applied the same entries of the log.
type Range struct{ After, Last uint64 }

// Freezing says what happens with the next memtable that is frozen. Tables.Freeze completes it.
type Freezing struct {
	// Offer, if set, gets the segments that the flush writes. A leader sets it.
	Offer *Offer
	// Leader, if set, is the node that offers the segments of the rows in Want. A follower sets it.
	Leader string
	Want   Range

	// Frozen is closed when the memtable is frozen. Rows and Index are set before, unless there was nothing to freeze.
	Frozen chan struct{}
	Rows   Range
	Index  uint64 // up to which all entries had been applied
}

// NewFreezing returns a Freezing for the next freeze.
func NewFreezing() *Freezing { return &Freezing{Frozen: make(chan struct{})} }

// AtNextFreeze makes the next Freeze complete fz, until forget is called.
func (tb *Tables) AtNextFreeze(fz *Freezing) (forget func()) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.freezing = fz
	return func() {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		if tb.freezing == fz {
			tb.freezing = nil
		}
	}
}

// noteFreeze completes the Freezing that waits, if there is one; mu must be held. f is nil if there was nothing to
// freeze.
func (tb *Tables) noteFreeze(f *frozen) {
	fz := tb.freezing
	if fz == nil {
		return
	}
	tb.freezing = nil
	defer close(fz.Frozen)
	if f == nil {
		return
	}
	fz.Rows, fz.Index = f.rows, f.index
	switch {
	case fz.Offer != nil:
		f.offer = fz.Offer
		f.offer.of(f.rows)
	case fz.Leader != "" && f.rows == fz.Want:
		f.offeredBy = fz.Leader
	}
}

// Offer offers the segments of one flush to the followers. It keeps the files of the segments for
// as long as a follower may still take them, even if a compaction has replaced them.
type Offer struct {
	mu       sync.Mutex // guards the rest
	rows     Range      // set when the memtable is frozen
	segments []*LiveSegment
	written  chan struct{} // closed when the segments are durable, or will not be offered
	ended    bool          // written is closed
	asked    bool          // all followers were asked
	takers   int           // how many followers may still take the segments
}

func (o *Offer) of(rows Range) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rows = rows
}

func (o *Offer) has(rows Range) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.rows == rows
}

// offerLimit is how long segments are offered after they were written.
const offerLimit = 30 * time.Second

// NewOffer makes an offer, which replaces the one before.
func (fl *Flusher) NewOffer() *Offer {
	o := &Offer{written: make(chan struct{})}
	fl.replaceOffer(o)
	return o
}

// replaceOffer withdraws the last offer and keeps another one, or none.
func (fl *Flusher) replaceOffer(o *Offer) {
	fl.offerMu.Lock()
	before := fl.offer
	fl.offer = o
	fl.offerMu.Unlock()
	if before != nil {
		before.Withdraw()
	}
}

// withdraw ends the last offer.
func (fl *Flusher) withdraw() { fl.replaceOffer(nil) }

// Expect records how many followers will take the segments. It is called once, after all of them
// were asked.
func (o *Offer) Expect(takers int) {
	o.mu.Lock()
	o.takers += takers
	o.asked = true
	rest := o.unwanted()
	o.mu.Unlock()
	unref(rest)
}

// Withdraw ends the offer. It may be called several times.
func (o *Offer) Withdraw() {
	o.mu.Lock()
	rest := o.end()
	o.mu.Unlock()
	unref(rest)
}

// write offers segments that have become live; Tables.mu must be held.
func (o *Offer) write(list []*LiveSegment) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	for _, l := range list {
		l.refs.Add(1)
	}
	o.segments, o.ended = list, true
	close(o.written)
	time.AfterFunc(offerLimit, o.Withdraw)
}

// unwanted ends the offer if no follower may still take the segments. It returns segments to be released after mu,
// which must be held.
func (o *Offer) unwanted() []*LiveSegment {
	if !o.asked || o.takers > 0 {
		return nil
	}
	return o.end()
}

// end ends the offer, and returns segments to be released after mu, which must be held.
func (o *Offer) end() []*LiveSegment {
	if !o.ended {
		o.ended = true
		close(o.written)
	}
	rest := o.segments
	o.segments = nil
	return rest
}

func unref(list []*LiveSegment) {
	for _, l := range list {
		l.Unref()
	}
}

// PinOffered waits until the offered segments with the given rows are durable, and pins them.
func (fl *Flusher) PinOffered(ctx context.Context, rows Range) (*Pinned, error) {
	fl.offerMu.Lock()
	o := fl.offer
	fl.offerMu.Unlock()
	if o == nil || !o.has(rows) {
		return nil, fmt.Errorf("shard %d: the segments with the rows from index %d to %d are not offered", fl.cfg.ID,
			rows.After, rows.Last)
	}
	select {
	case <-o.written:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	o.mu.Lock()
	if len(o.segments) == 0 {
		o.mu.Unlock()
		return nil, fmt.Errorf("shard %d: the segments with the rows from index %d to %d are no longer offered", fl.cfg.ID,
			rows.After, rows.Last)
	}
	p := &Pinned{tb: fl.tables, readers: fl.readers, Index: rows.Last}
	for _, l := range o.segments {
		l.refs.Add(1)
		p.live = append(p.live, l)
		p.Segments = append(p.Segments, Segment{Meta: l.Meta, Path: l.Path, Damaged: l.damaged()})
	}
	fl.readers.Add(1)
	o.takers--
	rest := o.unwanted()
	o.mu.Unlock()
	unref(rest)
	return p, nil
}

// offered returns the offer of a flush of the given memtables: only the segments of a single
// memtable are offered.
func offered(todo []*frozen, u *pendingEdit) *Offer {
	if len(todo) != 1 || len(u.raws) > 0 {
		return nil
	}
	return todo[0].offer
}

// added returns the live segments that an edit added, or nil if some of them are not live, because their
// tables were dropped meanwhile; mu must be held.
func (tb *Tables) added(e *manifest.Edit) (list []*LiveSegment) {
	for i := range e.Add {
		l := tb.segs.live[e.Add[i].ID]
		if l == nil {
			return nil
		}
		list = append(list, l)
	}
	return list
}
