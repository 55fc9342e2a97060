package tier

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"cordwood/proto/words"
	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/states"
	"cordwood/shard/manifest"
	"cordwood/shard/rules"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

const (
	// maxPuts is the number of jobs whose objects are stored at the same time.
	maxPuts = 2
	// maxKeys is the number of keys that are tried for an object.
	maxKeys = 3
)

// attempt is the work on a cut in a term. It is kept if a step of it fails, so that the next one continues.
type attempt struct {
	number, term uint64
	rows         *store.CutRows
	tables       map[uint64]*store.CutTable
	jobs         []job
	// givenUp are the rows of tables that the cut lacks because an operator gave them up.
	givenUp map[uint64]int64
	// version, if not 0, is the version of the table that the objects get: a join of objects that are shown as Iceberg
	// keeps that of the former ones, so that each commit that knows these knows the new ones.
	version uint32
	// kind, if not Kept, is that of the objects.
	kind cold.Kind
	// objects are those of each job, in the order of the jobs. They are nil until all are stored.
	objects [][]cold.Object
}

// drop abandons the attempt. Its objects are never named.
func (m *Mover) drop() {
	if m.attempt != nil {
		m.attempt.rows.Close()
		m.attempt = nil
	}
}

// offload stores the rows of the open cut, and proposes the offload.
func (m *Mover) offload(ctx context.Context, term uint64, open *manifest.Cut) (err error) {
	if m.attempt != nil && (m.attempt.number != open.Number || m.attempt.term != term) {
		m.drop()
	}
	if !m.cfg.Room() {
		return nil
	}
	if err := m.claim.Check(ctx, term, states.ClaimForPut); err != nil {
		return err
	}
	if m.attempt == nil {
		if err := m.begin(ctx, term, open); err != nil {
			return err
		}
	}
	a := m.attempt
	bytes := int64(0)
	for i := range a.jobs {
		bytes += a.jobs[i].bytes
	}
	ended := m.cfg.Operations.Begin("offload", describe(open), bytes)
	defer func() { ended(err) }()
	if err := m.store(ctx, a); err != nil {
		if store.IsDamage(err) {
			m.cfg.Store.Scrub.FindDamagedRows(a.rows)
			m.drop()
		}
		return fmt.Errorf("shard %d: cut %d: %w", m.cfg.ShardID, open.Number, err)
	}
	e := a.offload(open)
	m.at("offload")
	refused, err := m.cfg.Propose(ctx, &rules.Entry{Kind: rules.KindOffload, Offload: e})
	if err != nil {
		return err // it may have been applied: the next step sees it
	}
	m.drop()
	if refused != nil {
		return refused
	}
	rows, size := int64(0), int64(0)
	for i := range e.Objects {
		rows, size = rows+e.Objects[i].Meta.Rows, size+e.Objects[i].Meta.Bytes
	}
	m.cfg.Logger.Info("moved rows to object storage", "cut", open.Number, "tables", len(open.Tables), "objects",
		len(e.Objects), "rows", rows, "bytes", size)
	return nil
}

// begin starts an attempt for the open cut.
func (m *Mover) begin(ctx context.Context, term uint64, open *manifest.Cut) error {
	m.at("flush")
	rows, err := m.cfg.Store.Ledger.CutRows(open)
	if err != nil { // some rows are in memory
		if err := m.cfg.Flush(ctx); err != nil {
			return err
		}
		if rows, err = m.cfg.Store.Ledger.CutRows(open); err != nil {
			return err
		}
	}
	for i := range rows.Segments {
		if s := &rows.Segments[i]; s.Damaged != "" {
			rows.Close()
			m.handOver(ctx)
			return fmt.Errorf("shard %d: cut %d: segment %s is damaged, so its rows cannot be stored: %s; they are moved when "+
				"another replica leads or the segment was repaired", m.cfg.ShardID, open.Number, s.FileName(), s.Damaged)
		}
	}
	if err := errors.Join(m.cfg.FS.MkdirAll(m.build.dir), vfs.RemoveFiles(m.cfg.FS, m.build.dir)); err != nil {
		rows.Close()
		return err
	}
	a := &attempt{number: open.Number, term: term, rows: rows, tables: map[uint64]*store.CutTable{}}
	for i := range rows.Tables {
		a.tables[rows.Tables[i].Def.ID] = &rows.Tables[i]
	}
	if err := m.findGivenUp(a, open); err != nil {
		rows.Close()
		return err
	}
	a.jobs = plan(rows, jobBytes, m.build.split)
	a.objects = make([][]cold.Object, len(a.jobs))
	m.attempt = a
	return nil
}

// store builds and stores the objects of all jobs that have none yet. While the objects of some jobs are stored, the
// next one is built.
func (m *Mover) store(ctx context.Context, a *attempt) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, maxPuts)
	var puts sync.WaitGroup
	for i := range a.jobs {
		if a.objects[i] != nil {
			continue
		}
		m.at("build")
		files, err := m.build.build(ctx, &a.jobs[i], a.tables)
		if err != nil {
			cancel(err)
			break
		}
		slots <- struct{}{} // a put ends when the context does
		puts.Go(func() {
			defer func() { <-slots }()
			objects, err := m.putAll(ctx, a, files)
			if err = errors.Join(err, m.build.remove(files)); err != nil {
				cancel(err)
				return
			}
			a.objects[i] = objects
		})
	}
	puts.Wait()
	return context.Cause(ctx)
}

