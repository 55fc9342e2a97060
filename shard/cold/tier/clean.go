package tier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/states"
	"cordwood/shard/rules"
)

const (
	// maxDeletes is the maximum number of objects that a step deletes.
	maxDeletes = 1000
	// deleteTime limits how long a step deletes objects, because rows that are to be moved wait meanwhile.
	deleteTime = time.Minute
	// sweepEvery is how often the objects in the bucket are compared with those that the log names. The first time is
	// firstSweep after a replica began to work: until then, a rival group has seen its claim.
	sweepEvery = 24 * time.Hour
	firstSweep = 2 * time.Hour
)

// deletes says when objects are deleted next, by Config.Monotonic.
type deletes struct {
	begun            bool
	dead, log, sweep time.Duration
}

// clean deletes dead objects and orphans if it is time to. What fails is tried again an hour later.
func (m *Mover) clean(ctx context.Context, term uint64) {
	now, d := m.cfg.Monotonic(), &m.deletes
	if !d.begun {
		d.begun, d.sweep = true, now+firstSweep
	}
	try := func(next *time.Duration, what string, clean func(context.Context) error) {
		if now < *next {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, deleteTime)
		defer cancel()
		if err := clean(ctx); err != nil {
			*next = now + maxPause
			m.cfg.Logger.Warn("could not delete "+what+" in object storage; it is tried again", "error", err, "retry_in",
				maxPause)
		}
	}
	try(&d.dead, "objects without rows", func(ctx context.Context) error { return m.deleteDead(ctx, term) })
	if m.shipsLog() {
		try(&d.log, "pieces of the log", func(ctx context.Context) error { return m.pruneLog(ctx, term) })
	}
	try(&d.sweep, "objects that nothing refers to", func(ctx context.Context) error {
		d.sweep = now + sweepEvery
		err := m.deleteOrphans(ctx, term)
		if !m.shipsLog() {
			err = errors.Join(err, m.deleteLog(ctx, term))
		}
		return err
	})
}

// deleteDead deletes objects whose rows all died some time ago, and proposes to forget them.
func (m *Mover) deleteDead(ctx context.Context, term uint64) (err error) {
	some := false
	m.cfg.Store.Status.Inspect(func(st *rules.State) { some = len(st.DeadObjects()) > 0 })
	if !some {
		return nil
	}
	before := m.cfg.Clock().Add(-m.cfg.Tier.Grace).UnixNano()
	if len(m.dead(before)) == 0 {
		return nil
	}
	if err := m.mayDelete(ctx, term); err != nil {
		return err
	}
	gone, err := m.deleteAll(ctx, m.dead(before))
	if len(gone) == 0 {
		return err
	}
	if _, failed := m.cfg.Propose(ctx, &rules.Entry{Kind: rules.KindForget, Keys: gone}); failed != nil {
		return failed // they are deleted once more
	}
	m.cfg.Logger.Info("deleted objects whose rows had expired or were dropped", "objects", len(gone))
	return err
}

// mayDelete returns nil if this replica leads, and no other group or cluster has the objects.
func (m *Mover) mayDelete(ctx context.Context, term uint64) error {
	if err := m.claim.Check(ctx, term, states.ClaimForDelete); err != nil {
		return err
	}
	if err := m.cfg.Barrier(ctx); err != nil {
		return err
	}
	return m.place.CheckOwner(ctx)
}

// dead returns objects that died before a time of the replicated clock, and that neither a set nor the last stored
// state has. Before the leader has stored a state, it returns none.
func (m *Mover) dead(before int64) (keys []string) {
	if m.stored.term == 0 {
		return nil
	}
	m.cfg.Store.Status.Inspect(func(st *rules.State) {
		dead := st.DeadObjects()
		if len(dead) == 0 || dead[0].At > before { // they are in the order of their deaths
			return
		}
		named := namedBy(st)
		for _, d := range dead {
			if d.At <= before && !named[d.Key] && !m.stored.names[d.Key] && len(keys) < maxDeletes {
				keys = append(keys, d.Key)
			}
		}
	})
	return keys
}

// namedBy returns the keys of all objects of sets.
func namedBy(st *rules.State) map[string]bool {
	named := map[string]bool{}
	for _, set := range st.Sets() {
		for i := range set.Objects {
			named[set.Objects[i].Key] = true
		}
	}
	return named
}

// deleteAll deletes objects one after the other. It returns those that are gone.
func (m *Mover) deleteAll(ctx context.Context, keys []string) (gone []string, err error) {
	for _, key := range keys {
		m.at("delete")
		if err := m.cfg.Tier.Bucket.Delete(ctx, key); err != nil {
			return gone, err
		}
		gone = append(gone, key)
	}
	return gone, nil
}

// orphan is an object of this shard in the bucket.
type orphan struct {
	key         string
	incarnation uint32
	cut         uint64
}

// deleteOrphans deletes objects that can never be named: those of closed cuts, and of earlier incarnations of the
// shard, that are in no set. A listing may be incomplete, but the log decides about each object in it.
func (m *Mover) deleteOrphans(ctx context.Context, term uint64) error {
	var found []orphan
	before := m.cfg.Now().Add(-m.cfg.Tier.OrphanAge)
	err := m.cfg.Tier.Bucket.List(ctx, m.prefix(), func(i bucket.Info) error {
		if o, ok := m.parse(i.Key); ok && i.Modified.Before(before) {
			found = append(found, o)
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		return err
	}
	// Cuts that are closed after this point may name objects in the listing; those that are closed by now may not.
	if err := m.mayDelete(ctx, term); err != nil {
		return err
	}
	gone, err := m.deleteAll(ctx, m.orphans(found))
	if len(gone) > 0 {
		m.cfg.Logger.Info("deleted objects that no entry of the log names", "objects", len(gone))
	}
	return err
}

// orphans returns the objects that no entry can name.
func (m *Mover) orphans(found []orphan) (keys []string) {
	m.cfg.Store.Status.Inspect(func(st *rules.State) {
		last, open := st.LastCut()
		named := namedBy(st)
		for _, d := range st.DeadObjects() {
			named[d.Key] = true // deleteDead deletes it
		}
		for _, o := range found {
			closed := o.incarnation < m.cfg.Incarnation || o.incarnation == m.cfg.Incarnation && o.cut <= last &&
				(open == nil || o.cut != open.Number)
			if closed && !named[o.key] && len(keys) < maxDeletes {
				keys = append(keys, o.key)
			}
		}
	})
	return keys
}

// parse takes a key apart. ok is false for keys that this shard does not make.
func (m *Mover) parse(key string) (o orphan, ok bool) {
	rest, ok := strings.CutPrefix(key, m.prefix())
	if !ok {
		return o, false
	}
	o.key = key
	var table, term, random uint64
	var day int64
	n, err := fmt.Sscanf(rest, "%d/%d/%d-%d-%d-%x.parquet", &table, &day, &o.incarnation, &o.cut, &term, &random)
	again := fmt.Sprintf("%d/%d/%d-%d-%d-%016x.parquet", table, day, o.incarnation, o.cut, term, random)
	return o, err == nil && n == 6 && rest == again
}
