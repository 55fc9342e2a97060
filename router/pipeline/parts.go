package pipeline

import (
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// The rows of a request are all made before the first of them is written. So that many small
// rows do not take many times the memory of the body, a table's rows are encoded as soon as
// there are enough of them for a batch, and the memory of what there is then, encoded or
// not, is asked for in steps (Request.Reserve).
//
// Where parts end depends on the records alone, never on what an earlier request left in
// memory: a request that is sent again under the same key must be cut in the same way.
const (
	partRows  = 1 << 16
	partCells = 1 << 20 // of columns that have a value
	partBytes = 8 << 20 // of the texts of the records

	// lookRows is how often the cells are counted. It divides partRows.
	lookRows = 256
	// reserveStep is how much is put down before the memory is counted and asked for.
	reserveStep = 1 << 20
)

// grew notes that a row was completed, made of so many bytes, and looks now and then whether
// the request is over. Its error ends the request.
func (d *dest) grew(bytes int) error {
	if err := d.s.tick(); err != nil {
		return err
	}
	if d.load += bytes; bytes > column.MaxInflated/8 {
		d.rows.Finish()
		if n := d.rows.Rows(); d.rows.SizeBound(n-1, n) > column.MaxInflated {
			return errs.New(errs.InvalidArguments, "a record takes more than %d MiB as a row of table %q; send smaller records",
				column.MaxInflated>>20, d.table)
		}
	}
	m, cols := d.s.ledger, len(d.rows.Cols())
	if m.due -= bytes + 8*cols; m.due < 0 {
		m.due = reserveStep
		if err := d.s.top().reserve(); err != nil {
			return err
		}
	}
	if (d.rows.PastRows()+d.rows.Rows())*cols > d.maxCells {
		return d.checkSize()
	}
	return nil
}

// stored is grew and cutPart, after a record of one row.
func (d *dest) stored(bytes int) error {
	if err := d.grew(bytes); err != nil {
		return err
	}
	return d.cutPart()
}

// endRecord is cutPart for a pipeline's record, whose errors do not end the request.
func (d *dest) endRecord() error {
	if err := d.cutPart(); err != nil {
		return &fatal{err}
	}
	return nil
}

// cutPart seals the rows of d if they are enough for a batch. There is no row under way, nor one
// that may be taken back. Its error ends the request.
func (d *dest) cutPart() error {
	d.retyped, d.adapted = d.retyped[:0], d.adapted[:0] // the record stays
	rows := d.rows.Rows()
	if rows < d.lookAt && d.load < partBytes || rows == 0 {
		return nil
	}
	d.lookAt = rows + lookRows
	used := 0
	for _, c := range d.rows.Cols() {
		if c.Used() {
			used++
		}
	}
	if rows < partRows && d.load < partBytes && rows*used < partCells {
		return nil
	}
	if rows > column.MaxRows || d.load > column.MaxInflated/8 {
		return nil // of one record, or huge: package write cuts it
	}
	for _, c := range d.rows.Cols() {
		d.pastValues += c.Len() - c.Nulls()
	}
	d.expired += d.old()
	part := d.rows.Seal()
	d.parts = append(d.parts, part)
	d.partSize += part.Size()
	d.load, d.lookAt = 0, lookRows
	d.guess = d.guess[:0]
	return nil
}

// reserve asks for the memory that all rows of the request take.
func (s *sink) reserve() error {
	if s.req.Reserve == nil {
		return nil
	}
	size := int64(s.memory() + s.ledger.extra)
	size += size / 4 // columns grow in steps
	if size <= s.ledger.reserved {
		return nil
	}
	if err := s.req.Reserve(size); err != nil {
		return err
	}
	s.ledger.reserved = size
	return nil
}

// memory estimates what the rows of s and of the sinks below it take.
func (s *sink) memory() int {
	size := 0
	for _, d := range s.dests {
		size += d.partSize + d.rows.ByteSize()
	}
	for _, below := range s.below {
		size += below.memory()
	}
	return size
}

// padding returns what the rows take more once all columns are as long as their table.
func (s *sink) padding() int {
	size := 0
	for _, d := range s.dests {
		for _, c := range d.rows.Cols() {
			size += 8 * (d.rows.Rows() - c.Len())
		}
	}
	for _, below := range s.below {
		size += below.padding()
	}
	return size
}

// reserveAll asks for the memory that the rows take at the end.
func (s *sink) reserveAll() error {
	if s.req.Reserve != nil {
		s.ledger.extra += s.padding()
	}
	return s.reserve()
}

// old returns how many of the rows that are not in parts are older than the table's ttl.
func (d *dest) old() int {
	options := d.opts.options
	if d.existing != nil {
		options = d.existing.Options
	}
	ttl := schema.EffectiveTTL(options[schema.OptionTTL], d.s.req.DatabaseTTL)
	limit, ok := ttl.ExpiredBefore(time.Unix(0, d.s.now()), d.time.Type)
	if !ok {
		return 0
	}
	return d.time.Below(limit)
}
