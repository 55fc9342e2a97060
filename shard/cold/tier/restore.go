package tier

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/states"
	"cordwood/shard/manifest"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// This file puts objects anew that are missing or damaged in the bucket. Their rows may still be in local segments: the
// objects are built from these once more, and stored under their keys if they have the same bytes. An object with other
// bytes would need another key, and an entry of the log that names it.

// Lost says that objects are missing or damaged in the bucket. The next step of the leader tries to put them anew. It
// may be called concurrently.
func (m *Mover) Lost(objects []*cold.Object) {
	m.dropping.Lock()
	defer m.dropping.Unlock()
	for _, o := range objects {
		m.noteLost(o)
	}
}

// noteLost notes an object for putAnew, unless that has tried it a short time ago. dropping is held.
func (m *Mover) noteLost(o *cold.Object) {
	if at, tried := m.tried[o.Key]; tried && m.cfg.Monotonic() < at+lookAgain {
		return
	}
	m.lost[o.Key] = *o
}

// takeLost returns the objects to put anew, by the numbers of their cuts.
func (m *Mover) takeLost() map[uint64][]cold.Object {
	m.dropping.Lock()
	defer m.dropping.Unlock()
	list := map[uint64][]cold.Object{}
	now := m.cfg.Monotonic()
	maps.DeleteFunc(m.tried, func(_ string, at time.Duration) bool { return now >= at+lookAgain })
	for key, o := range m.lost {
		list[o.Cut] = append(list[o.Cut], o)
		m.tried[key] = now
	}
	clear(m.lost)
	return list
}

// putAnew builds the objects that are missing or damaged from local segments, and stores those that have the same
// bytes.
func (m *Mover) putAnew(ctx context.Context, term uint64) error {
	for number, lost := range m.takeLost() {
		if err := m.putSetAnew(ctx, term, number, lost); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mover) putSetAnew(ctx context.Context, term, number uint64, lost []cold.Object) error {
	tables := map[uint64]bool{}
	m.cfg.Store.Status.Inspect(func(st *rules.State) {
		for _, set := range st.Sets() {
			for i := range set.Objects {
				if set.Number == number {
					for _, span := range set.Objects[i].Spans() {
						tables[span.TableID] = true
					}
				}
			}
		}
	})
	cut := &manifest.Cut{Number: number}
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		cut.Tables = append(cut.Tables, manifest.Counted{TableID: id})
	}
	rows, err := m.cfg.Store.Ledger.CutRows(cut)
	if err != nil {
		return nil //nolint:nilerr // this replica does not have the rows in segments
	}
	defer rows.Close()
	if err := errors.Join(m.cfg.FS.MkdirAll(m.build.dir), vfs.RemoveFiles(m.cfg.FS, m.build.dir)); err != nil {
		return err
	}
	byID := map[uint64]*store.CutTable{}
	for i := range rows.Tables {
		byID[rows.Tables[i].Def.ID] = &rows.Tables[i]
	}
	jobs := plan(rows, jobBytes, m.build.split)
	for i := range jobs {
		if !jobs[i].mayMake(lost) {
			continue
		}
		m.at("restore")
		files, err := m.build.build(ctx, &jobs[i], byID)
		if err != nil {
			return err
		}
		err = m.putSame(ctx, term, files, lost)
		if err = errors.Join(err, m.build.remove(files)); err != nil {
			return err
		}
	}
	return nil
}

// mayMake reports whether a job has rows of a table and time of one of some objects.
func (j *job) mayMake(objects []cold.Object) bool {
	return slices.ContainsFunc(objects, func(o cold.Object) bool {
		return slices.ContainsFunc(o.Spans(), func(want segment.TableSpan) bool {
			if _, has := j.tables[want.TableID]; !has {
				return false
			}
			return slices.ContainsFunc(j.inputs, func(s store.Segment) bool {
				return slices.ContainsFunc(spansOf(&s.Meta), func(have segment.TableSpan) bool {
					return have.TableID == want.TableID && have.MinTime <= want.MaxTime && have.MaxTime >= want.MinTime
				})
			})
		})
	})
}

// putSame stores the files that have the bytes of a lost object, under its key.
func (m *Mover) putSame(ctx context.Context, term uint64, files []built, lost []cold.Object) error {
	for i := range files {
		meta := &files[i].object.Meta
		at := slices.IndexFunc(lost, func(o cold.Object) bool {
			return o.Meta.FileCRC == meta.FileCRC && o.Meta.Bytes == meta.Bytes && o.Meta.TableID == meta.TableID &&
				o.TailCRC == files[i].object.TailCRC
		})
		if at < 0 {
			continue
		}
		if err := m.putFile(ctx, term, files[i].path, &lost[at]); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mover) putFile(ctx context.Context, term uint64, path string, o *cold.Object) error {
	if err := m.claim.Check(ctx, term, states.ClaimForPut); err != nil {
		return err
	}
	f, err := m.cfg.FS.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	err = m.cfg.Tier.Bucket.Put(ctx, o.Key, bucket.Content{
		Body: f, Size: o.Meta.Bytes, CRC: o.Meta.FileCRC, Checked: true, Replace: true,
	})
	if err != nil {
		return err
	}
	m.dropping.Lock()
	delete(m.found.missing, o.Key)
	m.dropping.Unlock()
	m.cfg.Logger.Warn("an object that was missing or damaged in object storage was stored again, from local segments",
		"object", o.Key, "rows", o.Meta.Rows)
	return nil
}
