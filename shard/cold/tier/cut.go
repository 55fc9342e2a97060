package tier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"cordwood/proto/words"
	"cordwood/shard/manifest"
	"cordwood/shard/query"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// This file decides which tables are cut, and opens cuts.

// observe notes since when tables have hot rows. Every replica does, so that a new leader knows.
func (m *Mover) observe() []store.HotTable {
	hot := m.cfg.Store.Status.Hot()
	var err error
	if m.ages == nil {
		m.ages, err = m.loadAges()
	}
	if next := m.ages.next(hot, m.cfg.Monotonic()); !maps.Equal(m.ages, next) {
		m.ages = next
		err = errors.Join(err, m.saveAges(next))
	}
	if err != nil {
		m.cfg.Logger.Warn("a restart forgets how long rows have waited to go to object storage", "error", err)
	}
	m.observeLog(hot)
	m.lag(hot)
	return hot
}

// cuts returns the number of the last cut, and the open one or nil.
func (m *Mover) cuts() (last uint64, open *manifest.Cut) {
	m.cfg.Store.Status.Inspect(func(st *rules.State) { last, open = st.LastCut() })
	return last, open
}

// openCut returns the open cut. If there is none, it proposes one of the tables with old rows, if there are any.
func (m *Mover) openCut(ctx context.Context, hot []store.HotTable) (*manifest.Cut, error) {
	last, open := m.cuts()
	if open != nil || !m.cfg.Room() {
		return open, nil
	}
	tables := m.due(hot)
	if len(tables) == 0 {
		return nil, nil
	}
	m.at("cut")
	refused, err := m.cfg.Propose(ctx, &rules.Entry{
		Kind: rules.KindCut, Cut: &rules.Cut{Number: last + 1, Tables: tables, Merging: m.cfg.MergingAllowed()},
	})
	if err != nil {
		return nil, err
	}
	if refused != nil { // for example because the tables were dropped meanwhile
		m.cfg.Logger.Debug("a cut for object storage was refused", "error", refused)
		return nil, nil
	}
	_, open = m.cuts()
	m.cfg.Logger.Debug("opened a cut for object storage", "cut", last+1, "tables", len(tables))
	return open, nil
}

// moves reports whether the rows of a table go to the bucket.
func (m *Mover) moves(t *store.HotTable) bool {
	return m.cfg.Tier.Moves(t.Def.Table) && (t.Def.Merge == query.Append || m.cfg.MergingAllowed())
}

// due returns the tables whose rows should go to the bucket, in ascending order of ids. Those with the oldest rows are
// taken first, if a cut cannot have all.
func (m *Mover) due(hot []store.HotTable) (ids []uint64) {
	now := m.cfg.Monotonic()
	var list []store.HotTable
	for i := range hot {
		t := &hot[i]
		old := now-m.ages[t.Def.ID].since >= m.cfg.Tier.UploadAfter
		if (old || t.Bytes >= m.cfg.Tier.CutBytes) && m.moves(t) {
			list = append(list, *t)
		}
	}
	slices.SortStableFunc(list, func(a, b store.HotTable) int {
		return int((m.ages[a.Def.ID].since - m.ages[b.Def.ID].since) / time.Millisecond)
	})
	described := int64(0)
	for i := range list {
		described += list[i].Described
		if i > 0 && described > maxDescribed || i == rules.MaxCutTables {
			break
		}
		ids = append(ids, list[i].Def.ID)
	}
	slices.Sort(ids)
	return ids
}

// describe returns a text about a cut for operators.
func describe(open *manifest.Cut) string {
	if len(open.Tables) == 1 {
		return fmt.Sprintf("rows of table %d", open.Tables[0].TableID)
	}
	return "rows of " + words.Count(len(open.Tables), "table")
}
