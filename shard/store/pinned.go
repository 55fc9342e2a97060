package store

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/cold"
	"cordwood/shard/manifest"
	"cordwood/shard/segment"
)

// Pinned are the segments that a shard had at one moment. Their files stay until Close, whatever
// happens to the tables.
type Pinned struct {
	// Index is the index of the log up to which the segments contain all rows.
	Index uint64
	// Segments are in ascending order of Order.
	Segments []Segment
	// Objects have the rows that are in none of the segments, in ascending order of Order. An object is kept for the time
	// for which dead objects stay, not until Close.
	Objects []PinnedObject
	// Expired lists the cutoffs of expired rows, in ascending order of table ids.
	Expired []manifest.Expiry
	// Merging has the merge modes of the tables that merge rows or once did, in ascending order of
	// table ids. Every segment of such a table belongs to one of its eras. PinState does not set
	// it.
	Merging []manifest.Merging
	// LeftOut has, by the ids of segments, the tables whose rows in them are in objects of joined cuts. PinState does not
	// set it.
	LeftOut map[uint64][]uint64
	// State is the shard's durable state. Only PinState sets it.
	State *manifest.State

	tb      *Tables
	live    []*LiveSegment
	readers *atomic.Int64 // the shard's counter; Close subtracts the Pinned
	once    sync.Once
}

// PinnedObject is an object of a Pinned.
type PinnedObject struct {
	*cold.Object
	// ID identifies the object among the segments and objects of the shard, in every replica.
	ID uint64
	// Order is the highest order that a segment with the rows could have in this replica.
	Order uint64
	// LeftOut are the tables whose rows in the object are in segments too, or dead.
	LeftOut []uint64
}

// objectIDs is set in the ids of objects, so that no segment has the same.
const objectIDs = 1 << 63

// objectID returns an id of an object, with a number if it needs several. Its key has a random part.
func objectID(key string, number int) uint64 {
	if number > 0 {
		key = fmt.Sprintf("%s/%d", key, number)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // cannot fail
	return objectIDs | h.Sum64()
}

// Object returns a pinned object, or nil.
func (p *Pinned) Object(id uint64) *cold.Object {
	for i := range p.Objects {
		if p.Objects[i].ID == id {
			return p.Objects[i].Object
		}
	}
	return nil
}

// pinObjects returns the objects with rows that are in no segment; mu must be held.
func (tb *Tables) pinObjects() (out []PinnedObject) {
	if !tb.State.HasSets() {
		return nil
	}
	// The order says how the rows of a table merge. So tables with another order in the same object need it again.
	type part struct {
		key   string
		order uint64
	}
	at, parts := map[part]int{}, map[string]int{}
	var needed []map[uint64]bool // by the index in out
	for _, id := range slices.Sorted(maps.Keys(tb.State.Tables)) {
		for _, o := range tb.coldOf(id) {
			p := part{o.Key, o.Order}
			i, known := at[p]
			if !known {
				i = len(out)
				at[p] = i
				needed = append(needed, map[uint64]bool{})
				out = append(out, PinnedObject{Object: o.Object, ID: objectID(o.Key, parts[o.Key]), Order: o.Order})
				parts[o.Key]++
			}
			needed[i][id] = true
		}
	}
	for i := range out {
		o := &out[i]
		for _, span := range o.Spans() {
			if !needed[i][span.TableID] {
				o.LeftOut = append(o.LeftOut, span.TableID)
			}
		}
	}
	// The objects of a cut stay in their order. It is that of the rows of a table that merge.
	slices.SortStableFunc(out, func(a, b PinnedObject) int { return cmp.Compare(a.Order, b.Order) })
	return out
}

// Close releases the segments. It may be called twice.
func (p *Pinned) Close() {
	p.once.Do(func() {
		for _, l := range p.live {
			l.Unref()
		}
		if p.State == nil {
			p.readers.Add(-1)
		}
	})
}

// Pin pins the visible segments, and the objects with the rows that are in none of them.
func (rd *Readers) Pin() (*Pinned, error) {
	tb := rd.tables
	p := &Pinned{tb: tb, readers: &rd.Open}
	tb.mu.RLock()
	if tb.closed {
		tb.mu.RUnlock()
		return nil, Unreachable(tb.cfg.ID)
	}
	if n := len(tb.segs.raw); n > 0 {
		tb.mu.RUnlock()
		return nil, errs.New(errs.IllegalState, "shard %d: pin the segments: rows of %d tables cannot be written to "+
			"segments and would be "+
			"missing (cordwood cluster status lists them): start a newer version, or drop the tables", tb.cfg.ID, n)
	}
	p.Index = tb.Flushed.Load() // set with the segments, under mu
	p.Objects = tb.pinObjects()
	seen := map[uint64]bool{}
	for _, list := range tb.segs.byTable {
		for _, l := range list {
			if !seen[l.ID] {
				seen[l.ID] = true
				l.refs.Add(1)
				p.live = append(p.live, l)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(tb.State.Expired)) {
		p.Expired = append(p.Expired, tb.State.Expired[id])
	}
	p.Merging = tb.mergingOfSegments()
	p.LeftOut = tb.joinedIn(p.live)
	rd.Open.Add(1)
	tb.mu.RUnlock()
	slices.SortFunc(p.live, func(a, b *LiveSegment) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.ID, b.ID))
	})
	for _, l := range p.live {
		p.Segments = append(p.Segments, Segment{Meta: l.Meta, Path: l.Path, Damaged: l.damaged()})
	}
	return p, nil
}

