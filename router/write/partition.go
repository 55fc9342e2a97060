package write

import (
	"cordwood/proto/column"
	"cordwood/proto/errs"
)

// partition is the part of a job's rows that belongs to one partition of a table that merges rows. Only one shard
// takes the rows of a partition.
type partition struct {
	table uint64
	epoch uint32
	of    int // number of partitions
	// rows are the rows of this job, which are some of the target's rows. If job.sealed is set, they are there
	// instead.
	rows *column.Builder
	// path identifies the part by how the rows were divided, if the request has a key.
	path uint64
	// from and to are the row range of the original job.
	from, to int
}

// builder returns the rows of the job, if they are not sealed.
func (j *job) builder() *column.Builder {
	if j.part != nil {
		return j.part.rows
	}
	return j.target.rows.Rows
}

// divide splits jobs that are not stored yet by partition, if their table merges rows and has several shards.
func (r *request) divide() error {
	for _, t := range r.pending() {
		if place := t.table.Writable(); !t.table.AppendMode() && (len(place.More) > 0 || t.divided) {
			t.divided = true
			if err := t.divide(place.Shards()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *target) divide(shards []uint32) error {
	place := t.table.Writable()
	var jobs []*job
	part := column.NewPartitioner(t.table, len(shards))
	for _, j := range t.jobs {
		if p := j.part; j.acked || p != nil && p.table == t.table.ID && p.epoch == place.Epoch {
			jobs = append(jobs, j)
			continue
		}
		cut, err := j.divide(part, t.table.ID, place.Epoch, shards)
		if err != nil {
			return err
		}
		jobs = append(jobs, cut...)
	}
	t.jobs = jobs
	return nil
}

// divide returns one job for each partition that has rows of j.
func (j *job) divide(part *column.Partitioner, table uint64, epoch uint32, shards []uint32) (out []*job, err error) {
	src := j.builder()
	if j.sealed != nil {
		if src, err = j.sealed.Builder(); err != nil {
			return nil, errs.Wrap(errs.Internal, err, "table %s", j.target.name())
		}
	}
	byID := make(map[uint32]*column.Col, len(src.Cols()))
	for _, c := range src.Cols() {
		byID[c.ID] = c
	}
	part.Use(func(id uint32) column.Values {
		if c := byID[id]; c != nil {
			return c
		}
		return nil
	})
	rows := make([][]int, len(shards))
	first, end := j.from-j.base, j.to-j.base
	if j.sealed != nil {
		first, end = 0, j.sealed.Rows()
	}
	for row := first; row < end; row++ {
		at := part.Of(row)
		rows[at] = append(rows[at], row)
	}
	from, to, path := j.from, j.to, uint64(0)
	if j.part != nil {
		from, to, path = j.part.from, j.part.to, j.part.path
	}
	for at, list := range rows {
		if len(list) == 0 {
			continue
		}
		b := &column.Builder{}
		b.AppendSome(src, list)
		b.Finish()
		next := &job{
			target: j.target, to: len(list), bytes: b.ByteSize(), shard: shards[at],
			part: &partition{
				table: table, epoch: epoch, of: len(shards), rows: b, from: from, to: to,
				path: (path*(1<<20)+uint64(len(shards)))*(1<<10) + uint64(at) + 1,
			},
		}
		if j.sealed != nil {
			next.sealed = b.Seal() // there may be many of them
		}
		out = append(out, next)
	}
	return out, nil
}
