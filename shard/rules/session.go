package rules

import (
	"cmp"
	"slices"
	"time"

	"cordwood/proto/column"
	"cordwood/shard/manifest"
)

const (
	// sessionWindow is the number of sequence numbers that a session remembers, counted back from
	// its highest one. It is part of the replicated state: changing it needs a new entry version.
	sessionWindow = 1024
	// sessionTTL is how long, by the replicated clock, a session lives after its last append.
	// sweepEvery is how often dead sessions are removed.
	sessionTTL = 30 * time.Minute
	sweepEvery = time.Minute
	// maxSessions is the maximum number of sessions. If there are more, the one idle for longest is
	// forgotten.
	maxSessions = 1024
)

// session records which batches of a writer were appended.
type session struct {
	high uint64
	// seen has bit i of word i/64 set if number high-i was appended.
	seen [sessionWindow / 64]uint64
	last int64
}

// lookup reports whether number seq was appended. known is false if the number is too old to
// decide.
func (s *session) lookup(seq uint64) (appended, known bool) {
	if seq > s.high {
		return false, true
	}
	back := s.high - seq
	if back >= sessionWindow {
		return false, false
	}
	return s.seen[back/64]&(1<<(back%64)) != 0, true
}

// add records that number seq was appended.
func (s *session) add(seq uint64, now int64) {
	s.last = now
	if seq > s.high {
		s.shift(seq - s.high)
		s.high = seq
	}
	back := s.high - seq
	s.seen[back/64] |= 1 << (back % 64)
}

// shift moves the window by n numbers.
func (s *session) shift(n uint64) {
	if n >= sessionWindow {
		clear(s.seen[:])
		return
	}
	words, bits := int(n/64), n%64
	for i := len(s.seen) - 1; i >= 0; i-- {
		var w uint64
		if i >= words {
			w = s.seen[i-words] << bits
			if bits > 0 && i > words {
				w |= s.seen[i-words-1] >> (64 - bits)
			}
		}
		s.seen[i] = w
	}
}

// StoredSessions returns the sessions as they are stored in the manifest, in ascending order of
// ids.
func (st *State) StoredSessions() []manifest.Session {
	out := make([]manifest.Session, 0, len(st.sessions)+len(st.unlogged))
	for unlogged, sessions := range map[bool]map[uint64]*session{false: st.sessions, true: st.unlogged} {
		for id, s := range sessions {
			out = append(out, manifest.Session{
				ID: id, Unlogged: unlogged, High: s.high, Seen: slices.Clone(s.seen[:]),
				LastUnixNano: s.last,
			})
		}
	}
	slices.SortFunc(out, func(a, b manifest.Session) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.High, b.High))
	})
	return out
}

// Seen reports whether a batch was appended before, and whether that is known.
func (st *State) Seen(h *column.Header) (appended, known bool) {
	if Keyed(h) {
		return st.keys.has(IDOf(h)), true
	}
	s := st.sessions[h.Session]
	if s == nil {
		return false, true
	}
	return s.lookup(h.Seq)
}

// Note records that a batch was appended.
func (st *State) Note(h *column.Header) {
	if Keyed(h) {
		st.keys.add(IDOf(h), st.Clock)
		return
	}
	note(st.sessions, h, st.Clock)
}

// NoteUnlogged records that a batch was appended without the log.
func (st *State) NoteUnlogged(h *column.Header, now int64) {
	if st.unlogged[h.Session] == nil {
		for id, s := range st.unlogged {
			if now-s.last > int64(sessionTTL) {
				delete(st.unlogged, id)
			}
		}
	}
	note(st.unlogged, h, now)
}

func note(sessions map[uint64]*session, h *column.Header, now int64) {
	if h.Session == 0 {
		return
	}
	s := sessions[h.Session]
	if s == nil {
		if len(sessions) >= maxSessions {
			evict(sessions)
		}
		s = &session{high: h.Seq}
		sessions[h.Session] = s
	}
	s.add(h.Seq, now)
}

// evict removes the session that was idle for longest, and of several the one with the lowest id.
func evict(sessions map[uint64]*session) {
	var oldest uint64
	for id, s := range sessions {
		o := sessions[oldest]
		if o == nil || cmp.Or(cmp.Compare(s.last, o.last), cmp.Compare(id, oldest)) < 0 {
			oldest = id
		}
	}
	delete(sessions, oldest)
}

// HasKey reports whether a batch of a request with a key was appended, as far as the state
// remembers.
func (st *State) HasKey(session, seq uint64) bool { return st.keys.has(BatchID{session, seq}) }

// KeyReused reports whether the key of a batch's request was used for another body or for other
// parameters.
func (st *State) KeyReused(h *column.Header) bool { return st.keys.reused(IDOf(h)) }

// ShareKeys sets the rule by which keys are forgotten: if byUser is set, the user with the most
// keys loses one.
func (st *State) ShareKeys(byUser bool) { st.keys.byUser = byUser }

// KeysShared returns the rule that ShareKeys set.
func (st *State) KeysShared() bool { return st.keys.byUser }

// StoredKeys returns the remembered keys as they are stored in the manifest, the oldest first.
func (st *State) StoredKeys() []manifest.Key { return st.keys.stored() }
