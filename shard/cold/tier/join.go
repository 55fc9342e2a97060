package tier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"cordwood/proto/schema"
	"cordwood/proto/words"
	"cordwood/shard/cold"
	"cordwood/shard/cold/iceberg"
	"cordwood/shard/cold/object"
	"cordwood/shard/manifest"
	"cordwood/shard/query"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// This file joins small objects. Some time after a day, the objects of a table's sets of this day become fewer ones.
// The leader reads them, writes their rows to new objects, and proposes an entry that replaces them.

const (
	// minJoined is the minimum number of sets that are joined, and minFull that of sets which almost fill an object.
	minJoined, minFull = 4, 3
	// joinsPerStep is how many joins a step makes at most, and joinTime for how long it begins others: rows that become
	// old wait meanwhile.
	joinsPerStep, joinTime = 8, time.Minute
	// firstFetched is the number of the first file of an object that was fetched. The builder's numbers are below it.
	firstFetched = 1 << 62
	// joinPause and maxJoinPause are the delays before what failed is tried again. Other tables are joined meanwhile.
	joinPause, maxJoinPause = time.Hour, 24 * time.Hour
)

// joinable are the objects of a table in a set.
type joinable struct {
	cut     uint64
	index   uint64 // of the log
	objects []*cold.Object
	bytes   int64
	day     int64 // the UTC day of the newest row
	newest  time.Time
}

// toJoin are sets of a table to join.
type toJoin struct {
	table uint64
	sets  []joinable
	// ofDay, if not nil, describes a join of the rows of a day. The sets have only these objects.
	ofDay *ofDay
}

// join joins objects if there are some that should be. What fails is tried again later: no rows wait for it, and other
// objects neither.
func (m *Mover) join(ctx context.Context, term uint64) {
	if m.cfg.Monotonic() < m.nextJoin || m.cfg.JoinsAllowed == nil || !m.cfg.JoinsAllowed() {
		return
	}
	m.lastJoin = m.cfg.Monotonic()
	until := m.lastJoin + joinTime
	var list []toJoin
	for range joinsPerStep {
		if len(list) == 0 {
			list = m.pickJoins(joinsPerStep)
		}
		if len(list) == 0 || !m.cfg.Room() || m.cfg.Monotonic() > until {
			return
		}
		next := list[0]
		list = list[1:]
		err := m.joinSets(ctx, term, &next)
		if err == nil {
			continue
		}
		if _, open := m.cuts(); open != nil && len(open.Joins) > 0 && ctx.Err() == nil {
			err = errors.Join(err, m.giveUpJoin(ctx, open))
		}
		if ctx.Err() != nil {
			return
		}
		retry := m.joinFailed(next.table, err)
		m.cfg.Logger.Warn("could not join small objects in object storage; it is tried again", "table", next.table,
			"error", err, "retry_in", retry)
		return
	}
}

// joinFailed notes a join of a table that failed, and returns when the same is tried again. If an object is missing or
// damaged, the others of the table are joined without it.
func (m *Mover) joinFailed(table uint64, err error) time.Duration {
	now := m.cfg.Monotonic()
	if lost := (*lostError)(nil); errors.As(err, &lost) {
		return m.unread.add(lost.key, now)
	}
	m.nextJoin = now + bucketPause
	return m.aside.add(table, now)
}

// lostError means that an object of a join is missing or damaged.
type lostError struct {
	key string
	err error
}

func (e *lostError) Error() string { return fmt.Sprintf("read object %s: %s", e.key, e.err) }

func (e *lostError) Unwrap() error { return e.err }

// giveUpJoin closes the cut of a join that another leader, or an earlier step, has begun.
func (m *Mover) giveUpJoin(ctx context.Context, open *manifest.Cut) error {
	m.at("give up")
	refused, err := m.cfg.Propose(ctx, &rules.Entry{
		Kind: rules.KindOffload, Offload: &rules.Offload{Number: open.Number},
	})
	return errors.Join(refused, err)
}

