package tier

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/shard/cold/states"
)

// This file ships the log of the shard to the bucket. See *Log* in ../DESIGN.md.

const (
	// pieceBytes is the size of entries from which they are stored as a piece before the interval has passed. It is also
	// about the largest size of a piece, unless a single entry is larger.
	pieceBytes = 4 << 20
	// shipTick is the longest time between two looks at the log.
	shipTick = time.Second
	// pieceTime limits storing one piece. maxShipPause is the longest delay after a failure.
	pieceTime    = time.Minute
	maxShipPause = time.Minute
)

// shipping is what a leader knows about the log of the shard in the bucket.
type shipping struct {
	working sync.Mutex // held while entries are shipped; guards the next three
	// last is when entries were shipped last, owned when the owner of the objects was looked at, by Config.Monotonic.
	last, owned time.Duration
	fresh       bool   // whether last and owned mean anything
	before      uint64 // the term of the entry before next; 0 if it is not known

	mu sync.Mutex // guards the rest; held for moments only
	// term is the term in which the leader found out where the bucket stands; 0 if it has not.
	term uint64
	// next is the first entry to ship. The bucket has all entries from start to the one before.
	start, next uint64
	// pieces are the pieces of the shard in the bucket, also those of earlier incarnations.
	pieces []states.Piece
	// needed is the first entry that the last state of this term needs from the log; 0 if there is none.
	needed uint64
	// told is the start of which the log in the bucket was last said to have a gap.
	told uint64

	lag   moment
	fault atomic.Pointer[string]
}

// shipsLog reports whether the log of the shard goes to the bucket.
func (m *Mover) shipsLog() bool { return m.cfg.Tier.LogEvery > 0 }

// KeepLog returns the first entry of the log that is not in the bucket yet, or 0 if it does not go there. It may be
// called concurrently.
func (m *Mover) KeepLog() uint64 {
	if !m.shipsLog() {
		return 0
	}
	s := &m.ship
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.next, 1)
}

// shipLoop ships the log from time to time.
func (m *Mover) shipLoop(ctx context.Context) {
	ticker := time.NewTicker(min(m.cfg.Tier.LogEvery, shipTick))
	defer ticker.Stop()
	var pause, until time.Duration
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := m.cfg.Monotonic()
		if now < until {
			continue
		}
		err := m.shipDue(ctx, false)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			pause = 0
			m.ship.fault.Store(nil)
			continue
		}
		pause = min(max(2*pause, time.Second), maxShipPause)
		until = now + pause
		text := err.Error()
		if before := m.ship.fault.Swap(&text); before == nil {
			m.cfg.Logger.Warn("could not store the log of the shard in object storage; it is tried again", "error", err,
				"retry_in", pause)
		}
	}
}

// ShipLog stores all committed entries that the bucket lacks, if this replica leads.
func (m *Mover) ShipLog(ctx context.Context) error { return m.shipDue(ctx, true) }

// tryShip is like ShipLog, but does nothing if entries are being stored. What fails is tried again by the loop.
func (m *Mover) tryShip(ctx context.Context) {
	if m.ship.working.TryLock() {
		defer m.ship.working.Unlock()
		_ = m.shipLocked(ctx, true)
	}
}

// shipDue ships entries if the interval has passed, or if there are enough of them; all if now is set.
func (m *Mover) shipDue(ctx context.Context, now bool) error {
	m.ship.working.Lock()
	defer m.ship.working.Unlock()
	return m.shipLocked(ctx, now)
}

