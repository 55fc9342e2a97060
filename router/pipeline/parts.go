package pipeline

import (
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// All rows of a request are made before the first one is written. To limit the memory of many small rows, the rows
// of a table are encoded in parts: as soon as there are enough rows for a batch, they become a part. The memory of
// encoded and other rows is reserved in steps (Request.Reserve).
//
// Where a part ends depends only on the records, and never on memory from an earlier request, because a request
// that is sent again with the same key must be divided in the same way.
const (
	partRows  = 1 << 16
	partCells = 1 << 20 // cells with a value
	partBytes = 8 << 20 // texts of the records

	// lookRows is the number of rows between two counts of the cells. It must divide partRows.
	lookRows = 256
	// reserveStep is how many bytes are stored between two reservations of memory.
	reserveStep = 1 << 20
)

// grew records that a row with the given number of bytes was completed. At intervals it checks whether the request has
// ended. An error ends the request.
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

// stored calls grew and then cutPart, for a record with one row.
func (d *dest) stored(bytes int) error {
	if err := d.grew(bytes); err != nil {
		return err
	}
	return d.cutPart()
}

// endRecord calls cutPart at the end of a record of a pipeline. Errors of such a record do not end the request.
func (d *dest) endRecord() error {
	if err := d.cutPart(); err != nil {
		return &fatal{err}
	}
	return nil
}

// cutPart seals the rows of d if they are enough for a batch. There must be no current row, and no row that may be
// removed. Its error ends the request.
func (d *dest) cutPart() error {
	d.retyped, d.adapted = d.retyped[:0], d.adapted[:0] // the record can no longer be removed
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
	if (d.rows.PastRows()+rows)*used > d.s.minCells { // columns that were kept may be used only now
		if err := d.checkSize(); err != nil {
			return err
		}
	}
	if rows < partRows && d.load < partBytes && rows*used < partCells {
		return nil
	}
	if rows > column.MaxRows || d.load > column.MaxInflated/8 || 9*rows*used > column.MaxInflated/2 {
		return nil // the rows of one record, huge rows, or nearly empty ones: package write divides them
	}
	for _, c := range d.rows.Cols() {
		d.pastValues += c.Len() - c.Nulls()
	}
	d.expired += d.old()
	part := d.rows.Seal()
	d.parts = append(d.parts, part)
	d.partSize += part.Size()
	d.load, d.lookAt = 0, lookRows
	d.forgetFields()
	return nil
}

// reserve reserves the memory of all rows of the request.
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

// memory estimates the memory of the rows of s and of its nested sinks.
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

// padding returns the memory that is added when all columns are padded to the length of their table.
func (s *sink) padding() int {
	size := 0
	for _, d := range s.dests {
		for _, c := range d.rows.Cols() {
			if c.Used() {
				size += 8 * (d.rows.Rows() - c.Len())
			}
		}
	}
	for _, below := range s.below {
		size += below.padding()
	}
	return size
}

// reserveAll reserves the final memory of the rows.
func (s *sink) reserveAll() error {
	if s.req.Reserve != nil {
		s.ledger.extra += s.padding()
	}
	return s.reserve()
}

// old returns how many of the rows outside of parts are older than the table's ttl.
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