// pickJoins returns some sets to join, of one table each: those of the oldest days.
func (m *Mover) pickJoins(most int) (list []toJoin) {
	now, mono := m.cfg.Now(), m.cfg.Monotonic()
	m.unread.forget(mono)
	m.aside.forget(mono)
	var sets []*manifest.Set
	tables := map[uint64]*rules.Definition{}
	m.cfg.Store.Status.Inspect(func(st *rules.State) {
		sets = st.Sets()
		for id, d := range st.Tables {
			if !m.aside.has(id, mono) {
				tables[id] = d
			}
		}
	})
	if m.cfg.MergingAllowed() {
		list = m.pickDays(sets, tables, now)
	}
	for id, of := range m.dated(joinables(sets, tables), now) { // without the lock: a shard may have very many objects
		shown := iceberg.NewJoiner(tables[id].Table)
		if shown != nil && !m.cfg.IcebergJoinsAllowed() {
			continue
		}
		run := findJoin(of, m.cfg.Tier.JoinBytes, func(run []joinable, s *joinable) bool {
			return m.mayJoin(tables[id], s, now) && mayShow(shown, run, s) &&
				!slices.ContainsFunc(s.objects, func(o *cold.Object) bool { return m.unread.has(o.Key, mono) })
		})
		if len(run) > 0 {
			list = append(list, toJoin{table: id, sets: run})
		}
	}
	slices.SortFunc(list, func(a, b toJoin) int {
		return cmp.Or(a.sets[0].newest.Compare(b.sets[0].newest), cmp.Compare(a.table, b.table))
	})
	n := 0
	for _, x := range list {
		if n < most && (x.ofDay != nil && m.findModes(&x) || x.ofDay == nil && m.cfg.Store.Status.Joinable(x.table)) {
			list[n] = x
			n++
		}
	}
	return list[:n]
}

// joinables lists, for each table that keeps every row, what it has in each set, in ascending order.
func joinables(sets []*manifest.Set, tables map[uint64]*rules.Definition) map[uint64][]joinable {
	all := map[uint64][]joinable{}
	for _, set := range sets {
		for i := range set.Objects {
			o := &set.Objects[i]
			for _, span := range o.Spans() {
				d := tables[span.TableID]
				if d == nil || d.Merge != query.Append || d.TimeIndex() == nil {
					continue
				}
				list := all[span.TableID]
				if len(list) == 0 || list[len(list)-1].cut != set.Number {
					list = append(list, joinable{cut: set.Number, index: set.Index, day: math.MinInt64})
				}
				s, index := &list[len(list)-1], d.TimeIndex().Type
				s.objects = append(s.objects, o)
				s.bytes += o.Meta.Bytes
				if len(o.Meta.Tables) > 1 {
					s.bytes = math.MaxInt64 / 2 // other tables need the object
				}
				s.day = max(s.day, schema.FloorDiv(span.MaxTime, 86400*index.UnitsPerSecond()))
				if at := index.Moment(span.MaxTime); at.After(s.newest) {
					s.newest = at
				}
				all[span.TableID] = list
			}
		}
	}
	return all
}

// mayJoin reports whether the rows of a table in a set are old enough. Their local segments are not read any more when
// they were joined, so they must have been due to go.
func (m *Mover) mayJoin(d *rules.Definition, s *joinable, now time.Time) bool {
	local := m.cfg.Tier.localFor(d.Table)
	ended := time.Unix((s.day+1)*86400, 0)
	return local > 0 && !now.Before(ended.Add(m.cfg.Tier.JoinAfter)) && s.newest.Before(now.Add(-local))
}

// mayShow reports whether the objects of a set may be joined with those of a run although the table is shown as
// Iceberg: each commit must be able to show the new objects if it could show the former ones.
func mayShow(shown *iceberg.Joiner, run []joinable, s *joinable) bool {
	if shown == nil {
		return true
	}
	for _, o := range s.objects {
		if o.Meta.Shared() || !shown.May(o.Meta.Columns) {
			return false
		}
	}
	return iceberg.Alike(append(metasOf(run), metasOf([]joinable{*s})...))
}

