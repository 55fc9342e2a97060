package recovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/words"
	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/logreplay"
	"cordwood/shard/cold/states"
	"cordwood/shard/manifest"
)

// lostShard is the state of a shard of a lost cluster.
type lostShard struct {
	id, incarnation uint32
	written         time.Time
	state           *manifest.State
	tables          []*schemapb.Table
	dropped         []uint64
	log             *logreplay.Log
}

// readShard reads the newest state of a shard.
func (l *lost) readShard(ctx context.Context, id uint32, list []states.Stored) error {
	name := fmt.Sprintf("shard %d", id)
	h, body, err := l.newest(ctx, name, list)
	if err != nil {
		return err
	}
	s := lostShard{id: id, incarnation: h.Incarnation, written: h.Written}
	if s.state, err = manifest.DecodeState("the state of "+name, body); err != nil {
		return err
	}
	s.state = s.state.WithoutLocal()
	h.Shard = id
	s.log = logreplay.Behind(&h, s.state)
	for _, t := range s.state.Tables {
		def, err := t.Decode()
		if err != nil {
			return fmt.Errorf("the state of %s: %w", name, err)
		}
		s.tables = append(s.tables, def)
	}
	for _, d := range s.state.Dropped {
		s.dropped = append(s.dropped, d.TableID)
	}
	l.shards = append(l.shards, s)
	return nil
}

// lookForObjects compares the objects that the states name with those that exist. Missing ones are taken out of the
// states.
func (l *lost) lookForObjects(ctx context.Context) error {
	named := map[string]int64{} // keys with sizes
	prefixes := map[string]bool{}
	for i := range l.shards {
		l.shards[i].each(func(o *cold.Object) {
			named[o.Key] = o.Meta.Bytes
			if cluster, _, ok := strings.Cut(o.Key, "/data/"); ok {
				prefixes[cluster+"/data/"] = true // earlier clusters, of which this one was made, have objects too
			}
		})
	}
	for _, prefix := range slices.Sorted(maps.Keys(prefixes)) {
		err := l.cfg.Bucket.List(ctx, prefix, func(i bucket.Info) error {
			if size, ok := named[i.Key]; ok && size == i.Size {
				delete(named, i.Key)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for key := range named { // a listing may lag
		i, err := l.cfg.Bucket.Head(ctx, key)
		switch {
		case err == nil && i.Size == named[key]:
			delete(named, key)
		case err == nil:
			l.p.line("WARNING: object %s has %d bytes, want %d", key, i.Size, named[key])
		case !errors.Is(err, bucket.ErrNotFound):
			return err
		default:
			l.p.line("WARNING: object %s is missing", key)
		}
	}
	for key := range named {
		l.missing[key] = true
	}
	for i := range l.shards {
		l.shards[i].forget(l.missing)
	}
	return l.p.err
}

// each calls f for every object.
func (s *lostShard) each(f func(*cold.Object)) {
	for i := range s.state.Sets {
		for j := range s.state.Sets[i].Objects {
			f(&s.state.Sets[i].Objects[j])
		}
	}
}

// forget takes objects out of the sets.
func (s *lostShard) forget(missing map[string]bool) {
	if len(missing) == 0 {
		return
	}
	for i := range s.state.Sets {
		set := &s.state.Sets[i]
		set.Objects = slices.DeleteFunc(set.Objects, func(o cold.Object) bool { return missing[o.Key] })
	}
	s.state.Sets = slices.DeleteFunc(s.state.Sets, func(set manifest.Set) bool { return len(set.Objects) == 0 })
	s.state = s.state.WithoutLocal() // orders of cuts without a set go
}

// recoveredTable is what comes back of a table.
type recoveredTable struct {
	def         *schemapb.Table
	rows        int64
	logged      int64
	objects     int
	newest      int64
	stateOldest time.Time
}

// print prints what comes back.
func (l *lost) print() {
	tables := map[uint64]*recoveredTable{}
	for i := range l.shards {
		s := &l.shards[i]
		for _, def := range s.tables {
			t := tables[def.Id]
			if t == nil {
				t = &recoveredTable{def: def, newest: math.MinInt64, stateOldest: s.written}
				tables[def.Id] = t
			}
			if t.def.Version < def.Version {
				t.def = def
			}
			if s.written.Before(t.stateOldest) {
				t.stateOldest = s.written
			}
			t.logged += s.log.Rows[def.Id]
		}
		s.each(func(o *cold.Object) {
			for _, span := range o.Spans() {
				if t := tables[span.TableID]; t != nil {
					t.rows += span.Rows
					t.objects++
					t.newest = max(t.newest, span.MaxTime)
				}
			}
		})
	}
	list := slices.SortedFunc(maps.Values(tables), func(a, b *recoveredTable) int {
		return strings.Compare(a.name(), b.name())
	})
	for _, t := range list {
		if t.rows == 0 && t.logged > 0 {
			l.p.line("  table %s: %d rows in the log", t.name(), t.logged)
			continue
		}
		if t.rows == 0 {
			l.p.line("  table %s: no rows in objects%s", t.name(), t.why())
			continue
		}
		if t.logged > 0 {
			l.p.line("  table %s: %d rows in %s, and %d rows in the log", t.name(), t.rows, words.Count(t.objects, "object"),
				t.logged)
			continue
		}
		l.p.line("  table %s: %d rows in %s, the newest of %s, as of %s", t.name(), t.rows,
			words.Count(t.objects, "object"), t.time(), stamp(t.stateOldest))
	}
	switch {
	case l.noAccess != "":
		l.p.line("  users, roles, grants and tokens: none; %s", l.noAccess)
	default:
		l.p.line("  users, roles, grants and tokens as of %s", stamp(l.written))
	}
	l.printLogs()
}

func (t *recoveredTable) name() string { return schema.TableLabel(t.def.Database, t.def.Name) }

// why says why a table has no rows in objects, if its options tell.
func (t *recoveredTable) why() string {
	if schema.FromProto(t.def).Options[schema.OptionCold] == "false" {
		return ", because of cold='false': they were only on local disks"
	}
	return ""
}

// time returns the time of the newest row, as text.
func (t *recoveredTable) time() string {
	def := schema.FromProto(t.def)
	if c := def.TimeIndex(); c != nil {
		if per := c.Type.UnitsPerSecond(); per > 0 {
			return time.Unix(t.newest/per, t.newest%per*(int64(time.Second)/per)).UTC().Format(time.RFC3339Nano)
		}
	}
	return fmt.Sprint(t.newest)
}
