package tier

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"time"

	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/iceberg"
	"cordwood/shard/compaction"
	"cordwood/shard/query"
	"cordwood/shard/segment"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// DirName is the folder of files that are being built, below the folder of the shard. A start of the shard empties it.
const DirName = "cold"

// builder writes the rows of jobs to striped files.
type builder struct {
	fs      vfs.FS
	dir     string
	limiter *compaction.Limiter
	// split is the size from which a table of a shared job gets a file of its own.
	split int64
	// last is the number of the last file. Numbers are in the files: equal rows have to make equal bytes, so they depend
	// only on the job.
	last uint64
}

// nextID returns the number of the next file.
func (b *builder) nextID() uint64 {
	b.last++
	return b.last
}

// filesPerJob is more than the number of files of a job.
const filesPerJob = 1 << 20

// built is a striped file that waits to be stored. object has no key.
type built struct {
	object cold.Object
	path   string
}

// errLarge means that a file is larger than an object may be.
var errLarge = errors.New("the file is larger than an object may be")

// build writes the objects of a job. It waits until no compaction of the node runs, and works at the pace of one. After
// an error no files are left.
func (b *builder) build(ctx context.Context, j *job, tables map[uint64]*store.CutTable) (out []built, err error) {
	if err := b.limiter.Begin(ctx); err != nil {
		return nil, err
	}
	defer b.limiter.End()
	for limit := int64(jobBytes); ; limit /= 2 {
		// The size of an object is estimated from that of its inputs, which may be compressed better.
		b.last = uint64(j.number) * filesPerJob
		out, err = b.parts(ctx, j, tables, limit)
		if !errors.Is(err, errLarge) || limit < 1<<20 {
			return out, err
		}
	}
}

// parts writes the objects of a job, in parts of about limit bytes.
func (b *builder) parts(ctx context.Context, j *job, tables map[uint64]*store.CutTable, limit int64) (
	out []built, err error,
) {
	for _, part := range j.split(limit) {
		files, err := b.part(ctx, &part, tables, limit)
		if err != nil {
			return nil, errors.Join(err, b.remove(out))
		}
		out = append(out, files...)
	}
	return out, nil
}

// part writes the objects of a part of a job.
func (b *builder) part(ctx context.Context, j *job, tables map[uint64]*store.CutTable, limit int64) (
	out []built, err error,
) {
	defer func() {
		if err != nil {
			err, out = errors.Join(err, b.remove(out)), nil
		}
	}()
	res, err := compaction.Run(ctx, b.compaction(j, tables, limit))
	if err != nil {
		return nil, err
	}
	for i := range res.Segments {
		m := &res.Segments[i]
		if err == nil {
			var x built
			if x, err = b.stripe(ctx, m, tables); err == nil {
				out = append(out, x)
			}
		}
		err = errors.Join(err, b.fs.Remove(filepath.Join(b.dir, m.FileName())))
	}
	return out, err
}

// compaction returns the work that writes the rows of a job to ordinary segment files.
func (b *builder) compaction(j *job, tables map[uint64]*store.CutTable, limit int64) compaction.Job {
	c := compaction.Job{
		Config:    segment.Config{FS: b.fs, Dir: b.dir, NextID: b.nextID},
		Abandoned: func(uint64) {}, Limiter: b.limiter,
	}
	if j.bytes > limit {
		c.PieceRows = max(int64(float64(j.rows)*float64(limit)/float64(j.bytes)), 1)
	}
	for i := range j.inputs {
		c.Inputs = append(c.Inputs, compaction.Input{Meta: &j.inputs[i].Meta, Path: j.inputs[i].Path})
	}
	fill := func(t *store.CutTable) []segment.Fill {
		if t.Merge != query.Append && !j.whole {
			return nil // a null may be replaced by a value of another object
		}
		fills := iceberg.Fills(t.Def.Table)
		if j.whole {
			return fills
		}
		return compaction.FillsOf(fills, c.Inputs)
	}
	take := make(map[uint64]*compaction.Table, len(j.tables))
	for id, of := range j.tables {
		t := tables[id]
		take[id] = &compaction.Table{
			Def: t.Def.Table, Merge: t.Merge, Before: t.Expired.Before, Order: t.Expired.Order,
			// A shared file cannot be divided within a table, and other engines cannot read one.
			Own: of.bytes >= b.split && t.Def.Physical == "" || of.bytes > limit || !j.shared && t.Merge != query.Append ||
				iceberg.FormatOf(t.Def.Table) != 0,
			Fill: fill(t), Within: j.within, DropDeleted: j.whole, NoMarks: j.whole, Modes: j.modes,
		}
	}
	c.Table = func(id uint64) *compaction.Table { return take[id] }
	return c
}

// stripe writes a segment file anew as an object, and reads it back.
func (b *builder) stripe(ctx context.Context, m *segment.Meta, tables map[uint64]*store.CutTable) (x built, err error) {
	began := time.Now()
	id := b.nextID()
	x.path = filepath.Join(b.dir, segment.FileName(id))
	o := &x.object
	var extra segment.Extra
	if t := tables[m.TableID]; t != nil {
		extra = iceberg.Extra(t.Def.Table)
	}
	o.Meta, err = segment.StripeWith(b.fs, filepath.Join(b.dir, m.FileName()), m, x.path, extra)
	if err != nil {
		return built{}, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.fs.Remove(x.path))
		}
	}()
	if o.Meta.Bytes > bucket.MaxPut {
		return built{}, errLarge
	}
	o.Meta.ID = id // determines the name of the file
	if err := segment.Check(b.fs, b.dir, &o.Meta, true); err != nil {
		return built{}, err
	}
	o.Meta.ID, o.Meta.Order = 0, 0
	unit := int64(0)
	if t := tables[m.TableID]; t != nil {
		unit = t.Def.TimeIndex().Type.UnitsPerSecond()
	}
	o.Day = dayOf(m, unit)
	if t := tables[m.TableID]; t != nil && t.Merge != query.Append {
		o.Kind = cold.Merging
	}
	if err := b.tail(x.path, o); err != nil {
		return built{}, err
	}
	return x, b.limiter.Rest(ctx, began, o.Meta.Bytes)
}

// tail notes where the tail of an object begins, and its checksum.
func (b *builder) tail(path string, o *cold.Object) error {
	units, err := segment.ReadUnits(b.fs, path)
	if err != nil {
		return err
	}
	if units == nil {
		return fmt.Errorf("object %s has no checksums of its parts", path)
	}
	o.TailOffset = units.TailOffset
	f, err := b.fs.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := crc32.New(bucket.Castagnoli)
	if _, err := io.Copy(sum, io.NewSectionReader(f, o.TailOffset, o.Meta.Bytes-o.TailOffset)); err != nil {
		return fmt.Errorf("read the tail of object %s: %w", path, err)
	}
	o.TailCRC = sum.Sum32()
	return nil
}

// remove removes files.
func (b *builder) remove(files []built) (err error) {
	for i := range files {
		err = errors.Join(err, b.fs.Remove(files[i].path))
	}
	return err
}