// metasOf describes the objects of some sets.
func metasOf(sets []joinable) (list []*segment.Meta) {
	for i := range sets {
		for _, o := range sets[i].objects {
			list = append(list, &o.Meta)
		}
	}
	return list
}

// findJoin returns the first sets in a row that should be joined: those of the same day that are small. may reports
// whether a set may be joined with a run of sets before it.
func findJoin(list []joinable, small int64, may func(run []joinable, s *joinable) bool) []joinable {
	for len(list) > 0 {
		n, bytes, objects := 0, int64(0), 0
		for n < len(list) && list[n].day == list[0].day && list[n].bytes < small &&
			bytes+list[n].bytes <= jobBytes && objects+len(list[n].objects) <= jobInputs && may(list[:n], &list[n]) {
			bytes, objects = bytes+list[n].bytes, objects+len(list[n].objects)
			n++
		}
		run, least := list[:n], minJoined
		if bytes > jobBytes-small {
			least = minFull
		}
		// A set that is larger than the others together would be written again and again.
		for len(run) >= least && run[0].bytes > bytes-run[0].bytes {
			bytes -= run[0].bytes
			run = run[1:]
		}
		if len(run) >= least {
			return run
		}
		list = list[max(n, 1):]
	}
	return nil
}

// joinSets joins the objects of a table in some sets.
func (m *Mover) joinSets(ctx context.Context, term uint64, x *toJoin) (err error) {
	table, sets := x.table, x.sets
	bytes, objects, cuts := int64(0), 0, make([]uint64, len(sets))
	for i := range sets {
		bytes, objects, cuts[i] = bytes+sets[i].bytes, objects+len(sets[i].objects), sets[i].cut
	}
	ended := m.cfg.Operations.Begin("join", fmt.Sprintf("%s of table %d", words.Count(objects, "object"), table), bytes)
	defer func() { ended(err) }()
	last, _ := m.cuts()
	m.at("join")
	j := &rules.Join{Number: last + 1, Tables: []manifest.Joined{{TableID: table, Cuts: cuts}}}
	if x.ofDay != nil {
		j.ByDay, j.Day = true, x.ofDay.day
	}
	refused, err := m.cfg.Propose(ctx, &rules.Entry{Kind: rules.KindJoin, Join: j})
	if err = errors.Join(err, refused); err != nil {
		return err
	}
	_, open := m.cuts()
	if open == nil || open.Number != last+1 {
		return fmt.Errorf("shard %d: join %d was closed by another leader", m.cfg.ShardID, last+1)
	}
	defer func() {
		m.drop()
		err = errors.Join(err, vfs.RemoveFiles(m.cfg.FS, m.build.dir))
	}()
	a, err := m.beginJoin(ctx, term, last+1, x)
	if err != nil {
		return err
	}
	m.attempt = a
	if err := m.store(ctx, a); err != nil {
		return err
	}
	e := a.offloadJoin(table, x.ofDay != nil)
	m.at("replace")
	refused, err = m.cfg.Propose(ctx, &rules.Entry{Kind: rules.KindOffload, Offload: e})
	if err = errors.Join(err, refused); err != nil {
		return err
	}
	m.cfg.Logger.Info("joined small objects in object storage", "table", table, "objects", objects,
		"into", len(e.Objects), "rows", e.Tables[0].Kept)
	return nil
}