// putAll stores the objects of a job.
func (m *Mover) putAll(ctx context.Context, a *attempt, files []built) ([]cold.Object, error) {
	objects := make([]cold.Object, 0, len(files))
	for i := range files {
		if a.version != 0 {
			files[i].object.Meta.SchemaVersion = a.version
		}
		if a.kind != cold.Kept {
			files[i].object.Kind = a.kind
		}
		if err := m.put(ctx, a, &files[i]); err != nil {
			return nil, err
		}
		objects = append(objects, files[i].object)
	}
	return objects, nil
}

// put stores an object under a new key.
func (m *Mover) put(ctx context.Context, a *attempt, x *built) error {
	if err := m.claim.Check(ctx, a.term, states.ClaimForPut); err != nil {
		return err
	}
	f, err := m.cfg.FS.Open(x.path)
	if err != nil {
		return err
	}
	defer f.Close()
	o := &x.object
	for try := 1; ; try++ {
		o.Key = m.key(a, o)
		m.at("put")
		err := m.cfg.Tier.Bucket.Put(ctx, o.Key, bucket.Content{
			Body: f, Size: o.Meta.Bytes, CRC: o.Meta.FileCRC, Checked: true,
		})
		// What is under the key may be other bytes, of a put that went wrong. No key is used twice.
		kind, _ := bucket.KindOf(err)
		if err == nil || kind != bucket.Exists && kind != bucket.Damaged || try == maxKeys {
			return err
		}
		m.cfg.Logger.Warn("an object was stored wrongly, and is stored again under another key", "key", o.Key, "error", err)
	}
}

// prefix is what the keys of the shard's objects begin with.
func (m *Mover) prefix() string { return fmt.Sprintf("%s/data/%d/", m.cfg.Tier.Cluster, m.cfg.ShardID) }

// key returns a new key for an object.
func (m *Mover) key(a *attempt, o *cold.Object) string {
	return fmt.Sprintf("%s%d/%d/%d-%d-%d-%016x.parquet", m.prefix(), o.Meta.TableID, o.Day, m.cfg.Incarnation, a.number,
		a.term, rand.Uint64())
}

// offload returns the entry's content.
func (a *attempt) offload(open *manifest.Cut) *rules.Offload {
	out := &rules.Offload{Number: open.Number}
	kept, had := map[uint64]int64{}, a.had()
	for _, list := range a.objects {
		for i := range list {
			for _, t := range list[i].Spans() {
				kept[t.TableID] += t.Rows
			}
			out.Objects = append(out.Objects, list[i])
		}
	}
	for i := range open.Tables {
		id := open.Tables[i].TableID
		out.Tables = append(out.Tables, rules.Offloaded{
			TableID: id, Kept: kept[id], LeftOut: had[id] - kept[id] + a.givenUp[id],
		})
	}
	return out
}

// had returns the number of rows in segments of each table of the cut.
func (a *attempt) had() map[uint64]int64 {
	had := map[uint64]int64{}
	for i := range a.rows.Segments {
		s := &a.rows.Segments[i]
		for _, span := range spansOf(&s.Meta) {
			if t := a.tables[span.TableID]; t != nil && !t.Mixed && t.Has(span, s.Order) {
				had[span.TableID] += span.Rows
			}
		}
	}
	return had
}

// findGivenUp finds the rows that the cut lacks because an operator gave them up. The log has counted them, so without
// them the offload would be refused for ever. If there are other voters, one of them may have the rows: it should lead.
func (m *Mover) findGivenUp(a *attempt, open *manifest.Cut) error {
	list, err := store.ReadGivenUp(m.cfg.FS, m.cfg.Dir)
	if err != nil || len(list) == 0 {
		return err
	}
	given := map[uint64]int64{}
	for i := range list {
		for _, span := range list[i].Tables {
			if t := a.tables[span.TableID]; t != nil && !t.Mixed && t.Has(span, list[i].Order) {
				given[span.TableID] += span.Rows
			}
		}
	}
	had, lacks := a.had(), int64(0)
	a.givenUp = map[uint64]int64{}
	for i := range open.Tables {
		// The list may be older than the files, which may have come from another replica since.
		t := &open.Tables[i]
		if missing := t.Rows - had[t.TableID]; !t.Unknown && missing > 0 && missing <= given[t.TableID] {
			a.givenUp[t.TableID] = missing
			lacks += missing
		}
	}
	switch {
	case lacks == 0:
	case m.cfg.Alone != nil && !m.cfg.Alone():
		m.handOver(context.Background())
		return fmt.Errorf("shard %d: cut %d: %s of it were given up on this node; they are moved when another replica leads "+
			"that has them", m.cfg.ShardID, open.Number, words.Count(lacks, "row"))
	default:
		m.cfg.Logger.Warn("rows that were given up are left out of the objects", "cut", open.Number, "rows", lacks)
	}
	return nil
}

// handOver lets another replica lead, which may have rows that this one lacks.
func (m *Mover) handOver(ctx context.Context) {
	if m.cfg.HandOver == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, minPause)
	defer cancel()
	if err := m.cfg.HandOver(ctx); err != nil {
		m.cfg.Logger.Debug("could not transfer leadership to a replica that may have all rows of a cut", "error", err)
	}
}

// isMismatch reports whether an offload was refused because of the number of rows.
func isMismatch(err error) bool {
	refused := (*rules.ErrCold)(nil)
	return errors.As(err, &refused) && refused.Mismatch
}
