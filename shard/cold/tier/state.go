package tier

import (
	"context"
	"crypto/sha256"
	"time"

	"cordwood/shard/cold/states"
	"cordwood/shard/manifest"
)

// stateTime limits storing a state, because rows that are to be moved wait meanwhile.
const stateTime = time.Minute

// storedState is the state of the shard that was stored in the bucket last.
type storedState struct {
	// term is the term in which this replica stored it as the leader; 0 if it has stored none.
	term uint64
	// seen is the state of the manifest that was looked at last, sum the checksum of what was stored.
	seen *manifest.State
	sum  [sha256.Size]byte
	// objects describes the objects in it, and names has their keys.
	objects coldSize
	names   map[string]bool
	// next is when a state is stored, by Config.Monotonic, although the objects are the same.
	next time.Duration
	// logFrom is from where on it needs the log, logFromBefore the same of the state that this replica stored before in
	// the same term; 0 if there is none.
	logFrom, logFromBefore uint64
}

// coldSize differs between two states of a shard whose objects differ.
type coldSize struct {
	cut         uint64
	sets, alive int
	dead        int
}

func sizeOf(st *manifest.State) coldSize {
	c := coldSize{cut: st.Cold.LastCut, sets: len(st.Sets), dead: len(st.Cold.Dead)}
	for i := range st.Sets {
		c.alive += len(st.Sets[i].Objects)
	}
	return c
}

// storeState stores the state of the shard if it has changed. What fails is tried again at a later step: rows are moved
// all the same.
func (m *Mover) storeState(ctx context.Context, term uint64) {
	st, now, s := m.cfg.Store.Ledger.State(), m.cfg.Monotonic(), &m.stored
	if s.term != 0 && s.term != term {
		*s = storedState{}
	}
	size := sizeOf(st)
	var log logNeed
	if m.shipsLog() {
		log = m.logFrom.of(st, m.logStart(term))
	}
	failed := s.term == 0 && now < s.next
	shorter := now >= s.next && m.hasPieces(s.logFrom, log.from)
	same := s.term == term && !shorter && (st == s.seen || size == s.objects && now < s.next)
	switch {
	case failed:
		return
	case size.cut == 0 && (!m.shipsLog() || st.AppliedIndex == 0) || same:
		if !same {
			m.needs(log.first)
		}
		m.lags.state.clear()
		return
	}
	m.lags.state.begin(now)
	part := st.WithoutLocal()
	content := *part // equal for two states of the same content
	content.AppliedIndex, content.AppliedTerm, content.Clock = 1, 1, 1
	sum := sha256.Sum256(content.Encode())
	before := s.logFromBefore
	if s.term != term || sum != s.sum || shorter {
		m.at("state")
		ctx, cancel := context.WithTimeout(ctx, stateTime)
		defer cancel()
		if m.shipsLog() {
			m.tryShip(ctx) // so that the log is not behind the state
			log = m.logFrom.of(st, m.logStart(term))
		}
		err := m.claim.Check(ctx, term, states.ClaimForPut)
		if err == nil {
			err = m.place.Put(ctx, states.Header{
				Shard: m.cfg.ShardID, Incarnation: m.cfg.Incarnation, Index: part.AppliedIndex, Term: part.AppliedTerm,
				Written: m.cfg.Now().UTC(), LogFrom: log.from, LogWithout: log.without,
			}, part.Encode())
		}
		if err != nil {
			s.next = now + minPause
			m.cfg.Logger.Warn("could not store the state of the shard in object storage; it is tried again", "error", err,
				"retry_in", minPause)
			return
		}
		before = s.logFrom
		m.needs(log.first)
	} else {
		log.from = s.logFrom
	}
	m.lags.state.clear()
	*s = storedState{
		term: term, seen: st, sum: sum, objects: size, names: map[string]bool{}, next: now + m.cfg.Tier.StateEvery,
		logFrom: log.from, logFromBefore: before,
	}
	for i := range part.Sets {
		for j := range part.Sets[i].Objects {
			s.names[part.Sets[i].Objects[j].Key] = true
		}
	}
}