// shipLocked does what shipDue does; working must be held.
func (m *Mover) shipLocked(ctx context.Context, now bool) error {
	s := &m.ship
	term, changed := m.cfg.Leads()
	if term == 0 || !m.cfg.Allowed() {
		m.forgetShipped()
		m.needs(0)
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-changed:
			cancel()
		case <-ctx.Done():
		}
	}()
	if s.term != term { // only this function writes it
		if err := m.resume(ctx, term); err != nil {
			return fmt.Errorf("find out up to where object storage has the log: %w", err)
		}
	}
	first, committed, err := m.cfg.LogBounds()
	if err != nil {
		return err
	}
	if next := s.next; first > next {
		m.skipTo(first)
		m.cfg.Logger.Warn("entries of the log were cut off before they were in object storage: until a state has their "+
			"rows, these are lost if all disks are", "from", next, "to", first-1)
	}
	at := m.cfg.Monotonic()
	if s.next > committed {
		s.lag.clear()
		return nil
	}
	s.lag.begin(at)
	if due := !s.fresh || at-s.last >= m.cfg.Tier.LogEvery; !now && !due && m.cfg.LogBytesAfter(s.next-1) < pieceBytes {
		return nil
	}
	if err := m.mayShip(ctx, term, at); err != nil {
		return err
	}
	return m.shipAll(ctx, committed)
}

// mayShip returns nil if pieces may be stored.
func (m *Mover) mayShip(ctx context.Context, term uint64, now time.Duration) error {
	s := &m.ship
	if err := m.checkPlace(ctx); err != nil {
		return err
	}
	if err := m.claim.Check(ctx, term, states.ClaimForPut); err != nil {
		return err
	}
	if s.fresh && now-s.owned < states.ClaimForPut {
		return nil
	}
	if err := m.place.CheckOwner(ctx); err != nil {
		return err
	}
	s.owned = now
	return nil
}

