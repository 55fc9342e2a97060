package column

import (
	"encoding/binary"
	"fmt"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// Sealed is a set of rows of a Builder, encoded before the ids of their columns and of their batch
// are known. It needs the memory of an encoded batch, which is usually a small part of the rows'
// memory in the builder.
//
// A Sealed is immutable, except for the ids and types of its columns, which are shared with the
// builder: an Int64 column without negative values may become UInt64, and a column of integers
// Float64 (Col.Widen).
type Sealed struct {
	rows, bytes int
	batch       []byte
	// cols are the builder's columns that have a value in these rows. ids are the ids of these
	// columns in batch: the id that the column had, or a number from firstPlace on.
	cols  []*Col
	ids   []uint32
	types []schema.Type
}

// firstPlace is the id that Sealed.batch uses for the first column without an id.
const firstPlace = 1 << 31

// Seal removes the complete rows from b and returns them encoded. The columns stay, pinned, for
// more rows. There must be no unfinished row.
//
// Col.PastRows and Col.PastNulls count the removed rows.
func (b *Builder) Seal() *Sealed {
	s := &Sealed{rows: b.rows}
	for _, c := range b.cols {
		c.settle()
		if c.n > c.nulls {
			c.pad(b.rows)
			s.bytes += c.ByteSize()
			id := c.ID
			if id == 0 {
				id = firstPlace + uint32(len(s.cols))
			}
			s.cols, s.ids, s.types = append(s.cols, c), append(s.ids, id), append(s.types, c.Type)
		}
	}
	s.swap()
	e := encoders.Get().(*encoder)
	s.batch = e.encode(nil, s.cols, Header{}, 0, b.rows)
	e.release()
	s.swap()
	b.past += b.rows
	for _, c := range b.cols {
		*c = Col{
			Column: c.Column, first: -1, past: b.past, pastNulls: c.pastNulls + c.nulls + b.rows - c.n,
			ints: c.ints.sealed(c), widening: c.widening,
			valid: c.valid[:0], fixed: c.fixed[:0], ends: c.ends[:0], bytes: c.bytes[:0],
		}
	}
	b.rows = 0
	return s
}

// swap exchanges the ids of the columns with those in ids.
func (s *Sealed) swap() {
	for i, c := range s.cols {
		c.ID, s.ids[i] = s.ids[i], c.ID
	}
}

// same reports whether the columns have the ids and types that they have in batch.
func (s *Sealed) same() bool {
	for i, c := range s.cols {
		if c.ID != s.ids[i] || c.Type != s.types[i] {
			return false
		}
	}
	return true
}

// Rows returns the number of rows.
func (s *Sealed) Rows() int { return s.rows }

// Size returns the memory of s in bytes.
func (s *Sealed) Size() int { return cap(s.batch) + 13*cap(s.cols) + 128 }

// ByteSize estimates the memory that the rows took in the builder, in bytes.
func (s *Sealed) ByteSize() int { return s.bytes }

// Append appends the rows as a batch, as EncodeRange does. The columns must have ids.
func (s *Sealed) Append(dst []byte, h Header) ([]byte, error) {
	if s.same() && (h.Protocol == 0 || h.Protocol >= metapb.ProtocolPacking) {
		start := len(dst)
		dst = append(dst, s.batch...)
		restamp(dst[start:], h)
		return dst, nil
	}
	b, err := s.Builder()
	if err != nil {
		return nil, err
	}
	return b.Encode(dst, h), nil
}

// restamp replaces the fields of h in the header of an encoded batch.
func restamp(batch []byte, h Header) {
	le := binary.LittleEndian
	le.PutUint64(batch[offTable:], h.TableID)
	le.PutUint32(batch[offEpoch:], h.Epoch)
	le.PutUint32(batch[offSchema:], h.SchemaVersion)
	le.PutUint64(batch[offSession:], h.Session)
	le.PutUint64(batch[offSeq:], h.Seq)
	le.PutUint32(batch[offCRC:], checksum(batch))
}

// Builder returns the rows in a separate builder, with the current ids of the columns.
func (s *Sealed) Builder() (*Builder, error) {
	batch, err := Decode(s.batch, nil)
	if err != nil {
		return nil, fmt.Errorf("decode sealed rows: %w", err)
	}
	b := &Builder{}
	for i, c := range s.cols {
		to := b.Add(c.Column)
		to.Pin()
		v := batch.Column(s.ids[i])
		if v == nil {
			return nil, fmt.Errorf("decode sealed rows: column %q is missing", c.Name)
		}
		for row := range s.rows {
			to.SetFrom(row, v, row)
		}
	}
	b.rows = s.rows
	return b, nil
}

// PastRows returns the number of rows that Seal has removed from the builder.
func (b *Builder) PastRows() int { return b.past }

// PastNulls returns the number of rows without a value in the column that Seal has removed.
func (c *Col) PastNulls() int { return c.pastNulls }

// Below returns the number of rows in the builder with an integer below limit.
func (c *Col) Below(limit int64) (n int) {
	for row, v := range c.fixed[:c.n] {
		if int64(v) < limit && !c.IsNull(row) {
			n++
		}
	}
	return n
}

// Used reports whether any row has a value in the column, including rows that Seal removed.
func (c *Col) Used() bool { return c.n > c.nulls || c.past > c.pastNulls }