// Pin pins the durable state. With leaveOut it has no segments whose rows are all in objects, as far as these may go
// already.
func (lg *Ledger) Pin(leaveOut bool) (*Pinned, error) {
	// Publishing happens before a committing goroutine releases the lock.
	lg.mu.Lock()
	defer lg.mu.Unlock()
	p := &Pinned{tb: lg.tables, State: lg.manifest.State()}
	p.Index = p.State.AppliedIndex
	if leaveOut {
		if twins, _, _ := lg.droppable(nil, nil); len(twins) > 0 {
			st := *p.State
			st.Segments = slices.DeleteFunc(slices.Clone(st.Segments), func(m segment.Meta) bool {
				_, twin := slices.BinarySearch(twins, m.ID)
				return twin
			})
			p.State = &st
		}
	}
	lg.tables.mu.RLock()
	defer lg.tables.mu.RUnlock()
	if lg.tables.closed {
		return nil, Unreachable(lg.cfg.ID)
	}
	for i := range p.State.Segments {
		l := lg.tables.segs.live[p.State.Segments[i].ID]
		if l == nil {
			p.Close()
			return nil, errs.New(errs.ShardBusy, "shard %d: pin the state: segment %d is still being committed; try "+
				"again", lg.cfg.ID,
				p.State.Segments[i].ID).WithReason(errs.Busy).WithRetryAfter(time.Second)
		}
		l.refs.Add(1)
		p.live = append(p.live, l)
		p.Segments = append(p.Segments, Segment{Meta: l.Meta, Path: l.Path, Damaged: l.damaged()})
	}
	return p, nil
}

// Read sends the file of a segment in pieces, starting at an offset.
func (p *Pinned) Read(ctx context.Context, id uint64, offset int64, emit func([]byte) error) error {
	i := slices.IndexFunc(p.Segments, func(s Segment) bool { return s.ID == id })
	if i < 0 {
		return errs.New(errs.InvalidArguments, "shard %d: read segment %d: it is not pinned; pin the shard "+
			"again", p.tb.cfg.ID, id)
	}
	seg := &p.Segments[i]
	if offset < 0 || offset > seg.Bytes {
		return errs.New(errs.InvalidArguments, "shard %d: read segment %d at offset %d: it has only %d "+
			"bytes", p.tb.cfg.ID, id,
			offset, seg.Bytes)
	}
	f, err := p.tb.cfg.FS.Open(seg.Path)
	if err != nil {
		return errs.Wrap(errs.Internal, err, "shard %d: read segment %d", p.tb.cfg.ID, id)
	}
	defer f.Close()
	for offset < seg.Bytes {
		if err := ctx.Err(); err != nil {
			return errs.Wrap(errs.ContextCode(err), err, "shard %d: read segment %d", p.tb.cfg.ID, id)
		}
		b := make([]byte, min(readBytes, seg.Bytes-offset))
		if _, err := io.ReadFull(io.NewSectionReader(f, offset, int64(len(b))), b); err != nil {
			return errs.Wrap(errs.Internal, err, "shard %d: read segment %s at %d", p.tb.cfg.ID, seg.Path, offset)
		}
		if err := emit(b); err != nil {
			return err
		}
		offset += int64(len(b))
	}
	return nil
}

// ShardID returns the number of the shard.
func (p *Pinned) ShardID() uint32 { return p.tb.cfg.ID }

// readBytes is how many bytes of a segment's file are read at a time.
const readBytes = 256 << 10