// shipAll stores the entries up to an index as pieces.
func (m *Mover) shipAll(ctx context.Context, last uint64) error {
	if turns := m.cfg.Tier.LogTurns; turns != nil {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s := &m.ship
	for s.next <= last {
		entries, err := m.cfg.Committed(s.next, pieceBytes)
		if err != nil {
			return err
		}
		if at := slices.IndexFunc(entries, func(e states.LogEntry) bool { return e.Term != entries[0].Term }); at > 0 {
			entries = entries[:at]
		}
		n := uint64(len(entries))
		if n == 0 || s.next+n > last && !slices.ContainsFunc(entries, func(e states.LogEntry) bool { return e.Command }) {
			break // an election need not be stored before there is something to apply
		}
		if err := m.shipPiece(ctx, entries); err != nil {
			return err
		}
	}
	s.last, s.fresh = m.cfg.Monotonic(), true
	s.lag.clear()
	return nil
}

func (m *Mover) shipPiece(ctx context.Context, entries []states.LogEntry) error {
	s := &m.ship
	m.at("log")
	ctx, cancel := context.WithTimeout(ctx, pieceTime)
	defer cancel()
	place := m.place
	place.Bucket = m.cfg.Tier.LogBucket
	piece, err := place.PutLog(ctx, states.LogHeader{
		Shard: m.cfg.ShardID, Incarnation: m.cfg.Incarnation, Before: s.before, Written: m.cfg.Now().UTC(),
	}, entries)
	if err != nil {
		return err
	}
	s.before = piece.Term
	m.cfg.Store.Status.LogShipped(piece.Size)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pieces = append(s.pieces, piece)
	s.next = piece.Last + 1
	return nil
}

// skipTo continues with an entry, because the log does not have those before any more.
func (m *Mover) skipTo(first uint64) {
	s := &m.ship
	s.before = 0
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start, s.next = first, first
}

// forgetShipped is called when this replica does not lead.
func (m *Mover) forgetShipped() {
	s := &m.ship
	s.lag.clear()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term, s.start, s.next, s.pieces = 0, 0, 0, nil
}

// resume finds out up to where the bucket has the log of this replica.
func (m *Mover) resume(ctx context.Context, term uint64) error {
	s := &m.ship
	m.forgetShipped()
	if err := m.cfg.Barrier(ctx); err != nil { // what former leaders have stored is known to be committed after it
		return err
	}
	pieces, err := m.place.Log(ctx, m.cfg.ShardID)
	if err != nil {
		return err
	}
	first, committed, err := m.cfg.LogBounds()
	if err != nil {
		return err
	}
	if first == 0 {
		first = committed + 1 // all of it is in the state
	}
	termOf := func(index uint64) uint64 {
		if index < first || index > committed {
			return 0
		}
		if list, err := m.cfg.Committed(index, 1); err == nil && len(list) > 0 {
			return list[0].Term
		}
		return 0
	}
	start, next := whereToGoOn(m.ownPieces(pieces), first, termOf)
	s.before, s.fresh = 0, false
	if next > start {
		s.before = termOf(next - 1)
	}
	s.mu.Lock()
	s.term, s.start, s.next, s.pieces = term, start, next, pieces
	needed := s.needed
	s.mu.Unlock()
	m.needs(needed)
	return nil
}

// whereToGoOn returns the first entry of a log that pieces lack, and from where on they have all entries before it. The
// log begins at first; termOf returns the term of an entry, or 0 if the log does not have it.
//
// Two logs with the same index and term have the same entries up to it, so one entry shows that a piece is of this log.
func whereToGoOn(pieces []states.Piece, first uint64, termOf func(index uint64) uint64) (start, next uint64) {
	list := slices.Clone(pieces)
	slices.SortFunc(list, func(a, b states.Piece) int {
		return cmp.Or(cmp.Compare(b.Last, a.Last), cmp.Compare(b.Term, a.Term))
	})
	for i, p := range list {
		if t := termOf(p.Last); p.Last+1 < first || p.Last >= first && t != p.Term ||
			p.Last+1 == first && p.Term > termOf(first) && termOf(first) > 0 {
			continue
		}
		return states.LogStart(list[i:], p.Last+1), p.Last + 1
	}
	return first, first
}

// logStart returns the first entry of the log that the bucket has, up to the last one there; 0 if it is not known.
func (m *Mover) logStart(term uint64) uint64 {
	s := &m.ship
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.term != term {
		return 0
	}
	return s.start
}

// needs notes from where on the state that was stored last needs the log, and tells if the bucket does not have it.
func (m *Mover) needs(from uint64) {
	s := &m.ship
	s.mu.Lock()
	defer s.mu.Unlock()
	s.needed = from
	if s.term != 0 && from != 0 && s.start > from && s.told != s.start {
		s.told = s.start
		m.cfg.Logger.Warn("the log in object storage lacks entries: if all disks are lost, rows are lost that were written "+
			"since the last ones went to object storage. This ends once all rows of these entries are there", "from", from,
			"to", s.start-1)
	}
}

// hasPieces reports whether the bucket has pieces of the log that are needed from one entry on, but not from another.
func (m *Mover) hasPieces(from, to uint64) bool {
	s := &m.ship
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.pieces, func(p states.Piece) bool {
		return p.Incarnation == m.cfg.Incarnation && p.Last >= from && p.Last < to
	})
}

// LogGap reports whether the bucket lacks entries of the log that the last state needs, on the leader. It may be called
// concurrently.
func (m *Mover) LogGap() bool {
	if term, _ := m.cfg.Leads(); term == 0 || !m.shipsLog() {
		return false
	}
	s := &m.ship
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.term != 0 && s.needed != 0 && s.start > s.needed
}

// LogLag returns for how long entries have waited to be shipped; 0 if none wait, or if this replica does not lead. It
// may be called concurrently.
func (m *Mover) LogLag() time.Duration { return m.ifLeading(&m.ship.lag) }

// logWarnings describes what is wrong with the log in the bucket.
func (m *Mover) logWarnings() (list []string) {
	if text := m.ship.fault.Load(); text != nil {
		list = append(list, fmt.Sprintf("shard %d: its log is not stored in object storage: %s", m.cfg.ShardID, *text))
	}
	if m.LogGap() {
		list = append(list, fmt.Sprintf("shard %d: its log in object storage has a gap: if all disks are lost, rows are "+
			"lost that were written since the last ones went there. It closes once the rows of the gap have gone there",
			m.cfg.ShardID))
	}
	return list
}