// beginJoin fetches the objects of a join to files, and plans its jobs.
func (m *Mover) beginJoin(ctx context.Context, term, number uint64, of *toJoin) (*attempt, error) {
	table, sets := of.table, of.sets
	rows := &store.CutRows{}
	m.cfg.Store.Status.Inspect(func(st *rules.State) {
		if d := st.Tables[table]; d != nil {
			x := st.Expired[table]
			x.Order = joinOrder(x.Index, 0)
			rows.Tables = []store.CutTable{{Def: d, To: math.MaxUint64, Expired: x}}
		}
	})
	if len(rows.Tables) == 0 {
		return nil, fmt.Errorf("shard %d: join %d: table %d was dropped", m.cfg.ShardID, number, table)
	}
	version := uint32(0)
	if shown := iceberg.NewJoiner(rows.Tables[0].Def.Table); shown != nil && of.ofDay == nil {
		for i := range sets {
			if !mayShow(shown, sets[:i], &sets[i]) {
				return nil, fmt.Errorf("shard %d: join %d: the definition of table %d has changed", m.cfg.ShardID, number, table)
			}
		}
		version = oldest(sets)
	}
	if err := errors.Join(m.cfg.FS.MkdirAll(m.build.dir), vfs.RemoveFiles(m.cfg.FS, m.build.dir)); err != nil {
		return nil, err
	}
	for i := range sets {
		for k := range sets[i].objects {
			o := sets[i].objects[k]
			meta := o.Meta
			meta.ID, meta.Order = firstFetched+uint64(len(rows.Segments)), joinOrder(sets[i].index, k)
			path := filepath.Join(m.build.dir, meta.FileName())
			if err := m.fetch(ctx, path, o); err != nil {
				if object.Lost(err) {
					return nil, &lostError{o.Key, err}
				}
				return nil, fmt.Errorf("read object %s: %w", o.Key, err)
			}
			rows.Segments = append(rows.Segments, store.Segment{Meta: meta, Path: path})
		}
	}
	a := &attempt{
		number: number, term: term, rows: rows, tables: map[uint64]*store.CutTable{table: &rows.Tables[0]}, version: version,
	}
	if of.ofDay != nil {
		a.planDay(of)
	} else {
		a.jobs = plan(rows, jobBytes, m.build.split)
	}
	a.objects = make([][]cold.Object, len(a.jobs))
	return a, nil
}

// joinOrder is the order of the k-th object of a set among the inputs of a join. index is where the cut of the set, or
// an expiry, is in the log.
func joinOrder(index uint64, k int) uint64 { return index<<16 | uint64(k) }

// oldest returns the lowest version of the table among the objects of some sets.
func oldest(sets []joinable) uint32 {
	v := sets[0].objects[0].Meta.SchemaVersion
	for _, m := range metasOf(sets) {
		v = min(v, m.SchemaVersion)
	}
	return v
}

// fetch reads an object to a file, past the cache. All its parts are compared with their checksums.
func (m *Mover) fetch(ctx context.Context, path string, o *cold.Object) (err error) {
	m.at("fetch")
	began := time.Now()
	f, err := m.cfg.FS.Create(path)
	if err != nil {
		return err
	}
	err = object.Copy(ctx, m.cfg.Tier.Bucket, o, 0, func(b []byte) error {
		_, err := f.Write(b)
		return err
	})
	if object.Lost(err) {
		m.Lost([]*cold.Object{o})
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return m.cfg.Compaction.Rest(ctx, began, o.Meta.Bytes)
}

// offloadJoin returns the entry's content for a join of a table. All rows of a day may have been deleted.
func (a *attempt) offloadJoin(table uint64, ofDay bool) *rules.Offload {
	out, had := &rules.Offload{Number: a.number}, int64(0)
	for i := range a.rows.Segments {
		had += a.rows.Segments[i].Rows
	}
	t := rules.Offloaded{TableID: table}
	for _, list := range a.objects {
		for i := range list {
			t.Kept += list[i].Meta.Rows
		}
		out.Objects = append(out.Objects, list...)
	}
	t.LeftOut = had - t.Kept
	if len(out.Objects) > 0 || ofDay {
		out.Tables = []rules.Offloaded{t}
	}
	return out
}

// countJoined returns the number of joined cuts of a set.
func countJoined(set *manifest.Set) (n int) {
	for _, j := range set.Joined {
		n += len(j.Cuts)
	}
	return n
}
