package tier

import (
	"time"

	"cordwood/proto/schema"
)

// dated gives sets with rows of the future the time at which they were seen first, so that such rows do not keep sets
// from being joined. Their own time may be years away, and all other rows of the set are older than that moment.
func (m *Mover) dated(all map[uint64][]joinable, now time.Time) map[uint64][]joinable {
	seen := map[uint64]time.Time{}
	for _, list := range all {
		for i := range list {
			s := &list[i]
			if !s.newest.After(now) && m.future[s.cut].IsZero() {
				continue
			}
			at, known := m.future[s.cut]
			if !known {
				at = now
			}
			seen[s.cut] = at
			if s.newest.After(at) {
				s.newest, s.day = at, schema.FloorDiv(at.Unix(), 86400)
			}
		}
	}
	m.future = seen
	return all
}
