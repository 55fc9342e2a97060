package simulation

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// watched records what readers have seen that must never go back, and violations of this rule.
type watched struct {
	mu         sync.Mutex
	index      map[string]uint64 // by shard and reader: the minimum index of the next read
	reported   map[string]int    // by kind of fault, which is the format of its text
	violations []string
}

func newWatched() *watched { return &watched{index: map[string]uint64{}, reported: map[string]int{}} }

// maxReported limits the messages about one kind of fault.
const maxReported = 20

func (m *watched) bad(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reported[format]++; m.reported[format] <= maxReported {
		m.violations = append(m.violations, fmt.Sprintf(format, args...))
	}
}

// read records the index of a read of a shard. A reader must not see a lower index later.
func (m *watched) read(reader string, shard uint32, node string, index uint64) {
	key := fmt.Sprint(reader, "/", shard)
	m.mu.Lock()
	before := m.index[key]
	m.index[key] = max(before, index)
	m.mu.Unlock()
	if index < before {
		m.bad("shard %d: a read on %s is at entry %d, although the same reader has seen entry %d", shard, node,
			index, before)
	}
}

// follow checks a router's copy of the metadata. Versions and epochs may only increase, and the history of placement
// may only be extended by consecutive epochs.
func (m *watched) follow(ctx context.Context, r *router) {
	tables, shards := map[string]*schema.Table{}, map[uint32]*metapb.Shard{}
	for ctx.Err() == nil {
		changed := r.meta.Changed()
		for _, t := range r.meta.Tables(schema.DefaultDatabase) {
			if have := tables[t.Name]; have != nil && have != t {
				if why := follows(have, t); why != "" {
					m.bad("router %s: table %s: %s", r.id, t.Name, why)
				}
			}
			tables[t.Name] = t
		}
		for _, s := range r.meta.Shards() {
			if have := shards[s.Id]; have != nil && s.Version < have.Version {
				m.bad("router %s: shard %d goes back from version %d to %d", r.id, s.Id, have.Version, s.Version)
			}
			shards[s.Id] = s
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(time.Second):
		}
	}
}

// follows returns the reason why a table cannot follow from an earlier state, or "".
func follows(before, now *schema.Table) string {
	switch {
	case now.ID < before.ID:
		return fmt.Sprintf("its id goes back from %d to %d", before.ID, now.ID)
	case now.ID != before.ID && now.OriginID == 0:
		return "" // another table with the same name
	case now.ID == before.ID && now.Version < before.Version:
		return fmt.Sprintf("it goes back from version %d to %d", before.Version, now.Version)
	case now.Writable().Epoch < before.Writable().Epoch:
		return fmt.Sprintf("it goes back from epoch %d to %d", before.Writable().Epoch, now.Writable().Epoch)
	}
	for i := 1; i < len(now.Placement); i++ {
		// When rows were handed over, the epoch in which the table was closed is not kept. If that was given up, the last
		// epoch before is not kept either: its shards have the next one but one.
		p, epoch := now.Placement[i-1], now.Placement[i].Epoch
		if epoch <= p.Epoch || !p.Handed && (epoch-p.Epoch)%2 == 0 {
			return fmt.Sprintf("epoch %d follows epoch %d", epoch, p.Epoch)
		}
	}
	for _, p := range before.Placement {
		i := slices.IndexFunc(now.Placement, func(q schema.Placement) bool { return q.Epoch == p.Epoch })
		if i < 0 {
			if p.Closed && (now.ID != before.ID || now.Writable().Epoch > p.Epoch) {
				continue // the rows were handed over, or that was given up
			}
			if reopened(p, now) {
				continue
			}
			if len(now.Placement) > 0 && p.Epoch < now.Placement[0].Epoch {
				continue // it was forgotten after some time
			}
			return fmt.Sprintf("epoch %d is gone", p.Epoch)
		}
		if q := now.Placement[i]; !slices.Equal(q.Shards(), p.Shards()) && !q.Closed && !p.Closed {
			return fmt.Sprintf("epoch %d had shards %v and has %v", p.Epoch, p.Shards(), q.Shards())
		}
	}
	return ""
}

// reopened reports whether the shards of a placement have a later epoch of a table, because it was closed and opened
// again.
func reopened(p schema.Placement, now *schema.Table) bool {
	return slices.ContainsFunc(now.Placement, func(q schema.Placement) bool {
		return q.Epoch > p.Epoch && (q.Epoch-p.Epoch)%2 == 0 && slices.Equal(q.Shards(), p.Shards())
	})
}
